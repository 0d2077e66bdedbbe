"""Plain scores of several candidates under every split of a row: what the distribution metrics are set against.

S_agg (Chan et al. 2022, equation 1, https://arxiv.org/abs/2209.07518) is the mean over the candidates of a score
against all references: that of the best one for METEOR and for a cosine, the mean over them for CIDEr-D.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from manycaps.kit.sets_splits import TIE_TOLERANCE, SplitsOfRow

# Splits that are enumerated together: 20 texts need 8 MB.
BLOCK = 20_000

# From scores (n_rows, n_texts, n_texts) and splits to the aggregate of every row and split.
Aggregate = Callable[[np.ndarray, SplitsOfRow], np.ndarray]


class PlainScore(NamedTuple):
    """A plain score, and where it comes from."""

    # Module whose pair values are its distances.
    module: str
    # From these, shape (n_rows, n_texts, n_texts), to the score of candidate i against reference j at [:, i, j].
    scores: Callable[[np.ndarray], np.ndarray]
    aggregate: Aggregate


def best_reference(scores: np.ndarray, splits: SplitsOfRow) -> np.ndarray:
    """Mean over the candidates of the score against the best reference, under every split.

    Args:
        scores: float64 array, shape (n_rows, n_texts, n_texts): text i as a candidate against text j as a reference.
        splits: boolean arrays, shape (block, n_texts), True for the candidates.

    Returns:
        float64 array, shape (n_rows, n_splits).

    >>> scores = np.array([[[1.0, 0.2, 0.6], [0.2, 1.0, 0.4], [0.6, 0.4, 1.0]]])
    >>> best_reference(scores, lambda size: [np.array([[True, False, False], [True, True, False]])]).tolist()
    [[0.6, 0.5]]
    """
    blocks = [np.stack([_best_of_row(row, labels) for row in scores]) for labels in splits(BLOCK)]
    return np.concatenate(blocks, axis=1)


def _best_of_row(scores: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Aggregate of one row: (block,)."""
    total = np.zeros(len(labels))
    for i, mine in enumerate(scores):
        waiting = np.flatnonzero(labels[:, i])
        # The best other text is a reference in about half of the splits; the others ask for the next best. Text i
        # itself is a candidate in all of them.
        for j in np.argsort(-mine, kind="stable"):
            is_reference = ~labels[waiting, j]
            total[waiting[is_reference]] += mine[j]
            waiting = waiting[~is_reference]
    return total / labels.sum(axis=1)


def mean_reference(scores: np.ndarray, splits: SplitsOfRow) -> np.ndarray:
    """Mean over the candidates of the mean score against the references, under every split.

    Args and returned array as for `best_reference`.

    >>> scores = np.array([[[1.0, 0.2, 0.6], [0.2, 1.0, 0.4], [0.6, 0.4, 1.0]]])
    >>> mean_reference(scores, lambda size: [np.array([[True, False, False]])]).tolist()
    [[0.4]]
    """
    blocks = []
    for labels in splits(BLOCK):
        mine, theirs = labels.astype(np.float64), (~labels).astype(np.float64)
        sums = np.einsum("rbj,bj->rb", mine @ scores, theirs)
        blocks.append(sums / (mine.sum(axis=1) * theirs.sum(axis=1)))
    return np.concatenate(blocks, axis=1)


# By name. A distance is d(reference, candidate) for METEOR, whose largest value is 1, and d(candidate, reference) for
# CIDEr-D, whose largest value is 10; texts of equal tokens have distance 0 and so the largest score.
PLAIN_SCORES = {
    "meteor": PlainScore("trm_meteor", lambda distances: 1 - distances.swapaxes(1, 2), best_reference),
    "cider_d": PlainScore("trm_cider", lambda distances: 10 - distances, mean_reference),
    "bert": PlainScore("trm_bert", lambda distances: 1 - distances, best_reference),
}


def two_sided(p_values: np.ndarray, opposite: np.ndarray) -> np.ndarray:
    """Return the p-values of both tails together: twice the smaller one, at most 1.

    >>> two_sided(np.array([0.25, 0.75]), np.array([0.75, 0.5])).tolist()
    [0.5, 1.0]
    """
    return np.minimum(1, 2 * np.minimum(p_values, opposite))


def tail_p_values(nulls: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """Share of each row's null values that reach the observed one: (n_rows,)."""
    return (nulls >= observed[:, None] - TIE_TOLERANCE).mean(axis=1)
