"""Command lines with wrong files, outputs and options: one line, status 1 or 2, and old outputs as they were."""

import contextlib
import importlib
import io
import os
import pathlib
import re
import shutil
import tempfile
from collections.abc import Sequence

from tests.hostile_inputs.command_lines import Command, all_commands
from tests.hostile_inputs.rule import against_one_line

# What lies in every output file before a command runs.
OLD = "what was there before\n"


def prepare() -> None:
    """Load what most commands need."""
    for name in (
        *(
            "evaluate",
            "torch",
            "manycaps.pac_training.checkpoint_conversion",
            "manycaps.comparison.run",
            "manycaps.diversity.rows.chosen",
        ),
        *("manycaps.diversity.measured", "manycaps.human_correlation.protocols", "manycaps.pac_training.positives"),
        *("manycaps.pac_training.training_run", "manycaps.comparison.quickstart.comparison", "manycaps.scoring.run"),
    ):
        importlib.import_module(name)


def complaint(name: str) -> str | None:
    """Run a command line; say what is against the rule, or return None."""
    from tests.modules.sample_inputs import small_checkpoint

    case = all_commands()[name]
    folder = pathlib.Path(tempfile.mkdtemp(prefix="hostile-"))
    try:
        for path, content in {**case.files, **dict.fromkeys(case.outputs, OLD.encode())}.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(content)
        if case.make:
            case.make(folder)
        before = {path: path.lstat().st_mode for path in folder.rglob("*")}
        arguments = [
            a.replace("{folder}", str(folder)).replace("{checkpoint}", small_checkpoint()) for a in case.arguments
        ]
        found = _complaint(case, folder, *run_command(arguments, folder))
        changed = [
            path.name for path, mode in before.items() if not os.path.lexists(path) or path.lstat().st_mode != mode
        ]
        return found or (f"replaced: {changed}" if changed else None)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _complaint(case: Command, folder: pathlib.Path, status: int, printed: str) -> str | None:
    if status == 0:
        return None if case.may_succeed else f"accepted: {printed[-200:]}"
    if status not in (1, 2):
        return f"status {status}: {printed[-200:]}"
    if any((folder / output).read_text(encoding="utf-8") != OLD for output in case.outputs):
        return "lost: an output is not what it was"
    return against_one_line(printed, may_be_usage=True)


def run_command(arguments: Sequence[str], folder: pathlib.Path) -> tuple[int, str]:
    """Run a command line in this process; return its status and what it printed to standard error."""
    from manycaps.commands.command_line import main

    printed, here = io.StringIO(), pathlib.Path.cwd()
    os.chdir(folder)
    try:
        with contextlib.redirect_stderr(printed), contextlib.redirect_stdout(io.StringIO()):
            status = main(list(arguments))
    except SystemExit as stop:
        status = stop.code if isinstance(stop.code, int) else 1
    except BaseException as error:
        status, _ = 99, printed.write(f"{type(error).__name__}: {error}")
    finally:
        os.chdir(here)
    return status, re.sub(r"[^\n]*\r", "", printed.getvalue())  # as a terminal shows it: bars are written over
