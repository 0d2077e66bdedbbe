"""How a tool starts, which errors are a missing package, and whether the files that it names hold its packages."""

import ast
import contextlib
import importlib.metadata
import re
import sys

import pytest

from scripts.command_line import missing_package, report, start_tool
from scripts.studies.study_options import requirements_of
from tests.modules.test_every_module import PIP_NAMES
from tests.tools import ROOT, SOURCES, TOOLS_WITH_PACKAGES, name_of

FILES = ["scripts/requirements.txt", "accelerate"]
ADVICE = "Run `pip install -r scripts/requirements.txt accelerate`."


def raised(source):
    """The error of a piece of code."""
    with pytest.raises(BaseException) as error:
        exec(source)
    return error.value


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("import no_such_package.part", "no_such_package: expected this package, got none."),
        (
            "try:\n import no_such_package\nexcept ImportError as error:\n raise ImportError('advice') from error",
            "no_such_package: expected this package, got none.",
        ),
        (
            "try:\n import no_such_package\nexcept ImportError:\n raise ImportError('advice') from None",
            "no_such_package: expected this package, got none.",
        ),
        ("from json import no_such_name", "cannot import name 'no_such_name' from 'json'"),
        ("raise ImportError('you need to install\\n nltk.')", "you need to install nltk."),
    ],
)
def test_a_missing_package_is_one_line(source, line):
    found = missing_package(raised(source), FILES)
    assert found.startswith(line)
    assert found.endswith(ADVICE)
    assert "\n" not in found


@pytest.mark.parametrize(
    "source",
    ["import scripts.no_such_tool", "from manycaps.kit.base_module import no_such_name", "{}['key']", "int('x')"],
)
def test_other_errors_keep_their_traceback(source, capsys):
    error = raised(source)
    assert missing_package(error, FILES) is None
    report(FILES, type(error), error, error.__traceback__)
    printed = capsys.readouterr().err
    assert printed.startswith("Traceback")
    assert type(error).__name__ in printed


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("open('/no/such/file')", "'/no/such/file': expected files that can be read and written, got No such file"),
        ("raise ValueError('seed: expected a number, got None.')", "seed: expected a number, got None."),
        ("raise KeyboardInterrupt", ": stopped by ctrl-C."),
    ],
)
def test_what_a_user_can_fix_is_one_line(source, line, capsys):
    error = raised(source)
    report(FILES, type(error), error, error.__traceback__)
    printed = capsys.readouterr().err
    assert line in printed
    assert printed.count("\n") == 1


def test_only_a_tool_that_is_run_reads_its_command_line_and_needs_wordnet(monkeypatch):
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    monkeypatch.setattr("manycaps.wordnet_corpus.has_wordnet", lambda: False)
    hook, calls = sys.excepthook, []
    start_tool("manycaps.quickstart.comparison", lambda: calls.append(1), *FILES, needs_wordnet=True)
    assert (calls, sys.excepthook) == ([], hook)
    start_tool("__main__", lambda: calls.append(1), *FILES)
    assert calls == [1]
    assert sys.excepthook is not hook
    with pytest.raises(ValueError, match=r"^WordNet: expected it where NLTK looks, got none\. Run `manycaps install-w"):
        start_tool("__main__", lambda: None, *FILES, needs_wordnet=True)


# The packages that a tool imports, and those that its requirements bring.


def imported_at_once(path, seen):
    """Third-party packages that importing a file imports, through this repository's own modules."""
    found = set()
    nodes = list(ast.parse(path.read_text(encoding="utf-8")).body)
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.Try | ast.If):
            nodes += node.body
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            package = path.parent.relative_to(ROOT).as_posix().replace("/", ".")
            base = ".".join(filter(None, [package if node.level else "", node.module]))
            names = [f"{base}.{alias.name}" for alias in node.names] + [base]
        for name in names:
            own = (ROOT / name.replace(".", "/")).with_suffix(".py")
            if own.is_file() and own not in seen:
                seen.add(own)
                found |= imported_at_once(own, seen)
            elif not (ROOT / name.split(".")[0]).is_dir():
                found.add(name.split(".")[0])
    return found - set(sys.stdlib_module_names)


def brought_by(requirements):
    """Names of the distributions that pip installs for requirements files and packages."""
    wanted, found = list(requirements), set()
    while wanted:
        item = wanted.pop()
        if item.endswith(".txt"):
            path = ROOT / item
            lines = [line.split("#")[0].strip() for line in path.read_text(encoding="utf-8").splitlines()]
            files = [(path.parent / line.removeprefix("-r ")).resolve() for line in lines if line.startswith("-r ")]
            wanted += [file.relative_to(ROOT).as_posix() for file in files]
            wanted += [line for line in lines if line and not line.startswith("-r ")]
            continue
        name = re.match(r"[\w.-]+", item).group().lower().replace("_", "-")
        if name not in found:
            found.add(name)
            with contextlib.suppress(importlib.metadata.PackageNotFoundError):  # no test needs mauve-text
                wanted += [line for line in importlib.metadata.requires(name) or [] if "extra ==" not in line]
    return found


@pytest.mark.slow
@pytest.mark.parametrize("path", TOOLS_WITH_PACKAGES, ids=name_of)
def test_the_requirements_bring_what_the_tool_imports(path):
    [call] = [
        node
        for statement in ast.parse(SOURCES[path]).body
        for node in ast.walk(statement)
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("start_tool", "start_study")
    ]
    strings = [node.value for node in ast.walk(call) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    imported = imported_at_once(path, set())
    assert imported or path.stem == "benchmark", "its suites are imported when they run"
    packages = {PIP_NAMES.get(name, name).lower().replace("_", "-") for name in imported}
    assert packages - brought_by(requirements_of(strings)) == set()
