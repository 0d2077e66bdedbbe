"""Cosine similarities and distances of all pairs of vectors in a row, and other distances by name."""

from collections.abc import Sequence

import numpy as np
from scipy.spatial.distance import cdist

from .vectors_rows import EmbeddingRows

# Largest and smallest distances, by the largest of a row, whose squares can be added up in float64.
LARGEST_DISTANCE, SMALLEST_DISTANCE = 1e100, 1e-100


def cosine_similarities(vectors: np.ndarray) -> np.ndarray:
    """Cosine of every pair of texts of float64 vectors, shape (n_rows, n_texts, d), none of them all zeros.

    Returns a float64 array, shape (n_rows, n_texts, n_texts), -1 to 1, symmetric, 1 on the diagonal. A cosine
    within its rounding error of 1 is 1: otherwise texts that are all equal would be ranked by rounding errors.
    """
    # By the largest number first: squares of small or large ones could leave the range of float64.
    vectors = vectors / np.abs(vectors).max(axis=2, keepdims=True)
    vectors /= np.sqrt(np.einsum("bnd,bnd->bn", vectors, vectors))[..., None]
    cosines = np.clip(vectors @ vectors.swapaxes(1, 2), -1, 1)
    rounding = (vectors.shape[2] + 2) * 2.0**-52  # bound for two norms, two divisions and a product of d numbers
    cosines[cosines >= 1 - rounding] = 1
    return cosines


def cosine_distances(cosines: np.ndarray) -> np.ndarray:
    """d(x, y) = 1 - cosine (Chan et al. 2022, appendix B.1), 0 to 2: float64 arrays of any shape."""
    return 1 - cosines


def multi_reference_cosine(cosines: np.ndarray, n_candidates: int) -> np.ndarray:
    """Mean over the candidates of the cosine with the nearest reference.

    Chan et al. (2022), equation 1, where the best reference counts, as in METEOR.

    `cosines` is float64 of shape (n_rows, n_texts, n_texts), candidates first. Shape (n_rows,), -1 (worst) to 1 (best).
    """
    return cosines[:, :n_candidates, n_candidates:].max(axis=2).mean(axis=1)


def check_nonzero(rows: EmbeddingRows, columns: tuple[str, str]) -> None:
    """Raise if a text's vector is all zeros and so has no cosine."""
    is_zero = (rows.vectors == 0).all(axis=1)  # (n_vectors,)
    if not is_zero.any():
        return
    places = [
        f"{name}[{i}][{j}]"
        for name, side in zip(columns, (rows.predictions, rows.references), strict=True)
        for i, numbers in enumerate(side)
        for j in np.flatnonzero(is_zero[numbers])
    ]
    raise ValueError(
        f"{places[0]}: expected an embedding that is not all zeros, which has no cosine ({len(places)} such texts in "
        "all), got zeros. Leave these captions out, or use another encoder."
    )


# Distances of scipy that depend on two vectors alone. Those that are scaled by the variances of all vectors
# (seuclidean, mahalanobis) are left out, as are those of booleans.
DISTANCE_NAMES = (
    "cosine",
    "euclidean",
    "sqeuclidean",
    "cityblock",
    "chebyshev",
    "correlation",
    "braycurtis",
    "canberra",
    "jensenshannon",
)


def vector_distances(vectors: np.ndarray, name: str) -> np.ndarray:
    """Distance of every pair of vectors of a row, by a name of `DISTANCE_NAMES`, as in `scipy.spatial.distance`.

    `vectors` is float64, shape (n_rows, n_texts, d); no vector is all zeros for "cosine", which is that of `trm_bert`
    to the last bit. Returns a float64 array, shape (n_rows, n_texts, n_texts), 0 on the diagonal; NaN where the
    distance is not defined, such as the correlation with a constant vector.
    """
    with np.errstate(all="ignore"):  # what is not defined is NaN, and found by `check_defined`
        if name == "correlation":
            vectors = vectors - vectors.mean(axis=2, keepdims=True)
        if name in ("cosine", "correlation"):
            distances = cosine_distances(cosine_similarities(vectors))
        else:
            distances = np.stack([cdist(row, row, metric=name) for row in vectors])
    texts = np.arange(vectors.shape[1])
    distances[:, texts, texts] = 0
    return distances


def check_defined(distances: np.ndarray, name: str) -> None:
    """Raise if a pair of vectors has no distance."""
    undefined = ~np.isfinite(distances)
    if undefined.any():
        _, i, j = (int(index) for index in np.argwhere(undefined)[0])
        raise ValueError(
            f"distance={name!r}: expected vectors that have this distance, got a row in which that of texts {i} and "
            f"{j} is not finite ({int(undefined.sum())} such pairs in a batch of rows). Use another distance, for "
            "example 'euclidean'."
        )


def nearest_reference_distance(distances: np.ndarray, n_candidates: int) -> np.ndarray:
    """Mean over the candidates of the distance of the nearest reference.

    Chan et al. (2022), equation 1, https://arxiv.org/abs/2209.07518, with the best reference counting.

    `distances` is float64 of shape (n_rows, n_texts, n_texts), candidates first; [r, i, j] is the distance of text j
    from text i, so that the references come first in a pair. Shape (n_rows,).
    """
    return distances[:, n_candidates:, :n_candidates].min(axis=1).mean(axis=1)


def check_distance_diagonals(matrices: Sequence[np.ndarray]) -> None:
    """Raise unless all distances of texts from themselves are 0, in n_rows arrays of shape (n_texts, n_texts)."""
    for row, matrix in enumerate(matrices):
        own = np.flatnonzero(np.diag(matrix))
        if own.size:
            i = int(own[0])
            raise ValueError(
                f"distances[{row}][{i}][{i}]: expected 0, the distance of a text from itself, got {matrix[i, i]}. Give "
                "distances, not similarities."
            )


def check_distance_scale(matrices: Sequence[np.ndarray]) -> None:
    """Raise unless the squares of all distances, n_rows arrays (n_texts, n_texts), stay within the range of float64."""
    for row, matrix in enumerate(matrices):
        largest = float(np.abs(matrix).max())
        if largest > LARGEST_DISTANCE or 0 < largest < SMALLEST_DISTANCE:
            raise ValueError(
                f"distances[{row}]: expected a largest distance from {SMALLEST_DISTANCE:g} to {LARGEST_DISTANCE:g}, or "
                f"0, got {largest:g}. Give the distances in another unit."
            )
