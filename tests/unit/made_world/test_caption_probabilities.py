"""Exact probabilities of captions: they sum to 1, agree with a slow loop, and the boldest says the likeliest."""

import numpy as np
import pytest

from manycaps.made_world.caption_probabilities import caption_probabilities, caption_probability
from manycaps.made_world.captions import ONE_GROUP, PERSON_HABITS, TWO_GROUPS, Habits
from manycaps.made_world.scenes import Group, Scene, draw_scene
from manycaps.made_world.speakers import N_SPEAKER_DRAWS, Speaker, at_temperature, draw_captions, speak
from tests.each_case import each_case
from tests.oracles.speaker_loop import one_group_probabilities

ALONE = Scene((Group(1, "small", "orange", "star"),), None, "brown")
PAIR = Scene((Group(1, "small", "orange", "star"), Group(2, "large", "orange", "star")), "above", "brown")


@each_case(
    ("scene", "temperature", "wrong"),
    [
        *((scene, temperature, 0.0) for scene in (ALONE, PAIR) for temperature in (0.0, 0.5, 1.0, 3.0)),
        (ALONE, 0.0, 0.2),
        (ALONE, 1.0, 0.2),
    ],
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
        (Speaker(), ALONE),
        (Speaker(0.6, exponent=1.0), ALONE),
        (Speaker(1.7, 0.3, 0.0, TERSE), Scene((Group(3, "small", "orange", "star"),), None, "brown")),
    ],
    ids=["people", "bold", "wrong"],
)
def test_probabilities_agree_with_the_slow_loop(speaker, scene):
    ours = caption_probabilities(speaker, scene)
    slow = one_group_probabilities(scene, speaker.habits, speaker.temperature, speaker.wrong, speaker.exponent)
    assert ours.keys() == slow.keys()
    assert [ours[caption] for caption in slow] == pytest.approx(list(slow.values()), rel=1e-9)


def test_the_probability_of_one_caption_is_that_of_the_list():
    probabilities = caption_probabilities(Speaker(0.8), PAIR)
    for caption in draw_captions(Speaker(0.8), PAIR, 20, np.random.default_rng(0)):
        assert caption_probability(Speaker(0.8), PAIR, caption) == pytest.approx(probabilities[caption], rel=1e-12)
    assert caption_probability(Speaker(0.8), PAIR, "a purple ring") == 0
    assert caption_probability(Speaker(0.8, wrong=0.1), PAIR, "a purple ring") > 0


def test_a_temperature_of_zero_says_the_likeliest_caption_of_people():
    """At every choice the likeliest is the likeliest caption: it leaves nothing out, though people often do."""
    rng = np.random.default_rng(0)
    for scene in [ALONE, PAIR, *(draw_scene(rng) for _ in range(4))]:
        people = caption_probabilities(Speaker(), scene)
        assert speak(Speaker(0.0), scene, rng.random(N_SPEAKER_DRAWS)) == max(people, key=people.get)


def test_a_sharpened_choice_is_a_share_of_the_captions():
    """By hand: people leave the background out in 30 of 100 captions; at 1/2 in 9 of 9 + 49."""
    for temperature, expected in ((1.0, 0.3), (0.5, 9 / 58)):
        probabilities = caption_probabilities(Speaker(temperature), ALONE)
        assert sum(p for caption, p in probabilities.items() if "brown" not in caption) == pytest.approx(expected)
    assert at_temperature(np.array([0.7, 0.3]), 0.5)[1] == pytest.approx(9 / 58)
    assert PERSON_HABITS.leaves_out["background"] == 0.3
