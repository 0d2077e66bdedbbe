"""Ranking by scores of another program: p-values of scipy, ties, clusters, samples, groups, and time."""

import itertools
import time

import numpy as np
import pytest
import scipy.stats

from manycaps.comparison.foreign_scores import compare_scores
from manycaps.comparison.groups import group_letters


def as_samples(values):
    return [[float(value)] for value in values]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", ["numbers", "accuracy", "repeats"])
def test_p_is_scipys(seed, kind):
    rng, n = np.random.default_rng(seed), 9
    scores = {
        "numbers": lambda: as_samples(rng.normal(size=n)),
        "accuracy": lambda: as_samples(rng.integers(0, 2, size=n)),
        "repeats": lambda: rng.integers(0, 2, size=(n, 4)).astype(float).tolist(),
    }
    systems = {name: scores[kind]() for name in "abc"}
    ranking = compare_scores(systems)
    for pair in ranking.pairs:
        means = [[np.mean(item) for item in systems[name]] for name in (pair.first, pair.second)]
        expected = scipy.stats.permutation_test(
            means, lambda x, y, axis: (x - y).mean(axis=axis), permutation_type="samples", n_resamples=10_000
        )
        assert pair.test.p_value == pytest.approx(expected.pvalue, abs=1e-12)
        assert pair.test.difference == pytest.approx(abs(expected.statistic), abs=1e-12)


def test_p_of_clusters_is_scipys_of_their_sums():
    rng = np.random.default_rng(0)
    first, second, labels = rng.normal(size=12), rng.normal(size=12), [i // 2 for i in range(12)]
    ranking = compare_scores({"a": as_samples(first), "b": as_samples(second)}, clusters=labels)
    sums = (first - second).reshape(6, 2).sum(axis=1)
    expected = scipy.stats.permutation_test(
        [sums, 0 * sums], lambda x, y, axis: (x - y).mean(axis=axis), permutation_type="samples", n_resamples=10_000
    )
    assert ranking.pairs[0].test.p_value == pytest.approx(expected.pvalue, abs=1e-12)
    assert ranking.n_clusters == 6


def test_equal_systems_tie():
    values = as_samples([0.1, 0.2, 0.3, 0.4])
    ranking = compare_scores({"a": values, "b": values})
    assert ranking.pairs[0].test.p_value == ranking.pairs[0].adjusted_p_value == 1.0
    assert ranking.pairs[0].test.n_equal == 4
    assert [(system.groups, system.best_rank, system.worst_rank) for system in ranking.systems] == [("a", 1, 2)] * 2


def test_systems_that_differ_have_no_common_letter():
    rng = np.random.default_rng(0)
    quality = {"worst": -2.0, "good": 0.0, "as good": 0.02, "best": 1.0}
    ranking = compare_scores({name: as_samples(rng.normal(mean, 1, size=200)) for name, mean in quality.items()})
    groups = {system.name: system.groups for system in ranking.systems}
    assert [ranking.systems[0].name, ranking.systems[-1].name] == ["best", "worst"]
    assert groups["good"] == groups["as good"]
    for pair in ranking.pairs:
        assert pair.differ == (not set(groups[pair.first]) & set(groups[pair.second]))
    assert [system.best_rank for system in ranking.systems] == [1, 2, 2, 4]
    turned = compare_scores(
        {
            name: as_samples(-np.array([value for [value] in values]))
            for name, values in {"a": [[1.0]] * 9, "b": [[2.0]] * 9}.items()
        },
        lower_is_better=True,
    )
    assert turned.systems[0].name == "b"


@pytest.mark.parametrize("seed", range(20))
def test_a_common_letter_says_that_no_two_of_a_run_differ(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 8))
    differ = np.triu(rng.random((n, n)) < 0.4, 1)
    differ |= differ.T
    letters = group_letters(differ)
    for letter in set("".join(letters)):
        members = [i for i in range(n) if letter in letters[i]]
        assert members == list(range(members[0], members[-1] + 1))
        assert not any(differ[i, j] for i, j in itertools.combinations(members, 2))
    for i in range(n - 1):
        if not differ[i, i + 1]:
            assert set(letters[i]) & set(letters[i + 1])


def test_the_share_of_sampling_is_what_more_samples_would_take_away():
    rng = np.random.default_rng(0)
    n, k = 4_000, 4
    chance = rng.beta(2, 2, size=(n, 1))
    of = {name: (rng.random((n, k)) < chance).astype(float).tolist() for name in "ab"}
    share = compare_scores(of, n_resamples=99).pairs[0].sampling_share
    assert share == pytest.approx(1, abs=0.05)  # both have the same chances: all else is sampling
    different = {"a": of["a"], "b": (rng.random((n, k)) < rng.beta(2, 2, size=(n, 1))).astype(float).tolist()}
    expected = (2 * 0.2 / k) / (2 * 0.05 + 2 * 0.2 / k)  # beta(2, 2): p(1 - p) is 0.2 on average, the variance 0.05
    assert compare_scores(different, n_resamples=99).pairs[0].sampling_share == pytest.approx(expected, abs=0.03)
    assert np.isnan(
        compare_scores({name: [item[:1] for item in items] for name, items in of.items()}).pairs[0].sampling_share
    )


def test_many_pairs_have_smaller_p_values_than_draws_give():
    rng = np.random.default_rng(0)
    systems = {str(i): as_samples(rng.normal(i, 1, size=60)) for i in range(8)}
    ranking = compare_scores(systems, n_resamples=199)
    assert all(pair.differ for pair in ranking.pairs)


@pytest.mark.slow
def test_18_systems_on_10_000_items_take_less_than_a_minute():
    rng = np.random.default_rng(0)
    systems = {str(i): as_samples(rng.random(10_000) < 0.5 + 0.005 * i) for i in range(18)}
    start = time.perf_counter()
    ranking = compare_scores(systems)
    assert time.perf_counter() - start < 60
    assert len(ranking.pairs) == 153
