"""Count in how many documents each n-gram occurs: the table that trm_cider takes as `document_frequency`."""

import argparse
import json
import pathlib
import sys

import datasets
from tqdm import tqdm

from manycaps.cider_distance import document_frequencies
from manycaps.saved_files import write_atomically
from manycaps.shared_caption_rows import as_caption_rows
from manycaps.shared_ptb_tokenizer import tokenize_captions

# Loader of `datasets` for a file name's ending.
LOADERS = {".json": "json", ".jsonl": "json", ".csv": "csv", ".parquet": "parquet"}


def read_documents(path: pathlib.Path, column: str, document: str | None) -> list[list[str]]:
    """Return the captions of each document.

    Raises:
        ValueError: the file's ending or a column is unknown; the message lists what there is.
    """
    if path.suffix not in LOADERS:
        raise ValueError(f"{path}: expected a file ending in {', '.join(LOADERS)}, got {path.suffix or 'no ending'}.")
    table = datasets.load_dataset(LOADERS[path.suffix], data_files=str(path), split="train")
    for name in filter(None, (column, document)):
        if name not in table.column_names:
            raise ValueError(f"{path}: expected a column {name}, got {', '.join(table.column_names)}.")
    if document is None:
        return as_caption_rows(table[column], column)
    documents: dict[object, list[str]] = {}
    for key, caption in zip(table[document], table[column], strict=True):
        documents.setdefault(key, []).append(caption)
    return as_caption_rows(documents.values(), column)


def count_documents(arguments: argparse.Namespace) -> None:
    """Count and write the table; the file appears whole or not at all.

    Raises:
        TypeError, ValueError, OSError: the captions cannot be used, or the file cannot be written.
    """
    documents = read_documents(arguments.file, arguments.column, arguments.document)
    counts = document_frequencies(tokenize_captions(captions) for captions in tqdm(documents, unit="document"))
    table = json.dumps({"n_documents": len(documents), "document_frequency": counts})
    write_atomically(arguments.output, lambda target: target.write_text(table, encoding="utf-8"))
    print(f"{len(counts):,} n-grams in {len(documents):,} documents: {arguments.output}", file=sys.stderr)
