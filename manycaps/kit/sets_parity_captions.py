"""Where to look: the captions most unlike people's, and the pairs of captions most alike, of all rows."""

import heapq
import math
from typing import Any

import numpy as np

from .sets_tails import TAILS, Distances, PeopleDistances, rows_beyond, tail_distances

# Captions, and pairs of captions, that are listed.
N_LISTED = 100

# Bins of the histogram: the first and the last are the tails.
N_BINS = 20


def listed_captions(distances: Distances, people: PeopleDistances) -> dict[str, Any]:
    """List the candidates at the ends of people's distances: Python lists, by the keys of a module's result."""
    p_values: list[list[float]] = [[] for _ in range(distances.n_rows)]
    means: list[list[float]] = [[] for _ in range(distances.n_rows)]
    far: list[tuple[float, int, int]] = []
    near: list[tuple[float, int, int, int]] = []
    for block in distances.blocks():
        of_rows = tail_distances(block.distances, block.n_candidates)
        rows = block.rows.tolist()
        of_candidates = of_rows.candidates.mean(axis=2)  # (n_rows, m)
        of_block = conformal_p_values(of_rows.candidates, people)
        for row, distances_of_row, p_values_of_row in zip(rows, of_candidates.tolist(), of_block.tolist(), strict=True):
            means[row], p_values[row] = distances_of_row, p_values_of_row
        far = heapq.nsmallest(
            N_LISTED, far + [(-of_candidates[i, k], rows[i], k) for i, k in _smallest(-of_candidates)]
        )
        pairs = list(zip(*(index.tolist() for index in np.triu_indices(block.n_candidates, 1)), strict=True))
        near_of_block = [
            (of_rows.candidate_pairs[i, k], rows[i], *pairs[k]) for i, k in _smallest(of_rows.candidate_pairs)
        ]
        near = heapq.nsmallest(N_LISTED, near + near_of_block)
    return {
        "conformal_p_value_per_candidate": p_values,
        "distance_per_candidate": means,
        "distance_histogram": distance_histogram(distances, people),
        "most_unlike_people": [[row, i] for _, row, i in far],
        "most_alike": [list(indices) for _, *indices in near],
    }


def conformal_p_values(candidates: np.ndarray, people: PeopleDistances) -> np.ndarray:
    """p-values of single candidates: the share of people's distances, of all rows, that are at least as large.

    One is added to both counts (Vovk et al. 2005; Bates et al. 2023, https://arxiv.org/abs/2104.08279), and the mean is
    taken over the references that the candidate stands in for: (n_rows, n_candidates, n_references), as in
    `TailDistances`, to float64, (n_rows, n_candidates), above 0 and at most 1.
    """
    shares = people.share_above(candidates, or_equal=True)
    p_values: np.ndarray = ((1 + people.n_values * shares) / (1 + people.n_values)).mean(axis=2)
    return p_values


def distance_histogram(distances: Distances, people: PeopleDistances) -> list[float]:
    """Share of the candidates in each twentieth of people's distances, the nearest first: 0.05 each for people.

    The first bin is the ordinary share, the last one the share unlike people's captions.
    """
    half, of_candidates = N_BINS // 2, TAILS["unlike_people_share"]
    chosen = [(-1, k) for k in range(1, half + 1)] + [(1, k) for k in range(1, half)]
    thresholds = {(sign, k): (of_candidates, people.threshold(sign, k / N_BINS)) for sign, k in chosen}
    beyond = {key: math.fsum(rows) / len(rows) for key, rows in rows_beyond(distances, thresholds).items()}
    low = np.array([0.0] + [beyond[-1, k] for k in range(1, half + 1)])
    high = np.array([0.0] + [beyond[1, k] for k in range(1, half)])
    return [*np.diff(low).tolist(), float(1 - low[-1] - high[-1]), *np.diff(high)[::-1].tolist()]


def _smallest(values: np.ndarray) -> list[tuple[int, int]]:
    """Indices of the smallest values of an array of two dimensions, at most `N_LISTED`, ties in their order."""
    order = np.argsort(values, axis=None, kind="stable")[:N_LISTED]
    rows, columns = np.unravel_index(order, values.shape)
    return list(zip(rows.tolist(), columns.tolist(), strict=True))
