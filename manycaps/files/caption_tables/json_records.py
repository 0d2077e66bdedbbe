"""Records of JSON files, read as a whole: lists of rows, rows by name, JSON Lines, and data sets by their names."""

import contextlib
import contextvars
import json
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from manycaps.kit.errors import InputError, quote_value

from .cells import item_names
from .columns import (
    ID_COLUMNS,
    IMAGE_COLUMNS,
    OUTPUT_COLUMNS,
    TARGET_COLUMNS,
    USUAL_CAPTIONS,
    VIDEO_COLUMNS,
    wide_columns,
)
from .files import Record, TableFile, Unreadable, open_bytes
from .json_datasets import coco_rows, is_table, rows_with_splits, split_rows, trimmer
from .text_records import as_values

# Keys of objects around rows, which no image has as its name.
WRAPPERS = frozenset("annotations args config data info items meta metadata model outputs results rows".split())

# What was parsed of the files that are read again, by path and split; None: nothing is kept.
_KEPT: contextvars.ContextVar[tuple[Collection[str], dict[Any, Any]] | None] = contextvars.ContextVar("parsed_files")


@contextlib.contextmanager
def parse_once(paths: Collection[str]) -> Iterator[None]:
    """Parse each of some JSON files once in a `with` statement, however often they are read."""
    token = _KEPT.set((paths, {}))
    try:
        yield
    finally:
        _KEPT.reset(token)


def json_records(file: TableFile) -> Iterator[Record | Unreadable]:
    """Read a JSON file, as a whole.

    A list holds objects or lists of captions; an object goes from an id to its captions, or is a data set of COCO,
    MSR-VTT or Karpathy. A file of JSON Lines is understood too.
    """
    rows = _rows(file)
    first: dict[Any, int] = {}
    for row, value in enumerate(rows):
        try:
            values = as_values(value, row)
        except InputError as error:
            yield Unreadable(row, error)
            continue
        caption = tuple(str(values.get(name)) for name in ("id", "image_id", "caption"))
        if "None" not in caption and first.setdefault(caption, row) != row:
            got = f"row {first[caption]}'s again (id {quote_value(values['id'])})"
            yield Unreadable(row, InputError(f"row[{row}]", "each annotation once", got, "Leave one of them out."))
            continue
        yield Record(row, values)


def _rows(file: TableFile) -> list[Any]:
    """Rows of a file, kept if `parse_once` says so."""
    paths, kept = _KEPT.get(None) or ((), {})
    key = file.path, file.split
    if key not in kept:
        with open_bytes(file.path, file.compressed) as stream:
            rows = _as_rows(_parse_json(stream.read(), file), file)
        if file.path not in paths:
            return rows
        kept[key] = rows
    rows_kept: list[Any] = kept[key]
    return rows_kept


def _as_rows(content: Any, file: TableFile) -> list[Any]:
    """Rows of any layout, each an object or a list of captions."""
    rows = rows_with_splits(content, file.path, file.split)
    if rows is not None:
        return rows
    annotations = coco_rows(content, file.path)
    content = content if annotations is None else annotations
    if not isinstance(content, dict):
        rows = content if isinstance(content, list) else [content]
        return rows if file.split is None else split_rows(rows, file.path, file.split)
    if _is_row(content) or _is_named_row(content):
        return [_as_row(content, file)]
    return _rows_by_name(content, file)


def _rows_by_name(content: dict[str, Any], file: TableFile) -> list[Any]:
    """Rows by the names of their images; refused where the values, or the names, are not such."""
    rows = [value for value in content.values() if isinstance(value, dict)]
    if rows and len(rows) == len(content) and all(wide_columns(row) or USUAL_CAPTIONS & row.keys() for row in rows):
        return [{"id": name, **value} for name, value in content.items()]
    kinds = {type(value) for value in content.values() if value is not None}
    is_foreign = any(isinstance(value, list) and not item_names(value) <= {name} for name, value in content.items())
    if len(kinds) > 1 or dict in kinds or is_foreign or not WRAPPERS.isdisjoint(content):
        raise _no_rows(content, file)
    return [{"id": name, "captions": value} for name, value in content.items()]


def _no_rows(content: dict[str, Any], file: TableFile) -> ValueError:
    """Error for an object around rows."""
    rows = next((name for name, value in content.items() if is_table(value)), None)
    fix = "Write a list of rows" if rows is None else f"Save the list under {quote_value(rows)} as a file"
    got = f"an object with {', '.join(map(quote_value, list(content)[:4]))}"
    fix = f"{fix}, one object with id and captions each."
    return InputError(file.path, "rows (a list of them, or an object from the names of images to captions)", got, fix)


def _as_row(content: dict[str, Any], file: TableFile) -> dict[str, Any]:
    """One row, unless it is an object around rows, or a table by columns, as pandas writes it by default."""
    if any(isinstance(value, list) and len(item_names(value)) > 1 for value in content.values()):
        raise _no_rows(content, file)
    columns = [name for name in (*ID_COLUMNS, *IMAGE_COLUMNS, *VIDEO_COLUMNS) if isinstance(content.get(name), list)]
    if columns or any(isinstance(value, dict) for name, value in content.items() if name in USUAL_CAPTIONS):
        got = f"columns ({', '.join(map(quote_value, list(content)[:4]))})"
        raise InputError(file.path, "rows", got, 'Write rows: DataFrame.to_json(path, orient="records").')
    return content


def _is_row(content: Mapping[str, Any]) -> bool:
    """Whether an object is one row, and not a table of rows by name or an object around rows."""
    return not content.keys().isdisjoint(USUAL_CAPTIONS - {*OUTPUT_COLUMNS, *TARGET_COLUMNS})


def _is_named_row(content: Mapping[str, Any]) -> bool:
    """Whether an object has an id beside captions; rows by name may be called text_1 and text_2."""
    names = (*ID_COLUMNS, *IMAGE_COLUMNS, *VIDEO_COLUMNS)
    has_captions = bool(wide_columns(content)) or not USUAL_CAPTIONS.isdisjoint(content)
    return has_captions and not content.keys().isdisjoint(names)


def _parse_json(content: bytes, file: TableFile) -> Any:
    hook = trimmer(file.split)
    try:
        # UTF-8, UTF-16 or UTF-32, with a byte order mark or without one.
        text = content.decode(json.detect_encoding(content), "surrogatepass")
        del content
        try:
            return json.loads(text, object_pairs_hook=hook)
        except json.JSONDecodeError as error:
            if error.msg != "Extra data":
                raise
            return [json.loads(line, object_pairs_hook=hook) for line in text.split("\n") if line.strip()]
    except (ValueError, RecursionError) as error:
        raise InputError(file.path, "JSON", f"invalid JSON ({error})", "Write the file again.") from None
