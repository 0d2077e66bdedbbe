"""A search for texts that a reward likes better than people's own captions."""

import numpy as np
import pytest

from manycaps.rewards import EnergyReward
from scripts.toy.scenes import draw_scene
from scripts.toy.speakers import Speaker, draw_captions

N_ROWS, N_CANDIDATES, N_REFERENCES = 80, 4, 5


def people():
    """Captions of scenes by people: candidates, and references."""
    rng = np.random.default_rng(11)
    scenes = [draw_scene(rng) for _ in range(N_ROWS)]
    captions = [draw_captions(Speaker(), scene, N_CANDIDATES + N_REFERENCES, rng) for scene in scenes]
    return [row[:N_CANDIDATES] for row in captions], [row[N_CANDIDATES:] for row in captions]


PEOPLE, REFERENCES = people()
WORDS = sorted({word for row in REFERENCES for text in row for word in text.split()})

# What a row's candidates are, from the row's references.
HACKS = {
    "empty": lambda _: [""] * N_CANDIDATES,
    "blanks and full stops": lambda _: ["", " ", ".", "..."],
    "one word of all captions": lambda _: ["a"] * N_CANDIDATES,
    "another word each": lambda _: ["a", "on", "the", "two"],
    "words nobody uses": lambda _: ["zebra", "quantum", "xylophone", "marmalade"],
    "one caption for all rows": lambda _: ["a red star on a white background"] * N_CANDIDATES,
    "one word of the row": lambda row: [row[0].split()[0]] * N_CANDIDATES,
    "all words": lambda _: [" ".join(WORDS)] * N_CANDIDATES,
    "very long": lambda row: [" ".join(row * 20)] * N_CANDIDATES,
    "a word repeated": lambda row: [" ".join([row[0].split()[-1]] * 300)] * N_CANDIDATES,
    "a copy of one reference": lambda row: [row[0]] * N_CANDIDATES,
    "the references as one text": lambda row: [" ".join(row)] * N_CANDIDATES,
    "captions of other rows": lambda row: REFERENCES[(REFERENCES.index(row) + 7) % N_ROWS][:N_CANDIDATES],
}


def named_reward(distance, **options):
    # One document for each row; a small model's time goes to the texts that differ.
    own = {"cider": {"document_frequency": REFERENCES}, "bert": {"encoder_options": {"device": "cpu"}}}
    return EnergyReward(distance, **own.get(distance, {}), **options)


def check(reward):
    """Each hack has a larger energy distance than people, and in a group with people, smaller rewards than theirs."""
    reward(PEOPLE, REFERENCES)
    human_distance = reward.last["energy_distance"]
    for name, hack in HACKS.items():
        hacked = [hack(row) for row in REFERENCES]
        values = reward(hacked, REFERENCES)
        assert np.isfinite(values).all(), name
        assert reward.last["energy_distance"] > human_distance, name
        mixed = [[*mine, *theirs] for mine, theirs in zip(PEOPLE, hacked, strict=True)]
        mixed_rewards = reward(mixed, REFERENCES)
        assert mixed_rewards[:, :N_CANDIDATES].mean() > mixed_rewards[:, N_CANDIDATES:].mean(), name


@pytest.mark.slow
@pytest.mark.parametrize("distance", ["cider", "meteor"])
def test_no_hack_of_texts_is_rewarded_above_people(distance):
    check(named_reward(distance))


@pytest.mark.slow
@pytest.mark.parametrize("kernel", ["gaussian", "laplace"])
def test_no_hack_is_rewarded_above_people_by_a_kernel(kernel):
    check(named_reward("cider", kernel=kernel))


@pytest.mark.slow
def test_no_hack_of_embeddings_is_rewarded_above_people():
    check(named_reward("bert"))
