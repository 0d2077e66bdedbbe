"""Distances of all pairs of vectors in a row, by their names in scipy."""

from collections.abc import Sequence

import numpy as np
from scipy.spatial.distance import cdist

from .shared_cosine_distance import cosine_distances, cosine_similarities

# Distances of scipy that two vectors have by themselves. Those that are scaled by the variances of all vectors
# (seuclidean, mahalanobis) are left out, as are those of true and false.
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
    """Distance of every pair of vectors of a row.

    Args:
        vectors: float64 array, shape (n_rows, n_texts, d); no vector all zeros for "cosine".
        name: one of `DISTANCE_NAMES`, as in `scipy.spatial.distance`.

    Returns:
        float64 array, shape (n_rows, n_texts, n_texts), 0 on the diagonal; NaN where the distance is not defined, as
        the correlation with a constant vector. "cosine" is that of `trm_bert`, to the last bit.

    >>> vector_distances(np.array([[[0.0, 3.0], [4.0, 0.0]]]), "euclidean").tolist()
    [[[0.0, 5.0], [5.0, 0.0]]]
    """
    if name == "cosine":
        return cosine_distances(cosine_similarities(vectors))
    with np.errstate(all="ignore"):  # what is not defined is NaN, and found by `check_defined`
        distances = np.stack([cdist(row, row, metric=name) for row in vectors])
    texts = np.arange(vectors.shape[1])
    distances[:, texts, texts] = 0
    return distances


def check_defined(distances: np.ndarray, name: str) -> None:
    """Raise if a pair of vectors has no distance.

    Args:
        distances: as from `vector_distances`.
        name: of the distance.

    Raises:
        ValueError: a distance is NaN or infinite.
    """
    undefined = ~np.isfinite(distances)
    if undefined.any():
        _, i, j = (int(place) for place in np.argwhere(undefined)[0])
        raise ValueError(
            f"distance={name!r}: expected vectors that have this distance, got a row in which that of texts {i} and "
            f"{j} is not finite ({int(undefined.sum())} such pairs in a batch of rows). Use another distance, for "
            "example 'euclidean'."
        )


def nearest_reference_distance(distances: np.ndarray, n_candidates: int) -> np.ndarray:
    """Mean over the candidates of the distance of the nearest reference.

    Chan et al. (2022), equation 1, https://arxiv.org/abs/2209.07518, with the best reference counting.

    Args:
        distances: float64 array, shape (n_rows, n_texts, n_texts), candidates first; [r, i, j] is the distance of
            text j from text i, so that the references come first in a pair.
        n_candidates: number of candidates of every row.

    Returns:
        float64 array, shape (n_rows,).

    >>> nearest_reference_distance(np.array([[[0.0, 9.0, 9.0], [0.5, 0.0, 9.0], [0.25, 9.0, 0.0]]]), 1).tolist()
    [0.25]
    """
    return distances[:, n_candidates:, :n_candidates].min(axis=1).mean(axis=1)


def check_distance_diagonals(matrices: Sequence[np.ndarray]) -> None:
    """Raise unless every text of every row has distance 0 from itself.

    Args:
        matrices: n_rows arrays, shape (n_texts, n_texts).

    Raises:
        ValueError: a number on a diagonal is not 0.
    """
    for row, matrix in enumerate(matrices):
        own = np.flatnonzero(np.diag(matrix))
        if own.size:
            i = int(own[0])
            raise ValueError(
                f"distances[{row}][{i}][{i}]: expected 0, the distance of a text from itself, got {matrix[i, i]}. Give "
                "distances, not similarities."
            )
