"""Every study runs on its bundled captions, goes on to the same table, and draws its picture."""

import importlib
import shlex

import pytest

from scripts.studies.study_frame import read_lines, write_lines
from scripts.studies.study_list import SENTENCES, SMALL, STUDIES
from tests.documents import PAGES, code_of
from tests.tools import ROOT

pytestmark = pytest.mark.slow

# Columns that a clock writes.
TIMED = {"efficiency": ("rows_per_second", "rows_per_second_low", "rows_per_second_high")}


def run(study, folder):
    """Run a study in this process, so that models are loaded once, and return its tables without what a clock wrote."""
    program = importlib.import_module(f"scripts.studies.{study}")
    program.main(program.parse(["--output", str(folder), *shlex.split(SMALL[study]), *word_vectors(study, folder)]))
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


def drop_last_cell(study, path):
    """Leave out the last cell: what is drawn or embedded for it must not depend on the cells before it."""
    from scripts.studies.decoding_study import KEY as key_of_decoding

    key = getattr(importlib.import_module(f"scripts.studies.{study}"), "KEY", key_of_decoding)
    lines = read_lines(path)
    cells = [tuple(line[name] for name in key) for line in lines]
    distinct = list(dict.fromkeys(cells))
    kept = distinct[:-1]
    rest = [line.values() for line, cell in zip(lines, cells, strict=True) if cell in kept]
    write_lines(path, list(lines[0]), rest)


@pytest.mark.parametrize("study", STUDIES)
def test_a_study_that_is_stopped_goes_on_to_the_same_tables(study, tmp_path):
    whole = run(study, tmp_path)
    assert len(whole[f"{study}.csv"]) > 1
    drop_last_cell(study, tmp_path / f"{study}.csv")
    (tmp_path / f"{study}.png").unlink()
    assert run(study, tmp_path) == whole
    assert (tmp_path / f"{study}.png").read_bytes().startswith(b"\x89PNG")
    if study == "embeddings":
        embeddings = {line["embedding"] for line in read_lines(tmp_path / "embeddings.csv")}
        assert embeddings == {"MiniLM", "CLIP text", "bag of words", "few"}


def test_every_program_backs_a_sentence():
    paths = (ROOT / "scripts" / "studies").glob("*.py")
    programs = {path.stem for path in paths if "parse = parser.parse_args" in path.read_text(encoding="utf-8")}
    assert set(SENTENCES) == programs - {"renew_studies"}


@pytest.mark.parametrize("program", SENTENCES)
def test_a_document_names_every_program_and_the_program_takes_what_it_says(program):
    name = f"scripts.studies.{program}"
    lines = [line for page in PAGES for line in code_of(page) if f"{line} ".startswith(f"python -m {name} ")]
    assert lines
    for line in lines:
        importlib.import_module(name).parse(shlex.split(line.replace("\\ ", ""))[3:])  # without the ends of lines
