"""Scores of candidates as a module returns them: means over rows, and lists per row and per candidate."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np


def scored_result(scores: Mapping[str, np.ndarray], sizes: Sequence[int], details: bool) -> dict[str, Any]:
    """Build the keys of modules that score every candidate by itself.

    For each name the mean over rows of the mean over a row's candidates, and n_rows; with `details` also the lists
    under `_per_row` and `_per_candidate`. `scores` are float64 arrays, shape (n_candidates,), by name, one row after
    the other, and `sizes` the number of candidates of each row.

    >>> scored_result({"pac": np.array([1.0, 2.0, 6.0])}, [1, 2], details=True)
    {'pac': 2.5, 'n_rows': 2, 'pac_per_row': [1.0, 4.0], 'pac_per_candidate': [[1.0], [2.0, 6.0]]}
    """
    per_row = {name: row_means(values, sizes) for name, values in scores.items()}
    # fsum is exact, so the order of the rows cannot change the last digit.
    result: dict[str, Any] = {name: math.fsum(means) / len(means) for name, means in per_row.items()}
    result["n_rows"] = len(sizes)
    if details:
        result |= {f"{name}_per_row": means for name, means in per_row.items()}
        result |= {f"{name}_per_candidate": split_rows(values.tolist(), sizes) for name, values in scores.items()}
    return result


def row_means(values: np.ndarray, sizes: Sequence[int]) -> list[float]:
    """Mean of each run of consecutive values, with these sizes."""
    return [math.fsum(run) / len(run) for run in split_rows(values.tolist(), sizes)]


def split_rows(values: Sequence[Any], sizes: Sequence[int]) -> list[Sequence[Any]]:
    """Split a sequence into runs of the given sizes.

    >>> split_rows([1, 2, 6], [1, 2])
    [[1], [2, 6]]
    """
    ends = np.cumsum(sizes)
    return [values[end - size : end] for end, size in zip(ends, sizes, strict=True)]


def first_largest(values: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Index of the first largest value of each run of consecutive values, with these sizes, each at least 1.

    >>> first_largest(np.array([1.0, 2.0, 2.0, 5.0]), np.array([3, 1])).tolist()
    [1, 3]
    """
    first = np.cumsum(sizes) - sizes
    is_largest = ~(values < np.repeat(np.maximum.reduceat(values, first), sizes))  # of NaN each
    largest = np.flatnonzero(is_largest)
    largest_of_row: np.ndarray = largest[np.searchsorted(largest, first)]
    return largest_of_row
