"""The frame of the studies: what an interrupted one has computed is kept, and other settings are never mixed in."""

import subprocess
from pathlib import Path

import pytest

from scripts.studies import renew_studies
from scripts.studies.renew_studies import PAGE
from scripts.studies.study_frame import StudyTable, as_cell, numbers, print_table, read_lines, study_settings
from scripts.studies.study_list import STUDIES
from scripts.studies.study_options import study_parser

CELLS = [("a", 1), ("a", 2), ("b", 1)]


def table(folder, **settings):
    return StudyTable(folder, "study", ("system", "n"), ("measure", "value"), {"seed": 0, **settings})


def lines_of(system, n):
    return [("x", n / 3), ("y", float("nan"))] if system == "a" else []


def test_a_table_has_the_lines_of_all_cells(tmp_path, capsys):
    lines = table(tmp_path).fill(CELLS, lines_of)
    assert lines == read_lines(tmp_path / "study.csv")
    assert lines[0] == {"system": "a", "n": "1", "measure": "x", "value": "0.333333"}
    assert numbers(lines, "value", measure="x") == [0.333333, 0.666667]
    # A later call that asks for fewer cells gets these alone, and loses none.
    assert table(tmp_path).fill([("a", 2)], None) == lines[2:]
    assert read_lines(tmp_path / "study.csv") == lines[2:] + lines[:2]
    assert [as_cell(value) for value in ("a", 12345678, 1 / 3, True)] == ["a", "12345678", "0.333333", "True"]
    print_table(["a", "b"], [["1", "2"]])
    assert capsys.readouterr().out == "| a | b |\n|---|---|\n| 1 | 2 |\n"


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
        match=r"study\.csv'?: expected a table made with the settings of this call, got one made with "
        r"study\.json\. Choose another --output, or delete the table\.",
    ):
        table(tmp_path, seed=1)


def test_settings_name_no_folder(tmp_path):
    parser = study_parser("")
    parser.add_argument("--data", nargs="+", type=type(tmp_path))
    options = parser.parse_args(["--output", str(tmp_path), "--data", str(tmp_path / "captions"), str(tmp_path / "b")])
    assert study_settings(options) == {"seed": 0, "data": ["captions", "b"]}


# What `make studies` runs, and what it copies.


@pytest.fixture
def renew(monkeypatch, tmp_path):
    """Run studies that write a table and its settings; return the status, the arguments of each run, and the copies."""

    def renewed(*options):
        seen = []

        def run(arguments, **_):
            seen.append(arguments[2:])
            folder = Path(arguments[arguments.index("--output") + 1])
            folder.mkdir(parents=True, exist_ok=True)
            study = arguments[2].rpartition(".")[2]
            for ending in ("csv", "json", "png"):
                (folder / f"{study}.{ending}").touch()
            return subprocess.CompletedProcess(arguments, returncode=int(study == "search"))

        monkeypatch.setattr(renew_studies.subprocess, "run", run)
        monkeypatch.setattr(renew_studies, "SHOWN", tmp_path / "shown")
        status = renew_studies.main(renew_studies.parsed(["--output", str(tmp_path / "out"), *options]))
        return status, seen, sorted(str(path.relative_to(tmp_path)) for path in tmp_path.glob("shown/*/*"))

    return renewed


def test_studies_run_on_the_corpora_of_the_list_and_are_copied(renew):
    without_search = [study for study in STUDIES if study != "search"]
    status, runs, shown = renew("--only", *without_search)
    assert status == 0
    assert [arguments[0] for arguments in runs] == [f"scripts.studies.{study}" for study in without_search]
    assert all("--data" not in arguments for arguments in runs)
    assert {"shown/bundled/efficiency.png", "shown/bundled/inference.png"} <= {*shown}
    assert all(f"({path.replace('shown', 'studies')})" in PAGE.read_text(encoding="utf-8") for path in shown)
    status, runs, shown = renew("--data", "data", "--only", "sensitivity")
    assert status == 0
    corpora = [arguments[arguments.index("--corpus") + 1] for arguments in runs if "--corpus" in arguments]
    assert ["bundled", *corpora] == list(STUDIES["sensitivity"])
    assert {path.split("/")[1] for path in shown} == {*STUDIES["sensitivity"]}
    assert "w = 1" in runs[2]


def test_it_stops_at_a_study_that_fails(renew):
    status, runs, shown = renew("--only", "search", "embeddings")
    assert (status, len(runs), shown) == (1, 1, [])
