"""Coefficients, intervals and the paired test of human-correlation, against SciPy, the jackknife and permutations."""

import numpy as np
import pytest
import scipy.stats

from manycaps.human_correlation.agreement import Agreement, difference, kendall, spearman

RNG = np.random.default_rng(5)


def draw_judgements(n_images, n_captions, noises, rng=RNG, effect=0.7):
    """Judgements from 1 to 4 of captions of images, scores of metrics with their noise, and the image of each."""
    images = np.repeat(np.arange(n_images), n_captions)
    quality = rng.normal(size=len(images)) + 0.8 * rng.normal(size=n_images)[images]
    shared = rng.normal(size=n_images)[images]
    human = np.clip(np.round(2.5 + quality), 1, 4)
    return human, [effect * quality + n * (shared + rng.normal(size=len(images))) for n in noises], images


def agreement(scores, human, images):
    found = kendall(scores, human)
    return Agreement(
        {name: each.value for name, each in found.items()},
        {name: each.influences / len(human) for name, each in found.items()},
        images.tolist(),
    )


@pytest.mark.parametrize("ties", [False, True])
def test_values_are_those_of_scipy(ties):
    human, (scores,), _ = draw_judgements(30, 3, [1.0])
    scores = np.round(scores) if ties else scores
    for x, y in ((scores, human), (human, scores)):
        found = kendall(x, y)
        for name, each in found.items():
            assert each.value == pytest.approx(scipy.stats.kendalltau(x, y, variant=name[-1]).statistic, abs=1e-12)
            assert each.influences.sum() == pytest.approx(0, abs=1e-9)
        assert spearman(x, y).value == pytest.approx(scipy.stats.spearmanr(x, y).statistic, abs=1e-12)
        assert spearman(x, y).influences.sum() == pytest.approx(0, abs=1e-9)


def test_what_is_not_defined():
    for x, y in (([1.0, 1, 1], [1.0, 2, 3]), ([1.0, 2, 3], [2.0, 2, 2]), ([1.0, np.nan, 2], [1.0, 2, 3])):
        for each in (*kendall(np.array(x), np.array(y)).values(), spearman(np.array(x), np.array(y))):
            assert np.isnan(each.value)
            assert np.isnan(each.influences).all()
    assert np.isnan(agreement(np.array([1.0, 2]), np.array([1.0, 2]), np.zeros(2)).interval("tau_b")).all()


@pytest.mark.parametrize("name", ["tau_b", "tau_c", "rho"])
def test_the_influences_are_those_of_the_jackknife(name):
    human, (scores,), _ = draw_judgements(150, 2, [0.6])
    scores = np.round(2 * scores)
    coefficient = lambda x, y: spearman(x, y) if name == "rho" else kendall(x, y)[name]  # noqa: E731
    found, n = coefficient(scores, human), len(human)
    without = np.array([coefficient(np.delete(scores, i), np.delete(human, i)).value for i in range(n)])
    assert (n - 1) * (found.value - without) == pytest.approx(found.influences, abs=0.12)
    assert np.corrcoef(without, found.influences)[0, 1] == pytest.approx(-1, abs=1e-4)


def test_intervals_and_the_paired_test_hold_for_clusters():
    rng = np.random.default_rng(11)
    n_trials, held, refused, naive = 400, 0, 0, 0
    human, (scores, _), _ = draw_judgements(20_000, 3, [0.8, 0.8], rng)
    true = kendall(scores, human)["tau_b"].value
    for _ in range(n_trials):
        human, (one, two), images = draw_judgements(50, 3, [0.8, 0.8], rng)
        first, second = agreement(one, human, images), agreement(two, human, images)
        low, high = first.interval("tau_b")
        held += low <= true <= high
        refused += difference(first, second, "tau_b").p_value < 0.05
        low, high = first._replace(clusters=range(150)).interval("tau_b")
        naive += low <= true <= high
    assert 0.92 <= held / n_trials <= 0.98
    assert refused / n_trials <= 0.08
    assert naive < held  # rows of an image are not independent


def test_the_paired_test_agrees_with_permutations():
    rng = np.random.default_rng(3)
    for noise in (0.8, 0.9, 1.1):
        human, (one, two), images = draw_judgements(60, 3, [0.8, noise], rng)
        # Deutsch et al. (2021), https://arxiv.org/abs/2104.00054: scores in the same unit change places, by image.
        one, two = (scipy.stats.rankdata(scores) for scores in (one, two))
        found = difference(agreement(one, human, images), agreement(two, human, images), "tau_b")
        draws = []
        for _ in range(500):
            swap = rng.integers(0, 2, 60).astype(bool)[images]
            both = np.where(swap, two, one), np.where(swap, one, two)
            draws.append(np.subtract(*(kendall(x, human)["tau_b"].value for x in both)))
        expected = np.mean(np.abs(draws) >= abs(found.value))
        assert found.p_value == pytest.approx(expected, abs=0.07)


def test_a_metric_differs_from_itself_by_nothing():
    human, (scores,), images = draw_judgements(20, 2, [0.3])
    same, turned = agreement(scores, human, images), agreement(-scores, human, images)
    assert difference(same, agreement(3 * scores, human, images), "tau_b") == (0.0, (0.0, 0.0), 1.0)
    found = difference(same, turned, "tau_b")
    assert found.value == pytest.approx(2 * same.figures["tau_b"])
    assert found.p_value < 0.001
    one = Agreement({"accuracy": 100.0}, {"accuracy": np.zeros(3)}, range(3))
    assert np.isnan(difference(one, one._replace(figures={"accuracy": 0.0}), "accuracy").p_value)


def shares(*wins):
    """Categories of rows that are won (1) or lost, every row a cluster, and their mean."""
    n_rows, start = sum(map(len, wins)), 0
    figures, moved, members = {}, {}, {}
    for name, won in zip("abcdef", wins, strict=False):
        inside = (np.arange(n_rows) >= start) & (np.arange(n_rows) < start + len(won))
        figures[name], moved[name], members[name] = 100 * float(np.mean(won)), np.zeros(n_rows), inside
        moved[name][inside] = 100 * (np.array(won) - np.mean(won)) / len(won)
        start += len(won)
    parts = {"accuracy": list(members)}
    figures["accuracy"] = float(np.mean(list(figures.values())))
    moved["accuracy"] = np.mean(list(moved.values()), axis=0)
    return Agreement(figures, moved, range(n_rows), are_shares=True, members=members, parts=parts)


def test_a_category_that_is_won_throughout_has_the_interval_of_its_own_clusters():
    found = shares([1] * 5, [1, 0] * 50)
    assert found.interval("a") == pytest.approx((56.55, 100), abs=0.01)  # Wilson's of 5 in 5
    alone = found._replace(members={}, clusters=range(5), deviations={"b": found.deviations["b"][5:]}, parts={})
    assert found.interval("b") == pytest.approx(alone._replace(clusters=range(100)).interval("b"))
    # The mean is as uncertain as its parts: half of 43.45 downwards at least.
    low, high = found.interval("accuracy")
    assert 75 - 43.45 / 2 - 5.1 < low < 75 - 43.45 / 2
    assert 75 < high < 80
    assert shares([1] * 5).interval("accuracy") == found.interval("a")
    # The difference of two metrics has the degrees of freedom of its category, too.
    one, other = shares([1, 0, 1, 0, 1], [1, 0] * 50), shares([0, 0, 0, 0, 1], [1, 0] * 50)
    single = difference(shares([1, 0, 1, 0, 1]), shares([0, 0, 0, 0, 1]), "a")
    assert difference(one, other, "a").interval == pytest.approx(single.interval)


def test_intervals_of_categories_hold_at_25_rows():
    n = 25
    for share in (0.93, 0.97, 0.99):
        ends = [shares([1] * k + [0] * (n - k), [1, 0] * 100).interval("a") for k in range(n + 1)]
        chances = scipy.stats.binom.pmf(range(n + 1), n, share)
        held = sum(p for p, (low, high) in zip(chances, ends, strict=True) if low <= 100 * share <= high)
        assert held >= 0.95, share
    rng, n_held = np.random.default_rng(7), 0
    for _ in range(400):
        wins = [(rng.random(n) < share).astype(float) for share in (0.6, 0.93, 0.97, 0.99)]
        low, high = shares(*wins).interval("accuracy")
        n_held += low <= 87.25 <= high
    assert n_held / 400 >= 0.93
