"""What a hostile command line looks like."""

import pathlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

# Runs a command line in a folder; returns its status and what it printed to standard error.
Run = Callable[[Sequence[str], pathlib.Path], tuple[int, str]]


class Command(NamedTuple):
    """A command line: `{folder}` stands for an empty folder, in which `files` are made before."""

    arguments: Sequence[str]
    files: dict[str, bytes]
    # Makes what bytes cannot be: pipes, folders, links.
    make: Callable[[pathlib.Path], Any] | None = None
    # Output files that lie there before.
    outputs: Sequence[str] = ()
    # Whether the command may also succeed.
    may_succeed: bool = False
