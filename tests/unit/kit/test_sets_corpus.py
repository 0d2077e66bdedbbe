"""The harmonic mean, combined p-values, and the test over the rows of a corpus."""

import itertools
import math

import numpy as np
import pytest
import scipy.integrate
import scipy.stats

from manycaps.kit.caption_sets import (
    DISTRIBUTION_DEFAULTS,
    RowSplits,
    combined_p_value,
    harmonic_mean_p,
    survival_function,
)

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


def test_combined_p_value_is_uniform_under_the_null():
    rng = np.random.default_rng(0)
    combined = np.array([combined_p_value(rng.random(300)) for _ in range(3000)])
    for level in (0.01, 0.05, 0.1, 0.5):
        # Binomial standard error, four of them, and the approximation's own error at 300 rows.
        assert np.mean(combined <= level) == pytest.approx(level, abs=4 * math.sqrt(level * (1 - level) / 3000) + 0.01)


def mean_test(nulls, options=EXACT, order=None, units=None, keys=None):
    order = range(len(nulls)) if order is None else order
    rows = RowSplits([(2, 1)] * len(nulls), options)
    keys = keys or [bytes([i]) for i in order]
    placed = nulls[list(order)]
    rows.add(
        (2, 1),
        list(range(len(nulls))),
        keys.__getitem__,
        placed[:, 0],
        lambda part, partitions: [placed[part, :1], placed[part, 1:]],
        units,
    )
    return rows.test(placed[:, 0] * (1 if units is None else units))


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
    monkeypatch.setattr("manycaps.kit.caption_sets.MAX_NULL_VALUES", 1)
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
        assert list(RowSplits([size], EXACT).smallest) == pytest.approx([expected])
        # Splits drawn twice count twice.
        assert list(RowSplits([size], DRAWN).smallest) == pytest.approx([expected], abs=0.02)
    assert RowSplits([(8, 8)] * 5, {**DRAWN, "n_resamples": 3}).smallest == {1 / 4: 5}
    rows = RowSplits([(3, 3), (3, 2)], EXACT)
    assert rows.n_splits == {(3, 3): 10, (3, 2): 10}
    assert all(rows.n_splits[size] == sum(map(len, splits(4))) for size, splits in rows.splits.items())


@pytest.mark.parametrize("hidden", [False, True])
def test_tails_are_those_of_scipys_distributions(monkeypatch, hidden):
    if hidden:  # a release of SciPy with other names
        monkeypatch.setattr("scipy.special._ufuncs", object())
    for name, parameters in (("landau", (0, 1)), ("nct", (7, 2.5))):
        expected = [float(getattr(scipy.stats, name).sf(x, *parameters)) for x in (-3.0, 0.5, 40.0)]
        assert [survival_function(name, x, *parameters) for x in (-3.0, 0.5, 40.0)] == expected
