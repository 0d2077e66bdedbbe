"""Where to look: the captions most unlike people's, and the pairs of captions most alike, of all rows."""

import heapq
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .sets_gaps import candidate_places
from .sets_splits import in_row_scales

# Captions, and pairs of captions, that are listed.
N_LISTED = 100

# Ranges of places in the histogram, at most: those of ten references or more are put together.
MOST_BINS = 11


class ListedCaptions:
    """Places of all candidates among people, and the candidates that lie at the ends.

    Args:
        sizes: (n_candidates, n_references) of each row.
    """

    def __init__(self, sizes: Sequence[tuple[int, int]]):
        self._n_bins = min(MOST_BINS, 1 + min(n for _, n in sizes))
        self._histograms = np.empty((len(sizes), self._n_bins))
        self._p_values: list[list[float]] = [[] for _ in sizes]
        self._distances: list[list[float]] = [[] for _ in sizes]
        self._pairs: list[tuple[float, int, int, int]] = []

    def add(self, distances: np.ndarray, n_candidates: int, rows: Sequence[int]) -> None:
        """Take in rows of equal sizes.

        Args:
            distances: float64 array, shape (n_rows, n_texts, n_texts), symmetric, candidates first.
            n_candidates: number of candidates.
            rows: their numbers.
        """
        places = candidate_places(in_row_scales(distances), n_candidates)
        means = distances[:, :n_candidates, n_candidates:].mean(axis=2)
        self._histograms[rows] = places.histogram(self._n_bins)
        for row, p_values, of_row in zip(rows, places.p_values().tolist(), means.tolist(), strict=True):
            self._p_values[row], self._distances[row] = p_values, of_row
        first, second = np.triu_indices(n_candidates, 1)
        values = distances[:, first, second].tolist()
        pairs = [
            (value, row, int(i), int(j))
            for row, of_row in zip(rows, values, strict=True)
            for value, i, j in zip(of_row, first, second, strict=True)
        ]
        self._pairs = heapq.nsmallest(N_LISTED, self._pairs + pairs)

    def result(self) -> dict[str, Any]:
        """Return the lists, for a module's result."""
        far = [
            (-distance, row, candidate)
            for row, distances in enumerate(self._distances)
            for candidate, distance in enumerate(distances)
        ]
        return {
            "conformal_p_value_per_candidate": self._p_values,
            "distance_per_candidate": self._distances,
            "rank_histogram": [math.fsum(column) / len(column) for column in self._histograms.T],
            "most_unlike_people": [[row, i] for _, row, i in heapq.nsmallest(N_LISTED, far)],
            "most_alike": [list(places) for _, *places in self._pairs],
        }
