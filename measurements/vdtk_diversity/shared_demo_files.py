# Vendored from manycaps/shared_demo_files.py. Edit it there, then run `python scripts/sync_shared.py`.
"""Caption files that a user of a demo page uploads: text, JSON, JSON lines and CSV. Used by `app.py` alone."""

import csv
import io
import json
import pathlib
from collections.abc import Iterable
from typing import Any

# Endings that are read, and what is expected in such a file.
FILE_KINDS = {
    ".txt": "one caption a line, an empty line before the next image",
    ".json": "a list of lists of captions, or an object from an image's name to its captions",
    ".jsonl": 'on each line the captions of an image: ["a dog", "a brown dog"] or {"captions": ["a dog"]}',
    ".csv": "a column `caption`, and a column `image` where an image has several captions",
    ".tsv": "as CSV, with tabs between the columns",
}


def caption_file_rows(path: pathlib.Path) -> list[list[str]]:
    """Read a caption file.

    Args:
        path: a file whose ending is in `FILE_KINDS`, UTF-8.

    Returns:
        One list of captions for each image.

    Raises:
        ValueError: another ending, no UTF-8, or not what `FILE_KINDS` says; the message names the line or the row.
    """
    kind = path.suffix.lower()
    if kind not in FILE_KINDS:
        raise ValueError(f"data: expected a file that ends in {', '.join(FILE_KINDS)}, got {kind or 'no ending'}.")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"data: expected UTF-8 text, got byte {error.start} that is none. Save it as UTF-8.") from None
    if kind == ".txt":
        return [block.split("\n") for block in _blocks(text)]
    if kind == ".jsonl":
        lines = [(i, line) for i, line in enumerate(text.splitlines(), start=1) if line.strip()]
        return [_as_row(_parsed(line, f"line {i}", kind), f"line {i}", kind) for i, line in lines]
    if kind == ".json":
        return _json_rows(_parsed(text, "the file", kind))
    return _table_rows(text, "\t" if kind == ".tsv" else ",", kind)


def _blocks(text: str) -> Iterable[str]:
    """Runs of lines that are not empty."""
    lines = "\n".join(line.strip() for line in text.splitlines())
    return (block.strip("\n") for block in lines.split("\n\n") if block.strip("\n"))


def _parsed(text: str, where: str, kind: str) -> Any:
    try:
        return json.loads(text)
    except (json.JSONDecodeError, RecursionError):
        raise ValueError(f"data, {where}: expected {FILE_KINDS[kind]}, got no JSON. Check the file.") from None


def _json_rows(content: Any) -> list[list[str]]:
    rows = list(content.values()) if isinstance(content, dict) else content
    if not isinstance(rows, list):
        raise ValueError(f"data: expected {FILE_KINDS['.json']}, got {type(rows).__name__}. Check the file.")
    return [_as_row(row, f"row {i}", ".json") for i, row in enumerate(rows)]


def _as_row(row: Any, where: str, kind: str) -> list[str]:
    """The captions of one image."""
    captions = row.get("captions") if isinstance(row, dict) else row
    if not isinstance(captions, list) or not all(isinstance(caption, str) for caption in captions):
        raise ValueError(f"data, {where}: expected {FILE_KINDS[kind]}, got {str(row)[:60]}. Check this row.")
    return captions


def _table_rows(text: str, separator: str, kind: str) -> list[list[str]]:
    table = csv.DictReader(io.StringIO(text), delimiter=separator)
    if "caption" not in (table.fieldnames or []):
        names = ", ".join(map(str, table.fieldnames or [])) or "no columns"
        raise ValueError(f"data: expected {FILE_KINDS[kind]}, got {names[:80]}. Name the column of captions `caption`.")
    rows: dict[Any, list[str]] = {}
    try:
        for i, line in enumerate(table):
            rows.setdefault(line.get("image", i), []).append(line["caption"] or "")
    except csv.Error as error:
        raise ValueError(f"data, line {table.line_num + 1}: expected {FILE_KINDS[kind]}, got {error}.") from None
    return list(rows.values())
