"""Rows of captions out of any file that `datasets` or a demo page reads, or of a data set on the Hub, as a stream."""

import gzip
import pathlib
from collections.abc import Iterable, Iterator
from typing import Any

from manycaps.shared_caption_rows import as_caption_rows
from manycaps.shared_demo_files import FILE_KINDS, IMAGE_COLUMN, Entry, ImageCaptions, file_entries, image_captions
from manycaps.shared_input_files import is_folder, is_regular_file
from manycaps.shared_messages import is_in_house_form, reason_of, shown_path

# Endings of files; ".gz" after those of text is allowed.
ENDINGS = (*FILE_KINDS, ".parquet")

# Longest name of a data set on the Hub: an owner and a name of 96 letters each at most.
LONGEST_HUB_NAME = 193

# How a column is chosen, for messages.
HOW = "with --column"


def load_rows(
    source: str,
    column: str | None = None,
    group_by: str | None = None,
    split: str | None = None,
    config: str | None = None,
) -> Iterator[list[str]]:
    """Stream the rows of captions of a file or a data set.

    Args:
        source: path of a file whose ending is in `ENDINGS`, folder of a saved data set, or name on the Hub.
        column: column of the captions, each a list of strings or one string; None: the one usual name
            (`manycaps/shared_demo_files.py`, CAPTION_COLUMNS) that the source has.
        group_by: column that says which image or video a line belongs to; lines with equal values that follow each
            other are one row. None: in text files the column `image`, if lines hold single captions; else a line is a
            row.
        split: split of a data set on the Hub; default "train".
        config: configuration of a data set on the Hub.

    Yields:
        Lists of captions.

    Raises:
        ValueError: the kind of file is unknown; there is no such column, or several usual ones; a row is not a list of
            captions; lines of one image do not follow each other.
        TypeError: a caption is no string.
    """
    path = pathlib.Path(source)
    is_file = is_regular_file(path)
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() != ".gz"]
    kind = suffixes[-1] if suffixes else ""
    is_text = is_file and kind in FILE_KINDS
    entries = _text_entries(path, kind) if is_text else _data_set_entries(source, split, config)
    entries = _readable(entries, source)
    lines = _checked(image_captions(entries, source, column, group_by, HOW, is_text), source)
    return _grouped(lines, f"{source}: {group_by or IMAGE_COLUMN}")


def source_name(source: str) -> str:
    """Short name of a source for tables.

    >>> source_name("data/flickr8k.jsonl.gz"), source_name("someone/captions")
    ('flickr8k', 'captions')
    """
    name = pathlib.PurePath(source).name
    while pathlib.PurePath(name).suffix in (*ENDINGS, ".gz"):
        name = pathlib.PurePath(name).stem
    return name


def _text_entries(path: pathlib.Path, kind: str) -> Iterator[Entry]:
    """What a text file says, line by line."""
    open_text = gzip.open if path.suffix.lower() == ".gz" else open
    with open_text(path, "rt", encoding="utf-8-sig") as file:
        yield from file_entries(file, kind, str(path))


def _readable(entries: Iterator[Entry], source: str) -> Iterator[Entry]:
    """Pass entries on, and turn whatever a library raises while it reads into a message that names the source."""
    try:
        yield from entries
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        raise ValueError(f"{source}: expected UTF-8 text, got the byte {byte:#04x}. Save it as UTF-8.") from error
    except EOFError as error:
        raise ValueError(f"{source}: expected a whole .gz file, got one that ends too early. Copy it again.") from error
    except Exception as error:  # gzip, zlib, pyarrow, fsspec, datasets and huggingface_hub each raise their own
        if is_in_house_form(error):
            raise
        raise ValueError(
            f"{shown_path(source)}: expected a file, a saved data set or a name on the Hub, got {type(error).__name__} "
            f"({reason_of(error)}). Check the file, the spelling, and --split and --config."
        ) from error


def _data_set_entries(source: str, split: str | None, config: str | None) -> Iterator[Entry]:
    """Rows of a parquet file, a saved data set or a data set on the Hub."""
    import datasets

    path = pathlib.Path(source)
    rows: Iterable[Any]
    if is_folder(path):
        saved = datasets.load_from_disk(path)
        rows = saved[split or "train"] if isinstance(saved, datasets.DatasetDict) else saved
    elif path.suffix.lower() == ".parquet" and is_regular_file(path):
        rows = datasets.load_dataset("parquet", data_files=str(path), split="train", streaming=True)
    elif is_regular_file(path):
        raise ValueError(
            f"{source}: expected a file of one of the kinds {', '.join(ENDINGS)} (or .gz of text), got "
            f"{''.join(path.suffixes) or 'no suffix'}. Convert it, or rename it."
        )
    elif path.suffix.lower() in (*ENDINGS, ".gz") or path.is_absolute() or len(source) > LONGEST_HUB_NAME:
        raise ValueError(f"{shown_path(source)}: expected a file, got none of that name. Check the path.")
    else:
        rows = datasets.load_dataset(source, config, split=split or "train", streaming=True)
    yield from (Entry(f"row {i}", row) for i, row in enumerate(rows))


def _checked(lines: Iterable[ImageCaptions], source: str) -> Iterator[ImageCaptions]:
    """Check every line's captions; the messages are those of every module, with this line's number."""
    n_lines = 0
    for n_lines, line in enumerate(lines, start=1):
        where = f"{source}: {line.column}"
        try:
            captions = as_caption_rows([line.captions], where)[0]
        except (TypeError, ValueError) as error:
            raise type(error)(str(error).replace(f"{where}[0]", f"{where}[{n_lines - 1}]", 1)) from None
        yield line._replace(captions=captions)
    if not n_lines:
        raise ValueError(f"{source}: expected at least one line, got none. Give a file with captions.")


def _grouped(lines: Iterable[ImageCaptions], where: str) -> Iterator[list[str]]:
    """Join the lines of one image or video, which must follow each other: nothing but their names is remembered."""
    seen = set()
    captions: list[str] = []
    image = None
    for line in lines:
        if captions and line.image is not None and line.image == image:
            captions.extend(line.captions)
            continue
        if line.image is not None and line.image in seen:
            raise ValueError(
                f"{where}: expected the lines of {str(line.image)[:40]!r} to follow each other, got others between "
                "them. Sort the file by that column."
            )
        if captions:
            yield captions
        if line.image is not None:
            seen.add(line.image)
        image, captions = line.image, line.captions
    if captions:
        yield captions
