"""Intervals and tests of means over rows, or over clusters of rows that belong together: Student's, without skewness.

Nothing is drawn: an interval depends on the values alone, whatever their order and unit. It is Student's interval
after a transformation that takes the skewness of the values out (Hall 1992,
https://doi.org/10.1111/j.2517-6161.1992.tb01876.x). Percentile bootstrap intervals hold the mean of 5 or 10 rows in
77 to 86 or 86 to 91% of the cases where 95% are stated; these do in 92 to 95 or 94 to 99%, for skewed values,
too (`python -m scripts.studies.inference`).
"""

import math
from collections.abc import Collection, Hashable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
import scipy.special

from .module import as_labels
from .sets_splits import row_scales

# Residuals that are no larger than this share of the values are rounding.
ROUNDING = 1e-14


class ClusteredMean(NamedTuple):
    """A mean over rows, its standard error, and what else its distribution depends on."""

    mean: float
    # sqrt(n / (n - 1) sum over clusters of (sum - size mean)^2) / rows (Cameron and Miller 2015, section II.B,
    # https://doi.org/10.3368/jhr.50.2.317); with one row a cluster the usual standard error of a mean.
    standard_error: float
    # Skewness of the clusters' residuals over the square root of their number.
    skewness: float
    n_clusters: int


def clustered_mean(sums: np.ndarray, sizes: np.ndarray) -> ClusteredMean:
    """Describe the mean over rows by the spread of the clusters; the standard error is NaN with a single cluster.

    `sums` is float64, shape (n_clusters,): the sum of each cluster's values; `sizes` are the rows of each, at least 1.
    """
    n_clusters, n_rows = len(sums), int(sizes.sum())
    mean = math.fsum(sums) / n_rows
    if n_clusters < 2:
        return ClusteredMean(mean, math.nan, 0.0, n_clusters)
    residuals = sums - sizes * mean
    # Values that are equal leave rounding, which is no spread. In a unit of their own no square can leave the range.
    unit = float(row_scales(residuals[None])[0])
    if np.abs(residuals).max() <= ROUNDING * max(np.abs(sums).max(), np.abs(mean) * sizes.max()):
        return ClusteredMean(mean, 0.0, 0.0, n_clusters)
    residuals = residuals / unit
    squares = math.fsum(residuals**2)
    skewness = math.fsum(residuals**3) / squares**1.5  # (sum / n) / (squares / n)^1.5 / sqrt(n)
    error = unit * math.sqrt(n_clusters / (n_clusters - 1) * squares) / n_rows
    return ClusteredMean(mean, error, skewness, n_clusters)


def mean_interval(of: ClusteredMean, confidence_level: float) -> tuple[float, float]:
    """Return the interval of a mean: Student's, transformed so that its ends miss equally often on both sides.

    With T the studentised mean and a its skewness, g(T) = T + a T^2 / 3 + a^2 T^3 / 27 + a / 6 has almost none (Hall
    1992, equation 2.2), and the ends are the means at which g(T) is Student's quantile for n_clusters - 1 degrees.

    Args:
        of: as from `clustered_mean`.
        confidence_level: between 0 and 1.

    Returns:
        Lower and upper end; NaN with a single cluster.

    >>> np.round(mean_interval(clustered_mean(np.array([1.0, 2.0, 3.0]), np.ones(3, dtype=int)), 0.95), 4).tolist()
    [-0.4841, 4.4841]
    """
    if of.n_clusters < 2:
        return math.nan, math.nan
    # Of the lower tail: a level next to 1 leaves it something, where the upper one would be rounded to 1.
    quantile = -float(scipy.special.stdtrit(of.n_clusters - 1, (1 - confidence_level) / 2))
    low, high = (of.mean - of.standard_error * _invert_transform(sign * quantile, of.skewness) for sign in (1, -1))
    return low, high


def wilson_interval(share: float, error: float, n_clusters: int, confidence_level: float) -> tuple[float, float]:
    """Return the interval of a share: Wilson's, for as many independent items as the standard error says.

    With n = share (1 - share) / error^2 and Student's quantile z for n_clusters - 1 degrees, the ends are the shares p
    with |share - p| = z sqrt(p (1 - p) / n) (Wilson 1927, https://doi.org/10.1080/01621459.1927.10502953). Where the
    error is 0, no spread was estimated, and z is the quantile of the normal distribution.

    Args:
        share: 0 to 1.
        error: its standard error; where it is 0, every cluster counts as one item.
        n_clusters: at least 2.
        confidence_level: between 0 and 1.

    Returns:
        Lower and upper end, within 0 to 1; NaN with a single cluster or an error that is NaN.

    >>> [round(end, 3) for end in wilson_interval(1.0, 0.0, 5, 0.95)]
    [0.566, 1.0]
    """
    if n_clusters < 2 or math.isnan(error):
        return math.nan, math.nan
    n = share * (1 - share) / error**2 if error > 0 else n_clusters
    n = n if n > 0 else n_clusters  # all items alike, but for rounding
    level = (1 + confidence_level) / 2
    squared = float(scipy.special.stdtrit(n_clusters - 1, level) if error > 0 else scipy.special.ndtri(level)) ** 2
    middle = (share + squared / (2 * n)) / (1 + squared / n)
    reach = math.sqrt(squared * (share * (1 - share) / n + squared / (4 * n**2))) / (1 + squared / n)
    return max(0.0, middle - reach), min(1.0, middle + reach)


def one_sided_p_value(of: ClusteredMean) -> float:
    """Return the p-value, 0 to 1, of "the mean is 0" against "it is larger", by the same transformation.

    NaN with a single cluster, and where the values are all equal.
    """
    if not of.standard_error > 0:
        return math.nan
    t, a = of.mean / of.standard_error, of.skewness
    return float(scipy.special.stdtr(of.n_clusters - 1, -(t + a * t**2 / 3 + a**2 * t**3 / 27 + a / 6)))


def interval_of_rows(
    values: Collection[float], confidence_level: float, clusters: Sequence[Hashable] | None = None
) -> tuple[float, float]:
    """Return the ends of the interval of the mean over rows; NaN with a single cluster. See `mean_interval`.

    `values` are n_rows floats, at least 2, and `clusters` n_rows labels; None: every row stands for itself.
    """
    return mean_interval(mean_of_rows(values, clusters), confidence_level)


def mean_of_rows(values: Collection[float], clusters: Sequence[Hashable] | None = None) -> ClusteredMean:
    """Describe the mean over rows; the arguments are as for `interval_of_rows`."""
    column = np.fromiter(values, dtype=np.float64, count=len(values))
    numbers = np.arange(len(column)) if clusters is None else cluster_numbers(clusters)
    sizes = np.bincount(numbers)
    if len(sizes) == len(column):
        return clustered_mean(column, sizes)
    # Exact sums: the order of a cluster's rows changes nothing.
    members = np.split(column[np.argsort(numbers, kind="stable")], np.cumsum(sizes)[:-1])
    return clustered_mean(np.array([math.fsum(each) for each in members]), sizes)


def with_interval(name: str, values: Sequence[float], level: float | None) -> dict[str, float]:
    """Return a value and the ends of its interval by the keys of a result, the ends if there is a confidence level.

    >>> with_interval("gap", (0.5, 0.0, 1.0), 0.95)
    {'gap': 0.5, 'gap_ci_low': 0.0, 'gap_ci_high': 1.0}
    """
    keys = (name, f"{name}_ci_low", f"{name}_ci_high") if level is not None else (name,)
    return dict(zip(keys, values, strict=False))


def clustered_test(name: str, excess: ClusteredMean) -> dict[str, float]:
    """Test the mean excess of rows that depend on each other within clusters.

    Splits of every row by itself take rows for independent. Under the null hypothesis the excess of every row, its
    value minus the mean of its null values, has mean 0 whatever the others are, so the mean over rows is tested by the
    spread of the clusters. Returns p-value, z and smallest p-value, by the keys of the module `name`.
    """
    z = excess.mean / excess.standard_error if excess.standard_error > 0 else math.nan
    return {f"{name}_corpus_p_value": one_sided_p_value(excess), f"{name}_z": z, f"{name}_smallest_corpus_p": 0.0}


def cluster_numbers(clusters: Iterable[Hashable]) -> np.ndarray:
    """Number the clusters in the order in which they appear, and return the cluster's number for every row.

    >>> cluster_numbers(["b", "a", "b"]).tolist()
    [0, 1, 0]
    """
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(label, len(numbers)) for label in clusters], dtype=np.intp)


def check_clusters(clusters: object, n_rows: int) -> list[Hashable]:
    """Return a label for every row as plain values, or raise unless there is one that others can equal."""
    return as_labels(clusters, "clusters", n_rows)


def _invert_transform(value: float, skewness: float) -> float:
    """The T with g(T) = `value`: 3 / a ((1 + a (value - a / 6))^(1/3) - 1), without its division by a small a."""
    distance = value - skewness / 6
    root = math.copysign(abs(1 + skewness * distance) ** (1 / 3), 1 + skewness * distance)
    return 3 * distance / (root * root + root + 1)
