"""The comparison of two systems on the same rows: hand cases, edges, messages."""

import math

import numpy as np
import pytest

from manycaps.functional import combined_p_value, holm_p_values, paired_test
from manycaps.kit.paired_tests import (
    attainable_level,
    clustered_differences,
    minimum_detectable_difference,
    rows_for_difference,
    sign_flip_tests,
)
from tests.refusals import assert_refused


def test_three_rows_by_hand():
    # Sums of the eight sign patterns of 1, 2, 4: two of them, 7 and -7, reach 7.
    result = paired_test([2.0, 4.0, 8.0], [1.0, 2.0, 4.0])
    assert result.p_value == 2 / 8
    assert result.is_exact
    assert result.difference == pytest.approx(7 / 3, abs=1e-15)
    # The differences 1, 2, 4 have the variance 7/3 as well.
    assert result.effect_size == pytest.approx(math.sqrt(7 / 3), abs=1e-15)
    assert (result.n_larger, result.n_equal, result.n_smaller) == (3, 0, 0)


def test_identical_systems_of_other_rounding():
    values = np.random.default_rng(0).normal(size=300)
    result = paired_test(values, values * (1 + 1e-13))
    assert (result.difference, result.p_value, result.n_equal) == (0.0, 1.0, 300)
    assert (result.ci_low, result.ci_high) == (0.0, 0.0)


def test_drawn_patterns():
    """Of more than twenty differences patterns are drawn: a difference of 0 is reached by every one."""
    balanced = np.tile([1.0, 0.0], 100)
    result = paired_test(balanced, balanced[::-1])
    assert (result.is_exact, result.p_value) == (False, 1.0)
    far = np.random.default_rng(0).normal(5.0, size=50)
    assert paired_test(far, np.zeros(50), n_resamples=199).p_value == 1 / 200
    second = np.where(np.arange(50) < 20, 0.0, far)
    assert paired_test(far, second).is_exact
    second[20] = 0.0
    assert not paired_test(far, second).is_exact


def test_one_cluster_says_nothing():
    result = paired_test([1.0, 2.0], [0.0, 0.0], ["a", "a"])
    assert result.p_value == 1.0
    assert (result.ci_low, result.ci_high) == (-math.inf, math.inf)
    for value in (result.minimum_detectable_difference, result.rows_to_detect):
        assert math.isnan(value)


def test_interval_of_equal_differences_is_a_point_and_others_narrow_with_the_level():
    result = paired_test(np.full(9, 3.0), np.full(9, 1.0))
    assert (result.ci_low, result.ci_high) == (2.0, 2.0)
    values, widths = np.random.default_rng(0).normal(size=40), []
    for level in (0.5, 0.9, 0.99):
        result = paired_test(values, np.zeros(40), confidence_level=level, n_resamples=999)
        widths.append(result.ci_high - result.ci_low)
    assert widths == sorted(widths)


@pytest.mark.parametrize("sizes", [[1] * 7, [1, 2, 3, 1, 2, 1]])
def test_the_interval_holds_what_the_test_does_not_reject(sizes):
    """By the definition: the test is made of the values less each mean near the ends."""
    rng = np.random.default_rng(0)
    values, clusters = rng.gamma(2.0, size=sum(sizes)), np.repeat(np.arange(len(sizes)), sizes).tolist()
    result = paired_test(values, np.zeros(len(values)), clusters)
    assert result.is_exact
    for end, sign in ((result.ci_low, 1), (result.ci_high, -1)):
        inside, outside = (end + sign * shift for shift in (1e-6, -1e-6))
        assert paired_test(values, np.full(len(values), inside), clusters).p_value > 0.05
        assert paired_test(values, np.full(len(values), outside), clusters).p_value <= 0.05


@pytest.mark.parametrize("n_rows", [3, 5, 6, 10, 21, 60])
def test_the_interval_never_contradicts_the_p_value(n_rows):
    rng = np.random.default_rng(n_rows)
    found = set()
    for _ in range(200):
        # Rounded, so that there are ties and differences of 0; of more than 20 clusters patterns are drawn.
        result = paired_test(rng.normal(rng.choice([0.0, 0.6]), 1, n_rows).round(), np.zeros(n_rows), n_resamples=199)
        assert (result.p_value > 0.05) == (result.ci_low <= 0 <= result.ci_high)
        found.add(result.p_value > 0.05)
    assert found == ({True} if n_rows < 6 else {True, False})


def test_one_huge_value_hides_nothing_of_the_others():
    result = paired_test([1e12, 3.0, 2.0, 5.0], [1e12, 2.0, 1.5, 3.0])
    assert (result.difference, result.n_equal, result.p_value) == (3.5 / 4, 1, 0.25)
    # It keeps its sign in all of the 64 patterns that reach the observed sum.
    assert paired_test([1e9, 1.0, 2.0, 4.0, 8.0, 16.0], np.zeros(6)).p_value == 2 / 64


@pytest.mark.slow
@pytest.mark.parametrize(("n_clusters", "n_pairs"), [(6, 1), (7, 1), (8, 1), (9, 3), (12, 3), (24, 10), (60, 28)])
def test_the_detectable_difference_is_found_four_times_of_five(n_clusters, n_pairs):
    """Simulated sign-flip tests of normal differences: 1,000, so that the share carries 1.3 percentage points."""
    level = 0.05 / n_pairs  # the smallest p-value's, by Holm's rule
    detectable = minimum_detectable_difference(1 / math.sqrt(n_clusters), n_clusters, level)
    drawn = np.random.default_rng(0).normal(detectable, 1.0, size=(1_000, n_clusters))
    tests = sign_flip_tests(clustered_differences(drawn.T, np.zeros_like(drawn.T)), 9_999, 0)
    assert np.mean(tests.p_values <= level) == pytest.approx(0.8, abs=0.06)


def test_too_few_clusters_find_no_difference():
    assert attainable_level(5, 0.05) == attainable_level(9, 0.05 / 28) == 0
    assert minimum_detectable_difference(1.0, 5) == math.inf
    assert math.isnan(minimum_detectable_difference(0.0, 50))  # identical systems


def test_rows_to_detect_for_a_difference():
    detectable = minimum_detectable_difference(0.1, 50)
    assert rows_for_difference(detectable * (1 + 1e-9), 0.1, n_clusters=50, n_rows=150) == 150
    # Four times as many, less what Student's distribution with more degrees of freedom saves.
    needed = rows_for_difference(detectable / 2, 0.1, n_clusters=50, n_rows=150)
    assert 600 > needed == pytest.approx(600, rel=0.05)
    assert paired_test([1.0, 2.0, 3.0], [0.0, 1.0, 2.0]).rows_to_detect == 2  # a constant one


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: paired_test([[1.0]], [[1.0]]), ValueError, "first: expected an array of shape (n_rows,), got (1, 1)."),
        (lambda: paired_test([1.0], [1.0, 2.0]), ValueError, "second: expected shape (1,), like first, got (2,)."),
        (lambda: paired_test([1.0, np.nan], [1, 2]), ValueError, "first[1]: expected a finite number, got NaN or"),
        (
            lambda: paired_test([1.0], [1.0], []),
            ValueError,
            "clusters: expected one label for each of the 1 rows of captions, got 0.",
        ),
        (lambda: paired_test([1.0], [1.0], confidence_level=95), ValueError, "confidence_level: expected a number bet"),
        (lambda: paired_test([1.0], [1.0], n_resamples=0), ValueError, "n_resamples: expected a whole number of at le"),
        (lambda: paired_test([1.0], [1.0], seed=-1), ValueError, "seed: expected a whole number of at least 0, got -1"),
        (lambda: holm_p_values([0.5, 1.5]), ValueError, "p_values[1]: expected a number from 0 to 1, got 1.5."),
        (lambda: combined_p_value([2.0]), ValueError, "p_values[0]: expected a number above 0 and at most 1, got 2.0."),
    ],
)
def test_messages(call, error, message):
    assert_refused(error, message, call)
