"""Probabilities of the captions of a scene with one group: every choice in a nested loop, slow and obvious."""

import itertools

import numpy as np

from scripts.toy.captions import COUNT_WORDS, GROUNDS, WORDS, as_caption
from scripts.toy.scenes import VALUES, Group, Scene


def temper(weights, temperature):
    powers = [weight ** (1 / temperature) for weight in weights]
    return [power / sum(powers) for power in powers]


def zipf(n, exponent, temperature):
    weights = [(k + 1) ** -exponent for k in range(n)]
    return temper([weight / sum(weights) for weight in weights], temperature)


def shares_of(field, value, habits, temperature, wrong):
    """(value or None, probability) of what is said of an attribute."""
    leaves_out = habits.leaves_out.get(field, 0.0)
    says, leaves = temper([1 - leaves_out, leaves_out], temperature)
    others = [other for other in VALUES[field] if other != value]
    return [(None, leaves), (value, says * (1 - wrong)), *((other, says * wrong / len(others)) for other in others)]


def one_group_probabilities(scene, habits, temperature, wrong, exponent):
    probabilities = {}
    fields = [*zip(Group._fields, scene.groups[0], strict=True), ("background", scene.background)]
    for choices in itertools.product(*(shares_of(field, value, habits, temperature, wrong) for field, value in fields)):
        claim_share = np.prod([share for _, share in choices])
        if not claim_share:
            continue
        count, size, colour, shape, background = (value for value, _ in choices)
        claim = Scene((Group(count, size, colour, shape),), None, background)
        sizes = [len(habits.sentences[0])]
        sizes += [1, 1] if background is None else [len(GROUNDS), len(WORDS[background])]
        sizes += [1]  # no relation
        sizes += [1 if count is None else len(COUNT_WORDS[count])]
        sizes += [1 if value is None else len(WORDS[value]) for value in (size, colour, shape)]
        for places in itertools.product(*map(range, sizes)):
            draws = np.zeros(12)
            draws[: len(sizes)] = [(place + 0.5) / n for place, n in zip(places, sizes, strict=True)]
            caption = as_caption(claim, draws, habits)
            word_share = np.prod([zipf(n, exponent, temperature)[k] for k, n in zip(places, sizes, strict=True)])
            probabilities[caption] = probabilities.get(caption, 0) + claim_share * word_share
    return probabilities
