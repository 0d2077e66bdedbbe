"""Checks of ready embeddings: each error names column, row and item."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from .base_messages import reason_of
from .base_rows import NOT_ROWS, as_list, check_no_table, without_torch

# Largest number in an embedding, and the smallest vector that is not 0, by its largest number: the variance of a
# squared distance takes fourth powers, which must stay within the range of float64. With smaller ones different vectors
# would count as equal.
LARGEST_NUMBER, SMALLEST_NUMBER = 1e70, 1e-70

# The keywords of `compute` for ready arrays, in the order candidates, references.
ARRAY_COLUMNS = ("prediction_embeddings", "reference_embeddings")


def check_no_captions(captions: Sequence[object], n_added: int) -> None:
    """Raise if captions are given beside ready embeddings: it would be ambiguous which of them counts."""
    if n_added or any(column is not None for column in captions):
        raise ValueError(
            f"{ARRAY_COLUMNS[0]}: expected embeddings instead of captions, got both. Leave out predictions, "
            "references and rows added before."
        )


def as_embedding_arrays(rows: object, column: str) -> list[np.ndarray]:
    """Return one column of ready embeddings as a list of checked arrays.

    `rows` are n_rows floating-point arrays of shape (n_texts, d), or one of shape (n_rows, n_texts, d).

    Raises:
        TypeError: the column is missing or no list of arrays; a row is no array of floating-point numbers.
        ValueError: no rows, a wrong shape, a number that is NaN, too large or too small.
    """
    both = f"{ARRAY_COLUMNS[0]} and {ARRAY_COLUMNS[1]} together, " if column in ARRAY_COLUMNS else ""
    listed = listed_rows(rows, column, "a list of arrays of shape (n, d)", f"Give {both}one array per row.")
    return [as_array(row, f"{column}[{i}]", "Convert it to a NumPy array.") for i, row in enumerate(listed)]


def listed_rows(rows: object, column: str, expected: str, advice: str) -> list[Any]:
    """The rows of a column of arrays, at least one; the arrays are not checked."""
    check_no_table(rows, column, expected)
    if rows is None or isinstance(rows, NOT_ROWS) or not isinstance(rows, Iterable):
        kind = "None" if rows is None else type(rows).__name__
        raise TypeError(f"{column}: expected {expected}, got {kind}. {advice}")
    listed = as_list(rows, column, expected)
    if not listed:
        raise ValueError(f"{column}: expected at least one row, got none. Give one array per row.")
    return listed


def check_embeddings(array: np.ndarray, where: str) -> None:
    """Raise unless `array` is a non-empty table of finite floating-point numbers; messages begin with `where`.

    Raises:
        TypeError: other numbers than floating-point ones.
        ValueError: another rank, no rows or columns, a number that is NaN, infinite or above `LARGEST_NUMBER`, a vector
            that is not 0 and has all numbers below `SMALLEST_NUMBER`.
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
    # Of each vector; wide enough for every type, also in comparisons.
    largest = np.maximum(array.max(axis=1), -array.min(axis=1)).astype(np.longdouble)  # (n,)
    is_large = ~(largest <= LARGEST_NUMBER)  # or NaN
    if is_large.any():
        j = int(np.argmax(is_large))
        oddest = array[j][~(np.abs(array[j].astype(np.longdouble)) <= LARGEST_NUMBER)][0]
        raise ValueError(
            f"{where}[{j}]: expected finite numbers of size at most {LARGEST_NUMBER:g}, got {oddest} "
            f"({int(is_large.sum())} such vectors in all). Check the encoder."
        )
    is_small = (largest > 0) & (largest < SMALLEST_NUMBER)
    if is_small.any():
        j = int(np.argmax(is_small))
        raise ValueError(
            f"{where}[{j}]: expected zeros, or a number of size at least {SMALLEST_NUMBER:g}, got a vector up to "
            f"{largest[j]:g} ({int(is_small.sum())} such vectors in all). Multiply all embeddings by one factor."
        )


def as_array(values: object, where: str, advice: str) -> np.ndarray:
    """Return a table of embeddings, an array, a tensor, or lists of either or of numbers, as a checked array.

    Messages begin with `where`, and end with `advice` where the values are no array.

    Raises:
        TypeError: no array of floating-point numbers, or one with a mask, which arithmetic would not see.
        ValueError: see `check_embeddings`.
    """
    try:
        array = np.asanyarray(without_torch(values))
        if isinstance(array, np.ma.MaskedArray):
            raise TypeError("a masked array")
        array = np.asarray(array)
    except Exception as error:  # ragged lists, tensors without numbers, whatever a user's type raises
        raise TypeError(
            f"{where}: expected a floating-point array of shape (n, d), got {type(values).__name__} "
            f"({reason_of(error)}). {advice}"
        ) from error
    check_embeddings(array, where)
    return array


def as_encoder_output(output: object, n_captions: int) -> np.ndarray:
    """Check the output of a function or a model for captions: a floating-point array, shape (n_captions, d).

    Raises:
        TypeError: no array of floating-point numbers.
        ValueError: another shape, or numbers that are not finite.

    >>> as_encoder_output([[0.5, 1.0]], 1).tolist()
    [[0.5, 1.0]]
    """
    array = as_array(output, "encoder output", "Return a NumPy array of shape (n, d).")
    if len(array) != n_captions:
        raise ValueError(
            f"encoder output: expected one vector for each of the {n_captions} distinct captions, got {len(array)}. "
            "Return an array of shape (n, d), in the order of the captions."
        )
    return array
