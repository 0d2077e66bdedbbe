"""The paired test beside scipy and sacrebleu, on the same values; the interval beside scipy's bootstrap."""

import math
import types

import numpy as np
import pytest
import scipy.stats

from manycaps.functional import paired_corpus_bleu_test, paired_test

N_DRAWS = 10_000


def two_systems(seed, n_rows, difference=0.2):
    rng = np.random.default_rng(seed)
    first = rng.gamma(2.0, size=n_rows)
    return first, first + rng.normal(difference, 1.0, size=n_rows)


def mean_difference(first, second, axis):
    return np.mean(first - second, axis=axis)


@pytest.mark.parametrize("n_rows", [2, 3, 8, 12])
@pytest.mark.parametrize("seed", range(5))
def test_exact_p_value_is_that_of_scipy(n_rows, seed):
    first, second = two_systems(seed, n_rows)
    expected = scipy.stats.permutation_test(
        (first, second), mean_difference, permutation_type="samples", vectorized=True, n_resamples=math.inf
    )
    result = paired_test(first, second)
    assert result.is_exact
    assert result.p_value == pytest.approx(expected.pvalue, abs=1e-12)
    assert result.difference == pytest.approx(expected.statistic, abs=1e-12)


def test_exact_p_value_of_clusters_is_that_of_scipy_on_their_sums():
    first, second = two_systems(0, 30)
    clusters = np.arange(30) // 3
    sums = np.add.reduceat(first - second, np.arange(0, 30, 3))
    expected = scipy.stats.permutation_test(
        (sums,), np.mean, permutation_type="samples", vectorized=True, n_resamples=math.inf
    )
    assert paired_test(first, second, clusters).p_value == pytest.approx(expected.pvalue, abs=1e-12)


def within_monte_carlo_error(p_value, other):
    """Five standard deviations: ours is a share of draws, scipy's twice a share of one side."""
    own = p_value * (1 - p_value)
    doubled = 4 * p_value / 2 * (1 - p_value / 2)
    return abs(p_value - other) <= 5 * math.sqrt((own + doubled) / N_DRAWS) + 1 / N_DRAWS


@pytest.mark.parametrize("difference", [0.0, 0.1, 0.2, 0.4])
def test_sampled_p_value_is_that_of_scipy(difference):
    first, second = two_systems(1, 100, difference)
    expected = scipy.stats.permutation_test(
        (first, second), mean_difference, permutation_type="samples", vectorized=True, n_resamples=N_DRAWS, rng=1
    )
    assert within_monte_carlo_error(paired_test(first, second, n_resamples=N_DRAWS).p_value, expected.pvalue)


class GivenValues:
    """A metric of sacrebleu's whose statistics are values that are given, one a row; the score is their mean."""

    def _extract_corpus_statistics(self, hypotheses, references):
        return np.array(hypotheses)[:, None]

    def _aggregate_and_compute(self, statistics):
        return types.SimpleNamespace(score=float(np.sum(statistics)) / self.n_rows)

    def __init__(self, n_rows):
        self.n_rows = n_rows


def sacrebleu_test(metric, first, second):
    """Score of the first system, and what sacrebleu's paired test says of the second one beside it."""
    significance = pytest.importorskip("sacrebleu.significance", reason="pip install sacrebleu")
    statistics = metric._extract_corpus_statistics(first, None)
    baseline = {"metric": (statistics, metric._aggregate_and_compute(statistics))}
    result = significance._paired_ar_test(baseline, "system", second, None, {"metric": metric}, N_DRAWS, seed=1)[1]
    return baseline["metric"][1].score, result["metric"]


def sacrebleu_p_value(first, second):
    return sacrebleu_test(GivenValues(len(first)), first, second)[1].p_value


@pytest.mark.parametrize("difference", [0.0, 0.1, 0.2, 0.4])
def test_sampled_p_value_is_that_of_sacrebleu_where_nothing_ties(difference):
    first, second = two_systems(2, 100, difference)
    result = paired_test(first, second, n_resamples=N_DRAWS)
    assert within_monte_carlo_error(result.p_value, sacrebleu_p_value(first, second))


def test_equal_systems_are_equal_here_and_different_to_sacrebleu():
    """sacrebleu 2.6 counts strictly larger differences alone: byte-identical systems get its smallest p-value."""
    first, _ = two_systems(3, 100)
    assert paired_test(first, first).p_value == 1.0
    assert sacrebleu_p_value(first, first) == pytest.approx(1 / (N_DRAWS + 1), abs=1e-15)


def test_interval_is_near_that_of_scipys_bootstrap():
    """An end of 9,999 means carries about 2% of the interval's width."""
    first, second = two_systems(4, 200)
    result = paired_test(first, second)
    bootstrap = scipy.stats.bootstrap((first - second,), np.mean, method="percentile", rng=np.random.default_rng(1))
    expected = tuple(bootstrap.confidence_interval)
    assert (result.ci_low, result.ci_high) == pytest.approx(expected, abs=0.05 * (expected[1] - expected[0]))


def test_the_test_of_corpus_bleu_is_that_of_sacrebleu():
    """sacrebleu's statistics give the same BLEU up to what COCO's adds to them; its p-value is as good a draw."""
    sacrebleu = pytest.importorskip("sacrebleu", reason="pip install sacrebleu")
    rng = np.random.default_rng(0)
    words = "a dog runs on the green grass while two men watch it from far away".split()
    references = [" ".join(rng.choice(words, 12)) for _ in range(60)]

    def damage(share):
        kept = [[word if rng.random() > share else "thing" for word in text.split()] for text in references]
        return [" ".join(tokens) for tokens in kept]

    first, second = damage(0.2), damage(0.23)
    metric = sacrebleu.BLEU(tokenize="none", smooth_method="none", references=[references])
    score, expected = sacrebleu_test(metric, first, second)
    tokens = [[[text.split()] for text in texts] for texts in (first, second, references)]
    found = paired_corpus_bleu_test(*tokens, n_resamples=N_DRAWS)
    assert found.differences[3] == pytest.approx((score - expected.score) / 100, abs=1e-6)
    assert 0.01 < found.p_values[3] < 0.99
    assert within_monte_carlo_error(found.p_values[3], expected.p_value)
    assert paired_corpus_bleu_test(tokens[0], tokens[0], tokens[2], n_resamples=99).p_values.tolist() == [1.0] * 4
    # Clusters of one row each are rows.
    clustered = paired_corpus_bleu_test(*tokens, clusters=list(range(60)), n_resamples=N_DRAWS)
    assert clustered.p_values.tolist() == found.p_values.tolist()
