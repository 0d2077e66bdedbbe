"""Squared maximum mean discrepancy of one large corpus: all pairs in blocks, on all cores, in bounded memory.

A bandwidth that is a median or a mean belongs to all pairs, so at first sight the pairs must be visited for it, and
again for the kernel. One visit does: a sample gives a bandwidth near the true one, and the kernel is summed with it
together with the first terms of its power series in the difference of the two, which is known at the end. Median and
mean are exact.

CMMD and KID are two published values of this kind, with the kernels, estimators and units of their authors.
"""

import math
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import threadpoolctl

from .arrays import Floats, Progress, as_finite, map_in_order, plain_arguments
from .errors import InputError
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

# Vectors on a side of a block: its arrays of 0.5 MB stay in a core's cache, and need no new pages from the system.
BLOCK_SIZE = 256

# From vectors (n, d) and (m, d) to values of their pairs, (n, m); None for the second means the first.
PairValues = Callable[[np.ndarray, np.ndarray | None], np.ndarray]

BatchPart = TypeVar("BatchPart")


def n_threads() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def map_blocks(
    work: Callable[[slice, slice, np.ndarray], BatchPart],
    vectors: np.ndarray,
    pair_values: PairValues,
    progress: Progress,
    what: str,
    block_size: int = BLOCK_SIZE,
) -> Iterator[BatchPart]:
    """Yield the result of `work` for every block of pairs on and above the diagonal, row of blocks by row of blocks.

    Blocks are computed in threads, as many as there are cores, and given in a fixed order: sums over them do not depend
    on the number of cores. A few blocks are held at once. In threads `work` gets the rows and the columns of a block,
    and its float64 pair values; equal slices mean a block on the diagonal, which holds each of its pairs twice.
    `vectors` is floating-point, shape (n, d); `what` names the progress bar.

    >>> points, differences = np.array([[1.0], [2.0], [4.0]]), lambda a, b: a - (a if b is None else b).T
    >>> list(map_blocks(lambda i, j, v: v.tolist(), points, differences, lambda steps, **_: steps, "", 2))
    [[[0.0, -1.0], [1.0, 0.0]], [[-3.0], [-2.0]], [[0.0]]]
    """

    def block_result(block: tuple[slice, np.ndarray, slice]) -> BatchPart:
        rows, first, columns = block
        return work(rows, columns, pair_values(first, None if rows == columns else _float64(vectors[columns])))

    def blocks() -> Iterator[tuple[slice, np.ndarray, slice]]:
        for start in progress(range(0, len(vectors), block_size), desc=what, unit="block", delay=1):
            rows = slice(start, start + block_size)
            first = _float64(vectors[rows])
            for other in range(start, len(vectors), block_size):
                yield rows, first, slice(other, other + block_size)

    # One thread of BLAS for each of ours: more would wait for each other.
    with threadpoolctl.threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(n_threads()) as pool:
        yield from map_in_order(pool, block_result, blocks(), 2 * n_threads())


def _float64(vectors: np.ndarray) -> np.ndarray:
    return vectors.astype(np.float64, copy=False)


# Most pairs of a sample, 8 bytes each, which tell the median's rank to about 0.02%. The groups that are paired have at
# most a 50th of the vectors: the sample of a small corpus is smaller.
SAMPLED_PAIRS = 8_000_000

SAMPLED_SHARE = 50

# Half the width of the bracket around a sample's median, in standard deviations of its rank.
BRACKET_DEVIATIONS = 6

# Values held to find the median among them, 8 bytes each, twice; a bracket holds 0.2% of the pairs.
MAX_BRACKETED = 32_000_000

# Bins of one pass of the search for a median, and the number of values below which they are sorted instead.
MEDIAN_BINS = 65_536

MAX_SORTED = 4_000_000

# A block's weight below the bracket, the values in it, and their weights; or its sum of distances.
MedianPart = tuple[float, np.ndarray, np.ndarray]


class MedianSearch:
    """Finds the median during a pass over the pairs for something else: a sample says where to look.

    The answer is exact, or None if the sample misled: then the median is outside the bracket.
    """

    def __init__(self, vectors: np.ndarray, weights: np.ndarray, pair_values: PairValues) -> None:
        self.weights = weights
        self.low, self.high = _sample_bracket(vectors, weights, pair_values)
        # Estimate of the median, before all pairs have been seen.
        self.guess = (self.low + self.high) / 2
        self.below, self.n_inside = _own_pairs(weights), 0
        self.inside: list[tuple[np.ndarray, np.ndarray]] = []

    def visit_block(self, rows: slice, columns: slice, values: np.ndarray) -> MedianPart:
        """Count the values below the bracket, and keep those in it; thread-safe."""
        if rows == columns:  # each pair once
            values = np.where(np.tri(len(values), dtype=bool), np.inf, values)
        row_weights, column_weights = self.weights[rows], self.weights[columns]
        is_below = values < self.low
        places = np.flatnonzero((values <= self.high) & ~is_below)
        i, j = np.divmod(places, values.shape[1])
        below = float(row_weights @ (is_below @ column_weights))
        return below, values.ravel()[places], row_weights[i] * column_weights[j]

    def add(self, part: MedianPart) -> None:
        """Add the result of a block."""
        below, values, times = part
        self.below += below
        self.n_inside += len(values)
        if self.n_inside <= MAX_BRACKETED:
            self.inside.append((values, times))
        else:
            self.inside.clear()

    def result(self) -> float | None:
        """Return the median of the pair values once all blocks are added, or None."""
        rank = _median_rank(self.weights) - self.below
        if rank < 0 or not self.inside:
            return None
        median = _at_rank(self.inside, rank)
        return float(median[0]) if len(median) else None


class MeanSearch:
    """Sums roots of the pair values during a pass over the pairs for something else; used for the mean."""

    def __init__(self, vectors: np.ndarray, weights: np.ndarray, pair_values: PairValues) -> None:
        self.weights = weights
        values, times = _sample_pairs(vectors, weights, pair_values)
        n_texts = float(weights.sum())
        self.n_pairs = n_texts * (n_texts - 1) / 2
        # Estimate of the mean root, before all pairs have been seen.
        self.guess = float(np.sqrt(values) @ times / times.sum()) * (1 - _own_pairs(weights) / self.n_pairs)
        self.total = 0.0

    def visit_block(self, rows: slice, columns: slice, values: np.ndarray) -> float:
        """Add the roots of a block; thread-safe."""
        total = float(self.weights[rows] @ (np.sqrt(values) @ self.weights[columns]))
        return total / 2 if rows == columns else total

    def add(self, part: float) -> None:
        """Add the result of a block."""
        self.total += part

    def result(self) -> float:
        """Return the mean of the roots once all blocks are added."""
        return self.total / self.n_pairs


def can_sample(vectors: np.ndarray, weights: np.ndarray) -> bool:
    """Return whether a sample pays off: all pairs of a small corpus are sorted instead.

    >>> can_sample(np.zeros((2000, 1)), np.ones(2000)), can_sample(np.zeros((2001, 1)), np.ones(2001))
    (False, True)
    """
    # Where most pairs are of equal texts the median is 0, and no bracket holds it.
    return len(vectors) ** 2 > MAX_SORTED and _own_pairs(weights) <= _median_rank(weights)


def exact_median(
    vectors: np.ndarray, weights: np.ndarray, pair_values: PairValues, progress: Progress, block_size: int = BLOCK_SIZE
) -> float:
    """Return the median of the pair values, whatever they are, in one to three passes over all blocks.

    Each pass narrows the bracket around the median to three bins of a histogram, until what is inside can be sorted, or
    is one value up to rounding. `vectors` is floating-point, shape (n_vectors, d); `weights` is float64, shape
    (n_vectors,): how many texts each vector stands for; `pair_values` are distances, or squared ones.

    >>> points, steps = np.array([[0.0], [1.0], [3.0]]), lambda steps, **_: steps
    >>> exact_median(points, np.ones(3), lambda a, b: abs(a - (a if b is None else b).T), steps)
    2.0
    """

    def weigh(rows: slice, columns: slice, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        times = np.outer(weights[rows], weights[columns])
        return values.ravel(), (times / 2 if rows == columns else times).ravel()

    # A block on the diagonal holds each pair twice, and each text with itself: half of w^2 zeros for each vector, where
    # w (w - 1) / 2 are pairs.
    rank = _median_rank(weights) + float(weights.sum()) / 2
    # No two are further apart than twice the largest distance from the first, which squared is 4; 1.01 is for rounding.
    first = vectors[:1].astype(np.float64)
    furthest = max(
        float(pair_values(first, vectors[start : start + block_size].astype(np.float64)).max())
        for start in range(0, len(vectors), block_size)
    )
    low, high = 0.0, 1.01 * 4 * furthest
    while high - low > 1e-12 * high:
        blocks = map_blocks(weigh, vectors, pair_values, progress, "pooled median", block_size)
        below, histogram, inside, (least, greatest) = _count_values(blocks, low, high)
        if inside:
            return float(_at_rank(inside, rank - below)[0])
        bin_number = int(np.searchsorted(np.cumsum(histogram), rank - below, side="right"))
        width = (high - low) / MEDIAN_BINS
        # A bin more on either side: rounding may have moved a value to the next bin.
        low, high = max(least, low + (bin_number - 1) * width), min(greatest, low + (bin_number + 2) * width)
    return high


def _own_pairs(weights: np.ndarray) -> float:
    """Number of pairs of two texts that share a vector."""
    return float((weights * (weights - 1)).sum()) / 2


def _median_rank(weights: np.ndarray) -> float:
    """Rank of the median among all pairs, counted from 0."""
    n_texts = int(weights.sum())
    return float((n_texts * (n_texts - 1) // 2 - 1) // 2)


def _sample_pairs(vectors: np.ndarray, weights: np.ndarray, pair_values: PairValues) -> tuple[np.ndarray, np.ndarray]:
    """Values and weights of some pairs of different vectors.

    The vectors are shuffled into groups, and each group is paired with the next one: every vector occurs equally often,
    so what a single vector does to its pairs does not vary with the draw.
    """
    n = len(vectors)
    size = max(1, min(SAMPLED_PAIRS // n, n // SAMPLED_SHARE))
    order = np.random.default_rng(0).permutation(n)
    groups = [order[start : start + size] for start in range(0, n, size)]
    values, times = [], []
    for group, following in zip(groups, [*groups[1:], groups[0]], strict=True):
        first, second = (vectors[chosen].astype(np.float64, copy=False) for chosen in (group, following))
        values.append(pair_values(first, second).ravel())
        times.append(np.outer(weights[group], weights[following]).ravel())
    return np.concatenate(values), np.concatenate(times)


def _sample_bracket(vectors: np.ndarray, weights: np.ndarray, pair_values: PairValues) -> tuple[float, float]:
    """Two values between which the median of all pairs almost certainly lies."""
    values, times = _sample_pairs(vectors, weights, pair_values)
    n_texts, own = float(weights.sum()), _own_pairs(weights)
    share = (_median_rank(weights) + 0.5 - own) / (n_texts * (n_texts - 1) / 2 - own)
    # A weighted share of independent draws varies like this, at most.
    deviation = np.sqrt((times**2).sum()) / times.sum() / 2
    order = np.argsort(values)
    shares = np.cumsum(times[order]) / times.sum()
    ends = (share - BRACKET_DEVIATIONS * deviation, share + BRACKET_DEVIATIONS * deviation)
    low, high = (int(number) for number in np.searchsorted(shares, ends))
    return float(values[order[low]]) if low else 0.0, float(values[order[min(high, len(order) - 1)]])


def _at_rank(parts: Sequence[tuple[np.ndarray, np.ndarray]], rank: float) -> np.ndarray:
    """Value number `rank`, counted from 0, of values with weights, in parts; empty where they weigh too little."""
    values, times = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.argsort(values)
    first = int(np.searchsorted(np.cumsum(times[order]), rank, side="right"))
    return values[order[first : first + 1]]


def _count_values(
    blocks: Iterable[tuple[np.ndarray, np.ndarray]], low: float, high: float
) -> tuple[float, np.ndarray, list[tuple[np.ndarray, np.ndarray]], tuple[float, float]]:
    """One pass: weight below `low`; from `low` to `high` a histogram of weights, the values if few, and their range."""
    below, histogram, n_inside = 0.0, np.zeros(MEDIAN_BINS), 0
    least, greatest = high, low
    inside: list[tuple[np.ndarray, np.ndarray]] = []
    for values, times in blocks:
        below += float(times[values < low].sum())
        kept = (values >= low) & (values <= high)
        values, times = values[kept], times[kept]
        bins = np.minimum(((values - low) * (MEDIAN_BINS / (high - low))).astype(np.intp), MEDIAN_BINS - 1)
        histogram += np.bincount(bins, weights=times, minlength=MEDIAN_BINS)
        least, greatest = float(values.min(initial=least)), float(values.max(initial=greatest))
        n_inside += len(values)
        if n_inside <= MAX_SORTED:
            inside.append((values, times))
        else:
            inside.clear()
    return below, histogram, inside, (least, greatest)


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
