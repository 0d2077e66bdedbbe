"""Distances of the captions of a row for rewards: equal texts have distance 0, a text without a word is far from all.

A model in training searches its reward for weak spots. So a text that has no vector (no word, or none that the distance
knows) is as far from every other text as any can be; its distance from itself is 0, whatever its vector.
"""

import functools
import os
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from tqdm import tqdm

from ..kit.arrays import CaptionRows, Floats
from ..kit.errors import InputError, InputTypeError, quote_value
from ..kit.meteor_nltk import distances_from_meteor, meteor_scorer
from ..kit.ngrams import (
    HOW_TO_MAKE_A_TABLE,
    DocumentFrequency,
    check_document_frequency,
    check_enough_documents,
    document_frequencies,
    load_document_frequency,
    warn_of_equal_documents,
)
from ..kit.ngrams_cider import ngram_cosines
from ..kit.options import check_choice, check_is_number, check_options
from ..kit.rows import as_caption_rows, words_of_unknown
from ..kit.vectors_rows import text_distances
from ..kit.vectors_sentences import ENCODER_DEFAULTS, ENCODER_OPTIONS, SentenceEncoder
from ..kit.words_tokenizers import Tokenizer, check_tokenizer, ngram_tokens, same_tokens, tokenize_rows

# Distances by name.
REWARD_DISTANCES = ("bert", "cider", "meteor")

# Where document frequencies come from: a table, its path, or lists of references to be counted.
Documents = str | os.PathLike[str] | Mapping[str, Any] | Sequence[Sequence[str]]

# From n_rows lists of texts to n_rows symmetric arrays of their distances, shape (n_texts, n_texts).
RowDistances = Callable[[CaptionRows], list[Floats]]


def row_distances(
    distance: Any, *, documents: Documents | None, tokenizer: Tokenizer, encoder: Mapping[str, Any]
) -> RowDistances:
    """Return the distance of rows of texts that the options name."""
    check_tokenizer(tokenizer)
    given = {"document_frequency": documents is not None, "encoder_options": bool(encoder)}
    for name, needed in (("document_frequency", "cider"), ("encoder_options", "bert")):
        if given[name] and distance != needed:
            raise InputError(
                name, f"none, unless distance is {needed!r}", "some", "They would be ignored: leave them out."
            )
    if callable(distance):
        return lambda rows: [_symmetric(matrix) for matrix in text_distances(rows, distance)]
    check_choice("distance", distance, REWARD_DISTANCES)
    if distance == "bert":
        return EmbeddingDistances(encoder)
    if distance == "cider":
        return functools.partial(ngram_distances, documents=as_documents(documents, tokenizer), tokenizer=tokenizer)
    return functools.partial(meteor_row_distances, tokenizer=tokenizer)


def as_documents(documents: Documents | None, tokenizer: Tokenizer) -> DocumentFrequency:
    """Return document frequencies: of a table, or counted in lists of references, one document each."""
    if documents is None:
        fix = f"Give the lists of references of all its rows, or a table. {HOW_TO_MAKE_A_TABLE}"
        raise InputError("document_frequency", "frequencies of the training corpus", "none", fix)
    if isinstance(documents, str | os.PathLike | Mapping) or not hasattr(documents, "__len__"):
        check_document_frequency(documents)
        return load_document_frequency(documents, tokenizer)  # type: ignore[arg-type]
    rows = as_caption_rows(documents, "document_frequency")
    check_enough_documents(len(rows))
    tokens = ngram_tokens(rows, tokenizer)
    warn_of_equal_documents(tokens, "document_frequency")
    return DocumentFrequency(document_frequencies(tokens), len(rows))


class EmbeddingDistances:
    """Distances of sentence embeddings of length 1, sqrt(2 - 2 cosine): Euclidean, 0 to 2.

    A text without a word, or with a vector of zeros, or of which the encoder knows nothing, has distance 2 from every
    other text.
    """

    def __init__(self, options: Mapping[str, Any]):
        self._options = {**ENCODER_DEFAULTS, **options}
        unknown = sorted(set(self._options) - set(ENCODER_DEFAULTS))
        if unknown:
            raise InputTypeError(
                unknown[0], f"one of the options {', '.join(ENCODER_DEFAULTS)}", "another", "Leave it out."
            )
        check_options(ENCODER_OPTIONS, self._options)
        self._encoder, self._has_warned = SentenceEncoder(), False

    def check_references(self, references: CaptionRows) -> None:
        """Raise if the encoder knows nothing of a reference; warn once if it does not know a part of their words."""
        self._encoder.check_known({"references": references}, self._options)
        words = words_of_unknown(
            {}
            if self._has_warned
            else self._encoder.count_unread((text for row in references for text in row), self._options)
        )
        if words is not None:
            self._has_warned = True
            warnings.warn(f"references: {words}", stacklevel=2)

    def __call__(self, rows: CaptionRows) -> list[Floats]:
        """Return the distances of all pairs of texts of every row."""
        distinct = sorted({text for row in rows for text in row if has_word(text)})
        known = self._encoder.known(distinct, self._options) if distinct else None
        if known is not None:
            distinct = [text for text in distinct if not known[text].is_unknown]
        vectors = self._encoder.embed(distinct, self._options, tqdm) if distinct else np.zeros((0, 1))
        vectors = np.concatenate((vectors.astype(np.float64), np.zeros((1, vectors.shape[1]))))  # of no word
        lengths = np.linalg.norm(vectors, axis=1)
        vectors /= np.where(lengths > 0, lengths, 1.0)[:, None]
        numbers = {text: i for i, text in enumerate(distinct)}
        matrices = []
        for row in rows:
            index = np.array([numbers.get(text, -1) for text in row])
            matrix = np.sqrt(np.maximum(0.0, 2 - 2 * vectors[index] @ vectors[index].T))
            has_none = lengths[index] == 0
            matrix[has_none[:, None] | has_none] = 2.0
            matrices.append(matrix * ~same_tokens([(text,) for text in row]))
        return matrices


def has_word(text: str) -> bool:
    """Return whether a text has a letter or a digit.

    >>> has_word("a dog"), has_word(" . ")
    (True, False)
    """
    return any(map(str.isalnum, text))


def ngram_distances(rows: CaptionRows, documents: DocumentFrequency, tokenizer: Tokenizer) -> list[Floats]:
    """Return distances of tf-idf vectors of n-grams of 1 to 4 tokens: sqrt(2 - 2 CIDEr / 10), Euclidean, 0 to sqrt(2).

    CIDEr here is equation 2 of Vedantam et al. (2015), https://arxiv.org/abs/1411.5726: the mean over n of
    cosines, without the clipping and the penalty of CIDEr-D, which leave no distance. What a text lacks of length 1,
    because it has no n-gram of an order, or only n-grams of all documents, lies along an axis of its own.

    One float64 array of shape (n_texts, n_texts) for each row, symmetric, 0 on the diagonal and for equal tokens.

    >>> table = DocumentFrequency({"a": 2, "dog": 1, "cat": 1}, 2)
    >>> ngram_distances([["a dog", "a dog", "a cat", ""]], table, "ptb")[0].round(4)[0].tolist()
    [0.0, 0.0, 1.4142, 1.4142]
    """
    tokens = ngram_tokens(rows, tokenizer)
    return [
        np.sqrt(np.maximum(0.0, 2 - 2 * cosines)) * ~same_tokens(row)
        for row, cosines in zip(tokens, ngram_cosines(tokens, *documents), strict=True)
    ]


def meteor_row_distances(rows: CaptionRows, tokenizer: Tokenizer) -> list[Floats]:
    """Return distances 1 - METEOR (NLTK's), mean of both directions, 0 to 1."""
    tokens = tokenize_rows(rows, tokenizer)
    matrices = distances_from_meteor(tokens, meteor_scorer("nltk", None, tqdm)(tokens))
    return [_symmetric(matrix) for matrix in matrices]


def _symmetric(matrix: Floats) -> Floats:
    """Mean of both directions."""
    return (matrix + matrix.T) / 2


def kernel_of_distances(distances: Floats, kernel: str, sigma: float) -> Floats:
    """Return the kernel of texts from their distances, which are Euclidean: positive definite (Schoenberg 1938).

    `kernel` is "gaussian", exp(-d^2 / (2 sigma^2)), or "laplace", exp(-d / sigma); `sigma` is above 0, in the unit of
    the distances, float64 of any shape.

    >>> kernel_of_distances(np.array([0.0, 1.0]), "laplace", 1.0).round(4).tolist()
    [1.0, 0.3679]
    """
    check_is_number("sigma", sigma, "Give 0.5, for example.")
    if not 0 < sigma <= sys.float_info.max:
        raise InputError("sigma", "a positive number", quote_value(sigma), "Give 0.5, for example.")
    return np.exp(-(distances**2) / (2 * sigma**2)) if kernel == "gaussian" else np.exp(-distances / sigma)
