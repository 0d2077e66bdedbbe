"""How every tool of this folder starts: its command line first, then its packages; one line for what a user can fix."""

import functools
import pathlib
import sys
from collections.abc import Callable, Sequence
from types import TracebackType

from manycaps.command_line import one_line
from manycaps.kit.base_messages import is_in_house_form

# Folders of this repository: if a module of theirs cannot be imported, no package is missing.
OWN_FOLDERS = ("manycaps", "measurements", "metrics", "scripts", "tests")


def start_tool(name: str, parsed: Callable[[], object], *requirements: str, needs_wordnet: bool = False) -> None:
    """Read the command line before any package is imported, and make a missing package end the tool with one line.

    A tool calls this between its parser and its imports of packages: --help and a mistyped option are answered at
    once, also where nothing is installed. What cannot be imported afterwards, on top of the file or deep in the work,
    ends the tool with 1.

    `name` is the tool's `__name__`: nothing happens if it is imported and not run. `parsed` reads the command line, and
    ends the process after --help and after a mistake. `requirements` are requirements files, relative to the
    repository, and names of packages. Raises ValueError if the tool needs WordNet, and there is none.
    """
    if name == "__main__":
        parsed()
        sys.excepthook = functools.partial(report, requirements)
        if needs_wordnet:
            check_wordnet()


def check_wordnet() -> None:
    """Raise if NLTK finds no WordNet."""
    from manycaps.wordnet_corpus import has_wordnet

    if not has_wordnet():
        raise ValueError("WordNet: expected it where NLTK looks, got none. Run `manycaps install-wordnet`.")


def report(
    requirements: Sequence[str], kind: type[BaseException], error: BaseException, traceback: TracebackType | None
) -> None:
    """Print an error that ends a tool: one line for what a user can fix, the usual traceback for all else."""
    line = missing_package(error, requirements) or line_for_a_user(error, pathlib.Path(sys.argv[0]).stem)
    if line is None:
        sys.__excepthook__(kind, error, traceback)
    else:
        print(line, file=sys.stderr)


def line_for_a_user(error: BaseException, tool: str) -> str | None:
    """Say what is wrong with data or files, or that a user stopped the tool.

    >>> line_for_a_user(FileNotFoundError(2, "No such file or directory", "a.json"), "level_study")
    "'a.json': expected files that can be read and written, got No such file or directory. Check paths and disk."
    """
    if isinstance(error, KeyboardInterrupt):
        return f"{tool}: stopped by ctrl-C."
    if isinstance(error, Exception) and (is_in_house_form(error) or isinstance(error, OSError)):
        return one_line(error, tool)
    return None


def missing_package(error: BaseException, requirements: Sequence[str]) -> str | None:
    """Say which package is missing, and how to install it.

    >>> missing_package(ModuleNotFoundError("", name="PIL.Image"), ["scripts/requirements.txt"])
    'PIL.Image: expected this package, got none. Run `pip install -r scripts/requirements.txt`.'
    """
    if not isinstance(error, ImportError):
        return None
    cause: BaseException | None = error
    while cause and not isinstance(cause, ModuleNotFoundError):
        cause = cause.__cause__ or cause.__context__
    name = (cause or error).name
    if name and name.split(".")[0] in OWN_FOLDERS:
        return None
    advice = f"Run `pip install {' '.join(f'-r {item}' if item.endswith('.txt') else item for item in requirements)}`."
    if cause:
        return f"{name}: expected this package, got none. {advice}"
    # evaluate lists what a module needs in a sentence of its own; an old package lacks a name that is wanted of it.
    return f"{' '.join(str(error).split())} {advice}"
