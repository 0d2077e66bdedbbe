"""Count in how many captions each token of CLIP occurs: the table that emscore_pac takes as `idf`."""

import argparse
import json
import pathlib
import sys
from collections.abc import Iterable
from typing import Any

import datasets
import open_clip
from tqdm import tqdm

from manycaps.saved_files import write_atomically
from manycaps.shared_caption_rows import as_caption_rows
from manycaps.token_weights import count_tokens

# Loader of `datasets` for a file name's ending.
LOADERS = {".json": "json", ".jsonl": "json", ".csv": "csv", ".parquet": "parquet"}

# Tokens that every published CLIP reads of a text, start and end included (open_clip, tokenizer.py).
CONTEXT_LENGTH = 77


def read_captions(path: pathlib.Path, column: str) -> list[str]:
    """Return all captions of a file.

    Raises:
        TypeError, ValueError: the file's ending, the column or a caption is not as expected.
    """
    if path.suffix not in LOADERS:
        raise ValueError(f"{path}: expected a file ending in {', '.join(LOADERS)}, got {path.suffix or 'no ending'}.")
    table = datasets.load_dataset(LOADERS[path.suffix], data_files=str(path), split="train")
    if column not in table.column_names:
        raise ValueError(f"{path}: expected a column {column}, got {', '.join(table.column_names)}.")
    return [caption for row in as_caption_rows(table[column], column, string_is_one_caption=True) for caption in row]


def token_table(captions: Iterable[str]) -> dict[str, Any]:
    """Count the tokens of captions, and name them as CLIP's vocabulary does."""
    tokenizer = open_clip.SimpleTokenizer()
    ends = tokenizer.sot_token_id, tokenizer.eot_token_id
    texts = ((ends[0], *tokenizer.encode(caption)[: CONTEXT_LENGTH - 2], ends[1]) for caption in captions)
    frequency = count_tokens(texts)
    counts = {tokenizer.decoder[i]: count for i, count in sorted(frequency.counts.items())}
    return {"n_documents": frequency.n_documents, "document_frequency": counts}


def count_captions(arguments: argparse.Namespace) -> None:
    """Count and write the table; the file appears whole or not at all.

    Raises:
        TypeError, ValueError, OSError: the captions cannot be used, or the file cannot be written.
    """
    table = token_table(tqdm(read_captions(arguments.file, arguments.column), unit="caption"))
    text = json.dumps(table)
    write_atomically(arguments.output, lambda target: target.write_text(text, encoding="utf-8"))
    n_tokens = len(table["document_frequency"])
    print(f"{n_tokens:,} tokens in {table['n_documents']:,} captions: {arguments.output}", file=sys.stderr)
