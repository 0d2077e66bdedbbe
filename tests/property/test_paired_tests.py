"""Invariants of the comparison of two systems, against slow loops, and the level of its test."""

import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from manycaps.functional import holm_p_values, paired_test
from manycaps.kit.paired_tests import mean_tests, nearer_tests, paired_tests
from tests.oracles import sign_flip_loop

# Coarse numbers, so that differences tie.
NUMBERS = st.integers(-8, 8).map(lambda number: number / 4)


@st.composite
def systems(draw, most_rows=9):
    n_rows = draw(st.integers(1, most_rows))
    lists = st.lists(NUMBERS, min_size=n_rows, max_size=n_rows)
    clusters = draw(st.lists(st.sampled_from("abcd"), min_size=n_rows, max_size=n_rows))
    return np.array(draw(lists)), np.array(draw(lists)), clusters


@given(systems())
def test_p_value_equals_the_loop(drawn):
    first, second, clusters = drawn
    own = list(range(len(first)))
    assert paired_test(first, second).p_value == sign_flip_loop.sign_flip_p_value(first - second, own)
    clustered = paired_test(first, second, clusters)
    assert clustered.p_value == sign_flip_loop.sign_flip_p_value(first - second, clusters)


@given(st.lists(st.sampled_from([0.0, 0.001, 0.01, 0.2, 0.5, 1.0]), max_size=8))
def test_holm_equals_the_loop(p_values):
    assert holm_p_values(p_values).tolist() == pytest.approx(sign_flip_loop.holm_p_values(p_values), abs=1e-15)


@given(systems(most_rows=40), st.randoms(use_true_random=False))
def test_the_order_of_rows_changes_nothing_and_that_of_the_systems_the_sign_alone(drawn, random):
    first, second, clusters = drawn
    order = list(range(len(first)))
    random.shuffle(order)
    one = paired_test(first, second, clusters, n_resamples=99)
    other = paired_test(first[order], second[order], [clusters[i] for i in order], n_resamples=99)
    assert (one.difference, one.p_value) == (other.difference, other.p_value)
    assert np.array(one, dtype=float) == pytest.approx(np.array(other, dtype=float), rel=1e-12, nan_ok=True)
    other = paired_test(second, first, clusters, n_resamples=99)
    assert (one.difference, one.p_value, one.n_equal) == (-other.difference, other.p_value, other.n_equal)
    assert (one.n_larger, one.rows_to_detect) == (other.n_smaller, pytest.approx(other.rows_to_detect, nan_ok=True))
    assert [one.ci_low, one.ci_high] == pytest.approx([-other.ci_high, -other.ci_low], abs=1e-12, nan_ok=True)


@given(systems(most_rows=40), st.sampled_from([0.25, 1024.0]), st.integers(-3, 3))
def test_the_unit_changes_nothing(drawn, unit, shift):
    first, second, clusters = drawn
    one = paired_test(first, second, clusters, n_resamples=99)
    other = paired_test(unit * (first + shift), unit * (second + shift), clusters, n_resamples=99)
    assert other.p_value == one.p_value
    assert other.difference == pytest.approx(unit * one.difference, rel=1e-12)
    assert other.ci_low == pytest.approx(unit * one.ci_low, rel=1e-12, nan_ok=True)


@given(systems(most_rows=40))
def test_a_pair_does_not_depend_on_the_others(drawn):
    """One draw serves all pairs; each has the result that it has alone."""
    first, second, clusters = drawn
    columns = np.stack([first, second, np.zeros_like(first)], axis=1)
    several = paired_tests(columns, columns[:, [1, 2, 0]], clusters, n_resamples=99)
    for i, result in enumerate(several):
        alone = paired_test(columns[:, i], columns[:, (i + 1) % 3], clusters, n_resamples=99)
        assert np.array(result, dtype=float) == pytest.approx(np.array(alone, dtype=float), rel=1e-12, nan_ok=True)


@given(systems(most_rows=40))
def test_means_that_are_tested_together_are_those_tested_alone(drawn):
    first, second, clusters = drawn
    pairs, options = [(first, second), (second, first), (first + second, first)], {"n_resamples": 99, "seed": 0}
    together = mean_tests(*(np.stack(side, axis=1) for side in zip(*pairs, strict=True)), clusters, **options)
    nearer = nearer_tests(together, *(np.stack(side, axis=1) for side in zip(*pairs, strict=True)), clusters, **options)
    for pair, test, p_value in zip(pairs, together, nearer, strict=True):
        columns = [side[:, None] for side in pair]
        assert mean_tests(*columns, clusters, **options) == [test]
        assert nearer_tests([test], *columns, clusters, **options) == [p_value]


@given(systems(most_rows=40))
def test_interval_holds_within_the_differences(drawn):
    first, second, _ = drawn
    result = paired_test(first, second, n_resamples=99)
    if math.isfinite(result.ci_low):
        assert (first - second).min() - 1e-12 <= result.ci_low <= result.ci_high <= (first - second).max() + 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("n_rows", [20, 200])
@pytest.mark.parametrize("is_clustered", [False, True])
def test_level_is_kept(n_rows, is_clustered):
    """Skewed values of two exchangeable systems, rows of a cluster alike: rejections within the 99.9% interval.

    scripts/studies/paired_test_study.py does the same with captions and 1,000 pairs.
    """
    n_pairs, rng = 400, np.random.default_rng((n_rows, is_clustered))
    clusters = np.arange(n_rows) // (1 if not is_clustered else 2 if n_rows == 20 else 4)
    n_clusters = clusters[-1] + 1
    effects = rng.exponential(size=(2, n_clusters, n_pairs))[:, clusters]
    first, second = effects + 0.5 * rng.exponential(size=(2, n_rows, n_pairs))
    results = paired_tests(first, second, clusters, n_resamples=999)
    low, high = scipy.stats.binom.interval(0.999, n_pairs, 0.05)
    assert low <= sum(result.p_value <= 0.05 for result in results) <= high
    if is_clustered and n_rows == 200:
        blind = paired_tests(first, second, None, n_resamples=999)
        assert sum(result.p_value <= 0.05 for result in blind) > high, "clusters matter"
