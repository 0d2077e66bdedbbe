"""Which rows each candidate reaches at several thresholds of a score: a summary of a matrix too large to keep."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from manycaps.kit.base_types import Floats

# A score within this distance below a threshold reaches it: BLEU of a caption with itself is 1 - 1e-9 at most, by the
# constants of the COCO caption code.
TOLERANCE = 1e-8

# Scores that are held at once, 8 bytes each in a few arrays.
MAX_CELLS = 4_000_000


# Scores of the candidates of a range (end excluded), with all rows: (n, n_rows).
ScoreBlock = Callable[[int, int], npt.NDArray[np.floating[Any]]]


class ReachedRows(NamedTuple):
    """Pairs of a candidate and a row that reach at least the lowest threshold, candidate after candidate."""

    # int64 array, shape (n_candidates + 1,).
    first: npt.NDArray[np.int64]
    # int32 array, shape (n_pairs,).
    rows: npt.NDArray[np.int32]
    # uint8 array, shape (n_pairs,): number of thresholds reached, at least 1.
    levels: npt.NDArray[np.uint8]
    # float64 array, shape (n_rows,): best score of any candidate.
    best: Floats

    def at(self, level: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
        """Pairs that reach one threshold, as `greedy_cover` takes them.

        Args:
            level: number of the threshold, counted from 0.
        """
        is_reached = self.levels > level
        before = np.append(0, np.cumsum(is_reached))
        return before[self.first], self.rows[is_reached]

    def reordered(self, order: npt.NDArray[np.int64]) -> "ReachedRows":
        """Return the same with the candidates in another order.

        Args:
            order: int64 array, shape (n_candidates,): new place of each candidate.
        """
        earlier = np.argsort(order)
        parts = [slice(*self.first[i : i + 2]) for i in earlier.tolist()]
        return ReachedRows(
            np.append(0, np.cumsum(np.diff(self.first)[earlier])),
            np.concatenate([self.rows[part] for part in parts]),
            np.concatenate([self.levels[part] for part in parts]),
            self.best,
        )


def reached_rows(
    scores: ScoreBlock,
    n_candidates: int,
    n_rows: int,
    thresholds: Sequence[float],
    progress: Callable[..., Iterable[Any]],
) -> ReachedRows:
    """Compare all scores with thresholds, part by part.

    Args:
        scores: gives them, larger ones better.
        n_candidates: number of candidates.
        n_rows: number of rows, at least 1.
        thresholds: ascending, at most 255.
        progress: shows the parts, called as tqdm is.

    Returns:
        The pairs that reach a threshold.
    """
    limits = np.array(thresholds, np.float64) - TOLERANCE
    step = max(1, MAX_CELLS // n_rows)
    counts, rows, levels = [np.zeros(1, np.int64)], [], []
    best = np.full(n_rows, -np.inf)
    for begin in progress(range(0, n_candidates, step), desc="scores", unit="part"):
        part = np.asarray(scores(begin, min(begin + step, n_candidates)), np.float64)
        best = np.maximum(best, part.max(axis=0))
        candidate, row = np.nonzero(part >= limits[0])
        counts.append(np.bincount(candidate, minlength=len(part)))
        rows.append(row.astype(np.int32))
        levels.append(np.searchsorted(limits, part[candidate, row], side="right").astype(np.uint8))
    return ReachedRows(
        np.cumsum(np.concatenate(counts)),
        np.concatenate([*rows, np.zeros(0, np.int32)]),
        np.concatenate([*levels, np.zeros(0, np.uint8)]),
        best,
    )
