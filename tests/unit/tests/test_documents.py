"""What documents say of files and commands: that they exist."""

import argparse
import functools
import importlib
import re

import pytest

from manycaps.catalog.installed_modules import module_folders
from manycaps.commands.command_line import COMMANDS
from tests.documents import PAGES, code_of
from tests.tools import ROOT, SOURCES

# Documents of today, and what programs say of themselves: commands, tools and examples.
DOCUMENTS = [
    *(path for path in PAGES if path.name != "CHANGELOG.md"),
    *sorted((ROOT / "manycaps" / "commands").glob("*.py")),
    *SOURCES,
]
FOLDERS = sorted(path.name for path in ROOT.iterdir() if path.is_dir() and not path.name.startswith("."))
TARGETS = {
    name for line in re.findall(r"^([\w -]+):", (ROOT / "Makefile").read_text(), re.MULTILINE) for name in line.split()
}
OPTION = re.compile(r"(?<= )--?[a-zA-Z][\w-]*")

# Hub names of the modules, and of the module that CONTRIBUTING.md makes.
NO_PATHS = re.compile(rf"manycaps/({'|'.join(module_folders())})$|.*(word_share|word_count|_NAME)")


@functools.cache
def options_of(command):
    """Options of a command, as its parser has them."""
    parser = argparse.ArgumentParser()
    importlib.import_module(f"manycaps.commands.{command.replace('-', '_')}").add_arguments(parser)
    return {"--traceback", *(option for action in parser._actions for option in action.option_strings)}


def faults_of_command(line):
    """Commands of the package in a line of code, and options, that do not exist."""
    for name, rest in re.findall(
        r"(?:^|(?<!from)(?<!import)(?<!install)[ (;&])manycaps ([a-z][a-z-]*)([^|;&#]*)", line
    ):
        if name in COMMANDS:
            yield from (f"{name} {option}" for option in OPTION.findall(rest) if option not in options_of(name))
        else:
            yield name


def faults_of_tool(line):
    """Tools of the repository in a line of code, and options, that do not exist."""
    for name, rest in re.findall(r"python -m ((?:scripts|tests)[.\w]*)(?![<.\w])([^|;&#]*)", line):
        path = ROOT / name.replace(".", "/")
        source = next((path for path in (path.with_suffix(".py"), path / "__main__.py") if path.exists()), None)
        own = source.read_text(encoding="utf-8") if source else ""
        # What it imports declares options for it.
        modules = {text: ".".join(path.relative_to(ROOT).with_suffix("").parts) for path, text in SOURCES.items()}
        text = "".join([own, *(text for text, module in modules.items() if f"from {module} import" in own)])
        yield from [] if source else [name]
        yield from (f"{name} {option}" for option in OPTION.findall(rest) if f'"{option}"' not in text)
    # Tools import their neighbours, so they start as modules; examples run from any folder.
    yield from re.findall(r"python (scripts/(?!examples/)\S+\.py)", line)
    yield from (
        f"make {name}"
        for name in re.findall(r"(?:^|[ ;&])make ([a-z][a-z-]*)(?= [A-Z]+=|$)", line)
        if name not in TARGETS
    )


def faults_of_paths(line):
    """Paths of the repository in a line of code that do not exist; a star stands for any name."""
    for path in re.findall(rf"(?<![\w./:-])((?:{'|'.join(FOLDERS)})/[\w./*<>-]*[\w*/>])", line):
        if "<" not in path and not NO_PATHS.match(path) and not any(ROOT.glob(path)):
            yield path


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_path_and_command_that_a_document_names_exists(path):
    checks = (faults_of_command, faults_of_tool, faults_of_paths)
    assert [fault for line in code_of(path) for check in checks for fault in check(line)] == []


@pytest.mark.parametrize(
    ("line", "faults"),
    [
        ("manycaps compare a.jsonl --no-such", ["compare --no-such"]),
        ("python -m manycaps rank a.jsonl", ["rank"]),
        ("from manycaps import load; pip install manycaps torch", []),
        ("python scripts/benchmark.py --only score", ["scripts/benchmark.py"]),
        ("python -m scripts.report.benchmark", ["scripts.report.benchmark"]),
        ("python -m scripts.benchmark --only score --fast", ["scripts.benchmark --fast"]),
        ("make everything", ["make everything"]),
        ("scripts/report/published_diversity.py", ["scripts/report/published_diversity.py"]),
        ("docs/*.md", []),
    ],
)
def test_a_path_or_command_that_does_not_exist_is_found(line, faults):
    assert [fault for check in (faults_of_command, faults_of_tool, faults_of_paths) for fault in check(line)] == faults
