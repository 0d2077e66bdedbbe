"""Percentile bootstrap over clusters of rows."""

import numpy as np

# Counts held at once, 8 bytes each.
MAX_COUNTS = 4_000_000


def bootstrap_intervals(
    sums: np.ndarray, sizes: np.ndarray, confidence_level: float, n_resamples: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Percentile bootstrap intervals of means over rows, whole clusters resampled.

    The mean of a resample is the sum of its rows over their number (Efron and Tibshirani 1993, section 13.3; Davison
    and Hinkley 1997, section 3.8). Clusters are ordered by size and sum before they are drawn, and every draw is used
    twice, with rising and with falling sums: neither the order of the clusters nor that of the two systems can change
    more than the sign.

    Args:
        sums: float64 array, shape (n_clusters, n_tests): the sum of each cluster's values.
        sizes: int64 array, shape (n_clusters,): rows of each cluster.
        confidence_level: between 0 and 1.
        n_resamples: number of resamples, rounded up to an even one.
        seed: non-negative integer.

    Returns:
        Lower and upper ends, float64 arrays of shape (n_tests,); NaN with a single cluster.

    >>> low, high = bootstrap_intervals(np.ones((3, 1)), np.ones(3, dtype=int), 0.95, 99, seed=0)
    >>> low.tolist(), high.tolist()
    ([1.0], [1.0])
    """
    n_clusters, n_tests = sums.shape
    if n_clusters < 2:
        return np.full(n_tests, np.nan), np.full(n_tests, np.nan)
    rising, falling = (_ordered(sign * sums, sizes) * sign for sign in (1, -1))
    weights = np.sort(sizes).astype(np.float64)[:, None]
    rng, n_pairs = np.random.default_rng(seed), -(-n_resamples // 2)
    means = np.empty((2, n_pairs, n_tests))
    step = max(1, MAX_COUNTS // n_clusters)
    for start in range(0, n_pairs, step):
        counts = _draw_counts(rng, min(step, n_pairs - start), n_clusters)
        part = slice(start, start + len(counts))
        means[0, part] = (counts @ rising) / (counts @ weights)
        means[1, part] = (counts @ falling) / (counts @ weights)
    ordered = np.sort(means.reshape(-1, n_tests), axis=0)
    outside = int((1 - confidence_level) / 2 * (len(ordered) - 1))
    return ordered[outside], ordered[-1 - outside]


def _ordered(sums: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Order the clusters of every test by size, those of one size by their sum."""
    orders = np.stack([np.lexsort((column, sizes)) for column in sums.T], axis=1)
    return np.take_along_axis(sums, orders, axis=0)


def _draw_counts(rng: np.random.Generator, n_resamples: int, n_clusters: int) -> np.ndarray:
    """How often each cluster is drawn in each resample: float64, shape (n_resamples, n_clusters)."""
    drawn = rng.integers(n_clusters, size=(n_resamples, n_clusters))
    drawn += n_clusters * np.arange(n_resamples)[:, None]
    counts = np.bincount(drawn.ravel(), minlength=n_resamples * n_clusters)
    return counts.reshape(n_resamples, n_clusters).astype(np.float64)
