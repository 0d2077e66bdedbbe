"""Every tool answers --help where no package is installed, and says in one line what to install."""

import re

import pytest

from tests.tools import BARE_TOOLS, ROOT, TOOLS, TOOLS_WITH_PACKAGES, name_of, run_without_packages

# What a tool cannot do without on its command line.
REQUIRED = {
    "compare_mauve": ["captions.tsv"],
    "damage_study": ["--data", "folder"],
    "embedding_metric_sizes": ["captions.tsv"],
    "leave_one_out": ["--data", "folder"],
    "level_study": ["--data", "folder"],
    "msvd_systems": ["captions.tsv"],
    "paired_test_study": ["--data", "folder"],
    "push_to_hub": ["--org", "name"],
    "train_captioner": ["--output", "runs"],
    "wording_study": ["--data", "folder"],
    "train_tiny_pac": ["--output", "runs"],
}

MISSING = re.compile(r"([\w.]+): expected this package, got none\. Run `pip install ([^`]+)`\.\n")


def test_the_process_has_no_packages():
    assert "No module named 'numpy'" in run_without_packages("-c", "import numpy").stderr


@pytest.mark.slow
@pytest.mark.parametrize("path", TOOLS, ids=name_of)
def test_help_needs_no_package(path):
    done = run_without_packages("-m", name_of(path), "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("usage:")
    assert f"python -m {name_of(path)}" in done.stdout, "the help shows how the tool is called"


@pytest.mark.parametrize("path", TOOLS_WITH_PACKAGES, ids=name_of)
def test_a_missing_package_is_one_line_with_the_requirements_file(path):
    done = run_without_packages("-m", name_of(path), *REQUIRED.get(path.stem, []))
    assert (done.returncode, done.stdout) == (1, "")
    _, requirements = MISSING.fullmatch(done.stderr).groups()
    files = re.findall(r"-r (\S+)", requirements)
    assert files
    assert [file for file in files if not (ROOT / file).is_file()] == []
    help_text = run_without_packages("-m", name_of(path), "--help").stdout
    for item in requirements.replace("-r ", "").split():
        assert item in help_text, "the help says what the tool needs"


@pytest.mark.slow
def test_the_other_tools_need_no_package():
    assert [path.stem for path in BARE_TOOLS] == ["new_module", "sync_kit"]
    assert run_without_packages("-m", "scripts.repository.sync_kit", "--check").stdout == "all links are right\n"
    assert run_without_packages("-m", "scripts.repository.new_module", "Bad").stderr.startswith(
        "name: expected lower-case words joined by _"
    )
