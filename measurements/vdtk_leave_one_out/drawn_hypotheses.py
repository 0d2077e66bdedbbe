"""Which caption of every row is the hypothesis of an iteration, and which of the others are its references.

Chan, Myers et al. (2022), supplement B.1 and B.6, https://arxiv.org/abs/2205.06253.
"""

import collections
import hashlib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from .shared_row_texts import Ints, Masks, RowTexts

# Iterations that are drawn at once: a number, and with limited references a few more, per row and iteration.
BLOCK = 50


class Draw(NamedTuple):
    """An iteration."""

    # int64 array, shape (n_rows,): number of the text that is the hypothesis of each row.
    hypotheses: Ints
    # uint64 array, shape (n_rows, n_blocks): masks of its references.
    references: Masks
    # Whether the references are all other texts of the rows.
    is_whole: bool


def draws(
    rows: Sequence[Sequence[str]], texts: RowTexts, n_iterations: int, n_references: int | None, seed: int
) -> Iterator[Draw]:
    """Draw hypotheses, each caption of a row with equal probability, and references without replacement.

    What is drawn for a row depends on the seed and on its captions, not on its place; equal rows draw independently.

    Args:
        rows: n_rows lists of at least two captions.
        texts: their places.
        n_iterations: number of draws.
        n_references: most references of a row; None for all captions but the hypothesis.
        seed: whole number, at least 0.

    Yields:
        The iterations.

    >>> rows = [["a", "b"], ["c", "d", "e"]]
    >>> draw = next(draws(rows, RowTexts([2, 3]), 1, 1, seed=0))
    >>> draw.hypotheses.shape, draw.references.shape, draw.is_whole
    ((2,), (2, 1), False)
    """
    generators = _generators(rows, seed)
    for begin in range(0, n_iterations, BLOCK):
        n_drawn = min(BLOCK, n_iterations - begin)
        places = np.stack([g.integers(0, size, n_drawn) for g, size in zip(generators, texts.sizes, strict=True)])
        keys = None
        if n_references is not None:
            keys = np.concatenate(
                [g.random((size, n_drawn)) for g, size in zip(generators, texts.sizes, strict=True)]
            )  # (n_texts, n_drawn)
        for i in range(n_drawn):
            hypotheses = texts.first[:-1] + places[:, i]
            if keys is None or n_references is None:
                yield Draw(hypotheses, texts.others(hypotheses), True)
            else:
                yield Draw(hypotheses, _smallest(texts, hypotheses, keys[:, i], n_references), False)


def _smallest(texts: RowTexts, hypotheses: Ints, keys: np.ndarray, n_references: int) -> Masks:
    """Masks of the texts with the smallest keys of each row, but for the hypothesis."""
    keys = keys.copy()
    keys[hypotheses] = np.inf
    order = np.lexsort((keys, texts.row))
    is_chosen = (texts.place < np.minimum(n_references, texts.sizes - 1)[texts.row]).nonzero()[0]
    chosen = order[is_chosen]
    return texts.masks(texts.row[chosen], texts.place[chosen], len(texts.sizes))


def _generators(rows: Sequence[Sequence[str]], seed: int) -> list[np.random.Generator]:
    """Random numbers of every row."""
    n_earlier: collections.Counter[bytes] = collections.Counter()
    generators = []
    for row in rows:
        key = hashlib.blake2b(repr(list(row)).encode("utf-8", "surrogatepass"), digest_size=16).digest()
        generators.append(np.random.default_rng((seed, int.from_bytes(key, "big"), n_earlier[key])))
        n_earlier[key] += 1
    return generators
