"""Files that hold captions, from paths, addresses, folders and patterns; the pieces of a file, and its records."""

import io
import itertools
import math
import os
import pathlib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import IO, Any, NamedTuple, cast

import fsspec
from tqdm import tqdm

from manycaps.kit.errors import (
    InputError,
    InputImportError,
    as_input_errors,
    check_installed,
    quote_path,
    quote_value,
    reason_of,
)
from manycaps.kit.files import ExpandedFile, read_json

# Endings of tables; endings of text may be followed by ".gz", and ".tgz" is ".tar.gz".
KINDS = (".parquet", ".arrow", ".jsonl", ".json", ".csv", ".tsv", ".xlsx", ".tar")

# Text without columns: read where it is named, but a folder of tables may hold notes and licenses that end so.
TEXT = ".txt"

# Another ending of such text: Flickr30k's results_20130124.token.
TOKENS = ".token"

# Kinds that may be compressed as a whole.
COMPRESSIBLE = (".jsonl", ".json", ".csv", ".tsv", ".tar", TEXT, TOKENS)

# Rows of plain text that are matched by their numbers: one a line, or a run of lines, between empty ones.
ALIGNED_LINES, ALIGNED_RUNS = "aligned lines", "aligned runs of lines"

# Longest path that is shown in full: the limit of Linux's file names.
LONGEST_SHOWN = 255

# Files that say what a folder of `datasets` holds: one data set, or several splits.
SAVED, SAVED_SPLITS = "state.json", "dataset_dict.json"

# Endings of files in a folder of images or videos, tried in this order behind an id.
MEDIA_ENDINGS = {"image": (".jpg", ".jpeg", ".png", ".webp"), "video": (".mp4", ".webm", ".avi", ".mkv")}

# A range of numbers in braces: {00000..00999}.
NUMBERS = re.compile(r"(\d{1,18})\.\.(\d{1,18})", re.ASCII)

# Largest number of names that braces may expand to, and of files in a folder that is searched for tables.
MOST_NAMES = 1_000_000


class TableFile(NamedTuple):
    """A file with rows."""

    path: str
    # One of `KINDS`, `TEXT`, or the kind of a source that is no file.
    kind: str
    compressed: bool
    n_bytes: int
    # Configuration, if any, and split of a data set on the Hub, whose name is the path.
    hub_part: tuple[str | None, str] | None = None
    # Split to read, "test" or "train+restval", where it may hold several.
    split: str | None = None
    # Column and value of the rows to read, where a table holds several systems.
    only: tuple[str, str] | None = None
    # How plain text is aligned with that of other files: `ALIGNED_LINES` or `ALIGNED_RUNS`; None: it is not.
    aligned: str | None = None


class Piece(NamedTuple):
    """A run of rows of a file."""

    file: TableFile
    # Where it begins and ends: bytes of text and tar, rows of parquet; None for the end of the file.
    start: int
    stop: int | None
    # Number of its first row in the file.
    first_row: int
    # Number of its rows where it is known without reading them.
    n_rows: int | None
    # Bytes of the file that it covers.
    n_bytes: int


class Record(NamedTuple):
    """Values of one row of a file."""

    row: int
    values: Mapping[str, Any]


class Unreadable(NamedTuple):
    """A part of a file that cannot be read."""

    row: int
    # What is wrong, of which the place is in the file.
    reason: InputError


def every_column(_name: str) -> bool:
    """Say of any column that it is read."""
    return True


def whole(file: TableFile) -> Piece:
    """Return a file as one piece."""
    return Piece(file, 0, None, 0, None, file.n_bytes)


def table_files(sources: Sequence[str], split: str | None = None) -> list[TableFile]:
    """Resolve paths, addresses, folders and patterns to files, in the order of the sources.

    Folders stand for all tables in them, at any depth, sorted by name; a folder that `datasets` has saved stands for
    the files of its `split`, None for "train". Names may hold ranges and choices in braces, `{000..099}` and `{a,b}`,
    and the wildcards `*`, `?` and `[...]`.
    """
    files: list[TableFile] = []
    for path in (path for source in sources for path in expand_braces(source)):
        if is_local(path):
            files += _files_of(os.path.expanduser(path), split)
            continue
        with as_input_errors(quote_source(path), "an address that can be read", "Check it, and the network.", "none"):
            files += _files_of(path, split)
    return files


def expand_braces(pattern: str) -> list[str]:
    """Write out the ranges and choices in braces, as a shell does.

    >>> expand_braces("s{08..10}.tar")
    ['s08.tar', 's09.tar', 's10.tar']
    >>> expand_braces("{train,val}.csv")
    ['train.csv', 'val.csv']
    """
    parts = re.split(r"\{([^{}]*)\}", pattern)
    choices = [_choices(part) if i % 2 else [part] for i, part in enumerate(parts)]
    n_names = math.prod(map(len, choices))
    if not 1 <= n_names <= MOST_NAMES:
        got = f"{n_names:,}"
        raise InputError(pattern, f"braces for 1 to {MOST_NAMES:,} names", got, "Write for example {000..099}.")
    return ["".join(chosen) for chosen in itertools.product(*choices)]


def table_kind(path: str) -> tuple[str, bool] | None:
    """Return the kind of a file by its ending, and whether it is compressed; None if it is no table.

    >>> table_kind("a/b.JSONL.gz"), table_kind("c.tgz"), table_kind("d.zip")
    (('.jsonl', True), ('.tar', True), None)
    """
    name = path.lower()
    if name.endswith(".tgz"):
        return ".tar", True
    compressed = name.endswith(".gz")
    stem, kind = os.path.splitext(name.removesuffix(".gz"))
    if not stem or kind not in (COMPRESSIBLE if compressed else (*KINDS, TEXT, TOKENS)):
        return None
    return TEXT if kind == TOKENS else kind, compressed


def is_local(path: str) -> bool:
    """Return whether a path is local, and not an address.

    >>> is_local("a/b.csv"), is_local("s3://bucket/b.csv")
    (True, False)
    """
    return "://" not in path


def open_bytes(path: str, compressed: bool = False) -> IO[bytes]:
    """Open a file to be read, local or by fsspec; a compressed one gives its content.

    Reading a compressed one raises an InputError where it expands beyond the limit of `ExpandedFile`.
    """
    file = cast(IO[bytes], fsspec.open(path, "rb").open())
    if not is_local(path):  # files at addresses read a line as a whole, however long
        file = io.BufferedReader(cast(io.RawIOBase, file))
    return cast(IO[bytes], ExpandedFile(file, path)) if compressed else file


def find_medium(folder: str, given: str | None, name: str, role: str, row: int) -> str | bytes:
    """Find an image or a video in a folder by its name, or the id: the path, or of an address the bytes."""
    if is_local(folder):
        if given is not None:
            return os.path.join(folder, given)
        for ending in ("", *MEDIA_ENDINGS[role]):
            if os.path.isfile(path := os.path.join(folder, name + ending)):
                return path
        endings = ", ".join(MEDIA_ENDINGS[role])
        expected = f"a file {name} in {quote_source(folder)}, with or without one of the endings {endings}"
        raise InputError(f"{role}[{row}]", expected, "none", f"Name a column of files with --columns {role}=NAME.")
    address = f"{folder.rstrip('/')}/{given or name + MEDIA_ENDINGS[role][0]}"
    with as_input_errors(f"{role}[{row}]", f"a file at {address}", "Check the address.", "none"):
        return bytes(fsspec.open(address, "rb").open().read())


def _choices(text: str) -> Sequence[str]:
    """What one pair of braces stands for."""
    numbers = NUMBERS.fullmatch(text)
    if numbers:
        first, last = numbers.groups()
        width = len(first) if first.startswith("0") or len(first) == len(last) else 0
        # One more than may be is enough to be refused.
        return [str(n).zfill(width) for n in range(int(first), min(int(last), int(first) + MOST_NAMES) + 1)]
    return text.split(",") if "," in text else ["{" + text + "}"]


def _files_of(source: str, split: str | None) -> Iterator[TableFile]:
    """Files that a path, folder or wildcard stands for."""
    if not source.strip():
        raise InputError("source", "a path, an address or a pattern", "an empty one", "Name a file.")
    try:
        file_system, path = fsspec.core.url_to_fs(source)
    except ValueError as error:
        expected = "a path, or an address that fsspec can open"
        raise InputError(source, expected, f"neither ({reason_of(error)})", "Check the part before ://.") from error
    except ImportError as error:
        package = getattr(error.__cause__ or error.__context__, "name", None)
        fix = f"Run `pip install {package}`." if package else ""
        expected, got = "the package that opens such addresses", f"none ({reason_of(error)})"
        raise InputImportError(quote_source(source), expected, got, fix) from error
    if file_system.isfile(path):
        yield _table_file(source, int(file_system.info(path)["size"]))._replace(split=split)
        return
    if file_system.isdir(path):
        matching = _saved_files(source, split or "train") if is_local(source) else None
        if matching is None:
            matching = [
                name for name in _names_in(path, file_system, source) if (table_kind(name) or (TEXT,))[0] != TEXT
            ]
        wanted = "at least one table in the folder"
    else:
        matching = sorted(name for name in file_system.glob(path) if file_system.isfile(name))
        wanted = "a file, a folder or a pattern of files"
    if not matching:
        fix = f"Check the path; tables end in {', '.join((*KINDS, TEXT))}, text and tar also in .gz."
        raise InputError(quote_source(source), wanted, "none", fix)
    for name in matching:
        file = _table_file(_as_given(name, file_system, source), int(file_system.info(name)["size"]))
        yield file._replace(split=split)


def _names_in(folder: str, file_system: Any, source: str) -> list[str]:
    """Files in a folder, at any depth, sorted by name."""
    if not is_local(source):
        return sorted(file_system.find(folder))
    names: list[str] = []
    for parent, _, own in tqdm(os.walk(folder), desc=f"looking for tables in {source}", unit=" folders", delay=2):
        names += [os.path.join(parent, name) for name in own]
        if len(names) > MOST_NAMES:
            fix = "Name the folder of the tables itself, or a pattern such as captions/*.parquet."
            raise InputError(quote_source(source), f"a folder of at most {MOST_NAMES:,} files", "one of more", fix)
    return sorted(names)


def quote_source(source: str) -> str:
    """Return a source for a message: as it was given, unless that is too long, or not printable."""
    return source if source.isprintable() and len(source) <= LONGEST_SHOWN else quote_path(source)


def _saved_files(folder: str, split: str) -> list[str] | None:
    """Files of a data set that `datasets` has saved; None if the folder holds none."""
    if os.path.isfile(os.path.join(folder, SAVED_SPLITS)):
        listed = _read_list(os.path.join(folder, SAVED_SPLITS), "splits")
        if split not in listed:
            raise InputError(folder, f"a saved split {split!r}", quote_value(listed), "Name one of its folders.")
        folder = os.path.join(folder, split)
    state = os.path.join(folder, SAVED)
    if not os.path.isfile(state):
        return None
    names = [file.get("filename") if isinstance(file, dict) else None for file in _read_list(state, "_data_files")]
    if not all(isinstance(name, str) and name == os.path.basename(name) for name in names):
        raise InputError(state, "the names of files", quote_value(names), "Save the data set again.")
    return [os.path.join(folder, str(name)) for name in names]


def _read_list(path: str, key: str) -> list[Any]:
    """A list in a file of a saved data set."""
    advice = "Save the data set again."
    content = read_json(path, path, advice)
    listed = content.get(key) if isinstance(content, dict) else None
    if not isinstance(listed, list):
        raise InputError(path, f"a list {key!r}", quote_value(content), advice)
    return listed


def _as_given(name: str, file_system: Any, source: str) -> str:
    """Name a file as its folder was given: relative paths stay relative."""
    if not is_local(source):
        return str(file_system.unstrip_protocol(name))
    return name if os.path.isabs(source) else os.path.relpath(name)


def _table_file(path: str, n_bytes: int) -> TableFile:
    try:
        path.encode()
    except UnicodeEncodeError:
        got = "other bytes, which results cannot store"
        raise InputError(quote_path(path), "a path in UTF-8", got, "Rename the file.") from None
    kind = table_kind(path)
    if kind is None:
        expected = f"a table that ends in {', '.join((*KINDS, TEXT))} (or .gz of text and tar)"
        raise InputError(path, expected, os.path.splitext(path)[1] or "no ending", "Convert it, or rename it.")
    if kind[0] == ".xlsx":
        check_installed(["openpyxl"], path, "Run `pip install 'manycaps[tables]'`, or save it as .csv.")
    return TableFile(path, *kind, n_bytes)


def check_names(names: Sequence[str], n_sources: int, what: str) -> None:
    """Raise unless --names has a different name for each of some sources; `what` is one of them.

    >>> check_names(["a", "a"], 2, "system")
    Traceback (most recent call last):
    manycaps.kit.errors.InputError: --names: expected different names, got a, a. Give each system its own with --names.
    """
    if len(names) != n_sources:
        raise InputError("--names", f"one name per {what} ({n_sources})", len(names), "Give as many.")
    if len(set(names)) < len(names):
        raise InputError("--names", "different names", ", ".join(names), f"Give each {what} its own with --names.")


def source_name(source: str) -> str:
    """Shorten the name of a source for tables.

    >>> source_name("data/flickr8k.jsonl.gz"), source_name("someone/captions")
    ('flickr8k', 'captions')
    """
    name = pathlib.PurePath(source).name
    while pathlib.PurePath(name).suffix in (*KINDS, TEXT, TOKENS, ".gz", ".tgz"):
        name = pathlib.PurePath(name).stem
    return name
