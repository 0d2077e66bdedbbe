"""A module made by scripts/repository/new_module.py passes what every module must pass, without a line changed."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

from tests.tools import ROOT, SEVERAL_COMMANDS

pytestmark = pytest.mark.slow

KINDS = {"metric": "word_share", "measurement": "word_count"}
FOLDERS = ("metrics/word_share/", "measurements/word_count/")

# What tools write of a new module, in files that already exist.
WRITTEN_TABLES = {
    *(
        "docs/metrics.md",
        "docs/options.md",
        "manycaps/catalog/declared.json",
        "manycaps/catalog/module_types.pyi",
        "pyproject.toml",
    )
}


# Of the repository, all that a new module is made of and tested with.
COPIED = """
    CHANGELOG.md CITATION.cff CONTRIBUTING.md Makefile README.md pyproject.toml
    docs manycaps measurements metrics scripts tests
"""


def run(folder, *command):
    """Run Python in a folder; return exit code and text."""
    outer = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    options = {"cwd": folder, "env": {**outer, "OMP_NUM_THREADS": "1"}, "timeout": 1200, "check": False}
    done = subprocess.run([sys.executable, *command], **options, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def contents(folder):
    """Contents of all files of a folder by their paths in it."""
    paths = (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


@pytest.fixture(scope="module")
def before():
    """Contents of a copy of the repository before there are new modules."""
    return {}


@pytest.fixture(scope="module")
def repository(tmp_path_factory, before):
    """A copy of the repository with a new module of each kind."""
    copy = tmp_path_factory.mktemp("repository")
    for source in map(ROOT.joinpath, COPIED.split()):
        if source.is_dir():
            shutil.copytree(source, copy / source.name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, copy)
    before |= contents(copy)
    for kind, name in KINDS.items():
        code, printed = run(copy, "-m", "scripts.repository.new_module", name, "--kind", kind)
        assert code == 0, printed
        assert f"{name}/README.md\n" in printed
    return copy


def test_a_new_module_is_one_folder_and_one_record(repository, before):
    after = contents(repository)
    new = {path for path in after.keys() - before.keys() if not path.startswith(FOLDERS)}
    links = {f"manycaps/kit/{slug}.py" for slug in KINDS.values()}
    maths = {f"{place}text_{slug}.py" for slug in KINDS.values() for place in ("manycaps/kit/", "tests/unit/kit/test_")}
    assert new == maths | links
    assert all((repository / path).is_symlink() for path in links)
    changed = {path for path, content in before.items() if after[path] != content}
    assert changed - WRITTEN_TABLES == {"manycaps/catalog/modules.py"}
    for slug in KINDS.values():
        assert after["manycaps/catalog/modules.py"].decode().count(f'slug="{slug}"') == 1


def test_commands_take_a_new_module(repository, tmp_path):
    """Nothing but the record says that it exists."""
    first, second, references = (str(tmp_path / name) for name in ("a.jsonl", "b.jsonl", "references.jsonl"))
    for path, column, caption in (
        (references, "references", "a dog runs"),
        (first, "predictions", "a dog"),
        (second, "predictions", "a cat"),
    ):
        verbs = "runs sits eats plays sleeps jumps swims barks".split()  # no two rows have one reference
        rows = [{"id": str(i), column: [caption.replace("runs", verb)]} for i, verb in enumerate(verbs)]
        lines = [json.dumps(row) + "\n" for row in rows]
        pathlib.Path(path).write_text("".join(lines))
    given = ["-r", references, "-m", "word_share"]
    commands = {
        "Word Share: a scores higher than b": ["compare", first, second, *given, "-o", str(tmp_path / "report")],
        '"word_share": 0.66666': ["score", "-i", first, *given, "-o", str(tmp_path / "scores")],
        "word_count  (measurements)\n    Word Count: how many words all captions": ["list"],
    }
    code, printed = run(repository, "-c", SEVERAL_COMMANDS, json.dumps(list(commands.values())))
    assert code == 0, printed
    for expected in commands:
        assert expected in printed


def test_new_modules_pass_the_tests_over_all_modules(repository):
    tests = [
        "tests/modules/test_every_module.py",
        "tests/modules/test_catalog.py",
        "tests/modules/test_pages.py",
        *(f"tests/unit/kit/test_text_{name}.py" for name in KINDS.values()),
    ]
    choice = "word_share or word_count or every_record or same_page"
    code, printed = run(repository, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests, "-k", choice)
    assert code == 0, printed[-5000:]
    n_passed = int(printed.split(" passed")[0].split()[-1])
    rules = (ROOT / "tests" / "modules" / "test_every_module.py").read_text(encoding="utf-8")
    n_rules = len(re.findall(r"^def test_\w+\(folder", rules, re.MULTILINE))
    assert n_rules > 10
    assert n_passed >= 2 * n_rules + 2 + 10, "all rules for both, two of the repository, and the hand cases"


def test_new_modules_are_formatted_and_in_the_table_of_modules(repository):
    checks = ("ruff check .", "ruff format --check .", "scripts.repository.sync_kit --check")
    for command in map(str.split, checks):
        code, printed = run(repository, "-m", *command)
        assert code == 0, printed
    page = (repository / "docs" / "metrics.md").read_text(encoding="utf-8")
    assert "[card](../metrics/word_share/README.md)" in page


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("trm_meteor", "a new name, got 'trm_meteor', which already exists. Choose another."),
        ("numpy", "a name that no library has, got 'numpy'. A Space would import this instead."),
    ],
)
def test_names_that_no_module_may_have(repository, name, message):
    before = sorted(repository.rglob("*.py"))
    refused = run(repository, "-m", "scripts.repository.new_module", name)
    assert refused == (1, f"name: expected {message}\n")
    assert sorted(repository.rglob("*.py")) == before
