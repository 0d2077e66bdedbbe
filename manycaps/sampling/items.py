"""What is sampled for: images of folders, tars and tables, and prompts."""

import os
import pathlib
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from manycaps.files.caption_tables.cells import read_values
from manycaps.files.caption_tables.columns import (
    ID_COLUMNS,
    IMAGE_COLUMNS,
    Layout,
    as_columns,
    check_files_of_columns,
    columns_of,
    no_column,
)
from manycaps.files.caption_tables.files import MEDIA_ENDINGS, Record, TableFile, find_medium, quote_source, table_files
from manycaps.files.caption_tables.hub_records import hub_file
from manycaps.files.caption_tables.source import file_records, first_records
from manycaps.kit.errors import VALUE_CHARACTERS, InputError, quote_value
from manycaps.sampling.answers import Sample
from manycaps.sampling.sample_options import SampleOptions

# Usual names of a column of prompts.
PROMPT_COLUMNS = ("prompt", "question", "instruction")

# Endings of files that are images.
IMAGE_ENDINGS = MEDIA_ENDINGS["image"]


class RowError(InputError):
    """A row has no samples; others may have."""


# The id of a row and its samples, or why it has none.
SampledRow: TypeAlias = "tuple[str, list[Sample] | RowError]"


class Item(NamedTuple):
    """An image, a prompt, or both."""

    id: str
    # Its column and row, for messages.
    where: str
    # Path, or encoded bytes.
    image: str | bytes | None
    prompt: str | None


def read_items(options: SampleOptions) -> Iterator[Item]:
    """Read all items, in the order of the sources."""
    sources = options.sources
    given = as_columns(options.columns)
    check_files_of_columns(given, sources)
    columns = columns_of(given, sources)
    names: dict[str, str] = {}
    for source in sources:
        for item in _items_of(source, options, columns, len(sources) > 1):
            _check_characters(item)
            if item.id in names:
                got = f"{quote_value(item.id)} also at {names[item.id]}"
                fix = "Name a column of different ids with --columns id=NAME, or leave --stems out."
                raise InputError(item.where, "ids that differ", got, fix)
            if options.limit is not None and len(names) == options.limit:
                return
            names[item.id] = item.where
            yield item
    if not names:
        raise InputError(sources[0], "at least one image or prompt", "none", "Check the path.")


def _check_characters(item: Item) -> None:
    """Raise if an id or a prompt cannot be written as UTF-8: half a surrogate pair, or a file name in other bytes."""
    for text, what, fix in ((item.id, "an id", "Rename it."), (item.prompt or "", "a prompt", "Correct it.")):
        try:
            text.encode()
        except UnicodeEncodeError:
            where = item.where.encode("ascii", "backslashreplace").decode()
            raise InputError(where, f"{what} in UTF-8", f"{text[:VALUE_CHARACTERS]!a}", fix) from None


def _items_of(source: str, options: SampleOptions, columns: Mapping[str, str], several: bool) -> Iterator[Item]:
    """Items of one source."""
    if paths := _image_paths(source):
        root = pathlib.Path(source) if os.path.isdir(source) else pathlib.Path(source).parent
        for path in paths:
            name = path.relative_to(root)
            shown = (name.with_suffix("") if options.stems else name).as_posix()
            yield Item(shown, f"image {path}", str(path), options.prompt)
        return
    hub = hub_file(source, None, options.split)
    files = table_files([source], options.split) if hub is None else [hub]
    layout, prompt = _layout(files, columns, options.images)
    for file in files:
        for record in file_records(file):
            if not isinstance(record, Record):
                raise record.reason.within(file.path)
            yield _item(file, record, layout, prompt, options, several or len(files) > 1)


def _image_paths(source: str) -> list[pathlib.Path]:
    """The images of a folder, at any depth, or a single one; none where a source is a table."""
    path = pathlib.Path(source)
    if path.is_dir():
        paths = (pathlib.Path(parent) / name for parent, _, names in os.walk(path) for name in names)
        return sorted(each for each in paths if each.suffix.lower() in IMAGE_ENDINGS)
    return [path] if path.suffix.lower() in IMAGE_ENDINGS and path.is_file() else []


def _layout(files: Sequence[TableFile], columns: Mapping[str, str], images: str | None) -> tuple[Layout, str | None]:
    """The columns of id and image, and the column of prompts."""
    file, records = first_records(files)
    names = list(dict.fromkeys(name for record in records for name in record.values))
    for role, name in columns.items():
        if name not in names:
            raise InputError(file.path, f"a column {name!r} of {role}", names, "Check --columns.")
    image = columns.get("image") or next((name for name in IMAGE_COLUMNS if name in names), None)
    prompt = next((name for name in PROMPT_COLUMNS if name in names), None)
    id_column = columns.get("id") or next((name for name in ID_COLUMNS if name in names), None)
    if image is None and prompt is None and images is None:
        expected = f"a column of images ({', '.join(IMAGE_COLUMNS)}) or of prompts ({', '.join(PROMPT_COLUMNS)})"
        raise no_column(quote_source(file.path), expected, names, "Name one with --columns image=NAME.")
    return Layout(None, None, id_column, image, None), prompt


def _item(
    file: TableFile, record: Record, layout: Layout, prompt: str | None, options: SampleOptions, several: bool
) -> Item:
    """One row of a table."""
    try:
        values = read_values(record.values, layout, record.row)
        number = f"{file.path}:{record.row}" if several else str(record.row)
        path = values.image if isinstance(values.image, str) else None
        name = values.id or path or number
        image = values.image
        if options.images is not None and not isinstance(image, bytes):
            image = find_medium(options.images, path, name, "image", record.row)
        asked = options.prompt if prompt is None else record.values.get(prompt)
        if prompt is not None and not (isinstance(asked, str) and asked.strip()):
            raise InputError(f"{prompt}[{record.row}]", "a text", quote_value(asked), "Write it, or leave the row out.")
    except InputError as error:
        raise error.within(file.path) from None
    return Item(name, f"{file.path}: {layout.image or prompt}[{record.row}]", image, asked)
