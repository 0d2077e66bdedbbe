"""One column of captions, candidates or references, row by row; and any other table, as records."""

import functools
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from manycaps.kit.errors import InputError

from .columns import CaptionColumn, Layout, Reading, find_caption_layout
from .files import Record, TableFile, Unreadable, table_files
from .hub_records import hub_file
from .rows import good_rows
from .source import (
    CaptionSource,
    FileSide,
    are_single,
    are_splits,
    check_split_used,
    file_records,
    first_layout,
    names_of,
    warn_of_lines,
)

# One column of captions with a usual name.
ANY_COLUMN = CaptionColumn()


def open_captions(
    sources: Sequence[str], column: CaptionColumn = ANY_COLUMN, split: str | None = None, config: str | None = None
) -> CaptionSource:
    """Find files, or data sets on the Hub, with a column of captions, and describe how they are read.

    The captions are predictions of the source. Rows of single captions are put together by their ids, or the names of
    their images or videos; rows of lists only where `column` names a column for it. `split` is as for `open_source`,
    or a split of a data set on the Hub, `config` a configuration there.
    """
    files = [file for source in sources for file in _files(source, split, config)]
    reading = Reading(tuple(name for name in (column.captions, column.group) if name is not None), any_side=True)
    file, records, layout, wide = first_layout(files, functools.partial(find_caption_layout, chosen=column), reading)
    texts = [record.values.get(layout.predictions or "") for record in records]
    is_single = are_single(texts)
    if column.group is None:
        layout = layout._replace(id=_naming_column(layout, records, is_single=is_single))
    joins = layout.id is not None and (is_single or column.group is not None)
    if column.needs_group and is_single and not joins:
        expected = f"lists of captions in {layout.predictions}, or a column that names the item of each caption"
        raise InputError(file.path, expected, "single captions", f"Name that column with {column.group_option}.")
    side = FileSide(
        tuple(files), layout._replace(image=None, video=None), joins, holds_media=False, reading=reading, wide=wide
    )
    check_split_used(split, [side._replace(has_splits=are_splits(file, names_of(records)))])
    warn_of_lines(files)
    return CaptionSource(side, None, {}, None, is_stream=True)


def caption_lists(source: CaptionSource) -> Iterator[list[str]]:
    """Stream the captions of each row of `open_captions`; a bad one raises a ValueError that names file, row and id."""
    return (row.predictions or [] for row in good_rows(source.rows()))


def table_records(path: str | os.PathLike[str]) -> Iterator[Mapping[str, Any]]:
    """Read a table, with or without captions: values by the names of columns."""
    name = os.fspath(path)
    for file in table_files([name]):
        for record in file_records(file):
            if isinstance(record, Unreadable):
                raise record.reason.within(file.path)
            yield record.values


def _files(source: str, split: str | None, config: str | None) -> list[TableFile]:
    hub = hub_file(source, config, split or "train")
    return table_files([source], split) if hub is None else [hub]


def _naming_column(layout: Layout, records: Sequence[Record], *, is_single: bool) -> str | None:
    """The column that says what a row is of, if its values can be names; images may be there as pixels."""
    candidates = [layout.id, *((layout.image, layout.video) if is_single else ())]
    for name in candidates:
        values = [record.values.get(name) for record in records if name is not None]
        are_pixels = any(isinstance(value, bytes | dict) for value in values)
        # Rows of lists need no names, so a missing one does no harm.
        if values and not are_pixels and (is_single or None not in values):
            return name
    return None
