"""Checks of ready embeddings, and of ready values of all pairs of a row: each error names column, row and item."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .base_messages import reason_of, shown_value
from .base_module import as_plain, check_whole_number
from .base_rows import NOT_ROWS, as_list, check_no_table, without_torch
from .sets_splits import row_keys

# Largest number in an embedding: the variance of a squared distance takes its fourth power, which must stay within the
# range of float64.
LARGEST_NUMBER = 1e70

# Smallest vector, by its largest number, that is not 0: fourth powers of smaller ones leave the range, too, and
# different vectors would count as equal.
SMALLEST_NUMBER = 1e-70

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
    listed = _listed_rows(rows, column, "a list of arrays of shape (n, d)", f"Give {both}one array per row.")
    return [as_array(row, f"{column}[{i}]", "Convert it to a NumPy array.") for i, row in enumerate(listed)]


def _listed_rows(rows: object, column: str, expected: str, advice: str) -> list[Any]:
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
        raise ValueError(
            f"{where}[{j}]: expected finite numbers of size at most {LARGEST_NUMBER:g}, got {_oddest(array[j])} "
            f"({int(is_large.sum())} such vectors in all). Check the encoder."
        )
    is_small = (largest > 0) & (largest < SMALLEST_NUMBER)
    if is_small.any():
        j = int(np.argmax(is_small))
        raise ValueError(
            f"{where}[{j}]: expected zeros, or a number of size at least {SMALLEST_NUMBER:g}, got a vector up to "
            f"{largest[j]:g} ({int(is_small.sum())} such vectors in all). Multiply all embeddings by one factor."
        )


def _oddest(vector: np.ndarray) -> Any:
    """The first number of a vector that is NaN, infinite or too large."""
    return vector[~(np.abs(vector.astype(np.longdouble)) <= LARGEST_NUMBER)][0]


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


# Expected form of the column, for messages.
EXPECTED = "a list of arrays of shape (n_texts, n_texts)"

# Columns that ready values replace.
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
    """Remove the other columns from the input, and raise if any is given."""
    others = [given.pop(name, None) for name in OTHER_COLUMNS]
    if n_added or any(other is not None for other in others):
        raise ValueError(
            f"{column}: expected {column} in place of captions and embeddings, got both. Leave out the other columns "
            "and rows added before."
        )


def as_pair_matrices(values: object, n_candidates: object, column: str) -> PairMatrices:
    """Check ready values of all pairs of a row: n_rows finite arrays of shape (n_texts, n_texts), candidates first.

    `n_candidates` is that of every row, or a list of n_rows numbers.

    Raises:
        TypeError: no list of arrays of numbers, or no whole numbers.
        ValueError: no rows, a wrong shape, a number that is not finite, a number of candidates that leaves a set empty.

    >>> as_pair_matrices([[[0, 1, 2], [1, 0, 2], [2, 2, 0]]], 2, "distances").sizes()
    [(2, 1)]
    """
    listed = _listed_rows(values, column, EXPECTED, "Give one array per row.")
    matrices = [_as_matrix(row, f"{column}[{i}]") for i, row in enumerate(listed)]
    return PairMatrices(matrices, _as_counts(n_candidates, [len(matrix) for matrix in matrices], column))


def _as_matrix(values: object, where: str) -> np.ndarray:
    """One row as a float64 array."""
    try:
        array = np.asanyarray(without_torch(values))
        if isinstance(array, np.ma.MaskedArray) or array.dtype.kind not in "fiu":
            raise TypeError(f"numbers of type {array.dtype}")
    except Exception as error:  # ragged lists, tensors without numbers, whatever a user's type raises
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
        i, j = (int(index) for index in np.argwhere(odd)[0])
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
    n_candidates = as_plain(n_candidates)
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
