"""Two systems on the same rows: differences over clusters of rows, sign-flip test, interval, and Holm's correction."""

import math
from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np

from .mean_intervals import bootstrap_intervals, minimum_detectable_differences, rows_needed, standard_errors

# Confidence level of the intervals, and resamples of tests and intervals; those of the distribution modules.
CONFIDENCE_LEVEL = 0.95
N_RESAMPLES = 9_999

# Two values of a row are equal if they differ by no more than this share of the largest value: two orders of summation
# differ by 1e-15, different captions by more than 1e-7.
EQUAL_SHARE = 1e-9

# Clusters whose sign patterns are all enumerated, about a million: it takes some milliseconds.
MOST_EXACT_CLUSTERS = 20

# Two sums are equal if they differ by no more than this share of the sum of all absolute differences.
TIE_SHARE = 1e-9

# Signs held at once, 8 bytes each.
MAX_SIGNS = 4_000_000


class PairedTest(NamedTuple):
    """Paired test of two systems on the same rows, first minus second."""

    # Mean over rows, and its bootstrap interval; the ends are NaN with a single cluster.
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
    # With a power of 80 % at the level of 5 %; NaN with a single cluster.
    minimum_detectable_difference: float
    # To find the observed difference with that power: a whole number, infinity for a difference of 0.
    rows_needed: float


def paired_tests(
    first: np.ndarray,
    second: np.ndarray,
    clusters: Sequence[Hashable] | None = None,
    *,
    confidence_level: float = CONFIDENCE_LEVEL,
    n_resamples: int = N_RESAMPLES,
    seed: int = 0,
    equal_share: float | np.ndarray = EQUAL_SHARE,
) -> list[PairedTest]:
    """Compare pairs of systems on the same rows; random draws are shared by all pairs.

    Args:
        first: float64 array, shape (n_rows, n_tests), finite: values of one system of each pair.
        second: the same of the other systems.
        clusters: as for `clustered_differences`.
        confidence_level: between 0 and 1.
        n_resamples: random sign patterns, where not all are enumerated, and resamples of the intervals.
        seed: of both, non-negative.
        equal_share: as for `clustered_differences`.

    Returns:
        One result for each test.

    >>> result = paired_tests(np.array([[2.0], [3.0], [5.0]]), np.array([[1.0], [3.0], [2.0]]))[0]
    >>> result.difference, result.p_value, (result.n_larger, result.n_equal, result.n_smaller)
    (1.3333333333333333, 0.5, (2, 1, 0))
    """
    differences = clustered_differences(first, second, clusters, equal_share)
    rows, sums, sizes = differences
    low, high = bootstrap_intervals(sums, sizes, confidence_level, n_resamples, seed)
    tests = sign_flip_tests(sums, n_resamples, seed)
    errors = standard_errors(sums, sizes)
    detectable = minimum_detectable_differences(errors, len(sizes))
    deviations = rows.std(axis=0, ddof=1) if len(rows) > 1 else np.zeros(rows.shape[1])
    n_larger, n_equal, n_smaller = (np.count_nonzero(np.sign(rows) == sign, axis=0) for sign in (1, 0, -1))
    return [
        PairedTest(
            difference=float(mean),
            ci_low=float(low[i]),
            ci_high=float(high[i]),
            p_value=float(tests.p_values[i]),
            is_exact=bool(tests.are_exact[i]),
            n_larger=int(n_larger[i]),
            n_equal=int(n_equal[i]),
            n_smaller=int(n_smaller[i]),
            effect_size=float(mean / deviations[i]) if deviations[i] > 0 else float("nan"),
            minimum_detectable_difference=float(detectable[i]),
            rows_needed=rows_needed(float(mean), float(errors[i]), len(sizes), len(rows)),
        )
        for i, mean in enumerate(differences.means)
    ]


class ClusteredDifferences(NamedTuple):
    """Differences of pairs of systems, one column per test."""

    # float64 array, shape (n_rows, n_tests): first minus second, 0 where both are equal.
    rows: np.ndarray
    # float64 array, shape (n_clusters, n_tests): the sums over each cluster's rows.
    sums: np.ndarray
    # int64 array, shape (n_clusters,): rows of each cluster.
    sizes: np.ndarray

    @property
    def means(self) -> np.ndarray:
        """Mean difference over rows, shape (n_tests,)."""
        # fsum is exact, so the order of the rows cannot change the last digit.
        return np.array([math.fsum(column) / len(column) for column in self.rows.T])


def clustered_differences(
    first: np.ndarray,
    second: np.ndarray,
    clusters: Sequence[Hashable] | None = None,
    equal_share: float | np.ndarray = EQUAL_SHARE,
) -> ClusteredDifferences:
    """Subtract the values of two systems, and add up the differences of each cluster.

    Args:
        first: float64 array, shape (n_rows, n_tests), finite.
        second: the same of the other system of each test.
        clusters: n_rows labels; rows with equal labels belong together, those of one image for example. None: every
            row is a cluster of its own.
        equal_share: two values that differ by no more than this share of the largest value of the test are equal; an
            array of shape (n_tests,) where tests differ.

    Returns:
        The differences; rows and clusters in the order of the rows.

    >>> clustered_differences(np.array([[2.0], [3.0], [4.0]]), np.ones((3, 1)), ["a", "b", "a"]).sums.tolist()
    [[4.0], [2.0]]
    """
    rows = first - second
    largest = np.maximum(np.abs(first), np.abs(second)).max(axis=0, initial=0.0)
    rows[np.abs(rows) <= equal_share * largest] = 0.0
    if clusters is None:
        return ClusteredDifferences(rows, rows, np.ones(len(rows), dtype=np.int64))
    places = cluster_places(clusters)
    sizes = np.bincount(places)
    sums = np.zeros((len(sizes), rows.shape[1]))
    np.add.at(sums, places, rows)
    return ClusteredDifferences(rows, sums, sizes)


def cluster_places(clusters: Sequence[Hashable]) -> np.ndarray:
    """Number the clusters in the order in which they appear, and return that of every row.

    >>> cluster_places(["b", "a", "b"]).tolist()
    [0, 1, 0]
    """
    numbers = {label: i for i, label in enumerate(dict.fromkeys(clusters))}
    return np.array([numbers[label] for label in clusters], dtype=np.intp)


class SignFlipTests(NamedTuple):
    """Results of the tests, arrays of shape (n_tests,)."""

    # float64, above 0 and at most 1.
    p_values: np.ndarray
    # bool: whether every sign pattern was enumerated.
    are_exact: np.ndarray


def sign_flip_tests(sums: np.ndarray, n_resamples: int, seed: int) -> SignFlipTests:
    """Test whether the mean difference is 0, two-sided.

    Null hypothesis: the two systems are exchangeable in every cluster of rows, so that each cluster's difference may as
    well have the other sign. p is the share of sign patterns whose mean difference is at least as far from 0 as the
    observed one (Fisher 1935, section 21; Good 2005, section 3.2). Ties are counted: two systems with equal values have
    p = 1.

    Clusters whose sum is 0 have no sign; where the others are no more than `MOST_EXACT_CLUSTERS`, all sign patterns
    are enumerated, and p = c / 2^n. Else `n_resamples` random patterns are drawn and p = (c + 1) / (n_resamples + 1)
    (Phipson and Smyth 2010, https://doi.org/10.2202/1544-6115.1585). The sums are sorted by size first, so that neither
    the order of the clusters nor that of the two systems can change the draw.

    Args:
        sums: float64 array, shape (n_clusters, n_tests): the sum of each cluster's differences.
        n_resamples: random sign patterns where not all are enumerated, at least 1.
        seed: of the random patterns, at least 0.

    Returns:
        The tests.

    >>> sign_flip_tests(np.array([[1.0], [2.0], [3.0]]), 99, seed=0).p_values.tolist()
    [0.25]
    """
    sizes = np.sort(np.abs(sums), axis=0)
    observed = np.abs(sums.sum(axis=0))
    least = observed - TIE_SHARE * sizes.sum(axis=0)
    are_exact = np.count_nonzero(sizes, axis=0) <= MOST_EXACT_CLUSTERS
    p_values = np.empty(sums.shape[1])
    for test in np.flatnonzero(are_exact):
        p_values[test] = _share_of_all_flips(sizes[:, test], least[test])
    drawn = np.flatnonzero(~are_exact)
    p_values[drawn] = _share_of_drawn_flips(sizes[:, drawn], least[drawn], n_resamples, seed)
    return SignFlipTests(p_values, are_exact)


def smallest_p_value(n_clusters: int, n_resamples: int) -> float:
    """Return the p-value of clusters that all differ, and all with one sign, which is the least one.

    >>> smallest_p_value(5, 9_999), smallest_p_value(100, 9_999)
    (0.0625, 0.0001)
    """
    return 2.0 ** (1 - n_clusters) if n_clusters <= MOST_EXACT_CLUSTERS else 1 / (n_resamples + 1)


def _share_of_all_flips(sizes: np.ndarray, least: float) -> float:
    """Share of all sign patterns whose sum is at least `least` away from 0."""
    sizes = sizes[sizes > 0]
    # The pattern with all signs exchanged is as far from 0: the first sign can stay.
    flipped = sizes[:1] if sizes.size else np.zeros(1)
    for size in sizes[1:]:
        flipped = np.concatenate([flipped + size, flipped - size])
    return float(np.mean(np.abs(flipped) >= least))


def _share_of_drawn_flips(sizes: np.ndarray, least: np.ndarray, n_resamples: int, seed: int) -> np.ndarray:
    """Share of random sign patterns, the observed one among them; one draw serves all tests."""
    n_clusters, n_tests = sizes.shape
    rng, n_reached = np.random.default_rng(seed), np.ones(n_tests)
    totals = sizes.sum(axis=0)
    step = max(1, MAX_SIGNS // max(1, n_clusters))
    for start in range(0, n_resamples if n_tests else 0, step):
        n_drawn = min(step, n_resamples - start)
        bits = rng.integers(0, 256, size=(n_drawn, -(-n_clusters // 8)), dtype=np.uint8)
        positive = np.unpackbits(bits, axis=1, count=n_clusters).astype(np.float64)
        n_reached += np.count_nonzero(np.abs(2 * (positive @ sizes) - totals) >= least, axis=0)
    return n_reached / (n_resamples + 1)


def holm_p_values(p_values: np.ndarray) -> np.ndarray:
    """Adjust p-values so that the chance of one false finding among all of them stays below the level.

    The smallest is multiplied by their number n, the next by n - 1, and so on; none falls below a smaller one before
    it, and none exceeds 1 (Holm 1979, https://www.jstor.org/stable/4615733). It holds under any dependence.

    Args:
        p_values: float64 array, shape (n,), 0 to 1.

    Returns:
        float64 array, shape (n,), in the order given.

    >>> holm_p_values(np.array([0.04, 0.01, 0.03])).tolist()
    [0.06, 0.03, 0.06]
    """
    order = np.argsort(p_values, kind="stable")
    factors = len(p_values) - np.arange(len(p_values))
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.minimum(np.maximum.accumulate(factors * p_values[order]), 1.0)
    return adjusted
