"""All pairs of a large corpus in blocks, on all cores, and the exact median and mean of their distances."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np
import threadpoolctl

from .arrays import Progress, map_in_order

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
