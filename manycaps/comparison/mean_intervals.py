"""Intervals of means over clusters of rows, and what a comparison of this size can find."""

import functools
import math

import numpy as np
import scipy.optimize
import scipy.special

from manycaps.kit.sets_corpus import upper_tail

# Counts held at once, 8 bytes each.
MAX_COUNTS = 4_000_000

# Level and power of a planned comparison, the usual ones (Cohen 1988, section 2.4).
LEVEL = 0.05
POWER = 0.8

# Beyond these degrees of freedom Student's distribution is the normal one to six digits.
MOST_DEGREES = 1_000_000


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


def standard_errors(sums: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Standard errors of means over rows, from the spread of the clusters.

    sqrt(n / (n - 1) sum over clusters of (sum - size mean)^2) / rows (Cameron and Miller 2015, section II.B,
    https://doi.org/10.3368/jhr.50.2.317); with one row a cluster the usual standard error of a mean.

    Args:
        sums: float64 array, shape (n_clusters, n_tests).
        sizes: int64 array, shape (n_clusters,): rows of each cluster.

    Returns:
        float64 array, shape (n_tests,); NaN with a single cluster.

    >>> standard_errors(np.array([[1.0], [3.0]]), np.ones(2)).tolist()
    [1.0]
    """
    n_clusters, n_rows = len(sizes), sizes.sum()
    if n_clusters < 2:
        return np.full(sums.shape[1], np.nan)
    residuals = sums - sizes[:, None] * (sums.sum(axis=0) / n_rows)
    return np.sqrt(n_clusters / (n_clusters - 1) * (residuals**2).sum(axis=0)) / n_rows


def minimum_detectable_differences(standard_error: np.ndarray, n_clusters: int) -> np.ndarray:
    """Least true difference that the paired t-test finds with a power of 80 % at the level of 5 %, two-sided.

    The sign-flip test has this power, too, as the number of clusters grows (Hoeffding 1952,
    https://doi.org/10.1214/aoms/1177729436).

    Args:
        standard_error: float64 array, shape (n_tests,), of the mean differences.
        n_clusters: number of clusters.

    Returns:
        float64 array, shape (n_tests,); NaN with a single cluster.

    >>> minimum_detectable_differences(np.array([1.0]), 1000).round(2).tolist()
    [2.8]
    """
    return standard_error * (_noncentrality(n_clusters - 1) if n_clusters > 1 else math.nan)


def rows_needed(difference: float, standard_error: float, n_clusters: int, n_rows: int) -> float:
    """Rows with which a true difference of this size would be found with a power of 80 % at the level of 5 %.

    Args:
        difference: the mean difference.
        standard_error: of the mean difference, with the clusters at hand.
        n_clusters: number of clusters at hand.
        n_rows: number of rows at hand; more rows are thought to come in clusters of the same sizes.

    Returns:
        A whole number as a float; infinity for a difference of 0, NaN with a single cluster.

    >>> rows_needed(0.5, 0.1, n_clusters=100, n_rows=100), rows_needed(0.0, 0.1, 100, 100)
    (34.0, inf)
    """
    if difference == 0 or n_clusters < 2:
        return math.inf if n_clusters > 1 else math.nan
    # Standard error of a single cluster, in units of the difference.
    spread = standard_error * math.sqrt(n_clusters) / abs(difference)
    # The normal distribution needs no more than Student's, and a few less where there are few.
    needed = max(2, math.floor((spread * _noncentrality(MOST_DEGREES)) ** 2))
    while spread * _noncentrality(needed - 1) > math.sqrt(needed):
        needed += 1
    return float(math.ceil(needed * n_rows / n_clusters))


@functools.cache
def _noncentrality(n_degrees: int) -> float:
    """Distance of the true mean from 0, in standard errors, at which the t-test has the power wanted."""
    degrees = min(n_degrees, MOST_DEGREES)
    critical = -scipy.special.stdtrit(degrees, LEVEL / 2)

    # The chance of a finding on the wrong side is below 1e-5 here, and left out.
    def lacking(distance: float) -> float:
        return upper_tail("nct", critical, degrees, distance) - POWER

    return float(scipy.optimize.brentq(lacking, 0.01, 2 * critical + 5))
