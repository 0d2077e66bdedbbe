"""Count in how many captions each token of CLIP occurs: the table that emscore_pac takes as `idf`."""

import json
import pathlib
from collections.abc import Iterable
from typing import Any

import open_clip
from tqdm import tqdm

from manycaps.caption_tables import CaptionColumn, caption_lists, open_captions
from manycaps.kit.clip_model import first_tokens
from manycaps.kit.clip_token_matching import count_tokens
from manycaps.saved_files import check_can_be_written, write_text_atomically

# Tokens that every published CLIP reads of a text, start and end included (open_clip, tokenizer.py).
CONTEXT_LENGTH = 77


def captions_of_file(path: str, column: str) -> list[str]:
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


def count_captions(file: str, output: pathlib.Path, *, column: str = "references") -> dict[str, Any]:
    """Count tokens and write the table; the file appears whole or not at all.

    Args:
        file: of captions.
        output: the new file.
        column: of the captions.

    Returns:
        The table, as `idf` takes it.

    Raises:
        TypeError, ValueError, OSError: the captions cannot be used, or the file cannot be written.
    """
    check_can_be_written(output)
    table = token_table(tqdm(captions_of_file(file, column), unit="caption"))
    write_text_atomically(output, json.dumps(table))
    return table
