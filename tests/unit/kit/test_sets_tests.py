"""Splits of a row, intervals of means over rows and clusters, and the test over the rows of a corpus."""

import itertools
import math

import numpy as np
import pytest
import scipy.integrate
import scipy.stats

from manycaps.kit.sets_module import DISTRIBUTION_DEFAULTS
from manycaps.kit.sets_tests import (
    Comparison,
    RowTester,
    check_clusters,
    clustered_mean,
    clustered_test,
    combined_p_value,
    exact_splits,
    harmonic_mean_p,
    interval_of_rows,
    mean_of_rows,
    one_sided_p_value,
    random_splits,
    row_keys,
    split_p_values,
)
from tests.refusals import assert_refused


@pytest.mark.parametrize(("n", "m"), [(1, 2), (3, 2), (4, 4)])
@pytest.mark.parametrize("block", [1, 7, 1000])
def test_every_split_once_the_observed_one_first(n, m, block):
    labels = np.concatenate(list(exact_splits(n, m, 100)(block)))
    chosen = [tuple(np.flatnonzero(row)) for row in labels]
    assert sorted(chosen) == sorted(itertools.combinations(range(n + m), n))
    assert chosen[0] == tuple(range(n))


def test_mirror_images_may_be_left_out():
    splits = np.concatenate(list(exact_splits(3, 3, 20, mirrored=False)(7)))
    every = np.concatenate([splits, ~splits])
    assert len(np.unique(every, axis=0)) == 20
    assert splits[0].tolist() == [True] * 3 + [False] * 3
    # Sets of different sizes have no mirror images.
    assert sum(len(block) for block in exact_splits(3, 2, 10, mirrored=False)(7)) == 10


@pytest.mark.parametrize("block", [1, 100, 5000])
def test_random_splits_depend_on_seed_and_sizes_alone(block):
    drawn = np.concatenate(list(random_splits(4, 3, 2500, seed=1)(block)))
    assert drawn.shape == (2501, 7)
    assert drawn.sum(axis=1).tolist() == [4] * 2501
    assert drawn[0].tolist() == [True] * 4 + [False] * 3
    assert drawn.tolist() == np.concatenate(list(random_splits(4, 3, 2500, seed=1)(64))).tolist()
    assert drawn.tolist() != np.concatenate(list(random_splits(4, 3, 2500, seed=2)(64))).tolist()


def test_random_splits_are_uniform():
    labels = np.concatenate(list(random_splits(2, 2, 60_000, seed=0)(4096)))[1:]
    counts = np.unique(labels @ [1, 2, 4, 8], return_counts=True)[1]
    assert len(counts) == 6
    assert abs(counts - 10_000).max() < 4 * math.sqrt(60_000 * 5 / 36)  # four standard deviations


def test_ties_count_as_reached():
    values = [np.array([[1.0, 1.0 - 5e-10, 0.5]])]
    assert split_p_values(np.array([1.0]), values).tolist() == [2 / 3]


def test_keys_tell_contents_apart():
    array = np.array([[1.0, 2.0]])
    keys = row_keys([["a"], ["a"], ("a",), [], array, array.T], [["b"], ["c"], ("b",), ["a", "b"], array, array])
    found = [keys(i) for i in range(6)]
    assert found[0] == found[2]
    assert len(set(found)) == 5


# Intervals and tests of means over rows: hand cases, parity with Student's, scale, order, clusters.


def test_values_without_skewness_have_students_interval():
    half = np.random.default_rng(0).normal(size=6)
    values = np.concatenate([half, -half]) + 3.0
    expected = scipy.stats.ttest_1samp(values, 0.0).confidence_interval(0.9)
    assert interval_of_rows(values, 0.9) == pytest.approx((expected.low, expected.high), rel=1e-12)
    assert one_sided_p_value(mean_of_rows(values - 2.5)) == pytest.approx(
        scipy.stats.ttest_1samp(values - 2.5, 0.0, alternative="greater").pvalue, rel=1e-12
    )


def test_the_transformation_is_halls():
    """The ends solve g(T) = Student's quantile; g is written out, and solved by bisection."""
    values = np.random.default_rng(1).exponential(size=9)
    mean, error = values.mean(), scipy.stats.sem(values)
    a = scipy.stats.skew(values) / 3.0

    def transform(end):
        t = (mean - end) / error
        return t + a * t**2 / 3 + a**2 * t**3 / 27 + a / 6

    low, high = interval_of_rows(values, 0.95)
    quantile = scipy.stats.t.isf(0.025, 8)
    assert transform(low) == pytest.approx(quantile, rel=1e-9)
    assert transform(high) == pytest.approx(-quantile, rel=1e-9)
    assert one_sided_p_value(mean_of_rows(values - low)) == pytest.approx(0.025, rel=1e-9)


def test_rounding_is_no_spread():
    for spread, is_zero in ((0.0, True), (2e-16, True), (1e-13, False)):
        of = mean_of_rows(0.1 + spread * np.array([-1.0, 0.0, 1.0]))
        assert (of.standard_error == 0) == is_zero


@pytest.mark.parametrize("unit", [1e-12, 1e-6, 1e6, 1e12, 2.0**-300, 2.0**300])
def test_the_unit_changes_nothing(unit):
    values, clusters = np.random.default_rng(2).gamma(1.5, size=20), (np.arange(20) // 3).tolist()
    for labels in (None, clusters):
        expected = np.array(interval_of_rows(values, 0.95, labels)) * unit
        found = np.array(interval_of_rows(values * unit, 0.95, labels))
        assert found == pytest.approx(expected, rel=1e-12)
        if math.log2(unit).is_integer():
            assert found.tolist() == expected.tolist()


def test_the_order_of_rows_changes_nothing():
    values, clusters = np.random.default_rng(3).random(30), np.arange(30) % 7
    order = np.random.default_rng(4).permutation(30)
    for labels, shuffled in ((None, None), (clusters.tolist(), clusters[order].tolist())):
        assert interval_of_rows(values[order], 0.95, shuffled) == interval_of_rows(values, 0.95, labels)


def test_copied_rows_in_clusters_say_as_much_as_the_originals():
    values = np.random.default_rng(5).exponential(size=15)
    copied = interval_of_rows(np.repeat(values, 4), 0.95, np.repeat(np.arange(15), 4).tolist())
    assert copied == pytest.approx(interval_of_rows(values, 0.95), rel=1e-12)


def test_equal_values_have_a_point_and_one_cluster_has_nothing():
    assert interval_of_rows([0.1] * 7, 0.95) == pytest.approx((0.1, 0.1), rel=1e-15)
    assert all(math.isnan(end) for end in interval_of_rows([1.0, 2.0], 0.95, ["a", "a"]))
    assert math.isnan(one_sided_p_value(clustered_mean(np.ones(1), np.ones(1, dtype=int))))


def test_the_clustered_test_by_hand():
    """Residuals of the sums 3, 1, 2 of clusters of 2, 1, 1 rows: 0, -0.5, 0.5, without skewness."""
    result = clustered_test("trm", mean_of_rows([1.0, 2.0, 1.0, 2.0], ["a", "a", "b", "c"]))
    error = math.sqrt(3 / 2 * 0.5) / 4
    assert result["trm_z"] == pytest.approx(1.5 / error, rel=1e-12)
    assert result["trm_corpus_p_value"] == pytest.approx(scipy.stats.t.sf(1.5 / error, 2), rel=1e-12)


@pytest.mark.parametrize(
    ("clusters", "error", "message"),
    [
        ("abc", TypeError, "clusters: expected a label for each row, got str. Give a list."),
        ([["a"], ["b", "c"], [["d"]]], TypeError, "clusters[0]: expected a string or a number, got list."),
        (["a"], ValueError, "clusters: expected one label for each of the 3 rows of captions, got 1."),
        (np.array([1.0, math.nan, 1.0]), ValueError, "clusters[1]: expected a string or a number, got nan."),
        (["a", None, "b"], ValueError, "clusters[1]: expected a string or a number, got None."),
        (["a", {"b": 1}, "b"], TypeError, "clusters[1]: expected a string or a number, got dict. Give a label."),
    ],
)
def test_labels_that_cannot_be_told_apart_are_refused(clusters, error, message):
    assert_refused(error, message, check_clusters, clusters, 3)


# The harmonic mean, combined p-values, and the test over the rows of a corpus.

EXACT = {**DISTRIBUTION_DEFAULTS, "p_value": "exact"}


DRAWN = {**DISTRIBUTION_DEFAULTS, "p_value": "permutation"}


# Values of the three splits of three rows of 2 + 1 texts, the observed split first.
NULLS = np.array([[3.0, 1.0, 2.0], [5.0, 5.0, 2.0], [0.0, 1.0, 5.0]])


def landau_tail(x, n):
    """1 - CDF of Wilson's (2019) equation 4: his density integrated over x under the integral sign."""
    location, scale = math.log(n) + 1 - np.euler_gamma - math.log(2 / math.pi), math.pi / 2

    def integrand(t):
        return math.exp(-t * (x - location) / scale - 2 / math.pi * t * math.log(t)) * math.sin(2 * t) / t

    return scipy.integrate.quad(integrand, 1e-12, 40, limit=1000)[0] / math.pi


@pytest.mark.parametrize("p_values", [[0.5, 0.1], [0.04, 0.2, 0.9, 0.6]])
def test_combined_p_value_is_the_tail_of_wilsons_landau_density(p_values):
    p_values = np.array(p_values)
    expected = landau_tail(1 / harmonic_mean_p(p_values), len(p_values))
    assert combined_p_value(p_values) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("p_values", "expected"),
    [([5e-324] * 3, 5e-324), ([1e-308, 1e-308], 1e-308), ([1e-308, 1.0], 2e-308), ([1e-300, 0.2], 2e-300)],
)
def test_p_values_at_the_end_of_float64_are_combined(p_values, expected):
    assert harmonic_mean_p(p_values) == pytest.approx(expected, rel=1e-9)
    assert combined_p_value(p_values) == pytest.approx(expected, rel=1e-9)


def test_combined_p_value_is_uniform_under_the_null():
    rng = np.random.default_rng(0)
    combined = np.array([combined_p_value(rng.random(300)) for _ in range(3000)])
    for level in (0.01, 0.05, 0.1, 0.5):
        # Binomial standard error, four of them, and the approximation's own error at 300 rows.
        assert np.mean(combined <= level) == pytest.approx(level, abs=4 * math.sqrt(level * (1 - level) / 3000) + 0.01)


def mean_test(nulls, options=EXACT, order=None, units=None, keys=None):
    order = range(len(nulls)) if order is None else order
    rows = RowTester([(2, 1)] * len(nulls), options)
    keys = keys or [bytes([i]) for i in order]
    placed = nulls[list(order)]
    statistic = placed[:, 0] * (1 if units is None else units)
    compared = Comparison(statistic, placed, lambda part, _: [placed[part, :1], placed[part, 1:]], units)
    rows.add((2, 1), list(range(len(nulls))), keys.__getitem__, compared)
    return rows.test(statistic)


def test_by_hand():
    result = mean_test(NULLS)
    assert result.p_values.tolist() == pytest.approx([1 / 3, 2 / 3, 1])
    assert result.excesses.tolist() == pytest.approx([1, 1, -2])
    assert result.z == pytest.approx(0)
    assert result.smallest_p == pytest.approx(1 / 3)
    assert result.smallest_corpus_p == pytest.approx(1 / 27)
    # z counts standard deviations of the mean.
    larger = NULLS + np.array([[1.0, 0.0, 0.0]])
    expected = (larger[:, 0] - larger.mean(axis=1)).sum() / math.sqrt(larger.var(1).sum())
    assert mean_test(larger).z == pytest.approx(expected)
    # Values that differ by rounding alone have none.
    result = mean_test(np.array([[0.1, 0.1 + 1e-15, 0.1 - 1e-15]]))
    assert math.isnan(result.z)
    assert result.corpus_p_value == result.p_values[0] == 1


def test_corpus_p_value_is_the_share_of_all_combinations_of_splits():
    sums = [sum(values) for values in itertools.product(*NULLS)]
    share = np.mean([value >= NULLS[:, 0].sum() - 1e-9 for value in sums])
    # Five standard errors of 99,999 draws.
    expected = pytest.approx(share, abs=5 * math.sqrt(share * (1 - share) / 99_999))
    assert mean_test(NULLS, EXACT | {"n_resamples": 99_999}).corpus_p_value == expected


def test_neither_the_order_of_rows_nor_the_bound_of_memory_changes_anything(monkeypatch):
    options = EXACT | {"n_resamples": 99}
    first = mean_test(NULLS, options)
    for order in itertools.permutations(range(3)):
        other = mean_test(NULLS, options, order)
        assert (other.corpus_p_value, other.z) == (first.corpus_p_value, first.z)
        assert other.p_values[np.argsort(order)].tolist() == first.p_values.tolist()
    monkeypatch.setattr("manycaps.kit.sets_tests.MAX_NULL_VALUES", 1)
    assert str(mean_test(NULLS, options)) == str(first)


def test_equal_rows_draw_independently():
    nulls = np.tile(np.array([[1.0, 0.0, 0.0]]), (400, 1))
    result = mean_test(nulls, EXACT | {"n_resamples": 999}, keys=[b"alike"] * 400)
    # Drawn together, a third of the resamples would reach the observed mean.
    assert result.corpus_p_value == 1 / 1000
    assert result.z == pytest.approx(400 * (2 / 3) / math.sqrt(400 * 2 / 9))


def test_units_weigh_the_rows_and_the_tolerance():
    units = np.array([1.0, 1e-6, 1e3])
    scaled = mean_test(NULLS, units=units)
    assert scaled.excesses.tolist() == pytest.approx([1, 1e-6, -2e3])
    # Rounding of a large unit is within its tolerance.
    noisy = np.array([[1.0, 1.0 - 1e-12, 1.0 - 1e-12]])
    assert mean_test(noisy, units=np.array([1e9])).corpus_p_value == 1


def test_smallest_p_values_and_splits_without_mirror_images():
    for size, expected in (((2, 1), 1 / 3), ((3, 2), 1 / 10), ((3, 3), 2 / 20), ((1, 1), 1)):
        assert list(RowTester([size], EXACT).smallest) == pytest.approx([expected])
        # Splits drawn twice count twice.
        assert list(RowTester([size], DRAWN).smallest) == pytest.approx([expected], abs=0.02)
    assert RowTester([(8, 8)] * 5, {**DRAWN, "n_resamples": 3}).smallest == {1 / 4: 5}
    rows = RowTester([(3, 3), (3, 2)], EXACT)
    assert rows.n_splits == {(3, 3): 10, (3, 2): 10}
    assert all(rows.n_splits[size] == sum(map(len, splits(4))) for size, splits in rows.splits.items())
