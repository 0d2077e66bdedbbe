"""Records of a JSON file: a list, an object from names to captions, or a file of COCO annotations."""

import json
from collections.abc import Iterator
from typing import Any

from manycaps.caption_tables.columns import CAPTION_COLUMNS, PREDICTION_COLUMNS, REFERENCE_COLUMNS
from manycaps.caption_tables.files import TableFile, open_bytes
from manycaps.caption_tables.pieces import Record, Unreadable
from manycaps.caption_tables.text_records import MARK, as_values


def json_records(file: TableFile) -> Iterator[Record | Unreadable]:
    """Read a JSON file, which is held as a whole.

    A list holds objects or lists of captions; an object goes from an id to its captions; `images` and `annotations` are
    those of COCO. A file of JSON Lines is understood too.

    Raises:
        ValueError: it is no JSON, or none of these.
    """
    with open_bytes(file.path, file.compressed) as stream:
        content = _parsed(stream.read().removeprefix(MARK), file.path)
    if isinstance(content, dict) and isinstance(content.get("annotations"), list):
        content = list(_annotations(content))
    elif isinstance(content, dict) and not _is_record(content):
        content = [{"id": name, "captions": value} for name, value in content.items()]
    for row, value in enumerate(content if isinstance(content, list) else [content]):
        try:
            yield Record(row, as_values(value, row))
        except ValueError as error:
            yield Unreadable(row, str(error))


def _parsed(text: bytes, path: str) -> Any:
    try:
        try:
            return json.loads(text)
        except json.JSONDecodeError as error:
            if error.msg != "Extra data":
                raise
            return [json.loads(line) for line in text.split(b"\n") if line.strip()]
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: expected JSON, got none ({error}). Write the file again.") from None


def _is_record(content: dict[str, Any]) -> bool:
    """Whether an object is one row, and not a table of rows by their names."""
    return any(name in content for name in (*PREDICTION_COLUMNS, *REFERENCE_COLUMNS, *CAPTION_COLUMNS))


def _annotations(content: dict[str, Any]) -> Iterator[Any]:
    """Annotations of COCO with the names of their images' files."""
    images = content.get("images")
    files = {
        image["id"]: image["file_name"]
        for image in (images if isinstance(images, list) else [])
        if isinstance(image, dict) and {"id", "file_name"} <= set(image)
    }
    for annotation in content["annotations"]:
        name = files.get(annotation.get("image_id")) if isinstance(annotation, dict) else None
        yield annotation if name is None else {**annotation, "image": name}
