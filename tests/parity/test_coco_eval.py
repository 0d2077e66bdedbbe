"""The drop-in against pycocoevalcap 1.2, call by call: golden values of the whole evaluation, and its classes.

BLEU, ROUGE-L and CIDEr are equal to the last bit; METEOR to 1e-15, since Java's `Math.pow` itself moves by 2.2e-16.
"""

import contextlib
import gzip
import io
import json
import random
import shutil
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pycocoevalcap.bleu.bleu import Bleu
from pycocoevalcap.cider.cider import Cider
from pycocoevalcap.meteor.meteor import Meteor
from pycocoevalcap.rouge.rouge import Rouge
from pycocoevalcap.tokenizer.ptbtokenizer import PTBTokenizer

import manycaps.integrations.coco
from manycaps.kit.ngrams import document_frequencies
from scripts.benchmarks.cider_d_loop import cider_d
from tests.golden_folders import OWN_GOLDEN
from tests.oracles.self_cider_loop import cider
from tests.parity.golden.golden_file import caption_rows
from tests.parity.golden.make_coco_eval import coco_files
from tests.parity.golden.make_meteor15 import NOT_IN_A_LINE

METEOR_TOLERANCE = 1e-15

# Tokens joined by blanks, with what the classes must split alike: no token, two blanks, a no-break space.
TEXT = st.lists(st.sampled_from(["a", "the", "dog", "cat", "runs", "red", "", "3\xa01/2"]), max_size=12).map(" ".join)
CAPTIONS = st.lists(st.tuples(TEXT, st.lists(TEXT, min_size=1, max_size=5)), min_size=1, max_size=6)


def sides(rows):
    """gts and res, under keys whose order is not numerical."""
    keys = [f"{len(rows) - i}" for i in range(len(rows))]
    references = {key: row[1] for key, row in zip(keys, rows, strict=True)}
    return references, {key: [row[0]] for key, row in zip(keys, rows, strict=True)}


def types_of(result):
    corpus, each = result
    return type(corpus), type(each), type(np.asarray(each).tolist()[0])


@pytest.mark.filterwarnings("ignore::manycaps.integrations.coco.CaptionWarning")
@settings(max_examples=60, deadline=None)
@given(CAPTIONS, st.integers(1, 4), st.sampled_from([6.0, 2.0]))
def test_any_texts_to_the_last_bit(rows, n, sigma):
    # The package fails where no reference has a word, and its Cider for n other than 4.
    gts, res = sides([*rows, ("a dog", ["the dog runs"])])
    for ours, theirs in (
        (
            manycaps.integrations.coco.Bleu(n).compute_score(gts, res, verbose=0),
            Bleu(n).compute_score(gts, res, verbose=0),
        ),
        (manycaps.integrations.coco.Rouge().compute_score(gts, res), Rouge().compute_score(gts, res)),
        (
            manycaps.integrations.coco.Cider(None, None, 4, sigma).compute_score(gts, res),
            Cider(None, None, 4, sigma).compute_score(gts, res),
        ),
    ):
        assert types_of(ours) == types_of(theirs)
        assert (np.asarray(ours[0]) == np.asarray(theirs[0])).all()
        assert (np.asarray(ours[1]) == np.asarray(theirs[1])).all()


@pytest.mark.filterwarnings("ignore::manycaps.integrations.coco.CaptionWarning")
def test_single_calls(capsys):
    for pair in ((["a red dog"], ["a dog", "the red dog runs"]), (["a"], ["the"]), ([""], ["a dog"])):
        ours, theirs = (each.Rouge().calc_score(*pair) for each in (manycaps.integrations.coco, _Package))
        assert (ours, type(ours)) == (theirs, float)
    gts, res = {1: ["a dog"], 2: ["the cat runs"]}, {1: ["a dog runs"], 2: ["a cat"]}
    printed = []
    for scorer in (manycaps.integrations.coco.Bleu(3), Bleu(3)):
        scorer.compute_score(gts, res)
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1] != ""
    names = [
        [each.method() for each in (m.Bleu(), m.Rouge(), m.Cider())] for m in (manycaps.integrations.coco, _Package)
    ]
    assert names[0] == names[1]


class _Package:
    Bleu, Rouge, Cider = Bleu, Rouge, Cider


def test_golden_evaluation(capsys):
    """Everything that `evaluate()` leaves behind, and all that it prints."""
    golden = json.loads((OWN_GOLDEN / "coco_eval.json").read_text(encoding="utf-8"))
    annotations, results = coco_files()
    coco = manycaps.integrations.coco.CaptionFile(annotations)
    found = manycaps.integrations.coco.COCOEvalCap(coco, coco.loadRes(results))
    assert found.evaluate() is None
    assert capsys.readouterr().out.splitlines() == golden["printed"]
    assert list(found.eval) == list(golden["meta"]["eval"])
    assert found.evalImgs == list(found.imgToEval.values())
    assert len(found.evalImgs) == len(golden["images"]) > 100
    for ours, theirs in zip([found.eval, *found.evalImgs], [golden["meta"]["eval"], *golden["images"]], strict=True):
        assert ours.pop("METEOR") == pytest.approx(theirs.pop("METEOR"), abs=METEOR_TOLERANCE, rel=0)
        assert ours == pytest.approx(theirs, rel=1e-14)  # logarithms of another NumPy may round otherwise


@pytest.mark.filterwarnings("ignore::manycaps.integrations.coco.CaptionWarning")
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
            # CIDEr of the paper, sections 3 and 4: the mean cosine, without clipping and penalty.
            [10 * np.mean([cider(text, other, frequencies, n_documents) for other in own]) for text, own in texts],
        ]
        for scorer, values in zip(
            (manycaps.integrations.coco.CiderD(df=df), manycaps.integrations.coco.PlainCider(df=df)),
            expected,
            strict=True,
        ):
            mean, each = scorer.compute_score(gts, res)
            assert each == pytest.approx(values * 2, abs=1e-9)
            assert mean == pytest.approx(np.mean(values), abs=1e-9)


def test_the_two_ciders_differ():
    gts, res = (
        {0: ["a red dog runs fast"], 1: ["the cat"]},
        [{"image_id": 0, "caption": ["a red dog runs"]}, {"image_id": 1, "caption": ["the cat"]}],
    )
    clipped, plain = (
        kind().compute_score(gts, res)[1]
        for kind in (manycaps.integrations.coco.CiderD, manycaps.integrations.coco.PlainCider)
    )
    assert clipped[0] < plain[0]
    assert clipped[1] == plain[1] == 5.0


def awkward_images(folder, n):
    """gts and res of real captions and of those written to be hard to read, with 1 to 10 references."""
    generator = random.Random(11)
    pools = defaultdict(list)
    with gzip.open(folder / "Flickr8k.token.txt.gz", "rt", encoding="utf-8") as file:
        for line in file:
            image, _, caption = line.rstrip("\n").partition("\t")
            pools[image.partition("#")[0]].append(caption)
    for line in (folder / "msvd_val_references.txt").read_text(encoding="utf-8").splitlines():
        video, _, caption = line.partition("\t")
        pools[video].append(caption)
    rows = json.loads((folder / "coco_val_1000.json").read_text(encoding="utf-8"))
    own = [[row["candidates"][0], *row["references"]] for row in rows]
    hard = [[*row["candidates"], *row["references"]] for row in caption_rows()]
    hard = [[text for text in texts if not NOT_IN_A_LINE.search(text)] for texts in hard]
    ready = [*own, *(texts for texts in hard for _ in range(8)), *pools.values()]
    gts, res = {}, {}
    for key in range(n):
        texts = list(ready[key]) if key < len(own) else generator.sample(ready[key], len(ready[key]))
        if generator.random() < 0.1:
            texts[0] = generator.choice(
                ["", ".", texts[0].upper(), f"{texts[0]} {texts[0]}", "3 1/2 cups", texts[0][:9]]
            )
        gts[key] = [{"caption": text} for text in (texts[1 : 2 + generator.randrange(10)] or texts)]
        res[key] = [{"caption": texts[0]}]
    return gts, res


@pytest.mark.slow
@pytest.mark.java
@pytest.mark.realdata
@pytest.mark.skipif(not shutil.which("java"), reason="needs Java")
@pytest.mark.filterwarnings("ignore::manycaps.integrations.coco.CaptionWarning")
def test_the_package_itself_on_5000_images(data_folder, monkeypatch):
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-Dfile.encoding=UTF-8")
    gts, res = awkward_images(data_folder, 5000)
    assert {len(own) for own in gts.values()} >= set(range(1, 11))
    tokens = [manycaps.integrations.coco.PTBTokenizer().tokenize(side) for side in (gts, res)]
    theirs = [PTBTokenizer().tokenize(side) for side in (gts, res)]
    wrong = [
        (side[key], a[key], b[key])
        for side, a, b in zip((gts, res), tokens, theirs, strict=True)
        for key in side
        if a[key] != b[key]
    ]
    assert wrong == []
    with contextlib.redirect_stdout(io.StringIO()):
        for name in ("Bleu", "Rouge", "Cider"):
            ours = getattr(manycaps.integrations.coco, name)().compute_score(*tokens)
            expected = getattr(_Package, name)().compute_score(*tokens)
            assert (np.asarray(ours[0]) == np.asarray(expected[0])).all(), name
            assert (np.asarray(ours[1]) == np.asarray(expected[1])).all(), name
    ours, expected = manycaps.integrations.coco.Meteor().compute_score(*tokens), Meteor().compute_score(*tokens)
    assert ours[0] == pytest.approx(expected[0], abs=METEOR_TOLERANCE, rel=0)
    assert ours[1] == pytest.approx(expected[1], abs=METEOR_TOLERANCE, rel=0)
