"""Squared Fréchet distance of two sets of vectors, each described by a normal distribution, without matrix roots.

With Xc, Yc the centred sets, the trace of (C1 C2)^(1/2) is the sum of the singular values of Xc Yc' divided by
sqrt((n - 1)(m - 1)): C1 C2 and its factor Yc Xc' Xc Yc' have the same non-zero eigenvalues. So a row of ten and
five captions is a problem of 10 x 5 numbers, whatever the dimension, exact also where the covariances are singular.

Of a corpus, whose vectors come in blocks and parts, a set is held as the number of its vectors, their mean and a
triangular R with R'R = the sum of the outer products of the centred vectors: no covariance is formed, and small
directions keep their digits. Two sets are joined by one QR decomposition (Chan, Golub and LeVeque 1983, equation
2.1, https://doi.org/10.1080/00031305.1983.10483115, for the mean and the sum; Demmel et al. 2012, section 3,
https://doi.org/10.1137/080731992, for R).
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from .arrays import Floats, Progress, plain_arguments
from .rows import joint_vectors
from .sets_tests import (
    MAX_PARTITIONS,
    TIE_TOLERANCE,
    Comparison,
    SplitsOfRow,
    comparison_p_values,
    label_blocks,
    row_splits,
    split_forms,
    split_values,
)

# Numbers in the cross blocks of splits held at once, 8 bytes each.
MAX_CROSS_VALUES = 1_000_000

# Vectors decomposed at once.
VECTORS_AT_ONCE = 8_192


class Moments:
    """Number, mean and factor of the covariance of vectors."""

    def __init__(self) -> None:
        self.n = 0
        # float64 array, shape (d,).
        self.mean = np.empty(0)
        self._root = np.empty((0, 0))

    def add(
        self,
        vectors: np.ndarray,
        counts: np.ndarray,
        progress: Progress = lambda steps, **_: steps,
        block_size: int = VECTORS_AT_ONCE,
    ) -> None:
        """Take in vectors, finite and floating-point, shape (n_vectors, d), each as often as its count says.

        `counts` are whole numbers, shape (n_vectors,); `progress` wraps the blocks, `block_size` vectors decomposed at
        once.
        """
        used = np.flatnonzero(counts)
        for start in progress(range(0, len(used), block_size), desc="pooled covariance", unit="block", delay=1):
            block = used[start : start + block_size]
            # From the first vector: differences of vectors near each other are exact.
            first = vectors[block[0]].astype(np.float64)
            shifted, weights = vectors[block].astype(np.float64) - first, counts[block].astype(np.float64)
            mean = weights @ shifted / weights.sum()
            self._join(int(weights.sum()), first + mean, np.sqrt(weights)[:, None] * (shifted - mean))

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the moments as arrays, for `merge`."""
        return {"n": np.array(self.n), "mean": self.mean, "root": self._root}

    def merge(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Merge the `arrays` of other moments of vectors of the same length."""
        self._join(int(arrays["n"]), arrays["mean"], arrays["root"])

    def factor(self) -> np.ndarray:
        """Return R with R'R = the covariance, divisor n - 1: float64 array, shape (at most d, d). Needs two vectors."""
        return self._root / np.sqrt(self.n - 1)

    def _join(self, n: int, mean: np.ndarray, root: np.ndarray) -> None:
        """Take in n vectors of this mean, with root'root = the sum of their centred outer products."""
        if not n:
            return
        total, between = self.n + n, []
        if self.n:
            difference = mean - self.mean
            between = [self._root, np.sqrt(self.n * n / total) * difference[None]]
            mean = self.mean + n / total * difference
        joined = np.concatenate([*between, root])
        self.n, self.mean, self._root = total, mean, triangular(joined) if len(joined) > joined.shape[1] else joined


def triangular(factor: np.ndarray) -> np.ndarray:
    """Return R of the QR decomposition of (..., n, d) arrays: R'R = factor'factor in min(n, d) rows."""
    upper: np.ndarray = np.linalg.qr(factor, mode="r")  # type: ignore[assignment]  # with this mode R alone
    return upper


def joint_frechet_squared(vectors: np.ndarray, n_candidates: int) -> np.ndarray:
    """Return the squared Fréchet distance of candidates and references: float64, (n_rows, n_texts, d) to (n_rows,).

    As `manycaps.functional.frechet_squared`, of both sets in one array, the first `n_candidates` texts of a row, 2 to
    n_texts - 2, being candidates; Chan et al. (2022), equation 5, https://arxiv.org/abs/2209.07518, prints the first
    term without its square, their program squares it.
    """
    vectors = from_first(vectors)
    parts = vectors[:, :n_candidates], vectors[:, n_candidates:]
    means = [part.mean(axis=1) for part in parts]  # each (n_rows, d)
    # Scaled so that C = factor' factor.
    factors = [
        (part - mean[:, None]) / np.sqrt(part.shape[1] - 1) for part, mean in zip(parts, means, strict=True)
    ]  # (n_rows, n, d) and (n_rows, m, d)
    return _from_factors(means[0] - means[1], *factors)


def frechet_comparison(vectors: np.ndarray, n_candidates: int) -> Comparison:
    """Compare rows of equal sizes by means and covariances, with arguments as for `joint_frechet_squared`.

    In units of the joint scatter, which no split changes, so that the tolerance for ties fits every encoder.
    """
    scatter = joint_scatter(vectors)
    scaled = from_first(vectors) / np.sqrt(scatter)[:, None, None]

    def null_values(part: slice, splits: SplitsOfRow) -> Iterator[np.ndarray]:
        return null_frechet_squared(scaled[part], n_candidates, splits)

    distances = np.stack([np.linalg.norm(row[:, None] - row, axis=2) for row in vectors])
    return Comparison(joint_frechet_squared(vectors, n_candidates), distances, null_values, scatter)


def null_frechet_squared(vectors: np.ndarray, n_candidates: int, splits: SplitsOfRow) -> Iterator[np.ndarray]:
    """Yield the squared Fréchet distance of every row under every split, in float64 arrays of shape (n_rows, block).

    The first term and the two traces are sums over pairs of texts, so quadratic forms in the labels; what remains, the
    trace of the root, is the singular values of the block of the Gram matrix between both sets, centred by rows and
    columns. `vectors` is float64, shape (n_rows, n_texts, d); `n_candidates` is 2 to n_texts - 2.
    """
    n, m = n_candidates, vectors.shape[1] - n_candidates
    vectors = from_first(vectors)
    centred = vectors - vectors.mean(axis=1, keepdims=True)
    gram = centred @ centred.swapaxes(1, 2)  # (n_rows, n_texts, n_texts)
    # |mu1 - mu2|^2, and of each trace the part z'Gz / n: Tr C1 = (sum of own products - z'Gz / n) / (n - 1).
    forms, constants = split_forms(gram, 1 / n**2 - 1 / (n * (n - 1)), 1 / m**2 - 1 / (m * (m - 1)), -2 / (n * m))
    texts = np.arange(n + m)
    own = gram[:, texts, texts]  # (n_rows, n_texts)
    on_diagonal = np.flatnonzero(np.equal(*np.triu_indices(n + m)))
    forms[:, on_diagonal] += own / (n - 1) - own / (m - 1)
    constants = constants + own.sum(axis=1) / (m - 1)
    scale = 2 / np.sqrt((n - 1) * (m - 1))
    for labels, values in zip(label_blocks(forms, splits), split_values(forms, constants, splits), strict=True):
        yield np.maximum(values - scale * np.stack([_cross_nuclear_norms(row_gram, labels) for row_gram in gram]), 0)


def from_first(vectors: np.ndarray) -> np.ndarray:
    """Move every row of float64 vectors, shape (n_rows, n_texts, d), so that its first text lies at 0.

    No distance changes. Differences of vectors near each other are exact, means of large numbers are not: so equal
    texts have a scatter of exactly 0, and splits that tie still tie where the texts lie far from 0.

    >>> from_first(np.array([[[1e8], [1e8 + 0.5]]])).tolist()
    [[[0.0], [0.5]]]
    """
    return vectors - vectors[:, :1]


def joint_scatter(vectors: np.ndarray) -> np.ndarray:
    """Return the mean squared distance of rows' texts from their mean: float64, (n_rows, n_texts, d) to (n_rows,).

    It is the unit in which splits are compared; 1 where all texts are equal and there is nothing to compare.

    >>> joint_scatter(np.array([[[0.0], [2.0]], [[3.0], [3.0]]])).tolist()
    [1.0, 1.0]
    """
    scatter = from_first(vectors).var(axis=1).sum(axis=1)
    return np.where(scatter > 0, scatter, 1.0)


def pooled_frechet_squared(
    vectors: np.ndarray,
    candidate_counts: np.ndarray,
    reference_counts: np.ndarray,
    progress: Progress = lambda steps, **_: steps,
    block_size: int = VECTORS_AT_ONCE,
) -> np.floating[Any]:
    """Return the squared Fréchet distance of all candidates and all references of a corpus, in bounded memory.

    A float64 number, as in `joint_frechet_squared`; the order of the vectors, the blocks and parts of the corpus
    that are merged change at most the rounding, 1e-12 of the value.

    `vectors` is floating-point of shape (n_vectors, d), and the counts, whole numbers of shape (n_vectors,), say how
    often each is a candidate and a reference, 2 in all at least. `progress` wraps the blocks of `block_size` vectors in
    a progress bar.
    """
    sides = Moments(), Moments()
    for moments, counts in zip(sides, (candidate_counts, reference_counts), strict=True):
        moments.add(vectors, counts, progress, block_size)
    return frechet_squared_of_moments(*sides)


def frechet_squared_of_moments(candidates: Moments, references: Moments) -> np.floating[Any]:
    """Compute the squared Fréchet distance by the moments, float64, of two sets of 2 or more vectors of one length."""
    distance: np.floating[Any] = _from_factors(
        (candidates.mean - references.mean)[None], candidates.factor()[None], references.factor()[None]
    )[0]
    return distance


def pooled_frechet_p_value(
    vectors: np.ndarray,
    candidate_counts: np.ndarray,
    reference_counts: np.ndarray,
    null_counts: Iterable[np.ndarray],
    n_draws: int,
    progress: Progress = lambda steps, **_: steps,
) -> float:
    """Return the pooled distance's p-value: the share of drawn exchanges with a distance of at least the observed one.

    (1 + reached) / (1 + n_draws), ties within 1e-9 of the joint scatter counted (Phipson and Smyth 2010,
    https://doi.org/10.2202/1544-6115.1585). `null_counts` are float64 arrays, shape (n_vectors, block): candidate
    counts of each exchange, of the observed sum; other arguments are as for `pooled_frechet_squared`. Every exchange
    costs a QR decomposition of all vectors.

    >>> points = np.array([[0.0], [2.0], [3.0], [7.0]])
    >>> drawn = np.array([[1.0, 0.0], [0.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    >>> pooled_frechet_p_value(points, np.array([1, 1, 0, 0]), np.array([0, 0, 1, 1]), [drawn], n_draws=2)
    0.6666666666666666
    """
    totals = candidate_counts + reference_counts
    joint = Moments()
    joint.add(vectors, totals)
    tolerance = TIE_TOLERANCE * (float((joint.factor() ** 2).sum()) or 1.0)
    observed = pooled_frechet_squared(vectors, candidate_counts, reference_counts)
    columns = (counts for block in null_counts for counts in block.T)
    n_reached = 0
    for _ in progress(range(n_draws), desc="pooled exchanges", unit="draw", delay=1):
        counts = next(columns)
        n_reached += int(pooled_frechet_squared(vectors, counts, totals - counts) >= observed - tolerance)
    return (1 + n_reached) / (1 + n_draws)


def _from_factors(difference: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """The distance out of mean differences (n_rows, d) and factors (n_rows, n, d), (n_rows, m, d) of covariances."""
    traces = np.einsum("bnd,bnd->b", first, first) + np.einsum("bmd,bmd->b", second, second)
    first, second = (triangular(factor) if factor.shape[1] > factor.shape[2] else factor for factor in (first, second))
    root_trace = np.linalg.svd(first @ second.swapaxes(1, 2), compute_uv=False).sum(axis=1)
    # Never below 0 in exact arithmetic; equal sets may come out at -1e-16.
    return np.maximum(np.einsum("bd,bd->b", difference, difference) + traces - 2 * root_trace, 0)


def _cross_nuclear_norms(gram: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Sums of singular values of the centred block between both sets, for every split of one row: (n_splits,)."""
    norms = np.empty(len(labels))
    n_candidates = int(labels[0].sum())
    n_references = len(gram) - n_candidates
    step = max(1, MAX_CROSS_VALUES // (n_candidates * n_references))
    for start in range(0, len(labels), step):
        block = labels[start : start + step]
        candidates = np.nonzero(block)[1].reshape(-1, n_candidates)
        references = np.nonzero(~block)[1].reshape(-1, n_references)
        cross = gram[candidates[:, :, None], references[:, None, :]]  # (step, n, m)
        cross -= cross.mean(axis=1, keepdims=True)
        cross -= cross.mean(axis=2, keepdims=True)
        norms[start : start + step] = np.linalg.svd(cross, compute_uv=False).sum(axis=1)
    return norms


@plain_arguments
def frechet_squared(candidates: npt.ArrayLike, references: npt.ArrayLike) -> Floats:
    """Return the squared Fréchet distance of candidates and references of every row.

    |mu1 - mu2|^2 + Tr(C1 + C2 - 2 (C1 C2)^(1/2)), covariances with n - 1 (Dowson and Landau 1982,
    https://doi.org/10.1016/0047-259X(82)90077-X; Heusel et al. 2017, equation 6, https://arxiv.org/abs/1706.08500).

    Args:
        candidates: floating-point array, shape (n_rows, n, d), finite; n is at least 2.
        references: floating-point array, shape (n_rows, m, d), likewise.

    Returns:
        float64 array, shape (n_rows,), at least 0 (equal means and covariances), in squared units of the vectors.

    Raises:
        ValueError: another shape or number.

    >>> frechet_squared([[[0.0], [2.0]]], [[[3.0], [7.0]]]).round(4).tolist()
    [18.0]
    """
    rows, n_candidates = joint_vectors(candidates, references, least=2)
    return joint_frechet_squared(rows, n_candidates)


@plain_arguments
def frechet_p_values(
    candidates: npt.ArrayLike,
    references: npt.ArrayLike,
    *,
    n_resamples: int | None = None,
    max_partitions: int = MAX_PARTITIONS,
    seed: int = 0,
) -> Floats:
    """Return the share of the splits of every row whose squared Fréchet distance is at least the observed one.

    Args:
        candidates: as for `frechet_squared`.
        references: as for `frechet_squared`.
        n_resamples: as for `triangle_rank_p_values`, as are the next two.
        max_partitions: most splits of a row that may be enumerated.
        seed: of the random splits.

    Returns:
        float64 array, shape (n_rows,), above 0 and at most 1.

    Raises:
        TypeError, ValueError: as `frechet_squared` and `triangle_rank_p_values`.

    >>> frechet_p_values([[[0.0], [0.1]]], [[[5.0], [5.1]]]).round(4).tolist()
    [0.3333]
    """
    rows, n_candidates = joint_vectors(candidates, references, least=2)
    splits = row_splits(n_candidates, rows.shape[1], n_resamples, max_partitions, seed)
    return comparison_p_values(frechet_comparison(rows, n_candidates), splits)
