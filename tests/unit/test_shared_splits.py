"""Splits of a row, p-values by counting, and the harmonic mean over rows."""

import itertools
import math

import numpy as np
import pytest
import scipy.integrate

from manycaps.shared_splits import (
    combined_p_value,
    exact_splits,
    harmonic_mean_p,
    random_splits,
    upper_tail_p_values,
)


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


def test_too_many_splits_name_the_ways_out():
    with pytest.raises(ValueError) as error:
        exact_splits(10, 10, 1000)
    assert str(error.value) == (
        "p_value='exact': expected at most max_partitions=1000 splits per row, got 184756 for 10 candidates and "
        "10 references. Use p_value='permutation', or a larger max_partitions."
    )


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
    assert upper_tail_p_values(np.array([1.0]), values).tolist() == [2 / 3]


def test_harmonic_mean():
    assert harmonic_mean_p(np.array([1.0, 0.5, 0.25])) == pytest.approx(3 / 7)


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


def test_combined_p_value_is_uniform_under_the_null():
    rng = np.random.default_rng(0)
    combined = np.array([combined_p_value(rng.random(300)) for _ in range(3000)])
    for level in (0.01, 0.05, 0.1, 0.5):
        # Binomial standard error, four of them, and the approximation's own error at 300 rows.
        assert np.mean(combined <= level) == pytest.approx(level, abs=4 * math.sqrt(level * (1 - level) / 3000) + 0.01)


def test_one_row_keeps_its_p_value():
    assert combined_p_value(np.array([0.3])) == 0.3
