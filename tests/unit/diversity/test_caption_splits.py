"""`manycaps splits`: reproducible, disjoint, shares within one row, strata alike or held out, nothing leaks."""

import collections
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from manycaps.commands.command_line import main
from manycaps.diversity.caption_splits import hold_out, share_out

WORDS = "dog cat horse zebra kite train".split()


def rows_of(n, seed=0):
    rng = np.random.default_rng(seed)
    return [
        {"id": f"{i}.jpg", "captions": [f"a {WORDS[rng.integers(6)]}" + " runs" * int(rng.integers(0, 9)), f"row {i}"]}
        for i in range(n)
    ]


@pytest.fixture
def run(tmp_path):
    (tmp_path / "labels.txt").write_text("\n".join(WORDS[:5]))

    def splits(rows, *arguments, code=0):
        (tmp_path / "in.jsonl").write_text("\n".join(map(json.dumps, rows)))
        output = tmp_path / "out.jsonl"
        output.unlink(missing_ok=True)
        given = [str(tmp_path / a) if a == "labels.txt" else a for a in arguments]
        assert main(["splits", str(tmp_path / "in.jsonl"), "-o", str(output), *given]) == code
        return [json.loads(line) for line in output.read_text().splitlines()] if code == 0 else None

    return splits


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 5), min_size=1, max_size=60), st.floats(0.01, 0.6), st.floats(0.01, 0.39))
def test_shares_are_met_within_one_row_and_in_every_stratum_within_two(strata, test, validation):
    shares = {"test": test, "validation": validation}
    splits = share_out(strata, range(len(strata)), shares, seed=3)
    assert splits == share_out(strata, range(len(strata)), shares, seed=3)
    for name, share in shares.items():
        assert abs(splits.count(name) - share * len(strata)) < 1
        for stratum in set(strata):
            own = [split for split, value in zip(splits, strata, strict=True) if value == stratum]
            assert abs(own.count(name) - share * len(own)) < 2
        assert abs(hold_out(strata, range(len(strata)), shares, 3).count(name) - share * len(strata)) < 1 + 1e-9


@pytest.mark.parametrize("how", [["--by", "length"], ["--by", "concept", "--labels", "labels.txt"]], ids=["l", "c"])
@pytest.mark.parametrize("hold_out", [[], ["--hold-out"]], ids=["alike", "held_out"])
def test_splits_are_reproducible_disjoint_and_of_the_stated_shares(run, how, hold_out):
    rows = rows_of(103)
    lines = run(rows, *how, *hold_out, "--test", "0.2", "--validation", "0.1")
    assert [line["id"] for line in lines] == [row["id"] for row in rows]
    counts = collections.Counter(line["split"] for line in lines)
    assert abs(counts["test"] - 20.6) < 1
    assert abs(counts["validation"] - 10.3) < 1
    by_id = {line["id"]: line["split"] for line in lines}
    again = run(rows[::-1], *how, *hold_out, "--test", "0.2", "--validation", "0.1")
    assert {line["id"]: line["split"] for line in again} == by_id
    other = run(rows, *how, *hold_out, "--test", "0.2", "--validation", "0.1", "--seed", "1")
    assert {line["id"]: line["split"] for line in other} != by_id


def test_the_longest_captions_are_held_out(run, capsys):
    lines = run(rows_of(50), "--by", "length", "--hold-out")
    of = {name: [line["length"] for line in lines if line["split"] == name] for name in ("train", "validation", "test")}
    assert max(of["train"]) <= min(of["validation"])
    assert max(of["validation"]) <= min(of["test"])
    assert len(capsys.readouterr().out.splitlines()) == 4


def test_concepts_are_held_out(run):
    lines = run(rows_of(60), "--by", "concept", "--labels", "labels.txt", "--hold-out", "--validation", "0")
    of = {name: {line["concept"] for line in lines if line["split"] == name} for name in ("train", "test")}
    # At most the concept in which the split begins is in both.
    assert len(of["train"] & of["test"]) <= 1
    assert "" in of["train"]  # rows of "train", which is no label of the list, are never held out first


def test_the_concept_of_a_row_is_the_rarest(run):
    rows = [
        {"id": str(i), "captions": [text]} for i, text in enumerate(["a dog and a cat", "a dog", "a dog", "x", "y"])
    ]
    lines = run(rows, "--by", "concept", "--labels", "labels.txt", "--test", "0.4", "--validation", "0")
    assert [line["concept"] for line in lines] == ["cat", "dog", "dog", "", ""]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--by", "concept"], "--labels: expected a file, got None. Name a file with one label per line."),
        (["--by", "length", "--labels", "x"], "--labels: expected no file without --by concept, got x. Name"),
        (["--by", "length", "--test", "1.5"], "--test: expected a share from 0 to below 1, got 1.5. Write 10%"),
        (
            ["--by", "length", "--test", "0.6", "--validation", "0.5"],
            "--test: expected shares above 0 that leave rows for",
        ),
    ],
    ids=["no_labels", "labels", "share", "shares"],
)
def test_messages(run, capsys, arguments, message):
    run(rows_of(3), *arguments, code=2)
    assert capsys.readouterr().err.startswith(message)


def test_two_rows_of_one_image_are_refused(run, capsys):
    rows = [{"id": "1", "image": "a.jpg", "captions": ["x"]}, {"id": "2", "image": "a.jpg", "captions": ["y"]}]
    run(rows, "--by", "length", code=1)
    assert capsys.readouterr().err.startswith("image[1]: expected a unique value, got the value of row 0 ('a.jpg').")
