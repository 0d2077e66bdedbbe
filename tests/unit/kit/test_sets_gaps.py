"""Human parity: the closed form against enumeration, level and power on simulated rows."""

import itertools
import math

import numpy as np
import pytest
import scipy.stats

from manycaps.functional import human_gaps, human_parity_test
from manycaps.kit.parity_tests import gaps_test, row_gaps
from tests.refusals import assert_refused
from tests.simulated_people import drawn_distances

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


@pytest.mark.slow
def test_clusters_keep_the_level_that_rows_do_not():
    """Forty clusters of three equal rows: three times the gaps, and nine times their covariance."""
    distances = drawn_distances(np.random.default_rng(2), 400 * 40, 3, 3).reshape(400, 40, 6, 6)
    clusters = np.repeat(np.arange(40), 3).tolist()
    counts = np.zeros(2)
    for corpus in distances:
        copied = np.repeat(corpus, 3, axis=0)
        tests = human_parity_test(copied, 3, clusters), human_parity_test(copied, 3)
        counts += [test.p_value <= 0.05 for test in tests]
    low, high = scipy.stats.binom.interval(0.999, 400, 0.05)
    assert low <= counts[0] <= high < counts[1]


def test_parts_and_units_change_nothing():
    rng = np.random.default_rng(3)
    distances = drawn_distances(rng, 12, 3, 4)
    whole = human_parity_test(distances, 3)
    parts = gaps_test([row_gaps(distances[:5], 3), row_gaps(distances[5:], 3)])
    assert (parts.p_value, *parts[1:]) == (whole.gaps_p_value, *whole[3:])
    assert human_parity_test(distances * 2.0**-40, 3) == whole
    assert human_parity_test(distances[::-1], 3) == pytest.approx(whole, rel=1e-12)
    assert (human_gaps(distances * 2.0**40, 3).energy / 2.0**40).tolist() == human_gaps(distances, 3).energy.tolist()


def test_what_cannot_be_said_is_nan():
    equal = np.zeros((5, 4, 4))
    test = human_parity_test(equal, 2)
    assert (test.degrees, math.isnan(test.p_value)) == (0, True)
    one = human_parity_test(drawn_distances(np.random.default_rng(4), 8, 1, 4), 1)
    assert (one.degrees, math.isnan(one.diversity_p_value), one.gaps_p_value) == (1, True, one.fidelity_p_value)
    # One split into one and two: the diversity of three texts follows from the rest.
    distances = drawn_distances(np.random.default_rng(5), 6, 2, 3)
    assert math.isnan(human_parity_test(distances, 2, ["a"] * 6).p_value)


NOT_SYMMETRIC = "distances[0]: expected symmetric distances of at least 0 with zeros on the"


@pytest.mark.parametrize(
    ("distances", "n_candidates", "error", "message"),
    [
        (np.zeros((1, 3, 4)), 1, ValueError, "distances: expected shape (n_rows, n, n), got (1, 3, 4). Give those of"),
        (np.zeros((1, 3, 3)), 2, ValueError, "n_candidates: expected at most 1 of 3 texts, got 2. People are compared"),
        (np.zeros((1, 3, 3)), 1.5, TypeError, "n_candidates: expected a whole number, got float. Give an int."),
        (np.eye(4)[None], 1, ValueError, NOT_SYMMETRIC),
        (np.triu(np.ones((1, 4, 4)), 1), 1, ValueError, NOT_SYMMETRIC),
        (-1.0 + np.eye(4)[None], 1, ValueError, NOT_SYMMETRIC),
        (np.full((1, 4, 4), np.nan), 1, ValueError, "distances[0][0][0]: expected a finite number, got NaN or"),
    ],
)
def test_messages(distances, n_candidates, error, message):
    for function in (human_gaps, human_parity_test):
        assert_refused(error, message, function, distances, n_candidates)
