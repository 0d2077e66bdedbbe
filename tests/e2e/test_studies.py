"""Every study runs on its bundled captions, writes the same table each time, and has its section and its picture."""

import importlib
import re
import shlex

import pytest

from scripts.studies.study_list import BUNDLED, SMALL, STUDIES
from tests.each_case import each_case
from tests.tools import ROOT, SOURCES

PAGE = (ROOT / "docs" / "studies.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## `(\w+)`.*?\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))

# Columns that a clock writes.
TIMED = {"efficiency": ("rows_per_second", "rows_per_second_low", "rows_per_second_high")}


def run(study, folder):
    """Run a study in this process, so that models are loaded once, and return its tables without what a clock wrote."""
    program = importlib.import_module(f"scripts.studies.{study}")
    program.main(program.parsed(["--output", str(folder), *shlex.split(SMALL[study])]))
    return {path.name: without_times(study, path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.csv"))}


def without_times(study, text):
    rows = [line.split(",") for line in text.splitlines()]
    kept = [i for i, column in enumerate(rows[0]) if column not in TIMED.get(study, ())]
    return [[row[i] for i in kept] for row in rows]


def test_all_studies_are_in_the_list():
    found = [
        path.stem
        for path, text in SOURCES.items()
        if re.search(r"^parser = (study|decoding)_parser\(", text, re.MULTILINE)
    ]
    assert sorted(found) == sorted(STUDIES) == sorted(SMALL)
    assert all(next(iter(runs)) == BUNDLED for runs in STUDIES.values())


@pytest.mark.slow
@pytest.mark.parametrize("study", STUDIES)
def test_a_study_writes_the_same_tables_each_time(study, tmp_path):
    first, second = (run(study, tmp_path / name) for name in ("first", "second"))
    assert first == second
    assert len(first[f"{study}.csv"]) > 1
    assert (tmp_path / "first" / f"{study}.png").read_bytes().startswith(b"\x89PNG")
    # A finished study is drawn again, and nothing is computed.
    program = importlib.import_module(f"scripts.studies.{study}")
    before = (tmp_path / "first" / f"{study}.csv").stat().st_size
    program.main(program.parsed(["--output", str(tmp_path / "first"), *shlex.split(SMALL[study])]))
    assert (tmp_path / "first" / f"{study}.csv").stat().st_size == before


@pytest.mark.slow
def test_an_interrupted_study_goes_on_to_the_same_table(tmp_path):
    # The one whose captions are embedded world by world: vectors must not depend on what was left to do.
    folder = tmp_path / "known_truth"
    whole = run("known_truth", folder)
    table = folder / "known_truth.csv"
    lines = table.read_text(encoding="utf-8").splitlines(keepends=True)
    n_measures = len({line[4] for line in whole["known_truth.csv"][1:]})
    assert (len(lines) - 1) % n_measures == 0
    # Two cells are left of the first world, none of the second.
    table.write_text("".join(lines[: 1 + 2 * n_measures]), encoding="utf-8")
    assert run("known_truth", folder) == whole


@each_case("study", STUDIES)
def test_a_study_has_its_section_with_pictures_that_are_there(study):
    pictures = re.findall(r"!\[([^\]]+)\]\((studies/[^)]+\.png)\)", SECTIONS[study])
    assert pictures
    assert [path for _, path in pictures if not (ROOT / "docs" / path).is_file()] == []
    assert [path for _, path in pictures if not (ROOT / "docs" / path).with_suffix(".csv").is_file()] == []
    assert f"python -m scripts.studies.{study}" in SECTIONS[study]
