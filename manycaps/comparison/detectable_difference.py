"""What a comparison of this size can find: least difference, and rows for the observed one."""

import functools
import math

import numpy as np
import scipy.optimize
import scipy.stats

# Level and power of a planned comparison, the usual ones (Cohen 1988, section 2.4).
LEVEL = 0.05
POWER = 0.8

# Beyond these degrees of freedom Student's distribution is the normal one to six digits.
MOST_DEGREES = 1_000_000


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
    critical = scipy.stats.t.isf(LEVEL / 2, degrees)

    # The chance of a finding on the wrong side is below 1e-5 here, and left out.
    def lacking(distance: float) -> float:
        return float(scipy.stats.nct.sf(critical, degrees, distance) - POWER)

    return float(scipy.optimize.brentq(lacking, 0.01, 2 * critical + 5))
