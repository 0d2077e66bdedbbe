"""Rows of captions out of any file that `datasets` reads, or out of a data set on the Hub, as a stream."""

import pathlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from manycaps.shared_caption_rows import as_caption_rows

# Builder of `datasets` for each kind of file; ".gz" after it is allowed.
BUILDERS = {".json": "json", ".jsonl": "json", ".csv": "csv", ".tsv": "csv", ".parquet": "parquet"}

# Columns that hold captions, the first that a file has is taken.
CAPTION_COLUMNS = ("references", "captions", "caption", "sentences", "descriptions", "text", "raw")


def load_rows(
    source: str,
    column: str | None = None,
    group_by: str | None = None,
    split: str | None = None,
    config: str | None = None,
) -> Iterator[list[str]]:
    """Stream the rows of captions of a file or a data set.

    Args:
        source: path of a JSON, JSONL, CSV, TSV or parquet file, folder of a saved data set, or name on the Hub.
        column: column of the captions, each a list of strings or one string; None: the first of `CAPTION_COLUMNS`.
        group_by: column that says which image or video a line belongs to; lines with equal values that follow each
            other are one row. None: a line is a row.
        split: split of a data set on the Hub; default "train".
        config: configuration of a data set on the Hub.

    Yields:
        Lists of captions.

    Raises:
        ValueError: the kind of file is unknown; there is no such column; a row is not a list of captions; equal values
            of `group_by` do not follow each other.
        TypeError: a caption is no string.
    """
    lines = _open_lines(source, split, config)
    rows = _checked_rows(lines, source, column, group_by)
    return (captions for _, captions in rows) if group_by is None else _grouped(rows, group_by)


def source_name(source: str) -> str:
    """Short name of a source for tables.

    >>> source_name("data/flickr8k.jsonl.gz"), source_name("someone/captions")
    ('flickr8k', 'captions')
    """
    name = pathlib.PurePath(source).name
    while pathlib.PurePath(name).suffix in (*BUILDERS, ".gz"):
        name = pathlib.PurePath(name).stem
    return name


def _open_lines(source: str, split: str | None, config: str | None) -> Iterable[Mapping[str, Any]]:
    import datasets

    path = pathlib.Path(source)
    if path.is_dir():
        saved = datasets.load_from_disk(path)
        return saved[split or "train"] if isinstance(saved, datasets.DatasetDict) else saved
    if not path.is_file():
        if path.suffix in (*BUILDERS, ".gz"):
            raise ValueError(f"{source}: expected a file, got none of that name. Check the path.")
        return datasets.load_dataset(source, config, split=split or "train", streaming=True)
    suffixes = [suffix for suffix in path.suffixes if suffix != ".gz"]
    builder = BUILDERS.get(suffixes[-1] if suffixes else "")
    if builder is None:
        raise ValueError(
            f"{source}: expected a file of one of the kinds {', '.join(BUILDERS)} (or .gz of it), got "
            f"{''.join(path.suffixes) or 'no suffix'}. Convert it, or rename it."
        )
    keywords = {"delimiter": "\t"} if suffixes[-1] == ".tsv" else {}
    return datasets.load_dataset(builder, data_files=str(path), split="train", streaming=True, **keywords)


def _checked_rows(
    lines: Iterable[Mapping[str, Any]], source: str, column: str | None, group_by: str | None
) -> Iterator[tuple[Any, list[str]]]:
    """Yield (value of group_by or None, captions) for each line."""
    n_lines = 0
    for n_lines, line in enumerate(lines, start=1):
        if n_lines == 1:
            column = _caption_column(list(line), source, column)
            if group_by is not None:
                _check_column(list(line), source, group_by)
        yield (
            line.get(group_by) if group_by else None,
            _as_captions(line.get(column), f"{source}: {column}", n_lines - 1),
        )
    if not n_lines:
        raise ValueError(f"{source}: expected at least one line, got none. Give a file with captions.")


def _caption_column(columns: Sequence[str], source: str, column: str | None) -> str:
    if column is not None:
        _check_column(columns, source, column)
        return column
    found = next((name for name in CAPTION_COLUMNS if name in columns), None)
    if found is None:
        raise ValueError(
            f"{source}: expected one of the columns {', '.join(CAPTION_COLUMNS)}, got {', '.join(columns)}. Name the "
            "column of the captions with --column."
        )
    return found


def _check_column(columns: Sequence[str], source: str, column: str) -> None:
    if column not in columns:
        raise ValueError(f"{source}: expected a column {column!r}, got {', '.join(columns)}. Check the spelling.")


def _as_captions(value: object, where: str, row: int) -> list[str]:
    """One line's captions; the messages are those of every module, with this line's number."""
    try:
        return as_caption_rows([value], where, string_is_one_caption=True)[0]
    except (TypeError, ValueError) as error:
        raise type(error)(str(error).replace(f"{where}[0]", f"{where}[{row}]", 1)) from None


def _grouped(rows: Iterable[tuple[Any, list[str]]], group_by: str) -> Iterator[list[str]]:
    """Join the lines of one image or video, which must follow each other: nothing but their names is remembered."""
    seen = set()
    name, captions = None, []
    for group, more in rows:
        if captions and group == name:
            captions.extend(more)
            continue
        if group in seen:
            raise ValueError(
                f"{group_by}: expected the lines of {str(group)[:40]!r} to follow each other, got others between them. "
                "Sort the file by that column."
            )
        if captions:
            yield captions
        seen.add(group)
        name, captions = group, more
    if captions:
        yield captions
