# Vendored from manycaps/shared_cosine_distance.py. Edit it there, then run `make format`.
"""Cosine similarities and distances of all pairs of texts in a row."""

import numpy as np

from .shared_embedding_rows import EmbeddingRows


def cosine_similarities(vectors: np.ndarray) -> np.ndarray:
    """Cosine of every pair of texts.

    Args:
        vectors: float64 array, shape (n_rows, n_texts, d), no vector all zeros.

    Returns:
        float64 array, shape (n_rows, n_texts, n_texts), -1 to 1, symmetric, 1 on the diagonal.

    >>> cosine_similarities(np.array([[[2.0, 0.0], [0.0, 3.0]]])).tolist()
    [[[1.0, 0.0], [0.0, 1.0]]]
    """
    # By the largest number first: squares of small or large ones could leave the range of float64.
    vectors = vectors / np.abs(vectors).max(axis=2, keepdims=True)
    vectors /= np.sqrt(np.einsum("bnd,bnd->bn", vectors, vectors))[..., None]
    cosines = np.clip(vectors @ vectors.swapaxes(1, 2), -1, 1)
    texts = np.arange(vectors.shape[1])
    cosines[:, texts, texts] = 1
    return cosines


def cosine_distances(cosines: np.ndarray) -> np.ndarray:
    """d(x, y) = 1 - cosine (Chan et al. 2022, appendix B.1, https://arxiv.org/abs/2209.07518).

    The authors' program takes the similarity itself for the distance. Equal texts may come out 1e-16 apart, which the
    triangle ranks count as equal.

    Args:
        cosines: float64 array of any shape.

    Returns:
        float64 array of the same shape, 0 to 2.

    >>> cosine_distances(np.array([1.0, -1.0])).tolist()
    [0.0, 2.0]
    """
    return 1 - cosines


def multi_reference_cosine(cosines: np.ndarray, n_candidates: int) -> np.ndarray:
    """Mean over the candidates of the cosine with the nearest reference.

    Chan et al. (2022), equation 1, with the best reference counting, as METEOR does it.

    Args:
        cosines: float64 array, shape (n_rows, n_texts, n_texts), candidates first.
        n_candidates: number of candidates of every row.

    Returns:
        float64 array, shape (n_rows,), -1 (worst) to 1 (best).

    >>> multi_reference_cosine(np.array([[[1.0, 0.2, 0.5], [0.2, 1.0, 0.0], [0.5, 0.0, 1.0]]]), 1).tolist()
    [0.5]
    """
    return cosines[:, :n_candidates, n_candidates:].max(axis=2).mean(axis=1)


def check_nonzero(rows: EmbeddingRows, columns: tuple[str, str]) -> None:
    """Raise if a text's vector is all zeros and so has no cosine.

    Args:
        rows: embedded texts.
        columns: names of the columns of candidates and references, for the message.

    Raises:
        ValueError: some vectors are zero; the message names the first text and counts them.
    """
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
