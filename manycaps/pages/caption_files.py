"""Uploaded caption files: text, JSON, JSON Lines and CSV, read the same way on all pages.

For uploads. `manycaps diversity` reads the same forms, and more, out of files of any size.
"""

import csv
import io
import json
import pathlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

# Endings that are read, and what is expected in such a file.
FILE_KINDS = {
    ".txt": "one caption per line, an empty line before the next image",
    ".json": "a list of lists of captions, an object that maps image names to captions, or a list of objects as in "
    ".jsonl",
    ".jsonl": 'on each line the captions of an image, ["a dog", "a brown dog"] or {"captions": ["a dog"]}, or one of '
    'them, {"image": "1.jpg", "caption": "a dog"}',
    ".csv": "a column `caption`, and a column `image` or `id` where an image has several captions",
    ".tsv": "as CSV, with tabs between the columns",
}

# Columns that hold captions; a file with one of them needs no option.
CAPTION_COLUMNS = tuple(
    """
    captions caption references candidates predictions samples sentences descriptions text reference refs candidate
    prediction hypothesis raw
    """.split()
)

# Columns that say which image or video a single caption is of: the first one that a file has.
NAME_COLUMNS = tuple(
    """
    image_id video_id id _id key image image_path file_name filename filepath video video_path
    """.split()
)


class _Entry(NamedTuple):
    """One entry of a file."""

    # The place, such as "line 3", for messages.
    place: str
    # Captions, or values by column, as they stand in the file.
    value: Any
    # Image that the file names outside of the value; None: an image of its own.
    image: str | int | float | None = None


def caption_file_rows(path: pathlib.Path, column: str | None = None, how: str = "") -> list[list[str]]:
    """Read a caption file.

    Args:
        path: a file whose ending is in `FILE_KINDS`, UTF-8.
        column: name of the column of captions; None: the one of `CAPTION_COLUMNS` that the file has.
        how: how a person names that column, for messages: "with --column".

    Returns:
        One list of captions for each image. Lines of one image are one list, wherever they stand.

    Raises:
        ValueError: another ending, no UTF-8, or not what `FILE_KINDS` says; the message names the line or the row.
    """
    kind = path.suffix.lower()
    if kind not in FILE_KINDS:
        raise ValueError(
            f"data: expected a file that ends in {', '.join(FILE_KINDS)}, got {kind or 'no ending'}. Convert it."
        )
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"data: expected UTF-8 text, got byte {error.start}, which is not valid UTF-8. Save it as UTF-8."
        ) from None
    rows: dict[Any, list[str]] = {}
    for where, captions, image in _image_captions(_entries(text, kind), column, how):
        if not isinstance(captions, list) or not all(isinstance(caption, str) for caption in captions):
            raise ValueError(
                f"data, {where}: expected {FILE_KINDS[kind]}, got {str(captions)[:60]}. Check this line of the file."
            )
        rows.setdefault((where,) if image is None else image, []).extend(captions)
    if not rows:
        raise ValueError(f"data: expected {FILE_KINDS[kind]}, got a file without captions. Check the file.")
    return list(rows.values())


def _entries(text: str, kind: str) -> Iterator[_Entry]:
    r"""Yield the entries of a caption file.

    >>> list(_entries("a dog\na brown dog\n\na cat\n", ".txt"))[1]
    _Entry(place='line 4', value=['a cat'], image=None)
    """
    # Only these newlines end a line: U+2028 and form feeds may be in a caption.
    lines = io.StringIO(text, newline=None)
    if kind == ".txt":
        return _blocks(lines)
    if kind == ".jsonl":
        return _json_lines(lines, kind)
    if kind == ".json":
        return _json_values(lines.read())
    return _table_lines(lines, "\t" if kind == ".tsv" else ",", kind)


def _image_captions(entries: Iterable[_Entry], column: str | None, how: str) -> Iterator[_Entry]:
    """Yield the captions of each entry, not yet checked, and the image that they are of.

    A single caption of a column becomes a list, of the image that one of `NAME_COLUMNS` names, if the first line has
    one.

    >>> list(_image_captions([_Entry("line 2", {"image": "1.jpg", "caption": "a dog"})], None, ""))
    [_Entry(place='line 2', value=['a dog'], image='1.jpg')]
    """
    chosen = name = None
    for where, value, image in entries:
        if not isinstance(value, Mapping):
            if column is not None:
                raise ValueError(
                    f"data, {where}: expected a column {column!r}, got captions without columns. Leave the name out."
                )
            yield _Entry(where, value, image)
            continue
        if chosen is None:
            chosen = _caption_column(list(value), column, how)
            name = next((name for name in NAME_COLUMNS if name in value and name != chosen), None)
        captions = value.get(chosen)
        if captions is None:
            raise ValueError(
                f"data, {where}: expected captions in {chosen}, got none. Write them, or leave this entry out."
            )
        if isinstance(captions, str):
            captions = [captions]
            if name is not None:
                image = _image(value.get(name), where, name)
        yield _Entry(where, captions, image)


def _caption_column(columns: Sequence[str], column: str | None, how: str) -> str:
    """Return the name of the column of captions."""
    if column is not None:
        if column not in columns:
            raise ValueError(f"data: expected a column {column!r}, got {', '.join(columns)[:80]}. Check the spelling.")
        return column
    known = [name for name in CAPTION_COLUMNS if name in columns]
    if not known:
        raise ValueError(
            f"data: expected one of the columns {', '.join(CAPTION_COLUMNS)}, got "
            f"{', '.join(columns)[:80] or 'no columns'}. Name the column of the captions {how}."
        )
    if len(known) > 1:
        raise ValueError(
            f"data: expected one column of captions, got {' and '.join(known)}. Name the one to read {how}."
        )
    return known[0]


def _image(name: Any, where: str, column: str) -> str | int | float:
    """Name or number of an image."""
    if not isinstance(name, str | int | float) or name == "":
        got = "none" if name is None or name == "" else type(name).__name__
        raise ValueError(
            f"data, {where}: expected the name of an image in {column}, got {got}. Write it, or leave the column out."
        )
    return name


def _blocks(lines: Iterable[str]) -> Iterator[_Entry]:
    """Runs of lines that are not empty."""
    captions: list[str] = []
    for i, line in enumerate([*lines, ""], start=1):
        if line.strip():
            captions.append(line.strip())
        elif captions:
            yield _Entry(f"line {i - len(captions)}", captions)
            captions = []


def _json_lines(lines: Iterable[str], kind: str) -> Iterator[_Entry]:
    for i, line in enumerate(lines, start=1):
        if line.strip():
            yield _Entry(f"line {i}", _parsed(line, f"data, line {i}", kind))


def _json_values(text: str) -> Iterator[_Entry]:
    """Items of a list, or of an object; or the lines of a file of JSON Lines that ends in .json."""
    try:
        content = json.loads(text)
    except json.JSONDecodeError as error:
        if error.msg == "Extra data":
            yield from _json_lines(io.StringIO(text), ".json")
            return
        content = _parsed(text, "data", ".json")
    except RecursionError:
        content = _parsed(text, "data", ".json")
    if isinstance(content, dict) and any(name in content for name in CAPTION_COLUMNS):
        content = [content]
    if isinstance(content, dict):
        for name, value in content.items():
            yield _Entry(f"image {name[:40]!r}", value, name)
    elif isinstance(content, list):
        for i, value in enumerate(content):
            yield _Entry(f"row {i}", value)
    else:
        raise ValueError(f"data: expected {FILE_KINDS['.json']}, got {type(content).__name__}. Check the file.")


def _parsed(text: str, where: str, kind: str) -> Any:
    try:
        return json.loads(text)
    except (json.JSONDecodeError, RecursionError):
        raise ValueError(f"{where}: expected {FILE_KINDS[kind]}, got no JSON. Check the file.") from None


def _table_lines(lines: Iterable[str], separator: str, kind: str) -> Iterator[_Entry]:
    """Lines of a table; an empty cell is no value."""
    # Strict: a quote that is never closed would swallow the rest of the file.
    table = csv.DictReader(lines, delimiter=separator, strict=True)
    try:
        for line in table:
            where = f"line {table.line_num}"
            if None in line:
                n_columns = len(table.fieldnames or [])
                raise ValueError(
                    f"data, {where}: expected {n_columns} cells, got {n_columns + len(line[None])}. Put a caption "
                    "with separators into double quotes."
                )
            yield _Entry(where, {name: cell or None for name, cell in line.items()})
    except csv.Error as error:
        raise ValueError(
            f"data, line {table.line_num + 1}: expected {FILE_KINDS[kind]}, got {error}. Close the quote."
        ) from None
