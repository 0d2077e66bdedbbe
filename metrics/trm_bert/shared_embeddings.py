# Vendored from manycaps/shared_embeddings.py. Edit it there, then run `make format`.
"""Checks of ready embeddings: each error names column, row and vector."""

from collections.abc import Iterable

import numpy as np

# Largest number in an embedding: squares of larger ones, summed over the dimensions, leave the range of float64.
LARGEST_NUMBER = 1e150

# The keywords of `compute` for ready arrays, in the order candidates, references.
ARRAY_COLUMNS = ("prediction_embeddings", "reference_embeddings")


def as_embedding_arrays(rows: object, column: str) -> list[np.ndarray]:
    """Return one column of ready embeddings as a list of checked arrays.

    Args:
        rows: n_rows floating-point arrays of shape (n_texts, d), or one of shape (n_rows, n_texts, d).
        column: name of the column, for the messages.

    Raises:
        TypeError: the column is missing or no list of arrays; a row is no array of floating-point numbers.
        ValueError: no rows, a wrong shape, a number that is NaN or too large.
    """
    if rows is None or isinstance(rows, str | bytes | dict) or not isinstance(rows, Iterable):
        kind = "None" if rows is None else type(rows).__name__
        raise TypeError(
            f"{column}: expected a list of arrays of shape (n, d), got {kind}. "
            f"Give {ARRAY_COLUMNS[0]} and {ARRAY_COLUMNS[1]} together, one array per row."
        )
    arrays = [_as_array(row, f"{column}[{i}]") for i, row in enumerate(rows)]
    if not arrays:
        raise ValueError(f"{column}: expected at least one row, got none. Give one array per row.")
    return arrays


def check_embeddings(array: np.ndarray, where: str) -> None:
    """Raise unless `array` is a non-empty table of finite floating-point numbers.

    Args:
        array: any array.
        where: what the message begins with.

    Raises:
        TypeError: other numbers than floating-point ones.
        ValueError: another rank, no rows or columns, a number that is NaN, infinite or above `LARGEST_NUMBER`.
    """
    if not np.issubdtype(array.dtype, np.floating):
        raise TypeError(
            f"{where}: expected floating-point numbers, got {array.dtype}. Convert counts or ids that are meant as "
            "vectors with .astype(float)."
        )
    if array.ndim != 2 or not array.size:
        raise ValueError(
            f"{where}: expected an array of shape (n, d) with n and d at least 1, got shape {array.shape}. Give one "
            "vector per text."
        )
    if not -LARGEST_NUMBER <= float(array.min()) <= float(array.max()) <= LARGEST_NUMBER:  # or NaN
        _raise_large_numbers(array, where)


def _raise_large_numbers(array: np.ndarray, where: str) -> None:
    """Raise ValueError for the first vector with a number that is NaN, infinite or too large."""
    bad = ~np.isfinite(array) | (np.abs(array.astype(np.float64)) > LARGEST_NUMBER)
    vectors = np.flatnonzero(bad.any(axis=1))
    j = int(vectors[0])
    raise ValueError(
        f"{where}[{j}]: expected finite numbers of size at most {LARGEST_NUMBER:g}, got {array[j][bad[j]][0]} "
        f"({len(vectors)} such vectors in all). Check the encoder."
    )


def _as_array(row: object, where: str) -> np.ndarray:
    """One row of ready embeddings as a checked array."""
    try:
        array = np.asarray(row)
    except (TypeError, ValueError, RuntimeError) as error:  # ragged lists; tensors on a device or with gradients
        raise TypeError(
            f"{where}: expected an array of shape (n, d), got {type(row).__name__} ({str(error)[:80]}). Convert it "
            "to a NumPy array."
        ) from None
    check_embeddings(array, where)
    return array
