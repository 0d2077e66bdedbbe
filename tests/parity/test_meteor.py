"""METEOR against NLTK's `single_meteor_score`: golden pairs, made-up pairs, and NLTK itself on captions.

Tolerance 1e-12: the same formula in the same order of operations, so equal but for rounding; the alignment is exact.
"""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nltk.translate.meteor_score import single_meteor_score

from manycaps.kit import meteor_nltk as meteor_distance
from manycaps.kit.meteor_nltk import meteor_scores, multi_reference_meteor
from tests.golden_folders import OWN_GOLDEN

# Words that meet in every stage: equal, equal stems, WordNet synonyms of stems, and none of these.
WORDS = st.sampled_from(
    "a the dog dogs running run runs couch sofa movie film car automobile sit sits sitting small little big large boat "
    "ship picture photo photograph Dog SOFA happy glad quickly kid child children street road 3 three".split()
)


def nltk_matrix(row):
    return np.array([[single_meteor_score(reference, hypothesis) for hypothesis in row] for reference in row])


@pytest.mark.slow
@given(st.lists(st.lists(WORDS, max_size=9), min_size=2, max_size=4))
@settings(max_examples=150)
def test_any_row_of_texts(lexicon, row):
    assert meteor_scores([row], lexicon)[0] == pytest.approx(nltk_matrix(row), abs=1e-12)


@pytest.mark.slow
@given(st.lists(st.lists(WORDS, max_size=9), min_size=2, max_size=3), st.integers(65, 90))
@settings(max_examples=15)
def test_texts_longer_than_a_machine_word(lexicon, row, length):
    row = [*row, (row[0] + row[1] + ["a", "dog", "runs"]) * 30][: length // 20]
    row[-1] = row[-1][:length]
    assert meteor_scores([row], lexicon)[0] == pytest.approx(nltk_matrix(row), abs=1e-12)


def test_long_and_short_rows_together(lexicon):
    long = ["a dog runs to the sofa".split() * 20, "the couch and the dogs".split() * 15]
    short = [["a", "kid"], ["a", "child"], []]
    batch = meteor_scores([short, long, short], lexicon)
    assert batch[0].tolist() == batch[2].tolist() == meteor_scores([short], lexicon)[0].tolist()
    assert batch[1] == pytest.approx(nltk_matrix(long), abs=1e-12)


def test_exactly_a_machine_word_and_one_more(lexicon):
    for n in (63, 64, 65):
        row = [["a", "dog"] * 33, ["dog", "a"] * 33]
        row = [text[:n] for text in row]
        assert meteor_scores([row], lexicon)[0] == pytest.approx(nltk_matrix(row), abs=1e-12)


def test_pairs_in_blocks_of_any_size(lexicon, monkeypatch):
    rows = [["a dog runs".split(), "two dogs run on the road".split(), ["sofa"]], [["couch"], ["a", "sofa"]]]
    whole = meteor_scores(rows, lexicon)
    monkeypatch.setattr(meteor_distance, "MAX_PAIRS", 2)
    assert [part.tolist() for part in meteor_scores(rows, lexicon)] == [part.tolist() for part in whole]


def test_golden_pairs(golden_folder, lexicon):
    golden = json.loads((golden_folder / "meteor_pairs.json").read_text())
    pairs = golden["pairs"]
    scores = meteor_scores([[pair["reference"], pair["hypothesis"]] for pair in pairs], lexicon)
    assert len(pairs) > 500
    for pair, matrix in zip(pairs, scores, strict=True):
        assert matrix[0, 1] == pytest.approx(pair["score"], abs=1e-12), pair


def test_golden_sets(lexicon):
    golden = json.loads((OWN_GOLDEN / "meteor_pairs.json").read_text())["multi_reference"]
    scores = meteor_scores([[found["hypothesis"], *found["references"]] for found in golden], lexicon)
    assert len(golden) > 50
    for found, matrix in zip(golden, scores, strict=True):
        assert multi_reference_meteor(matrix[None], 1)[0] == pytest.approx(found["score"], abs=1e-12), found


@pytest.mark.slow
@pytest.mark.realdata
def test_real_rows_pair_by_pair(data_folder, lexicon):
    captions = {}
    for line in (data_folder / "msvd_val_references.txt").read_text(encoding="utf-8").splitlines():
        video, caption = line.split("\t")
        captions.setdefault(video, []).append(caption.lower().split())
    rows = [row[:12] for row in captions.values()][:12]
    for row, matrix in zip(rows, meteor_scores(rows, lexicon), strict=True):
        assert matrix == pytest.approx(nltk_matrix(row), abs=1e-12)
