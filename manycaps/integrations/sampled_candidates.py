"""Candidates as `generate` and a Trainer give them, a row per sample, to lists of candidates per image."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from manycaps.kit.arrays import Ints
from manycaps.kit.errors import InputError
from manycaps.kit.options import check_whole_number

# What a Trainer writes in place of tokens where it joins batches of different lengths, in predictions as in labels.
JOINED = -100


def fold_candidates(texts: Sequence[str], n_candidates: int) -> list[list[str]]:
    """Fold texts that come one after the other, `n_candidates` for each image, as `num_return_sequences` gives them.

    Args:
        texts: n_images * n_candidates texts, those of an image next to each other.
        n_candidates: 1 or more.

    Returns:
        n_images lists of `n_candidates` texts.

    Raises:
        ValueError: the number of texts is no multiple of `n_candidates`.

    >>> fold_candidates(["a dog", "a wet dog", "a cat", "two cats"], 2)
    [['a dog', 'a wet dog'], ['a cat', 'two cats']]
    """
    check_whole_number("n_candidates", n_candidates, 1)
    texts = list(texts)
    if len(texts) % n_candidates:
        expected = f"{n_candidates} for each image, a multiple of {n_candidates}"
        raise InputError("texts", expected, f"{len(texts)} texts", "Give num_return_sequences as n_candidates.")
    return [texts[first : first + n_candidates] for first in range(0, len(texts), n_candidates)]


def decode_candidates(predictions: Any, tokenizer: Any) -> list[list[str]]:
    """Decode the predictions of a `Seq2SeqTrainer` (one candidate per image) or a `SamplingTrainer` (several).

    Args:
        predictions: tokens, shape (n_images, n_tokens), or (n_images, n_tokens, n_candidates); -100 is padding.
        tokenizer: of transformers, or a processor: what has `batch_decode`.

    Returns:
        n_images lists of candidates, without special tokens.

    Raises:
        ValueError: predictions have another shape, or are no whole numbers.

    The tokenizer of the example has three words:

    >>> class Tokenizer:
    ...     pad_token_id = 0
    ...     def batch_decode(self, tokens, skip_special_tokens):
    ...         return [" ".join(["", "dog", "cat"][token] for token in row if token) for row in tokens]
    >>> decode_candidates([[1, 2, -100], [2, 0, 0]], Tokenizer())
    [['dog cat'], ['cat']]
    """
    tokens = np.asarray(predictions)
    shapes = "tokens of shape (n_images, n_tokens) or (n_images, n_tokens, n_candidates)"
    if tokens.ndim not in (2, 3) or not np.issubdtype(tokens.dtype, np.integer):
        got = f"{tokens.dtype} of shape {tokens.shape}"
        raise InputError("predictions", shapes, got, "Set predict_with_generate=True in the training arguments.")
    padding = _padding_token(tokenizer)
    by_candidate: Ints = tokens[..., None] if tokens.ndim == 2 else tokens
    samples = np.where(by_candidate == JOINED, padding, by_candidate).transpose(0, 2, 1)  # candidates second
    texts = tokenizer.batch_decode(samples.reshape(-1, samples.shape[2]), skip_special_tokens=True)
    return fold_candidates(texts, samples.shape[1])


def _padding_token(tokenizer: Any) -> int:
    """Return the token that a tokenizer, or the tokenizer of a processor, leaves out of texts."""
    inner = getattr(tokenizer, "tokenizer", tokenizer)
    token = inner.eos_token_id if inner.pad_token_id is None else inner.pad_token_id
    if token is None:
        raise InputError("tokenizer", "one with a padding token", "none", "Set tokenizer.pad_token.")
    return int(token)
