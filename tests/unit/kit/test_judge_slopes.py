"""Judges on trial: features by hand, the fit by a slow loop, planted judges, and every message."""

import collections

import numpy as np
import pytest

from manycaps import functional
from manycaps.kit.judge_slopes import FEATURES, others_of, text_features
from tests.oracles.judge_loop import features_loop, slopes_loop
from tests.simulated_judges import simulated_texts, truth_of, with_noise

N_DRAWS = 40


def cider_of(texts, references, systems):
    """CIDEr-D of every text, people's without themselves."""
    people = [
        row[1:] if name == "people" else row for row, names in zip(references, systems, strict=True) for name in names
    ]
    values = iter(functional.cider_d([[text] for row in texts for text in row], people).tolist())
    return [[next(values) for _ in row] for row in texts]


def test_features_equal_a_loop():
    texts, references, systems = simulated_texts(np.random.default_rng(0), n_rows=12)
    are_people = [name == "people" for row in systems for name in row]
    found = text_features(texts, references, are_people)
    assert found == pytest.approx(features_loop(texts, references, are_people), abs=1e-12)


def test_features_by_hand():
    found = text_features([[["a", "b", "c", "d"], ["e"]]], [[["a", "b"], ["b", "c", "e"]]])
    assert found[:, 0].tolist() == [2.0, 0.0]
    # Three pairs: ab in the first reference, bc in the second; of the single word, it is in the second one.
    assert found[:, 2].tolist() == pytest.approx([1 / 3, 1 / 2])


def test_a_persons_text_is_compared_with_the_others_and_a_systems_with_all():
    references = [[["a", "dog"], ["a", "cat"], ["a", "dog"]], [["x", "y"], ["y", "z"]]]
    texts = [[["a", "dog"], ["a", "dog"]], [["x", "y"], ["x", "y"]]]
    features = text_features(texts, references, [False, True, False, True])
    assert features[:, 2].tolist() == [2 / 3, 1 / 2, 1 / 2, 0.0]
    assert others_of(["a", "dog"], references[0], is_person=True) == [1, 2]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("n_in_cluster", [1, 2])
def test_slopes_and_intervals_equal_a_loop(seed, n_in_cluster):
    rng = np.random.default_rng(seed)
    texts, references, systems = simulated_texts(rng, n_rows=16)
    if seed == 2:  # rows of different sizes
        texts, systems = ([row[: 2 + i % 3] for i, row in enumerate(rows)] for rows in (texts, systems))
    scores = with_noise(rng, [[len(text) for text in row] for row in texts], 2.0)
    labels = [i // n_in_cluster for i in range(16)]
    found = functional.judge_bias(scores, texts, references, systems, clusters=labels)
    are_people = [name == "people" for row in systems for name in row]
    features = text_features(texts, references, are_people)
    expected = slopes_loop(scores, features, systems, labels)
    for i, name in enumerate(FEATURES):
        slope = found.slopes[name]
        assert (slope.slope, slope.low, slope.high, slope.p_value) == pytest.approx(expected[i], rel=1e-6, abs=1e-9)


def test_what_is_explained_and_what_remains_add_up():
    rng = np.random.default_rng(0)
    texts, references, systems = simulated_texts(rng, n_rows=40)
    scores = with_noise(rng, [[0.2 * len(text) + j for j, text in enumerate(row)] for row in texts])
    found = functional.judge_bias(scores, texts, references, systems)
    for each in found.differences:
        assert each.difference == pytest.approx(each.remaining + sum(each.explained.values()), abs=1e-9)
        mean = np.mean(
            [
                row[names.index(each.first)] - row[names.index(each.second)]
                for row, names in zip(scores, systems, strict=True)
            ]
        )
        assert each.difference == pytest.approx(mean, abs=1e-9)
    # Lengths differ by 3 a system, of 0.2 each: the rest is 1 a system.
    first = next(each for each in found.differences if (each.first, each.second) == ("system1", "system2"))
    assert first.remaining == pytest.approx(-1, abs=0.5)
    assert first.explained["length"] < -0.3
    assert 0 < first.remaining_share < 1


@pytest.mark.slow
@pytest.mark.parametrize("judge", ["length", "truth + length", "CIDEr"])
def test_planted_judges_are_named(judge):
    named = collections.Counter()
    for seed in range(N_DRAWS):
        rng = np.random.default_rng(seed)
        texts, references, systems = simulated_texts(rng)
        truth = with_noise(rng, truth_of(rng, texts))
        lengths = [[len(text) for text in row] for row in texts]
        scores = {
            "length": lengths,
            "truth + length": (np.array(truth) + 0.2 * np.array(lengths)).tolist(),
            "CIDEr": cider_of(texts, references, systems),
        }[judge]
        named.update(functional.judge_bias(scores, texts, references, systems).named)
    of = {"length": "length", "truth + length": "length", "CIDEr": "genericness"}[judge]
    assert named[of] >= 0.95 * N_DRAWS, named


@pytest.mark.slow
def test_an_unbiased_judge_is_named_in_5_percent_of_draws_at_most():
    """Whose truth is drawn for each text and system by itself, whatever the words are."""
    n_named = 0
    for seed in range(N_DRAWS):
        rng = np.random.default_rng(1_000 + seed)
        texts, references, systems = simulated_texts(rng)
        scores = with_noise(rng, truth_of(rng, texts))
        n_named += bool(functional.judge_bias(scores, texts, references, systems).named)
    assert n_named <= 0.05 * N_DRAWS


def test_a_judge_is_not_named_for_what_its_systems_differ_by():
    """A good system that writes long texts: the truth is the system's, and so is the length."""
    n_named = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        texts, references, systems = simulated_texts(rng)
        scores = with_noise(rng, [[3.0 * j for j in range(len(row))] for row in texts])
        n_named += "length" in functional.judge_bias(scores, texts, references, systems).named
    assert n_named <= 3


def test_ratings_take_out_what_people_reward():
    rng = np.random.default_rng(0)
    texts, references, systems = simulated_texts(rng, n_rows=80)
    ratings = [[0.3 * len(text) + float(rng.normal()) for text in row] for row in texts]
    scores = with_noise(rng, ratings)
    assert "length" in functional.judge_bias(scores, texts, references, systems).named
    beyond = functional.judge_bias(scores, texts, references, systems, ratings=ratings)
    assert "length" not in beyond.named
    assert beyond.slopes["rating"].slope == pytest.approx(1, abs=0.1)


def test_a_feature_that_does_not_vary_has_no_slope():
    texts = [[["a", "b"], ["b", "c"]], [["c", "d"], ["d", "a"]], [["b", "d"], ["a", "c"]], [["a", "d"], ["c", "b"]]]
    people = [[["a", "b", "c"], ["d", "c", "a"]]] * 4
    found = functional.judge_bias([[0.1, 0.4], [0.3, 0.2], [0.9, 0.1], [0.2, 0.5]], texts, people)
    assert np.isnan(found.slopes["length"]).all()
    assert "length" not in found.named
    same = functional.judge_bias([[1.0, 1.0]] * 4, texts, people)
    assert same.named == []


ROWS = [[["a", "dog"], ["a", "cat", "runs"]]] * 3


PEOPLE = [[["a", "dog", "runs"], ["the", "cat"]]] * 3


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (([[1.0, 2.0]] * 2, ROWS, PEOPLE), "scores: expected one list for each of the 3 rows of texts, got 2"),
        (([[1.0], [1.0, 2.0], [1.0, 2.0]], ROWS, PEOPLE), r"scores\[0\]: expected 2 values, one for each text, got 1"),
        (([[1.0, np.nan]] * 3, ROWS, PEOPLE), r"scores\[0\]\[1\]: expected a finite number, got nan"),
        (([[1.0, "good"]] * 3, ROWS, PEOPLE), r"scores\[0\]\[1\]: expected a finite number"),
        (
            ([[1.0, 2.0]] * 2, ROWS[:2], PEOPLE[:2]),
            "scores: expected at least 3 rows, or clusters, with two texts, got 2",
        ),
        (
            ([[1.0, 2.0]] * 3, ROWS, [[["a", "dog"]]] * 3, [["people", "b"]] * 3),
            r"references\[0\]: expected another text than texts\[0\]\[0\], got none",
        ),
    ],
)
def test_what_is_refused(given, message):
    with pytest.raises(ValueError, match=message):
        functional.judge_bias(*given)
