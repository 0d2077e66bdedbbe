"""Cosines of CLIP features, in float64, and checks of ready features: NumPy only."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from .arrays import as_list, as_numbers
from .errors import InputError, InputTypeError
from .rows import NOT_ROWS, check_no_table

# Pairs of vectors compared at once: 8192 x 768 x 8 bytes = 50 MB.
PAIRS_AT_ONCE = 8192


def paired_cosines(x: np.ndarray, y: np.ndarray, x_rows: np.ndarray, y_rows: np.ndarray) -> np.ndarray:
    """Return the cosine of x[x_rows[k]] and y[y_rows[k]] for each k: float64, (n_pairs,), -1 to 1 but for rounding.

    `x` and `y` are arrays, shapes (n, d) and (m, d), no zero rows; `x_rows` and `y_rows` are integers, shape
    (n_pairs,).

    >>> paired_cosines(np.eye(2), np.ones((1, 2)), np.array([0, 1]), np.array([0, 0])).round(4).tolist()
    [0.7071, 0.7071]
    """
    cosines = np.empty(len(x_rows))
    for start in range(0, len(x_rows), PAIRS_AT_ONCE):
        pairs = slice(start, start + PAIRS_AT_ONCE)
        cosines[pairs] = np.einsum("nd,nd->n", unit_vectors(x[x_rows[pairs]]), unit_vectors(y[y_rows[pairs]]))
    return cosines


def unit_vectors(vectors: np.ndarray) -> np.ndarray:
    """Scale the rows of a floating-point array, shape (n, d), none of them 0, to length 1, in float64."""
    vectors = vectors.astype(np.float64)  # (n, d)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def as_features(array: np.ndarray, name_of: Callable[[int], str], what: str) -> np.ndarray:
    """Return ready features, floating-point, shape (n, d), as they come from a model: contiguous float32 numbers.

    In messages `name_of` names a vector by its number, and `what` says what it is of. Raises ValueError for a vector
    without a cosine: numbers that are not finite, or all 0.

    >>> as_features(np.eye(2), "videos[0][{}]".format, "frame").dtype
    dtype('float32')
    """
    with np.errstate(over="ignore", under="ignore"):  # numbers that float32 does not hold are looked for below
        features = np.ascontiguousarray(array, dtype=np.float32)
    usable = np.isfinite(features).all(axis=1) & features.any(axis=1)
    if not usable.all():
        j = int(np.argmin(usable))
        got = f"{array[j, :3].tolist()}, ... ({int((~usable).sum())} of {len(features)} given together)"
        raise InputError(name_of(j), "finite features that are not all 0 as float32", got, f"Encode the {what} again.")
    return features


# Largest number in an embedding, and the smallest vector that is not 0, by its largest number: the variance of a
# squared distance takes fourth powers, which must stay within the range of float64. With smaller ones different vectors
# would count as equal.
LARGEST_NUMBER, SMALLEST_NUMBER = 1e70, 1e-70

# The keywords of `compute` for ready arrays, in the order candidates, references.
ARRAY_COLUMNS = ("prediction_embeddings", "reference_embeddings")


def check_no_captions(captions: Sequence[object], n_added: int) -> None:
    """Raise if captions are given beside ready embeddings: it would be ambiguous which of them counts."""
    if n_added or any(column is not None for column in captions):
        raise InputError(
            ARRAY_COLUMNS[0], "embeddings alone", "captions or rows added before as well", "Leave them out."
        )


def as_embedding_arrays(rows: object, column: str) -> list[np.ndarray]:
    """Return one column of ready embeddings as a list of checked arrays.

    `rows` are n_rows floating-point arrays of shape (n_texts, d), or one of shape (n_rows, n_texts, d).

    Raises:
        TypeError: the column is missing or no list of arrays; a row is no array of floating-point numbers.
        ValueError: no rows, a wrong shape, a number that is NaN, too large or too small.
    """
    both = f"{ARRAY_COLUMNS[0]} and {ARRAY_COLUMNS[1]} together, " if column in ARRAY_COLUMNS else ""
    listed = as_row_list(rows, column, "a list of arrays of shape (n, d)", f"Give {both}one array per row.")
    return [as_array(row, f"{column}[{i}]", "Convert it to a NumPy array.") for i, row in enumerate(listed)]


def as_row_list(rows: object, column: str, expected: str, advice: str) -> list[Any]:
    """Return the rows of a column of arrays, at least one; the arrays are not checked."""
    check_no_table(rows, column, expected)
    if rows is None or isinstance(rows, NOT_ROWS) or not isinstance(rows, Iterable):
        kind = "None" if rows is None else type(rows).__name__
        raise InputTypeError(column, expected, kind, advice)
    listed = as_list(rows, column, expected)
    if not listed:
        raise InputError(column, "at least one row", "none", "Give one array per row.")
    return listed


def check_dimensions(columns: Mapping[str, Sequence[np.ndarray]]) -> None:
    """Raise unless all arrays of all columns have as many dimensions as the first."""
    names = [f"{column}[{i}]" for column, arrays in columns.items() for i in range(len(arrays))]
    widths = [array.shape[1] for arrays in columns.values() for array in arrays]
    for name, width in zip(names, widths, strict=True):
        if width != widths[0]:
            expected = f"{widths[0]} dimensions as in {names[0]}"
            raise InputError(name, expected, width, "Use one encoder for all texts.")


def refuse_zeros(columns: Mapping[str, Sequence[np.ndarray]]) -> None:
    """Raise if a vector is all zeros and so has no cosine: for each column, of each row which ones are, bool, (n,)."""
    places = [
        f"{column}[{i}][{j}]"
        for column, rows in columns.items()
        for i, are_zero in enumerate(rows)
        for j in np.flatnonzero(are_zero)
    ]
    if places:
        expected = f"an embedding that is not all zeros, which has no cosine ({len(places)} such texts in all)"
        raise InputError(places[0], expected, "zeros", "Leave these captions out, or use another encoder.")


def check_embeddings(array: np.ndarray, where: str) -> None:
    """Raise unless `array` is a non-empty table of finite floating-point numbers; messages begin with `where`.

    Raises:
        TypeError: other numbers than floating-point ones.
        ValueError: another rank, no rows or columns, a number that is NaN, infinite or above `LARGEST_NUMBER`, a vector
            that is not 0 and has all numbers below `SMALLEST_NUMBER`.
    """
    if not np.issubdtype(array.dtype, np.floating):
        raise InputTypeError(where, "floating-point numbers", array.dtype, "Convert counts or ids by .astype(float).")
    if array.ndim != 2 or not array.size:
        raise InputError(
            where, "an array of shape (n, d), n and d at least 1", f"shape {array.shape}", "Give one vector per text."
        )
    # Of each vector; wide enough for every type, also in comparisons.
    largest = np.maximum(array.max(axis=1), -array.min(axis=1)).astype(np.longdouble)  # (n,)
    is_large = ~(largest <= LARGEST_NUMBER)  # or NaN
    if is_large.any():
        j = int(np.argmax(is_large))
        oddest = array[j][~(np.abs(array[j].astype(np.longdouble)) <= LARGEST_NUMBER)][0]
        got = f"{oddest} ({int(is_large.sum())} such vectors in all)"
        raise InputError(
            f"{where}[{j}]", f"finite numbers of size at most {LARGEST_NUMBER:g}", got, "Check the encoder."
        )
    is_small = (largest > 0) & (largest < SMALLEST_NUMBER)
    if is_small.any():
        j = int(np.argmax(is_small))
        expected = f"zeros, or a number of size at least {SMALLEST_NUMBER:g}"
        got = f"a vector up to {largest[j]:g} ({int(is_small.sum())} such vectors in all)"
        raise InputError(f"{where}[{j}]", expected, got, "Multiply all embeddings by one factor.")


def as_array(values: object, where: str, advice: str) -> np.ndarray:
    """Return a table of embeddings, an array, a tensor, or lists of either or of numbers, as a checked array.

    Messages begin with `where`, and end with `advice` where the values are no array.

    Raises:
        TypeError: no array of floating-point numbers, or one with a mask, which arithmetic would not see.
        ValueError: see `check_embeddings`.
    """
    array = as_numbers(values, where, "a floating-point array of shape (n, d)", advice)
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
        expected = f"one vector for each of the {n_captions} distinct captions"
        raise InputError("encoder output", expected, len(array), "Return an array of shape (n, d), in their order.")
    return array
