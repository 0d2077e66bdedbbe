"""CIDEr-D: a row has the same bits alone and among others."""

import random

from manycaps.kit.ngrams import document_frequencies
from manycaps.kit.ngrams_cider import cider_d_scores

# CIDEr-D distances: what a row is worth does not depend on the rows beside it.

WORDS = "a the dog cat man woman red small runs sits cooks on beach street with and".split()


def test_a_row_has_the_same_bits_alone_and_among_others():
    generator = random.Random(0)
    rows = [[generator.choices(WORDS, k=generator.randint(4, 14)) for _ in range(5)] for _ in range(40)]
    frequencies = document_frequencies(rows)
    together = cider_d_scores(rows, frequencies, len(rows))
    for order in (range(39, -1, -1), generator.sample(range(40), 40)):
        shuffled = cider_d_scores([rows[i] for i in order], frequencies, len(rows))
        assert [scores.tolist() for scores in shuffled] == [together[i].tolist() for i in order]
    alone = [cider_d_scores([row], frequencies, len(rows))[0] for row in rows]
    assert [scores.tolist() for scores in alone] == [scores.tolist() for scores in together]
