"""Which rows each candidate reaches at several thresholds of a score, and the greedy cover of rows at one of them."""

import heapq
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from manycaps.kit.arrays import Floats

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
        """Return the pairs that reach the threshold of a number, counted from 0, as `greedy_cover` takes them."""
        is_reached = self.levels > level
        before = np.append(0, np.cumsum(is_reached))
        return before[self.first], self.rows[is_reached]

    def reorder(self, order: npt.NDArray[np.int64]) -> "ReachedRows":
        """Return the same with the candidates in another order, shape (n_candidates,): the new place of each."""
        earlier = np.argsort(order)
        parts = [slice(*self.first[i : i + 2]) for i in earlier.tolist()]
        return ReachedRows(
            np.append(0, np.cumsum(np.diff(self.first)[earlier])),
            np.concatenate([self.rows[part] for part in parts]),
            np.concatenate([self.levels[part] for part in parts]),
            self.best,
        )


def find_reached_rows(
    scores: ScoreBlock,
    n_candidates: int,
    n_rows: int,
    thresholds: Sequence[float],
    progress: Callable[..., Iterable[Any]],
) -> ReachedRows:
    """Compare all scores, larger ones better, with ascending thresholds, at most 255, part by part."""
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


class Cover(NamedTuple):
    """Candidates in the order in which they were taken."""

    candidates: list[int]
    # Rows that each of them newly covered.
    n_new: list[int]


def greedy_cover(first: npt.NDArray[np.integer], rows: npt.NDArray[np.integer], n_rows: int) -> Cover:
    """Cover as many rows as any candidates cover, one candidate after the other.

    Each time the candidate with the most rows that are not covered yet is taken, of equal ones the first (Chan, Myers
    et al. 2022, supplement B.7; the cover is at most ln(n_rows) + 1 times as large as the smallest: Chvatal 1979,
    https://doi.org/10.1287/moor.4.3.233). Lazily: what a candidate newly covered before bounds what it newly covers
    now, so that only the candidates with the largest bounds are counted again (Minoux 1978,
    https://doi.org/10.1007/BFb0006528). The choice is the same.

    `rows`, integers of shape (n_pairs,), are what each candidate covers, none twice; the rows of candidate i
    begin at first[i]; `first` has the shape (n_candidates + 1,).

    >>> greedy_cover(np.array([0, 2, 5, 6]), np.array([0, 1, 1, 2, 3, 0]), 5)
    Cover(candidates=[1, 0], n_new=[3, 1])
    """
    is_open = np.ones(n_rows, bool)
    bounds = [(-size, i) for i, size in enumerate(np.diff(first).tolist()) if size]
    heapq.heapify(bounds)
    cover = Cover([], [])
    while bounds:
        bound, candidate = bounds[0]
        own = rows[first[candidate] : first[candidate + 1]]
        n_new = int(np.count_nonzero(is_open[own]))
        if not n_new:
            heapq.heappop(bounds)
        elif n_new < -bound:
            heapq.heapreplace(bounds, (-n_new, candidate))
        else:
            heapq.heappop(bounds)
            is_open[own] = False
            cover.candidates.append(candidate)
            cover.n_new.append(n_new)
    return cover
