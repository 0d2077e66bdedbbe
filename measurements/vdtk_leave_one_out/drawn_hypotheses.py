"""Which captions of every row are the hypotheses of an iteration, and which of the others are their references.

Chan, Myers et al. (2022), supplement B.1 and B.6, https://arxiv.org/abs/2205.06253.
"""

import hashlib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from .shared_row_texts import Ints, Masks, RowTexts
from .shared_splits import RowGenerators

# Iterations that are drawn at once: a number, and with several hypotheses or limited references one for each caption,
# per row and iteration.
BLOCK = 50


class Draw(NamedTuple):
    """An iteration."""

    # int64 array, shape (n_rows, n_hypotheses): numbers of the texts that are the hypotheses of each row.
    hypotheses: Ints
    # uint64 array, shape (n_rows, n_blocks): masks of their references.
    references: Masks
    # Whether the references are all other texts of the rows.
    is_whole: bool


def draws(
    rows: Sequence[Sequence[str]],
    texts: RowTexts,
    n_iterations: int,
    n_references: int | None,
    seed: int,
    n_hypotheses: int = 1,
) -> Iterator[Draw]:
    """Draw hypotheses, each caption of a row with equal probability, and references without replacement.

    What is drawn for a row depends on the seed and on its captions, not on its place; equal rows draw independently.

    Args:
        rows: n_rows lists of more than n_hypotheses captions.
        texts: their places.
        n_iterations: number of draws.
        n_references: most references of a row; None for all captions but the hypotheses.
        seed: whole number, at least 0.
        n_hypotheses: captions of each row that are hypotheses, at least 1.

    Yields:
        The iterations.

    >>> rows = [["a", "b"], ["c", "d", "e"]]
    >>> draw = next(draws(rows, RowTexts([2, 3]), 1, 1, seed=0))
    >>> draw.hypotheses.shape, draw.references.shape, draw.is_whole
    ((2, 1), (2, 1), False)
    """
    generators, of_seed = [], RowGenerators((seed,))
    for row in rows:
        content = repr(list(row)).encode("utf-8", "surrogatepass")
        generators.append(of_seed.of(hashlib.blake2b(content, digest_size=16).digest()))
    sizes, whole = texts.sizes, texts.masks(texts.row, texts.place, len(texts.sizes))
    for begin in range(0, n_iterations, BLOCK):
        n_drawn = min(BLOCK, n_iterations - begin)

        def keys(n_drawn: int = n_drawn) -> np.ndarray:
            """Random numbers, shape (n_texts, n_drawn)."""
            return np.concatenate([g.random((size, n_drawn)) for g, size in zip(generators, sizes, strict=True)])

        if n_hypotheses == 1:
            places = np.stack([g.integers(0, size, n_drawn) for g, size in zip(generators, sizes, strict=True)])
            drawn = [texts.first[:-1, None] + places[:, i : i + 1] for i in range(n_drawn)]
        else:
            drawn = [_smallest(texts, numbers, n_hypotheses).reshape(-1, n_hypotheses) for numbers in keys().T]
        of_references = None if n_references is None else keys()
        for i, hypotheses in enumerate(drawn):
            own = texts.masks(texts.row[hypotheses].ravel(), texts.place[hypotheses].ravel(), len(sizes))
            if of_references is None or n_references is None:
                yield Draw(hypotheses, whole & ~own, True)
            else:
                numbers = of_references[:, i].copy()
                numbers[hypotheses] = np.inf
                chosen = _smallest(texts, numbers, np.minimum(n_references, sizes - n_hypotheses)[texts.row])
                yield Draw(hypotheses, texts.masks(texts.row[chosen], texts.place[chosen], len(sizes)), False)


def _smallest(texts: RowTexts, keys: np.ndarray, n_chosen: int | Ints) -> Ints:
    """Numbers of the texts with the smallest keys of each row, row after row."""
    return np.lexsort((keys, texts.row))[texts.place < n_chosen]
