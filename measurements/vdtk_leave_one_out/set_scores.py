"""Statistics of a set of hypotheses and a set of references of a row, from a number of each pair of its texts."""

import functools
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from .row_pairs import MAX_PAIRS, Floats, MeanScores, RowPairs, Statistics
from .shared_cosine_distance import cosine_distances, cosine_similarities
from .shared_kernels import gaussian_kernel_of_distances, squared_distances
from .shared_mean_discrepancy import mmd_of_kernel
from .shared_row_texts import Ints, Masks, RowTexts
from .shared_triangle_rank import triangle_rank_counts, triangle_rank_statistic

# From numbers of pairs, shape (n_rows, n_texts, n_texts), hypotheses first, and the number of hypotheses to (n_rows,).
Compare = Callable[[Floats, int], Floats]


class SetScores(RowPairs, MeanScores):
    """A statistic of two sets of texts: mean over rows."""

    is_set = True

    def __init__(self, texts: RowTexts, name: str, matrices: Sequence[Floats], compare: Compare) -> None:
        """Keep the numbers of all pairs.

        Args:
            texts: places of the texts.
            name: key of the result.
            matrices: of each row a number for each pair of its texts, shape (n_texts, n_texts).
            compare: the statistic.
        """
        super().__init__(texts)
        self.name, self.compare = name, compare
        self.numbers: Floats = np.concatenate([np.zeros(0), *(matrix.ravel() for matrix in matrices)])

    def statistics(self, hypotheses: Ints, references: Masks) -> Statistics:
        """Statistics of sets of hypotheses, shape (n, n_hypotheses), against their references: shape (n,)."""
        n_hypotheses = hypotheses.shape[1]
        position, other = self.texts.members(self.texts.row[hypotheses[:, 0]], references)
        n_references = np.bincount(position, minlength=len(hypotheses))
        first = np.cumsum(n_references) - n_references
        values = np.zeros(len(hypotheses))
        for n in np.unique(n_references).tolist():
            alike, step = np.flatnonzero(n_references == n), max(1, MAX_PAIRS // (n_hypotheses + n) ** 2)
            for begin in range(0, len(alike), step):
                these = alike[begin : begin + step]
                own = other[first[these, None] + np.arange(n)]
                texts = np.column_stack([hypotheses[these], own])  # hypotheses first
                values[these] = self.compare(self.numbers[self.squares(texts)], n_hypotheses)
        return values


def triangle_ranks(distances: Floats, n_hypotheses: int) -> Floats:
    """Triangle-rank statistic of every row, one Q for each kind of triangle, as the modules of TRM have it."""
    return triangle_rank_statistic(triangle_rank_counts(distances, n_hypotheses), "per_side")


def mean_discrepancies(squared: Floats, n_hypotheses: int, estimator: str) -> Floats:
    """Squared MMD of every row, the bandwidth half the median distance of the texts that are compared.

    Args:
        squared: float64 array, shape (n_rows, n_texts, n_texts): squared distances, hypotheses first.
        n_hypotheses: number of hypotheses of every row.
        estimator: "unbiased", "biased" or "authors".

    Returns:
        float64 array, shape (n_rows,).

    >>> mean_discrepancies(np.array([[[0.0, 1.0], [1.0, 0.0]]]), 1, "biased").round(4).tolist()
    [1.7293]
    """
    return mmd_of_kernel(gaussian_kernel_of_distances(squared, "median"), n_hypotheses, estimator)


def frechet_of_products(products: Floats, n_hypotheses: int) -> Floats:
    """Squared Fréchet distance of every row, out of the inner products of its vectors.

    |mu1 - mu2|^2 + Tr(C1 + C2 - 2 (C1 C2)^(1/2)), covariances with n - 1 (Dowson and Landau 1982,
    https://doi.org/10.1016/0047-259X(82)90077-X; Chan et al. 2022, equation 5, https://arxiv.org/abs/2209.07518). With
    the centred vectors X and Y of both sets as lines, the trace of the root is the sum of the singular values of X Y',
    divided by the root of (n - 1)(m - 1); X Y' are the products between both sets, centred by lines and columns.

    Args:
        products: float64 array, shape (n_rows, n_texts, n_texts): inner products with any origin, hypotheses first.
        n_hypotheses: number of hypotheses of every row, 2 to n_texts - 2.

    Returns:
        float64 array, shape (n_rows,), at least 0 (equal means and covariances), in squared units of the vectors.

    >>> frechet_of_products(np.outer([0.0, 2, 3, 7], [0.0, 2, 3, 7])[None], 2).round(4).tolist()
    [18.0]
    """
    n, m = n_hypotheses, products.shape[1] - n_hypotheses
    blocks = products[:, :n, :n], products[:, n:, n:], products[:, :n, n:]
    means = [block.mean(axis=(1, 2)) for block in blocks]
    own = [np.einsum("rii->r", block) for block in blocks[:2]]
    traces = [(own[i] - size * means[i]) / (size - 1) for i, size in enumerate((n, m))]
    centred = blocks[2] - blocks[2].mean(axis=1, keepdims=True) - blocks[2].mean(axis=2, keepdims=True)
    centred += means[2][:, None, None]
    roots = np.linalg.svd(centred, compute_uv=False).sum(axis=1) / np.sqrt((n - 1) * (m - 1))
    return np.maximum(means[0] + means[1] - 2 * means[2] + sum(traces) - 2 * roots, 0)


def cosine_matrices(vectors: Floats) -> Floats:
    """Cosine distances of the vectors of a row, shape (n_texts, n_texts)."""
    return cosine_distances(cosine_similarities(vectors[None]))[0]


def squared_matrices(vectors: Floats) -> Floats:
    """Squared Euclidean distances of the vectors of a row, shape (n_texts, n_texts)."""
    return squared_distances(vectors[None])[0]


def inner_products(vectors: Floats) -> Floats:
    """Inner products of the vectors of a row, shape (n_texts, n_texts), the origin at their mean.

    The first one is taken off before: differences of vectors near each other are exact, so equal texts have products of
    exactly 0 also where they lie far from the origin.
    """
    vectors = vectors - vectors[:1]
    vectors -= vectors.mean(axis=0)
    return vectors @ vectors.T


def embedding_scores(texts: RowTexts, name: str, rows: Sequence[Floats], estimator: str) -> SetScores:
    """Compare the embeddings of every row's texts once.

    Args:
        texts: places of the texts.
        name: "trm_bert", "mmd_bert" or "fid_bert".
        rows: of each row float64 vectors, shape (n_texts, d).
        estimator: of "mmd_bert".

    Returns:
        The metric.
    """
    measures: Mapping[str, tuple[Callable[[Floats], Floats], Compare]] = {
        "trm_bert": (cosine_matrices, triangle_ranks),
        "mmd_bert": (squared_matrices, functools.partial(mean_discrepancies, estimator=estimator)),
        "fid_bert": (inner_products, frechet_of_products),
    }
    matrix, compare = measures[name]
    return SetScores(texts, name, [matrix(vectors) for vectors in rows], compare)
