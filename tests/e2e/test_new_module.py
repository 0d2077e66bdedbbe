"""A module made by scripts/repository/new_module.py passes what every module must pass, without a line changed."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

ROOT = pathlib.Path(__file__).resolve().parents[2]
KINDS = {"metric": "word_share", "measurement": "word_count"}

# What tools write of a new module, in files that already exist.
WRITTEN_TABLES = {"CONTRIBUTING.md", "docs/metrics.md"}


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


def contents(folder):
    """Contents of all files of a folder by their paths in it."""
    paths = (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


@pytest.fixture(scope="module")
def untouched(tmp_path_factory):
    """A copy of the repository."""
    copy = tmp_path_factory.mktemp("copy") / "repository"
    pages = "CHANGELOG.md CITATION.cff CONTRIBUTING.md Makefile README.md pyproject.toml"
    names = f"{pages} docs manycaps measurements metrics scripts tests"
    for name in names.split():
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, copy / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            copy.mkdir(exist_ok=True)
            shutil.copy(source, copy / name)
    return copy


@pytest.fixture(scope="module")
def before(untouched):
    return contents(untouched)


@pytest.fixture(scope="module")
def repository(untouched, before):
    """The copy with a new module of each kind."""
    for kind, name in KINDS.items():
        code, printed = run(untouched, "-m", "scripts.repository.new_module", name, "--kind", kind)
        assert code == 0, printed
        assert f"{name}/README.md\n" in printed
    return untouched


def test_a_new_module_is_one_folder_and_one_record(repository, before):
    after = contents(repository)
    new = set(after) - set(before)
    folders = ("metrics/word_share/", "measurements/word_count/")
    maths = {f"manycaps/kit/text_{slug}.py" for slug in KINDS.values()}
    tests = {f"tests/unit/kit/test_text_{slug}.py" for slug in KINDS.values()}
    links = {f"manycaps/kit/{slug}.py" for slug in KINDS.values()}
    assert {path for path in new if not path.startswith(folders)} == maths | tests | links
    assert all((repository / path).is_symlink() for path in links)
    changed = {path for path, content in before.items() if after[path] != content}
    assert changed - WRITTEN_TABLES == {"manycaps/catalog.py"}
    for slug in KINDS.values():
        assert after["manycaps/catalog.py"].decode().count(f'slug="{slug}"') == 1


def test_commands_take_a_new_module(repository, tmp_path):
    """Nothing but the record tells them that it is there."""
    references, systems = tmp_path / "references.jsonl", [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    ids = [str(number) for number in range(8)]
    for path, column, caption in (
        (references, "references", "a dog runs"),
        (systems[0], "predictions", "a dog"),
        (systems[1], "predictions", "a cat"),
    ):
        lines = [json.dumps({"id": each, column: [caption]}) for each in ids]
        path.write_text("\n".join(lines) + "\n")
    given = [*map(str, systems), "-r", str(references), "-m", "word_share", "-o", str(tmp_path / "report")]
    code, printed = run(repository, "-m", "manycaps", "compare", *given)
    assert code == 0, printed
    assert "Word Share: a scores higher than b" in printed
    given = ["-m", "word_share", "-i", str(systems[0]), "-r", str(references), "-o", str(tmp_path / "scores")]
    code, printed = run(repository, "-m", "manycaps", "score", *given)
    assert code == 0, printed
    assert '"word_share": 0.66666' in printed
    code, printed = run(repository, "-m", "manycaps", "list")
    assert "word_count  (measurements)\n    Word Count: how many words" in printed


def test_new_modules_pass_the_tests_over_all_modules(repository):
    tests = [
        "tests/modules/test_every_module.py",
        "tests/modules/test_catalog.py",
        "tests/modules/test_pages.py",
        *(f"tests/unit/kit/test_text_{name}.py" for name in KINDS.values()),
    ]
    # Two new processes for each of the two would tell nothing that one does not.
    ours = "word_share or word_count or every_record or up_to_date or which_page"
    choice = f"({ours}) and not (two_processes and word_count)"
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
    (compute,) = (event.fn for event in app.page.fns.values() if event.api_name == "compute")
    print(compute(*texts))
"""


def test_new_modules_have_a_demo_page(repository):
    pytest.importorskip("gradio", reason="gradio is not installed: pip install -r tests/requirements.txt")
    code, printed = run(repository, "-c", USE_PAGES)
    assert code == 0, printed
    assert "| `word_share` | 0.6667 |" in printed
    assert "| `word_count` | 2.0000 |" in printed


def test_new_modules_are_formatted_and_in_the_table_of_modules(repository):
    for command in (["check"], ["format", "--check"]):
        code, printed = run(repository, "-m", "ruff", *command, "--no-cache", ".")
        assert code == 0, printed
    page = (repository / "docs" / "metrics.md").read_text(encoding="utf-8")
    assert "[card](../metrics/word_share/README.md)" in page


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
