"""Captions of scenes: what a person might say of them, in many wordings, and captions that are wrong by design."""

import collections
import string
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from scripts.toy.scenes import (
    OPPOSITE,
    SHAPES,
    VALUES,
    Attribute,
    Group,
    Scene,
    Value,
    changed_claims,
    pick,
    said_attributes,
    with_value,
)

# Words for each value; the first is the plainest.
WORDS: Mapping[Value, tuple[str, ...]] = {
    "circle": ("circle", "disc"),
    "square": ("square", "box"),
    "triangle": ("triangle", "wedge"),
    "cross": ("cross", "plus"),
    "ring": ("ring", "hoop"),
    "star": ("star",),
    "red": ("red", "scarlet"),
    "orange": ("orange",),
    "yellow": ("yellow", "golden"),
    "green": ("green", "emerald"),
    "blue": ("blue", "azure"),
    "purple": ("purple", "violet"),
    "small": ("small", "little", "tiny"),
    "large": ("large", "big", "huge"),
    "white": ("white", "pale"),
    "grey": ("grey", "gray"),
    "black": ("black", "dark"),
    "brown": ("brown",),
    "left": ("left of", "to the left of"),
    "right": ("right of", "to the right of"),
    "above": ("above", "over"),
    "below": ("below", "under"),
}

COUNT_WORDS: Mapping[Value, tuple[str, ...]] = {
    1: ("a", "one", "a single"),
    2: ("two", "a pair of"),
    3: ("three", "a trio of"),
}

# Noun where the shape is not said.
ANY_SHAPE = "shape"

PLURALS = {"box": "boxes", "cross": "crosses", "plus": "pluses"}

# Where the second group is, seen from the first, which has the relation of the key to it.
SIDES: Mapping[Value, str] = {"left": "to the right", "right": "to the left", "above": "below", "below": "above"}

# Sentences about one group and about two. {there} is "there is" or "there are"; {ground} may be empty.
ONE_GROUP = ("{first}{ground}", "{there} {first}{ground}", "we see {first}{ground}", "a picture of {first}{ground}")
TWO_GROUPS = (
    "{first} {relation} {second}{ground}",
    "{second} {opposite} {first}{ground}",
    "{there} {first} {relation} {second}{ground}",
    "{first} with {second} {side}{ground}",
    "we see {second} {opposite} {first}{ground}",
)
GROUNDS = (" on a {} background", " on {}", " on {} ground", ", all on {}")

# Labels such as the web has beside its pictures. A label that says a relation has a word for it, one that does not has
# "and" in its place: a word that occurs at random would teach nothing.
LABELS = ("{first}{ground}", "{first} clipart{ground}", "picture of {first}{ground}")
TWO_LABELS = (
    "{first} {relation} {second}{ground}",
    "{second} {opposite} {first}{ground}",
    "picture of {first} {relation} {second}{ground}",
)


class Habits(NamedTuple):
    """How one kind of writer describes pictures."""

    # Sentences about one group, and about two.
    sentences: tuple[Sequence[str], Sequence[str]]
    # Share of captions that leave a field out, by its name.
    leaves_out: Mapping[str, float]
    # Share of captions of two groups that name one of them only.
    names_one: float


# A person who is asked to describe the picture, and the labels that the web has beside its pictures.
PERSON_HABITS = Habits((ONE_GROUP, TWO_GROUPS), {"size": 0.2, "colour": 0.03, "background": 0.3}, 0.05)
LABEL_HABITS = Habits(
    (LABELS, TWO_LABELS),
    {"count": 0.4, "size": 0.8, "colour": 0.2, "shape": 0.1, "relation": 0.15, "background": 0.8},
    0.2,
)
# Draws behind one wording: the sentence, the ground and its word, the relation, and four words for each group.
N_DRAWS = 12


class Foil(NamedTuple):
    """A right caption and its twin with one wrong word."""

    caption: str
    foil: str
    # Field of the scene or of a group that the foil has wrong.
    kind: str


def draw_claim(rng: np.random.Generator, scene: Scene, habits: Habits = PERSON_HABITS) -> Scene:
    """Draw what is said of a scene: a true claim, with None for what is not said."""
    claim = scene
    if len(scene.groups) == 2 and rng.random() < habits.names_one:
        claim = Scene((pick(rng, scene.groups),), None, scene.background)
    for attribute in list(said_attributes(claim)):
        if rng.random() < habits.leaves_out.get(attribute[1], 0.0):
            claim = with_value(claim, attribute, None)
    return claim


def draw_wording(rng: np.random.Generator) -> np.ndarray:
    """Draw the choices behind a wording; two claims worded with the same draws differ only where they say otherwise."""
    return rng.random(N_DRAWS)


def as_caption(claim: Scene, wording: np.ndarray, habits: Habits = PERSON_HABITS) -> str:
    """Put a claim into words; a wording is `N_DRAWS` numbers from 0 to 1, a shape must be said or counts as any shape.

    The caption is in lower case, without a full stop.

    >>> claim = Scene((Group(2, "small", "red", "cross"), Group(1, None, "blue", "ring")), "above", "white")
    >>> as_caption(claim, np.zeros(N_DRAWS))
    'two small red crosses above a blue ring on a white background'
    """
    return "".join(text for _, text in caption_parts(claim, wording, habits))


def caption_parts(claim: Scene, wording: np.ndarray, habits: Habits = PERSON_HABITS) -> list[tuple[str | None, str]]:
    """Return names and texts of the parts of `as_caption`.

    Names are "first", "second", "relation", "opposite", "side", "there" and "ground" as in the sentences, None for what
    the sentence says itself.
    """
    sentence, ground, ground_word, relation, *words = wording
    phrases = [_phrase(group, words[4 * i : 4 * i + 4]) for i, group in enumerate(claim.groups)]
    parts = {"first": phrases[0], "second": phrases[-1], "ground": "", "relation": "and", "opposite": "and", "side": ""}
    if claim.background is not None:
        parts["ground"] = _at(GROUNDS, ground).format(_at(WORDS[claim.background], ground_word))
    if claim.relation is not None:
        parts["relation"] = _at(WORDS[claim.relation], relation)
        parts["opposite"] = _at(WORDS[OPPOSITE[claim.relation]], relation)
        parts["side"] = SIDES[claim.relation]
    parts["there"] = "there is" if claim.groups[0].count in (None, 1) else "there are"
    pieces: list[tuple[str | None, str]] = []
    for literal, name, _, _ in string.Formatter().parse(_at(habits.sentences[len(claim.groups) - 1], sentence)):
        pieces += [(None, literal)] if literal else []
        pieces += [(name, parts[name])] if name else []
    return pieces


def draw_caption(rng: np.random.Generator, scene: Scene, habits: Habits = PERSON_HABITS) -> str:
    """Draw a true caption, in one of many wordings."""
    return as_caption(draw_claim(rng, scene, habits), draw_wording(rng), habits)


def other_caption(rng: np.random.Generator, scene: Scene, caption: str) -> str:
    """Draw a true caption of a person that differs from a given one."""
    while True:
        other = draw_caption(rng, scene)
        if other != caption:
            return other


def every_word() -> set[str]:
    """Return every word that a caption of this world can have, and the comma."""
    nouns = {noun for shape in SHAPES for noun in WORDS[shape]} | {ANY_SHAPE}
    phrases = [
        *(word for words in WORDS.values() for word in words),
        *(word for words in COUNT_WORDS.values() for word in words),
        *map(_plural, nouns),
        *nouns,
        *SIDES.values(),
        *(sentence.format_map(collections.defaultdict(str)) for sentence in (*ONE_GROUP, *TWO_GROUPS)),
        *(sentence.format_map(collections.defaultdict(str)) for sentence in (*LABELS, *TWO_LABELS)),
        *(ground.format("").replace(",", ", ") for ground in GROUNDS),
        "there is are and an",
    ]
    return {word for phrase in phrases for word in phrase.split()}


def draw_foil(rng: np.random.Generator, scene: Scene, claim: Scene, wording: np.ndarray) -> Foil:
    """Draw a foil: the same caption with one wrong word (in a count, with its plural)."""
    wrong, (_, kind) = _one_error_more(rng, claim, scene, list(said_attributes(claim)))
    return Foil(as_caption(claim, wording), as_caption(wrong, wording), kind)


def draw_foils(rng: np.random.Generator, scene: Scene, claim: Scene, wording: np.ndarray) -> list[Foil]:
    """Draw a foil of every kind for which a single error is possible, in the order of `VALUES`."""
    right, foils = as_caption(claim, wording), []
    for kind in VALUES:
        attributes = [attribute for attribute in said_attributes(claim) if attribute[1] == kind]
        if any(changed_claims(claim, scene, attribute) for attribute in attributes):
            wrong, _ = _one_error_more(rng, claim, scene, attributes)
            foils.append(Foil(right, as_caption(wrong, wording), kind))
    return foils


def wrong_claim(rng: np.random.Generator, scene: Scene, claim: Scene, errors: int) -> Scene:
    """Change so many attributes of a true claim that `n_errors` of it is `errors`."""
    wrong, attributes = claim, list(said_attributes(claim))
    for _ in range(errors):
        wrong, changed = _one_error_more(rng, wrong, scene, attributes)
        attributes.remove(changed)
    return wrong


def _one_error_more(
    rng: np.random.Generator, claim: Scene, scene: Scene, attributes: Sequence[Attribute]
) -> tuple[Scene, Attribute]:
    """Change one of the attributes to a wrong value."""
    for i in rng.permutation(len(attributes)):
        if changed := changed_claims(claim, scene, attributes[i]):
            return pick(rng, changed), attributes[i]
    raise ValueError(f"claim: expected one that can have one more wrong attribute, got {claim}. Say more in it.")


def _phrase(group: Group, draws: Sequence[float]) -> str:
    """A noun phrase such as "two small red circles"; "shape" where the shape is not said."""
    count, size, colour, shape = draws
    noun = ANY_SHAPE if group.shape is None else _at(WORDS[group.shape], shape)
    if group.count not in (None, 1):
        noun = _plural(noun)
    parts: tuple[tuple[Mapping[Value, tuple[str, ...]], Value | None, float], ...] = (
        (COUNT_WORDS, group.count, count),
        (WORDS, group.size, size),
        (WORDS, group.colour, colour),
    )
    before = [_at(choices[value], draw) for choices, value, draw in parts if value is not None]
    words = [*before, noun]
    if words[0] == "a" and words[1][0] in "aeiou":
        words[0] = "an"
    return " ".join(words)


def _plural(noun: str) -> str:
    return PLURALS.get(noun, noun + "s")


def _at(choices: Sequence[str], draw: float) -> str:
    """The choice at a place from 0 to 1."""
    return choices[int(draw * len(choices))]
