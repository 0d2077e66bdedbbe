"""What the README says: its Python and its comparison print what it shows, its two commands work in a fresh clone."""

import contextlib
import io
import pathlib
import re
import subprocess
import sys

import nltk
import pytest

from manycaps import command_line
from manycaps.comparison import parity_scores
from tests.documents import blocks
from tests.environments import make_environment, outer_variables
from tests.tools import ROOT

README = ROOT / "README.md"
COMMANDS = blocks(README, "bash")[-1].splitlines()


@pytest.mark.slow
def test_the_python_prints_what_the_readme_shows():
    [program], printed = blocks(README, "python"), io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(program, "README.md", "exec"), {})
    assert printed.getvalue() == blocks(README, "")[-1]


@pytest.mark.slow
def test_the_python_runs_without_embeddings_with_the_distance_that_the_readme_names(monkeypatch, capsys):
    leave_out_embeddings(monkeypatch)
    text = README.read_text(encoding="utf-8")
    assert 'load `human_parity` with\n`distance="meteor"`' in text
    [program] = blocks(README, "python")
    with pytest.raises(ImportError, match=r"manycaps\[embeddings\]|sentence-transformers"):
        exec(compile(program, "README.md", "exec"), {})
    program = program.replace('load("human_parity")', 'load("human_parity", distance="meteor")')
    exec(compile(program, "README.md", "exec"), {})
    assert capsys.readouterr().out.splitlines()[0] == "diverse: p 0.03, unlike people 18%"


def leave_out_embeddings(monkeypatch):
    """Make this process like the install without the extra `embeddings`."""
    monkeypatch.setattr(parity_scores, "is_installed", lambda distribution: False)
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)


@pytest.mark.slow
@pytest.mark.parametrize("has_embeddings", [True, False])
def test_the_comparison_runs_as_it_stands_in_any_folder(has_embeddings, tmp_path, monkeypatch, capsys):
    """The quickstart writes the files that the next command names, and shows the command's own answer."""
    if not has_embeddings:
        leave_out_embeddings(monkeypatch)
    monkeypatch.chdir(tmp_path)
    quickstart, change, compare = blocks(README, "bash")[1].splitlines()
    assert command_line.main([*quickstart.split()[1:], "--no-images"]) == 0
    printed = capsys.readouterr().out
    assert f"{change}\n{compare}\n" in printed
    monkeypatch.chdir(change.split()[1])
    assert 'data-plot="map"' in pathlib.Path("report", "index.html").read_text(encoding="utf-8")
    assert command_line.main(compare.split()[1:]) == 0
    answer = capsys.readouterr().out
    assert answer.strip() in printed
    with_embeddings, without_embeddings, _ = blocks(README, "")
    assert (with_embeddings if has_embeddings else without_embeddings).rstrip() in answer
    table = "\n".join(line.rstrip() for line in answer.strip().splitlines()[:5])
    assert table.startswith("system ")
    for document in ("README.md", "docs/compare.md", "docs/index.md") if has_embeddings else ():
        assert table in re.sub(r"^ {4}", "", (ROOT / document).read_text(encoding="utf-8"), flags=re.MULTILINE)


# The README's two commands. Left out, because it takes a quarter of an hour and the internet: downloading the packages
# (the clone's `.venv` sees those that run this test, and pip finds every requirement fulfilled) and all but one file of
# the tests. All else is as for a newcomer: the committed files alone, make, the installation marks, both targets.


@pytest.mark.slow
@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="no git repository to clone")
def test_the_two_commands_in_a_fresh_clone(tmp_path):
    assert COMMANDS == ["make quickstart", "make test"]
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "--quiet", "--depth", "1", ROOT.as_uri(), str(clone)], check=True)
    make_environment(clone / ".venv")
    for name in ("pip", "ruff", "mypy"):  # the tools that the Makefile calls
        tool = clone / ".venv" / "bin" / name
        tool.write_text(f'#!/bin/sh\nexec "$(dirname "$0")/python" -m {name} "$@"\n')
        tool.chmod(0o755)
    environment = outer_variables()
    environment["WORKERS"] = "1"
    environment["PYTEST_ADDOPTS"] = "tests/unit/scripts/repository/test_sync_kit.py -p no:cacheprovider"
    environment["NLTK_DATA"] = str(pathlib.Path(nltk.data.find("corpora/wordnet").path).parents[1])
    for command in COMMANDS:
        done = subprocess.run(
            command.split(), cwd=clone, env=environment, capture_output=True, text=True, timeout=1200, check=False
        )
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        if command == "make quickstart":
            assert "diverse" in done.stdout
            assert (clone / "quickstart-output" / "table.csv").is_file()
        else:
            assert re.search(r"^=*\s*\d+ passed", done.stdout.splitlines()[-1])
    status = ["git", "status", "--porcelain"]
    left = subprocess.run(status, cwd=clone, capture_output=True, text=True, check=True).stdout
    assert left == "", "what the commands write is ignored by git"
