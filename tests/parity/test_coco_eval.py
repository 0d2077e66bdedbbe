"""`manycaps.coco` against pycocoevalcap 1.2, call by call: golden values of the whole evaluation, and its classes.

BLEU, ROUGE-L and CIDEr are equal to the last bit; METEOR to 1e-15, since Java's `Math.pow` itself moves by 2.2e-16.
"""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pycocoevalcap.bleu.bleu import Bleu
from pycocoevalcap.cider.cider import Cider
from pycocoevalcap.rouge.rouge import Rouge

import manycaps.coco
from manycaps.kit.text_cider import document_frequencies
from scripts.benchmarks.cider_d_loop import cider_d
from tests.golden_folders import OWN_GOLDEN
from tests.oracles import self_cider_loop
from tests.parity.golden.make_coco_eval import coco_files

METEOR_TOLERANCE = 1e-15

# Tokens joined by blanks, with what the classes must split alike: no token, two blanks, a no-break space.
TEXT = st.lists(st.sampled_from(["a", "the", "dog", "cat", "runs", "red", "", "3\xa01/2"]), max_size=12).map(" ".join)
CAPTIONS = st.lists(st.tuples(TEXT, st.lists(TEXT, min_size=1, max_size=5)), min_size=1, max_size=6)


def sides(rows):
    """gts and res, under keys whose order is not that of numbers."""
    keys = [f"{len(rows) - i}" for i in range(len(rows))]
    references = {key: row[1] for key, row in zip(keys, rows, strict=True)}
    return references, {key: [row[0]] for key, row in zip(keys, rows, strict=True)}


def types_of(result):
    corpus, each = result
    return type(corpus), type(each), type(np.asarray(each).tolist()[0])


@pytest.mark.filterwarnings("ignore::manycaps.coco.CaptionWarning")
@settings(max_examples=60, deadline=None)
@given(CAPTIONS, st.integers(1, 4), st.sampled_from([6.0, 2.0]))
def test_any_texts_to_the_last_bit(rows, n, sigma):
    # The package fails where no reference has a word, and its Cider for n other than 4.
    gts, res = sides([*rows, ("a dog", ["the dog runs"])])
    for ours, theirs in (
        (manycaps.coco.Bleu(n).compute_score(gts, res, verbose=0), Bleu(n).compute_score(gts, res, verbose=0)),
        (manycaps.coco.Rouge().compute_score(gts, res), Rouge().compute_score(gts, res)),
        (
            manycaps.coco.Cider(None, None, 4, sigma).compute_score(gts, res),
            Cider(None, None, 4, sigma).compute_score(gts, res),
        ),
    ):
        assert types_of(ours) == types_of(theirs)
        assert (np.asarray(ours[0]) == np.asarray(theirs[0])).all()
        assert (np.asarray(ours[1]) == np.asarray(theirs[1])).all()


@pytest.mark.filterwarnings("ignore::manycaps.coco.CaptionWarning")
def test_single_calls(capsys):
    for pair in ((["a red dog"], ["a dog", "the red dog runs"]), (["a"], ["the"]), ([""], ["a dog"])):
        ours, theirs = (each.Rouge().calc_score(*pair) for each in (manycaps.coco, _Package))
        assert (ours, type(ours)) == (theirs, float)
    gts, res = {1: ["a dog"], 2: ["the cat runs"]}, {1: ["a dog runs"], 2: ["a cat"]}
    printed = []
    for scorer in (manycaps.coco.Bleu(3), Bleu(3)):
        scorer.compute_score(gts, res)
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1] != ""
    names = [[each.method() for each in (m.Bleu(), m.Rouge(), m.Cider())] for m in (manycaps.coco, _Package)]
    assert names[0] == names[1]


class _Package:
    Bleu, Rouge, Cider = Bleu, Rouge, Cider


def test_golden_evaluation(capsys):
    """Everything that `evaluate()` leaves behind, and all that it prints."""
    golden = json.loads((OWN_GOLDEN / "coco_eval.json").read_text(encoding="utf-8"))
    annotations, results = coco_files()
    coco = manycaps.coco.CaptionFile(annotations)
    found = manycaps.coco.COCOEvalCap(coco, coco.loadRes(results))
    assert found.evaluate() is None
    assert capsys.readouterr().out.splitlines() == golden["printed"]
    assert list(found.eval) == list(golden["meta"]["eval"])
    assert found.evalImgs == list(found.imgToEval.values())
    assert len(found.evalImgs) == len(golden["images"]) > 100
    for ours, theirs in zip([found.eval, *found.evalImgs], [golden["meta"]["eval"], *golden["images"]], strict=True):
        assert ours.pop("METEOR") == pytest.approx(theirs.pop("METEOR"), abs=METEOR_TOLERANCE, rel=0)
        assert ours == pytest.approx(theirs, rel=1e-14)  # logarithms of another NumPy may round otherwise


@pytest.mark.filterwarnings("ignore::manycaps.coco.CaptionWarning")
@settings(max_examples=40, deadline=None)
@given(CAPTIONS)
def test_cider_of_training_and_of_the_paper_equal_loops(rows):
    gts = dict(enumerate(references for _, references in rows))
    res = [{"image_id": i, "caption": [text]} for i, (text, _) in enumerate(rows)] * 2  # two samples of an image
    texts = [(text.split(), [reference.split() for reference in own]) for text, own in rows]
    table = {"n_documents": 9, "document_frequency": {"a": 9, "dog": 3, "a dog": 2}}
    own_counts = document_frequencies([own for _, own in texts])
    counted = {ngram: 2 * count for ngram, count in own_counts.items()}
    for df, frequencies, n_documents in (("corpus", counted, 2 * len(rows)), (table, table["document_frequency"], 9)):
        expected = [
            [np.mean([cider_d(text, other, frequencies, n_documents) for other in own]) for text, own in texts],
            [
                10 * np.mean([self_cider_loop.cider(text, other, frequencies, n_documents) for other in own])
                for text, own in texts
            ],
        ]
        for scorer, values in zip(
            (manycaps.coco.CiderD(df=df), manycaps.coco.PlainCider(df=df)), expected, strict=True
        ):
            mean, each = scorer.compute_score(gts, res)
            assert each == pytest.approx(values * 2, abs=1e-9)
            assert mean == pytest.approx(np.mean(values), abs=1e-9)
