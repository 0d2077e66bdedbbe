"""The modules of the collection: names, exports, and what hides or lacks a package."""

import errno
import os
import re
import subprocess
import sys

import pytest

from manycaps.catalog import installed_modules, machine_checks
from manycaps.catalog.installed_modules import PACKAGE, load, module_folders
from manycaps.catalog.modules import MODULES
from manycaps.commands import command_line
from manycaps.commands.command_line import main
from manycaps.kit.errors import quote_path
from tests.documents import LINK, broken_links
from tests.refusals import assert_refused
from tests.tools import ROOT, write_jsonl


def test_a_module_that_is_not_there_is_refused_with_the_names_of_all():
    message = "name: expected one of bleu_rouge, .*, got 'trm_metor'. Did you mean trm_meteor? Check the spelling"
    assert_refused(ValueError, message, load, "trm_metor")


def test_a_module_of_one_process_needs_no_folder_that_can_be_written(tmp_path):
    file = tmp_path / "file"
    file.touch()
    novelty = load("novelty", cache_dir=f"{file}/cache", training=["a dog"])
    assert novelty.compute(predictions=["a"], references=["b"])["n_rows"] == 1
    with pytest.raises(NotADirectoryError):
        load("novelty", cache_dir=f"{file}/cache", num_process=2)


# Run alone: what a process imports, by a command and by a program of a user's.
COMMAND = """
import sys
from manycaps.commands.command_line import main
sys.argv = ["manycaps", "score", "-m", "bleu_rouge", "-i", "rows.jsonl", "-o", "scores", "--processes", "1"]
assert main() == 0
assert {"evaluate", "torch"} & sys.modules.keys() == {"evaluate"}
from transformers.pipelines import check_task
"""
PROGRAM = """
import manycaps
manycaps.load("bleu_rouge")
from evaluate import evaluator
assert evaluator("text-classification").task == "text-classification"
"""


@pytest.mark.slow
@pytest.mark.parametrize("program", [COMMAND, PROGRAM], ids=["command", "program"])
def test_a_command_alone_leaves_out_the_evaluators_of_evaluate(program, tmp_path):
    pytest.importorskip("transformers", reason="transformers is not installed: pip install 'manycaps[embeddings]'")
    write_jsonl(tmp_path / "rows.jsonl", [{"predictions": ["a dog"], "references": ["a cat", "dogs"]}] * 2)
    environment = {name: value for name, value in os.environ.items() if name != installed_modules.OWN_PROCESS}
    environment["PYTHONPATH"] = str(ROOT)
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (lambda: load("trm-meteor"), "trm_meteor"),
        (lambda: load("HumanParity"), "human_parity"),
        (lambda: load("pac_scores"), "pac_score"),
        (lambda: load("bleu_rouge", detail=True), "details"),
        (lambda: load("trm_meteor", p_value="permutations"), "permutation"),
        (lambda: load("bleu_rouge").compute(prediction=["a"], references=["a"]), "predictions"),
        (lambda: load("bleu_rouge").add_batch(predictons=["a"], references=["a"]), "predictions"),
    ],
)
def test_the_nearest_name_is_given(given, meant):
    with pytest.raises((TypeError, ValueError), match=rf"Did you mean {meant}\? Check the spelling\.$"):
        given()


@pytest.mark.parametrize("package", ["evaluate", "datasets"])
def test_a_script_that_hides_a_package_is_named_and_not_run_twice(package, tmp_path):
    script = tmp_path / f"{package}.py"
    script.write_text("print('run')\nimport manycaps\nmanycaps.load('bleu_rouge')\n")
    (tmp_path / "other.py").write_text("import manycaps\nmanycaps.load('bleu_rouge')\n")
    for program in (script, tmp_path / "other.py"):
        done = subprocess.run([sys.executable, program], capture_output=True, text=True, check=False, cwd=tmp_path)
        assert done.stdout == ("run\n" if program == script else "")
        assert done.stderr.strip().splitlines()[-1] == (
            f"manycaps.kit.errors.InputImportError: {package}: expected the package of Hugging Face, "
            f"got {quote_path(script)}, which hides it. Rename that file, or start Python in another folder."
        )


@pytest.fixture(scope="module")
def without_links(tmp_path_factory):
    """The package in a copy of the repository as a zip holds it: each symbolic link is a file with its text."""
    repository = tmp_path_factory.mktemp("zip")
    for folder in (PACKAGE / "kit", *module_folders().values()):
        copy = repository / folder.parent.name / folder.name
        copy.mkdir(parents=True)
        for path in folder.iterdir():
            if path.is_file():
                content = str(path.readlink()).encode() if path.is_symlink() else path.read_bytes()
                (copy / path.name).write_bytes(content)
    (repository / "pyproject.toml").touch()
    return repository / PACKAGE.name


def test_export_and_doctor_without_links_say_what_to_do(without_links, tmp_path, monkeypatch, capsys):
    assert machine_checks.check_module_folders().fine
    monkeypatch.setattr("manycaps.catalog.installed_modules.PACKAGE", without_links)
    assert main(["export", "trm_meteor", str(tmp_path / "exported")]) == 1
    [line] = capsys.readouterr().err.splitlines()
    what = "expected Python code, got the text of a symbolic link"
    assert f"kit/trm_meteor.py: {what}. Run `pip install .` in the clone, or switch" in line
    assert not (tmp_path / "exported").exists()
    assert main(["doctor"]) == 0
    first, advice = capsys.readouterr().out.splitlines()[:2]
    assert first == f"TODO  module folders: {what}"
    assert advice.strip().startswith("Run `pip install .` in the clone, or switch links on")


def test_a_full_disk_under_an_exported_module_is_one_line_and_nothing_is_left(tmp_path, monkeypatch, capsys):
    def copy(source, target):
        if source.name.startswith("words_tokenizers"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(source))
        (target / source.name).write_text("a part", encoding="utf-8")

    monkeypatch.setattr(installed_modules.shutil, "copy2", copy)
    assert command_line.main(["export", "trm_meteor", str(tmp_path / "new" / "exported")]) == 1
    assert capsys.readouterr().err == (
        f"{tmp_path / 'new' / 'exported'}: expected a folder that can hold the module, got No space left on device. "
        "Make room; nothing of it is left there.\n"
    )
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "mine").mkdir()
    assert command_line.main(["export", "trm_meteor", str(tmp_path / "mine")]) == 1
    assert list(tmp_path.rglob("*")) == [tmp_path / "mine"]


@pytest.mark.parametrize("name", MODULES)
def test_an_exported_card_leads_to_what_travels_with_it(name, tmp_path):
    folder = installed_modules.export_module(name, tmp_path)
    documents = sorted((folder / "docs").iterdir())
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert {f"docs/{path.name}" for path in documents} == set(LINK.findall(card))
    anchors = {f"docs/{path.name}#{anchor}" for path in documents for anchor in anchors_of(path)}
    assert set(re.findall(r"\]\((docs/\w+\.md#[^)]+)\)", card)) <= anchors
    assert [broken_links(path) for path in (folder / "README.md", *documents)] == [[]] * (1 + len(documents))


@pytest.mark.parametrize("name", ["human_parity", "trm_meteor", "pac_score"])
def test_an_exported_folder_has_nothing_that_needs_the_package(name, tmp_path):
    folder = installed_modules.export_module(name, tmp_path)
    assert not (folder / "app.py").exists()
    programs = [path.read_text(encoding="utf-8") for path in folder.glob("*.py")]
    assert len(programs) > 5
    assert [text for text in programs if re.search(r"^\s*(from|import) (manycaps|gradio)", text, re.MULTILINE)] == []


def anchors_of(path):
    """Anchors of a document's titles, as GitHub, the Hub and the site make them."""
    titles = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return [re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles]
