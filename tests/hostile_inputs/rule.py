"""The one rule over all modules and all hostile inputs, and what a case of it looks like.

A call is answered clearly: by an error of the house's form, or by a right value. After an error the rows that were
added before are there, and in any case the same instance then computes the right value.
"""

import functools
import importlib
import math
import pathlib
import re
import shutil
import tempfile
import uuid
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from tests.modules.sample_inputs import QUICK_OPTIONS, SAMPLE_INPUTS, TOLERANCES, load_options

MODULES_ROOT = pathlib.Path(__file__).resolve().parents[2]

# `<column>[<row>][<item>]: expected <what>, got <what>. <How to fix it.>`
HOUSE_FORM = re.compile(r"[^\n]+?: expected .+, got .+\. .+[.)\]}'\"?]", re.DOTALL)

# Longest message: never the whole input.
LONGEST_MESSAGE = 1_500

# Modules that embed texts; here by counting letters, so that no model is needed.
TEXT_EMBEDDERS = ("fid_bert", "mmd", "mmd_bert", "trm", "trm_bert")

# Rows that are added before a hostile call.
N_ADDED = 2

Columns = dict[str, Any]

# Makes the columns and options of a call, given an empty folder and the module's good columns.
Given = Callable[[pathlib.Path, Columns], Columns]

# Contents in place of a file of JSON.
BROKEN_JSON: dict[str, bytes] = {
    "empty": b"",
    "text": b'"a dog"',
    "null": b"null",
    "list_of_numbers": b"[1, 2, 3]",
    "half": b'{"n_documents": 3, "document_frequency": {"a":',
    "not_utf_8": b'{"n_documents": 3, "\xff": 1}',
    "utf_16": '{"n_documents": 3}'.encode("utf-16"),
    "nul": b'{"n_documents": 3\0}',
    "brackets": b"[" * 100_000,
    "long_number": b'{"n_documents": ' + b"9" * 6000 + b', "document_frequency": {"a": 1}}',
}


class CallersError(Exception):
    """An error of a function or an object of the caller: the only foreign one that may come through."""

    @classmethod
    def throw(cls, *_: Any, **__: Any) -> Any:
        """Raise it."""
        raise cls("of the caller")


class Case(NamedTuple):
    """A hostile call of a module's `compute`."""

    # Folder of the module.
    module: str
    # The columns and options of the call.
    given: Given
    # What the message begins with; None: the call may also be answered by finite numbers.
    where: str | None = None
    # Looks at an answer that must be a value: given the result, and the result of the good columns.
    check: Callable[[Columns, Columns], bool] | None = None
    # Rows are added before the call, unless it takes arrays, which stand in place of rows.
    adds: bool = True
    # What is given are options of loading; then the columns are the good ones, and the instance is another.
    loads: bool = False


def cases(
    modules: Iterable[str], name: str, table: Mapping[str, Any], make: Callable[[str, Any], Case]
) -> dict[str, Case]:
    """Return a case of each module and each entry of a table; `{}` in the name stands for the entry's key."""
    return {f"{module}/{name.format(key)}": make(module, value) for module in modules for key, value in table.items()}


def beside(**given: Any) -> Given:
    """Return what gives the good columns, and other columns and options."""
    return lambda _, columns: {**columns, **given}


def third(column: str, make: Callable[[pathlib.Path], Any], **options: Any) -> Given:
    """Return what gives the good columns with another third row, made in an empty folder, and options."""
    return lambda folder, columns: {
        **columns,
        column: [*columns[column][:2], make(folder), *columns[column][3:]],
        **options,
    }


def letter_counts(captions: list[str]) -> np.ndarray:
    """Embed captions by counting their letters, and one more dimension so that no vector is 0."""
    return np.array(
        [[1.0, *(caption.count(letter) for letter in "abcdefghijklmnopqrstuvwxyz")] for caption in captions]
    )


@functools.cache
def all_cases() -> dict[str, Case]:
    """Return every case by name, `class/module/case`."""
    found = {}
    for name in ("images", "endless", "videos", "arrays", "columns", "options", "weights"):
        class_cases = importlib.import_module(f"tests.hostile_inputs.{name}").CASES
        found |= {f"{name}/{case}": value for case, value in class_cases.items()}
    return found


class Subject:
    """A loaded module, and what it computes of good columns."""

    def __init__(self, name: str) -> None:
        import evaluate

        warnings.simplefilter("error", RuntimeWarning)
        folder = next(MODULES_ROOT.glob(f"m*/{name}/README.md")).parent
        options = load_options(name) | QUICK_OPTIONS.get(name, {})
        options |= {"encoder": letter_counts} if name in (*TEXT_EMBEDDERS, "human_parity", "set_diversity") else {}
        evaluate.utils.logging.disable_progress_bar()
        # A name of its own: an instance that a case has poisoned may still hold the locks of the usual one.
        self.name, self.module = name, evaluate.load(str(folder), experiment_id=uuid.uuid4().hex, **options)
        self.columns: Columns = dict(SAMPLE_INPUTS[name])
        self.added = {column: rows[:N_ADDED] for column, rows in self.columns.items()}
        self.expected = self.module.compute(**self.columns)
        self.expected_added = self.module.compute(**self.added)

    def differs(self, result: Columns, expected: Columns) -> bool:
        """Whether two results are not the same."""
        tolerance = TOLERANCES.get(self.name, 0.0)
        numbers = {key: value for key, value in expected.items() if isinstance(value, int | float)}
        return result.keys() != expected.keys() or any(
            not np.isclose(result[key], value, rtol=tolerance, atol=tolerance, equal_nan=True)
            for key, value in numbers.items()
        )


@functools.cache
def subject(name: str) -> Subject:
    """Load a module once for all cases."""
    return Subject(name)


def prepare() -> None:
    """Load the modules whose libraries are large."""
    for name in ("pac_score", "emscore_pac", "fid_bert", "trm_meteor"):
        subject(name)


def complaint(name: str) -> str | None:
    """Try a case; say what is against the rule, or return None."""
    case = all_cases()[name]
    folder = pathlib.Path(tempfile.mkdtemp(prefix="hostile-"))
    try:
        found = _complaint(case, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if found:
        subject.cache_clear()  # the next case gets a fresh instance
    return found


def _complaint(case: Case, folder: pathlib.Path) -> str | None:
    tried = subject(case.module)
    given = case.given(folder, dict(tried.columns))
    adds = case.adds
    if adds:
        tried.module.add_batch(**tried.added)
    try:
        result = load_and_compute(case.module, given) if case.loads else tried.module.compute(**given)
    except Exception as error:
        found = None if isinstance(error, CallersError) else against_the_form(error, case.where)
        if case.check is not None:
            found = f"refused: {error}"
        if not found and adds and len(tried.module) != N_ADDED:
            found = f"rows lost: {len(tried.module)} left"
        if not found and adds and tried.differs(tried.module.compute(), tried.expected_added):
            found = "poisoned: another value of the rows added before"
    else:
        found = _against_the_value(result, case, tried)
    if not found and tried.differs(tried.module.compute(**tried.columns), tried.expected):
        found = "poisoned: another value of good rows"
    return found


def against_the_form(error: BaseException, where: str | None) -> str | None:
    """Say what is wrong with an error, or return None."""
    text = str(error)
    if "InputError" not in [kind.__name__ for kind in type(error).__mro__]:  # each module has its copy of the class
        return f"foreign: {type(error).__name__}: {text[:200]}"
    if not HOUSE_FORM.fullmatch(text):
        return f"message: {type(error).__name__}: {text[:200]}"
    if where is not None and not text.startswith(where):
        return f"place: expected {where}: {text[:200]}"
    return f"long message: {len(text)} letters" if len(text) > LONGEST_MESSAGE else None


def against_one_line(printed: str, *, may_be_usage: bool) -> str | None:
    """Say what is wrong with what a command that failed has printed, which may be argparse's usage, or return None."""
    line = (printed.strip().splitlines() or [""])[-1]
    if "Traceback (most recent call last)" in printed:
        return f"traceback: {printed[-300:]}"
    if "Internal error" in line:
        return f"foreign: {line[:300]}"
    is_usage = may_be_usage and line.startswith("manycaps")
    return None if is_usage or HOUSE_FORM.fullmatch(line) else f"message: {line[:300]}"


def load_and_compute(name: str, options: Columns) -> Columns:
    """Return what a module computes of good columns when it is loaded with hostile options."""
    module = type(subject(name).module)(experiment_id=uuid.uuid4().hex, **{**load_options(name), **options})
    module.download_and_prepare()
    return module.compute(**SAMPLE_INPUTS[name])


def _against_the_value(result: Columns, case: Case, tried: Subject) -> str | None:
    if case.where is not None:
        return f"silent: {str(result)[:200]}"
    if case.check is not None:
        return None if case.check(result, tried.expected) else f"wrong value: {str(result)[:200]}"
    headline = result.get(tried.module.name, 0.0)
    return None if math.isfinite(headline) else f"silent: {str(result)[:200]}"
