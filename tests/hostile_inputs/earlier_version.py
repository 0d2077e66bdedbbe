"""The collection of hostile inputs against another version of this repository: the counts in SECURITY.md, by class.

git worktree add ../earlier COMMIT
python -m tests.hostile_inputs.earlier_version ../earlier --answers earlier.jsonl
python -m tests.hostile_inputs.earlier_version . --answers today.jsonl

Tries the cases of all modules on the module folders of that version, and the command lines, in good and in bad
surroundings, on its programs (scripts/ before there was a package). Prints for each class how many were answered
clearly, and what the others did. A case does not apply where the module, the option or the program did not exist. A run
that is interrupted goes on. Needs tests/requirements.txt.
"""

import argparse
import collections
import contextlib
import functools
import io
import json
import os
import pathlib
import runpy
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence

# Before evaluate is imported: modules are read from their folders, and nothing is fetched.
os.environ.setdefault("HF_EVALUATE_OFFLINE", "1")

from tests.hostile_inputs import commands, rule, surroundings
from tests.hostile_inputs.bounded_process import BoundedProcess

# Seconds of computing within which a call of a module, and a command line, must be answered.
CALL_LIMIT, COMMAND_LIMIT = 5, 20

# What an answer is when the case does not apply.
DOES_NOT_APPLY = "does not apply"

# Columns of the table, and the beginnings of the complaints that are counted in them.
OUTCOMES: Mapping[str, tuple[str, ...]] = {
    "foreign exception, hang or crash": ("foreign", "traceback", "hang", "crash", "status", "harness"),
    "silent or wrong number": ("silent", "accepted", "wrong value"),
    "rows, outputs or instance lost": ("rows lost", "poisoned", "lost", "replaced"),
    "message without row or remedy": ("message", "place", "long message"),
    "legal input refused": ("refused",),
}

# What argparse says of an option that a program does not have, and a status that stands for it here.
UNKNOWN_OPTION, NO_STATUS = "unrecognized arguments", 77

# Programs of the versions without a package, by command.
PROGRAMS = {
    "diversity": "diversity_report",
    **{
        command: command.replace("-", "_")
        for command in (
            "convert-checkpoint",
            "count-document-frequency",
            "count-token-frequency",
            "human-correlation",
            "install-wordnet",
            "make-positives",
            "make-world",
            "quickstart",
            "train-pac",
        )
    },
}


def module_answer(name: str) -> str | None:
    """Try a case on the modules of that version; return a complaint, `DOES_NOT_APPLY`, or None."""
    case = rule.all_cases()[name]
    if not list(rule.MODULES_ROOT.glob(f"m*/{case.module}/{case.module}.py")):
        return DOES_NOT_APPLY
    with tempfile.TemporaryDirectory() as folder:
        tried = rule.subject(case.module)
        given = {} if case.loads else case.given(pathlib.Path(folder), dict(tried.columns))
        for option in sorted(set(given) - set(tried.columns)):
            if option not in ("no_such_option", "captions") and is_unknown(case.module, option):
                return DOES_NOT_APPLY
    try:
        return rule.complaint(name)
    except (KeyError, AttributeError) as error:
        # The check of a right value looks at results that this version does not have.
        return DOES_NOT_APPLY if isinstance(error, KeyError) else f"foreign: {error!r}"


@functools.cache
def is_unknown(module: str, option: str) -> bool:
    """Whether a module does not have an option, or a column that stands in another one's place."""
    tried = rule.subject(module)
    try:
        tried.module.compute(**tried.columns, **{option: None})
    except Exception as error:
        return "expected options among" in str(error) or "unexpected keyword" in str(error)
    return False


def command_answer(name: str) -> str | None:
    """Try a command line on the program of that version."""
    case = commands.all_commands()[name]
    command = case.arguments[0] if case.arguments else ""
    if (rule.MODULES_ROOT / "manycaps" / "command_line.py").exists():
        return commands.complaint(name)
    if command not in PROGRAMS:
        return DOES_NOT_APPLY
    found = commands.complaint(name, run_program)
    return DOES_NOT_APPLY if found and found.startswith(f"status {NO_STATUS}") else found


def run_program(arguments: Sequence[str], folder: pathlib.Path) -> tuple[int, str]:
    """Run a program of that version as `commands.run_command` runs a command."""
    path = rule.MODULES_ROOT / "scripts" / f"{PROGRAMS[arguments[0]]}.py"
    metric = {name: str(rule.MODULES_ROOT / "metrics" / name) for name in ("trm_meteor", "pac_score")}
    printed, here, given = io.StringIO(), pathlib.Path.cwd(), sys.argv
    sys.argv = [str(path), *(metric.get(argument, argument) for argument in arguments[1:])]
    os.chdir(folder)
    try:
        with contextlib.redirect_stderr(printed), contextlib.redirect_stdout(io.StringIO()):
            runpy.run_path(str(path), run_name="__main__")
        status = 0
    except SystemExit as stop:
        status = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
        if isinstance(stop.code, str):
            printed.write(stop.code)
        elif UNKNOWN_OPTION in printed.getvalue():
            status = NO_STATUS
        elif status == 2:
            printed.write("\nmanycaps: usage")  # argparse answers as it does today
    except BaseException as error:
        status = 1
        printed.write(f"\nTraceback (most recent call last): {type(error).__name__}: {str(error)[:200]}")
    finally:
        os.chdir(here)
        sys.argv = given
    return status, printed.getvalue()


def surrounding_answer(name: str) -> str | None:
    """Try a command line in bad surroundings with the program of that version."""
    if (rule.MODULES_ROOT / "manycaps" / "command_line.py").exists():
        return surroundings.complaint(name)
    command = name.split("/")[1]
    if command not in PROGRAMS:
        return DOES_NOT_APPLY
    return surroundings.complaint(
        name, [sys.executable, str(rule.MODULES_ROOT / "scripts" / f"{PROGRAMS[command]}.py")]
    )


def prepare() -> None:
    """Load what most cases need."""
    rule.prepare()
    if (rule.MODULES_ROOT / "manycaps" / "command_line.py").exists():
        commands.prepare()


def answered(answers: pathlib.Path, names: Iterable[str]) -> dict[str, str | None]:
    """Try the cases that the file does not have, and return all answers."""
    found = {}
    if answers.exists():
        found = dict(map(json.loads, answers.read_text(encoding="utf-8").splitlines()))
    process = BoundedProcess("tests.hostile_inputs.earlier_version.prepare")
    for name in names:
        if name not in found:
            kind, _, own = name.partition("/")
            if kind not in ("commands", "surroundings"):
                kind, own = "module", name
            function = f"tests.hostile_inputs.earlier_version.{kind.removesuffix('s')}_answer"
            found[name] = process.call(function, own, seconds=CALL_LIMIT if kind == "module" else COMMAND_LIMIT)
            with answers.open("a", encoding="utf-8") as file:
                file.write(json.dumps([name, found[name]]) + "\n")
    process.close()
    return found


def table(answers: Mapping[str, str | None]) -> str:
    """Return the table in Markdown: a line for each class."""
    classes: dict[str, list[str | None]] = collections.defaultdict(list)
    for name, answer in answers.items():
        classes[name.split("/")[0]].append(answer)
    lines = [f"| class | cases | apply | clear | {' | '.join(OUTCOMES)} |", "|---|" + "---:|" * (3 + len(OUTCOMES))]
    for name, found in classes.items():
        applied = [answer for answer in found if answer != DOES_NOT_APPLY]
        counts = [sum(str(answer).startswith(kinds) for answer in applied if answer) for kinds in OUTCOMES.values()]
        numbers = [len(found), len(applied), applied.count(None), *counts]
        lines.append(f"| {name} | {' | '.join(map('{:,}'.format, numbers))} |")
    return "\n".join(lines)


def all_names() -> list[str]:
    """Return the names of all cases, those of command lines behind `commands/` and `surroundings/`."""
    return [
        *rule.all_cases(),
        *(f"commands/{name}" for name in commands.all_commands()),
        *(f"surroundings/{name}" for name in surroundings.all_surroundings()),
    ]


def main() -> int:
    """Try all cases and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, help="a checkout of that version")
    parser.add_argument("--answers", type=pathlib.Path, required=True, metavar="FILE", help="JSON Lines; made anew")
    arguments = parser.parse_args()
    os.environ[rule.MODULES_VARIABLE] = str(arguments.folder.resolve())
    found = answered(arguments.answers, all_names())
    print(table({name: found[name] for name in all_names()}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
