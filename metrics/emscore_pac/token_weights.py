"""Weights of tokens by inverse document frequency, counted here or read from a table: a JSON file or a mapping."""

import math
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeGuard

import numpy as np

from .shared_input_files import is_regular_file, read_json
from .shared_messages import shown_path, shown_value

# What a table looks like; part of every message about a bad one.
TABLE_LAYOUT = '{"n_documents": 8092, "document_frequency": {"dog</w>": 312, ...}}'

# How to make one; part of the messages too.
HOW_TO_MAKE_A_TABLE = "Make one with `manycaps count-token-frequency`."

# Token number with which CLIP's tokenizer fills a text up to 77. The authors count it like any other, so it is in every
# document and weighs nothing; no word ends in this token, it only stands for an exclamation mark inside one.
PADDING = 0


# Most documents of a table: float64 holds every whole number up to here.
MOST_DOCUMENTS = 2**53


class TokenFrequency(NamedTuple):
    """Number of captions with each token, and the number of all captions."""

    # Without the start token, the end token and the padding, which every caption has.
    counts: Mapping[int, int]
    n_documents: int


class TokenWeights(NamedTuple):
    """Weight of each token."""

    known: Mapping[int, float]
    # Of a token that is in no document.
    unseen: float

    def of(self, ids: Sequence[int]) -> np.ndarray:
        """Return the weights of one text's tokens, float64, shape (n_tokens,)."""
        return np.array([self.known.get(i, self.unseen) for i in ids])


# Every token counts the same.
EQUAL_WEIGHTS = TokenWeights({}, 1.0)


def count_tokens(texts: Iterable[Sequence[int]]) -> TokenFrequency:
    """Count in how many texts each token occurs.

    Args:
        texts: token numbers with the start token first and the end token last.

    Returns:
        The counts.

    >>> count_tokens([(7, 1, 1, 8), (7, 1, 2, 8)])
    TokenFrequency(counts={1: 2, 2: 1}, n_documents=2)
    """
    documents = [set(ids[1:-1]) - {PADDING} for ids in texts]
    return TokenFrequency(dict(Counter(i for document in documents for i in sorted(document))), len(documents))


def inverse_document_frequency(frequency: TokenFrequency, start: int, end: int) -> TokenWeights:
    """Turn counts into weights: log((N + 1) / (c + 1)), after Shi et al. (2022), https://arxiv.org/abs/2111.08919.

    The start token and the padding are in every document and have weight 0. The end token gets the mean weight over
    all types, those two and itself (0) included: the authors' program does so, which makes it one of the largest
    weights in a caption of frequent words.

    Args:
        frequency: counts.
        start: number of the start token.
        end: number of the end token.

    Returns:
        Weights, at least 0; that of the end token is above 0.

    Raises:
        ValueError: every token is in every document, so that all weights are 0.

    >>> weights = inverse_document_frequency(TokenFrequency({1: 1, 2: 3}, 3), start=7, end=8)
    >>> {i: round(weight, 4) for i, weight in weights.known.items()}, round(weights.unseen, 4)
    ({1: 0.6931, 2: 0.0, 0: 0.0, 7: 0.0, 8: 0.1386}, 1.3863)
    """
    n = frequency.n_documents
    known = {i: math.log((n + 1) / (count + 1)) for i, count in frequency.counts.items()}
    known |= {PADDING: 0.0, start: 0.0, end: 0.0}
    known[end] = math.fsum(known.values()) / len(known)
    if known[end] == 0:
        raise ValueError(
            f"idf: expected captions that differ in their words, got {n} with the same, which have no weight at all. "
            f"Give idf=False, or a table. {HOW_TO_MAKE_A_TABLE}"
        )
    return TokenWeights(known, math.log(n + 1))


def check_idf(source: object) -> None:
    """Raise unless `source` is True, False, a mapping, or the path of a file that exists; no table is read.

    Raises:
        TypeError: another type.
        ValueError: there is no such file.
    """
    if isinstance(source, bool | Mapping):
        return
    if not isinstance(source, str | os.PathLike):
        raise TypeError(
            f"idf: expected True, False, a path to a JSON file or a mapping, got {type(source).__name__}. "
            f"{HOW_TO_MAKE_A_TABLE}"
        )
    if not is_regular_file(source):
        raise ValueError(f"idf: expected a JSON file, got no file at {shown_path(source)}. {HOW_TO_MAKE_A_TABLE}")


def load_token_frequency(
    source: str | os.PathLike[str] | Mapping[str, Any], vocabulary: Mapping[str, int]
) -> TokenFrequency:
    """Read and check a table.

    Args:
        source: path of a JSON file, or a mapping, of the layout `TABLE_LAYOUT`: every count a whole number from 1 to
            n_documents.
        vocabulary: number of each token of CLIP's tokenizer; words end in "</w>".

    Returns:
        The counts by token number.

    Raises:
        ValueError: the file is no JSON, or the table has another layout; the message names the first bad entry.

    >>> table = {"n_documents": 2, "document_frequency": {"dog</w>": 1}}
    >>> load_token_frequency(table, {"dog</w>": 1929})
    TokenFrequency(counts={1929: 1}, n_documents=2)
    """
    table = source if isinstance(source, Mapping) else read_json(source, "idf", HOW_TO_MAKE_A_TABLE)
    counts = table.get("document_frequency") if isinstance(table, Mapping) else None
    n_documents = table.get("n_documents") if isinstance(table, Mapping) else None
    if not isinstance(counts, Mapping) or not _is_whole(n_documents) or not 1 <= n_documents <= MOST_DOCUMENTS:
        raise ValueError(f"idf: expected the layout {TABLE_LAYOUT}, got {shown_value(table)}. {HOW_TO_MAKE_A_TABLE}")
    for token, count in counts.items():
        if token not in vocabulary:
            raise ValueError(
                f"idf[{shown_value(token)}]: expected a token of CLIP's vocabulary, such as 'dog</w>', got none. "
                f"{HOW_TO_MAKE_A_TABLE}"
            )
        if not _is_whole(count) or not 1 <= count <= n_documents:
            raise ValueError(
                f"idf[{shown_value(token)}]: expected a whole number from 1 to n_documents={n_documents}, got "
                f"{shown_value(count)}. {HOW_TO_MAKE_A_TABLE}"
            )
    return TokenFrequency({vocabulary[token]: count for token, count in counts.items()}, n_documents)


def _is_whole(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)
