"""Pieces of files that can be read apart from each other, and the records that a piece holds."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from manycaps.caption_tables.files import TableFile


class Piece(NamedTuple):
    """A run of rows of a file."""

    file: TableFile
    # Where it begins and ends: bytes of text and tar, rows of parquet; None is the end of the file.
    start: int
    stop: int | None
    # Number of its first row in the file.
    first_row: int
    # Number of its rows where it is known without reading them.
    n_rows: int | None
    # Bytes of the file that it stands for.
    n_bytes: int


class Record(NamedTuple):
    """What a file says in one row."""

    row: int
    values: Mapping[str, Any]


class Unreadable(NamedTuple):
    """A place where a file says nothing that can be understood."""

    row: int
    reason: str


def whole(file: TableFile) -> Piece:
    """Return a file as one piece."""
    return Piece(file, 0, None, 0, None, file.n_bytes)
