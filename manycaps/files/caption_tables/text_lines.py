"""Lines of text files in UTF-8 and UTF-16, within limits, and the blocks of them that make a record each.

Cells are those of Python's `csv`, line by line: behind a quote that is not closed, `pyarrow.csv` takes the rest of the
file for one caption and says nothing, and it makes numbers of ids; `pyarrow.json` stops at a line of another type.
"""

import codecs
import csv
import io
from collections.abc import Callable, Iterable, Iterator
from typing import IO, Any, NamedTuple

from manycaps.kit.errors import InputError, reason_of

# Byte order marks of UTF-8, which some programs write, and of UTF-16, in which spreadsheet programs write text.
MARK, MARKS_OF_UTF_16 = codecs.BOM_UTF8, (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)

# Bytes of a line at most: more would fill the memory.
MAX_LINE_BYTES = 1 << 26

# Lines and bytes of one record of a table at most: an unclosed quote would swallow the rest of the file.
MAX_RECORD_LINES = 1_000
MAX_RECORD_BYTES = 1 << 20

# What is wrong with a file of one line, as old Macs ended theirs.
NO_LINE_FEEDS = (
    "lines that end in a line feed",
    "carriage returns alone",
    "Save the file with the line ends of Unix or Windows.",
)


class BadLineError(InputError):
    """A line behind which a file cannot be read."""


class Block(NamedTuple):
    """The lines of one record."""

    # Byte of the file at which it begins, and the one after its end.
    start: int
    stop: int
    # A line, the lines of a run, or the cells of a table; an InputError where lines are no cells.
    content: Any


def is_utf_16(stream: IO[bytes]) -> bool:
    """Return whether a file begins with a byte order mark of UTF-16."""
    start = stream.read(2)
    stream.seek(0)
    return start in MARKS_OF_UTF_16


def lines_of(stream: IO[bytes]) -> Iterator[bytes]:
    """Yield the lines of a whole file, those of UTF-16 in UTF-8."""
    if not is_utf_16(stream):
        yield from lines_from(stream)
        return
    text = io.TextIOWrapper(stream, "utf-16", errors="surrogatepass", newline="\n")
    try:
        yield from _limit(lambda size: text.readline(size).encode("utf-8", "surrogatepass"))
    except UnicodeDecodeError as error:
        expected = "UTF-16 up to the end of the file"
        raise BadLineError("", expected, reason_of(error), "Save it again, as UTF-8.") from None
    finally:
        if not stream.closed:  # as it is where the rest of the lines is not wanted
            text.detach()


def lines_from(stream: IO[bytes]) -> Iterator[bytes]:
    """Yield the lines of a file in UTF-8 from here on."""
    return _limit(stream.readline)


def _limit(read_line: Callable[[int], bytes]) -> Iterator[bytes]:
    """Lines of a file, as far as they are not too long."""
    while line := read_line(MAX_LINE_BYTES + 1):
        if len(line) > MAX_LINE_BYTES:
            got, fix = "a longer one, after which nothing is read", "Write one row per line, or leave the file out."
            raise BadLineError("", f"lines of at most {MAX_LINE_BYTES:,} bytes", got, fix)
        yield line


def text_of(line: bytes) -> str:
    """Return the text of a line; invalid bytes become lone surrogates, which the check of captions reports."""
    return line.removeprefix(MARK).decode("utf-8", errors="surrogateescape")


def has_returns_alone(line: str) -> bool:
    """Return whether a line is several ones as old Macs ended them."""
    return "\r" in line.strip() and "\n" not in line


def line_blocks(lines: Iterable[bytes], start: int, *, with_empty: bool = False) -> Iterator[Block]:
    """Yield each line that is not empty."""
    for line in lines:
        stop = start + len(line)
        if with_empty or line.strip():
            yield Block(start, stop, text_of(line))
        start = stop


def run_blocks(lines: Iterable[bytes], start: int) -> Iterator[Block]:
    """Yield runs of lines that are not empty."""
    waiting: list[str] = []
    first = stop = start
    for line in lines:
        stop += len(line)
        if line.strip() not in (b"", MARK):
            waiting.append(text_of(line))
            continue
        if waiting:
            yield Block(first, stop, waiting)
        first, waiting = stop, []
    if waiting:
        yield Block(first, stop, waiting)


def cell_blocks(lines: Iterable[bytes], start: int, separator: str, n_cells: int | None = None) -> Iterator[Block]:
    """Yield the cells of each record of a table, of as many cells as the first one unless `n_cells` says how many.

    Lines that make no record together are records of their own: of a quote too many, the first line is the bad one.
    """
    feed = _Feed(lines)
    reader = csv.reader(feed, delimiter=separator, strict=True)
    while True:
        feed.taken = []
        cells = _next_cells(reader, feed)
        if not feed.taken:
            return
        if len(feed.taken) > 1 and (isinstance(cells, InputError) or len(cells) != (n_cells or len(cells))):
            feed.give_back()
            cells = _next_cells(csv.reader([text_of(feed.taken[0])], delimiter=separator, strict=True), feed)
        stop = start + sum(map(len, feed.taken))
        if any(line.strip() for line in feed.taken):
            n_cells = n_cells or (0 if isinstance(cells, InputError) else len(cells))
            yield Block(start, stop, cells)
        start = stop


class _Feed:
    """Lines for `csv.reader`, which takes those of one record at a time."""

    def __init__(self, lines: Iterable[bytes]) -> None:
        self._lines, self._again = iter(lines), list[bytes]()
        self.taken: list[bytes] = []

    def __iter__(self) -> "_Feed":
        return self

    def __next__(self) -> str:
        line = self._again.pop() if self._again else next(self._lines)
        self.taken.append(line)
        if len(self.taken) > MAX_RECORD_LINES or (self.taken[1:] and sum(map(len, self.taken)) > MAX_RECORD_BYTES):
            raise csv.Error("a quote that is not closed")
        return text_of(line)

    def give_back(self) -> None:
        """Give all lines of the record back but the first."""
        self._again.extend(reversed(self.taken[1:]))
        del self.taken[1:]


def _next_cells(reader: Iterator[list[str]], feed: _Feed) -> list[str] | InputError:
    """Cells of the next record; an error where its lines are none."""
    try:
        return next(reader, [])
    except csv.Error as error:
        if has_returns_alone(text_of(feed.taken[0])):
            return InputError("", *NO_LINE_FEEDS)
        return InputError("", "cells", error, "Fix the quotes of this line.")
