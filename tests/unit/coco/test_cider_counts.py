"""What self-critical training code does with the scorer behind CIDEr: counted documents, and values of pairs."""

import math
from collections import defaultdict

import numpy as np
import pytest

from manycaps import coco
from manycaps.coco import cider_counts
from manycaps.kit.text_cider import document_frequencies
from scripts.benchmarks.cider_d_loop import cider_d
from tests.oracles.self_cider_loop import cider

GTS = [["a red dog runs", "the dog runs fast"], ["a cat sleeps on a sofa", "the cat"], ["two red kites", "a kite"]]
SETS = [["a dog runs", "a red dog", "the cat"], ["a cat sleeps", "a kite", "a kite"]]


def counted(scorer):
    """As the evaluation of several captions counts them: references alone, then the logarithm of their number."""
    for references in GTS:
        scorer.cider_scorer += (None, references)
    scorer.cider_scorer.compute_doc_freq()
    scorer.cider_scorer.ref_len = np.log(float(len(scorer.cider_scorer.crefs)))
    return scorer


def oracle(kind, first, second, table, n_documents):
    first, second = first.split(), second.split()
    if kind is coco.CiderD:
        return cider_d(first, second, table, n_documents)
    return 10 * cider(first, second, table, n_documents)


@pytest.mark.parametrize("kind", [coco.CiderD, coco.PlainCider])
def test_captions_against_each_other_and_against_references(kind):
    table = document_frequencies([[text.split() for text in own] for own in GTS])
    scorer = counted(kind(df="corpus"))
    assert {" ".join(ngram): n for ngram, n in scorer.cider_scorer.document_frequency.items()} == table
    for own, found in zip(SETS, scorer.my_self_cider(SETS), strict=True):
        assert found == pytest.approx(np.array([[oracle(kind, a, b, table, 3) for b in own] for a in own]), abs=1e-12)
    mean, values = scorer.my_compute_score(GTS[:2], SETS)
    expected = [
        [np.mean([oracle(kind, text, other, table, 3) for other in gts]) for text in own]
        for gts, own in zip(GTS, SETS, strict=False)
    ]
    assert values == pytest.approx(np.array(expected), abs=1e-12)
    assert mean == pytest.approx(np.mean(expected))


def test_a_scorer_by_itself_is_the_class_around_it():
    texts = ["a red dog", "a cat", "kites"]
    gts = dict(enumerate(GTS))
    expected = coco.CiderD().compute_score(gts, [{"image_id": i, "caption": [text]} for i, text in enumerate(texts)])
    scorer = cider_counts.CiderScorer()
    for text, references in zip(texts, GTS, strict=True):
        scorer += (text, references)
    for _ in range(2):  # documents are counted afresh
        mean, values = scorer.compute_score()
        assert (mean, values.tolist()) == (expected[0], expected[1].tolist())
    other = scorer.copy()
    other += scorer
    scorer.clear()
    assert (other.size(), scorer.size(), scorer.copy_empty().ref_len) == (6, 0, pytest.approx(np.log(3)))


def test_frequencies_that_were_set_are_used():
    scorer = coco.CiderD(df={"n_documents": 9, "document_frequency": {"a": 9, "dog": 2}})
    results = [{"image_id": 0, "caption": ["a red dog"]}]
    before = scorer.compute_score(dict(enumerate(GTS)), results)[0]
    scorer.cider_scorer.document_frequency = defaultdict(float, {("red",): 8.0})
    scorer.cider_scorer.ref_len = math.log(20)
    expected = {"n_documents": 20, "document_frequency": {"red": 8}}
    after = scorer.compute_score(dict(enumerate(GTS)), results)[0]
    assert after == coco.CiderD(df=expected).compute_score(dict(enumerate(GTS)), results)[0] != before


def test_messages():
    with pytest.raises(
        ValueError, match=r"^cider_scorer\.ref_len: expected the logarithm .*, got None\. Add references"
    ):
        coco.CiderD().my_self_cider(SETS)
    with pytest.raises(TypeError, match=r"^gts: expected a list of strings for each image, got 'a dog'\. Give lists"):
        counted(coco.CiderD()).my_self_cider(["a dog"])
    with pytest.raises(ValueError, match=r"^cider_scorer: expected a candidate beside all references, got none for so"):
        counted(coco.CiderD()).cider_scorer.compute_score()
