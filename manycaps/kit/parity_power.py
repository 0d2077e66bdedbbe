"""Power of the human-parity test: the rows that it needs, and the gaps that it finds, in closed form.

T2 is noncentral chi-squared with n lambda, lambda = g' S^-1 g of a row's mean gaps g and null covariance S, so that
a lambda, which has no unit, says how many rows detect a difference from people.
"""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import scipy.special

# Level and power of a planned test, the usual ones (Cohen 1988, section 2.4), and confidence level of an interval.
LEVEL = 0.05

POWER = 0.8

CONFIDENCE_LEVEL = 0.95

# Largest adjusted p-value of a phrase that is named where the joint test finds no difference: so both together say of
# people in 5% that they differ, as the joint test alone does.
LEVEL_OF_PHRASES = 0.01

# Shares of the level that the test of the gaps and the tests of the tails have, where both are made.
WEIGHT_OF_GAPS, WEIGHT_OF_TAILS = 0.8, 0.2

# Shares of the level that the tests of the wording and of the length have, where they are made; gaps and tails have
# the rest, in their proportion.
WEIGHT_OF_WORDING, WEIGHT_OF_LENGTH = 0.05, 0.05

# Mean of the square of the largest of k independent standard normal numbers: what people give (k = 1 to 4).
LARGEST_SQUARE = (1.0, 1.0, 1.0 + math.sqrt(3) / (2 * math.pi), 1.0 + math.sqrt(3) / math.pi)

# Rows for which the spread of lambda is taken to be people's, beside the rows at hand: few rows say little of it.
PRIOR_ROWS = 5

# Bisections of an end of an interval with clusters: as many as a double has digits.
N_BISECTIONS = 60


class RowsToDetect(NamedTuple):
    """Rows that detect a difference of a system from people with a power of 80% at a level of 5%."""

    # float, at least 1; infinity where lambda is 0 or below.
    rows: float
    # Its interval; NaN with a single row or cluster, or no confidence level.
    low: float
    high: float


class ParityPlan(NamedTuple):
    """What the test finds, and what it takes; diversity is NaN where rows have one candidate."""

    power: float
    n_rows: int
    # The least gaps that this number of rows finds with this power, in the unit of the distance.
    fidelity_gap: float
    diversity_gap: float
    # Rows that find a gap of the size asked for; NaN where none was.
    fidelity_rows: float
    diversity_rows: float


def joint_p_value(
    gaps_p_value: float, tails_p_value: float, wording_p_value: float = math.nan, length_p_value: float = math.nan
) -> float:
    """Return the p-value of the tests together: a Bonferroni test with the weights 0.8 and 0.2 (Holm 1979).

    Wording and length have the weights 0.05 where they are tested, and the others what is left: 0.72 and 0.18. A
    p-value is NaN where nothing is tested. The result is at most 1: the p-value of the gaps where tails are not tested,
    NaN where nothing is.

    >>> joint_p_value(0.04, 0.004), joint_p_value(0.04, math.nan), joint_p_value(0.04, 0.004, 0.0005)
    (0.02, 0.04, 0.01)
    >>> round(joint_p_value(0.9, 0.9, 0.9, 0.0005), 4)
    0.01
    """
    distances_p_value = gaps_p_value
    if not math.isnan(tails_p_value):
        distances_p_value = min(1.0, float(np.fmin(gaps_p_value / WEIGHT_OF_GAPS, tails_p_value / WEIGHT_OF_TAILS)))
    tests = [(WEIGHT_OF_WORDING, wording_p_value), (WEIGHT_OF_LENGTH, length_p_value)]
    tests = [(weight, p_value) for weight, p_value in tests if not math.isnan(p_value)]
    if math.isnan(distances_p_value):
        return min(1.0, len(tests) * min(p_value for _, p_value in tests)) if tests else math.nan
    tests.append((1 - sum(weight for weight, _ in tests), distances_p_value))
    return min(1.0, *(p_value / weight for weight, p_value in tests))


def level_of_distances(with_wording: bool, with_length: bool = False) -> float:
    """Return the level at which gaps and tails are tested together, beside wording and length or alone."""
    return LEVEL * (1 - WEIGHT_OF_WORDING * with_wording - WEIGHT_OF_LENGTH * with_length)


def level_of_gaps(with_tails: bool, with_wording: bool = False, with_length: bool = False) -> float:
    """Return the level at which the gaps are tested, beside the other tests or alone."""
    return level_of_distances(with_wording, with_length) * (WEIGHT_OF_GAPS if with_tails else 1.0)


def noncentrality(degrees: int, level: float = LEVEL, power: float = POWER) -> float:
    """Return the n lambda that a test of so many degrees of freedom finds with a power.

    >>> round(noncentrality(2), 2), round(noncentrality(1), 2)
    (9.63, 7.85)
    """
    return float(scipy.special.chndtrinc(scipy.special.chdtri(degrees, level), degrees, 1 - power))


def noncentrality_of_f(degrees: int, others: int, level: float) -> float:
    """Return the noncentrality, above 0, at which Fisher's F with `others` degrees in the denominator has the `POWER`.

    >>> round(noncentrality_of_f(2, 10**6, 0.05), 2), round(noncentrality_of_f(2, 8, 0.05), 2)
    (9.63, 14.36)
    """
    return _noncentral_f(float(scipy.special.fdtri(degrees, others, 1 - level)), degrees, others, 1 - POWER)


def spread_of_effect(
    mean: np.ndarray, covariance: np.ndarray, blocks: Iterable[tuple[np.ndarray, np.ndarray]]
) -> float:
    """Return the variance of sqrt(T2), by the spread of the rows, in units of its value for people's texts, 1.

    With w = S^-1 g of the means g and S, row i moves lambda by 2 w'(g_i - g) - w'(S_i - S) w over the number of rows.
    Wrong captions in some of the rows raise it, and damage that all rows share lowers it. Few rows tell little: with
    Student's quantile in place of the normal one, and `PRIOR_ROWS` rows at 1, intervals of lambda hold it in 92 to
    99% of the cases from five rows on (`python -m scripts.studies.human_parity_power`).

    `mean` (k,) and `covariance` (k, k), not singular, are the means over rows; `blocks` are the gaps (n, k) and
    covariances (n, k, k) of all rows, at least 2, in parts; all float64. The result is above 0.
    """
    weights = np.linalg.solve(covariance, mean)
    effect = float(mean @ weights)
    if not effect > 0:
        return 1.0
    n_rows, squares = 0, 0.0
    for gaps, covariances in blocks:
        moves = 2 * (gaps - mean) @ weights - (covariances - covariance) @ weights @ weights  # with a mean of 0
        n_rows, squares = n_rows + len(moves), squares + math.fsum(moves**2)
    own = squares / (n_rows - 1) / (4 * effect)
    few = (float(scipy.special.stdtrit(n_rows - 1, 0.975)) / float(scipy.special.ndtri(0.975))) ** 2
    return (n_rows * own * few + PRIOR_ROWS) / (n_rows + PRIOR_ROWS)


def rows_to_detect(
    statistic: float, degrees: int, n_rows: int, confidence_level: float | None, spread: float, *, level: float = LEVEL
) -> RowsToDetect:
    """Return the rows that the test needs, by lambda = (T2 - degrees) / n_rows.

    `statistic` is T2, `degrees` its degrees of freedom, `spread` the value of `spread_of_effect`, and `level` the
    test's; without a `confidence_level`, from 0 to 1, there is no interval.

    >>> rows_to_detect(50.0, 2, 100, 0.95, 1.0)
    RowsToDetect(rows=21.0, low=12.0, high=39.0)
    """
    if not degrees:
        return RowsToDetect(math.nan, math.nan, math.nan)
    wanted = noncentrality(degrees, level)
    rows = _rows(wanted, (statistic - degrees) / n_rows)
    if confidence_level is None or n_rows < 2:
        return RowsToDetect(rows, math.nan, math.nan)
    tails, scaled = _outside(confidence_level, level / LEVEL), statistic / spread
    lambdas = [
        float(scipy.special.chndtrinc(scaled, degrees, share)) * spread / n_rows
        if scipy.special.chdtr(degrees, scaled) > share
        else 0.0
        for share in (tails[0], 1 - tails[1])
    ]
    return RowsToDetect(rows, *(_rows(wanted, each) for each in lambdas))


def rows_to_detect_of_clusters(
    statistic: float,
    degrees: int,
    n_clusters: int,
    n_rows: int,
    confidence_level: float | None,
    *,
    level: float = LEVEL,
) -> RowsToDetect:
    """Count the rows that the test needs where the covariance is the clusters'; more come in clusters of these sizes.

    T2 (C - k) / (k (C - 1)) of C clusters and k degrees is noncentral F with C lambda (Anderson 2003, section 5.2):
    its mean gives lambda, and its inversion the interval.

    Arguments and result as for `rows_to_detect`; NaN with fewer than three clusters more than degrees.
    """
    others = n_clusters - degrees
    if not degrees or others < 3:
        return RowsToDetect(math.nan, math.nan, math.nan)
    value, wanted = (
        statistic * others / (degrees * (n_clusters - 1)),
        noncentrality(degrees, level) * n_rows / n_clusters,
    )
    lambdas = [max(0.0, value * degrees * (others - 2) / others - degrees) / n_clusters]
    if confidence_level is not None:
        tails = _outside(confidence_level, level / LEVEL)
        shares = tails[0], 1 - tails[1]
        lambdas += [_noncentral_f(value, degrees, others, share) / n_clusters for share in shares]
    ends = [_rows(wanted, each) for each in lambdas]
    return RowsToDetect(*(ends if len(ends) == 3 else [*ends, math.nan, math.nan]))


def rows_to_detect_of_tails(
    t_values: Sequence[float],
    n_clusters: int,
    n_rows: int,
    confidence_level: float | None,
    *,
    level: float = LEVEL * WEIGHT_OF_TAILS,
) -> RowsToDetect:
    """Return the rows after which the tests of the tails find what the strongest of them shows.

    ((z_a + z_0.8) / e)^2, with a the level of one tail and e the mean difference in standard deviations of the rows.
    The square of e is the largest t's, less what people give: the mean square of the largest of k normal numbers.
    `t_values` are each tail's difference from people in standard errors; without any the rows are NaN. `level` is for
    all of them together. The wording needs rows in the same way, by the size of its one z at half of its level.

    >>> rows_to_detect_of_tails([4.0, -1.0], 100, 100, 0.95)
    RowsToDetect(rows=78.0, low=33.0, high=917.0)
    """
    if not t_values:
        return RowsToDetect(math.nan, math.nan, math.nan)
    k, t = len(t_values), max(t_values)
    level = level / k
    wanted = float(scipy.special.ndtri(1 - level) + scipy.special.ndtri(POWER)) ** 2 * n_rows
    rows = _rows(wanted, t**2 - LARGEST_SQUARE[k - 1] if t > 0 else 0.0)
    if confidence_level is None:
        return RowsToDetect(rows, math.nan, math.nan)
    below, above = scipy.special.stdtrit(n_clusters - 1, _outside(confidence_level, level / LEVEL)).tolist()
    low, high = (_rows(wanted, max(0.0, end) ** 2) for end in (t - below, t + above))
    return RowsToDetect(rows, low, high)


def _outside(confidence_level: float, weight: float) -> tuple[float, float]:
    """Chances that are left out beyond both ends of an interval of rows needed, the near end first.

    The sooner one of several tests is taken, so that any of them can make the far end too short: each leaves out its
    share of the level there, so that infinity is left out of people's intervals no more often than one end may be.
    """
    tail = (1 - confidence_level) / 2
    return tail, tail * weight


def soonest(*needed: RowsToDetect) -> RowsToDetect:
    """Return the rows after which one of several tests finds a difference; NaN where none is made."""
    return RowsToDetect(*(float(np.fmin.reduce(values)) for values in zip(*needed, strict=True)))


def _noncentral_f(value: float, degrees: int, others: int, share: float) -> float:
    """The noncentrality at which `share` of the values lie below this one; 0 where there is none."""
    if not scipy.special.fdtr(degrees, others, value) > share:
        return 0.0
    low, high = 0.0, 1.0
    while scipy.special.ncfdtr(degrees, others, high, value) > share:
        low, high = high, 2 * high
    for _ in range(N_BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if scipy.special.ncfdtr(degrees, others, middle, value) > share else (low, middle)
    return high


def _rows(wanted: float, effect: float) -> float:
    """Whole number of rows, at least 1, at which n lambda is the wanted one to 1e-12; infinity for none."""
    return float(max(1, math.ceil(wanted / effect * (1 - 1e-12)))) if effect > 0 else math.inf


def rows_for_gap(gap: float, variance: float, degrees: int, power: float = POWER) -> float:
    """Return the rows, a whole number as a float, with which the test finds a gap, not 0, whatever the other gap is.

    Of all pairs of gaps with this one, lambda is least where the other lies on their regression: gap^2 / variance, the
    variance of a row's gap under its splits. The gaps have 0.8 of the level, as beside the tails.

    >>> rows_for_gap(0.02, 0.0025, 2)
    64.0
    """
    return _rows(noncentrality(degrees, level_of_gaps(True), power), gap**2 / variance)


def detectable_gap(n_rows: float, variance: float, degrees: int, power: float = POWER) -> float:
    """Return the least gap that the test finds with so many rows; see `rows_for_gap`.

    >>> round(detectable_gap(64, 0.0025, 2), 4)
    0.02
    """
    return math.sqrt(noncentrality(degrees, level_of_gaps(True), power) * variance / n_rows)


def parity_plan(covariance: np.ndarray, n_rows: int, gap: float | None, power: float) -> ParityPlan:
    """Plan a test of human parity from the mean covariance of the gaps of a pilot's rows: float64, shape (2, 2).

    The gap to be found is above 0, or None for none; the power is the share of the tests that are to find it.
    """
    variances = np.diagonal(covariance).tolist()
    degrees = 2 if variances[1] > 0 else 1
    gaps = [detectable_gap(n_rows, variance, degrees, power) if variance > 0 else math.nan for variance in variances]
    rows = [rows_for_gap(gap, variance, degrees, power) if variance > 0 and gap else math.nan for variance in variances]
    return ParityPlan(power, n_rows, *gaps, *rows)
