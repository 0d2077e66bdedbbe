"""The core-set command: curves, captions, a user's own scores, messages; scores and covers by a loop."""

import json

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from manycaps import functional
from manycaps.commands.command_line import main
from manycaps.diversity.core_set import covers
from manycaps.diversity.core_set.covers import find_reached_rows, greedy_cover
from manycaps.kit.ngrams_bleu import CrossCider

TRAIN = [
    {"id": "a", "captions": ["a man rides a horse", "a man rides a horse."]},
    {"id": "b", "captions": ["a man rides a brown horse", "a dog runs on the beach"]},
]
TEST = [
    {"id": "x", "captions": ["a man rides a horse on the beach", "a man rides a horse"]},
    {"id": "y", "captions": ["a dog runs on the beach"]},
    {"id": "z", "captions": ["two cats sleep on a sofa"]},
]


@pytest.fixture
def files(tmp_path):
    for name, rows in (("train", TRAIN), ("test", TEST)):
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return [str(tmp_path / "train.jsonl"), "--test", str(tmp_path / "test.jsonl"), "-o", str(tmp_path / "out.json")]


def test_captions_that_reach_a_threshold(files, tmp_path, capsys):
    assert main(["core-set", *files, "--thresholds", "1", "0.3"]) == 0
    result = json.loads((tmp_path / "out.json").read_text())
    assert (result["metric"], result["n_candidates"], result["n_rows"]) == ("bleu_4", 3, 3)
    low, high = result["curve"]
    assert [(p["threshold"], p["n_captions"], p["n_rows_reached"]) for p in (low, high)] == [(0.3, 2, 2), (1.0, 2, 2)]
    assert high["captions"] == [
        {"id": "a", "caption": "a man rides a horse", "n_new_rows": 1},
        {"id": "b", "caption": "a dog runs on the beach", "n_new_rows": 1},
    ]
    assert "0.3         2  2 of 3" in capsys.readouterr().out


def test_the_best_scores_are_those_of_single_captions(files, tmp_path):
    assert main(["core-set", *files, "--metric", "bleu_2", "--thresholds", "0.5"]) == 0
    captions = functional.ptb_tokenize([c for row in TRAIN for c in row["captions"]])
    best = [
        max(functional.bleu([[c]], [functional.ptb_tokenize(row["captions"])])[0, 1] for c in captions) for row in TEST
    ]
    assert json.loads((tmp_path / "out.json").read_text())["best_mean"] == pytest.approx(np.mean(best), abs=1e-12)


def test_cider_d_with_the_document_frequencies_of_the_test_rows(files, tmp_path):
    assert main(["core-set", *files, "--metric", "cider_d", "--thresholds", "2.5", "1"]) == 0
    result = json.loads((tmp_path / "out.json").read_text())
    captions = list(dict.fromkeys(map(tuple, functional.ptb_tokenize([c for row in TRAIN for c in row["captions"]]))))
    rows = [functional.ptb_tokenize(row["captions"]) for row in TEST]
    scores = np.array([functional.cider_d([[c] for _ in rows], rows) for c in captions]).reshape(3, 3)
    assert result["metric"] == "cider_d"
    assert result["best_mean"] == pytest.approx(scores.max(axis=0).mean(), abs=1e-12)
    expected = [int((scores.max(axis=0) >= threshold).sum()) for threshold in (1, 2.5)]
    assert [point["n_rows_reached"] for point in result["curve"]] == expected
    assert expected[0] > 0


def test_scores_of_another_metric(files, tmp_path):
    np.save(tmp_path / "scores.npy", np.array([[-1.0, -5, -5], [-2, -2, -2], [-9, -1, -9]]))
    arguments = ["core-set", *files, "--scores", str(tmp_path / "scores.npy"), "--thresholds", "-2", "-1"]
    assert main(arguments) == 0
    points = json.loads((tmp_path / "out.json").read_text())["curve"]
    assert [[c["caption"] for c in point["captions"]] for point in points] == [
        ["a man rides a brown horse"],
        ["a man rides a horse", "a dog runs on the beach"],
    ]


def test_parts_do_not_matter(monkeypatch):
    scores = np.random.default_rng(0).random((20, 7))
    thresholds = [0.3, 0.8, 0.95]

    def find_covers():
        reached = find_reached_rows(lambda b, e: scores[b:e], 20, 7, thresholds, lambda steps, **_: steps)
        return [greedy_cover(*reached.at(level), 7) for level in range(3)], reached.best.tolist()

    whole = find_covers()
    monkeypatch.setattr(covers, "MAX_CELLS", 1)
    assert find_covers() == whole
    assert whole[1] == scores.max(axis=0).tolist()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--thresholds", "2"], "--thresholds: expected numbers from 0.04 to 1, got 2.0. A caption without"),
        (["--metric", "cider_d", "--thresholds", "11"], "--thresholds: expected numbers from 0.001 to 10, got 11.0. C"),
        (["--metric", "cider_d", "--limit", "1"], "--test: expected at least 2 rows for cider_d, which weighs n-gram"),
        (["--scores", "small.npy"], "--scores: expected shape (3, 3), the distinct captions and the rows, got (2, 2)"),
        (["--scores", "nan.npy"], "--scores: expected finite numbers, got nan in line 1. Use a small score for pairs"),
    ],
)
def test_messages(files, tmp_path, monkeypatch, capsys, arguments, message):
    monkeypatch.chdir(tmp_path)
    np.save("small.npy", np.zeros((2, 2)))
    np.save("nan.npy", [[1.0, 1.0, 1.0], [1.0, np.nan, np.inf], [1.0, 1.0, 1.0]])
    assert main(["core-set", *files, *arguments]) == 2
    assert capsys.readouterr().err.startswith(message)


# CIDEr-D of each candidate with each row equals the plain function's; the lazy greedy cover is exhaustive.

TEXTS = st.lists(st.sampled_from("a the dog cat runs red".split()), max_size=9)
ROWS = st.lists(st.lists(TEXTS, min_size=1, max_size=4), min_size=2, max_size=5)
SETS = st.lists(st.sets(st.integers(0, 9)), min_size=1, max_size=12)


def exhaustive(sets):
    """Count every candidate again at every step; of equal ones the first."""
    covered, chosen, n_new = set(), [], []
    while True:
        gains = [len(own - covered) for own in sets]
        if not max(gains):
            return chosen, n_new
        best = gains.index(max(gains))
        chosen.append(best)
        n_new.append(gains[best])
        covered |= sets[best]


def loop(candidates, rows):
    """Score each candidate in every row by the plain function; the references alone are the documents."""
    return np.array([functional.cider_d([[tokens]] * len(rows), rows) for tokens in candidates])


def by_candidate(candidates, rows):
    cross = CrossCider(candidates, rows)
    found = np.empty((len(candidates), len(rows)))
    middle = len(candidates) // 2
    found[cross.order] = np.concatenate([cross.scores(0, middle), cross.scores(middle, len(candidates))])
    return found


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(st.lists(TEXTS, min_size=1, max_size=8), ROWS)
def test_scores_are_those_of_single_candidates(candidates, rows):
    expected = loop(candidates, rows)
    assert by_candidate(candidates, rows) == pytest.approx(expected, abs=1e-12)


@settings(max_examples=20, deadline=None)
@given(st.lists(TEXTS, min_size=2, max_size=12), ROWS, st.sampled_from([0.5, 1.0, 3.0]))
def test_the_cover_is_the_exhaustive_one(candidates, rows, threshold):
    cross = CrossCider(candidates, rows)
    sizes = len(candidates), len(rows)
    reached = find_reached_rows(cross.scores, *sizes, [threshold], lambda steps, **_: steps).reorder(cross.order)
    scores = loop(candidates, rows)
    # A score that is the threshold but for rounding could fall on either side.
    assume(not (abs(scores - threshold) < 1e-7).any())
    sets = [set(np.flatnonzero(line >= threshold).tolist()) for line in scores]
    assert greedy_cover(*reached.at(0), len(rows)) == exhaustive(sets)


def test_by_hand():
    # "dog runs" and its copy share orders 1 and 2 of four, each with cosine 1: half of 10. "a" and "a cat" differ by a
    # bigram and share one of two equal weights, "a" and "a" are equal: order 1 alone, mean over both references.
    scores = by_candidate([["dog", "runs"], ["a"]], [[["dog", "runs"]], [["a", "cat"], ["a"]]])
    assert scores[0].tolist() == pytest.approx([5, 0], abs=1e-12)
    assert scores[1].tolist() == pytest.approx([0, 2.5 * (np.exp(-1 / 72) / np.sqrt(2) + 1) / 2], abs=1e-12)


def greedy(sets, n_rows):
    first = np.append(0, np.cumsum([len(own) for own in sets]))
    return greedy_cover(first, np.array([row for own in sets for row in sorted(own)], np.int32), n_rows)


@settings(max_examples=100, deadline=None)
@given(SETS)
def test_the_choice_is_that_of_the_exhaustive_search(sets):
    assert greedy(sets, 10) == exhaustive(sets)
