"""Errors of the scorers, the table of document frequencies, SPICE, and what is remembered."""

import math
import os
import pickle
import re
from collections import defaultdict

import numpy as np
import pytest
from pycocoevalcap.bleu import bleu
from pycocoevalcap.rouge import rouge

from manycaps import catalog, coco, installed_modules
from manycaps.coco import frequencies
from tests.each_case import each_case
from tests.modules.sample_inputs import small_meteor15_data

GTS, RES = {1: ["a red dog"], 2: ["the cat"]}, {1: ["a red dog"], 2: ["a cat"]}


@each_case(
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


def test_examples_of_names_that_are_meant():
    for advice in installed_modules.MEANT.values():
        assert re.match(r"Take |It is not in this collection", advice)
        assert all(
            name in catalog.MODULES
            for name in re.findall(r"\b[a-z]+_[a-z]+\b", advice)
            if name not in ("cider_d", "ptb_tokenize")
        )


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


@each_case(
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


@each_case("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickles_of_all_protocols(protocol, tmp_path):
    counts = defaultdict(float, {("a",): 9.0, ("caf\u00e9",): 2.0, ("a", "dog", "runs", "\u2603"): 1.0, ("1",): 300.0})
    for n, given in enumerate((counts, dict(counts), defaultdict(int, {key: int(n) for key, n in counts.items()}))):
        path = tmp_path / f"{n}.p"
        path.write_bytes(pickle.dumps({"document_frequency": given, "ref_len": 8092}, protocol))
        found = frequencies.cached_frequencies(path)
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
