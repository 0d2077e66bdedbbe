"""The seven numbers: sums of parts are those of the whole, and the best of each row is the first among equals."""

import numpy as np
import pytest
from tqdm import tqdm

from manycaps.functional import ptb_tokenize
from manycaps.kit.meteor15_data import load_lexicon
from manycaps.kit.text_coco_scores import best_candidates, coco_scores, corpus_numbers, corpus_sums
from manycaps.kit.text_document_frequency import DocumentFrequency
from tests.modules.sample_inputs import CAPTION_ROWS, small_meteor15_data

DOCUMENTS = DocumentFrequency({"a": 9, "dog": 2}, 10)


@pytest.fixture(scope="module")
def scored():
    lexicon = load_lexicon(small_meteor15_data(), tqdm)
    sides = [[ptb_tokenize(row) for row in CAPTION_ROWS[name]] for name in ("predictions", "references")]

    def score(rows, documents=DOCUMENTS):
        candidates, references = (side[rows] for side in sides)
        return coco_scores(candidates, references, lexicon, tqdm, documents), [len(row) for row in candidates]

    return score


def test_sums_of_parts_are_those_of_the_whole(scored):
    whole, *parts = (scored(rows) for rows in (slice(None), slice(1), slice(1, None)))
    sums = [corpus_sums(found, best_candidates(found, sizes)) for found, sizes in (whole, *parts)]
    assert set(sums[0]) == {*(f"Bleu_{n}" for n in (1, 2, 3, 4)), "METEOR"} | {
        *(f"Bleu_{n}_best_of" for n in (1, 2, 3, 4)), "METEOR_best_of"
    }  # fmt: skip
    for name, total in sums[0].items():
        assert total.tolist() == (sums[1][name] + sums[2][name]).tolist(), name
    for name, values in whole[0].scores.items():
        assert values.tolist() == [*parts[0][0].scores[name], *parts[1][0].scores[name]], name
    assert all(0 <= value <= 1 for value in corpus_numbers(sums[0]).values())


def test_one_row_has_no_document_frequencies(scored):
    found, _ = scored(slice(1), None)
    assert np.isnan(found.scores["CIDEr"]).all()
    assert best_candidates(found, [3])["CIDEr"].tolist() == [0]
    assert not np.isnan(scored(slice(2), None)[0].scores["CIDEr"]).any()
