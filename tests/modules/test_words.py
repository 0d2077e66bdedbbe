"""Words and phrases that CONTRIBUTING.md does not allow occur nowhere in what a user or a contributor reads."""

import re
import subprocess

import pytest

from tests.tools import ROOT

WRITTEN = ["manycaps/*.py", "scripts/*.py", "*.md", "*.ipynb", "*.html"]


def phrases_not_used():
    """The first column of the table in CONTRIBUTING.md."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = text.split("\n| not | but |\n")[1].split("\n\n")[0].splitlines()[1:]
    return [phrase for line in table for phrase in line.split("|")[1].strip().split(", ")]


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="no git repository to list the files of")
def test_no_text_has_a_phrase_that_is_not_used():
    listed = subprocess.run(["git", "ls-files", "-z", "--", *WRITTEN], cwd=ROOT, capture_output=True, check=True)
    paths = [ROOT / name for name in listed.stdout.decode().split("\0") if name and name != "CONTRIBUTING.md"]
    phrases = phrases_not_used()
    assert "told from" in phrases
    # A blank of a phrase may be the end of a line, also of a comment.
    between = r"\s+(?:# )?"
    pattern = re.compile("|".join(rf"\b{between.join(phrase.split())}\b" for phrase in phrases), re.IGNORECASE)
    matches = [
        f"{path.relative_to(ROOT)}:{text.count(chr(10), 0, match.start()) + 1}: {match.group()}"
        for path in paths
        if path.is_file() and not path.is_symlink()
        for text in [path.read_text(encoding="utf-8")]
        for match in pattern.finditer(text)
    ]
    assert matches == []
