"""The frame of the studies: what an interrupted one has computed is kept, and other settings are never mixed in."""

import argparse
import subprocess
from pathlib import Path

import pytest

from scripts.studies import renew_studies
from scripts.studies.study_frame import (
    StudyTable,
    add_frame_options,
    as_cell,
    numbers,
    read_lines,
    study_settings,
    write_lines,
)
from scripts.studies.study_list import STUDIES

CELLS = [("a", 1), ("a", 2), ("b", 1)]


def table(folder, **settings):
    return StudyTable(folder, "study", ("system", "n"), ("measure", "value"), {"seed": 0, **settings})


def lines_of(system, n):
    return [("x", n / 3), ("y", float("nan"))] if system == "a" else []


def test_a_table_has_the_lines_of_all_cells(tmp_path):
    lines = table(tmp_path).fill(CELLS, lines_of)
    assert lines == read_lines(tmp_path / "study.csv")
    assert lines[0] == {"system": "a", "n": "1", "measure": "x", "value": "0.333333"}
    assert numbers(lines, "value", measure="x") == [0.333333, 0.666667]


def test_an_interrupted_study_ends_with_the_same_bytes(tmp_path):
    table(tmp_path / "whole").fill(CELLS, lines_of)
    computed = []

    def interrupted(*cell):
        if cell == ("a", 2):
            raise KeyboardInterrupt
        return lines_of(*cell)

    # The cells that are done may be any, in any order.
    with pytest.raises(KeyboardInterrupt):
        table(tmp_path / "resumed").fill([("b", 1), ("a", 1), ("a", 2)], interrupted)
    table(tmp_path / "resumed").fill(CELLS, lambda *cell: computed.append(cell) or lines_of(*cell))
    # A cell without lines leaves no trace, and is computed again.
    assert computed == [("a", 2), ("b", 1)]
    assert (tmp_path / "resumed/study.csv").read_bytes() == (tmp_path / "whole/study.csv").read_bytes()


def test_a_table_with_other_settings_is_refused(tmp_path):
    table(tmp_path).fill(CELLS, lines_of)
    with pytest.raises(
        ValueError,
        match=r"study\.csv'?: expected a table made with the settings of this call, got one made with those of "
        r"study\.json\. Choose another --output, or delete the table\.",
    ):
        table(tmp_path, seed=1)


def test_settings_name_no_folder(tmp_path):
    parser = argparse.ArgumentParser()
    add_frame_options(parser)
    parser.add_argument("--data", nargs="+", type=type(tmp_path))
    options = parser.parse_args(["--output", str(tmp_path), "--data", str(tmp_path / "captions"), str(tmp_path / "b")])
    assert study_settings(options) == {"seed": 0, "data": ["captions", "b"]}


def test_cells_of_a_table(tmp_path):
    assert [as_cell(value) for value in ("a", 12345678, 1 / 3, True)] == ["a", "12345678", "0.333333", "True"]
    write_lines(tmp_path / "more.csv", ["a", "b"], [(1, 0.5)])
    assert (tmp_path / "more.csv").read_bytes() == b"a,b\n1,0.5\n"


# What `make studies` runs, and what it copies.


@pytest.fixture
def runs(monkeypatch, tmp_path):
    """Studies that write a table and its settings, and the arguments of each run."""
    seen = []

    def run(arguments, **_):
        seen.append(arguments[2:])
        folder = Path(arguments[arguments.index("--output") + 1])
        folder.mkdir(parents=True, exist_ok=True)
        study = arguments[2].rpartition(".")[2]
        (folder / f"{study}.csv").write_text("a,b\n")
        (folder / f"{study}.json").write_text("{}")
        return subprocess.CompletedProcess(arguments, returncode=int(study == "search"))

    monkeypatch.setattr(renew_studies.subprocess, "run", run)
    monkeypatch.setattr(renew_studies, "SHOWN", tmp_path / "shown")
    return seen


def test_without_data_every_study_runs_on_the_bundled_captions(runs, tmp_path):
    without_search = [study for study in STUDIES if study != "search"]
    options = renew_studies.parsed(["--output", str(tmp_path / "out"), "--only", *without_search])
    assert renew_studies.main(options) == 0
    assert [arguments[0] for arguments in runs] == [f"scripts.studies.{study}" for study in without_search]
    assert all("--data" not in arguments for arguments in runs)
    shown = sorted(path.name for path in (tmp_path / "shown" / "bundled").iterdir())
    assert shown == sorted(f"{study}.csv" for study in without_search)


def test_with_data_a_study_runs_on_the_corpora_of_the_list(runs, tmp_path):
    options = renew_studies.parsed(["--data", "data", "--output", str(tmp_path / "out"), "--only", "sensitivity"])
    assert renew_studies.main(options) == 0
    corpora = [arguments[arguments.index("--corpus") + 1] for arguments in runs if "--corpus" in arguments]
    assert ["bundled", *corpora] == list(STUDIES["sensitivity"])
    assert sorted(path.name for path in (tmp_path / "shown").iterdir()) == sorted(STUDIES["sensitivity"])


def test_it_stops_at_a_study_that_fails(runs, tmp_path):
    options = renew_studies.parsed(["--output", str(tmp_path / "out"), "--only", "search", "embeddings"])
    assert renew_studies.main(options) == 1
    assert len(runs) == 1
    assert not (tmp_path / "shown").exists()
