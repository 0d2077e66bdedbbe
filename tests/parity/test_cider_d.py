"""CIDEr-D against the COCO caption code: its golden values, the code itself, and its formula as a loop.

Golden values: golden/ciderd_pairs.json, made with pycocoevalcap 1.2. Tolerance 1e-9: the sums run in another order.
"""

import gzip
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pycocoevalcap.cider.cider import Cider

import manycaps
from manycaps import functional
from manycaps.kit.ngrams import document_frequencies
from manycaps.kit.ngrams_cider import cider_d_scores, multi_reference_cider_d
from manycaps.kit.words_ptb import ptb_tokens
from tests.oracles import coco_cider

TOKENS = st.lists(st.sampled_from("a the dog cat runs red".split()), max_size=8)


@pytest.mark.parametrize(("n_tokens", "score"), [(0, 0.0), (1, 2.5), (2, 5.0), (3, 7.5), (4, 10.0), (9, 10.0)])
def test_a_text_against_itself(n_tokens, score):
    text = [f"w{i}" for i in range(n_tokens)]
    assert cider_d_scores([[text, text]], {}, 10)[0][0, 1] == pytest.approx(score)


def test_the_reference_is_the_second_argument():
    # Of a candidate's repeated word only as many count as the reference has, weighted by the reference: repeating a
    # word in the candidate cannot pay, repeating it in the reference does count.
    scores = cider_d_scores([[["dog", "dog", "dog", "cat"], ["dog", "cat", "cow", "hen"]]], {}, 10)[0]
    assert scores[0, 1] < scores[1, 0]


@given(st.lists(st.lists(TOKENS, min_size=2, max_size=4), min_size=2, max_size=4))
def test_every_pair_equals_the_coco_caption_code(rows):
    scorer = coco_cider.document_scorer([row[1:] for row in rows])
    frequencies = document_frequencies([row[1:] for row in rows])
    assert frequencies == {" ".join(ngram): count for ngram, count in scorer.document_frequency.items()}
    for row, scores in zip(rows, cider_d_scores(rows, frequencies, len(rows)), strict=True):
        expected = [[coco_cider.pair_score(scorer, c, [r]) for r in row] for c in row]
        assert scores == pytest.approx(np.array(expected), abs=1e-9)


def test_golden_pairs(golden_folder, golden_frequencies):
    golden = json.loads((golden_folder / "ciderd_pairs.json").read_text())
    rows = [[pair["candidate"].split(), pair["reference"].split()] for pair in golden["pairs"]]
    assert len(rows) > 100
    for pair, scores in zip(golden["pairs"], cider_d_scores(rows, *golden_frequencies), strict=True):
        assert scores[0, 1] == pytest.approx(pair["score"], abs=1e-9), pair
    rows = [[text.split() for text in [g["candidate"], *g["references"]]] for g in golden["multi_reference"]]
    assert len(rows) >= 10
    for g, scores in zip(golden["multi_reference"], cider_d_scores(rows, *golden_frequencies), strict=True):
        assert multi_reference_cider_d(scores[None], 1)[0] == pytest.approx(g["score"], abs=1e-9), g


def corpus_scores(samples):
    """Scores of the first candidates of all samples by this project, from captions on."""
    rows = [[ptb_tokens(text) for text in [sample["candidates"][0], *sample["references"]]] for sample in samples]
    frequencies = document_frequencies([row[1:] for row in rows])
    return rows, [multi_reference_cider_d(s[None], 1)[0] for s in cider_d_scores(rows, frequencies, len(rows))]


def test_golden_corpus(golden_folder, caption_samples):
    golden = json.loads((golden_folder / "ciderd_pairs.json").read_text())
    golden = golden.get("corpus") or golden["coco_corpus"]
    _, scores = corpus_scores(caption_samples)
    assert np.mean(scores) == pytest.approx(golden["mean"], abs=1e-10)
    by_id = {str(sample["_id"]): score for sample, score in zip(caption_samples, scores, strict=True)}
    assert [by_id[str(number)] for number in golden["ids"]] == pytest.approx(golden["per_sample"], abs=1e-9)


def assert_numbers_of_the_package(candidates, references):
    """Tokens are this project's: test_ptb_tokens.py compares them with the package's Java program."""
    result = manycaps.load("cider_d", details=True).compute(predictions=candidates, references=references)
    own, theirs = (
        {i: [" ".join(tokens) for tokens in functional.ptb_tokenize(row)] for i, row in enumerate(column)}
        for column in ([[caption] for caption in candidates], references)
    )
    mean, scores = Cider().compute_score(theirs, own)
    assert result["cider_d_per_row"] == scores.tolist()
    # The package's sum depends on the order of the rows.
    assert result["cider_d"] == pytest.approx(mean, rel=1e-14)


def test_the_module_has_the_numbers_of_pycocoevalcap(caption_samples):
    candidates = [row["candidates"][0] for row in caption_samples]
    assert_numbers_of_the_package(candidates, [row["references"] for row in caption_samples])


@pytest.mark.realdata
@pytest.mark.slow
@pytest.mark.parametrize("system", ["viecap_coco", "viecap_coco_masked", "viecap_flickr30k"])
def test_the_module_has_the_numbers_of_pycocoevalcap_on_the_karpathy_test_split(data_folder, system):
    with gzip.open(data_folder / "real_systems" / "coco_karpathy_test.json.gz") as file:
        captions = json.load(file)
    assert_numbers_of_the_package(captions["systems"][system], [row["references"] for row in captions["rows"]])
