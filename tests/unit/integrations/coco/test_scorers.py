"""The scorers: errors, warnings, tables of document frequencies, counted documents, and what is remembered."""

import json
import math
import os
import pickle
import re
import warnings
from collections import defaultdict

import numpy as np
import pytest
from pycocoevalcap.bleu import bleu
from pycocoevalcap.rouge import rouge

from manycaps.integrations import coco
from manycaps.integrations.coco import cider_counts, frequencies
from manycaps.kit.ngrams import document_frequencies
from scripts.benchmarks.cider_d_loop import cider_d
from tests.golden_folders import OWN_GOLDEN
from tests.modules.sample_inputs import small_meteor15_data
from tests.oracles.self_cider_loop import cider

GTS, RES = {1: ["a red dog"], 2: ["the cat"]}, {1: ["a red dog"], 2: ["a cat"]}


@pytest.mark.parametrize(
    ("gts", "res", "error", "message"),
    [
        (
            GTS, {1: ["a"]}, ValueError,
            r"^res: expected one candidate for each of the 2 images of gts, got 1 images; 2 is in one of them alone\. "
            r"Leave out images without a candidate: coco_eval\.params\['image_id'\] = coco_result\.getImgIds\(\)\.$",
        ),
        ({}, {}, ValueError, r"^gts: expected at least one image, got none\."),
        (GTS, {1: ["a", "b"], 2: ["c"]}, ValueError, r"^res\[1\]: expected a list of one candidate, got 2\. Score"),
        (GTS, {1: "a dog", 2: ["c"]}, TypeError, r"^res\[1\]: expected a list of strings, got 'a dog'\. Give tokens"),
        ({1: [], 2: ["a"]}, RES, ValueError, r"^gts\[1\]: expected at least one caption, got none\."),
        ({1: [{"caption": "a"}], 2: ["a"]}, RES, TypeError, r"^gts\[1\]: expected a list of strings, got \[{'caption"),
    ],
)  # fmt: skip
def test_bad_captions(gts, res, error, message):
    for scorer in (coco.Bleu(), coco.Cider(), coco.Rouge(), coco.Meteor(small_meteor15_data())):
        with pytest.raises(error, match=message):
            scorer.compute_score(gts, res)


def write_pickle(path, n_documents=100):
    counts = defaultdict(float, {("a",): 100.0, ("red",): 5.0, ("dog",): 20.0, ("a", "red"): 2.0})
    path.write_bytes(pickle.dumps({"document_frequency": counts, "ref_len": n_documents}, protocol=2))
    return path


def test_frequencies_of_training_code(tmp_path, monkeypatch):
    """A pickle with n-grams as tuples, by its path or as the name of data/NAME.p, and a table are the same."""
    table = {"n_documents": 100, "document_frequency": {"a": 100, "red": 5, "dog": 20, "a red": 2}}
    results = [{"image_id": key, "caption": texts} for key, texts in RES.items()]
    (tmp_path / "data").mkdir()
    path = write_pickle(tmp_path / "data" / "train-words.p")
    monkeypatch.chdir(tmp_path)
    expected = coco.CiderD(df=table).compute_score(GTS, results)[1].tolist()
    for df in (path, str(path), "train-words"):
        assert coco.CiderD(df=df).compute_score(GTS, results)[1].tolist() == expected
    assert expected != coco.CiderD().compute_score(GTS, results)[1].tolist()
    scorer = coco.CiderD(df=path).cider_scorer
    assert (scorer.ref_len, scorer.document_frequency["a", "red"]) == (math.log(100), 2)


def with_ref_len(value):
    return pickle.dumps({"document_frequency": {("a",): 1}, "ref_len": value})


def with_counts(counts):
    return pickle.dumps({"document_frequency": counts, "ref_len": 9})


class Malicious:
    """Runs a command where a pickle is read without care."""

    def __reduce__(self):
        return os.system, ("touch harmed",)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (pickle.dumps(Malicious()), "got .*system, which is no dict, tuple, string or number"),
        (pickle.dumps({"a": 1}), "got no document_frequency"),
        (b"none", "expected a pickle of .* in .*bad.p', got "),
        (pickle.dumps({"document_frequency": {("a",): 1}}), "got no ref_len"),
        (pickle.dumps({"document_frequency": 3, "ref_len": 9}), "got int as document_frequency"),
        *((with_ref_len(value), f"got {value!r} as ref_len") for value in (0, -2, 1, "9", None, True)),
        *((with_ref_len(value), f"got {value} as ref_len") for value in (float("nan"), float("inf"))),
        *((with_counts({key: 1}), f"got {re.escape(repr(key))} as an n-gram") for key in ("a dog", 3, ())),
        *((with_counts({("a",): n}), f"got {n!r} as the number of ") for n in ("1", None, -1, True)),
        (with_counts({("a",): float("nan")}), "got nan as the number of "),
        (with_counts({(("a",), "b"): 1}), "got a tuple of something else than strings"),
        (with_counts({("a",): [1]}), "got more than dicts, tuples, strings and numbers"),
        (pickle.dumps({"document_frequency": {"a": {frozenset([1])}}, "ref_len": 9}), "got more than dicts, tup"),
        (with_counts({("a",): 1})[:-9], "expected a pickle of "),
        # A key of tuples in tuples, whose hash would end the process.
        (b"\x80\x02}(K\x01" + b"\x85" * 1_000_000 + b"K\x01u.", "got a tuple of something else than strings"),
        # An entry of the memory of a pickle that would take 16 GB, and a string of which there is no end.
        (b"\x80\x02}r\xff\xff\xff\x7f.", "got no document_frequency"),
        (b"\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\x00a.", "expected a pickle of "),
    ],
)
def test_no_pickle_runs_code(content, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.p").write_bytes(content)
    with pytest.raises(ValueError, match=message):
        coco.CiderD(df="bad.p").compute_score(GTS, [{"image_id": 1, "caption": ["a"]}])
    assert [path.name for path in tmp_path.iterdir()] == ["bad.p"]


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickles_of_all_protocols(protocol, tmp_path):
    counts = defaultdict(float, {("a",): 9.0, ("caf\u00e9",): 2.0, ("a", "dog", "runs", "\u2603"): 1.0, ("1",): 300.0})
    for n, given in enumerate((counts, dict(counts), defaultdict(int, {key: int(n) for key, n in counts.items()}))):
        path = tmp_path / f"{n}.p"
        path.write_bytes(pickle.dumps({"document_frequency": given, "ref_len": 8092}, protocol))
        found = frequencies.load_frequencies(path)
        assert (found.n_documents, found.counts) == (8092, counts)


def test_what_cannot_be_computed(tmp_path, monkeypatch):
    monkeypatch.setattr(frequencies, "LARGEST_PICKLE", 40)
    large, results = write_pickle(tmp_path / "train-words.p"), [{"image_id": 1, "caption": ["a"]}]
    for scorer, res, message in (
        (coco.CiderD(), [{"image_id": "x", "caption": ["a"]}], "res: expected images of gts, got 1 others such as 'x'"),
        (coco.CiderD(df=large), results, r"df: expected a pickle of .*, got [\d,]+ bytes, more than 40\. Make a table"),
        (coco.CiderD(df="none"), results, "df: expected 'corpus' or the path of a file, got 'none', and neither it"),
        (coco.Spice(), RES, r"SPICE: expected another metric, got one that is not computed here\."),
    ):
        with pytest.raises((ValueError, NotImplementedError), match=f"^{message}"):
            scorer.compute_score(GTS, res)
    assert coco.Spice().method() == "SPICE"


def test_the_weight_of_recall_is_an_attribute():
    ours, theirs = coco.Rouge(), rouge.Rouge()
    assert ours.beta == theirs.beta == 1.2
    for beta in (1.0, 3.0):
        ours.beta = theirs.beta = beta
        assert ours.calc_score(["a dog"], ["a red dog"]) == theirs.calc_score(["a dog"], ["a red dog"])
        (mean, each), expected = ours.compute_score(GTS, RES), theirs.compute_score(GTS, RES)
        assert (mean, each.tolist()) == (expected[0], expected[1].tolist())
    assert ours.calc_score(["a dog"], ["a red dog"]) != coco.Rouge().calc_score(["a dog"], ["a red dog"])


def test_counts_of_every_image_are_printed(capsys):
    gts, res = {1: ["a dog", "the red dog runs"], 2: ["the cat runs"]}, {1: ["a dog runs"], 2: ["a cat"]}
    printed = []
    for scorer in (coco.Bleu(3), bleu.Bleu(3)):
        scorer.compute_score(gts, res, verbose=2)
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1]
    assert printed[0].count("\n") == 4


def test_strings_of_a_subclass_are_their_text():
    as_numpy = [{key: [np.str_(text) for text in texts] for key, texts in side.items()} for side in (GTS, RES)]
    for scorer in (coco.Bleu(), coco.Cider(), coco.Rouge(), coco.Meteor(small_meteor15_data())):
        expected, found = scorer.compute_score(GTS, RES), scorer.compute_score(*as_numpy)
        assert np.array_equal(found[1], expected[1])
    tokens = coco.PTBTokenizer().tokenize({1: [{"caption": np.str_("A dog's toy.")}]})
    assert (tokens, type(tokens[1][0])) == ({1: ["a dog 's toy"]}, str)


def test_captions_that_are_no_text():
    message = r"^captions_for_image\[7\]\[1\]: expected {'caption': 'A dog\.'}, got .*\. Leave it out, or give its text"
    for other in ({"caption": None}, {"text": "a dog"}, None):
        with pytest.raises(TypeError, match=message):
            coco.PTBTokenizer().tokenize({7: [{"caption": "a"}, other]})


def test_what_callers_reach_for_in_meteor():
    """Its lock, single candidates, and a process that they stop; a copy has none of it. Constructors cost nothing."""
    coco.Meteor("/no/such/folder")
    coco.CiderD(df="/no/such/file")
    scorer = coco.Meteor(small_meteor15_data())
    with scorer.lock:
        line = scorer._stat("the movies ran", ["a film", "the movie runs"])
    assert line == "3.0 3.0 1.0 1.0 0.0 0.0 1.0 1.0 1.0 1.0 0.0 0.0 1.0 1.0 0.0 0.0 0.0 0.0 0.0 0.0 1.0 3.0 3.0"
    assert scorer._score("the movies ran", ["a film", "the movie runs"]) == pytest.approx(
        scorer.compute_score({1: ["a film", "the movie runs"]}, {1: ["the movies ran"]})[0]
    )
    scorer.meteor_p.stdin.close()
    scorer.meteor_p.kill()
    assert scorer.meteor_p.wait() == 0
    for call in (lambda: scorer.meteor_p.stdin.write(b"SCORE"), lambda: scorer.meteor_p.stdout.readline()):
        with pytest.raises(NotImplementedError, match=r"^meteor_p\.\w+: expected compute_score, _stat or _score, got "):
            call()
    assert vars(pickle.loads(pickle.dumps(scorer))) == {"_data": scorer._data}


# Input of which numbers say nothing is warned of, with the remedy; clean input is not.

TWO = {1: ["a dog runs"], 2: ["the cat"]}


def tokenize(captions):
    return coco.PTBTokenizer().tokenize({key: [{"caption": text}] for key, text in captions.items()})


def test_clean_captions_warn_of_nothing():
    golden = json.loads((OWN_GOLDEN / "captions.json").read_text(encoding="utf-8"))["rows"]
    rows = [row for row in golden if not row["_id"].startswith("nasty/")]
    sides = [{row["_id"]: row[name] for row in rows} for name in ("references", "candidates")]
    sides[1] = {key: texts[:1] for key, texts in sides[1].items()}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gts, res = (
            coco.PTBTokenizer().tokenize({key: [{"caption": text} for text in texts] for key, texts in side.items()})
            for side in sides
        )
        for scorer in (coco.Bleu(), coco.Rouge(), coco.Cider()):
            scorer.compute_score(gts, res)
        coco.Rouge().compute_score(*[{1: ["they meet at 5 p.m."], 2: ["the st. bernard lives in the u.s."]}] * 2)
        # Rewards of training are numbers of words, and one image is enough where there is a table.
        table = {"n_documents": 10, "document_frequency": {"12 7": 3}}
        coco.CiderD(df=table).compute_score({0: ["12 7 0"]}, [{"image_id": 0, "caption": ["12 7 0"]}])


@pytest.mark.parametrize(
    ("scorer", "gts", "res", "message"),
    [
        (coco.Cider(), {1: ["a dog"]}, {1: ["a dog"]}, r"^res: expected at least 2 images, .*, got 1: .* so is CIDEr"),
        (coco.Bleu(), TWO, {1: ["A dog runs"], 2: ["the cat"]}, r"^captions: .* 1 of 4 .* capitals .*PTBTokenizer\(\)"),
        (
            coco.Cider(), TWO, {1: [" ".join(["a dog"] * 15)], 2: [" ".join(["the cat"] * 15)]},
            r"^res: .* about as long as references, got 30\.0 words on average beside 2\.5: .* 2\.7e-05 of a score",
        ),
        (coco.Bleu(), TWO, {1: [""], 2: ["the cat"]}, r"^res: expected a word in every candidate, got 1 of 2 without"),
    ],
)  # fmt: skip
def test_warnings(scorer, gts, res, message):
    with pytest.warns(coco.CaptionWarning, match=message) as caught:
        scorer.compute_score(gts, res)
    # At the caller's line, not in the package.
    assert {warning.filename for warning in caught} == {__file__}


def test_scripts_without_blanks_are_warned_of():
    with pytest.warns(coco.CaptionWarning, match=r"^captions: expected words with spaces between them, got 2 of 2"):
        tokenize({1: "一只狗在海滩上奔跑", 2: "หมาวิ่งบนชายหาด"})


# What self-critical training code does with the scorer behind CIDEr: counted documents, and values of pairs.

GTS_OF_COUNTS = [
    ["a red dog runs", "the dog runs fast"],
    ["a cat sleeps on a sofa", "the cat"],
    ["two red kites", "a kite"],
]
SETS = [["a dog runs", "a red dog", "the cat"], ["a cat sleeps", "a kite", "a kite"]]


def count_documents(scorer):
    """As the evaluation of several captions counts them: references alone, then the logarithm of their number."""
    for references in GTS_OF_COUNTS:
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
    table = document_frequencies([[text.split() for text in own] for own in GTS_OF_COUNTS])
    scorer = count_documents(kind(df="corpus"))
    assert {" ".join(ngram): n for ngram, n in scorer.cider_scorer.document_frequency.items()} == table
    for own, found in zip(SETS, scorer.my_self_cider(SETS), strict=True):
        assert found == pytest.approx(np.array([[oracle(kind, a, b, table, 3) for b in own] for a in own]), abs=1e-12)
    mean, values = scorer.my_compute_score(GTS_OF_COUNTS[:2], SETS)
    expected = [
        [np.mean([oracle(kind, text, other, table, 3) for other in gts]) for text in own]
        for gts, own in zip(GTS_OF_COUNTS, SETS, strict=False)
    ]
    assert values == pytest.approx(np.array(expected), abs=1e-12)
    assert mean == pytest.approx(np.mean(expected))


def test_a_scorer_by_itself_is_the_class_around_it():
    texts = ["a red dog", "a cat", "kites"]
    gts = dict(enumerate(GTS_OF_COUNTS))
    expected = coco.CiderD().compute_score(gts, [{"image_id": i, "caption": [text]} for i, text in enumerate(texts)])
    scorer = cider_counts.CiderScorer()
    for text, references in zip(texts, GTS_OF_COUNTS, strict=True):
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
    before = scorer.compute_score(dict(enumerate(GTS_OF_COUNTS)), results)[0]
    scorer.cider_scorer.document_frequency = defaultdict(float, {("red",): 8.0})
    scorer.cider_scorer.ref_len = math.log(20)
    expected = {"n_documents": 20, "document_frequency": {"red": 8}}
    after = scorer.compute_score(dict(enumerate(GTS_OF_COUNTS)), results)[0]
    assert after == coco.CiderD(df=expected).compute_score(dict(enumerate(GTS_OF_COUNTS)), results)[0] != before


def test_messages():
    with pytest.raises(
        ValueError, match=r"^cider_scorer\.ref_len: expected the logarithm .*, got None\. Add references"
    ):
        coco.CiderD().my_self_cider(SETS)
    with pytest.raises(TypeError, match=r"^gts: expected a list of strings for each image, got 'a dog'\. Give lists"):
        count_documents(coco.CiderD()).my_self_cider(["a dog"])
    with pytest.raises(ValueError, match=r"^cider_scorer: expected a candidate beside all references, got none for so"):
        count_documents(coco.CiderD()).cider_scorer.compute_score()
