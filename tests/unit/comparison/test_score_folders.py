"""Folders of scores: the numbers of the files, in the order of the baseline, and a message for every fault."""

import json
import math

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from manycaps.commands import command_line
from manycaps.comparison.score_folders import read_score_folders
from tests.comparison_cases import scored_systems
from tests.refusals import assert_refused

IDS = [f"row {i}" for i in range(40)]


def write_scores(folder, system, ids=IDS, n_candidates=5, parts=2, signature=None, **columns):
    """Write scores as `manycaps score` does, the rows in `parts` files."""
    (folder / "rows").mkdir(parents=True)
    values = {key: np.asarray(each)[: len(ids)] for key, each in system.values.items()} | columns
    table = pa.table({"id": ids, "n_candidates": pa.array([n_candidates] * len(ids), pa.int32()), **values})
    size = -(-len(ids) // parts)
    for part in range(parts):
        pq.write_table(table.slice(part * size, size), folder / "rows" / f"part-{part:05}.parquet")
    result = {**system.results["trm_meteor"], **({"signature": signature} if signature else {})}
    summary = {"n_rows": len(ids), "n_rejected": 0, "metrics": {"trm_meteor": result}}
    (folder / "summary.json").write_text(json.dumps(summary), encoding="utf-8")
    return str(folder)


@pytest.fixture
def folders(tmp_path):
    first, second = scored_systems()[:2]
    return {"a": write_scores(tmp_path / "a", first), "b": write_scores(tmp_path / "b", second, parts=3)}


def test_values_come_in_the_order_of_the_baseline(tmp_path):
    system, order = scored_systems()[0], np.random.default_rng(0).permutation(40)
    first = write_scores(tmp_path / "a", system)
    shuffled = {key: values[order] for key, values in system.values.items()}
    second = write_scores(tmp_path / "b", system._replace(values=shuffled), [IDS[i] for i in order])
    systems, rows = read_score_folders({"a": first, "b": second})
    assert [row.id for row in rows] == IDS
    assert [system.name for system in systems] == ["a", "b"]
    for key, values in systems[0].values.items():
        assert values.tolist() == system.values[key].tolist() == systems[1].values[key].tolist()
    assert systems[0].results["trm_meteor"] == system.results["trm_meteor"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"meteor": [math.nan] + [0.5] * 39}, "meteor[0] (id 'row 0'): expected a finite number, got nan (1 such rows"),
        ({"meteor": [0.5] * 38 + [None] * 2}, "meteor[38] (id 'row 38'): expected a finite number, got nan (2 such ro"),
        ({"signature": "trm_meteor|version:y"}, "expected trm_meteor as in "),
        ({"ids": IDS[:39]}, "expected the rows of "),
        ({"ids": [*IDS, "another"][1:]}, "expected the rows of "),
    ],
    ids=["NaN", "null", "signature", "missing", "other"],
)
def test_messages(tmp_path, change, message):
    first = write_scores(tmp_path / "a", scored_systems()[0])
    second = write_scores(tmp_path / "b", scored_systems()[1], **change)
    assert_refused(ValueError, f"{second}: {message}", read_score_folders, {"a": first, "b": second})


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("summary.json", "[1", ": expected a JSON file, got "),
        ("summary.json", '{"metrics": {"a": 3}}', "/summary.json: expected the values of metrics, got {'a': 3}. Score"),
        ("rows/part-00000.parquet", "PAR1", ": expected rows with their scores, got ArrowInvalid ("),
    ],
    ids=["no_json", "metrics", "rows"],
)
def test_messages_of_files_that_hold_something_else(tmp_path, folders, name, content, message):
    (tmp_path / "b" / name).write_text(content, encoding="utf-8")
    assert_refused(ValueError, f".*{message}", read_score_folders, folders)


def test_messages_of_a_folder_alone(tmp_path, folders, capsys, monkeypatch):
    twice = write_scores(tmp_path / "twice", scored_systems()[0], [*IDS[:39], "row 0"])
    with pytest.raises(ValueError) as found:
        read_score_folders({"a": folders["a"], "twice": twice})
    assert str(found.value).startswith(f"{twice}, id 'row 0': expected every id once, got it twice.")
    with pytest.raises(ValueError) as found:
        read_score_folders(folders, ["trm_cider"])
    assert str(found.value).startswith(f"{folders['a']}: expected scores of trm_cider, got scores of trm_meteor.")
    (tmp_path / "b" / "summary.json").unlink()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.jsonl").touch()
    mixed = f"systems: expected captions or folders of scores, got x.jsonl and {folders['a']}."
    with_references = "--references: expected none with folders of scores, got ['x.jsonl']."
    unfinished = f"{folders['b']}: expected a finished run, got no summary.json. Give the same `manycaps sco"
    for arguments, message in (
        (folders.values(), unfinished),
        ([folders["a"], twice, "-r", "x.jsonl"], with_references),
        ([folders["a"], "x.jsonl"], mixed),
    ):
        assert command_line.main(["compare", *arguments, "-o", str(tmp_path / "report")]) in (1, 2)
        assert capsys.readouterr().err.startswith(message)
