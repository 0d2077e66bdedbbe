"""Every study runs on its bundled captions, goes on to the same table, and has its section and its picture."""

import importlib
import re
import shlex

import pytest

from scripts.studies.study_frame import read_lines, write_lines
from scripts.studies.study_list import BUNDLED, SENTENCES, SMALL, STUDIES
from tests.tools import ROOT, SOURCES, TOOLS

PAGE = (ROOT / "docs" / "studies.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## `(\w+)`.*?\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))

# Columns that a clock writes.
TIMED = {"efficiency": ("rows_per_second", "rows_per_second_low", "rows_per_second_high")}


def run(study, folder):
    """Run a study in this process, so that models are loaded once, and return its tables without what a clock wrote."""
    program = importlib.import_module(f"scripts.studies.{study}")
    program.main(program.parsed(["--output", str(folder), *shlex.split(SMALL[study]), *word_vectors(study, folder)]))
    return {path.name: without_times(study, path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.csv"))}


def word_vectors(study, folder):
    """Arguments of the study that embeds by them, too."""
    if study != "embeddings":
        return []
    words = "a the dog cat man woman on in of red blue sits runs".split()
    (folder / "few.txt").write_text("".join(f"{word} {i} {len(word)} 1\n" for i, word in enumerate(words)))
    return ["--vectors", f"few={folder / 'few.txt'}"]


def without_times(study, text):
    rows = [line.split(",") for line in text.splitlines()]
    kept = [i for i, column in enumerate(rows[0]) if column not in TIMED.get(study, ())]
    return [[row[i] for i in kept] for row in rows]


def test_every_program_backs_a_sentence():
    programs = {path.stem for path in TOOLS if path.parent.name == "studies"}
    assert programs - {"renew_studies"} == {*SENTENCES}


def test_all_studies_are_in_the_list():
    found = [
        path.stem
        for path, text in SOURCES.items()
        if re.search(r"^parser = (study|decoding)_parser\(", text, re.MULTILINE)
    ]
    assert sorted(found) == sorted(STUDIES) == sorted(SMALL)
    assert all(next(iter(runs)) == BUNDLED for runs in STUDIES.values())


def stopped_early(study, path):
    """Leave out the last cell: what is drawn or embedded for it must not depend on the cells before it."""
    from scripts.studies.decoding_study import KEY as key_of_decoding

    key = getattr(importlib.import_module(f"scripts.studies.{study}"), "KEY", key_of_decoding)
    lines = read_lines(path)
    cells = [tuple(line[name] for name in key) for line in lines]
    distinct = list(dict.fromkeys(cells))
    kept = distinct[:-1]
    rest = [line.values() for line, cell in zip(lines, cells, strict=True) if cell in kept]
    write_lines(path, list(lines[0]), rest)


@pytest.mark.slow
@pytest.mark.parametrize("study", STUDIES)
def test_a_study_that_is_stopped_goes_on_to_the_same_tables(study, tmp_path):
    whole = run(study, tmp_path)
    assert len(whole[f"{study}.csv"]) > 1
    stopped_early(study, tmp_path / f"{study}.csv")
    (tmp_path / f"{study}.png").unlink()
    assert run(study, tmp_path) == whole
    assert (tmp_path / f"{study}.png").read_bytes().startswith(b"\x89PNG")
    if study == "embeddings":
        embeddings = {line["embedding"] for line in read_lines(tmp_path / "embeddings.csv")}
        assert embeddings == {"MiniLM", "CLIP text", "bag of words", "few"}


@pytest.mark.parametrize("study", STUDIES)
def test_a_study_has_its_section_with_pictures_that_are_there(study):
    pictures = re.findall(r"!\[([^\]]+)\]\((studies/[^)]+\.png)\)", SECTIONS[study])
    assert pictures
    assert [path for _, path in pictures if not (ROOT / "docs" / path).is_file()] == []
    assert f"python -m scripts.studies.{study}" in SECTIONS[study]
