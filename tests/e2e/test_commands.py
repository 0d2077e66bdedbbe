"""The commands, run as a person runs them."""

import csv
import json
import os
import re
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


@pytest.mark.slow
def test_quickstart_shows_what_the_paper_argues(tmp_path):
    # The images have their own tests, in test_tiny_pac.py.
    printed = run("quickstart", "--output", tmp_path, "--no-images")
    with (tmp_path / "table.csv").open(encoding="utf-8") as file:
        table = {row.pop("system"): {key: float(value) for key, value in row.items()} for row in csv.DictReader(file)}
    assert list(table) == ["diverse", "repeating", "off_topic"]
    diverse, repeating, off_topic = table.values()
    assert repeating["meteor"] > diverse["meteor"] > off_topic["meteor"]
    for name in ("trm_meteor", "trm_cider"):
        assert diverse[name] < min(repeating[name], off_topic[name])
        assert diverse[f"{name}_corpus_p_value"] > 0.2
        assert repeating[f"{name}_corpus_p_value"] == off_topic[f"{name}_corpus_p_value"] == 0.0001
        assert abs(diverse[f"{name}_excess"]) < 0.1
    for title in ("TRM-METEOR", "TRM-CIDEr"):
        # Each metric speaks for itself, and "cannot be distinguished" has the effect and its interval beside.
        said = f"{title}: the captions of 'diverse' cannot be distinguished from the human captions "
        assert re.search(said + r"\(corpus p 0\.\d+, excess -?0\.0\d+, interval -0\.\d+ to 0\.\d+\)\.", printed)
        for system in ("repeating", "off_topic"):
            assert f"{title}: the captions of '{system}' differ from the human captions (corpus p 0.0001" in printed
    assert "Plain METEOR puts 'repeating' first." in printed
    assert "100%" in printed, "a progress bar"
    picture = (tmp_path / "null_distributions.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert len(picture) > 20_000
    # The site shows the same table.
    shown = printed.split("test over all scenes\n\n")[1].split("\n\n")[0]
    page = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    assert "\n".join(line.rstrip() for line in shown.splitlines()) in page


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
