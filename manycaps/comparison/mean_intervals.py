"""What a comparison of this size can find: level, power, and the rows that a difference needs."""

import functools
import math

import scipy.optimize
import scipy.special

from manycaps.kit.parity_tails import LEVEL as LEVEL
from manycaps.kit.parity_tails import POWER as POWER

# Clusters whose sign patterns are all enumerated, about a million: it takes some milliseconds.
MOST_EXACT_CLUSTERS = 20

# Beyond these degrees of freedom Student's distribution is the normal one to six digits.
MOST_DEGREES = 1_000_000


def attainable_level(n_clusters: int, level: float) -> float:
    """Largest level up to `level` that a sign-flip test of so few clusters can have: its p-values are discrete.

    >>> attainable_level(5, 0.05), attainable_level(6, 0.05), attainable_level(100, 0.05)
    (0.0, 0.03125, 0.05)
    """
    if n_clusters > MOST_EXACT_CLUSTERS:
        return level
    n_patterns = 2 ** (n_clusters - 1)
    return math.floor(level * n_patterns) / n_patterns


def minimum_detectable_difference(standard_error: float, n_clusters: int, level: float = LEVEL) -> float:
    """Least true difference that a paired test finds with a power of 80 %, two-sided.

    It is that of Student's test at the level that a sign-flip test can have with so many clusters; as their number
    grows, both have the same power (Hoeffding 1952, https://doi.org/10.1214/aoms/1177729436). With so few clusters that
    a finding requires all differences to have one sign, it is the difference at which all have it.

    `standard_error` is that of the mean difference. Where Holm's rule adjusts the p-values of n tests, `level` is LEVEL
    / n. The result is above 0: NaN with a single cluster or a standard error of 0, infinity where no difference can be
    found.

    >>> round(minimum_detectable_difference(1.0, 1000), 2), minimum_detectable_difference(1.0, 5)
    (2.8, inf)
    """
    if n_clusters < 2 or not standard_error > 0:
        return math.nan
    return standard_error * _noncentrality(n_clusters, level)


def rows_for_difference(
    difference: float, standard_error: float, n_clusters: int, n_rows: int, level: float = LEVEL
) -> float:
    """Rows with which a true difference of this size would be found with a power of 80 %.

    `standard_error`, of the mean difference, `n_clusters` and `n_rows` are those at hand; more rows are thought to come
    in clusters of the same sizes. `level` is as for `minimum_detectable_difference`. The result is a whole number;
    infinity for a difference of 0, NaN with a single cluster.

    >>> rows_for_difference(0.5, 0.1, n_clusters=100, n_rows=100), rows_for_difference(0.0, 0.1, 100, 100)
    (34.0, inf)
    """
    if difference == 0 or n_clusters < 2:
        return math.inf if n_clusters > 1 else math.nan
    # Standard error of a single cluster, in units of the difference.
    spread = standard_error * math.sqrt(n_clusters) / abs(difference)
    # The normal distribution needs no more than Student's, and a few less where there are few.
    needed = max(2, math.floor((spread * _noncentrality(MOST_DEGREES, level)) ** 2))
    while spread * _noncentrality(needed, level) > math.sqrt(needed):
        needed += 1
    return float(math.ceil(needed * n_rows / n_clusters))


@functools.cache
def _noncentrality(n_clusters: int, level: float) -> float:
    """Distance of the true mean from 0, in standard errors, at which the test has the power wanted."""
    from scipy import stats  # takes 0.4 s

    level = attainable_level(n_clusters, level)
    if not level:
        return math.inf
    if n_clusters <= MOST_EXACT_CLUSTERS and level == 2.0 ** (1 - n_clusters):
        return float(math.sqrt(n_clusters) * scipy.special.ndtri(POWER ** (1 / n_clusters)))
    degrees = min(n_clusters - 1, MOST_DEGREES)
    critical = -scipy.special.stdtrit(degrees, level / 2)

    # The chance of a finding on the wrong side is below 1e-5 here, and left out.
    def lacking(distance: float) -> float:
        return float(stats.nct.sf(critical, degrees, distance)) - POWER

    return float(scipy.optimize.brentq(lacking, 0.01, 2 * critical + 5))
