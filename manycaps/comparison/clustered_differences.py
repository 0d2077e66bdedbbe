"""Differences of two systems, row by row, and their sums over clusters of rows that belong together."""

import math
from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np

# Two values of a row are equal if they differ by no more than this share of the largest value: two orders of summation
# differ by 1e-15, different captions by more than 1e-7.
EQUAL_SHARE = 1e-9


class ClusteredDifferences(NamedTuple):
    """Differences of pairs of systems, one column per test."""

    # float64 array, shape (n_rows, n_tests): first minus second, 0 where both are equal.
    rows: np.ndarray
    # float64 array, shape (n_clusters, n_tests): the sums over each cluster's rows.
    sums: np.ndarray
    # int64 array, shape (n_clusters,): rows of each cluster.
    sizes: np.ndarray

    @property
    def means(self) -> np.ndarray:
        """Mean difference over rows, shape (n_tests,)."""
        # fsum is exact, so the order of the rows cannot change the last digit.
        return np.array([math.fsum(column) / len(column) for column in self.rows.T])


def clustered_differences(
    first: np.ndarray,
    second: np.ndarray,
    clusters: Sequence[Hashable] | None = None,
    equal_share: float | np.ndarray = EQUAL_SHARE,
) -> ClusteredDifferences:
    """Subtract the values of two systems, and add up the differences of each cluster.

    Args:
        first: float64 array, shape (n_rows, n_tests), finite.
        second: the same of the other system of each test.
        clusters: n_rows labels; rows with equal labels belong together, those of one image for example. None: every
            row is a cluster of its own.
        equal_share: two values that differ by no more than this share of the largest value of the test are equal; an
            array of shape (n_tests,) where tests differ.

    Returns:
        The differences; rows and clusters in the order of the rows.

    >>> clustered_differences(np.array([[2.0], [3.0], [4.0]]), np.ones((3, 1)), ["a", "b", "a"]).sums.tolist()
    [[4.0], [2.0]]
    """
    rows = first - second
    largest = np.maximum(np.abs(first), np.abs(second)).max(axis=0, initial=0.0)
    rows[np.abs(rows) <= equal_share * largest] = 0.0
    if clusters is None:
        return ClusteredDifferences(rows, rows, np.ones(len(rows), dtype=np.int64))
    places = cluster_places(clusters)
    sizes = np.bincount(places)
    sums = np.zeros((len(sizes), rows.shape[1]))
    np.add.at(sums, places, rows)
    return ClusteredDifferences(rows, sums, sizes)


def cluster_places(clusters: Sequence[Hashable]) -> np.ndarray:
    """Number the clusters in the order in which they appear, and return that of every row.

    >>> cluster_places(["b", "a", "b"]).tolist()
    [0, 1, 0]
    """
    numbers = {label: i for i, label in enumerate(dict.fromkeys(clusters))}
    return np.array([numbers[label] for label in clusters], dtype=np.intp)
