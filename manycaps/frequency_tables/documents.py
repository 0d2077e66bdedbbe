"""Count in how many documents each n-gram occurs: the table that trm_cider takes as `document_frequency`."""

import argparse
import pathlib
import sys

from tqdm import tqdm

from manycaps.cider_distance import document_frequencies
from manycaps.frequency_tables.caption_table import read_columns, write_frequencies
from manycaps.saved_files import check_can_be_written
from manycaps.shared_caption_rows import as_caption_rows
from manycaps.shared_messages import shown_value
from manycaps.shared_ptb_tokenizer import tokenize_captions


def read_documents(path: pathlib.Path, column: str, document: str | None) -> list[list[str]]:
    """Return the captions of each document.

    Raises:
        ValueError: the file's ending or a column is unknown; the message lists what there is.
    """
    if document is None:
        return as_caption_rows(read_columns(path, [column])[0], column)
    captions, keys = read_columns(path, [column, document])
    documents: dict[object, list[str]] = {}
    for i, (key, caption) in enumerate(zip(keys, captions, strict=True)):
        if not isinstance(key, str | int | float):
            raise ValueError(
                f"{document}[{i}]: expected the name of a document, got {shown_value(key)}. Name a column of names "
                "with --document."
            )
        documents.setdefault(key, []).append(caption)
    return as_caption_rows(documents.values(), column)


def count_documents(arguments: argparse.Namespace) -> None:
    """Count and write the table; the file appears whole or not at all.

    Raises:
        TypeError, ValueError, OSError: the captions cannot be used, or the file cannot be written.
    """
    check_can_be_written(arguments.output)
    documents = read_documents(arguments.file, arguments.column, arguments.document)
    counts = document_frequencies(tokenize_captions(captions) for captions in tqdm(documents, unit="document"))
    write_frequencies(arguments.output, len(documents), counts)
    print(f"{len(counts):,} n-grams in {len(documents):,} documents: {arguments.output}", file=sys.stderr)
