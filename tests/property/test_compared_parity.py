"""Two systems beside people: level and power of the joint test, and how often what is said of a pair is false."""

import itertools

import numpy as np
import pytest

from manycaps.comparison.parity import ParityRows, compared_parity
from manycaps.comparison.parity_pairs import FAULTS, joint_sign_flip_tests
from manycaps.kit.parity_tails import corpus_tails
from manycaps.kit.parity_tests import row_columns
from tests import simulated_people

M, N, N_ROWS = 5, 5, 40


def people(rng, n_rows):
    """Texts of people as points, and the scene's own text in the middle."""
    return rng.normal(size=(n_rows, M, 4))


def wrong(share):
    """A share of the captions lies elsewhere."""

    def damage(rng, texts):
        far = rng.random(texts.shape[:2]) < share
        return texts + far[..., None] * rng.normal(size=texts.shape) * 4

    return damage


def repeating(rng, texts):
    """The first caption stands for two of five."""
    return np.concatenate(
        [texts[:, :1], texts[:, :1] + 0.02 * rng.normal(size=texts[:, :1].shape), texts[:, 2:]], axis=1
    )


def ordinary(rng, texts):
    """The five most ordinary of twenty."""
    many = rng.normal(size=(len(texts), 20, 4))
    nearest = np.argsort(np.linalg.norm(many, axis=2), axis=1)[:, :M]
    return np.take_along_axis(many, nearest[..., None], axis=1)


def both(*damages):
    def damage(rng, texts):
        for each in damages:
            texts = each(rng, texts)
        return texts

    return damage


def unchanged(_, texts):
    return texts


# Two systems that are alike, that differ in one share, and that differ in two that make up for each other in the gaps.
PAIRS = {
    "people, people": (unchanged, unchanged),
    "20 % wrong, 20 % wrong": (wrong(0.2), wrong(0.2)),
    "people, 20 % wrong": (unchanged, wrong(0.2)),
    "people, repeating": (unchanged, repeating),
    "people, ordinary": (unchanged, ordinary),
    "repeating, 20 % wrong": (repeating, wrong(0.2)),
    "ordinary and 30 % wrong, people": (both(ordinary, wrong(0.3)), unchanged),
    "repeating and 30 % wrong, ordinary": (both(repeating, wrong(0.3)), ordinary),
}


def distances_of(rng, n_rows, damages):
    """Distances of the texts of two systems beside the same references."""
    references = rng.normal(size=(n_rows, N, 4))
    systems = [np.concatenate([damage(rng, people(rng, n_rows)), references], axis=1) for damage in damages]
    return list(map(simulated_people.distances_of, systems))


def as_rows(distances):
    return ParityRows(row_columns(distances, M), simulated_people.kept_distances((distances, M)))


def truth_of(damages):
    """By system, how far its shares are from what is best, none or people's 5 %, over many rows."""
    rows = [as_rows(distances) for distances in distances_of(np.random.default_rng(99), 20_000, damages)]
    tails = [corpus_tails(each.distances, None, None).shares for each in rows]
    best = dict.fromkeys(FAULTS, 0.0)
    return [{name: abs(share.value - best.get(name, 0.05)) for name, share in shares.items()} for shares in tails]


def false_words(pair, truth):
    """What is said of a pair and does not hold for all rows that there are."""
    false = set()
    for share in pair.shares:
        better, worse = (0, 1) if share.better == "first" else (1, 0)
        if share.better and truth[worse][share.key] <= truth[better][share.key] + 0.003:
            false.add(share.key)
    return false


def trials(n_trials, damages, seed):
    rng = np.random.default_rng(seed)
    every = distances_of(rng, n_trials * N_ROWS, damages)
    for i in range(n_trials):
        rows = slice(i * N_ROWS, (i + 1) * N_ROWS)
        systems = {name: as_rows(each[rows]) for name, each in zip(("first", "second"), every, strict=True)}
        (pair,) = compared_parity(systems, None, distance="made", n_resamples=199, seed=i).pairs
        yield pair


def check_words(n_trials, names):
    margin = 3 * np.sqrt(0.05 * 0.95 / n_trials)
    for name in names:
        damages = PAIRS[name]
        truth = truth_of(damages)
        pairs = list(trials(n_trials, damages, seed=1))
        false = [word for pair in pairs for word in false_words(pair, truth)]
        for word in set(false):
            assert false.count(word) / n_trials <= 0.05 + margin, (name, word)
        told = np.mean([pair.adjusted_p_value <= 0.05 for pair in pairs])
        if damages[0] is damages[1] or name == "20 % wrong, 20 % wrong":
            assert told <= 0.05 + margin, (name, told)
        else:
            assert told > 0.3, (name, told)


def test_words_of_pairs_are_seldom_false():
    check_words(15, ["people, people", "people, repeating"])


@pytest.mark.slow
@pytest.mark.parametrize("name", list(PAIRS))
def test_words_of_pairs_are_seldom_false_in_300_trials(name):
    check_words(300, [name])


def test_the_joint_test_is_that_of_all_sign_patterns():
    """Against enumeration by `itertools`, with Hotelling's T2 of every pattern."""
    rng = np.random.default_rng(0)
    sums = rng.normal(0.4, 1, size=(7, 2))
    statistics = []
    for signs in itertools.product((1, -1), repeat=7):
        flipped = sums * np.array(signs)[:, None]
        covariance = np.cov(flipped.T)
        statistics.append(flipped.mean(axis=0) @ np.linalg.solve(covariance, flipped.mean(axis=0)))
    expected = np.mean(np.array(statistics) >= statistics[0] * (1 - 1e-9))
    assert joint_sign_flip_tests([sums], 99, seed=0) == [pytest.approx(expected)]


def test_drawn_patterns_agree_with_all_of_them():
    sums = np.random.default_rng(1).normal(0.3, 1, size=(14, 2))
    exact = joint_sign_flip_tests([sums], 99, seed=0)[0]
    more = np.concatenate([sums, np.zeros((1, 2))])  # a fifteenth cluster without a difference
    assert joint_sign_flip_tests([more], 20_000, seed=0)[0] == pytest.approx(exact, abs=0.02)


def test_no_difference_is_detected_between_equal_systems():
    rows = as_rows(distances_of(np.random.default_rng(2), 30, (unchanged,))[0])
    systems = dict.fromkeys(("first", "second", "third"), rows)
    parity = compared_parity(systems, None, distance="made", margin=0.5, n_resamples=199, seed=0)
    assert [(pair.kind, pair.adjusted_p_value, pair.within_margin) for pair in parity.pairs] == [
        ("alike", 1.0, True)
    ] * 3


@pytest.mark.slow
def test_a_gap_that_is_detectable_is_found_four_times_of_five():
    """A shift of the fidelity gap along the regression of the other gap, the least favourable direction."""
    rng, found, n_trials = np.random.default_rng(3), 0, 300
    every = distances_of(rng, n_trials * N_ROWS, (unchanged, unchanged))
    for i in range(n_trials):
        rows = slice(i * N_ROWS, (i + 1) * N_ROWS)
        systems = {name: as_rows(each[rows]) for name, each in zip(("first", "second"), every, strict=True)}
        mine, other = systems["first"].columns, systems["second"].columns
        pair = compared_parity(systems, None, distance="made", n_resamples=199, seed=i).pairs[0]
        differences = np.stack([other[gap] - mine[gap] for gap in ("fidelity_gap", "diversity_gap")])
        covariance = np.cov(differences)
        mine["fidelity_gap"] += pair.detectable_gap
        mine["diversity_gap"] += pair.detectable_gap * covariance[0, 1] / covariance[0, 0]
        found += compared_parity(systems, None, distance="made", n_resamples=199, seed=i).pairs[0].p_value <= 0.05
    assert found / n_trials == pytest.approx(0.8, abs=0.04 + 3 * np.sqrt(0.16 / n_trials))
