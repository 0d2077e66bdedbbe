"""Speakers of the made world: people who prefer some wordings, and systems that sharpen or flatten these preferences.

A speaker makes one choice after the other: whether to name one group of two, what to leave out, and a wording for each
part of the sentence. People's preferences among n wordings follow Zipf's law. A temperature sharpens or flattens every
single choice, as it does the choice of the next word in a language model, so temperature 1 is the people themselves.
"""

import bisect
import functools
import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from scripts.toy.captions import COUNT_WORDS, GROUNDS, N_DRAWS, PERSON_HABITS, WORDS, Habits, as_caption
from scripts.toy.scenes import (
    OPPOSITE,
    VALUES,
    Attribute,
    Group,
    Scene,
    Value,
    said_attributes,
    stated_value,
    value_of,
    with_value,
)

# Exponent of the preferences: the k-th of n wordings has a probability proportional to k^-1.5 (Zipf 1949; for words of
# English it lies near 1). At 1.5 the likeliest choices together make the likeliest caption of every scene; at 1 they do
# not: no way of saying the background is as likely as leaving it out.
ZIPF_EXPONENT = 1.5

# Every attribute that a scene can have, in the order of its draws.
ATTRIBUTES: tuple[Attribute, ...] = (
    *((i, field) for i in range(2) for field in Group._fields),
    (None, "relation"),
    (None, "background"),
)

# Draws behind what is said: whether one group is named, and which; and for each attribute which value is said of it,
# and whether it is left out.
N_CLAIM_DRAWS = 2 + 2 * len(ATTRIBUTES)
N_SPEAKER_DRAWS = N_CLAIM_DRAWS + N_DRAWS


class Speaker(NamedTuple):
    """Who says something of scenes; the default is the people of the made world, with preferences.

    `temperature` 0 says the likeliest at every choice, 1 is the habits as they are, more flattens them; `wrong` is the
    share of the said attributes that are wrong, whatever the temperature; `exponent` belongs to Zipf's law, 0 for
    wordings that are all equally likely.
    """

    temperature: float = 1.0
    wrong: float = 0.0
    exponent: float = ZIPF_EXPONENT
    habits: Habits = PERSON_HABITS


def zipf_probabilities(n: int, exponent: float = ZIPF_EXPONENT) -> np.ndarray:
    """Return the probabilities of n wordings, the first of which is liked best: float64, shape (n,), sum 1.

    p_k = k^-s / sum over j of j^-s, where the exponent s is at least 0.

    >>> zipf_probabilities(3, 1).round(4).tolist()  # 6/11, 3/11, 2/11
    [0.5455, 0.2727, 0.1818]
    """
    weights = np.arange(1, n + 1, dtype=np.float64) ** -exponent
    return weights / weights.sum()


def at_temperature(probabilities: np.ndarray, temperature: float) -> np.ndarray:
    """Sharpen or flatten the probabilities of a choice.

    p_k^(1 / temperature) / sum over j of p_j^(1 / temperature): softmax of the logarithms over the temperature, as
    language models are sampled. What has probability 0 keeps it.

    Probabilities are float64 of shape (n,) with sum 1. A temperature of 0 gives all to the likeliest, the first of
    equals.

    >>> at_temperature(np.array([0.8, 0.2]), 0.5).round(4).tolist()  # 16 : 1
    [0.9412, 0.0588]
    """
    if temperature == 0:
        return np.eye(len(probabilities))[probabilities.argmax()]
    ratios = (probabilities / probabilities.max()) ** (1 / temperature)
    return ratios / ratios.sum()


def check_speaker(speaker: Speaker) -> None:
    """Raise unless a speaker's numbers are legal."""
    if not 0 <= speaker.temperature < math.inf:
        raise ValueError(
            f"temperature: expected a number from 0, got {speaker.temperature}. 1 is the people, lower is sharper."
        )
    if not 0 <= speaker.wrong <= 1:
        raise ValueError(f"wrong: expected a share from 0 to 1, got {speaker.wrong}. 0 says nothing wrong.")
    if not 0 <= speaker.exponent < math.inf:
        raise ValueError(f"exponent: expected a number from 0, got {speaker.exponent}. 0 likes all wordings equally.")


def speak(speaker: Speaker, scene: Scene, draws: np.ndarray) -> str:
    """Say something of a scene.

    The same draws at two temperatures make captions that differ as little as they can, so that a curve over the
    temperature is not blurred by chance: every choice is the inverse of its distribution function at its own draw.

    `draws` are N_SPEAKER_DRAWS numbers from 0 to below 1. The caption is in lower case, without a full stop. Raises
    ValueError if the speaker's numbers are not legal.

    >>> scene = Scene((Group(2, "small", "red", "cross"),), None, "white")
    >>> speak(Speaker(temperature=0), scene, np.full(N_SPEAKER_DRAWS, 0.99))
    'two small red crosses on a white background'
    """
    check_speaker(speaker)
    numbers: Sequence[float] = draws.tolist()
    claim = _claim(speaker, scene, numbers[:N_CLAIM_DRAWS])
    return as_caption(claim, _wording(speaker, claim, numbers[N_CLAIM_DRAWS:]), speaker.habits)


def draw_captions(speaker: Speaker, scene: Scene, n: int, rng: np.random.Generator) -> list[str]:
    """Draw n captions of a scene, independently of each other."""
    return [speak(speaker, scene, draws) for draws in rng.random((n, N_SPEAKER_DRAWS))]


# What is said.


def _claim(speaker: Speaker, scene: Scene, draws: Sequence[float]) -> Scene:
    """What the speaker says of a scene; None where nothing is said."""
    claim, temperature = scene, speaker.temperature
    if len(scene.groups) == 2 and draws[0] >= share_not_done(speaker.habits.names_one, temperature):
        claim = Scene((scene.groups[_pick_wording(2, 0.0, temperature, draws[1])],), None, scene.background)
    for attribute in list(said_attributes(claim)):
        draw_number = 2 + 2 * ATTRIBUTES.index(attribute)
        if draws[draw_number + 1] >= share_not_done(speaker.habits.leaves_out.get(attribute[1], 0.0), temperature):
            claim = with_value(claim, attribute, None)
        elif speaker.wrong:
            present: Value = stated_value(value_of(claim, attribute))
            values = said_values(speaker, attribute[1], present)
            ends = list(itertools.accumulate(values.values()))
            claim = with_value(claim, attribute, list(values)[_place(ends, draws[draw_number])])
    return claim


def said_values(speaker: Speaker, field: str, value: Value) -> dict[Value, float]:
    """Return the values that a speaker says for a value, the right one first, and their probabilities."""
    # Two groups may lie above and left of each other at once, so only the opposite relation is surely wrong.
    others = (other for other in VALUES[field] if other != value)
    values: list[Value] = [OPPOSITE[value]] if field == "relation" else list(others)
    if not speaker.wrong:
        return {value: 1.0}
    return {value: 1 - speaker.wrong} | {other: speaker.wrong / len(values) for other in values}


# How it is said.


def _wording(speaker: Speaker, claim: Scene, draws: Sequence[float]) -> np.ndarray:
    """Draws for `as_caption`, which takes all wordings for equally likely, that make the preferred ones likelier."""
    n_choices = [len(speaker.habits.sentences[len(claim.groups) - 1]), len(GROUNDS)]
    n_choices += [_n_words(field, getattr(claim, field)) for field in ("background", "relation")]
    for group in claim.groups:
        n_choices += [_n_words(field, value) for field, value in zip(Group._fields, group, strict=True)]
    chosen = [
        _pick_wording(n, speaker.exponent, speaker.temperature, draw) for n, draw in zip(n_choices, draws, strict=False)
    ]
    wording = np.zeros(N_DRAWS)
    wording[: len(chosen)] = (np.array(chosen) + 0.5) / n_choices  # the middle of what stands for the choice
    return wording


def words_for(field: str, value: str | int) -> tuple[str, ...]:
    """Return words for a value, the plainest first."""
    return COUNT_WORDS[value] if field == "count" else WORDS[value]


def _n_words(field: str, value: str | int | None) -> int:
    return 1 if value is None else len(words_for(field, value))


# One choice.


@functools.cache
def share_not_done(share: float, temperature: float) -> float:
    """Return the share of captions without what people do in a share of them, at a temperature; not doing is first."""
    return float(at_temperature(np.array([1 - share, share]), temperature)[0])


@functools.cache
def preferences(n: int, exponent: float, temperature: float) -> tuple[float, ...]:
    """Return probabilities of n wordings at a temperature."""
    return tuple(at_temperature(zipf_probabilities(n, exponent), temperature).tolist())


@functools.cache
def _ends(n: int, exponent: float, temperature: float) -> list[float]:
    return list(itertools.accumulate(preferences(n, exponent, temperature)))


def _pick_wording(n: int, exponent: float, temperature: float, draw: float) -> int:
    """Number of the wording that a draw stands for."""
    return _place(_ends(n, exponent, temperature), draw)


def _place(ends: list[float], draw: float) -> int:
    """First place whose end lies above the draw; the last one where rounding leaves none."""
    return min(bisect.bisect_right(ends, draw), len(ends) - 1)
