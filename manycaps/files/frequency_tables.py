"""Tables counted in captions: of n-grams for trm_cider and wording, and of CLIP's tokens for emscore_pac."""

import collections
import json
import pathlib
from collections.abc import Iterable
from typing import Any

from tqdm import tqdm

from manycaps.kit.errors import InputError
from manycaps.kit.ngrams import document_frequencies
from manycaps.kit.options import check_whole_number
from manycaps.kit.words_predictability import caption_trigrams
from manycaps.kit.words_tokenizers import check_tokenizer, ngram_tokens, recorded_name, tokenize_rows

from .caption_tables import CaptionColumn, caption_lists, open_captions
from .saved_files import check_can_be_written, write_text_atomically

# Tokens that every published CLIP reads of a text, start and end included (open_clip, tokenizer.py).
CONTEXT_LENGTH = 77


def write_document_counts(
    file: str,
    output: pathlib.Path,
    *,
    column: str = "references",
    document: str | None = None,
    tokenizer: str = "ptb",
    split: str | None = None,
) -> dict[str, Any]:
    """Count in how many documents each n-gram occurs, and write the table; the file appears whole or not at all.

    The table is what trm_cider takes as `document_frequency`, and the metric must be given the same tokenizer.
    `document` is the column that names the image or video where a row holds one caption, and `split` is for files with
    several. Raises TypeError, ValueError or OSError if the captions cannot be used or the file cannot be written.
    """
    check_tokenizer(tokenizer)
    check_can_be_written(output, [file])
    wanted = CaptionColumn(column, document, needs_group=True, group_option="--document")
    documents = list(caption_lists(open_captions([file], wanted, split)))
    counts = document_frequencies(tokenize_rows(tqdm(documents, unit="document"), tokenizer))
    table = {"n_documents": len(documents), "tokenizer": recorded_name(tokenizer), "document_frequency": counts}
    write_text_atomically(output, json.dumps(table))
    return table


def write_ngram_counts(
    file: str,
    output: pathlib.Path,
    *,
    column: str = "references",
    tokenizer: str = "ptb",
    least: int = 1,
    split: str | None = None,
) -> dict[str, Any]:
    """Count how often each trigram occurs, and write the table, which human_parity takes as `language_model`.

    Rows are read one after the other. Trigrams that occur less than `least` times are left out. Other arguments and
    errors as for `write_document_counts`.
    """
    check_tokenizer(tokenizer)
    check_whole_number("--least", least, 1)
    check_can_be_written(output, [file])
    counts, n_captions = collections.Counter[str](), 0
    for row in tqdm(caption_lists(open_captions([file], CaptionColumn(column), split)), unit="row"):
        for tokens in ngram_tokens([row], tokenizer)[0]:
            counts.update(caption_trigrams(tokens))
        n_captions += len(row)
    trigrams = {trigram: count for trigram, count in counts.items() if count >= least}
    table = {"n_captions": n_captions, "tokenizer": recorded_name(tokenizer), "trigrams": trigrams}
    if not trigrams:
        fix = "Lower --least, or give more captions."
        raise InputError(file, f"trigrams that occur {least} times", f"none in {n_captions:,} captions", fix)
    write_text_atomically(output, json.dumps(table))
    return table


def token_table(captions: Iterable[str]) -> dict[str, Any]:
    """Count in how many captions each token occurs; tokens are named as in CLIP's vocabulary."""
    import open_clip

    from manycaps.kit.clip_emscore import CLIP_TOKENIZER, count_tokens
    from manycaps.kit.clip_model import first_tokens

    tokenizer = open_clip.SimpleTokenizer()
    ends = tokenizer.sot_token_id, tokenizer.eot_token_id
    texts = ((ends[0], *first_tokens(tokenizer, caption)[0][: CONTEXT_LENGTH - 2], ends[1]) for caption in captions)
    frequency = count_tokens(texts)
    counts = {tokenizer.decoder[i]: count for i, count in sorted(frequency.counts.items())}
    return {"n_documents": frequency.n_documents, "tokenizer": CLIP_TOKENIZER, "document_frequency": counts}


def write_token_counts(
    file: str, output: pathlib.Path, *, column: str = "references", split: str | None = None
) -> dict[str, Any]:
    """Count in how many captions each token of CLIP occurs, and write the table, which emscore_pac takes as `idf`.

    Arguments, result and errors as for `write_document_counts`.
    """
    check_can_be_written(output, [file])
    rows = caption_lists(open_captions([file], CaptionColumn(column), split))
    captions = [caption for row in rows for caption in row]
    table = token_table(tqdm(captions, unit="caption"))
    write_text_atomically(output, json.dumps(table))
    return table
