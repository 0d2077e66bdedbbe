"""Cosines of CLIP features, in float64, and checks of ready features: NumPy only."""

from collections.abc import Callable

import numpy as np

# Pairs of vectors compared at once: 8192 x 768 x 8 bytes = 50 MB.
PAIRS_AT_ONCE = 8192


def paired_cosines(x: np.ndarray, y: np.ndarray, x_rows: np.ndarray, y_rows: np.ndarray) -> np.ndarray:
    """Cosine of x[x_rows[k]] and y[y_rows[k]] for each k: float64, shape (n_pairs,), from -1 to 1 but for rounding.

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
        raise ValueError(
            f"{name_of(j)}: expected finite features that are not all 0 as float32, got {array[j, :3].tolist()}, ... "
            f"({int((~usable).sum())} of {len(features)} given together). Encode the {what} again, or leave it out."
        )
    return features
