"""Speakers of the made world: temperature 1 is the people, 0 says the likeliest, and draws follow the probabilities."""

import math

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest

from manycaps.made_world.caption_probabilities import caption_probabilities
from manycaps.made_world.captions import draw_caption, every_word
from manycaps.made_world.scenes import Group, Scene, draw_scene, n_errors
from manycaps.made_world.speakers import (
    N_SPEAKER_DRAWS,
    Speaker,
    at_temperature,
    draw_captions,
    speak,
    zipf_probabilities,
)
from tests.each_case import each_case

SEEDS = st.integers(0, 2**32 - 1)
ALONE = Scene((Group(2, "small", "red", "cross"),), None, "white")
PAIR = Scene((Group(1, "small", "orange", "circle"), Group(2, "large", "blue", "star")), "left", "brown")


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


@each_case(
    "speaker",
    [Speaker(), Speaker(0.5), Speaker(2.0), Speaker(exponent=0.0), Speaker(0.0, wrong=0.25)],
    ids=["people", "bold", "timid", "no preferences", "wrong"],
)
def test_draws_follow_the_probabilities(speaker):
    captions = draw_captions(speaker, ALONE, 4_000, np.random.default_rng(0))
    assert_drawn_from(captions, caption_probabilities(speaker, ALONE))


def test_draws_of_two_groups_follow_the_probabilities():
    speaker = Speaker(0.4)  # bold enough for few captions
    alike = Scene((Group(1, "small", "orange", "star"), Group(2, "large", "orange", "star")), "left", "brown")
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


@hypothesis.given(SEEDS)
def test_the_boldest_always_says_the_same_and_the_wrong_one_something_else(seed):
    rng = np.random.default_rng(seed)
    scene, draws = draw_scene(rng), rng.random(N_SPEAKER_DRAWS)
    boldest = speak(Speaker(0.0), scene, draws)
    assert all(speak(Speaker(0.0), scene, rng.random(N_SPEAKER_DRAWS)) == boldest for _ in range(3))
    assert speak(Speaker(0.0, wrong=1.0), scene, draws) != boldest


def test_share_of_wrong_attributes():
    colours = np.array(
        ["red" in caption for caption in draw_captions(Speaker(0.0, wrong=0.3), ALONE, 3_000, np.random.default_rng(0))]
    )
    assert colours.mean() == pytest.approx(0.7, abs=0.03)
    sides = [
        "left" in caption or "right" in caption
        for caption in draw_captions(Speaker(0.0, wrong=0.3), PAIR, 300, np.random.default_rng(0))
    ]
    assert all(sides)  # a wrong relation is the opposite one
    opposite = Scene(PAIR.groups, "right", "brown")
    assert n_errors(opposite, PAIR) == 1


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
        (
            Speaker(temperature=-1.0),
            "temperature: expected a number from 0, got -1.0. 1 is the people, lower is sharper.",
        ),
        (
            Speaker(temperature=math.nan),
            "temperature: expected a number from 0, got nan. 1 is the people, lower is sharper.",
        ),
        (Speaker(wrong=1.5), "wrong: expected a share from 0 to 1, got 1.5. 0 says nothing wrong."),
        (Speaker(exponent=-0.5), "exponent: expected a number from 0, got -0.5. 0 likes all wordings equally."),
    ],
    ids=["temperature", "no temperature", "wrong", "exponent"],
)
def test_messages(speaker, message):
    with pytest.raises(ValueError) as raised:
        draw_captions(speaker, ALONE, 1, np.random.default_rng(0))
    assert str(raised.value) == message
    with pytest.raises(ValueError) as raised:
        caption_probabilities(speaker, ALONE)
    assert str(raised.value) == message
