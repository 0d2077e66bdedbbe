"""Squared maximum mean discrepancy of one large corpus: all pairs in blocks, on all cores, in bounded memory.

A bandwidth that is a median or a mean belongs to all pairs, so at first sight the pairs must be visited for it, and
again for the kernel. One visit does: a sample gives a bandwidth near the true one, and the kernel is summed with it
together with the first terms of its power series in the difference of the two, which is known at the end.

CMMD and KID are two published values of this kind, with the kernels, estimators and units of their authors.
"""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from .arrays import Floats, Progress, as_finite, plain_arguments
from .errors import InputError
from .mmd_blocks import BLOCK_SIZE, MeanSearch, MedianSearch, can_sample, exact_median, map_blocks
from .mmd_rows import (
    BANDWIDTH_RULES,
    MOST_SUBSETS,
    _polynomial_kernel,
    mmd_from_sums,
    mmd_of_kernel,
    squared_distances,
    without_own,
)
from .options import check_whole_number
from .sets_tests import TIE_TOLERANCE

# Terms of the power series, the kernel itself included, and the largest error of a kernel value that they may leave. A
# sample misses a bandwidth by less than 0.1%, which leaves 1e-13.
N_TERMS = 4

SERIES_TOLERANCE = 1e-11

# Bandwidth and factor of CMMD (google-research, cmmd/distance.py).
CMMD_SIGMA = 10.0

CMMD_SCALE = 1000.0

# Kernel of KID (Bińkowski et al. 2018, section 4): degree, gamma (1 / d), coef0.
KID_KERNEL = (3, None, 1.0)


def pooled_mmd_squared(
    vectors: np.ndarray,
    candidate_counts: np.ndarray,
    reference_counts: np.ndarray,
    sigma: str | float = "median",
    estimator: str = "unbiased",
    progress: Progress = lambda steps, **_: steps,
    block_size: int = BLOCK_SIZE,
) -> np.ndarray:
    """Return the squared MMD of all candidates and all references of a corpus, in bounded memory.

    The kernel matrix is computed block by block and summed, on all cores. Time grows with the square of n_vectors. The
    result has no dimensions; for a bandwidth rule it is within 4e-11 of the sum over all pairs.

    `vectors` is floating-point of shape (n_vectors, d), and the counts, whole numbers of shape (n_vectors,), say how
    often each is a candidate and a reference. `sigma` is a rule of `bandwidths` or a number, and `estimator` one of
    `mmd_from_sums`. `progress` wraps the rows of blocks in a progress bar; about ten arrays of block_size^2 numbers are
    held per core.
    """
    counts, totals = candidate_counts[:, None].astype(np.float64), candidate_counts + reference_counts
    return _pooled_values(vectors, counts, totals, sigma, estimator, progress, block_size)[0]


def pooled_mmd_p_value(
    vectors: np.ndarray,
    candidate_counts: np.ndarray,
    reference_counts: np.ndarray,
    null_counts: Iterable[np.ndarray],
    sigma: str | float = "median",
    estimator: str = "unbiased",
    progress: Progress = lambda steps, **_: steps,
) -> float:
    """Return the pooled squared MMD's p-value: the share of drawn exchanges with a value of at least the observed one.

    (1 + reached) / (1 + draws), ties within 1e-9 counted (Phipson and Smyth 2010,
    https://doi.org/10.2202/1544-6115.1585). The bandwidth belongs to the joint corpus, which no exchange changes.
    `null_counts` are float64 arrays, shape (n_vectors, block): candidate counts of each exchange, of the observed sum;
    other arguments are as for `pooled_mmd_squared`. Time grows with the square of n_vectors, times the draws.

    >>> points, drawn = np.array([[0.0], [1.0]]), [np.array([[1.0, 2.0, 0.0], [1.0, 0.0, 2.0]])]
    >>> pooled_mmd_p_value(points, np.array([2, 0]), np.array([0, 2]), drawn, sigma=1.0)
    0.75
    """
    totals = candidate_counts + reference_counts
    used = totals > 0
    bandwidth = _pooled_bandwidth(vectors[used], totals[used].astype(np.float64), sigma, progress, BLOCK_SIZE)
    n_reached = n_drawn = 0
    for drawn in null_counts:
        # The observed counts beside the drawn ones: equal counts have equal values, to the last digit.
        counts = np.column_stack((candidate_counts, drawn))
        values = _pooled_values(vectors, counts, totals, bandwidth, estimator, progress, BLOCK_SIZE)
        n_reached += int(np.count_nonzero(values[1:] >= values[0] - TIE_TOLERANCE))
        n_drawn += len(values) - 1
    return (1 + n_reached) / (1 + n_drawn)


def _pooled_values(
    vectors: np.ndarray,
    candidate_counts: np.ndarray,
    totals: np.ndarray,
    sigma: str | float,
    estimator: str,
    progress: Progress,
    block_size: int,
) -> np.ndarray:
    """Pooled squared MMD for each column of candidate_counts (n_vectors, n_values), of one sum: (n_values,)."""
    used = totals > 0
    vectors, counts, weights = vectors[used], candidate_counts[used], totals[used].astype(np.float64)
    sums = None
    if sigma in BANDWIDTH_RULES and can_sample(vectors, weights):
        sums = _sums_in_one_visit(vectors, counts, weights, str(sigma), progress, block_size)
    if sums is None:
        bandwidth = _pooled_bandwidth(vectors, weights, sigma, progress, block_size)
        sums = _kernel_sums(vectors, counts, weights, bandwidth, progress, block_size)
    n = int(counts[:, 0].sum())
    m = int(weights.sum()) - n
    among, with_all, all_pairs = np.split(sums, [counts.shape[1], -1])
    return mmd_from_sums(among, all_pairs - 2 * with_all + among, with_all - among, n, m, estimator)


def _kernel_sums(
    vectors: np.ndarray, counts: np.ndarray, weights: np.ndarray, bandwidth: float, progress: Progress, block_size: int
) -> np.ndarray:
    """With c each column of the counts, t the weights and K the kernel: c'Kc, c'Kt, and t'Kt once, in one array.

    Both sums that involve references follow from these.
    """

    def kernel_sums(rows: slice, columns: slice, squared: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore"):  # as in `gaussian_kernel`
            kernel = np.exp(squared / (-2 * bandwidth**2)) if bandwidth > 0 else (squared == 0).astype(np.float64)
        return _block_sums(kernel, rows, columns, counts, weights)

    return sum(map_blocks(kernel_sums, vectors, _distance_matrix, progress, "pooled kernel", block_size), np.zeros(()))


def _sums_in_one_visit(
    vectors: np.ndarray, counts: np.ndarray, weights: np.ndarray, rule: str, progress: Progress, block_size: int
) -> np.ndarray | None:
    """`_kernel_sums` with the bandwidth of a rule; None if the sample was too far off.

    With g = 1 / (2 sigma^2), g0 the sample's, q a squared distance and e = g / g0 - 1, the kernel exp(-g q) is the sum
    over k of (-e)^k / k! (g0 q)^k exp(-g0 q). What is left off after `N_TERMS` terms is at most
    (|e| / (1 - |e|))^N_TERMS / sqrt(2 pi N_TERMS): Lagrange's remainder, with u^n exp(-u) at most (n / e)^n, and
    Stirling's bound for n!.
    """
    search = _search(vectors, weights, rule)
    first_sigma = _bandwidth_of(rule, search.guess)
    if first_sigma == 0:
        return None

    def series_sums(rows: slice, columns: slice, squared: np.ndarray) -> tuple[Any, np.ndarray]:
        searched = search.visit_block(rows, columns, squared)
        exponents = squared
        exponents /= -2 * first_sigma**2
        kernel = np.exp(exponents)
        terms = [_block_sums(kernel, rows, columns, counts, weights)]
        for _ in range(N_TERMS - 1):
            kernel *= exponents
            terms.append(_block_sums(kernel, rows, columns, counts, weights))
        return searched, np.stack(terms)

    total = np.zeros(())
    for searched, terms in map_blocks(series_sums, vectors, _distance_matrix, progress, f"pooled {rule}", block_size):
        search.add(searched)
        total = total + terms
    value = search.result()
    if not value:  # not found, or 0
        return None
    off = (first_sigma / _bandwidth_of(rule, value)) ** 2 - 1
    remainder = (abs(off) / (1 - abs(off))) ** N_TERMS / math.sqrt(2 * math.pi * N_TERMS) if abs(off) < 1 else math.inf
    if remainder > SERIES_TOLERANCE:
        return None
    factors = np.array([off**k / math.factorial(k) for k in range(N_TERMS)])
    return factors @ total


def _block_sums(kernel: np.ndarray, rows: slice, columns: slice, counts: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """What a block adds to `_kernel_sums`: itself and, off the diagonal, its mirror image."""
    for_all, for_counts = kernel @ weights[columns], kernel @ counts[columns]
    among = np.einsum("nb,nb->b", counts[rows], for_counts)
    with_all, all_pairs = counts[rows].T @ for_all, weights[rows] @ for_all
    if rows != columns:
        among, all_pairs = 2 * among, 2 * all_pairs
        with_all = with_all + weights[rows] @ for_counts
    return np.concatenate((among, with_all, [all_pairs]))


def _pooled_bandwidth(
    vectors: np.ndarray, weights: np.ndarray, sigma: str | float, progress: Progress, block_size: int
) -> float:
    """`bandwidths` for a corpus; `weights` (n_vectors,) says how often each vector occurs."""
    if sigma not in BANDWIDTH_RULES:
        return float(sigma)
    rule, value = str(sigma), None
    if rule == "mean" or can_sample(vectors, weights):
        search = _search(vectors, weights, rule)
        for part in map_blocks(search.visit_block, vectors, _distance_matrix, progress, f"pooled {rule}", block_size):
            search.add(part)
        value = search.result()
    return _bandwidth_of(
        rule, exact_median(vectors, weights, _distance_matrix, progress, block_size) if value is None else value
    )


def _search(vectors: np.ndarray, weights: np.ndarray, rule: str) -> Any:
    return (MedianSearch if rule == "median" else MeanSearch)(vectors, weights, _distance_matrix)


def _bandwidth_of(rule: str, average: float) -> float:
    """Half the median, of which the square is given, or half the mean."""
    return (math.sqrt(average) if rule == "median" else average) / 2


def _distance_matrix(first: np.ndarray, second: np.ndarray | None) -> np.ndarray:
    """Squared distances of vectors (n, d) and (m, d): (n, m)."""
    return squared_distances(first[None], None if second is None else second[None])[0]


def pooled_cmmd(vectors: np.ndarray, candidate_counts: np.ndarray, reference_counts: np.ndarray) -> float:
    """Return CMMD of a corpus, 0 to 2,000: 1,000 times the biased squared MMD with a Gaussian kernel of bandwidth 10.

    Jayasumana et al. (2024), section 4, https://arxiv.org/abs/2401.09603, with the factor that the authors' program
    prints (google-research, cmmd/distance.py). Their features have the length 1 (scenic, baselines/clip/layers.py,
    `encode_image`), so that no two of them are further apart than 2, and CMMD stays below 1,000 (2 - 2 exp(-1/50)),
    39.6. The arguments are as for `pooled_mmd_squared`.
    """
    return CMMD_SCALE * float(pooled_mmd_squared(vectors, candidate_counts, reference_counts, CMMD_SIGMA, "biased"))


def kid_values(
    candidates: np.ndarray, references: np.ndarray, n_subsets: int, subset_size: int, seed: int
) -> np.ndarray:
    """Compute KID of random subsets: unbiased squared MMD with k(a, b) = (a.b / d + 1)^3, float64, (n_subsets,).

    Bińkowski et al. (2018), section 4, https://arxiv.org/abs/1801.01401: subsets of equal size, drawn without
    replacement from each set, floating-point, shapes (n, d) and (m, d); the value is their mean, beside their standard
    deviation. Options as for `manycaps.functional.kid`.
    """
    rng = np.random.default_rng(seed)
    values = np.empty(n_subsets)
    for i in range(n_subsets):
        drawn = [side[rng.choice(len(side), subset_size, replace=False)] for side in (candidates, references)]
        kernel = _polynomial_kernel(np.concatenate(drawn)[None].astype(np.float64), *KID_KERNEL)
        values[i] = mmd_of_kernel(without_own(kernel), subset_size, "unbiased", own=0.0)[0]
    return values


@plain_arguments
def cmmd(candidates: npt.ArrayLike, references: npt.ArrayLike) -> float:
    """Return CMMD of two sets of features: 1,000 times the biased squared MMD with a Gaussian kernel of bandwidth 10.

    Jayasumana et al. (2024), section 4, https://arxiv.org/abs/2401.09603; their features come from CLIP ViT-L/14 at 336
    pixels, scaled to length 1.

    Args:
        candidates: floating-point array, shape (n, d), finite.
        references: floating-point array, shape (m, d), finite.

    Returns:
        0 (equal sets) to 2,000, of features of length 1 to 39.6.

    Raises:
        ValueError: another shape, or a number that is not finite.

    >>> round(cmmd([[0.0]], [[10.0]]), 3)
    786.939
    """
    first, second = _as_features(candidates, references)
    is_candidate = np.arange(len(first) + len(second)) < len(first)
    return pooled_cmmd(np.concatenate((first, second)), is_candidate.astype(np.int64), (~is_candidate).astype(np.int64))


@plain_arguments
def kid(
    candidates: npt.ArrayLike, references: npt.ArrayLike, n_subsets: int = 100, subset_size: int = 1_000, seed: int = 0
) -> tuple[float, float]:
    """Return KID of two sets of features: mean and standard deviation of the unbiased squared MMD of random subsets.

    The kernel is (a.b / d + 1)^3 (Bińkowski et al. 2018, section 4, https://arxiv.org/abs/1801.01401).

    Args:
        candidates: floating-point array, shape (n, d), finite.
        references: floating-point array, shape (m, d), finite.
        n_subsets: number of subsets, at most 100,000.
        subset_size: vectors of each set in a subset, 2 to the size of the smaller set.
        seed: of the draws.

    Returns:
        The mean, around 0 for two samples of one distribution, and the standard deviation.

    Raises:
        TypeError: a number is not a whole number.
        ValueError: another shape or number.

    >>> [round(value, 3) for value in kid([[0.0], [1.0]], [[0.0], [1.0]], n_subsets=1, subset_size=2)]
    [-3.5, 0.0]
    """
    first, second = _as_features(candidates, references)
    check_whole_number("n_subsets", n_subsets, 1, MOST_SUBSETS)
    check_whole_number("subset_size", subset_size, 2)
    check_whole_number("seed", seed, 0)
    check_subset_size(subset_size, len(first), len(second))
    values = kid_values(first, second, n_subsets, subset_size, seed)
    return float(values.mean()), float(values.std())


def _as_features(candidates: npt.ArrayLike, references: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Two sets of vectors of equal length as float64."""
    first, second = as_finite(candidates, "candidates"), as_finite(references, "references")
    for name, array in (("candidates", first), ("references", second)):
        if array.ndim != 2 or not array.size:
            raise InputError(name, "an array of shape (n, d)", array.shape, "Give one row per item.")
    if first.shape[1] != second.shape[1]:
        raise InputError(
            "references", f"{first.shape[1]} numbers per item", second.shape[1], "Use one encoder for both."
        )
    return first, second


def check_subset_size(subset_size: int, n_candidates: int, n_references: int) -> None:
    """Raise unless both sets have as many vectors as a subset."""
    least = min(n_candidates, n_references)
    if subset_size > least:
        fix = "Give a smaller one; for published values give more features."
        raise InputError("subset_size", f"at most {least}, the size of the smaller set", subset_size, fix)
