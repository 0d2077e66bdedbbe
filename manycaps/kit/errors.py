"""Errors about what a user gave, and the checks whose sentences many files share."""

import contextlib
import difflib
import importlib.util
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ParamSpec, TypeVar

# Arguments and result of a function.
P = ParamSpec("P")

R = TypeVar("R")

# A class of errors about what was given.
Kind = TypeVar("Kind", bound="InputError")

# Longest value and longest text of an error in a message, in characters.
VALUE_CHARACTERS, REASON_CHARACTERS = 80, 160

# What torch says where the memory of a device does not suffice.
MEMORY_WORDS = ("out of memory", "allocate memory", "ALLOC_FAILED")


def quote_value(value: object) -> str:
    """Return the `repr` of a value for a message, its beginning where it is long.

    >>> quote_value("exact"), len(quote_value("a" * 5000)), quote_value(10**5000)
    ("'exact'", 83, 'int')
    """
    if isinstance(value, str | bytes):
        value = value[: VALUE_CHARACTERS + 1]
    try:
        text = repr(value)
        text.encode()  # half a surrogate pair cannot be printed
    except Exception:  # raised by an object of the user's, or by a number with too many digits
        return type(value).__name__
    text = " ".join(text.split())
    return text if len(text) <= VALUE_CHARACTERS else f"{text[:VALUE_CHARACTERS]}..."


def quote_path(path: str | bytes | os.PathLike[str]) -> str:
    """Return a path for a message, its end where it is long.

    >>> quote_path("captions.json"), len(quote_path("a" * 5000))
    ("'captions.json'", 85)
    """
    text = os.fsdecode(path)
    shown = text if len(text) <= VALUE_CHARACTERS else text[-VALUE_CHARACTERS:]
    printable = shown.isprintable() and not any("\ud800" <= letter <= "\udfff" for letter in shown)
    return ("" if shown is text else "...") + (repr(shown) if printable else ascii(shown))


def spelling_advice(name: object, known: Iterable[str]) -> str:
    """Return the advice for an unknown name: the nearest known one, if it is near.

    >>> spelling_advice("trm_metor", ["trm_meteor", "trm_cider"]), spelling_advice("spice", ["trm_cider"])
    ('Did you mean trm_meteor? Check the spelling.', 'Check the spelling.')
    """
    near = difflib.get_close_matches(name, list(known), 1, 0.75) if isinstance(name, str) else []
    return f"Did you mean {near[0]}? Check the spelling." if near else "Check the spelling."


def first_names(names: Iterable[str]) -> str:
    """Return the first three of some names for a message.

    >>> first_names("abcd")
    'a, b, c, ...'
    """
    listed = list(names)
    return ", ".join(listed[:3]) + (", ..." if len(listed) > 3 else "")


class InputError(ValueError):
    """What a user gave cannot be used, and what to give instead; any other exception is a fault of the program.

    The text is `<where>: expected <expected>, got <got>. <fix>`. Faults that callers may want to catch by a built-in
    class are of a subclass that is both.

    Args:
        where: The column, row and item, the option, or the path, e.g. "predictions[3][0]" or "--output"; "" for
            all of what `within` names.
        expected: What can be used there.
        got: What was given, shortened.
        fix: What to do, as sentences; "" where `expected` says it.

    >>> error = InputError("seed", "a whole number", "1.5", "Give 1.")
    >>> print(error)
    seed: expected a whole number, got 1.5. Give 1.
    >>> error.where, error.fix
    ('seed', 'Give 1.')
    """

    def __init__(self, where: object, expected: object, got: object, fix: object = "") -> None:
        self.where, self.expected, self.got, self.fix = map(str, (where, expected, got, fix))
        super().__init__(self.where, self.expected, self.got, self.fix)  # `args`, of which pickle makes the copy

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        return f"{place}expected {self.expected}, got {self.got}. {self.fix}".rstrip()

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.args == getattr(other, "args", None)

    def __hash__(self) -> int:
        return hash(self.args)

    def replace(self, old: str, new: str) -> "InputError":
        """Return the same error with another text, e.g. the name of a file as its owner knows it."""
        where, expected, got, fix = (part.replace(old, new) for part in self.args)
        return type(self)(where, expected, got, fix)

    def within(self, place: str) -> "InputError":
        """Return the same error with what its place is in, e.g. a file, before the place."""
        return type(self)(f"{place}: {self.where}" if self.where else place, self.expected, self.got, self.fix)

    def with_advice(self, advice: str) -> "InputError":
        """Return the same error with one more remedy."""
        return type(self)(self.where, self.expected, self.got, f"{self.fix} {advice}".strip())

    def as_kind(self, kind: "type[Kind]") -> "Kind":
        """Return the same error as one of another class, e.g. of a row that may be skipped."""
        return kind(self.where, self.expected, self.got, self.fix)


class InputTypeError(InputError, TypeError):
    """A value of a type that cannot be used."""


class InputOSError(InputError, OSError):
    """A file, folder, network or process that cannot be used."""

    __str__ = InputError.__str__


class InputImportError(InputError, ModuleNotFoundError):
    """A package, or what it needs, that is missing."""

    __str__ = InputError.__str__


class InputLookupError(InputError, LookupError):
    """Data that is not installed."""


class InputMemoryError(InputError, MemoryError):
    """Work that is too large for the memory of a device."""


@contextlib.contextmanager
def as_input_errors(
    where: object, expected: str, fix: str, got: str = "", besides: tuple[type[Exception], ...] = ()
) -> Iterator[None]:
    """Turn what other libraries raise in a `with` statement into an `InputError`; `besides` stay as they are.

    >>> try:
    ...     with as_input_errors("--data", "a column id", "Name it."):
    ...         {}["id"]
    ... except InputError as error:
    ...     print(error)
    --data: expected a column id, got KeyError ('id'). Name it.
    """
    try:
        yield
    except Exception as error:  # each library has kinds of its own
        if isinstance(error, (InputError, *besides)):
            raise
        kind, reason = type(error).__name__, reason_of(error)
        raise InputError(where, expected, f"{got} ({kind}: {reason})" if got else f"{kind} ({reason})", fix) from error


def lacks_memory(error: Exception) -> bool:
    """Return whether the memory of this machine, or of a device of torch, did not suffice."""
    return isinstance(error, MemoryError) or (
        isinstance(error, RuntimeError) and any(words in str(error) for words in MEMORY_WORDS)
    )


@contextlib.contextmanager
def device_memory(where: str, expected: str, fix: str) -> Iterator[None]:
    """Raise InputMemoryError where a device's memory does not suffice for the work in a `with` statement.

    >>> try:
    ...     with device_memory("batch_size", "a smaller one", "Give 8."):
    ...         raise RuntimeError("CUDA out of memory. Tried to allocate 588.00 MiB.")
    ... except MemoryError as error:
    ...     print(error)
    batch_size: expected a smaller one, got too little memory. Give 8.
    """
    try:
        yield
    except RuntimeError as error:
        if lacks_memory(error):
            raise InputMemoryError(where, expected, "too little memory", fix) from error
        raise


def reason_of(error: BaseException) -> str:
    """Return in a few words why something could not be used.

    >>> reason_of(FileNotFoundError(2, "No such file or directory")), reason_of(KeyError())
    ('No such file or directory', 'KeyError')
    """
    if isinstance(error, RecursionError):
        return "brackets nested too deeply"
    words = getattr(error, "strerror", None) or str(error)
    short = " ".join(str(words)[: 2 * REASON_CHARACTERS].split())[:REASON_CHARACTERS]
    return short.encode("ascii", "backslashreplace").decode() or type(error).__name__


def check_installed(packages: Iterable[str], wanted_by: str, advice: str) -> None:
    """Raise unless optional packages are installed; nothing is imported."""
    for name in packages:
        if importlib.util.find_spec(name) is None:
            error = InputImportError(wanted_by, f"the package {name}", "none", advice)
            error.name = name
            raise error


def check_kind(name: str, value: object, kinds: Any, expected: str, fix: str) -> None:
    """Raise unless a value is of one of some kinds, as `isinstance` takes them.

    >>> try:
    ...     check_kind("prompt", 3, str, "a string", "Give '' for no prompt.")
    ... except InputTypeError as error:
    ...     print(error)
    prompt: expected a string, got int. Give '' for no prompt.
    """
    if not isinstance(value, kinds):
        raise InputTypeError(name, expected, type(value).__name__, fix)


def check_exclusive(given: Mapping[str, object], *, is_needed: bool = False) -> None:
    """Raise if more than one of some options or columns is given, or none of them although one is needed.

    >>> try:
    ...     check_exclusive({"model": "a", "checkpoint": "b"})
    ... except InputError as error:
    ...     print(error)
    model: expected one of model and checkpoint, got both. Leave one of them out.
    """
    names = [name for name, value in given.items() if value is not None]
    expected = f"one of {' and '.join(given)}"
    if len(names) > 1:
        raise InputError(names[0], expected, "both" if len(given) == 2 else "several", "Leave one of them out.")
    if is_needed and not names:
        raise InputError(next(iter(given)), expected, "none", "Give one of them.")


def check_n_rows(
    name: str, n_rows: int, other: str, n_expected: int, what: str = "row", fix: str = "Row i of both belongs together."
) -> None:
    """Raise unless a column or option has something for each row of another one.

    >>> try:
    ...     check_n_rows("references", 2, "predictions", 3)
    ... except InputError as error:
    ...     print(error)
    references: expected one row for each of the 3 rows of predictions, got 2. Row i of both belongs together.
    """
    if n_rows != n_expected:
        raise InputError(name, f"one {what} for each of the {n_expected} rows of {other}", n_rows, fix)


def check_places(places: Sequence[object], where: str, expected: str, got: object, fix: str) -> None:
    """Raise at the first of some places, such as rows, that cannot be used, and say how many there are.

    >>> try:
    ...     check_places([3, 5], "references", "two captions or more", "one", "Leave the row out.")
    ... except InputError as error:
    ...     print(error)
    references[3]: expected two captions or more, got one (2 such rows in all). Leave the row out.
    """
    if len(places):
        raise InputError(f"{where}[{places[0]}]", expected, f"{got} ({len(places)} such rows in all)", fix)
