"""Count in how many captions each token of CLIP occurs: the table that emscore_pac takes as `idf`."""

import argparse
import sys
from collections.abc import Iterable
from typing import Any

import open_clip
from tqdm import tqdm

from manycaps.caption_tables import CaptionColumn, caption_lists, open_captions
from manycaps.frequency_tables.written_table import write_frequencies
from manycaps.saved_files import check_can_be_written
from manycaps.shared_clip_model import first_tokens
from manycaps.token_weights import count_tokens

# Tokens that every published CLIP reads of a text, start and end included (open_clip, tokenizer.py).
CONTEXT_LENGTH = 77


def read_captions(path: str, column: str) -> list[str]:
    """Return all captions of a file.

    Raises:
        TypeError, ValueError: the file's ending, the column or a caption is not as expected.
    """
    rows = caption_lists(open_captions([path], CaptionColumn(column)))
    return [caption for row in rows for caption in row]


def token_table(captions: Iterable[str]) -> dict[str, Any]:
    """Count the tokens of captions, and name them as CLIP's vocabulary does."""
    tokenizer = open_clip.SimpleTokenizer()
    ends = tokenizer.sot_token_id, tokenizer.eot_token_id
    texts = ((ends[0], *first_tokens(tokenizer, caption)[0][: CONTEXT_LENGTH - 2], ends[1]) for caption in captions)
    frequency = count_tokens(texts)
    counts = {tokenizer.decoder[i]: count for i, count in sorted(frequency.counts.items())}
    return {"n_documents": frequency.n_documents, "document_frequency": counts}


def count_captions(arguments: argparse.Namespace) -> None:
    """Count and write the table; the file appears whole or not at all.

    Raises:
        TypeError, ValueError, OSError: the captions cannot be used, or the file cannot be written.
    """
    check_can_be_written(arguments.output)
    table = token_table(tqdm(read_captions(arguments.file, arguments.column), unit="caption"))
    write_frequencies(arguments.output, table["n_documents"], table["document_frequency"])
    n_tokens = len(table["document_frequency"])
    print(f"{n_tokens:,} tokens in {table['n_documents']:,} captions: {arguments.output}", file=sys.stderr)
