"""Checks of ready values of all pairs of a row, distances or kernels: each error names row and texts."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .shared_caption_rows import NOT_ROWS, as_list, check_no_table
from .shared_messages import reason_of, shown_value
from .shared_module import check_whole_number
from .shared_splits import row_keys

# What a message says of the form of the column.
EXPECTED = "a list of arrays of shape (n_texts, n_texts)"

# Columns for which ready values stand.
OTHER_COLUMNS = (
    *("predictions", "references", "prediction_embeddings", "reference_embeddings"),
    *("prediction_images", "reference_images"),
)


class PairMatrices(NamedTuple):
    """Ready values of all pairs of texts of all rows."""

    # n_rows float64 arrays, shape (n_texts, n_texts), candidates first.
    matrices: list[np.ndarray]
    # n_rows numbers of candidates.
    n_candidates: list[int]

    def sizes(self) -> list[tuple[int, int]]:
        """Return (n_candidates, n_references) of each row."""
        return [(n, len(matrix) - n) for matrix, n in zip(self.matrices, self.n_candidates, strict=True)]

    def keys(self) -> Callable[[int], bytes]:
        """Return what the draws of a row depend on, see `row_keys`."""
        sides = [(matrix[:n], matrix[n:]) for matrix, n in zip(self.matrices, self.n_candidates, strict=True)]
        return row_keys([candidates for candidates, _ in sides], [references for _, references in sides])

    def stacked(self, rows: Sequence[int]) -> np.ndarray:
        """Return the values of rows of equal sizes: float64 array, shape (n_rows, n_texts, n_texts)."""
        return np.stack([self.matrices[i] for i in rows])


def check_matrices_alone(given: dict[str, Any], column: str, n_added: int) -> None:
    """Take the other columns out of what is given, and raise if there are any.

    Raises:
        ValueError: there are captions or embeddings, or rows from `add` or `add_batch`.
    """
    others = [given.pop(name, None) for name in OTHER_COLUMNS]
    if n_added or any(other is not None for other in others):
        raise ValueError(
            f"{column}: expected {column} in place of captions and embeddings, got both. Leave the other columns and "
            "rows added before out."
        )


def as_pair_matrices(values: object, n_candidates: object, column: str) -> PairMatrices:
    """Check ready values of all pairs of a row.

    Args:
        values: n_rows arrays of shape (n_texts, n_texts), candidates first, finite.
        n_candidates: number of candidates of every row, or a list of n_rows numbers.
        column: name of the values, for the messages.

    Returns:
        The rows.

    Raises:
        TypeError: no list of arrays of numbers, or no whole numbers.
        ValueError: no rows, a wrong shape, a number that is not finite, a number of candidates that leaves a set empty.

    >>> as_pair_matrices([[[0, 1, 2], [1, 0, 2], [2, 2, 0]]], 2, "distances").sizes()
    [(2, 1)]
    """
    check_no_table(values, column, EXPECTED)
    if values is None or isinstance(values, NOT_ROWS) or not isinstance(values, Iterable):
        kind = "None" if values is None else type(values).__name__
        raise TypeError(f"{column}: expected {EXPECTED}, got {kind}. Give one array per row.")
    matrices = [_as_matrix(row, f"{column}[{i}]") for i, row in enumerate(as_list(values, column, EXPECTED))]
    if not matrices:
        raise ValueError(f"{column}: expected at least one row, got none. Give one array per row.")
    return PairMatrices(matrices, _as_counts(n_candidates, [len(matrix) for matrix in matrices], column))


def _as_matrix(values: object, where: str) -> np.ndarray:
    """One row as a float64 array."""
    try:
        array = np.asanyarray(values)
        if isinstance(array, np.ma.MaskedArray) or array.dtype.kind not in "fiu":
            raise TypeError(f"numbers of type {array.dtype}")
    except Exception as error:  # ragged lists, tensors on a device, whatever a type of the user's raises
        raise TypeError(
            f"{where}: expected an array of numbers, got {type(values).__name__} ({reason_of(error)}). Convert it to "
            "a NumPy array."
        ) from error
    if array.ndim != 2 or array.shape[0] != array.shape[1] or not array.size:
        raise ValueError(
            f"{where}: expected shape (n_texts, n_texts), got {array.shape}. Give the values of all pairs of the row, "
            "candidates first."
        )
    matrix = np.asarray(array, dtype=np.float64)
    odd = ~np.isfinite(matrix)
    if odd.any():
        i, j = (int(place) for place in np.argwhere(odd)[0])
        raise ValueError(
            f"{where}[{i}][{j}]: expected a finite number, got {matrix[i, j]} ({int(odd.sum())} such numbers in all). "
            "Leave the text out."
        )
    return matrix


def _as_counts(n_candidates: object, n_texts: Sequence[int], column: str) -> list[int]:
    """Numbers of candidates of all rows."""
    if n_candidates is None:
        raise TypeError(
            "n_candidates: expected a whole number, or one per row, got None. Say how many of the first texts of a row "
            "are candidates."
        )
    counts: list[Any]
    if isinstance(n_candidates, list | tuple | np.ndarray):
        counts = np.asarray(n_candidates).tolist() if isinstance(n_candidates, np.ndarray) else list(n_candidates)
        if not isinstance(counts, list) or len(counts) != len(n_texts):
            raise ValueError(
                f"n_candidates: expected one number for each of the {len(n_texts)} rows of {column}, got "
                f"{shown_value(n_candidates)}. Give one whole number for all rows, or one per row."
            )
    else:
        counts = [n_candidates] * len(n_texts)
    for i, (count, n) in enumerate(zip(counts, n_texts, strict=True)):
        where = f"n_candidates[{i}]" if isinstance(n_candidates, list | tuple | np.ndarray) else "n_candidates"
        check_whole_number(where, count, 1)
        if count >= n:
            raise ValueError(
                f"{where}: expected at most {n - 1} of the {n} texts of {column}[{i}], got {count}. The others are "
                "references."
            )
    return counts
