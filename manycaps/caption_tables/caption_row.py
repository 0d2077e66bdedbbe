"""Rows as every command that scores captions sees them, whatever file they come from."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple


class CaptionRow(NamedTuple):
    """Captions of one image, video or other item, checked."""

    # Path or address of the file, as it was given or found.
    file: str
    # Number of the row in its file, counted from 0; headers and empty lines are not counted.
    row: int
    # As text; where the files name none, the number of the row in all files together.
    id: str
    # None: the files have no such column.
    predictions: list[str] | None
    references: list[str] | None
    # Path, or encoded bytes.
    image: str | bytes | None
    video: str | bytes | None

    @property
    def people(self) -> list[str]:
        """Captions of people: the references, else all captions of the row."""
        return list((self.predictions if self.references is None else self.references) or [])


class BadRow(NamedTuple):
    """A row that cannot be read; its neighbours can."""

    file: str
    row: int
    # None: it could not be read so far.
    id: str | None
    # What was expected there and what was found, and what to do.
    reason: str


def good_rows(rows: Iterable[CaptionRow | BadRow]) -> Iterator[CaptionRow]:
    """Yield rows up to the first bad one.

    Raises:
        ValueError: a row is bad; the message names its file, its id and its number.

    >>> list(good_rows([BadRow("a.csv", 3, "x", "predictions[3]: expected a caption, got none. Write one.")]))
    Traceback (most recent call last):
    ValueError: a.csv, id 'x': predictions[3]: expected a caption, got none. Write one.
    """
    for row in rows:
        if isinstance(row, BadRow):
            raise ValueError(bad_row_message(row))
        yield row


def bad_row_message(bad: BadRow) -> str:
    """Return the line that says which row is bad, and why."""
    name = "" if bad.id is None else f", id {bad.id!r}"
    return f"{bad.file}{name}: {bad.reason}"
