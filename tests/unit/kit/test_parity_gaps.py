"""Human parity by gaps: the closed form against enumeration, its level, and the rows that are needed."""

import itertools
import math

import numpy as np
import pytest
import scipy.stats

from manycaps.kit.parity_gaps import (
    detectable_gap,
    gaps_test,
    noncentrality,
    row_gaps,
    rows_for_gap,
    rows_to_detect,
    rows_to_detect_of_clusters,
    spread_of_effect,
)
from tests.simulated_people import drawn_distances
from tests.unit.kit.parity_cases import as_distances, corpus

SIZES = [(m, n) for m in range(1, 7) for n in range(2, 7)]


def symmetric(rng, n_texts, *, ties):
    values = rng.integers(0, 4, size=(n_texts, n_texts)) * 0.25 if ties else rng.random((n_texts, n_texts))
    upper = np.triu(values, 1)
    return upper + upper.T


def all_splits(distances, m):
    """The row with every choice of m candidates first."""
    texts = range(len(distances))
    orders = [[*chosen, *(i for i in texts if i not in chosen)] for chosen in itertools.combinations(texts, m)]
    return np.stack([distances[np.ix_(order, order)] for order in orders])


def gaps_by_definition(distances, m):
    """(f, v) as means over pairs."""
    n_texts = len(distances)
    across = np.mean([distances[i, j] for i in range(m) for j in range(m, n_texts)])
    people = np.mean([distances[i, j] for i, j in itertools.combinations(range(m, n_texts), 2)])
    own = [distances[i, j] for i, j in itertools.combinations(range(m), 2)]
    return across - people, np.mean(own) - people if own else 0.0


@pytest.mark.parametrize("ties", [False, True])
def test_the_closed_form_equals_enumeration(ties):
    """1,000 rows in all, of all sizes to 6 + 6."""
    rng, worst = np.random.default_rng(int(ties)), 0.0
    for m, n in SIZES:
        rows = np.stack([symmetric(rng, m + n, ties=ties) for _ in range(17)])
        gaps = row_gaps(rows, m)
        for i, row in enumerate(rows):
            assert (gaps.fidelity[i], gaps.diversity[i]) == pytest.approx(gaps_by_definition(row, m), abs=1e-14)
            splits = row_gaps(all_splits(row, m), m)
            values = np.stack((splits.fidelity, splits.diversity))
            worst = max(worst, np.abs(values.mean(axis=1)).max())
            worst = max(worst, np.abs(np.cov(values, bias=True) - gaps.covariance[i]).max())
    assert worst < 1e-12


def p_values(distances, m, n_rows):
    gaps = row_gaps(distances, m)
    parts = [type(gaps)(*(each[i : i + n_rows] for each in gaps)) for i in range(0, len(distances), n_rows)]
    return np.array([gaps_test([part]).p_value for part in parts])


@pytest.mark.parametrize(("m", "n", "n_rows"), [(5, 5, 10), (2, 3, 40), (1, 4, 20), (10, 3, 5)])
def test_the_level_is_kept(m, n, n_rows):
    found = p_values(drawn_distances(np.random.default_rng(m), 2_000 * n_rows, m, n), m, n_rows)
    low, high = scipy.stats.binom.interval(0.999, 2_000, 0.05)
    assert low <= np.count_nonzero(found <= 0.05) <= high


@pytest.mark.parametrize("degrees", [1, 2])
def test_rows_to_detect_are_those_with_the_power_that_is_stated(degrees):
    """Against the noncentral chi-squared of scipy.stats."""
    found = scipy.stats.ncx2.sf(scipy.stats.chi2.isf(0.05, degrees), degrees, noncentrality(degrees))
    assert found == pytest.approx(0.8, abs=1e-9)
    rows = rows_for_gap(0.02, 0.003, degrees)
    assert detectable_gap(rows, 0.003, degrees) <= 0.02 < detectable_gap(rows - 1, 0.003, degrees)


def test_the_interval_of_rows_is_infinite_where_people_are_not_excluded():
    near, far = rows_to_detect(3.0, 2, 50, 0.95, 1.0), rows_to_detect(40.0, 2, 50, 0.95, 1.0)
    assert near.high == math.inf
    assert near.low > 50 / 2
    assert far.low < far.rows < far.high < math.inf
    assert rows_to_detect(1.0, 2, 50, 0.95, 1.0).rows == math.inf
    assert math.isnan(rows_to_detect(9.0, 2, 1, 0.95, 1.0).low)
    assert math.isnan(rows_to_detect(math.nan, 0, 5, 0.95, 1.0).rows)


def test_the_interval_of_clusters_inverts_the_noncentral_f():
    needed = rows_to_detect_of_clusters(30.0, 2, 40, 80, 0.9)
    value = 30.0 * 38 / (2 * 39)
    for rows, share in ((needed.low, 0.05), (needed.high, 0.95)):
        effect = noncentrality(2) * 2 / rows  # of a cluster; rows are whole numbers
        assert scipy.stats.ncf.cdf(value, 2, 38, 40 * effect) == pytest.approx(share, abs=0.02)
    assert math.isnan(rows_to_detect_of_clusters(30.0, 2, 4, 8, 0.9).rows)


def test_the_interval_of_rows_holds_the_true_number():
    """In 95% of 400 corpora of 30 rows, people with a tenth of wrong captions; binomial, four standard errors."""
    columns = row_gaps(as_distances(corpus(1, 40_000, wrong=0.1)), 5)
    mean = np.array([columns.fidelity.mean(), columns.diversity.mean()])
    true = noncentrality(2) / (mean @ np.linalg.solve(columns.covariance.mean(axis=0), mean))
    gaps = row_gaps(as_distances(corpus(2, 400 * 30, wrong=0.1)), 5)
    n_held = 0
    for i in range(400):
        rows = slice(30 * i, 30 * i + 30)
        values = np.stack([gaps.fidelity[rows], gaps.diversity[rows]], axis=1)
        sums, covariance = values.sum(axis=0), gaps.covariance[rows].sum(axis=0)
        spread = spread_of_effect(sums / 30, covariance / 30, [(values, gaps.covariance[rows])])
        needed = rows_to_detect(float(sums @ np.linalg.solve(covariance, sums)), 2, 30, 0.95, spread)
        n_held += needed.low <= math.ceil(true) <= needed.high
    assert 0.95 - 4 * math.sqrt(0.05 * 0.95 / 400) <= n_held / 400 <= 1


def test_a_spread_of_few_rows_counts_five_rows_of_people():
    gaps, covariances = np.array([[1.0], [3.0]]), np.ones((2, 1, 1))
    # w = 2, T2 = 4: both rows move lambda by 4, and the sum of squares over n - 1, over 4 T2, is 2.
    few = (scipy.stats.t.ppf(0.975, 1) / scipy.stats.norm.ppf(0.975)) ** 2
    assert spread_of_effect(np.array([2.0]), np.ones((1, 1)), [(gaps, covariances)]) == pytest.approx(
        (2 * 2 * few + 5) / 7, rel=1e-12
    )
