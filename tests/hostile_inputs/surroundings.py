"""Commands in bad surroundings: odd variables, other modules in the folder, little of what they need.

A command line that is right must do its work, and write the same bytes as ever, or say in one line what is missing.
"""

import functools
import pathlib
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence

from tests.hostile_inputs.command_lines import LINES
from tests.hostile_inputs.rule import against_one_line

# As a user calls it: the current folder is not among those that modules are imported from.
PROGRAM = str(pathlib.Path(sys.executable).with_name("manycaps"))

# Command lines that are right, and the file that each writes; without one, it prints what is wanted.
COMMANDS: Mapping[str, tuple[Sequence[str], str]] = {
    "list": ([], ""),
    "count-document-frequency": (["rows.jsonl", "--column", "references", "--output", "out/table.json"], "table.json"),
    "score": (["-m", "bleu_rouge", "-i", "rows.jsonl", "-o", "out", "--processes", "2"], "parts/score-00000.npz"),
}

# Programs of a shell, in which a command line stands in place of `{command}`.
SURROUNDINGS = {
    "folder_of_other_modules": "cd shadows && {command}",
    "ascii_only": "LC_ALL=C PYTHONIOENCODING=ascii PYTHONUTF8=0 PYTHONCOERCECLOCALE=0 {command}",
    "home_missing": "HOME=/nonexistent {command}",
    "temporary_folder_missing": "TMPDIR=/nonexistent {command}",
    "odd_variables": "PATH= COLUMNS=wide LINES=0 OMP_NUM_THREADS=two {command}",
    "warnings_are_errors": "PYTHONWARNINGS=error {command}",
    "without_docstrings": "PYTHONOPTIMIZE=2 {command}",
    "few_open_files": "ulimit -n 24; {command}",
    "small_files": "ulimit -f 0; {command}",
}

# Surroundings in which a command that starts processes is tried, too: it takes ten times as long as the others.
OF_PROCESSES = {"without_docstrings", "few_open_files", "small_files"}

# Names of modules that lie in the current folder, and must not be taken for those that the program means.
SHADOWS = ("json", "types", "random", "copy", "numpy", "evaluate", "tests")


def all_surroundings() -> list[str]:
    """Names of all cases."""
    return [
        f"{place}/{command}"
        for place in SURROUNDINGS
        for command in COMMANDS
        if command != "score" or place in OF_PROCESSES
    ]


def complaint(name: str) -> str | None:
    """Run a command line in bad surroundings; say what is against the rule, or return None."""
    place, command = name.split("/")
    done, written = outcome(SURROUNDINGS[place], command)
    if done.returncode == 0 and "Traceback" not in done.stderr and "Internal error" not in done.stderr:
        return None if written == usual_output(command) else "wrong value: another output than as ever"
    if done.returncode not in (0, 1):
        return f"status {done.returncode}: {done.stderr[-300:]}"
    return against_one_line(done.stderr, may_be_usage=False)


@functools.cache
def usual_output(command: str) -> bytes:
    """Return what a command line writes, or prints, in surroundings that are in order."""
    done, written = outcome("{command}", command)
    assert done.returncode == 0, done.stderr
    assert written, "a command line writes another file, or prints nothing"
    return written


def outcome(shell: str, command: str) -> tuple["subprocess.CompletedProcess[str]", bytes | None]:
    """Run a command line in a program of a shell; return what came of it, and what it wrote or printed."""
    with tempfile.TemporaryDirectory(prefix="hostile-") as name:
        folder = pathlib.Path(name)
        (folder / "rows.jsonl").write_bytes(LINES)
        for made in ("out", "shadows"):
            (folder / made).mkdir()
        for shadow in SHADOWS:
            (folder / "shadows" / f"{shadow}.py").write_text("raise RuntimeError('another module')\n", encoding="utf-8")
        arguments, output = COMMANDS[command]
        places = [f"{folder}/{part}" if part.startswith(("out", "rows")) else part for part in arguments]
        done = subprocess.run(
            ["bash", "-c", shell.format(command=shlex.join([PROGRAM, command, *places]))],
            cwd=folder, capture_output=True, text=True, errors="replace", timeout=120, check=False,
        )  # fmt: skip
        if not output:
            return done, done.stdout.encode()
        path = folder / "out" / output
        return done, path.read_bytes() if path.exists() else None
