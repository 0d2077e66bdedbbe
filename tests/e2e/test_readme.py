"""What the README says: its Python and its comparison print what it shows, its two commands work in a fresh clone."""

import contextlib
import csv
import io
import os
import pathlib
import re
import subprocess
import sys
import textwrap
import types

import nltk
import numpy as np
import pytest

from manycaps.commands import command_line
from manycaps.comparison import parity_scores
from tests.documents import blocks
from tests.environments import make_environment, outer_variables
from tests.tools import ROOT

README = ROOT / "README.md"
COMMANDS = blocks(README, "bash")[-1].splitlines()
QUICKSTART, CHANGE, COMPARE = blocks(README, "bash")[2].splitlines()


@pytest.fixture
def first_screen(tmp_path, monkeypatch):
    """Run the first screen in an empty folder, with changes to its text; return its names and what it printed."""
    export, program, training = blocks(README, "bash")[0], *blocks(README, "python")
    monkeypatch.chdir(tmp_path)
    assert command_line.main(export.split()[1:]) == 0

    def run(*change):
        names, printed = {"np": np}, io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(program.replace(*change) if change else program, "README.md", "exec"), names)
        # The trainer of the example is run by test_examples.py.
        exec(compile(training.split("\ntrainer = ")[0], "README.md", "exec"), names)
        return names, printed.getvalue()

    return run


@pytest.mark.slow
def test_the_python_prints_what_the_readme_shows(first_screen):
    names, printed = first_screen()
    assert printed == blocks(README, "")[0]
    # A tokenizer of one token per caption, and -100 where a batch was shorter.
    captions = [f"a picture of {i}" for i in range(60)]
    names["tokenizer"] = types.SimpleNamespace(
        pad_token_id=60,
        batch_decode=lambda rows, skip_special_tokens: [captions[row[0]] for row in rows if row[1] == 60],
    )
    tokens = np.stack([np.arange(60).reshape(12, 5), np.full((12, 5), -100)], axis=1)
    names["evaluation_rows"] = {"references": names["rows"]["references"][:12]}
    predictions = [captions[5 * i : 5 * i + 5] for i in range(12)]
    expected = names["human_parity"].compute(predictions=predictions, references=names["rows"]["references"][:12])
    assert names["compute_metrics"](types.SimpleNamespace(predictions=tokens)) == expected


@pytest.mark.slow
def test_the_python_runs_without_embeddings_with_the_distance_that_the_readme_names(monkeypatch, first_screen):
    leave_out_embeddings(monkeypatch)
    assert '(`load` then takes `distance="meteor"`)' in README.read_text(encoding="utf-8")
    with pytest.raises(ImportError, match=r"manycaps\[embeddings\]|sentence-transformers"):
        first_screen()
    printed = first_screen('load("human_parity")', 'load("human_parity", distance="meteor")')[1]
    assert printed.splitlines()[0] == "diverse: p 0.03, faults 17%"


def leave_out_embeddings(monkeypatch):
    """Make this process like the install without the extra `embeddings`."""
    monkeypatch.setattr(parity_scores, "is_installed", lambda distribution: False)
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)


@pytest.fixture(scope="module")
def quickstart(tmp_path_factory):
    """The folder that the quickstart writes, its output, and its errors, as a person runs it in any folder."""
    folder = tmp_path_factory.mktemp("quickstart")
    # The images have their own tests, in test_tiny_pac.py.
    command = [sys.executable, "-m", *QUICKSTART.split(), "--no-images"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return folder / CHANGE.split()[1], done.stdout, done.stderr


@pytest.mark.slow
def test_quickstart_shows_what_the_paper_argues(quickstart):
    folder, printed, errors = quickstart
    with (folder / "table.csv").open(encoding="utf-8") as file:
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
        assert re.search(said + r"\(corpus p 0\.\d+, excess -?0\.0\d+, interval \[-0\.\d+, 0\.\d+\]\)\.", printed)
        for system in ("repeating", "off_topic"):
            assert f"{title}: the captions of '{system}' differ from the human captions (corpus p 0.0001" in printed
    assert "Plain METEOR puts 'repeating' first." in printed
    assert "100%" in errors, "a progress bar"
    picture = (folder / "null_distributions.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert len(picture) > 20_000
    # The site shows the same table.
    shown = printed.split("test against human captions.\n\n")[1].split("\n\n")[0]
    page = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    assert "\n".join(line.rstrip() for line in shown.splitlines()) in page


@pytest.mark.slow
@pytest.mark.parametrize("has_embeddings", [True, False])
def test_the_comparison_runs_as_it_stands_in_any_folder(has_embeddings, tmp_path, monkeypatch, capsys, quickstart):
    """The quickstart writes the files that the next command names, and shows the command's own answer."""
    folder, printed, _ = quickstart
    if not has_embeddings:
        leave_out_embeddings(monkeypatch)
        monkeypatch.chdir(tmp_path)
        assert command_line.main([*QUICKSTART.split()[1:], "--no-images"]) == 0
        folder, printed = tmp_path / folder.name, capsys.readouterr().out
    monkeypatch.chdir(folder)
    assert f"{CHANGE}\n{COMPARE}\n" in printed
    assert 'data-plot="map"' in pathlib.Path("report", "index.html").read_text(encoding="utf-8")
    assert command_line.main(COMPARE.split()[1:]) == 0
    answer = capsys.readouterr().out
    assert answer.strip() in printed
    assert not has_embeddings or blocks(README, "")[1].rstrip() in answer
    # Titles have two lines.
    table = "\n".join(line.rstrip() for line in answer.strip("\n").splitlines()[:6])
    assert table.splitlines()[1].startswith("system ")
    for document in ("README.md", "docs/compare.md", "docs/index.md") if has_embeddings else ():
        text = (ROOT / document).read_text(encoding="utf-8")
        assert table in text or textwrap.indent(table, "    ") in text, document


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
