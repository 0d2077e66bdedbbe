"""What all modules share: types, messages, options and their checks, rows of captions, files, and the base class."""

import ast
import base64
import collections
import contextlib
import datetime
import difflib
import enum
import functools
import gzip
import hashlib
import importlib.util
import inspect
import itertools
import json
import math
import os
import pathlib
import re
import shutil
import stat
import sys
import textwrap
import threading
import unicodedata
import uuid
import warnings
import zlib
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence, Set, Sized
from concurrent.futures import Future, ThreadPoolExecutor
from decimal import Decimal
from fractions import Fraction
from typing import IO, TYPE_CHECKING, Any, ClassVar, NamedTuple, ParamSpec, TypeGuard, TypeVar

import numpy as np
import numpy.typing as npt

from .row_images import clusters_of_images, repeated_texts

# --------------------------------------------------------------------------------------------------------------------
# Types that many files name: arrays of numbers, tokens of texts, progress bars; and work in threads.

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

# Sets as the bits of numbers.
Masks = npt.NDArray[np.uint64]

# The captions of all rows.
CaptionRows = Sequence[Sequence[str]]

# One text as tokens, and the texts of all rows.
TokenList = Sequence[str]
TokenRows = Sequence[Sequence[TokenList]]

# Arguments and result of a function.
P = ParamSpec("P")
R = TypeVar("R")

# A class of errors about what was given.
Kind = TypeVar("Kind", bound="InputError")

# Wraps the steps of some work in a progress bar, as `tqdm` does.
Progress = Callable[..., Iterable[Any]]

# Raises unless the value of an option is legal; takes the option's name and the value.
Check = Callable[[str, Any], None]

# Raises unless rows can be used; takes the sizes of each row, and the names of the columns that these are of.
RowCheck = Callable[[Sequence[tuple[int, ...]], tuple[str, ...]], None]


def map_in_order(
    pool: ThreadPoolExecutor, function: Callable[[Any], R], items: Iterable[Any], n_ahead: int
) -> Iterator[R]:
    """Apply a function to items in a pool and yield the results in order, at most `n_ahead` items ahead.

    The items are taken in the caller's thread, so a generator need not be thread-safe.
    """
    waiting: collections.deque[Future[R]] = collections.deque()
    try:
        for item in items:
            waiting.append(pool.submit(function, item))
            if len(waiting) > n_ahead:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        for future in waiting:  # after an error or ctrl-C: what has not begun never does
            future.cancel()


# --------------------------------------------------------------------------------------------------------------------
# Values, paths and errors in messages: short and on one line; and packages that are missing.

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
def errors_of_others(
    where: object, expected: str, fix: str, got: str = "", besides: tuple[type[Exception], ...] = ()
) -> Iterator[None]:
    """Turn what other libraries raise in a `with` statement into an `InputError`; `besides` stay as they are.

    >>> try:
    ...     with errors_of_others("--data", "a column id", "Name it."):
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


# --------------------------------------------------------------------------------------------------------------------
# Scores of candidates as a module returns them: means over rows, and lists per row and per candidate.


def build_result(scores: Mapping[str, np.ndarray], sizes: Sequence[int], details: bool) -> dict[str, Any]:
    """Build the keys of modules that score every candidate by itself.

    For each name the mean over rows of the mean over a row's candidates, and n_rows; with `details` also the lists
    under `_per_row` and `_per_candidate`. `scores` are float64 arrays, shape (n_candidates,), by name, one row after
    the other, and `sizes` the number of candidates of each row.

    >>> build_result({"pac": np.array([1.0, 2.0, 6.0])}, [1, 2], details=True)
    {'pac': 2.5, 'n_rows': 2, 'pac_per_row': [1.0, 4.0], 'pac_per_candidate': [[1.0], [2.0, 6.0]]}
    """
    per_row = {name: row_means(values, sizes) for name, values in scores.items()}
    result: dict[str, Any] = {name: exact_mean(means) for name, means in per_row.items()}
    result["n_rows"] = len(sizes)
    if details:
        result |= {f"{name}_per_row": means for name, means in per_row.items()}
        result |= {f"{name}_per_candidate": cut_runs(values.tolist(), sizes) for name, values in scores.items()}
    return result


def exact_mean(values: Collection[float]) -> float:
    """Return the mean of values, whose last digit does not depend on their order; NaN of none.

    >>> exact_mean([0.1] * 10), exact_mean([])
    (0.1, nan)
    """
    return math.fsum(values) / len(values) if len(values) else math.nan


def mean_of_defined(values: Iterable[float]) -> float:
    """Return the mean of the values that are not NaN, as `exact_mean`."""
    return exact_mean([value for value in values if not math.isnan(value)])


def row_means(values: np.ndarray, sizes: Sequence[int]) -> list[float]:
    """Return the mean of each run of consecutive values, with these sizes."""
    return [exact_mean(run) for run in cut_runs(values.tolist(), sizes)]


def cut_runs(values: Sequence[Any], sizes: Sequence[int]) -> list[Sequence[Any]]:
    """Cut a sequence into runs of the given sizes.

    >>> cut_runs([1, 2, 6], [1, 2])
    [[1], [2, 6]]
    """
    ends = np.cumsum(sizes)
    return [values[end - size : end] for end, size in zip(ends, sizes, strict=True)]


def first_largest(values: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return the index of the first largest value of each run of consecutive values, with these sizes, each at least 1.

    >>> first_largest(np.array([1.0, 2.0, 2.0, 5.0]), np.array([3, 1])).tolist()
    [1, 3]
    """
    first = np.cumsum(sizes) - sizes
    is_largest = ~(values < np.repeat(np.maximum.reduceat(values, first), sizes))  # of NaN each
    largest = np.flatnonzero(is_largest)
    largest_of_row: np.ndarray = largest[np.searchsorted(largest, first)]
    return largest_of_row


# --------------------------------------------------------------------------------------------------------------------
# Citations of papers that several modules have in common.

CHAN_CITATION = """
@inproceedings{chan2022distribution,
  title={Distribution Aware Metrics for Conditional Natural Language Generation},
  author={Chan, David M. and Ni, Yiming and Ross, David A. and Vijayanarasimhan, Sudheendra
          and Myers, Austin and Canny, John F.},
  year={2022},
  eprint={2209.07518},
  archivePrefix={arXiv}
}
"""

WHATS_CITATION = """
@inproceedings{chan2022whats,
  title={What's in a Caption? Dataset-Specific Linguistic Diversity and Its Effect on Visual Description Models and
         Metrics},
  author={Chan, David M. and Myers, Austin and Vijayanarasimhan, Sudheendra and Ross, David A. and Seybold, Bryan
          and Canny, John F.},
  booktitle={CVPR Workshops},
  year={2022},
  eprint={2205.06253},
  archivePrefix={arXiv}
}
"""

PAC_CITATION = """
@inproceedings{sarto2023positive,
  title={Positive-Augmented Contrastive Learning for Image and Video Captioning Evaluation},
  author={Sarto, Sara and Barraco, Manuele and Cornia, Marcella and Baraldi, Lorenzo and Cucchiara, Rita},
  booktitle={Proceedings of the IEEE/CVF Conference on Computer Vision and Pattern Recognition},
  year={2023}
}
"""

COCO_CITATION = """
@article{chen2015microsoft,
  title={Microsoft {COCO} Captions: Data Collection and Evaluation Server},
  author={Chen, Xinlei and Fang, Hao and Lin, Tsung-Yi and Vedantam, Ramakrishna and Gupta, Saurabh and Dollar, Piotr
          and Zitnick, C. Lawrence},
  journal={arXiv:1504.00325},
  year={2015}
}
"""

# --------------------------------------------------------------------------------------------------------------------
# Files and models that a caller names: regular files within a limit, any JSON, names on the Hub.

# Largest file of JSON: the table of document frequencies of COCO's captions takes 60 MB.
LARGEST_JSON_FILE = 1 << 30

# Most documents of a table of counts: float64 holds every whole number up to here.
MOST_DOCUMENTS = 2**53

# Bytes that are in memory at once of a file whose content is hashed.
PIECE_BYTES = 1 << 20

# Files up to so many bytes are compared by their content, too: two writes within one tick of a clock have one time.
SMALL_FILE = 1 << 16

# How base64 of a JPEG, PNG, GIF and WebP file begins, and the least characters of one: no path has them.
BASE64_BEGINNINGS, LEAST_BASE64 = ("/9j/", "iVBORw0KGgo", "R0lGOD", "UklGR"), 48


def inline_bytes(text: str, where: str) -> bytes | None:
    """Return the file that a text holds as base64, in a data URL or alone; None where the text is no such file.

    Without a data URL only what begins as a JPEG, PNG, GIF or WebP does is base64; else it is a path. Raises ValueError
    for a data URL that is not base64.

    >>> inline_bytes("data:image/gif;base64,R0lGODlh", "images[0]"), inline_bytes("dog.gif", "images[0]")
    (b'GIF89a', None)
    """
    is_url = text[:5].lower() == "data:" and "," in text
    head, _, content = text.partition(",") if is_url else ("", "", text)
    if not is_url and not (len(text) >= LEAST_BASE64 and text.startswith(BASE64_BEGINNINGS)):
        return None
    try:
        if is_url and not head.lower().endswith(";base64"):
            raise ValueError("no ;base64 in its head")
        return base64.b64decode("".join(content.split()), validate=True)
    except ValueError as error:
        raise InputError(
            where,
            "base64",
            f"{quote_value(text)} ({reason_of(error)})",
            "Encode the file's bytes with base64.b64encode, or give a path.",
        ) from error


def is_regular_file(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is a regular file; impossible names are not.

    >>> is_regular_file("/dev/null"), is_regular_file("a" * 5000)
    (False, False)
    """
    return stat.S_ISREG(_mode(path))


def is_folder(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is a folder; impossible names are not.

    >>> is_folder("/"), is_folder("a" * 5000)
    (True, False)
    """
    return stat.S_ISDIR(_mode(path))


def _mode(path: str | os.PathLike[str]) -> int:
    """Return the mode of a path; 0 where there is nothing."""
    try:
        return os.stat(path).st_mode
    except (OSError, ValueError):  # too long, a link to itself, a NUL
        return 0


def open_regular_file(path: str | os.PathLike[str], largest: int) -> IO[bytes]:
    """Open a regular file for reading: no pipes or devices, which block or never end.

    Args:
        path: of the file.
        largest: most bytes that it may have.

    Returns:
        The file; close it.

    Raises:
        OSError: it cannot be opened, is of another kind, or larger; the message says what it is, and has to be put
            into one that says where.
    """
    name = os.fspath(path)
    try:
        status = os.stat(name)
    except ValueError as error:  # a NUL, or half a surrogate pair
        raise OSError(str(error)) from error
    _check_regular(status, largest)  # first: the opening alone of some devices does something
    descriptor = os.open(name, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        _check_regular(os.fstat(descriptor), largest)
        return open(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


# Times its size that a compressed file may expand to, and bytes that any may: captions take a tenth, and gzip can make
# a thousandth of text that says nothing.
MOST_EXPANSION = 200
EXPANSION_BYTES = 1 << 28

# Bytes that are read at once of a compressed file that is read as a whole.
PIECE_OF_EXPANDED = 1 << 24


class ExpandedFile(gzip.GzipFile):
    """The content of a file compressed by gzip, within a limit: some kilobytes may hold gigabytes.

    Reading raises an InputError, which begins with `where`, once it expands beyond `MOST_EXPANSION` and
    `EXPANSION_BYTES`.
    """

    def __init__(self, packed: IO[bytes], where: str) -> None:
        super().__init__(fileobj=packed)
        self._packed, self._where, self._n_expanded = packed, where, 0

    def read(self, size: int | None = -1) -> bytes:
        """Read some bytes, or all of them."""
        if size is None or size < 0:
            return b"".join(iter(lambda: self.read(PIECE_OF_EXPANDED), b""))
        return self._count(super().read(size))

    def read1(self, size: int = -1) -> bytes:
        """Read what is there without another read of the packed file."""
        return self._count(super().read1(size))

    def readline(self, size: int | None = -1) -> bytes:
        """Read a line, or the beginning of one; a line without an end meets the limit, not the end of the memory."""
        if size is None or size < 0:
            pieces = [self.readline(PIECE_OF_EXPANDED)]
            while pieces[-1] and not pieces[-1].endswith(b"\n"):
                pieces.append(self.readline(PIECE_OF_EXPANDED))
            return b"".join(pieces)
        return self._count(super().readline(size))

    def _count(self, content: bytes) -> bytes:
        self._n_expanded += len(content)
        if self._n_expanded > EXPANSION_BYTES and self._n_expanded > MOST_EXPANSION * self._packed.tell():
            expected = f"a .gz file that expands to at most {MOST_EXPANSION} times its size"
            got = f"one of {self._n_expanded:,} bytes and more"
            raise InputError(self._where, expected, got, "If it is right, unpack it (`gunzip`).")
        return content


@contextlib.contextmanager
def open_text_bytes(path: str | os.PathLike[str], where: str) -> Iterator[IO[bytes]]:
    """Open a text file of a user's, in a `with` statement; one that ends with `.gz` gives its content, within a limit.

    Raises InputError, with the option that named the file and the file's name, where a `.gz` file is damaged, cut, no
    gzip file, or expands beyond the limit.
    """
    if not os.fspath(path).endswith(".gz"):
        with open(path, "rb") as plain:
            yield plain
        return
    shown = quote_path(path)
    try:
        with open(path, "rb") as packed, ExpandedFile(packed, f"{where}: {shown}") as file:
            yield file  # type: ignore[misc]
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        got = f"{shown}, which is damaged or cut ({reason_of(error)})"
        raise InputError(where, "a whole gzip file", got, "Get it again, or name it by what it holds.") from error


def read_json(
    path: str | os.PathLike[str],
    where: str | os.PathLike[str],
    advice: str,
    as_object: Callable[[list[tuple[str, Any]]], Any] | None = None,
) -> Any:
    """Read a UTF-8 JSON file of any content; `as_object` makes its objects, None for `unique_keys`.

    A message begins with `where`, a path as `quote_path` shows it, and ends with `advice`: how to get a right file.
    Raises ValueError if the file cannot be read, is no JSON, too large, too deeply nested, or has a key twice.
    """
    try:
        with open_regular_file(path, LARGEST_JSON_FILE) as file:
            return json.loads(file.read().decode("utf-8-sig"), object_pairs_hook=as_object or unique_keys)
    except (OSError, ValueError, RecursionError) as error:
        start = where if isinstance(where, str) else quote_path(where)
        raise InputError(start, "a JSON file", f"{quote_path(path)} ({reason_of(error)})", advice) from error


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of JSON, as `object_pairs_hook` of `json.loads`; of a key twice one value would be lost.

    >>> json.loads('{"1.jpg": ["a dog"], "1.jpg": ["a cat"]}', object_pairs_hook=unique_keys)
    Traceback (most recent call last):
    ValueError: the key '1.jpg' twice in one object
    """
    values = dict(pairs)
    if len(values) < len(pairs):
        seen: set[str] = set()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise ValueError(f"the key {quote_value(twice)} twice in one object")
    return values


def check_count_table(source: object, where: str, also: str, advice: str) -> None:
    """Raise unless `source` is a mapping or the path of a file that exists; `also` words what else an option takes."""
    if isinstance(source, Mapping):
        return
    if not isinstance(source, str | os.PathLike):
        raise InputTypeError(where, f"{also}a path to a JSON file or a mapping", type(source).__name__, advice)
    if not is_regular_file(source):
        raise InputError(where, "a JSON file", f"no file at {quote_path(source)}", advice)


def read_count_table(
    source: str | os.PathLike[str] | Mapping[str, Any],
    where: str,
    least: int,
    layout: str,
    advice: str,
    check_table: Callable[[Mapping[str, Any]], object] = lambda _table: None,
) -> tuple[Mapping[str, int], int]:
    """Return "document_frequency" of a table, whole numbers by strings, and its "n_documents", at least `least`.

    `check_table` takes the table, and raises if it was made otherwise than is needed. Raises ValueError if the file is
    no JSON, or the table has another layout, or a count is not from 1 to n_documents.
    """
    table = source if isinstance(source, Mapping) else read_json(source, where, advice)
    counts = table.get("document_frequency") if isinstance(table, Mapping) else None
    n_documents = table.get("n_documents") if isinstance(table, Mapping) else None
    if not isinstance(counts, Mapping) or not is_count(n_documents, least, MOST_DOCUMENTS):
        raise InputError(where, f"the layout {layout}", quote_value(table), advice)
    check_table(table)
    for entry, count in counts.items():
        if not isinstance(entry, str) or not is_count(count, 1, n_documents):
            raise InputError(
                f"{where}[{quote_value(entry)}]",
                f"a whole number from 1 to n_documents={n_documents!r}",
                quote_value(count),
                advice,
            )
    return counts, n_documents


def is_count(value: object, least: int, most: int) -> TypeGuard[int]:
    """Return whether a value is a whole number in a range.

    >>> is_count(2, 1, 3), is_count(True, 1, 3)
    (True, False)
    """
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def file_sha256(path: str | os.PathLike[str]) -> str:
    """Return the SHA-256 of a file's content in hexadecimal digits; memory use does not depend on its size."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while piece := file.read(PIECE_BYTES):
            digest.update(piece)
    return digest.hexdigest()


def write_folder(folder: pathlib.Path, temporary: pathlib.Path, write: Callable[[pathlib.Path], object]) -> None:
    """Let `write` fill a temporary folder, and rename it to an empty or new one when all of it is on the disk.

    Given the same temporary name, what a killed process left is removed when the work is repeated.
    """
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir()
    try:
        write(temporary)
        for path in temporary.iterdir():
            with path.open("rb+") as file:
                os.fsync(file.fileno())
        os.replace(temporary, folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def path_state(path: str | os.PathLike[str]) -> tuple[Hashable, ...]:
    """Return what changes when a file does, or one of a model's folder: resolved paths, sizes, times, small contents.

    In a folder its files and its folders' files count, and no deeper ones: a model has none. Empty where nothing is.

    >>> path_state("/no/such/file")
    ()
    """
    try:
        root = pathlib.Path(path).resolve()
        files = sorted((*root.glob("*"), *root.glob("*/*"))) if is_folder(root) else [root]
        return tuple(_file_state(file) for file in files if is_regular_file(file))
    except (OSError, ValueError, RuntimeError):  # removed meanwhile, a NUL, links that lead to each other
        return ()


def _file_state(file: pathlib.Path) -> tuple[Hashable, ...]:
    """What changes when a regular file does."""
    status = file.stat()
    # The system's own files have no size, and some never end.
    content = hashlib.sha256(file.read_bytes()).digest() if 0 < status.st_size <= SMALL_FILE else b""
    return str(file), status.st_size, status.st_mtime_ns, status.st_ctime_ns, content


# Common names of folders with models: "checkpoints/tiny-pac" is a path, and "someone/tiny-pac" a name on the Hub.
MODEL_FOLDERS = frozenset("checkpoint checkpoints data model models output outputs results run runs weights".split())

# Endings of files with weights.
WEIGHT_SUFFIXES = (".bin", ".pt", ".pth", ".safetensors")

# Prefix of a name on the Hub that looks like a path.
HUB_PREFIX = "hub:"

# Endings of tensors that may differ without harm: poolers, whose output nothing here uses, and positions and masks that
# older files hold and newer versions of transformers compute.
HARMLESS_TENSORS = re.compile(
    r"((^|\.)pooler\.(dense\.)?(weight|bias)|position_ids|inv_freq|\.attn\.(masked_)?bias|num_batches_tracked)$"
)


def check_loaded_tensors(info: Mapping[str, Iterable[Any]], where: str) -> None:
    """Raise if a model of transformers was loaded with tensors missing, left over or of another shape.

    Its layers would be random, or fewer than were trained; transformers warns at most. `info` is what `from_pretrained`
    returns with `output_loading_info=True`.

    >>> check_loaded_tensors({"missing_keys": ["encoder.pooler.dense.bias"], "unexpected_keys": []}, "model")
    """
    kinds = {"missing_keys": "missing", "unexpected_keys": "unexpected", "mismatched_keys": "of another shape"}
    got = []
    for key, kind in kinds.items():
        names = sorted(str(name if isinstance(name, str) else name[0]) for name in info.get(key, ()))
        if names := [name for name in names if not HARMLESS_TENSORS.search(name)]:
            got.append(f"{len(names)} {kind}: {first_names(names)}")
    if got:
        raise InputError(
            where,
            "files with exactly the tensors that config.json asks for",
            "; ".join(got),
            "Fetch the model again, or save it with save_pretrained.",
        )


def is_path(name: str) -> bool:
    """Return whether the name of a model that is not on this disk can only be a path; False where the Hub may know it.

    `name` is a path, or "owner/model" as on the Hub, if need be after `HUB_PREFIX`.

    >>> is_path("checkpoints/tiny-pac"), is_path("../tuned"), is_path("someone/tuned.pth")
    (True, True, True)
    >>> is_path("someone/tiny-pac"), is_path("hub:checkpoints/tiny-pac")
    (False, False)
    """
    if name.startswith(HUB_PREFIX):
        return False
    parts = name.split("/")
    looks_like_one = name.startswith((".", "~")) or "\\" in name or name.endswith(WEIGHT_SUFFIXES) or "" in parts
    return looks_like_one or len(parts) > 2 or (len(parts) == 2 and parts[0] in MODEL_FOLDERS)


def local_path(name: str | os.PathLike[str]) -> pathlib.Path:
    """Return a path with `~` expanded to the home folder."""
    path = pathlib.Path(name)
    try:
        return path.expanduser()
    except RuntimeError:  # no such user
        return path


def no_such_path(name: str) -> tuple[str, str]:
    """Return what a path is that cannot be used, and what to do: `got` and `fix` of an `InputError`.

    >>> no_such_path("/no/such/folder")
    ("'/no/such/folder': no such folder or file", 'Check the path.')
    >>> no_such_path("/")
    ("'/', which is a folder", 'Name a file in it.')
    """
    path = local_path(name)
    if is_folder(path):
        return f"{quote_path(name)}, which is a folder", "Name a file in it."
    if os.path.exists(path):
        kind, other = ("a file", "a folder") if is_regular_file(path) else ("neither a file nor a folder", "another")
        return f"{quote_path(name)}, which is {kind}", f"Name {other}."
    absolute = name.startswith("~") or pathlib.PurePath(name).is_absolute()
    start = "" if absolute else f", relative paths start at {pathlib.Path.cwd()}"
    # A name that looks like a path only by its folder may still be a name on the Hub.
    advice = (
        f"; for a repository on the Hub write {quote_path(HUB_PREFIX + name)}"
        if name.split("/")[0] in MODEL_FOLDERS
        else ""
    )
    return f"{quote_path(name)}: no such folder or file{start}", f"Check the path{advice}."


def _check_regular(status: os.stat_result, largest: int) -> None:
    """Raise unless a file is a regular one within the limit."""
    if not stat.S_ISREG(status.st_mode):
        kind = "a folder" if stat.S_ISDIR(status.st_mode) else "a pipe, a device or a socket"
        raise OSError(f"{kind}, not a regular file")
    if status.st_size > largest:
        raise OSError(f"{status.st_size:,} bytes, more than {largest:,}")


# --------------------------------------------------------------------------------------------------------------------
# Columns as plain lists, tensors as arrays, and checks of captions: each error names column, row and item.

# Longest caption in characters: about 4,000 words. The time and the memory of METEOR grow with the square of the words.
LONGEST_CAPTION = 20_000

# Iterables that are refused as lists: text, mappings, and sets, whose order changes from run to run.
NOT_ROWS = (str, bytes, bytearray, memoryview, Mapping, set, frozenset)

# Blanks, control characters, and what has no width, by their categories in Unicode.
_INVISIBLE = frozenset({"Zs", "Zl", "Zp", "Cc", "Cf"})

QUOTES = ("'", '"')

# A string in a list that became text: as Python, JSON and NumPy write it, no letter behind it.
_ITEM = r"""(?:np\.str_\(|[bru])?(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")(?!\w)"""

# What else stands between its brackets. Alternatives begin with different letters, so that no text takes long.
_BETWEEN = r"[\s,:\[\](){}\d.+-]|None|nan|NaN|null|[Tt]rue|[Ff]alse|dtype=(?:object)?"

# All of a list, tuple, set, mapping or array that became text; and the end of what pandas prints of a column.
_WRITTEN_LIST = re.compile(rf"(?:\w+\()?[\[({{](?:{_ITEM}|{_BETWEEN})*[\])}}]", re.DOTALL)
_PRINTED_COLUMN = re.compile(r"\n(?:Name: .*, )?(?:Length: \d+, )?dtype: [\w\[\]]+$")
_QUOTE_AND_COMMA = re.compile(r"""['"]\s*,""")

# A list that became text has one of these at least.
_LIST_SIGNS = "[({\n"


def as_caption_rows(rows: object, column: str, *, sampled: bool = False) -> list[list[str]]:
    """Return a column of caption lists as plain lists, order and captions unchanged, or name the first bad row.

    `rows` are n_rows rows, each a sequence of strings, or each a string: one caption. Lists, tuples, arrays and
    `datasets` columns are all right. Of `sampled` captions, which training rewards, each may look as it likes, but not
    all of them like lists.

    Raises:
        TypeError: the column, a row or a caption has the wrong type; some rows are strings and others are not.
        ValueError: no rows; a row without captions; a caption that is too long, not valid Unicode, or a list that
            became text.

    >>> as_caption_rows([("a dog", "two dogs"), ["a cat"]], "predictions"), as_caption_rows(["a dog"], "references")
    ([['a dog', 'two dogs'], ['a cat']], [['a dog']])
    """
    check_no_table(rows, column, "a list of rows, each a list of captions")
    if rows is None or isinstance(rows, NOT_ROWS) or not isinstance(rows, Iterable):
        raise InputTypeError(column, "a list of rows, each a list of captions", _kind(rows), "Give one list per row.")
    listed = as_list(rows, column, "a list of rows, each a list of captions")
    if not listed:
        raise InputError(column, "at least one row", "none", "Add rows before computing.")
    are_strings = isinstance(listed[0], str)
    checked = [_as_captions(row, f"{column}[{i}]", are_strings, sampled) for i, row in enumerate(listed)]
    if sampled and all(looks_like_list(caption) for row in checked for caption in row):
        check_no_written_list(checked[0][0], f"{column}[0]")
    return checked


def looks_like_list(text: str) -> bool:
    """Return whether a text is a list that became text: as Python, JSON, NumPy or pandas writes it, or its beginning.

    >>> [looks_like_list(text) for text in ("['a dog', 'a cat']", "['a dog' 'a cat']", '{"caption": "a dog"}')]
    [True, True, True]
    >>> [looks_like_list(text) for text in ("[laughs] a man", "(a dog) runs", "['Stop'] on a sign", "[inaudible]")]
    [False, False, False, False]
    """
    text = text.strip()
    if "\n" in text and _PRINTED_COLUMN.search(text):
        return True
    if _WRITTEN_LIST.fullmatch(text):
        has_quote, has_comma = "'" in text or '"' in text, _QUOTE_AND_COMMA.search(text) is not None
        return has_comma or (has_quote and text[0] != "(") or (text[0] == "[" and not text[1:-1].strip())
    # Without its end, or with a quote in a quote.
    inner = text[1:].strip()
    listed = inner.removesuffix("]").rstrip()
    if text[:1] != "[" or not listed.startswith(QUOTES) or "[" in listed or "]" in listed:
        return False
    return _QUOTE_AND_COMMA.search(listed) is not None or (inner != listed and listed[1:].endswith(QUOTES))


def check_no_written_list(text: str, where: str) -> None:
    """Raise if a text is a list that became text, as in a column that went through CSV, and say how to turn it back."""
    if not looks_like_list(text):
        return
    raise InputError(where, "a caption", f"a list that became text, {quote_value(text)}", _way_back(text))


def _way_back(text: str) -> str:
    """How a list that became text turns into a list again."""
    for name, read in (("json.loads", json.loads), ("ast.literal_eval", ast.literal_eval)):
        try:
            is_read = not isinstance(read(text.strip()), str)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
        if is_read and not re.search(r"""['"]\s+(?:[bru]?['"])""", text):
            return f"Turn every text of the column back into a list: {name}(text)."
    return (
        "Save lists, array.tolist(), not their print: json.loads and ast.literal_eval cannot read this one, or would "
        "join captions without commas into one."
    )


def check_no_table(values: object, column: str, expected: str) -> None:
    """Raise if a whole table is given as a column or a row: iterating over it yields column names or dicts."""
    names = getattr(values, "column_names", getattr(values, "columns", None))
    if names is not None:
        raise InputTypeError(
            column,
            expected,
            f"a table ({type(values).__name__}) with the columns {quote_value([str(name) for name in names])}",
            "Give one column of it, for example table['captions'].",
        )


def as_list(values: Iterable[Any], where: str, expected: str) -> list[Any]:
    """Return the values as a list: Python's own values of an Arrow array, none of an array without dimensions.

    Raises TypeError where there is nothing to iterate over, although the type says so.
    """
    try:
        if getattr(values, "is_nested", False):  # a tensor of torch, which it does not iterate over
            return list(values.unbind())  # type: ignore[attr-defined]
        return values.to_pylist() if hasattr(values, "to_pylist") else list(values)
    except TypeError as error:
        raise InputTypeError(where, expected, _kind(values), "Give a list.") from error


def without_torch(values: Any) -> Any:
    """Return a tensor of torch, or a list of them, as NumPy takes it: no gradients, no bfloat16, not on a GPU."""
    if isinstance(values, list | tuple) and values and hasattr(values[0], "detach"):
        return [without_torch(value) for value in values]
    if not hasattr(values, "detach"):
        return values
    values = values.detach().cpu()
    return (values.float() if str(values.dtype) == "torch.bfloat16" else values).numpy()


def as_numbers(
    values: object, where: str, expected: str, advice: str, kinds: str = "", dtype: type[np.float64] | None = None
) -> np.ndarray:
    """Return a user's array, tensor or lists as an array, if need be of one of some kinds of NumPy's types, as `dtype`.

    Raises TypeError for what is none, and for a mask, which arithmetic would not see; the message ends with `advice`.

    >>> as_numbers([[1, 2], [3, 4]], "distances[0]", "an array of numbers", "Convert it.", "fiu", np.float64).tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """
    try:
        array = np.asanyarray(without_torch(values))
        if isinstance(array, np.ma.MaskedArray):
            raise TypeError("a masked array")
        if kinds and array.dtype.kind not in kinds:
            raise TypeError(f"values of type {array.dtype}")
        return np.asarray(array, dtype)
    except Exception as error:  # ragged lists, tensors without numbers, whatever a user's type raises
        raise InputTypeError(where, expected, f"{type(values).__name__} ({reason_of(error)})", advice) from error


def plain_arguments(function: Callable[P, R]) -> Callable[P, R]:
    """Let a function take scalars of NumPy for numbers of Python."""

    @functools.wraps(function)
    def with_plain_ones(*values: P.args, **named: P.kwargs) -> R:
        plain: Any = [_plain_number(value) for value in values]
        return function(*plain, **{name: _plain_number(value) for name, value in named.items()})

    return with_plain_ones


def _plain_number(value: Any) -> Any:
    return value if isinstance(value, list | tuple) else as_plain(value)


# Largest size of a number that functions take: squares, and sums of a million of them, stay within float64.
LARGEST_SIZE = 1e100


def as_finite(values: npt.ArrayLike, name: str) -> Floats:
    """Convert values to float64, all finite and of size `LARGEST_SIZE` at most."""
    array = as_numbers(values, name, "an array of numbers", "Convert it.", "biuf", np.float64)
    is_bad = ~(np.abs(array) <= LARGEST_SIZE)  # or NaN
    if is_bad.any():
        place = tuple(np.argwhere(is_bad)[0].tolist())
        where, number = f"{name}{''.join(f'[{i}]' for i in place)}", float(array[place])
        if not math.isfinite(number):
            raise InputError(where, "a finite number", "NaN or infinity", "Leave this row out.")
        expected = f"a number of size at most {LARGEST_SIZE:g}"
        raise InputError(where, expected, f"{number:g}", "Divide all of them by one number.")
    return array


def as_rows(values: npt.ArrayLike, name: str) -> Floats:
    """Convert values to float64, shape (n_rows, n_texts, anything), all finite."""
    array = as_finite(values, name)
    if array.ndim != 3 or not array.size:
        raise InputError(
            name, "an array of three dimensions, rows first", f"shape {array.shape}", "Write array[None] for one row."
        )
    return array


def as_pairs(values: npt.ArrayLike, name: str) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Convert values of all pairs of a row to float64, shape (n_rows, n, n), and say which rows are not symmetric."""
    rows = as_rows(values, name)
    if rows.shape[1] != rows.shape[2]:
        raise InputError(name, "shape (n_rows, n, n)", rows.shape, "Give a value for every pair of texts.")
    differences = np.abs(rows - rows.swapaxes(1, 2)).max(axis=(1, 2))
    return rows, differences > 1e-9 * np.abs(rows).max(axis=(1, 2))


def joint_vectors(candidates: npt.ArrayLike, references: npt.ArrayLike, least: int) -> tuple[Floats, int]:
    """Join both sets of every row in one float64 array, candidates first, and count the candidates of a row.

    Each set has at least `least` vectors.
    """
    sides = [as_rows(candidates, "candidates"), as_rows(references, "references")]
    for name, side in zip(("candidates", "references"), sides, strict=True):
        if side.shape[1] < least:
            raise InputError(name, f"at least {least} vectors in every row", side.shape[1], "Add more.")
    (n_rows, _, d), shape = sides[0].shape, sides[1].shape
    if (n_rows, d) != (shape[0], shape[2]):
        raise InputError(
            "references",
            f"shape ({n_rows}, n, {d}), as candidates have",
            shape,
            "Give the same rows, and vectors of the same encoder.",
        )
    return np.concatenate(sides, axis=1), sides[0].shape[1]


def check_candidates(n_candidates: int, n_texts: int, least: int) -> None:
    """Raise unless both sets have at least `least` texts."""
    check_whole_number("n_candidates", n_candidates, least)
    if n_candidates > n_texts - least:
        raise InputError(
            "n_candidates", f"at most {n_texts - least} of {n_texts} texts", n_candidates, "The others are references."
        )


def as_token_rows(rows: Iterable[Any], name: str) -> list[list[TokenList]]:
    """Return rows of one or more token lists as lists, also of Arrow columns; raise for the first that is not one."""
    listed = as_list(rows, name, "rows of lists of tokens")
    for i, row in enumerate(listed):
        listed[i] = [] if isinstance(row, str) else as_list(row, f"{name}[{i}]", "lists of tokens")
        if not listed[i]:
            raise InputError(f"{name}[{i}]", "one or more lists of tokens", f"{row!r:.80}", "Leave this row out.")
        for j, text in enumerate(listed[i]):
            is_list = hasattr(text, "__len__") and not isinstance(text, str | Set | Mapping)
            if not is_list or (not {*map(type, text)} <= {str} and not all(isinstance(token, str) for token in text)):
                got = quote_value(text) if is_list else type(text).__name__
                raise InputTypeError(f"{name}[{i}][{j}]", "a list of tokens", got, "Call ptb_tokenize first.")
    return listed


def as_both_rows(candidates: TokenRows, references: TokenRows) -> tuple[list[list[TokenList]], list[list[TokenList]]]:
    """Return the rows of both columns as lists, also of Arrow columns; raise for the first that is wrong."""
    both = as_token_rows(candidates, "candidates"), as_token_rows(references, "references")
    if len(both[0]) != len(both[1]):
        raise InputError(
            "references",
            f"{len(both[0])} rows, as many as candidates",
            len(both[1]),
            "Give one list of references per list of candidates.",
        )
    warn_of_decoder_signs(*both, "candidates")
    return both


def check_row_counts(n_predictions: int, n_references: int) -> None:
    """Raise unless both columns have the same number of rows."""
    if n_predictions != n_references:
        raise InputError(
            "references",
            f"one row for each of the {n_predictions} rows of predictions",
            n_references,
            "Row i of both columns belongs to one image or video.",
        )


def has_references(references: CaptionRows) -> bool:
    """Return whether rows have references; raise where only some of them have.

    >>> has_references([["a dog"]]), has_references([[], []])
    (True, False)
    """
    without = [i for i, row in enumerate(references) if not row]
    if without and len(without) < len(references):
        raise InputError(
            f"references[{without[0]}]",
            "references in every row, or in none",
            f"none ({len(without)} of {len(references)} such rows)",
            "Add them, or leave out the references of all rows.",
        )
    return not without


def _as_captions(row: object, where: str, are_strings: bool, sampled: bool) -> list[str]:
    """One row as a list of valid strings; all rows are strings if the first one is."""
    plain = [row] if are_strings else row
    if is_plain_row(plain):
        return list(plain)
    if isinstance(row, str) and not are_strings:
        check_no_written_list(row, where)
        raise InputTypeError(where, "a list of captions as in row 0", "a string", f"Wrap it in a list: [{row[:40]!r}].")
    if are_strings:
        if isinstance(row, Iterable) and not isinstance(row, NOT_ROWS):
            raise InputTypeError(
                where,
                "a caption (a string) as in row 0",
                _kind(row),
                "Give a list in every row, or a string in every row.",
            )
        row = [row]
    if isinstance(row, NOT_ROWS) or not isinstance(row, Iterable):
        raise InputTypeError(
            where, "a list of captions", _kind(row), "Give a list of strings, or leave the row out of every column."
        )
    if not isinstance(row, list | tuple):
        check_no_table(row, where, "a list of captions")
    captions = as_list(row, where, "a list of captions")
    if not captions:
        raise InputError(where, "at least one caption", "an empty list", "Leave the row out of both columns.")
    for j, caption in enumerate(captions):
        caption_where = where if are_strings else f"{where}[{j}]"
        check_caption(caption, caption_where)
        if not sampled:
            check_no_written_list(caption, caption_where)
        captions[j] = str.__str__(caption)  # of a subclass, as NumPy's strings are, its text
    return captions


def is_plain_row(row: object) -> TypeGuard[list[str]]:
    """Return whether one look shows that a row is right: a list of short strings of ASCII with no sign of a list.

    Other rows may be right, too: `as_caption_rows` looks at each caption.

    >>> is_plain_row(["a dog", "a cat"]), is_plain_row(["a dog (wet)"])
    (True, False)
    """
    if type(row) is not list or set(map(type, row)) != {str}:
        return False
    text = "".join(row)
    return text.isascii() and len(text) <= LONGEST_CAPTION and not any(sign in text for sign in _LIST_SIGNS)


def check_caption(caption: object, where: str) -> None:
    """Raise unless a caption is a string of a sensible length in valid Unicode."""
    if not isinstance(caption, str):
        has_parts = isinstance(caption, Iterable) and not isinstance(caption, bytes | bytearray | memoryview)
        fix = "Give the text of a record, join tokens, or take one level of lists away." if has_parts else ""
        raise InputTypeError(where, "a caption (a string)", _kind(caption), fix or "Decode or drop this caption.")
    if len(caption) > LONGEST_CAPTION:
        raise InputError(
            where, f"at most {LONGEST_CAPTION:,} characters", f"{len(caption):,}", "Drop it or truncate it."
        )
    if not caption.isascii():
        _check_unicode(caption, where)


def _check_unicode(caption: str, where: str) -> None:
    """Raise if a caption has half a surrogate pair, which no file and no Arrow column can hold."""
    try:
        caption.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InputError(
            where,
            "valid Unicode",
            f"the lone surrogate {caption[error.start]!a} at character {error.start}",
            "Decode the text again with errors='replace'.",
        ) from None


def _kind(value: object) -> str:
    """Name a wrong value for a message, without printing all of it."""
    return "None" if value is None else f"{type(value).__name__} ({quote_value(value)})"


def has_character(text: str) -> bool:
    r"""Return whether a text has more than blanks, control characters and characters without a width.

    >>> [has_character(text) for text in (".", "\u200b", "\ufeff \n")]
    [True, False, False]
    """
    return any(letter > " " and unicodedata.category(letter) not in _INVISIBLE for letter in text)


class EmptyCaptions:
    """Counts captions of which `has_token` finds nothing that is read.

    >>> counted = EmptyCaptions(str.isalpha)
    >>> counted.add(["dog", " "])
    >>> counted.add(["..."])
    >>> str(counted)
    '2 of 3 captions are empty, in 2 rows (1 of them has characters, but no token)'
    """

    def __init__(self, has_token: Callable[[str], bool] = has_character) -> None:
        self._has_token = has_token
        self.n_captions = self.n_empty = self.n_tokenless = self.n_rows = 0

    def add(self, captions: Sequence[str], n_missing: int = 0) -> None:
        """Count the captions of a row, and cells of the row that have none."""
        empty = [caption for caption in captions if not self._has_token(caption)]
        n_empty = n_missing + len(empty)
        self.n_captions += n_missing + len(captions)
        self.n_empty += n_empty
        self.n_tokenless += sum(map(has_character, empty))
        self.n_rows += n_empty > 0

    def counts(self) -> dict[str, int]:
        """Return the numbers of captions, of empty ones, and of rows that have any, as `include` takes them."""
        return {name: number for name, number in vars(self).items() if name.startswith("n_")}

    def include(self, n_captions: int = 0, n_empty: int = 0, n_tokenless: int = 0, n_rows: int = 0) -> None:
        """Add the counts of other rows."""
        self.n_captions += n_captions
        self.n_empty += n_empty
        self.n_tokenless += n_tokenless
        self.n_rows += n_rows

    def __str__(self) -> str:
        are, rows = "is" if self.n_empty == 1 else "are", "row" if self.n_rows == 1 else "rows"
        have = "has" if self.n_tokenless == 1 else "have"
        why = f" ({self.n_tokenless:,} of them {have} characters, but no token)" if self.n_tokenless else ""
        return f"{self.n_empty:,} of {self.n_captions:,} captions {are} empty, in {self.n_rows:,} {rows}{why}"


def warn_of_empty_captions(rows: Iterable[object], column: str, has_token: Callable[[str], bool]) -> None:
    """Warn where captions of a column are empty; rows that are no captions do not count."""
    counted = EmptyCaptions(has_token)
    for row in rows:
        if isinstance(row, list) and row and all(isinstance(caption, str) for caption in row):
            counted.add(row)
    if counted.n_empty:
        warnings.warn(f"{column}: {counted}.", stacklevel=2)


# What a decoder leaves in a text, as texts and as tokens of tokenizers have it: ends and padding, thoughts before an
# answer, and pieces of words.
_MARKUP = r"pad|eos|bos|unk|mask|sep|cls|image|(?:start|end)(?:_?seq|_of_[a-z]+)?|extra_id_\d+|0x[0-9a-f]{2}"
_THOUGHTS = "think|thinking|thought|thoughts|reasoning|reflection|scratchpad|analysis"
_SIGNS_AND_REMEDIES = {
    rf"</?(?:{_THOUGHTS})>|◁/?think▷|\[/?THINK\]": "Leave out what the model thinks before it answers, up to </think>.",
    rf"<[|｜][^\s<>|｜]{{1,40}}[|｜]>|</?s>|</?(?:{_MARKUP})>|\[(?:PAD|UNK|CLS|SEP|MASK|BOS|EOS|/?INST)\]"
    r"|\b(?:startseq|endseq)\b": "Decode with skip_special_tokens=True.",
    r"(?<!\S)\x23{2}(?=\w)|▁|(?<!\S)Ġ(?=\w)|(?<=\w)@@(?!\S)": "Join the pieces of words by their tokenizer.",
}
_DECODER_SIGN = re.compile("|".join(f"({pattern})" for pattern in _SIGNS_AND_REMEDIES), re.IGNORECASE)

# Each sign has one of these, and few other texts have.
_HINTS_OF_SIGNS = ("<", "[", "-lsb-", "\x23\x23", "▁", "Ġ", "ġ", "@@", "◁", "seq")

# What tokenizers make of parts of a sign.
_SPLIT_SIGNS = (
    ("-lsb- ", "["),
    (" -rsb-", "]"),
    ("< | ", "<|"),
    (" | >", "|>"),
    ("< ", "<"),
    (" >", ">"),
    ("\x23\x23 ", "\x23\x23"),
)


class DecoderSigns:
    """Counts candidates that hold signs of a decoder, which score lower by them, and references that hold any.

    >>> counted = DecoderSigns()
    >>> counted.add(["a dog</s>", "a cat </s>"], ["a dog"])
    >>> str(counted)
    "2 of 2 captions hold signs of a decoder, such as '</s>', and no reference does"
    """

    def __init__(self) -> None:
        self.n_captions = self.n_signed = self.n_signed_references = 0
        # How many candidates hold each sign, and its place in `_SIGNS_AND_REMEDIES`.
        self.signs: collections.Counter[str] = collections.Counter()
        self.kinds: dict[str, int] = {}

    def add(self, candidates: Iterable[str | TokenList], references: Iterable[str | TokenList] = ()) -> None:
        """Count texts, or token lists, of a row."""
        own = list(candidates)
        found = _decoder_signs(own)
        self.n_captions += len(own)
        self.n_signed += len(found)
        for kinds in found:
            self.signs.update(kinds.keys())
            self.kinds |= kinds
        self.n_signed_references += len(_decoder_signs(list(references)))

    def counts(self) -> dict[str, Any]:
        """Return the numbers, as `include` takes them."""
        return dict(vars(self))

    def include(
        self,
        n_captions: int = 0,
        n_signed: int = 0,
        n_signed_references: int = 0,
        signs: Mapping[str, int] | None = None,
        kinds: Mapping[str, int] | None = None,
    ) -> None:
        """Add the numbers of other rows."""
        self.n_captions += n_captions
        self.n_signed += n_signed
        self.n_signed_references += n_signed_references
        self.signs.update(signs or {})
        self.kinds |= kinds or {}

    def __str__(self) -> str:
        first = min(self.signs, key=lambda sign: (-self.signs[sign], sign), default="")
        hold = "holds" if self.n_captions == 1 else "hold"
        return (
            f"{self.n_signed:,} of {self.n_captions:,} captions {hold} signs of a decoder, such as {first!r}, and no "
            "reference does"
        )

    def words(self, column: str = "predictions") -> str | None:
        """Return the warning where most candidates and no reference hold such signs, else None."""
        if 2 * self.n_signed <= self.n_captions or self.n_signed_references:
            return None
        remedies = list(_SIGNS_AND_REMEDIES.values())
        advice = " ".join(remedies[kind] for kind in sorted(set(self.kinds.values())))
        return f"{column}: {self}. They count as words. {advice}"

    def warn(self, column: str = "predictions", stacklevel: int = 3) -> None:
        """Warn where most candidates and no reference hold such signs."""
        if (words := self.words(column)) is not None:
            warnings.warn(words, stacklevel=stacklevel)


def _decoder_signs(texts: Sequence[str | TokenList]) -> list[dict[str, int]]:
    """Signs of each text that has any, with their places in `_SIGNS_AND_REMEDIES`."""
    joined = [text if isinstance(text, str) else " ".join(text) for text in texts]
    together = "\n".join(joined)
    if not any(hint in together for hint in _HINTS_OF_SIGNS):
        return []
    found = []
    for text, given in zip(joined, texts, strict=True):
        if not isinstance(given, str):
            for split, whole in _SPLIT_SIGNS:
                text = text.replace(split, whole)
        if signs := {match[0]: (match.lastindex or 1) - 1 for match in _DECODER_SIGN.finditer(text)}:
            found.append(signs)
    return found


def warn_of_decoder_signs(
    candidates: Iterable[Iterable[Any]], references: Iterable[Iterable[Any]] = (), column: str = "predictions"
) -> None:
    """Warn once where most candidates and no reference hold signs of a decoder; rows of texts or of token lists."""
    counted = DecoderSigns()
    for row in candidates:
        counted.add(row)
    if counted.n_signed:
        for row in references:
            counted.add((), row)
        counted.warn(column, stacklevel=4)


def warn_of_shared_captions(columns: Sequence[Sequence[Sequence[str]]]) -> None:
    """Warn where rows, candidates and references, are equal to an earlier row, and would be taken for independent."""
    n_rows, n_shared = len(columns[0]), n_sharing_rows(columns)
    if n_shared:
        warnings.warn(
            f"predictions, references: {n_shared} of {n_rows} rows have the candidates and references of an earlier "
            "row, but p-values and intervals assume independent rows. Give clusters=[...], one label per row: equal "
            "ones for rows of one image.",
            stacklevel=2,
        )


def warn_of_unread(result: Mapping[str, Any], options: Mapping[str, Any]) -> None:
    """Warn where a result with these options counts texts that were not read to their end, or in unknown words."""
    if result.get("n_truncated"):
        warnings.warn(words_of_unread(options), stacklevel=3)
    if (words := words_of_unknown(result)) is not None:
        warnings.warn(words, stacklevel=3)


# Share of unknown word pieces, or words, above which a result says more of the encoder than of the texts.
MOST_UNKNOWN = 0.03


def words_of_unknown(result: Mapping[str, Any]) -> str | None:
    """Say that the encoder does not know more than a few per cent of what the texts consist of; None where it does.

    >>> words_of_unknown({"n_pieces": 100, "n_unknown_pieces": 3}) is None
    True
    """
    remedies = {
        "pieces": "an encoder of their language, such as encoder='sentence-transformers/paraphrase-multilingual-"
        "MiniLM-L12-v2'",
        "words": "vectors of their language, of words in lower case",
    }
    for unit, remedy in remedies.items():
        n_all, n_unknown = result.get(f"n_{unit}", 0), result.get(f"n_unknown_{unit}", 0)
        if n_unknown > MOST_UNKNOWN * n_all:
            got = f"{n_unknown:,} of {n_all:,} {'word pieces' if unit == 'pieces' else unit} unknown"
            return (
                f"encoder: expected texts whose words the encoder knows, got {got} ({n_unknown / n_all:.0%}): texts "
                f"that differ in these count as equal. Give {remedy}."
            )
    return None


def words_of_unread(options: Mapping[str, Any]) -> str:
    """Say that texts were not read to their end with these options of a sentence encoder or of a CLIP."""
    is_sentence_encoder = "long_texts" in options and options["encoder"] != "clip"
    option = "long_texts" if is_sentence_encoder else "long_captions"
    return f"{option}: {UNREAD[options[option]].format(option=option)}"


def n_sharing_rows(columns: Sequence[Sequence[Sequence[str]]]) -> int:
    """Count the rows that have the captions of an earlier row in all columns; one alone may be a frequent sentence.

    >>> n_sharing_rows([[["a"], ["a"], ["a"]], [["d"], ["d"], ["e"]]])
    1
    """
    rows = [tuple(map(tuple, row)) for row in zip(*columns, strict=True)]
    return len(rows) - len(set(rows))


# --------------------------------------------------------------------------------------------------------------------
# The contract of every module: options, columns, rows that survive an error, and signatures.

# Version of the collection; the same as in pyproject.toml and CITATION.cff, which a test compares.
VERSION = "0.3.0"

# Keywords that `evaluate.load` itself passes to a module's constructor (evaluate 0.4.6, module.py).
EVALUATE_KEYWORDS = frozenset(
    "cache_dir config_name experiment_id hash keep_in_memory max_concurrent_cache_files num_process process_id "
    "timeout".split()
)

# Columns of the collection's modules, and where one is refused: what takes it.
COLUMNS: dict[str, str] = {
    "predictions": "a metric",
    "references": "a metric that compares captions with them",
    "images": "pac_score or ref_pac_score; trm and mmd compare prediction_images and reference_images",
    "videos": "emscore_pac",
    "data": "vdtk_diversity, vdtk_concept_overlap or vdtk_leave_one_out",
}

# Attributes of evaluate that a copy cannot hold and does not need: methods bound to the original, and locks on files.
NOT_COPIED = frozenset({"compute", "add_batch", "add", "filelocks", "file_paths", "rendez_vous_lock", "lock"})

# What `add` calls one row of a column.
ROW_NAMES = {"prediction": "predictions", "reference": "references", "image": "images", "video": "videos"}


class About(NamedTuple):
    """Description of a module for evaluate."""

    description: str
    citation: str
    # Calls of the module with their results, as in a docstring.
    examples: str
    reference_urls: Sequence[str] = ()


class Effect(NamedTuple):
    """What an option needs beside it: without, it would be ignored, and is refused."""

    # Name of another option, and a value of it, as it is typed.
    other: str
    value: str
    # Whether all options of a call are such that this one has an effect.
    holds: Callable[[Mapping[str, Any]], bool]


class Option(NamedTuple):
    """An option of a module."""

    default: Any
    # Takes the option's name and a value, and raises unless the value is legal.
    check: Check
    # What it is, in sentences; where the default is None also what this stands for. Others are shown behind it.
    meaning: str
    # Whether only `evaluate.load` takes it.
    at_load: bool = False
    # What it needs beside it to have an effect.
    needs: Effect | None = None
    # Takes all options of a call, each legal by itself, and raises unless the value fits the others.
    fits: Callable[[Mapping[str, Any]], object] | None = None
    # For the card: where what it reads comes from, if that has a licence of its own.
    licence: str = ""

    @property
    def choices(self) -> Collection[str]:
        """Its legal values, where `one_of` checks them.

        >>> Option("a", one_of(("a", "b")), "").choices
        ('a', 'b')
        """
        return getattr(self.check, "keywords", {}).get("choices", ())

    @property
    def shown_default(self) -> str:
        """The default as lists of options show it.

        >>> Option("ptb", check_flag, "").shown_default, Option(9_999, check_flag, "").shown_default
        ('"ptb"', '9,999')
        """
        if isinstance(self.default, int) and not isinstance(self.default, bool):
            return f"{self.default:,}"
        return repr(self.default).replace("'", '"')

    @property
    def sentence(self) -> str:
        """Its meaning and its default.

        >>> Option(1_000, check_flag, "Random splits of a row.").sentence
        'Random splits of a row. Default: 1,000.'
        """
        return self.meaning if self.default is None else f"{self.meaning} Default: {self.shown_default}."


class Value(NamedTuple):
    """What a result has under a key, or under several keys: "a, b". "..." is any text, "<name>" any name."""

    keys: str
    # Least and largest value, and the unit.
    range: str
    # "higher", "lower", or "0" for a value that is 0 for human captions.
    better: str
    meaning: str
    # Whether it is one of the few to read first, which pages show above the others.
    leads: bool = False

    @property
    def sentence(self) -> str:
        """Its meaning, range and direction.

        >>> Value("meteor", "0 to 1", "higher", "mean over rows").sentence
        'mean over rows (0 to 1; higher is better)'
        """
        better = {"": "", "0": "0 for human captions"}.get(self.better, f"{self.better} is better")
        parts = "; ".join(part for part in (self.range, better) if part)
        return f"{self.meaning} ({parts})" if parts else self.meaning

    def has_key(self, key: str) -> bool:
        """Return whether a key of a result is one of its keys.

        >>> Value("bleu_1, ..._per_row", "", "", "").has_key("bleu_4_per_row"), Value("...", "", "", "").has_key("a")
        (True, False)
        """
        patterns = (re.escape(name).replace(r"\.\.\.", ".+").replace("<name>", ".+") for name in self.keys.split(", "))
        return any(pattern != ".+" and re.fullmatch(pattern, key) for pattern in patterns)


def value_table(table: str) -> tuple[Value, ...]:
    r"""Return the values of a table: `keys | range | better | meaning` in a line, which a deeper one continues.

    A star before the keys marks a value that leads.

    >>> value_table("* meteor | 0 to 1 | higher | mean over\n    rows\nn_rows | | | number of rows")[0]
    Value(keys='meteor', range='0 to 1', better='higher', meaning='mean over rows', leads=True)
    """
    lines = re.sub(r"\n +", " ", textwrap.dedent(table).strip()).splitlines()
    values = []
    for line in lines:
        keys, extent, better, meaning = (cell.strip() for cell in line.split("|", 3))
        values.append(Value(keys.removeprefix("* "), extent, better, meaning, keys.startswith("*")))
    return tuple(values)


def defaults_of(options: Mapping[str, Option]) -> dict[str, Any]:
    """Return the default of each option of a table."""
    return {name: option.default for name, option in options.items()}


def check_options(table: Mapping[str, Option], options: Mapping[str, Any]) -> None:
    """Raise unless every option of a table has a legal value among `options`, and all fit each other."""
    for name, option in table.items():
        option.check(name, options[name])
    for fits in (option.fits for option in table.values() if option.fits):
        fits(options)


def dependent_options(effect: Effect, options: Mapping[str, Option]) -> dict[str, Option]:
    """Return options that have an effect only beside another one."""
    return {name: option._replace(needs=effect) for name, option in options.items()}


class Ready(NamedTuple):
    """Columns that only `compute` takes, past evaluate's table and any model."""

    meaning: str
    # Takes the module, these columns and all else that is given, and returns the result.
    compute: Callable[[Any, dict[str, Any], dict[str, Any]], dict[str, Any]]


# The columns of modules that compare captions.
CAPTIONS: dict[str, str] = {
    "predictions": "n_rows lists of candidate captions, or n_rows strings: one caption per row.",
    "references": "n_rows lists of reference captions, or n_rows strings: one caption per row.",
}


def docstring_list(heading: str, entries: Iterable[tuple[str, str]]) -> str:
    r"""Return a list of a docstring: a name and what it means in each entry, wrapped.

    >>> docstring_list("Args", [("seed", "Of draws.")])
    'Args:\n    seed: Of draws.\n'
    """
    wrapper = textwrap.TextWrapper(120, initial_indent=" " * 4, subsequent_indent=" " * 8, break_on_hyphens=False)
    wrapped = (wrapper.fill(f"{name}: {meaning}") for name, meaning in entries)
    return "\n".join([f"{heading}:", *wrapped, ""])


class CollectionModule:
    """Base class of all modules of the collection; comes before evaluate's class in a module's bases.

    evaluate takes the first class that it knows for the module, so this one is none of its own. A module is tables, and
    the method `result`, which gets the columns, and the options of the call as `options`: an argument, so that nothing
    of a refused call stays in force.
    """

    # What evaluate shows of the module.
    ABOUT: ClassVar[About]

    # What it reads, and what it means: columns, and ready ones by their names, joined by commas; the last is looked for
    # first.
    COLUMNS: ClassVar[Mapping[str, str]]
    READY: ClassVar[Mapping[str, Ready]] = {}

    # Its columns that only a configuration reads, with its name; and those that may be left out.
    CONFIG_COLUMNS: ClassVar[Mapping[str, str]] = {}
    OPTIONAL_COLUMNS: ClassVar[frozenset[str]] = frozenset()

    # Takes sizes of rows and the names of their columns, and raises where rows of captions cannot be used.
    ROW_CHECKS: ClassVar[Sequence[RowCheck]] = ()

    # From a column of images or videos, of which features alone are kept, to the function that encodes it: it takes the
    # module, the column, the options and the number of rows.
    ENCODERS: ClassVar[Mapping[str, Callable[[Any, Any, Mapping[str, Any], int], list[Any]]]] = {}

    # What it takes besides, and what it returns.
    OPTIONS: ClassVar[Mapping[str, Option]]
    VALUES: ClassVar[Sequence[Value]]

    # Made from these tables: the columns of every configuration, and the description of arguments and results.
    OWN_COLUMNS: ClassVar[tuple[str, ...]]
    INPUTS: ClassVar[str]

    # Names of configurations besides "default" and those of `CONFIG_COLUMNS`.
    CONFIG_NAMES: ClassVar[tuple[str, ...]] = ()

    # Every option with its default, what some of them need to have an effect, and those that only `evaluate.load`
    # takes; made from `OPTIONS`.
    DEFAULTS: ClassVar[Mapping[str, Any]]
    EFFECTS: ClassVar[Mapping[str, Effect]]
    LOAD_OPTIONS: ClassVar[frozenset[str]] = frozenset()

    # From the option `tokenizer` to whether it leaves a token of a caption; None where captions are not tokenized.
    token_finder: ClassVar[Callable[[Any], Callable[[str], bool]] | None] = None

    # Its parts, such as an encoder, by the names of attributes: the functions that make them of the loaded module.
    PARTS: ClassVar[Mapping[str, Callable[[Any], Any]]] = {}

    if TYPE_CHECKING:  # of evaluate's class
        name: str
        config_name: str
        num_process: int

    def __init_subclass__(cls) -> None:
        if "ABOUT" not in vars(cls):
            return
        cls.OWN_COLUMNS = tuple(name for name in cls.COLUMNS if name not in cls.CONFIG_COLUMNS)
        cls.DEFAULTS = defaults_of(cls.OPTIONS)
        cls.EFFECTS = {name: option.needs for name, option in cls.OPTIONS.items() if option.needs}
        cls.LOAD_OPTIONS = frozenset(name for name, option in cls.OPTIONS.items() if option.at_load)
        cls.INPUTS = cls._inputs()
        if cls.__doc__:
            cls.__doc__ = f"{cls.ABOUT.description}{cls.INPUTS}\n{cls.__doc__}"

    @classmethod
    def _inputs(cls) -> str:
        """Return the description of arguments, results and examples in the form of a docstring."""
        at_call = [(name, option.sentence) for name, option in cls.OPTIONS.items() if not option.at_load]
        at_load = [(name, option.sentence) for name, option in cls.OPTIONS.items() if option.at_load]
        ready = [(names, ready.meaning) for names, ready in cls.READY.items()]
        arguments = docstring_list("Args", [*cls.COLUMNS.items(), *ready, *at_call])
        arguments += '    Every option can be given to `evaluate.load` as well; None means "as given there".\n'
        if at_load:
            arguments += docstring_list("    At load time only", at_load)
        results = docstring_list("Returns", [(value.keys, f"{value.sentence}.") for value in cls.VALUES])
        return f"\n{arguments}{results}Examples:\n{textwrap.indent(cls.ABOUT.examples.strip(), ' ' * 4)}\n"

    @classmethod
    def compute_signature(cls) -> inspect.Signature:
        """Return the arguments of `compute`: the columns and the options of a call, by keyword."""
        kind = inspect.Parameter.KEYWORD_ONLY
        names = dict.fromkeys([*cls.COLUMNS, *(name for names in cls.READY for name in names.split(", "))])
        options = {name: option.default for name, option in cls.OPTIONS.items() if not option.at_load}
        parameters = [inspect.Parameter(name, kind, default=value) for name, value in {**names, **options}.items()]
        return inspect.Signature([inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY), *parameters])

    @classmethod
    def _ready_names(cls) -> set[str]:
        return {name for names in cls.READY for name in names.split(", ")}

    @classmethod
    def meaning(cls, key: str) -> str:
        """Return what a result has under a key, or nothing where that is not said."""
        return next((value.sentence for value in cls.VALUES if value.has_key(key)), "")

    # "/": an option called "self" is one that nobody knows, and not Python's error.
    def __init__(self, /, *args: Any, **keywords: Any) -> None:
        given = [name for name in keywords if name in self.DEFAULTS]
        self.load_options = take_load_options(keywords, self.DEFAULTS, self._ready_names())
        self.check_options(self.load_options)
        self._check_effects(given, self.load_options)
        self._check_config_name(keywords.get("config_name"))
        if sys.flags.optimize > 1:
            raise InputError("docstrings", "those that evaluate adds to", "none", "Start Python without -OO.")
        # The columns of every `add_batch` since the last compute. Each is added, and all are cleared together, so
        # that no error and no ctrl-C leaves a part of them.
        self.added: list[dict[str, Any]] = []
        # Held by the one call that adds or computes; others wait. The thread that holds it may call again.
        self.lock = threading.RLock()
        super().__init__(*args, **keywords)
        # evaluate gives every instance a function of its own: `help` and completion show the options of this module.
        self.compute.__func__.__signature__ = self.compute_signature()  # type: ignore[attr-defined]
        for name, make in self.PARTS.items():
            setattr(self, name, make(self))

    def _build_data_dir(self) -> str:
        """Return evaluate's folder, which is made for the rows of several processes alone: others stay in memory."""
        evaluate_module: Any = super()
        return str(evaluate_module._build_data_dir()) if self.num_process > 1 else ""

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy or a pickle holds: options and added rows, without models and features."""
        if getattr(self, "writer", None) is not None:
            raise InputTypeError("module", "no rows in files of evaluate to make a copy", len(self), "Compute first.")
        return {name: value for name, value in vars(self).items() if name not in NOT_COPIED}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        vars(self).update(state, added=list(state["added"]), lock=threading.RLock())

    def __len__(self) -> int:
        """Return the number of rows that were added since the last compute."""
        if self.num_process > 1:
            evaluate_module: Any = super()
            return int(evaluate_module.__len__())
        return sum(len(next(iter(columns.values()))) for columns in self.added)

    def check_options(self, options: Mapping[str, Any]) -> None:
        """Raise unless every option has a legal value, and all fit each other."""
        check_options(self.OPTIONS, options)

    def own_columns(self) -> tuple[str, ...]:
        """Return the names of the columns that the module reads in its configuration."""
        return self.OWN_COLUMNS + tuple(name for name, of in self.CONFIG_COLUMNS.items() if of == self.config_name)

    def has_token(self, options: Mapping[str, Any]) -> Callable[[str], bool]:
        """Return the function that says whether something of a caption is read with these options."""
        find = type(self).token_finder
        return has_character if find is None else find(options["tokenizer"])

    def prepare_columns(self, options: Mapping[str, Any], **columns: Any) -> dict[str, Any]:
        """Return columns of captions as lists of lists, and encoded ones, or raise for the first bad row."""
        left_out = {name for name in self.OPTIONAL_COLUMNS if columns.get(name) is None}
        names = [name for name in columns if name not in self.ENCODERS and name not in left_out]
        checked: dict[str, Any] = {name: as_caption_rows(columns[name], name) for name in names}
        n_rows = len(checked[names[0]])
        if "predictions" in checked and "references" in checked:
            check_row_counts(len(checked["predictions"]), len(checked["references"]))
        sizes = list(zip(*(map(len, rows) for rows in checked.values()), strict=True))
        for check in self.ROW_CHECKS:
            check(sizes, tuple(checked))
        checked |= {name: [[] for _ in range(n_rows)] for name in left_out}
        for name in self.ENCODERS.keys() & columns:
            checked[name] = self.ENCODERS[name](self, columns[name], options, n_rows)
        return checked

    def add_batch(self, /, **columns: Any) -> None:
        """Check every row, then add the rows."""
        with self.lock:
            self._add_rows(columns)

    def _add_rows(self, columns: Mapping[str, Any]) -> None:
        if self._have_no_rows(columns):
            return
        checked = self._prepare(columns, self.load_options)
        if self.num_process > 1:
            evaluate_module: Any = super()
            evaluate_module.add_batch(**checked)
        else:
            self.added.append(checked)

    def add(self, /, **row: Any) -> None:
        """Check one row, then add it."""
        self.add_batch(**{ROW_NAMES.get(name, name): [value] for name, value in row.items()})

    def compute(self, /, **given: Any) -> dict[str, Any] | None:
        """Check the options of this call, then compute; after an error the rows added before it are kept."""
        with self.lock:
            for ready_names, ready in reversed(list(self.READY.items())):
                arrays = {name: given.pop(name, None) for name in ready_names.split(", ")}
                if any(values is not None for values in arrays.values()):
                    return ready.compute(self, arrays, given)
            names = self.own_columns()
            columns = {name: given.pop(name) for name in names if name in given}
            options = self.call_options(given)
            has_rows = any(columns.get(name) is not None for name in names)
            if has_rows and len(self) and self._have_no_rows(columns):
                has_rows = False
            if not has_rows and not len(self):
                raise InputError(names[0], "at least one row", "none", "Add rows before computing.")
            checked = [self._prepare(columns, options)] if has_rows else []
            if self.num_process > 1:
                # evaluate gathers the rows of all processes in files.
                evaluate_module: Any = super()
                for rows in checked:
                    evaluate_module.add_batch(**rows)
                gathered: dict[str, Any] | None = evaluate_module.compute(options=options)
                return gathered
            batches = self.added + checked
            rows = {name: [row for batch in batches for row in batch[name]] for name in names}
            result = self._compute(**rows, options=options)
            self.added = []
            return result

    def _compute(self, *, options: Mapping[str, Any], **columns: Any) -> dict[str, Any]:
        """Return the result of checked columns, with all warnings of rows; `result` alone has none of these."""
        for name, column in columns.items():
            warn_of_empty_captions(column, name, self.has_token(options))
        candidates = next((name for name in ("predictions", "data") if name in columns), "")
        warn_of_decoder_signs(columns.get(candidates, ()), columns.get("references", ()), candidates)
        # What is left out, as references beside objects, is a column of empty rows.
        if all(map(all, columns.values())):
            options = self._with_images(columns, options)
        result = self.result(**columns, options=options)
        warn_of_unread(result, options)
        return result

    def _with_images(self, columns: Mapping[str, Any], options: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return options in which rows of one image are a cluster, unless there are labels; warn of what repeats."""
        references = columns.get("references", ())
        repeated_texts(references).warn()
        if "clusters" not in options or not self.has_effect("clusters", options):
            return options
        clusters = options["clusters"]
        if clusters is not None:
            clusters = as_labels(clusters, "clusters", len(next(iter(columns.values()))))
        if references:
            clusters = clusters_of_images(clusters, references, columns.get("predictions"))
        if clusters is None:
            warn_of_shared_captions(list(columns.values()))
        return {**options, "clusters": clusters}

    def result(self, *columns: Any, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return the result of checked columns."""
        raise NotImplementedError

    @property
    def progress(self) -> Progress:
        """Wraps the steps of some work in evaluate's progress bar."""
        import evaluate

        bar: Progress = evaluate.utils.logging.tqdm
        return bar

    def _info(self) -> Any:
        """Return the module's description and the forms of its columns: first that in which they are stored."""
        import datasets  # the modules have both; the list of the commands does without
        import evaluate

        captions = datasets.Sequence(datasets.Value("string")), datasets.Value("string")
        # Of images and videos features alone are stored; "large": the features of one call may take more than 2 GB.
        encoded = ({"key": datasets.Value("string"), "features": datasets.Value("large_binary")},)
        names = self.own_columns()
        forms = itertools.product(*(encoded if name in self.ENCODERS else captions for name in names))
        features = [datasets.Features(dict(zip(names, form, strict=True))) for form in forms]
        is_metric = isinstance(self, evaluate.Metric)
        return (evaluate.MetricInfo if is_metric else evaluate.MeasurementInfo)(
            description=self.ABOUT.description,
            citation=self.ABOUT.citation,
            inputs_description=self.INPUTS,
            reference_urls=list(self.ABOUT.reference_urls),
            features=features,
        )

    def call_options(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options of a call, completed by load-time options and checked; no other column is given."""
        self._check_other_columns({name: given[name] for name in COLUMNS if name in given})
        loaded = {name: value for name, value in self.load_options.items() if name not in self.LOAD_OPTIONS}
        options = self.load_options | take_compute_options(given, loaded, self.LOAD_OPTIONS)
        self.check_options(options)
        self._check_effects([name for name in given if given[name] is not None], options)
        if options.get("clusters") is not None:
            options["clusters"] = as_labels(options["clusters"], "clusters")
        return options

    @classmethod
    def effective_options(cls, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the given options that have an effect together; what is the default is left as it is."""
        options = {**cls.DEFAULTS, **given}
        return {
            name: value
            for name, value in given.items()
            if cls.has_effect(name, options) or is_default(value, cls.DEFAULTS[name])
        }

    @classmethod
    def has_effect(cls, name: str, options: Mapping[str, Any]) -> bool:
        """Say whether an option has an effect beside the others."""
        return name not in cls.EFFECTS or cls.EFFECTS[name].holds(options)

    def _check_effects(self, names: Iterable[str], options: Mapping[str, Any]) -> None:
        """Raise for the first of some options that would be ignored beside the others."""
        effective = self.effective_options(options)
        for name in (name for name in names if name not in effective):
            other, value, _ = self.EFFECTS[name]
            raise InputError(
                name,
                f"{other}={value} beside it",
                f"{other}={quote_value(options[other])}, with which {name} has no effect",
                f"Leave {name} out, or give {other}={value}.",
            )

    def check_unused(self, given: Mapping[str, Any], names: Iterable[str], where: str) -> None:
        """Raise if one of some options is not the default; they are ignored where the columns are, as `where` says."""
        for name in names:
            if given.get(name) is not None and not is_default(given[name], self.DEFAULTS.get(name)):
                raise InputError(
                    name,
                    f"none {where}",
                    f"{quote_value(given[name])}, which would have no effect",
                    f"Leave {name} out.",
                )

    def _have_no_rows(self, columns: Mapping[str, Any]) -> bool:
        """Say whether a batch is empty, as the last one of a loop may be: all columns are there, and none has a row."""
        own = set(self.own_columns())
        given = {name: column for name, column in columns.items() if column is not None}
        return own - self.OPTIONAL_COLUMNS <= set(given) <= own and all(map(is_empty_column, given.values()))

    def _prepare(self, columns: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
        """Return the module's own columns, or raise if a row is wrong or another column is given."""
        unknown, names = sorted(set(columns) - set(COLUMNS)), self.own_columns()
        if unknown:
            takers = dict.fromkeys(self._ready_names(), "compute") | dict.fromkeys(self.DEFAULTS, "load or compute")
            taker = (takers | dict.fromkeys(self.LOAD_OPTIONS, "load")).get(unknown[0])
            advice = f"Give it to {taker}." if taker else spelling_advice(unknown[0], COLUMNS)
            raise InputTypeError("add_batch", f"columns among {sorted(COLUMNS)}", unknown, advice)
        self._check_other_columns({name: column for name, column in columns.items() if name not in names})
        return self.prepare_columns(options, **{name: columns.get(name) for name in names})

    def _check_other_columns(self, columns: Mapping[str, Any]) -> None:
        """Raise if a column is given that the module does not read; None, as of `evaluate.combine`, is no column."""
        for name in (name for name, column in columns.items() if column is not None):
            own, of = self.own_columns(), self.CONFIG_COLUMNS.get(name)
            if own == ("data",):
                advice = "Give the captions as data=" if name in ("predictions", "references") else "Leave it out"
            else:
                advice = f'Load it with config_name="{of}"' if of else f"Leave it out, or take {COLUMNS[name]}"
            raise InputTypeError(
                name,
                f"no column but {' and '.join(own)}",
                f"one that {self.name} does not read",
                f"{advice}. With evaluate.combine, give columns to add_batch, which hands each module its own.",
            )

    def _check_config_name(self, name: object) -> None:
        """Raise unless a configuration has this name, and say which option takes it."""
        names = ("default", *self.CONFIG_NAMES, *self.CONFIG_COLUMNS.values())
        if name is None or name in names:
            return
        text = str(name)  # a command reads 1.5 as a number
        takers = " or ".join(
            f"{option}={text!r}"
            for option in self.DEFAULTS
            if self._takes(option, text) and not self._takes(option, "no such name")
        )
        raise InputError(
            "config_name",
            f"one of {', '.join(names)}",
            quote_value(name),
            f"Give {takers} in its place." if takers else "Leave it out.",
        )

    def _takes(self, option: str, value: object) -> bool:
        try:
            self.check_options({**self.load_options, option: value})
        except (TypeError, ValueError, ImportError, OSError):
            return False
        return True


def is_empty_column(column: object) -> bool:
    """Return whether a list, an array or the like has no rows.

    >>> is_empty_column([]), is_empty_column(np.empty((0, 2))), is_empty_column(""), is_empty_column([[]])
    (True, True, False, False)
    """
    if isinstance(column, NOT_ROWS) or not isinstance(column, Iterable):
        return False
    if getattr(column, "column_names", getattr(column, "columns", None)) is not None:  # a table is no column
        return False
    shape = getattr(column, "shape", None)
    return bool(shape[0] == 0) if shape else isinstance(column, Sized) and len(column) == 0


def is_default(value: object, default: object) -> bool:
    """Say whether the value of an option is its default; a list may stand for a tuple.

    >>> is_default([1, 2], (1, 2)), is_default(1, 1.0), is_default(0, False)
    (True, True, False)
    """
    if isinstance(value, list | tuple) and isinstance(default, list | tuple):
        return list(value) == list(default)
    kinds = [float if type(each) is int else type(each) for each in (value, default)]
    return value is default or (kinds[0] is kinds[1] and kinds[0] in (str, float, bool) and value == default)


def take_load_options(
    keywords: dict[str, Any], defaults: Mapping[str, Any], elsewhere: Collection[str] = ()
) -> dict[str, Any]:
    """Move this module's options out of the constructor's keywords, and complete them with the defaults.

    Raises TypeError for a keyword that belongs neither to the module nor to evaluate; columns, and what is taken
    `elsewhere`, go to `compute`.

    >>> take_load_options({"seed": 1}, {"seed": 0, "details": False})
    {'seed': 1, 'details': False}
    """
    _check_names(set(keywords) - EVALUATE_KEYWORDS, defaults, "load", {*COLUMNS, *elsewhere})
    return dict(defaults) | {
        name: _plain_option(keywords.pop(name), name) for name in list(keywords) if name in defaults
    }


def take_compute_options(
    given: Mapping[str, Any], loaded: Mapping[str, Any], elsewhere: Collection[str] = ()
) -> dict[str, Any]:
    """Complete the options given at compute time with those given at load time; None means "as at load time".

    Columns are no options, and none is given. Raises TypeError for an unknown option, or one that is taken `elsewhere`:
    by `load`.

    >>> take_compute_options({"seed": 1, "details": None}, {"seed": 0, "details": True})
    {'seed': 1, 'details': True}
    """
    options = {name: value for name, value in given.items() if name not in COLUMNS}
    _check_names(set(options), loaded, "compute", elsewhere)
    return dict(loaded) | {name: _plain_option(value, name) for name, value in options.items() if value is not None}


def _plain_option(value: Any, name: str) -> Any:
    """Do as `as_plain`, or say that a list contains itself, which has no end."""
    try:
        return as_plain(value, name)
    except RecursionError:
        raise InputError(
            name, "a value", f"a {type(value).__name__} that contains itself, or is nested too deeply", "Give another."
        ) from None


def as_plain(value: Any, name: str = "") -> Any:
    """Return the value of an option as Python's own; what is no scalar of NumPy, dtype or device of torch stays.

    A number of lower precision is the decimal that it prints, and the number of a device is a GPU's.

    >>> import numpy as np
    >>> as_plain(np.int64(3)), as_plain([np.float32(0.1), np.bool_(True)]), as_plain(0, "device")
    (3, [0.1, True], 'cuda:0')
    """
    if type(value) in (list, tuple):
        return type(value)(as_plain(item) for item in value)
    kind = type(value)
    if kind.__module__ == "numpy" and getattr(value, "shape", None) == ():
        value = float(str(value)) if value.dtype.kind == "f" else value.item()
    elif kind.__module__ == "torch" and kind.__name__ in ("dtype", "device"):
        value = str(value).removeprefix("torch.")
    is_number = name == "device" and isinstance(value, int) and not isinstance(value, bool)
    return f"cuda:{value}" if is_number and value >= 0 else value


# Classes whose values are equal if they say the same: labels of rows are of these, or tuples of them.
LABEL_CLASSES = (
    *(str, bytes, int, float, Decimal, Fraction),
    *(datetime.date, datetime.time, datetime.timedelta, uuid.UUID, enum.Enum, pathlib.PurePath),
)


def as_label(value: Any, where: str) -> Hashable:
    """Return the label of a row as a plain value: scalars of NumPy, torch, JAX and arrays without dimensions as theirs.

    Two tensors that hold one number are different keys, and so is whatever is compared by its identity: it is refused,
    as is NaN, which equals nothing.

    >>> as_label(np.array(3), "clusters[0]"), as_label(("coco", np.int64(3)), "clusters[0]")
    (3, ('coco', 3))
    """
    label, expected = value, "a string or a number"
    if getattr(value, "shape", None) == () or isinstance(value, np.generic):
        with errors_of_others(where, expected, "Give a label.", type(value).__name__):
            label = value.item() if hasattr(value, "item") else np.asarray(value).item()
    if isinstance(label, tuple):
        return tuple(as_label(item, where) for item in label)
    if label is None or (isinstance(label, LABEL_CLASSES) and label != label):
        raise InputError(
            where,
            expected,
            quote_value(label),
            "Two missing labels say neither that the rows belong together nor that they do not: give every row one.",
        )
    if not isinstance(label, LABEL_CLASSES):
        raise InputTypeError(where, expected, type(value).__name__, "Give a label.")
    return label


def as_labels(labels: Any, name: str, n_rows: int | None = None) -> list[Hashable]:
    """Return a label for every row as a list of plain values; a column may be a list, an array, a tensor or of Arrow.

    >>> as_labels(np.array([1, 1, 2]), "clusters", 3)
    [1, 1, 2]
    """
    is_column = isinstance(labels, Sequence) or any(hasattr(labels, way) for way in ("to_pylist", "tolist"))
    if isinstance(labels, str | bytes) or not is_column or getattr(labels, "ndim", 1) != 1:
        raise InputTypeError(name, "a label for each row", type(labels).__name__, "Give a list.")
    way = next((way for way in ("to_pylist", "tolist") if hasattr(labels, way)), None)
    listed = list(labels) if way is None else getattr(labels, way)()
    if n_rows is not None and len(listed) != n_rows:
        raise InputError(name, f"as many labels as rows ({n_rows})", len(listed), "Give a label for each row.")
    return [as_label(label, f"{name}[{i}]") for i, label in enumerate(listed)]


# What a warning says of texts that were not read to their end, by the treatment.
UNREAD = {
    "truncate": (
        "expected texts that the encoder reads to their end, got longer ones; n_truncated in the result says how many. "
        "Give {option}='window' to read them in windows of whole sentences."
    ),
    "window": (
        "expected sentences that the encoder reads to their end, got longer ones; n_truncated in the result says in "
        "how many texts. Put full stops or line breaks into them."
    ),
}

# What an encoder does with a text that has more tokens than it reads.
LONG_TEXTS = tuple(UNREAD)


def one_of(choices: Collection[str]) -> Check:
    """Return the check of an option that is one of some names."""
    return functools.partial(check_choice, choices=choices)


def whole_number(least: int, most: int | None = None) -> Check:
    """Return the check of an option that is an int from `least` to `most`."""
    return lambda name, value: check_whole_number(name, value, least, most)


def or_none(check: Check) -> Check:
    """Return the check of an option that may also be None."""
    return lambda name, value: None if value is None else check(name, value)


def by_value(check: Callable[[Any], object]) -> Check:
    """Return the check of an option whose name `check` knows by itself."""

    def check_value(_: str, value: Any) -> None:
        check(value)

    return check_value


def check_choice(name: str, value: object, choices: Collection[str]) -> None:
    """Raise unless `value` is one of `choices`."""
    if not isinstance(value, str) or value not in choices:
        expected = ", ".join(repr(choice) for choice in choices)
        raise InputError(name, f"one of {expected}", quote_value(value), spelling_advice(value, choices))


def check_whole_number(name: str, value: object, least: int, most: int | None = None) -> None:
    """Raise unless `value` is an int (not a bool) from `least` to `most`."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise InputTypeError(name, "a whole number", type(value).__name__, "Give an int.")
    if value < least:
        raise InputError(name, f"a whole number of at least {least}", quote_value(value), "Give a larger one.")
    if most is not None and value > most:
        raise InputError(name, f"a whole number of at most {most:,}", quote_value(value), "Give a smaller one.")


def check_is_number(name: str, value: object, hint: str) -> None:
    """Raise unless `value` is an int or a float (not a bool)."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputTypeError(name, "a number", type(value).__name__, hint)


def check_number(name: str, value: Any, above: float, below: float) -> None:
    """Raise unless `value` is a number strictly between two others."""
    check_is_number(name, value, "Give a float.")
    if not above < value < below or value > sys.float_info.max:
        limit = f"below {below:g}" if below < float("inf") else "finite"
        raise InputError(name, f"a number above {above:g} and {limit}", quote_value(value), "Choose another.")


def check_share(name: str, share: Any) -> None:
    """Raise unless a share of the whole is above 0 and at most 1."""
    check_is_number(name, share, "Give a float such as 0.9.")
    if not 0 < share <= 1:
        raise InputError(name, "a share above 0 and at most 1", quote_value(share), "Write 90% as 0.9.")


def check_flag(name: str, value: object) -> None:
    """Raise unless `value` is True or False."""
    if not isinstance(value, bool):
        raise InputTypeError(name, "True or False", quote_value(value), "Give a bool.")


def check_confidence_level(value: Any) -> None:
    """Raise unless `value` is None or a number strictly between 0 and 1."""
    if value is None:
        return
    check_is_number("confidence_level", value, "Give a float such as 0.95.")
    if not 0 < value < 1:
        raise InputError("confidence_level", "a number between 0 and 1", quote_value(value), "Write 95% as 0.95.")


def check_beside_rows(name: str, value: object) -> None:
    """Raise nothing: such an option is checked with the rows that it belongs to."""


def check_together(name: str, value: object) -> None:
    """Raise nothing: such an option is checked with others, by `fits` of one of them."""


def check_device(name: str, device: object) -> None:
    """Raise unless `device` is a string."""
    if not isinstance(device, str):
        raise InputTypeError(name, "a name", type(device).__name__, "Give for example 'cuda:0', or 'auto'.")


# Of most modules.
DETAILS: dict[str, Option] = {"details": Option(False, check_flag, "`True` adds per-row lists and the signature.")}
INTERVALS: dict[str, Option] = {
    "confidence_level": Option(
        None, by_value(check_confidence_level), "For example 0.95 adds intervals; by default there are none."
    ),
    "clusters": Option(
        None,
        check_beside_rows,
        "One label per row, equal ones for rows that depend on each other, such as rows of one image; by default "
        "none do.",
    ),
}


def _check_names(names: Collection[str], known: Mapping[str, Any], when: str, elsewhere: Collection[str] = ()) -> None:
    unknown = sorted(set(names) - set(known))
    if unknown:
        advice = spelling_advice(unknown[0], [*known, *(COLUMNS if when == "compute" else ())])
        if unknown[0] in elsewhere:
            advice = f"Give it to {'compute' if when == 'load' else 'load'}."
        elif when == "compute" and not advice.startswith("Did"):
            advice += " With evaluate.combine, give each module its options at load."
        raise InputTypeError(when, f"options among {sorted(known)}", unknown, advice)


def signature(name: str, **parts: object) -> str:
    """Join what determines a score into one line, like sacrebleu's signatures; parts that are None are left out.

    >>> signature("trm", seed=0, checkpoint=None)
    'trm|version:0.3.0|seed:0'
    """
    given = {"version": VERSION} | {key: value for key, value in parts.items() if value is not None}
    return "|".join([name] + [f"{key}:{value}" for key, value in given.items()])
