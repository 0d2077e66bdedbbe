"""Rows of captions as every command sees them, and the store in which they are put together by id.

A row is put together out of single captions a line, or out of predictions and references of two files. The store is an
SQLite file, so that memory does not grow with the rows and every part of a run can read its own.
"""

import collections
import contextlib
import errno
import hashlib
import json
import os
import pathlib
import sqlite3
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import NamedTuple

import numpy as np

from manycaps.kit.errors import InputError

from .cells import Values
from .files import Piece, TableFile

# Writes captions of joined rows.
JSON = json.JSONEncoder(ensure_ascii=False)

# Kind of the file that holds joined rows.
JOINED = ".sqlite"

# Captions are stored as JSON without its brackets, so that captions of another line can follow. `refs` holds
# the references, whose own name is a word of SQL.
SCHEMA = """
CREATE TABLE files (number INTEGER PRIMARY KEY, path TEXT UNIQUE NOT NULL);
CREATE TABLE joined (
    number INTEGER PRIMARY KEY, id TEXT UNIQUE, file INTEGER NOT NULL, row INTEGER NOT NULL,
    predictions TEXT, refs TEXT, image TEXT, video TEXT
);
CREATE TABLE bad (file TEXT NOT NULL, row INTEGER NOT NULL, id TEXT, reason TEXT NOT NULL);
"""

# Adds a row, or what another one of its id lacks or may have more of: NULL || ',' || 'x' is NULL.
ADD = """
INSERT INTO joined (id, file, row, predictions, refs, image, video) VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET
    predictions = coalesce(predictions || ',' || excluded.predictions, predictions, excluded.predictions),
    refs = coalesce(refs || ',' || excluded.refs, refs, excluded.refs),
    image = coalesce(image, excluded.image), video = coalesce(video, excluded.video)
"""

# Where an id has one row of each side, a second one changes nothing.
ADD_ONCE = (
    ADD
    + """
WHERE (predictions IS NULL OR excluded.predictions IS NULL) AND (refs IS NULL OR excluded.refs IS NULL)
"""
)

FIND = "SELECT path, row FROM joined JOIN files ON file = files.number WHERE id = ?"

# Sides of a row, as values and as the store name them.
SIDES = {"predictions": "predictions", "references": "refs"}

# Share of ids with several different captions from which on a file with one caption a line holds sets.
LEAST_SETS = 0.1

SELECT = (
    "SELECT path, row, id, predictions, refs, image, video FROM joined JOIN files ON file = files.number "
    "WHERE joined.number > ? AND joined.number <= ? ORDER BY joined.number"
)


# Ids that are held as a set, about 100 bytes each, before they join the sorted array.
RECENT_IDS = 10_000


class CaptionRow(NamedTuple):
    """Captions of one image, video or other item, checked."""

    # Path or address of the file.
    file: str
    # Number of the row in its file, counted from 0; headers and empty lines are not counted.
    row: int
    # As text; where the files have none, the number of the row over all files.
    id: str
    # None: the files have no such column.
    predictions: list[str] | None
    references: list[str] | None
    # Path, or encoded bytes.
    image: str | bytes | None
    video: str | bytes | None

    @property
    def people(self) -> list[str]:
        """Human captions: the references, else all captions of the row."""
        return list((self.predictions if self.references is None else self.references) or [])


class BadRow(NamedTuple):
    """A row that cannot be read; rows around it can."""

    file: str
    row: int
    # None if the row could not be read that far.
    id: str | None
    # What is wrong, of which the place is in the row.
    reason: InputError
    # Whether it is good, but no file has the other side of it.
    is_incomplete: bool = False


class SeenIds:
    """Ids of a stream of rows by their hashes, 9 bytes each; ids of one hash are taken for the same.

    >>> ids = SeenIds()
    >>> [ids.add(name) for name in "abba"]
    [False, False, True, True]
    """

    def __init__(self) -> None:
        self._sorted, self._recent = np.empty(0, np.int64), set[int]()

    def add(self, name: str) -> bool:
        """Add an id; return whether one of its hash was there."""
        number = hash(name)
        place = int(np.searchsorted(self._sorted, number))
        if number in self._recent or (place < len(self._sorted) and self._sorted[place] == number):
            return True
        self._recent.add(number)
        if len(self._recent) > max(RECENT_IDS, len(self._sorted) // 64):
            self._sorted = np.sort(np.append(self._sorted, np.fromiter(self._recent, np.int64)))
            self._recent.clear()
        return False


def good_rows(rows: Iterable[CaptionRow | BadRow]) -> Iterator[CaptionRow]:
    """Yield rows up to the first bad one, for which an InputError names file, id and number.

    >>> list(good_rows([BadRow("a.csv", 3, "x", InputError("predictions[3]", "a caption", "none", "Write one."))]))
    Traceback (most recent call last):
    manycaps.kit.errors.InputError: a.csv, id 'x': predictions[3]: expected a caption, got none. Write one.
    """
    for row in rows:
        if isinstance(row, BadRow):
            raise bad_row_error(row)
        yield row


def bad_row_error(bad: BadRow) -> InputError:
    """Return the error that names a bad row and says what is wrong with it."""
    return bad.reason.within(bad.file if bad.id is None else f"{bad.file}, id {bad.id!r}")


class JoinedRows:
    """A store that is being filled."""

    def __init__(self, database: sqlite3.Connection):
        """Take an empty database; see `create_store`."""
        self._database = database
        self._files: dict[str, int] = {}

    def add(self, file: str, row: int, values: Values, *, several: bool = False) -> None:
        """Add the values of one row of a file.

        Captions of one id are put together if there are `several`; otherwise a second row of an id is bad.
        """
        captions = _as_text(values.predictions), _as_text(values.references)
        given = (values.id, self._file_number(file), row, *captions, values.image, values.video)
        if self._database.execute(ADD if several else ADD_ONCE, given).rowcount == 0:
            earlier = self._database.execute(FIND, (values.id,)).fetchone()
            self.add_bad(BadRow(file, row, values.id, repeated_id_error(row, file, *earlier)))

    def add_bad(self, bad: BadRow) -> None:
        """Note a row that cannot be read."""
        self._database.execute("INSERT INTO bad VALUES (?, ?, ?, ?)", (*bad[:3], json.dumps(bad.reason.args)))

    def leave_out_repeats(self, side: str, lines: Callable[[], Iterator[tuple[str, int, Values | BadRow]]]) -> None:
        """Note surplus lines of a side as bad rows, and take their captions out; `lines` reads the side again.

        A sampler of several processes repeats lines to fill its last batch. Where most ids have n lines, the lines of
        an id with more are surplus if the first n come again and again; with one line each, if its caption does, as
        long as few ids have different captions.
        """
        sizes: collections.Counter[int] = collections.Counter()
        n_sets = n_repeats = 0
        for _, _, captions in self._captions_of(side):
            sizes[len(captions)] += 1
            n_different = len(set(captions))
            n_sets += n_different > 1
            n_repeats += n_different < len(captions)
        usual = max(sizes, key=lambda size: (sizes[size], -size), default=1)
        if not n_repeats or (usual == 1 and n_sets >= LEAST_SETS * sizes.total()):
            return
        first: dict[str, list[str]] = {}
        for number, name, captions in self._captions_of(side):
            kept = list(dict.fromkeys(captions)) if usual == 1 else captions[:usual]
            if len(kept) < len(captions) and (usual == 1 or captions == kept * (len(captions) // usual)):
                first[name] = kept
                change = f"UPDATE joined SET {SIDES[side]} = ? WHERE number = ?"
                self._database.execute(change, (_as_text(kept), number))
        earlier: dict[tuple[str, str], tuple[str, int]] = {}
        n_lines: collections.Counter[str] = collections.Counter()
        for file, row, values in lines() if first else ():
            if isinstance(values, BadRow) or values.id not in first or not getattr(values, side):
                continue
            is_new = (key := (values.id, str(getattr(values, side)))) not in earlier
            before = earlier.setdefault(key, (file, row))
            n_lines[values.id] += usual > 1 or is_new
            if n_lines[values.id] > len(first[values.id]) or (usual == 1 and not is_new):
                self.add_bad(BadRow(file, row, values.id, repeated_line_error(row, usual, file, *before)))

    def _captions_of(self, side: str) -> Iterator[tuple[int, str, list[str]]]:
        """Number, id and captions of the rows that have a side."""
        column = SIDES[side]
        rows = self._database.execute(f"SELECT number, id, {column} FROM joined WHERE {column} IS NOT NULL")
        return ((number, name, _as_captions(text) or []) for number, name, text in rows)

    def ids_of(self, side: str, *, alone: bool) -> list[str]:
        """Return the ids of rows that have a side, in order; with `alone`, of those that lack the other side."""
        mine, other = SIDES[side], next(name for role, name in SIDES.items() if role != side)
        lacks = f" AND {other} IS NULL" if alone else ""
        rows = self._database.execute(f"SELECT id FROM joined WHERE {mine} IS NOT NULL{lacks} ORDER BY number")
        return [name for (name,) in rows]

    @property
    def has_whole_rows(self) -> bool:
        """Whether some row has both sides."""
        whole = "SELECT 1 FROM joined WHERE predictions IS NOT NULL AND refs IS NOT NULL LIMIT 1"
        return self._database.execute(whole).fetchone() is not None

    def _file_number(self, path: str) -> int:
        if path not in self._files:
            self._files[path] = len(self._files)
            self._database.execute("INSERT INTO files VALUES (?, ?)", (self._files[path], path))
        return self._files[path]


class JoinedStore:
    """A complete store, which any number of processes may open."""

    def __init__(self, path: str):
        """Open it."""
        address = f"file:{pathlib.Path(path).resolve()}?mode=ro&immutable=1"
        self._database = sqlite3.connect(address, uri=True)

    def __enter__(self) -> "JoinedStore":
        return self

    def __exit__(self, *_: object) -> None:
        self._database.close()

    def __len__(self) -> int:
        return int(self._database.execute("SELECT coalesce(max(number), 0) FROM joined").fetchone()[0])

    def rows(self, start: int, stop: int) -> Iterator[tuple[str, int, Values]]:
        """Yield file, row and values of the rows `range(start, stop)`; a side is None if no file had it."""
        for file, row, name, predictions, references, *media in self._database.execute(SELECT, (start, stop)):
            yield file, row, Values(name, _as_captions(predictions), _as_captions(references), *media)

    def references(self, name: str) -> list[str] | None:
        """Return the references of an id; None if it has none."""
        saved_row = self._database.execute("SELECT refs FROM joined WHERE id = ?", (name,)).fetchone()
        return None if saved_row is None else _as_captions(saved_row[0])

    def bad_rows(self) -> Iterator[BadRow]:
        """Yield the rows that could not be read when the store was filled."""
        rows = self._database.execute("SELECT file, row, id, reason FROM bad ORDER BY rowid")
        return (BadRow(file, row, name, InputError(*json.loads(reason))) for file, row, name, reason in rows)


@contextlib.contextmanager
def create_store(path: pathlib.Path) -> Iterator[JoinedRows]:
    """Return a new store for a `with` statement; if it cannot be written, raise an OSError and not SQLite's error."""
    path.unlink(missing_ok=True)
    try:
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as database:
            # Incomplete stores are never read.
            database.execute("PRAGMA journal_mode = OFF")
            database.execute("PRAGMA synchronous = OFF")
            database.executescript(SCHEMA)
            database.execute("BEGIN")
            yield JoinedRows(database)
            database.execute("COMMIT")
    except sqlite3.OperationalError as error:
        is_full = "full" in str(error)  # Python 3.10 has no number of it
        raise OSError(
            errno.ENOSPC if is_full else errno.EIO, os.strerror(errno.ENOSPC) if is_full else str(error), str(path)
        ) from error


def store_file(store: str) -> TableFile:
    """Return a filled store as a file whose pieces can be read apart from each other."""
    return TableFile(store, JOINED, False, os.path.getsize(store))


def store_pieces(store: str, n_bytes: int) -> Iterator[Piece]:
    """Split joined rows into pieces; there is always one, which also reports unreadable rows."""
    file = store_file(store)
    with JoinedStore(store) as opened:
        n_rows = len(opened)
    step = max(1, n_rows * n_bytes // file.n_bytes)
    for start in range(0, max(1, n_rows), step):
        stop = min(start + step, n_rows)
        yield Piece(file, start, stop, start, stop - start, file.n_bytes * (stop - start) // max(1, n_rows))


def random_key(name: Hashable, seed: int) -> bytes:
    """Return a number that sorts names at random, the same for the same seed."""
    return hashlib.blake2b(f"{seed}:{name}".encode("utf-8", "surrogatepass"), digest_size=16).digest()


def repeated_id_error(row: int, file: str, earlier_file: str, earlier_row: int) -> InputError:
    """Return the error of a row whose id an earlier row has."""
    earlier = f"row {earlier_row}" + ("" if earlier_file == file else f" of {earlier_file}")
    return InputError(f"id[{row}]", "a unique id", f"the id of {earlier}", "Leave one of them out.")


def repeated_line_error(row: int, usual: int, file: str, earlier_file: str, earlier_row: int) -> InputError:
    """Return the error of a surplus line, which repeats an earlier one, of a file with `usual` lines for an id."""
    earlier = f"row {earlier_row}" + ("" if earlier_file == file else f" of {earlier_file}")
    lines = "one line" if usual == 1 else f"{usual} lines"
    got = f"row {row} more with the id and the caption of {earlier}, as several processes write them to fill a batch"
    return InputError(f"id[{row}]", f"{lines} for each id", got, f"Leave row {row} out.")


def _as_text(captions: list[str] | None) -> str | None:
    return None if captions is None else JSON.encode(captions)[1:-1]


def _as_captions(text: str | None) -> list[str] | None:
    return None if text is None else list(json.loads(f"[{text}]"))
