"""Greedy set cover: at each step the candidate that covers most of the rows that are not covered yet."""

import heapq
from typing import NamedTuple

import numpy as np
import numpy.typing as npt


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

    Args:
        first: int array, shape (n_candidates + 1,): where the rows of each candidate begin in `rows`.
        rows: int array, shape (n_pairs,): rows that each candidate covers, none twice.
        n_rows: number of rows.

    Returns:
        The cover.

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
