"""Captions with an encoder, and rows of vectors around a point."""

import numpy as np

from manycaps.kit.vectors_rows import as_embedding_rows
from manycaps.kit.vectors_sentences import ENCODER_DEFAULTS, SentenceEncoder

CAPTIONS = ["a dog", "two dogs run on the beach", "a cat", "", "a very long caption about a dog and a cat on a sofa"]


def options(**changes):
    return {**ENCODER_DEFAULTS, **changes}


def no_bar(steps, **_):
    return steps


def embed(captions, encoder_object=None, **changes):
    return (encoder_object or SentenceEncoder()).embed(captions, options(**changes), no_bar)


def rows_of(seed, n_rows=60, m=3, n=6, d=4, spread=1.0, shift=0.0):
    """Rows whose texts scatter around a point of the row."""
    rng = np.random.default_rng(seed)
    middle = rng.normal(size=(n_rows, 1, d))
    people, mine = (middle + 0.5 * rng.normal(size=(n_rows, size, d)) for size in (n, m))
    return as_embedding_rows(shift + middle + spread * (mine - middle), people)
