"""Intervals and tests of means over rows: hand cases, parity with Student's, scale, order, clusters."""

import math

import numpy as np
import pytest
import scipy.stats

from manycaps.kit.caption_sets import (
    check_clusters,
    clustered_mean,
    clustered_test,
    interval_of_rows,
    mean_of_rows,
    one_sided_p_value,
)
from tests.refusals import assert_refused


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

    def transformed(end):
        t = (mean - end) / error
        return t + a * t**2 / 3 + a**2 * t**3 / 27 + a / 6

    low, high = interval_of_rows(values, 0.95)
    quantile = scipy.stats.t.isf(0.025, 8)
    assert transformed(low) == pytest.approx(quantile, rel=1e-9)
    assert transformed(high) == pytest.approx(-quantile, rel=1e-9)
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
        (["a"], ValueError, "clusters: expected as many labels as rows (3), got 1. Give a label for each row."),
        (np.array([1.0, math.nan, 1.0]), ValueError, "clusters[1]: expected a string or a number, got nan."),
        (["a", None, "b"], ValueError, "clusters[1]: expected a string or a number, got None."),
        (["a", {"b": 1}, "b"], TypeError, "clusters[1]: expected a string or a number, got dict. Give a label."),
    ],
)
def test_labels_that_cannot_be_told_apart_are_refused(clusters, error, message):
    assert_refused(error, message, check_clusters, clusters, 3)
