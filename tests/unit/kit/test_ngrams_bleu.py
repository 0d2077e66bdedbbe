"""BLEU of candidates by hand, and of every candidate with every row."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from manycaps.kit.ngrams import NgramIndex
from manycaps.kit.ngrams_bleu import CrossBleu, bleu_scores, bleu_statistics

# BLEU by hand: clipping, lengths and sets by themselves; and each candidate with each row.

TEXT = st.lists(st.sampled_from("abc"), max_size=7)


ROWS = st.lists(st.lists(TEXT, min_size=1, max_size=3), min_size=1, max_size=4)


def test_a_word_matches_as_often_as_one_reference_has_it():
    # Papineni et al. (2002), section 2.1: "the" occurs twice in one reference, once in the other, so 2 of 7 match.
    candidate = ["the"] * 7
    references = ["the cat is on the mat".split(), "there is a cat on the mat".split()]
    statistics = bleu_statistics(NgramIndex.of_rows([[candidate]], [references]))[0]
    assert statistics.tolist() == [2, 0, 0, 0, 7, 6, 5, 4, 7, 7]
    assert bleu_scores(statistics[None])[0, 0] == pytest.approx(2 / 7, abs=1e-9)
    assert bleu_statistics(NgramIndex.of_rows([], [])).shape == (0, 10)


@settings(max_examples=40, deadline=None)
@given(st.lists(TEXT, min_size=1, max_size=4), ROWS, st.integers(1, 4))
def test_every_candidate_with_every_row_equals_its_own_score(candidates, rows, order):
    expected = [
        [bleu_scores(bleu_statistics(NgramIndex.of_rows([[candidate]], [row])))[0, order - 1] for row in rows]
        for candidate in candidates
    ]
    found = CrossBleu(candidates, rows, order).scores(0, len(candidates))
    assert found == pytest.approx(np.array(expected), abs=1e-12)
