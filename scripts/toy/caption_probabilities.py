"""The exact probability of every caption that a speaker of the made world can say.

A speaker has few choices which, once the sentence is chosen, are independent: a sentence is a row of parts, each with a
handful of texts, so that probabilities are products and nothing has to be drawn.
"""

import itertools
import math
import string
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from scripts.toy.captions import GROUNDS, N_DRAWS, SIDES, as_caption
from scripts.toy.scenes import OPPOSITE, Group, Scene
from scripts.toy.speakers import Speaker, check_speaker, preferences, said_values, share_not_done, words_for

# A part of a sentence: its texts and their probabilities.
PartProbabilities = Mapping[str, float]


def caption_probabilities(speaker: Speaker, scene: Scene) -> dict[str, float]:
    """Return every caption that a speaker can say of a scene, and its probability.

    >>> scene = Scene((Group(2, "small", "red", "cross"),), None, "white")
    >>> caption_probabilities(Speaker(temperature=0), scene)
    {'two small red crosses on a white background': 1.0}
    """
    check_speaker(speaker)
    total: dict[str, float] = {}
    for probability, parts in _sentences(speaker, scene):
        for text, share in _join_parts(parts, None).items():
            total[text] = total.get(text, 0.0) + probability * share
    return total


def caption_probability(speaker: Speaker, scene: Scene, caption: str) -> float:
    """Return the probability that a speaker says just this caption of a scene.

    >>> caption_probability(Speaker(temperature=0), Scene((Group(1, "large", "red", "star"),), None, "white"), "a star")
    0.0
    """
    check_speaker(speaker)
    return math.fsum(
        probability * _join_parts(parts, caption).get(caption, 0.0) for probability, parts in _sentences(speaker, scene)
    )


def _sentences(speaker: Speaker, scene: Scene) -> Iterator[tuple[float, list[PartProbabilities]]]:
    """Yield every sentence that may be used, its probability, and its parts, which are chosen independently."""
    two = share_not_done(speaker.habits.names_one, speaker.temperature) if len(scene.groups) == 2 else 0.0
    named = [(two, scene)]
    if len(scene.groups) == 1:
        named = [(1.0, scene)]
    elif two < 1:
        group_shares = preferences(2, 0.0, speaker.temperature)
        named += [
            ((1 - two) * share, Scene((group,), None, scene.background))
            for share, group in zip(group_shares, scene.groups, strict=True)
        ]
    for probability, seen in named:
        texts = _texts(speaker, seen)
        sentences = speaker.habits.sentences[len(seen.groups) - 1]
        shares = preferences(len(sentences), speaker.exponent, speaker.temperature)
        for share, sentence in zip(shares, sentences, strict=True):
            if probability * share:
                # The verb agrees with the count of the phrase behind it, so both are one part.
                yield probability * share, list(_parts(sentence.replace("{there} {first}", "{there_first}"), texts))


def _parts(sentence: str, texts: Mapping[str, PartProbabilities]) -> Iterator[PartProbabilities]:
    """Yield the parts of a sentence in their order, also those that never vary."""
    for literal, name, _, _ in string.Formatter().parse(sentence):
        if literal:
            yield {literal: 1.0}
        if name is not None:
            yield texts[name]


def _join_parts(parts: Sequence[PartProbabilities], caption: str | None) -> dict[str, float]:
    """Texts of the parts one after the other, and their probabilities; with a caption only beginnings of it."""
    spoken = {"": 1.0}
    for part in parts:
        longer: dict[str, float] = {}
        for begin, probability in spoken.items():
            for text, share in part.items():
                if caption is None or caption.startswith(text, len(begin)):
                    longer[begin + text] = longer.get(begin + text, 0.0) + probability * share
        spoken = longer
    return spoken


def _texts(speaker: Speaker, seen: Scene) -> dict[str, PartProbabilities]:
    """Texts for every name in a sentence."""
    phrases = [_phrases(speaker, group) for group in seen.groups]
    texts: dict[str, PartProbabilities] = {
        "first": {text: share for (text, _), share in phrases[0].items()},
        "second": {text: share for (text, _), share in phrases[-1].items()},
        "there_first": {f"{there} {text}": share for (text, there), share in phrases[0].items()},
        "ground": _merge(
            ("" if value is None else ground.format(word), share * ground_share)
            for value, word, share in _wordings(speaker, "background", seen.background)
            for ground, ground_share in zip(
                GROUNDS, preferences(len(GROUNDS), speaker.exponent, speaker.temperature), strict=True
            )
        ),
    }
    if seen.relation is not None:
        worded = list(_wordings(speaker, "relation", seen.relation))
        texts["relation"] = _merge((word or "and", share) for _, word, share in worded)
        said_opposite = list(_wordings(speaker, "relation", OPPOSITE[seen.relation]))
        texts["opposite"] = _merge((word or "and", share) for _, word, share in said_opposite)
        texts["side"] = _merge(("" if value is None else SIDES[value], share) for value, _, share in worded)
    return texts


def _phrases(speaker: Speaker, group: Group) -> dict[tuple[str, str], float]:
    """Noun phrases for a group, each with its "there is" or "there are", and their probabilities."""
    worded = [list(_wordings(speaker, field, value)) for field, value in zip(Group._fields, group, strict=True)]
    phrases: dict[tuple[str, str], float] = {}
    for choices in itertools.product(*worded):
        stated = Group._make(value for value, _, _ in choices)
        wording = np.zeros(N_DRAWS)
        for i, (value, word, _) in enumerate(choices):
            if value is not None:
                words = words_for(Group._fields[i], value)
                wording[4 + i] = (words.index(word) + 0.5) / len(words)
        # The first sentence about one group is its phrase alone, where no background is said.
        text = as_caption(Scene((stated,), None, None), wording)
        key = text, "there is" if stated.count in (None, 1) else "there are"
        phrases[key] = phrases.get(key, 0.0) + math.prod(share for _, _, share in choices)
    return phrases


def _wordings(speaker: Speaker, field: str, value: str | int | None) -> Iterator[tuple[str | int | None, str, float]]:
    """Yield what may be said of an attribute, in which word, and with which probability; None and "" for nothing."""
    if value is None:
        yield None, "", 1.0
        return
    share_stated = share_not_done(speaker.habits.leaves_out.get(field, 0.0), speaker.temperature)
    if share_stated < 1:
        yield None, "", 1 - share_stated
    for other, share in said_values(speaker, field, value).items():
        words = words_for(field, other)
        liked = preferences(len(words), speaker.exponent, speaker.temperature)
        for word, preference in zip(words, liked, strict=True):
            if share_stated * share * preference:
                yield other, word, share_stated * share * preference


def _merge(texts: Iterable[tuple[str, float]]) -> dict[str, float]:
    """Texts with the sums of their probabilities."""
    merged: dict[str, float] = {}
    for text, share in texts:
        if share:
            merged[text] = merged.get(text, 0.0) + share
    return merged
