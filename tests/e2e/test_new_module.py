"""A module made by scripts/repository/new_module.py passes what every module must pass, without a line changed."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
KINDS = {"metric": "word_share", "measurement": "word_count"}


def run(folder, *command):
    """Run Python in a folder; return exit code and text."""
    outer = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    environment = {**outer, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=1200,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    """A copy of the repository with a new module of each kind."""
    copy = tmp_path_factory.mktemp("copy") / "repository"
    pages = "CHANGELOG.md CITATION.cff CONTRIBUTING.md Makefile README.md pyproject.toml"
    names = f"{pages} manycaps measurements metrics scripts tests"
    for name in names.split():
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            copy.mkdir(exist_ok=True)
            shutil.copy(source, copy / name)
    for kind, name in KINDS.items():
        code, printed = run(copy, "-m", "scripts.repository.new_module", name, "--kind", kind)
        assert code == 0, printed
        assert f"{name}/README.md\n" in printed
    return copy


@pytest.mark.long
def test_new_modules_pass_the_tests_over_all_modules(repository):
    tests = [
        "tests/modules/test_every_module.py",
        *(f"tests/unit/{kind}s/test_{name}.py" for kind, name in KINDS.items()),
    ]
    # Two new processes for each of the two would tell nothing that one does not.
    choice = "(word_share or word_count or there_are_modules or up_to_date) and not (two_processes and word_count)"
    code, printed = run(repository, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests, "-k", choice)
    assert code == 0, printed[-5000:]
    n_passed = int(printed.split(" passed")[0].split()[-1])
    rules = (ROOT / "tests" / "modules" / "test_every_module.py").read_text(encoding="utf-8")
    n_rules = len(re.findall(r"^def test_\w+\(folder", rules, re.MULTILINE))
    assert n_rules > 15
    assert n_passed >= 2 * n_rules - 1 + 2 + 10, "all rules for both, two of the repository, and the hand cases"


USE_PAGES = """
import importlib.util, sys
for path, texts in (("metrics/word_share", ["a dog", "a dog runs"]), ("measurements/word_count", ["a dog"])):
    sys.path.insert(0, path)
    spec = importlib.util.spec_from_file_location(path, path + "/app.py")
    app = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(app)
    print(*app.measure(*texts))
"""


def test_new_modules_have_a_demo_page(repository):
    pytest.importorskip("gradio", reason="gradio is not installed: pip install -r tests/requirements.txt")
    code, printed = run(repository, "-c", USE_PAGES)
    assert code == 0, printed
    assert "| `word_share` | 0.6667 |" in printed
    assert "| `word_count` | 2.0000 |" in printed


def test_new_modules_are_formatted_and_entered_in_the_tables(repository):
    for command in (["check"], ["format", "--check"]):
        code, printed = run(repository, "-m", "ruff", *command, "--no-cache", ".")
        assert code == 0, printed
    readme = (repository / "README.md").read_text(encoding="utf-8")
    assert "[card](metrics/word_share/README.md)" in readme
    requirements = (repository / "tests" / "requirements.txt").read_text(encoding="utf-8").splitlines()
    lines = [line for line in requirements if line.startswith("-r ../me")]
    assert {"-r ../metrics/word_share/requirements.txt", "-r ../measurements/word_count/requirements.txt"} <= set(lines)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("WordShare", "name: expected lower-case words joined by _, got 'WordShare'. Choose a name like word_share."),
        ("trm_meteor", "name: expected a new name, got 'trm_meteor', which already exists. Choose another."),
        ("numpy", "name: expected a name that no library has, got 'numpy'. A Space would import this instead."),
    ],
)
def test_names_that_no_module_may_have(repository, name, message):
    before = sorted(repository.rglob("*.py"))
    assert run(repository, "-m", "scripts.repository.new_module", name) == (1, message + "\n")
    assert sorted(repository.rglob("*.py")) == before
