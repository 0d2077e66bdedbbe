"""Two systems on the same rows: differences over clusters of rows, sign-flip test, interval, and Holm's correction.

And what a comparison of this size can find: level, power, and the rows that a difference needs.
"""

import functools
import math
from collections.abc import Hashable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.optimize
import scipy.special

from .arrays import Floats, TokenRows, as_finite, plain_arguments
from .errors import InputError, InputTypeError
from .ngrams_bleu import bleu_scores
from .ngrams_rouge import bleu_rows
from .options import check_confidence_level, check_whole_number
from .parity_gaps import CONFIDENCE_LEVEL, LEVEL, POWER, sums_of_clusters
from .rows import as_token_rows
from .sets_module import N_RESAMPLES
from .sets_tests import (
    MOST_RESAMPLES,
    TIE_TOLERANCE,
    as_p_values,
    check_clusters,
    cluster_numbers,
    clustered_mean,
    mean_of_rows,
)

# Clusters whose sign patterns are all enumerated, about a million: it takes some milliseconds.
MOST_EXACT_CLUSTERS = 20

# Clusters whose sign patterns are all enumerated: at most as many as are drawn by default.
MOST_ENUMERATED = 14

# Beyond these degrees of freedom Student's distribution is the normal one to six digits.
MOST_DEGREES = 1_000_000


def attainable_level(
    n_clusters: int, level: float, n_resamples: float = math.inf, most_exact: int = MOST_EXACT_CLUSTERS
) -> float:
    """Return the largest level up to `level` that a sign-flip test of so few clusters can have: p-values are discrete.

    Of more than `most_exact` clusters `n_resamples` random patterns are drawn.

    >>> [attainable_level(n, 0.05) for n in (5, 6, 100)], attainable_level(100, 0.05, n_resamples=9)
    ([0.0, 0.03125, 0.05], 0.0)
    """
    if n_clusters > most_exact:
        return level if level >= 1 / (n_resamples + 1) else 0.0
    n_patterns = 2 ** (n_clusters - 1)
    return math.floor(level * n_patterns) / n_patterns


def minimum_detectable_difference(standard_error: float, n_clusters: int, level: float = LEVEL) -> float:
    """Return the least true difference that a paired test finds with a power of 80%, two-sided.

    It is computed for Student's test at the level that a sign-flip test can have with so many clusters; as their number
    grows, both have the same power (Hoeffding 1952, https://doi.org/10.1214/aoms/1177729436). With so few clusters that
    a finding requires all differences to have one sign, it is the difference at which all have it.

    `standard_error` is the mean difference's. Where Holm's rule adjusts the p-values of n tests, `level` is LEVEL
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
    """Return the rows with which a true difference of this size would be found with a power of 80%.

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
    def shortfall(distance: float) -> float:
        return float(stats.nct.sf(critical, degrees, distance)) - POWER

    return float(scipy.optimize.brentq(shortfall, 0.01, 2 * critical + 5))


# Sums of flips in memory at once, 16 bytes each.
MAX_FLIPS = 1 << 23

# Two values of a row are equal if they differ by no more than this share of the larger one: two orders of summation
# differ by 1e-15, different captions by more than 1e-7.
EQUAL_SHARE = 1e-9

# Two sums are equal if they differ by no more than this share of the sum of all values that entered them: a thousand
# times the rounding of one.
TIE_SHARE = 2.0**-42

# Signs, or counts of exchanges, that are drawn at once, 8 bytes each.
MAX_SIGNS = 4_000_000


class PairedTest(NamedTuple):
    """Paired test of two systems on the same rows, first minus second."""

    # Mean over rows, and the interval of the differences that the sign-flip test does not reject: it holds 0 exactly if
    # p_value is above 1 - confidence_level; infinite ends with fewer clusters than can reject any.
    difference: float
    ci_low: float
    ci_high: float
    # Of the sign-flip test, two-sided, before any correction.
    p_value: float
    # Whether all sign patterns were enumerated.
    is_exact: bool
    # Rows in which the first value is larger, equal, smaller.
    n_larger: int
    n_equal: int
    n_smaller: int
    # Mean difference in standard deviations of the rows' differences (Cohen's d_z); NaN where they do not vary.
    effect_size: float
    # With a power of 80% at `level`; NaN with a single cluster, and where all differences are equal.
    minimum_detectable_difference: float
    # To find the observed difference with that power: a whole number, infinity for a difference of 0.
    rows_to_detect: float


def paired_tests(
    first: np.ndarray,
    second: np.ndarray,
    clusters: Sequence[Hashable] | None = None,
    *,
    confidence_level: float = CONFIDENCE_LEVEL,
    n_resamples: int = N_RESAMPLES,
    seed: int = 0,
    level: float = LEVEL,
    rounding: float | np.ndarray = 0.0,
) -> list[PairedTest]:
    """Compare pairs of systems on the same rows; random draws are shared by all pairs.

    `first` and `second`, float64 of shape (n_rows, n_tests) and finite, hold the values of the two systems of each
    pair. `clusters` and `rounding` are as for `clustered_differences`. Where not all sign patterns are enumerated,
    `n_resamples` random ones are drawn with `seed`, at least 0. `confidence_level` is between 0 and 1. `level` is
    where a p-value counts as a difference, LEVEL / n_tests after Holm's rule. One result for each test.

    >>> result = paired_tests(np.array([[2.0], [3.0], [5.0]]), np.array([[1.0], [3.0], [2.0]]))[0]
    >>> result.difference, result.p_value, (result.n_larger, result.n_equal, result.n_smaller)
    (1.3333333333333333, 0.5, (2, 1, 0))
    """
    differences = clustered_differences(first, second, clusters, rounding)
    rows, sums, sizes, _ = differences
    tests = sign_flip_tests(differences, n_resamples, seed, confidence_level)
    errors = [clustered_mean(column, sizes).standard_error for column in sums.T]
    deviations = rows.std(axis=0, ddof=1) if len(rows) > 1 else np.zeros(rows.shape[1])
    n_larger, n_equal, n_smaller = (np.count_nonzero(np.sign(rows) == sign, axis=0) for sign in (1, 0, -1))
    return [
        PairedTest(
            difference=float(mean),
            ci_low=float(tests.low[i]),
            ci_high=float(tests.high[i]),
            p_value=float(tests.p_values[i]),
            is_exact=bool(tests.are_exact[i]),
            n_larger=int(n_larger[i]),
            n_equal=int(n_equal[i]),
            n_smaller=int(n_smaller[i]),
            effect_size=float(mean / deviations[i]) if deviations[i] > 0 else float("nan"),
            minimum_detectable_difference=minimum_detectable_difference(errors[i], len(sizes), level),
            rows_to_detect=rows_for_difference(float(mean), errors[i], len(sizes), len(rows), level),
        )
        for i, mean in enumerate(differences.means)
    ]


@plain_arguments
def paired_test(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    clusters: Sequence[Hashable] | None = None,
    *,
    confidence_level: float = CONFIDENCE_LEVEL,
    n_resamples: int = N_RESAMPLES,
    seed: int = 0,
) -> PairedTest:
    """Compare two systems by their values on the same rows.

    p = share of the sign patterns of the rows' differences whose mean is at least as far from 0 as the observed one:
    all patterns where no more than 20 differences are not 0, else (c + 1) / (n_resamples + 1) of random ones (Fisher
    1935, section 21; Phipson and Smyth 2010, https://doi.org/10.2202/1544-6115.1585). Ties count, so that equal values
    have p = 1; values within 1e-9 of the larger one are equal. The interval holds the differences that the test does
    not reject (Hartigan 1969, https://doi.org/10.1080/01621459.1969.10501057): it leaves 0 out exactly where p is at
    most 1 - confidence_level.

    Args:
        first: floating-point array, shape (n_rows,), finite: the values of a system, one per row.
        second: the same of another system, on the same rows.
        clusters: n_rows labels: rows with equal labels, of one image for example, change their signs together. None:
            all rows are independent.
        confidence_level: of the interval, between 0 and 1.
        n_resamples: random sign patterns, at least 1.
        seed: of the random patterns, at least 0.

    Returns:
        A named tuple: `difference`, first minus second, mean over rows, with `ci_low` and `ci_high`; `p_value`,
        two-sided, and `is_exact`; `n_larger`, `n_equal`, `n_smaller`, rows by the sign of their difference;
        `effect_size`, the difference in standard deviations of the rows' differences; with a power of 80% at the level
        of 5% the `minimum_detectable_difference`, and the `rows_to_detect` the observed one. Infinite, where so few
        clusters can reject nothing (up to five, at 5%): the ends of the interval, the detectable difference. NaN with
        one cluster: the detectable difference and the rows; where the differences do not vary: the effect size
        and the detectable difference.

    Raises:
        TypeError: a number is not a whole number, or the confidence level is no number.
        ValueError: another shape or number, or a value that is not finite.

    >>> result = paired_test([0.5, 0.75, 0.5, 0.5, 1.0, 0.75], [0.25, 0.5, 0.25, 0.25, 0.5, 0.0])
    >>> result.difference, result.ci_low, result.p_value, result.n_larger
    (0.375, 0.25, 0.03125, 6)
    """
    mine, theirs = as_finite(first, "first"), as_finite(second, "second")
    if mine.ndim != 1 or not mine.size:
        raise InputError("first", "an array of shape (n_rows,)", mine.shape, "Give one value per row.")
    if theirs.shape != mine.shape:
        raise InputError("second", f"shape {mine.shape}, like first", theirs.shape, "Give both systems the same rows.")
    if clusters is not None:
        clusters = check_clusters(clusters, len(mine))
    if confidence_level is None:
        raise InputTypeError("confidence_level", "a number", "None", "Give a float such as 0.95.")
    check_confidence_level(confidence_level)
    check_whole_number("n_resamples", n_resamples, 1, MOST_RESAMPLES)
    check_whole_number("seed", seed, 0)
    return paired_tests(
        mine[:, None], theirs[:, None], clusters, confidence_level=confidence_level, n_resamples=n_resamples, seed=seed
    )[0]


class ClusteredDifferences(NamedTuple):
    """Differences of pairs of systems, one column per test."""

    # float64 array, shape (n_rows, n_tests): first minus second, 0 where both are equal.
    rows: np.ndarray
    # float64 array, shape (n_clusters, n_tests): the sums over each cluster's rows.
    sums: np.ndarray
    # int64 array, shape (n_clusters,): rows of each cluster.
    sizes: np.ndarray
    # float64 array, shape (n_tests,): two signed sums of `sums` that differ by no more are equal.
    tolerances: np.ndarray

    @property
    def means(self) -> np.ndarray:
        """Mean difference over rows, shape (n_tests,)."""
        # fsum is exact, so the order of the rows cannot change the last digit.
        return np.array([math.fsum(column) / len(column) for column in self.rows.T])


def clustered_differences(
    first: np.ndarray,
    second: np.ndarray,
    clusters: Sequence[Hashable] | None = None,
    rounding: float | np.ndarray = 0.0,
) -> ClusteredDifferences:
    """Subtract the values of two systems, and add up the differences of each cluster.

    `first` and `second` are float64 of shape (n_rows, n_tests), finite. Rows with equal labels in `clusters` belong
    together, the rows of one image for example; None makes every row a cluster. `rounding` is the absolute error of the
    values beyond float64's, shape (n_tests,) where tests differ: values that differ by no more are equal. Rows
    and clusters of the result are in the order of the rows.

    >>> clustered_differences(np.array([[2.0], [3.0], [4.0]]), np.ones((3, 1)), ["a", "b", "a"]).sums.tolist()
    [[4.0], [2.0]]
    """
    rows = first - second
    larger = np.maximum(np.abs(first), np.abs(second))
    rows[np.abs(rows) <= EQUAL_SHARE * larger + rounding] = 0.0
    tolerances = TIE_SHARE * np.where(rows != 0, larger, 0.0).sum(axis=0)
    if clusters is None:
        return ClusteredDifferences(rows, rows, np.ones(len(rows), dtype=np.int64), tolerances)
    sizes = np.bincount(cluster_numbers(clusters))
    return ClusteredDifferences(rows, sums_of_clusters(rows, clusters), sizes, tolerances)


class SignFlipTests(NamedTuple):
    """Results of the tests, arrays of shape (n_tests,)."""

    # float64, above 0 and at most 1.
    p_values: np.ndarray
    # bool: whether every sign pattern was enumerated.
    are_exact: np.ndarray
    # float64: ends of the intervals, infinite where the test can reject nothing.
    low: np.ndarray
    high: np.ndarray


def sign_flip_tests(
    differences: ClusteredDifferences, n_resamples: int, seed: int, confidence_level: float | None = CONFIDENCE_LEVEL
) -> SignFlipTests:
    """Test whether the mean difference is 0, two-sided, and find the means that the test does not reject.

    Null hypothesis: the two systems are exchangeable in every cluster of rows, so that each cluster's difference may as
    well have the other sign. p is the share of sign patterns whose mean difference is at least as far from 0 as the
    observed one (Fisher 1935, section 21; Good 2005, section 3.2). Ties are counted: two systems with equal values have
    p = 1.

    Clusters whose sum is 0 have no sign; where the others are no more than `MOST_EXACT_CLUSTERS`, all sign patterns
    are enumerated, and p = c / 2^n. Else `n_resamples` random patterns are drawn and p = (c + 1) / (n_resamples + 1)
    (Phipson and Smyth 2010, https://doi.org/10.2202/1544-6115.1585). The sums are sorted by size first, so that neither
    the order of the clusters nor the order of the two systems can change the draw.

    A mean of m is rejected if a pattern seldom makes the mean of the differences minus m as far from 0. Changing the
    signs of a set A of clusters does so exactly if m is not between the means of A and of the other clusters (Hartigan
    1969, https://doi.org/10.1080/01621459.1969.10501057), so that the ends are quantiles of such means.

    `n_resamples` is at least 1 and `seed` at least 0; `confidence_level` is between 0 and 1, and None gives infinite
    intervals in half the time.

    >>> rows = np.array([[1.0], [2.0], [3.0], [4.0], [5.0], [6.0]])
    >>> tests = sign_flip_tests(clustered_differences(rows, np.zeros((6, 1))), 99, seed=0)
    >>> tests.p_values.tolist(), tests.low.tolist(), tests.high.tolist()
    ([0.03125], [1.0], [6.0])
    """
    every = _sort_clusters(differences.sums, differences.sizes)
    are_exact = np.count_nonzero(differences.sums, axis=0) <= MOST_EXACT_CLUSTERS
    drawn = _draw_flips(every.select(~are_exact), n_resamples, seed)
    results = np.empty((3, len(are_exact)))
    for test, is_exact in enumerate(are_exact):
        clusters = every.select(test)
        flips = _all_flips(clusters, n_resamples, seed) if is_exact else next(drawn)
        results[:, test] = _run_test(clusters, flips, differences.tolerances[test], confidence_level)
    return SignFlipTests(results[0], are_exact, results[1], results[2])


def nearer_p_values(
    p_values: np.ndarray,
    first: np.ndarray,
    second: np.ndarray,
    clusters: Sequence[Hashable] | None,
    n_resamples: int,
    seed: int,
) -> np.ndarray:
    """Compute p-values of "one of them is nearer to 0": that they differ, `p_values`, and that their sum is not 0.

    |a| < |b| says that b - a and b + a have the sign of b: both tests are needed, and the larger p-value counts (an
    intersection-union test, Berger 1982, https://doi.org/10.1080/00401706.1982.10487790). With both means on one side
    of 0 as well: the true ones may lie on both. Arrays and shapes as for `clustered_differences`.
    """
    sums = clustered_differences(first, -second, clusters)
    return np.maximum(p_values, sign_flip_tests(sums, n_resamples, seed, None).p_values)


class MeanTest(NamedTuple):
    """p-values of a difference of means: by random signs, by Student's distribution, and the one that counts."""

    by_draws: float
    by_formula: float
    p_value: float


def mean_tests(
    first: np.ndarray, second: np.ndarray, clusters: Sequence[Hashable] | None, *, n_resamples: int, seed: int
) -> list[MeanTest]:
    """Test whether the means of two systems differ, for pairs of systems; arguments as for `paired_tests`.

    Where no random signs reach the observed mean, the p-value is Student's if that is smaller: Holm's rule over many
    systems needs smaller ones than draws can give.

    >>> mean_tests(np.arange(6.0)[:, None], np.zeros((6, 1)), None, n_resamples=99, seed=0)[0].p_value
    0.0625
    """
    drawn = sign_flip_tests(clustered_differences(first, second, clusters), n_resamples, seed, None).p_values.tolist()
    by_formula = [_students(rows, clusters) for rows in (first - second).T]
    return [
        MeanTest(by_draws, students, _resolve_p_value(by_draws, students, len(first), clusters, n_resamples))
        for by_draws, students in zip(drawn, by_formula, strict=True)
    ]


def nearer_tests(
    differences: Sequence[MeanTest],
    first: np.ndarray,
    second: np.ndarray,
    clusters: Sequence[Hashable] | None,
    *,
    n_resamples: int,
    seed: int,
) -> list[float]:
    """Test whether one of two means is nearer to 0; see `nearer_p_values`. `differences` tests that they differ."""
    known = np.array([test.by_draws for test in differences])
    drawn = nearer_p_values(known, first, second, clusters, n_resamples, seed).tolist()
    by_formula = [_students(rows, clusters) for rows in (first + second).T]
    return [
        _resolve_p_value(by_draws, max(test.by_formula, students), len(first), clusters, n_resamples)
        for test, by_draws, students in zip(differences, drawn, by_formula, strict=True)
    ]


def _students(rows: Floats, labels: Sequence[Hashable] | None) -> float:
    """Two-sided p-value of a mean over rows by Student's distribution; 1 where the rows do not vary."""
    mean = mean_of_rows(rows, labels)
    if not mean.standard_error > 0:
        return 1.0
    return 2 * float(scipy.special.stdtr(mean.n_clusters - 1, -abs(mean.mean) / mean.standard_error))


def _resolve_p_value(
    by_draws: float, by_formula: float, n_rows: int, clusters: Sequence[Hashable] | None, n_resamples: int
) -> float:
    """The p-value by random signs; where none of them reaches the observed mean, Student's if it is smaller."""
    n_clusters = n_rows if clusters is None else len(set(clusters))
    is_least = n_clusters > MOST_EXACT_CLUSTERS and by_draws <= 1 / (n_resamples + 1)
    return min(by_draws, by_formula) if is_least else by_draws


def smallest_sign_p_value(n_clusters: int, n_resamples: int) -> float:
    """Return the smallest possible p-value: that where all clusters differ, with the same sign.

    >>> smallest_sign_p_value(5, 9_999), smallest_sign_p_value(100, 9_999)
    (0.0625, 0.0001)
    """
    return 2.0 ** (1 - n_clusters) if n_clusters <= MOST_EXACT_CLUSTERS else 1 / (n_resamples + 1)


@plain_arguments
def holm_p_values(p_values: npt.ArrayLike) -> Floats:
    """Adjust the p-values of several tests so that one false finding among them stays as rare as the level says.

    The i-th smallest of n is multiplied by n + 1 - i; none falls below one before it or exceeds 1 (Holm 1979,
    https://www.jstor.org/stable/4615733). It holds under any dependence.

    Args:
        p_values: floating-point array, shape (n,), 0 to 1.

    Returns:
        float64 array, shape (n,), in the order given.

    Raises:
        ValueError: another shape, or a number that is no p-value.

    >>> holm_p_values([0.04, 0.01, 0.03]).tolist()
    [0.06, 0.03, 0.06]
    """
    values = as_p_values(p_values)
    order = np.argsort(values, kind="stable")
    factors = len(values) - np.arange(len(values))
    adjusted = np.empty(len(values))
    adjusted[order] = np.minimum(np.maximum.accumulate(factors * values[order]), 1.0)
    return adjusted


class _Clusters(NamedTuple):
    """Clusters of each test, those with the smallest sums first, turned so that no total is negative."""

    # float64 arrays, shape (n_clusters, n_tests): absolute sums, and rows with the sign of the sum, 0 counting as plus.
    sums: np.ndarray
    rows: np.ndarray
    # float64 array, shape (n_tests,): -1 where the signs of a test were turned, else 1.
    turned: np.ndarray

    def select(self, tests: int | np.ndarray) -> "_Clusters":
        """Return the clusters of one test, without its axis, or of several."""
        return _Clusters(self.sums[:, tests], self.rows[:, tests], self.turned[tests])


class _Flips(NamedTuple):
    """Sign patterns of one test, arrays of shape (n_patterns,)."""

    # float64: absolute sums of the clusters that have plus in a pattern, and their rows as in `_Clusters`.
    sums: np.ndarray
    rows: np.ndarray
    # 1 if the observed pattern comes besides these.
    n_observed: int


def _sort_clusters(sums: np.ndarray, sizes: np.ndarray) -> _Clusters:
    """Sort the clusters of each test: sums (n_clusters, n_tests), sizes (n_clusters,)."""
    totals = sums.sum(axis=0)
    turned = np.where(np.where(totals, totals, (sums**3).sum(axis=0)) < 0, -1.0, 1.0)
    rows = np.broadcast_to(sizes[:, None], sums.shape)
    order = np.lexsort((rows, np.abs(sums)), axis=0)
    sums, rows = (np.take_along_axis(array, order, axis=0) for array in (sums * turned, rows))
    return _Clusters(np.abs(sums), np.where(sums < 0, -rows, rows).astype(np.float64), turned)


def _all_flips(clusters: _Clusters, n_resamples: int, seed: int) -> _Flips:
    """All sign patterns; with many clusters only of sums that are not 0, repeated with random signs of the rest."""
    has_sign = (clusters.sums > 0) | (len(clusters.sums) <= MOST_EXACT_CLUSTERS)
    sums, rows = np.zeros(1), np.zeros(1)
    # The pattern with all signs exchanged is as far from 0: the last sign can stay.
    for i, cluster in enumerate(np.flatnonzero(has_sign)):
        size, number = clusters.sums[cluster], clusters.rows[cluster]
        sums = np.concatenate([sums + size, sums]) if i else sums + size
        rows = np.concatenate([rows + number, rows]) if i else rows + number
    if has_sign.all():
        return _Flips(sums, rows, 0)
    sums, rows = (np.tile(array, -(-n_resamples // len(array))) for array in (sums, rows))
    rng = np.random.default_rng(seed)
    for number, n_clusters in zip(*np.unique(clusters.rows[~has_sign], return_counts=True), strict=True):
        rows = rows + number * rng.binomial(n_clusters, 0.5, size=len(rows))
    return _Flips(sums, rows, 0)


def _draw_flips(clusters: _Clusters, n_resamples: int, seed: int) -> Iterator[_Flips]:
    """Random sign patterns of each test besides the observed one; one draw serves all tests."""
    n_clusters, n_tests = clusters.sums.shape
    if not n_tests:
        return
    step = max(1, MAX_FLIPS // n_resamples)
    for start in range(0, n_tests, step):
        some = slice(start, start + step)
        blocks = [
            (positive @ clusters.sums[:, some], positive @ clusters.rows[:, some])
            for positive in draw_patterns(n_clusters, n_resamples, seed)
        ]
        sums, rows = (np.concatenate(arrays) for arrays in zip(*blocks, strict=True))
        for column_sums, column_rows in zip(sums.T, rows.T, strict=True):
            yield _Flips(column_sums, column_rows, 1)


def draw_patterns(n_clusters: int, n_resamples: int, seed: int) -> Iterator[np.ndarray]:
    """Yield random patterns in blocks: float64 arrays of 0 and 1, one for each sign, shape (n_patterns, n_clusters)."""
    rng, step = np.random.default_rng(seed), max(1, MAX_SIGNS // max(1, n_clusters))
    for start in range(0, n_resamples, step):
        bits = rng.integers(0, 256, size=(min(step, n_resamples - start), -(-n_clusters // 8)), dtype=np.uint8)
        yield np.unpackbits(bits, axis=1, count=n_clusters).astype(np.float64)


def _run_test(clusters: _Clusters, flips: _Flips, tolerance: float, level: float | None) -> tuple[float, float, float]:
    """p-value of one test, and the ends of its interval."""
    sums, rows = clusters.sums, clusters.rows
    n_patterns = len(flips.sums) + flips.n_observed
    total = np.where(rows > 0, sums, -sums).sum()
    n_reached = np.count_nonzero(np.abs(2 * flips.sums - sums.sum()) >= abs(total) - tolerance)
    p_value = (n_reached + flips.n_observed) / n_patterns
    alpha = 0.0 if level is None else 1 - level
    outside = -1 if level is None else math.floor(alpha * n_patterns + 1e-9) - flips.n_observed
    low, high = _interval_ends(sums, rows, flips, outside) if outside >= 0 else (-math.inf, math.inf)
    if p_value > alpha:  # ties may fall on either side of an end
        low, high = min(low, 0.0), max(high, 0.0)
    return (p_value, low, high) if clusters.turned > 0 else (p_value, -high, -low)


def _interval_ends(sums: np.ndarray, rows: np.ndarray, flips: _Flips, outside: int) -> tuple[float, float]:
    """Ends of the interval with `outside` patterns out: of the smaller and larger means of each pattern's two sets."""
    flipped, flipped_rows = sums[rows > 0].sum() - flips.sums, rows[rows > 0].sum() - flips.rows
    others, other_rows = np.where(rows > 0, sums, -sums).sum() - flipped, np.abs(rows).sum() - flipped_rows
    is_whole = (flipped_rows == 0) | (other_rows == 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        means = flipped / flipped_rows, others / other_rows
    low = np.where(is_whole, -np.inf, np.minimum(*means))
    high = np.where(is_whole, np.inf, np.maximum(*means))
    last = len(high) - 1 - outside
    return float(np.partition(low, outside)[outside]), float(np.partition(high, last)[last])


def joint_sign_flip_tests(sums: Sequence[np.ndarray], n_resamples: int, seed: int) -> list[float]:
    """Test whether the mean differences of both gaps are 0, by one statistic and random signs of clusters.

    T = s' M^-1 s of the sums s of the clusters' differences and M = sum d d', which no change of signs alters, so that
    T orders the patterns as Hotelling's T2 does (Hotelling 1931, https://doi.org/10.1214/aoms/1177732979). If the two
    systems are exchangeable in every cluster, all sign patterns are equally likely, so that the level is exact.

    `sums` has for each pair of systems a float64 array of shape (n_clusters, 2). With few clusters all patterns are
    enumerated, else `n_resamples` are drawn with `seed`, once for all pairs. One p-value for each pair; ties count, so
    that systems with equal gaps have 1.

    >>> joint_sign_flip_tests([np.ones((5, 2)), np.zeros((5, 2))], 99, seed=0)
    [0.0625, 1.0]
    """
    columns = np.stack(sums, axis=1)  # (n_clusters, n_pairs, 2)
    moments = np.einsum("cki,ckj->kij", columns, columns)
    inverses = np.linalg.pinv(moments, rcond=1e-9, hermitian=True)
    total = columns.sum(axis=0)
    observed = np.einsum("ki,kij,kj->k", total, inverses, total)
    reached, n_patterns = np.zeros(len(sums)), 0
    for signs in _sign_patterns(len(columns), n_resamples, seed):
        n_patterns += len(signs)
        flipped = (signs @ columns.reshape(len(columns), -1)).reshape(len(signs), -1, 2)
        statistics = ((flipped[:, :, None] @ inverses)[:, :, 0] * flipped).sum(axis=2)  # (n_patterns, n_pairs)
        reached += np.count_nonzero(statistics >= observed * (1 - 1e-9) - 1e-12, axis=0)
    return (reached / n_patterns).tolist()


def _sign_patterns(n_clusters: int, n_resamples: int, seed: int) -> Iterator[np.ndarray]:
    """Blocks of signs, float64 arrays of shape (n_patterns, n_clusters), the observed pattern among them."""
    if n_clusters <= MOST_ENUMERATED:
        # The pattern with all signs exchanged has the same statistic: the first sign can stay.
        patterns = np.arange(2 ** (n_clusters - 1))[:, None] >> np.arange(n_clusters - 1) & 1
        yield np.concatenate([np.ones((len(patterns), 1)), 1.0 - 2.0 * patterns], axis=1)
        return
    yield np.ones((1, n_clusters))
    yield from (1.0 - 2.0 * negative for negative in draw_patterns(n_clusters, n_resamples, seed))


class CorpusBleuTest(NamedTuple):
    """Test of two systems by BLEU of the corpus; arrays of shape (4,), for BLEU-1 to BLEU-4."""

    # First minus second.
    differences: Floats
    # Two-sided, before any correction.
    p_values: Floats


@plain_arguments
def paired_corpus_bleu_test(
    first: TokenRows,
    second: TokenRows,
    references: TokenRows,
    clusters: Sequence[Hashable] | None = None,
    *,
    n_resamples: int = N_RESAMPLES,
    seed: int = 0,
) -> CorpusBleuTest:
    """Compare two systems by BLEU of the corpus, which is no mean over rows: paired approximate randomisation.

    p = (c + 1) / (n_resamples + 1), c the random exchanges of both systems' captions, row by row, whose difference
    of BLEU is at least as far from 0 as the observed one (Riezler and Maxwell 2005, https://aclanthology.org/W05-0908;
    sacrebleu's `paired_ar`, which counts strictly larger ones alone: equal systems get its smallest p-value).

    Args:
        first: token lists of a system's candidates, as for `corpus_bleu`.
        second: the other system's, on the same rows.
        references: as for `corpus_bleu`.
        clusters: n_rows labels: rows with equal labels are exchanged together. None: all rows are independent.
        n_resamples: random exchanges, at least 1.
        seed: of the exchanges, at least 0.

    Returns:
        A named tuple: `differences`, first minus second, and `p_values`, above 0 and at most 1.

    Raises:
        TypeError, ValueError: as `corpus_bleu` and `paired_test`.

    >>> rows = [[["a", "dog", "runs"]]] * 12
    >>> test = paired_corpus_bleu_test(rows, [[["a", "cat", "runs"]]] * 12, rows, n_resamples=999)
    >>> test.differences.round(4).tolist()[:2], test.p_values.tolist()[:2]
    ([0.3333, 1.0], [0.002, 0.002])
    """
    check_whole_number("n_resamples", n_resamples, 1, MOST_RESAMPLES)
    check_whole_number("seed", seed, 0)
    references = as_token_rows(references, "references")
    if clusters is not None:
        clusters = check_clusters(clusters, len(references))
    groups = cluster_numbers(range(len(references)) if clusters is None else clusters)
    mine, theirs = (_cluster_statistics(candidates, references, groups) for candidates in (first, second))
    rng, totals = np.random.default_rng(seed), np.stack((mine.sum(axis=0), theirs.sum(axis=0)))
    differences = np.subtract(*bleu_scores(totals))
    n_reached, step = np.ones(len(differences)), max(1, MAX_SIGNS // len(mine))
    for start in range(0, n_resamples, step):
        swaps = rng.integers(0, 2, size=(min(step, n_resamples - start), len(mine)))
        moved = swaps @ (theirs - mine)  # whole numbers
        drawn = bleu_scores(totals[0] + moved) - bleu_scores(totals[1] - moved)
        n_reached += np.count_nonzero(np.abs(drawn) >= np.abs(differences) - TIE_TOLERANCE, axis=0)
    return CorpusBleuTest(differences, n_reached / (n_resamples + 1))


def _cluster_statistics(candidates: TokenRows, references: TokenRows, groups: np.ndarray) -> npt.NDArray[np.int64]:
    """Statistics of BLEU of each cluster of rows, all candidates together: (n_clusters, 10)."""
    statistics, sizes = bleu_rows(candidates, references)
    sums = np.zeros((groups.max() + 1, statistics.shape[1]), dtype=np.int64)
    np.add.at(sums, np.repeat(groups, sizes), statistics)
    return sums
