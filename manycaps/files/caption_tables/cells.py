"""Values of the cells of a record: ids, captions in every form in which programs write them, images and videos."""

import ast
import json
import os
import re
import warnings
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from manycaps.kit.errors import InputError, quote_path, quote_value
from manycaps.kit.files import inline_bytes
from manycaps.kit.rows import as_caption_rows, is_plain_row, looks_like_list

from .columns import IMAGE_COLUMNS, VIDEO_COLUMNS, Layout, first_name

# Lone surrogates, which UTF-8 cannot encode; some stand for a byte that is not UTF-8 (PEP 383).
SURROGATE, OTHER_BYTE = re.compile("[\ud800-\udfff]"), re.compile("[\udc80-\udcff]")


# One item as Python writes it, alone or as a string of NumPy, and what stands before the next: NumPy writes no commas.
ITEM = re.compile(r"""\s*(np\.str_\()?('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")(?(1)\))(?:\s*,|(?=[\s\])]))""", re.DOTALL)


class Values(NamedTuple):
    """Checked values of a record in the columns of a layout."""

    id: str | None
    predictions: list[str] | None
    references: list[str] | None
    image: str | bytes | None
    video: str | bytes | None


def read_values(
    record: Mapping[str, Any], layout: Layout, row: int, *, one_side: bool = False, optional: Collection[str] = ()
) -> Values:
    """Read the columns of a layout from a record, and check them.

    With `one_side`, predictions or references may be missing, but not both. Of the roles in `optional`, what is neither
    a path nor bytes counts as none. A value that is missing or not of its kind raises a TypeError or ValueError.

    >>> read_values({"id": 7, "captions": ["a dog"]}, Layout("captions", None, "id", None, None), 0)
    Values(id='7', predictions=['a dog'], references=None, image=None, video=None)
    """
    predictions, references = layout.predictions, layout.references
    if one_side:
        given = [name if name is not None and record.get(name) is not None else None for name in layout[:2]]
        predictions, references = given if any(given) else layout[:2]
    return Values(
        read_id(record, layout, row),
        _captions(record, predictions, row),
        _captions(record, references, row),
        *(_medium(record, getattr(layout, role), row, is_optional=role in optional) for role in ("image", "video")),
    )


def read_id(record: Mapping[str, Any], layout: Layout, row: int) -> str | None:
    """Return the id of a record as text; None if the layout has no such column."""
    if layout.id is None:
        return None
    value = record.get(layout.id)
    if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
        got = "none" if value is None or value == "" else f"{type(value).__name__} ({quote_value(value)})"
        fix = "Write it, or leave the row out."
        raise InputError(f"{layout.id}[{row}]", "an id (text or a whole number)", got, fix)
    return str(value) if isinstance(value, int) else _unicode(value, f"{layout.id}[{row}]")


def _captions(record: Mapping[str, Any], name: str | None, row: int) -> list[str] | None:
    """Captions of one column; a string is one caption."""
    if name is None:
        return None
    value = record.get(name)
    if is_plain_row(value):
        return value
    if isinstance(value, str) and not looks_like_list(value) and is_plain_row(single := [value]):
        return single
    if not isinstance(value, str):
        value = texts_of_output(value)
    if value is None:
        raise InputError(f"{name}[{row}]", "captions", "none", "Write them, or leave the row out.")
    if isinstance(value, list) and value and all(isinstance(item, dict) and "caption" in item for item in value):
        if len(item_names(value)) > 1:
            got = f"objects of {len(item_names(value))}, such as {quote_value(value[0])}"
            raise InputError(f"{name}[{row}]", "the captions of one row", got, "Write them as rows of their own.")
        value = [item["caption"] for item in value]  # as the COCO caption code takes them
    if isinstance(value, str) and looks_like_list(value):
        value = read_list(value, f"{name}[{row}]")
        warnings.warn(f"{name}: cells hold lists of captions, and each item is read as a caption.", stacklevel=2)
    try:
        return as_caption_rows([value], name)[0]
    except InputError as error:
        texts = [value] if isinstance(value, str) else value if isinstance(value, list) else []
        joined = "".join(text for text in texts if isinstance(text, str))
        if OTHER_BYTE.search(joined):
            _unicode(joined, f"{name}[{row}]")
        raise error.replace(f"{name}[0]", f"{name}[{row}]") from None


def item_names(captions: Sequence[object]) -> set[str]:
    """Return the names of the images and videos that a list of objects with captions is of.

    >>> sorted(item_names([{"image_id": 1, "caption": "a dog"}, {"image_id": 2, "caption": "a cat"}, "a man"]))
    ['1', '2']
    """
    usual = ("image_id", "video_id", *IMAGE_COLUMNS, *VIDEO_COLUMNS)
    named = ((item, first_name(item, usual)) for item in captions if isinstance(item, dict))
    return {str(item[name]) for item, name in named if name is not None}


def texts_of_output(value: Any) -> Any:
    """Return the texts in a value as programs write their answers; any other value as it is.

    These are the choices of a chat completion, the outputs of vLLM, the lists of pipelines and of lmms-eval, and the
    last answer of a conversation. A response that failed has none.

    >>> texts_of_output({"status_code": 200, "body": {"choices": [{"message": {"content": "a dog"}}]}})
    ['a dog']
    >>> texts_of_output([{"text": "a dog", "index": 0}, {"text": "a cat", "index": 1}]), texts_of_output([["a dog"]])
    (['a dog', 'a cat'], ['a dog'])
    >>> texts_of_output([{"role": "user", "content": "Describe."}, {"role": "assistant", "content": "a dog"}])
    ['a dog']
    """
    if isinstance(value, dict):
        body = value.get("body", value)
        choices = body.get("choices") if isinstance(body, dict) else None
        if isinstance(choices, list):
            return texts_of_output(choices) or None
        return None if "status_code" in value else value
    if not isinstance(value, list) or not value:
        return value
    if all(isinstance(item, list) for item in value):
        inner = [text for item in value for text in item]
        return inner if all(isinstance(text, str) for text in inner) else value
    if not all(isinstance(item, dict) for item in value):
        return value
    if all("role" in item for item in value):
        answers = [item for item in value if item["role"] == "assistant"]
        return [_text_of(answers[-1])] if answers else None
    texts = [_text_of(item) for item in value]
    return value if None in texts else texts


def _text_of(item: Mapping[str, Any]) -> Any:
    """The text of one answer; None where there is none."""
    item = item["message"] if isinstance(item.get("message"), dict) else item
    text = next((item[name] for name in ("generated_text", "text", "content") if name in item), None)
    if isinstance(text, list) and all(isinstance(part, dict) for part in text):
        return "".join(str(part["text"]) for part in text if isinstance(part.get("text"), str))
    return text


def _medium(record: Mapping[str, Any], name: str | None, row: int, *, is_optional: bool) -> str | bytes | None:
    """Path or bytes of an image or a video; an image column of `datasets` holds both."""
    if name is None:
        return None
    value = record.get(name)
    if isinstance(value, dict) and {"bytes", "path"} >= set(value):
        value = value.get("bytes") or value.get("path")
    if value and isinstance(value, bytes):
        return value
    if is_optional and not (value and isinstance(value, str) and not SURROGATE.search(value)):
        return None
    if not value or not isinstance(value, str):
        got = "none" if not value else f"{type(value).__name__} ({quote_value(value)})"
        raise InputError(f"{name}[{row}]", "a path or the bytes of a file", got, "Leave the row out.")
    inline = inline_bytes(value, f"{name}[{row}]")
    return _unicode(value, f"{name}[{row}]") if inline is None else inline


def _unicode(text: str, where: str) -> str:
    """Return a text if UTF-8 can encode it: no half of a surrogate pair, no byte that was no UTF-8."""
    surrogate = SURROGATE.search(text)
    if surrogate is None:
        return text
    byte = OTHER_BYTE.match(surrogate[0])
    got = f"the byte {ord(surrogate[0]) - 0xDC00:#04x}" if byte else f"half a character, {surrogate[0]!a}"
    raise InputError(where, "UTF-8 text", got, "Save the file as UTF-8, or leave the row out.")


def read_list(cell: str, where: str) -> list[str]:
    r"""Read a list of strings in a cell that looks like one; raise a ValueError if it is not a list.

    >>> read_list("['a dog' \"a cat's tail\"]", "captions[0]"), read_list('["a dog", "a cat"]', "captions[0]")
    (['a dog', "a cat's tail"], ['a dog', 'a cat'])
    """
    items = _json_items(cell)
    items = _python_items(cell.strip()) if items is None else items
    if items is None or not all(isinstance(item, str) for item in items):
        got = f"{quote_value(cell)}, which looks like a list and cannot be read as one"
        fix = 'Write it as JSON, ["a dog", "a cat"], or leave the row out.'
        raise InputError(where, "a caption or a list of captions", got, fix)
    return items


def _json_items(cell: str) -> list[str] | None:
    try:
        items = json.loads(cell)
    except (ValueError, RecursionError):
        return None
    return items if isinstance(items, list) else None


def _python_items(cell: str) -> list[str] | None:
    """Items of a list of Python or NumPy, or a tuple; `ast.literal_eval` would join strings without commas."""
    items, start = [], 1
    while match := ITEM.match(cell, start):
        try:
            items.append(str(ast.literal_eval(match[2])))
        except (ValueError, SyntaxError):
            return None
        start = match.end()
    return items if cell[start:].strip() in ("]", ")") else None


def record_name(record: Mapping[str, Any], column: str, path: str | os.PathLike[str], i: int) -> str:
    """Return the name of a system or an item in record i of a table."""
    value = record.get(column)
    if isinstance(value, float) and value.is_integer():  # whole numbers of a column in which some are missing
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
        error = InputError(f"{column}[{i}]", "a name", quote_value(value), "Write it, or leave the line out.")
        raise error.within(quote_path(path))
    return str(value)
