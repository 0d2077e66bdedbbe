"""Speakers of the made world: draws follow their exact probabilities, which agree with a slow loop."""

import math

import hypothesis.strategies as st
import numpy as np
import pytest

from scripts.toy.caption_probabilities import caption_probabilities, caption_probability
from scripts.toy.captions import ONE_GROUP, TWO_GROUPS, Habits, draw_caption, every_word
from scripts.toy.scenes import Group, Scene, draw_scene, n_errors
from scripts.toy.speakers import N_SPEAKER_DRAWS, Speaker, at_temperature, draw_captions, speak, zipf_probabilities
from tests.oracles.speaker_loop import one_group_probabilities
from tests.refusals import assert_refused

SEEDS = st.integers(0, 2**32 - 1)
ALONE = Scene((Group(2, "small", "red", "cross"),), None, "white")
PAIR = Scene((Group(1, "small", "orange", "circle"), Group(2, "large", "blue", "star")), "left", "brown")
STAR = Scene((Group(1, "small", "orange", "star"),), None, "brown")
STARS = Scene((Group(1, "small", "orange", "star"), Group(2, "large", "orange", "star")), "above", "brown")


def shares_of_words(captions, weights):
    """Share of captions in which each word occurs, and the share of each number of words."""
    weights = np.asarray(weights) / np.sum(weights)
    words = sorted(every_word())
    has = np.array([[word in caption.split() for word in words] for caption in captions], dtype=float)
    lengths = np.array([len(caption.split()) for caption in captions])
    return np.concatenate((weights @ has, weights @ (lengths[:, None] == np.arange(30))))


def assert_drawn_from(captions, probabilities):
    assert set(captions) <= probabilities.keys()
    expected = shares_of_words(list(probabilities), list(probabilities.values()))
    error = np.sqrt(expected * np.maximum(1 - expected, 0) / len(captions))
    # About 120 shares: 4.5 standard errors are passed once in a thousand times.
    assert np.all(np.abs(shares_of_words(captions, np.ones(len(captions))) - expected) <= 4.5 * error + 1e-9)


@pytest.mark.parametrize(
    "speaker", [Speaker(), Speaker(0.5), Speaker(2.0), Speaker(exponent=0.0), Speaker(0.0, wrong=0.25)]
)
def test_draws_follow_the_probabilities(speaker):
    captions = draw_captions(speaker, ALONE, 4_000, np.random.default_rng(0))
    assert_drawn_from(captions, caption_probabilities(speaker, ALONE))


def test_draws_of_two_groups_follow_the_probabilities():
    speaker = Speaker(0.4)  # bold enough for few captions
    alike = STARS._replace(relation="left")
    captions = draw_captions(speaker, alike, 4_000, np.random.default_rng(0))
    probabilities = caption_probabilities(speaker, alike)
    likely = sorted(probabilities, key=probabilities.get, reverse=True)[:40]
    for caption in likely:
        share = probabilities[caption]
        assert captions.count(caption) / 4_000 == pytest.approx(share, abs=4.5 * math.sqrt(share * (1 - share) / 4_000))


def test_without_preferences_people_speak_as_ever():
    rng = np.random.default_rng(1)
    captions = [draw_caption(rng, ALONE) for _ in range(4_000)]
    assert_drawn_from(captions, caption_probabilities(Speaker(exponent=0.0), ALONE))


def test_a_wrong_relation_is_the_opposite_one():
    captions = draw_captions(Speaker(0.0, wrong=0.3), PAIR, 300, np.random.default_rng(0))
    assert all("left" in caption or "right" in caption for caption in captions)
    assert n_errors(Scene(PAIR.groups, "right", "brown"), PAIR) == 1


def test_neighbouring_temperatures_share_their_captions():
    draws = np.random.default_rng(0).random((300, N_SPEAKER_DRAWS))
    people = [speak(Speaker(1.0), PAIR, row) for row in draws]
    shares = [
        np.mean([speak(Speaker(temperature), PAIR, row) == said for row, said in zip(draws, people, strict=True)])
        for temperature in (1.0, 0.9, 0.5)
    ]
    assert shares[0] == 1 > shares[1] > 0.5 > shares[2]


def test_temperature_of_one_choice_by_hand():
    assert zipf_probabilities(2, 1.0).tolist() == pytest.approx([2 / 3, 1 / 3])
    assert at_temperature(np.array([0.5, 0.3, 0.2]), 0.5).tolist() == pytest.approx([25 / 38, 9 / 38, 4 / 38])
    assert at_temperature(np.array([0.5, 0.3, 0.2]), 1.0).tolist() == pytest.approx([0.5, 0.3, 0.2], abs=1e-15)
    assert at_temperature(np.array([0.3, 0.5, 0.2]), 0.0).tolist() == [0, 1, 0]
    assert at_temperature(np.array([1.0, 0.0]), 50.0).tolist() == [1, 0]
    assert at_temperature(np.array([0.9, 0.1]), 0.001).tolist() == [1, 0]


@pytest.mark.parametrize(
    ("speaker", "message"),
    [
        (Speaker(-1.0), "temperature: expected a number from 0, got -1.0. 1 is the people, lower is sharper."),
        (Speaker(wrong=1.5), "wrong: expected a share from 0 to 1, got 1.5. 0 says nothing wrong."),
        (Speaker(exponent=-0.5), "exponent: expected a number from 0, got -0.5. 0 likes all wordings equally."),
    ],
)
def test_messages(speaker, message):
    assert_refused(ValueError, f"{message}$", draw_captions, speaker, ALONE, 1, np.random.default_rng(0))
    assert_refused(ValueError, f"{message}$", caption_probabilities, speaker, ALONE)


@pytest.mark.parametrize(
    ("scene", "temperature", "wrong"),
    [*((STARS, temperature, 0.0) for temperature in (0.0, 0.5, 3.0)), (STAR, 1.0, 0.2)],
    ids=lambda value: f"{len(value.groups)} groups" if isinstance(value, Scene) else str(value),
)
def test_probabilities_sum_to_one(scene, temperature, wrong):
    probabilities = caption_probabilities(Speaker(temperature, wrong), scene)
    assert sum(probabilities.values()) == pytest.approx(1, abs=1e-12)
    assert min(probabilities.values()) > 0
    assert len(probabilities) == 1 or temperature > 0 or wrong > 0


# Habits with few captions, for a loop over all of them with every wrong value.
TERSE = Habits((ONE_GROUP[:2], TWO_GROUPS), {"size": 1.0, "colour": 0.1, "background": 1.0}, 0.0)


@pytest.mark.parametrize(
    ("speaker", "scene"),
    [
        (Speaker(), STAR),
        (Speaker(0.6, exponent=1.0), STAR),
        (Speaker(1.7, 0.3, 0.0, TERSE), Scene((Group(3, "small", "orange", "star"),), None, "brown")),
    ],
)
def test_probabilities_agree_with_the_slow_loop(speaker, scene):
    ours = caption_probabilities(speaker, scene)
    slow = one_group_probabilities(scene, speaker.habits, speaker.temperature, speaker.wrong, speaker.exponent)
    assert ours.keys() == slow.keys()
    assert [ours[caption] for caption in slow] == pytest.approx(list(slow.values()), rel=1e-9)


def test_the_probability_of_one_caption_is_that_of_the_list():
    probabilities = caption_probabilities(Speaker(0.8), STARS)
    for caption in draw_captions(Speaker(0.8), STARS, 20, np.random.default_rng(0)):
        assert caption_probability(Speaker(0.8), STARS, caption) == pytest.approx(probabilities[caption], rel=1e-12)
    assert caption_probability(Speaker(0.8), STARS, "a purple ring") == 0
    assert caption_probability(Speaker(0.8, wrong=0.1), STARS, "a purple ring") > 0


def test_a_temperature_of_zero_says_the_likeliest_caption_of_people():
    """At every choice the likeliest is the likeliest caption: it leaves nothing out, though people often do."""
    rng = np.random.default_rng(0)
    for scene in [STAR, STARS, *(draw_scene(rng) for _ in range(4))]:
        people = caption_probabilities(Speaker(), scene)
        assert speak(Speaker(0.0), scene, rng.random(N_SPEAKER_DRAWS)) == max(people, key=people.get)
