"""Files that are missing or cannot be read: refused at once, through every door, before a library is loaded."""

import subprocess
import sys
import time

import pytest

from manycaps.commands import command_line
from manycaps.comparison import sources
from manycaps.comparison.compare_options import CompareOptions
from manycaps.comparison.sources import check_sources
from tests.comparison_cases import caption_rows, write_captions

# Seconds of a refusal, with the start of Python, on a machine that has other work; a quiet one takes half of one.
MOST_SECONDS = 5

# Libraries that a refusal needs not load, of a second each and more.
HEAVY = ("torch", "evaluate", "datasets", "transformers", "scipy", "matplotlib")


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return write_captions(tmp_path, caption_rows(4))


MISSING = [
    ("none.jsonl -r references.jsonl", "none.jsonl: expected a file, a folder or a pattern of files, got none."),
    ("base.jsonl other.jsonl -r none.csv", "none.csv: expected a file, a folder or a pattern of files, got none."),
    ("base.jsonl no*.jsonl -r references.jsonl", "no*.jsonl: expected a file, a folder or a pattern"),
    ("base.jsonl -r references.jsonl --images none", "--images: expected a folder that exists, got none."),
    (
        "base.jsonl -r references.jsonl --option language_model=none",
        "--option language_model: expected a file that exists, got none.",
    ),
    ("--scores none.csv", "none.csv: expected a file, a folder or a pattern of files, got none."),
    ("base.pdf -r references.jsonl", "base.pdf: expected a table that ends in .parquet"),
]


@pytest.mark.parametrize(("line", "message"), MISSING)
def test_a_missing_file_is_refused_with_one_line(line, message, files, tmp_path, capsys):
    (tmp_path / "base.pdf").write_bytes(b"%PDF")
    assert command_line.main(["compare", *line.split()]) in (1, 2)
    error = capsys.readouterr().err
    assert error.startswith(message)
    assert error.count("\n") == 1
    assert not (tmp_path / "report").exists()


@pytest.mark.parametrize(
    "system", ["base.jsonl", "{base,other}.jsonl", "*se.jsonl", "hf://datasets/a/b", ".", "base.*"]
)
def test_what_is_there_or_takes_a_network_is_left_to_the_reader(system, files):
    check_sources(CompareOptions([system], references=["references.jsonl"], device="cpu", checkpoint="none"))


def test_a_file_without_permission_is_refused(files, monkeypatch):
    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(sources, "open", refuse, raising=False)
    with pytest.raises(OSError, match=r"^base.jsonl: expected a file that can be read, got permission denied\."):
        check_sources(CompareOptions(["base.jsonl"]))


def test_a_refusal_loads_no_library(files):
    program = (
        "import sys; from manycaps.commands.command_line import main;"
        "main(['compare', 'none.jsonl', '-r', 'references.jsonl']);"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    start = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert time.perf_counter() - start < MOST_SECONDS
    assert done.stdout.splitlines()[-1] == "[]"
    assert done.stderr.startswith("none.jsonl: expected a file")
