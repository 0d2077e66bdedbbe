"""The commands, run as a person runs them."""

import json
import os
import subprocess
import sys

import pytest

from tests.tools import ROOT


def run(*arguments, code=0):
    """Run `manycaps` from another folder, and return what it printed."""
    process = subprocess.run(
        [sys.executable, "-m", "manycaps", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT.parent,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    assert process.returncode == code, process.stdout + process.stderr
    return process.stdout + process.stderr


ROWS = [{"references": ["a dog", "the dog"]}, {"references": ["a cat"]}]
EXPECTED = {
    "n_documents": 2,
    "document_frequency": {"a": 2, "dog": 1, "a dog": 1, "the": 1, "the dog": 1, "cat": 1, "a cat": 1},
}


def test_document_frequency(tmp_path):
    """Of rows of captions, and of one caption a row."""
    (tmp_path / "lists.jsonl").write_text("\n".join(map(json.dumps, ROWS)))
    (tmp_path / "single.csv").write_text("image,caption\n1,a dog\n2,a cat\n1,the dog\n")
    for line in ("lists.jsonl", "single.csv --column caption --document image"):
        name, *more = line.split()
        run("count-document-frequency", tmp_path / name, *more, "--output", tmp_path / "table.json")
        assert json.loads((tmp_path / "table.json").read_text()) == EXPECTED


@pytest.mark.slow
def test_token_frequency_takes_each_caption_for_a_document(tmp_path):
    (tmp_path / "lists.jsonl").write_text("\n".join(map(json.dumps, ROWS)))
    line = ("--column", "references", "--output", tmp_path / "table.json")
    assert "4 tokens in 3 captions" in run("count-token-frequency", tmp_path / "lists.jsonl", *line)
    expected = {"n_documents": 3, "document_frequency": {"a</w>": 2, "cat</w>": 1, "the</w>": 1, "dog</w>": 2}}
    assert json.loads((tmp_path / "table.json").read_text()) == expected
