"""The made world: scenes of a few coloured shapes, what can be said about them, and when it is true.

A scene has one or two groups of equal shapes, a relation between the groups, and a background. What a caption says is
a scene too, whose unsaid parts are None; so one function counts how many of the said attributes are wrong.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

# Values of an attribute: a number of shapes, or a word.
Value = str | int

SHAPES = ("circle", "square", "triangle", "cross", "ring", "star")
COLOURS = ("red", "orange", "yellow", "green", "blue", "purple")
SIZES = ("small", "large")
COUNTS = (1, 2, 3)
RELATIONS = ("left", "right", "above", "below")
BACKGROUNDS = ("white", "grey", "black", "brown")

# Inverse of each relation: from the first group to the second, and back.
OPPOSITE: Mapping[Value, str] = {"left": "right", "right": "left", "above": "below", "below": "above"}

# Share of scenes with two groups.
TWO_GROUPS = 0.6

# Most large shapes of a group that fit into half of the picture.
MOST_LARGE_IN_HALF = 2


class Group(NamedTuple):
    """Equal shapes that lie together; in what a caption says, None where it does not say it."""

    # Hides the method `count` of tuples, which a group does not need.
    count: int | None  # type: ignore[assignment]
    size: str | None
    colour: str | None
    shape: str | None


class Scene(NamedTuple):
    """One or two groups on a background; in what a caption says, None where it does not say it."""

    groups: tuple[Group, ...]
    # Where the first group is, seen from the second; None with one group.
    relation: str | None
    background: str | None


Choice = TypeVar("Choice")
Stated = TypeVar("Stated", bound=Value)

# One attribute of a scene: the number of its group and the field there, or None and a field of the scene.
Attribute = tuple[int | None, str]

VALUES: dict[str, tuple[Value, ...]] = {
    "count": COUNTS,
    "size": SIZES,
    "colour": COLOURS,
    "shape": SHAPES,
    "relation": RELATIONS,
    "background": BACKGROUNDS,
}


def draw_scene(rng: np.random.Generator) -> Scene:
    """Draw a scene; two groups of one scene differ in shape or colour."""
    background = pick(rng, BACKGROUNDS)
    if rng.random() >= TWO_GROUPS:
        return Scene((_draw_group(rng),), None, background)
    while True:
        scene = Scene((_draw_group(rng), _draw_group(rng)), pick(rng, RELATIONS), background)
        if is_possible(scene):
            return scene


def is_possible(scene: Scene) -> bool:
    """Say whether a scene is possible: its groups fit into the picture and can be distinguished."""
    if len(scene.groups) == 1:
        return scene.relation is None
    first, second = scene.groups
    fits = all(group.size == "small" or stated_value(group.count) <= MOST_LARGE_IN_HALF for group in scene.groups)
    return fits and (first.shape, first.colour) != (second.shape, second.colour)


def said_attributes(claim: Scene) -> Iterator[Attribute]:
    """Yield the attributes that a caption says, or that a scene has."""
    for i, group in enumerate(claim.groups):
        yield from ((i, field) for field, value in zip(Group._fields, group, strict=True) if value is not None)
    yield from ((None, field) for field in ("relation", "background") if getattr(claim, field) is not None)


def stated_value(value: Stated | None) -> Stated:
    """Return the value of an attribute that is said; raise if it is not."""
    if value is None:
        raise ValueError("scene: expected one in which everything is said, got a claim that leaves it open. Say it.")
    return value


def value_of(claim: Scene, attribute: Attribute) -> Value | None:
    """Return the value of one attribute."""
    group, field = attribute
    return getattr(claim if group is None else claim.groups[group], field)


def with_value(claim: Scene, attribute: Attribute, value: Value | None) -> Scene:
    """Return a copy in which one attribute has another value."""
    group, field = attribute
    changed: dict[str, Any] = {field: value}
    if group is None:
        return claim._replace(**changed)
    groups = list(claim.groups)
    groups[group] = groups[group]._replace(**changed)
    return claim._replace(groups=tuple(groups))


def n_errors(claim: Scene, scene: Scene) -> int:
    """Count the attributes that a claim gets wrong, under its most favourable reading.

    A claim about one group may mean either group of the scene; of two groups, either may be named first. A group that
    the scene does not have is wrong in all that is said of it, and so is a relation to it.

    >>> red, blue = Group(1, "small", "red", "circle"), Group(2, "large", "blue", "square")
    >>> scene = Scene((red, blue), "left", "white")
    >>> n_errors(Scene((blue, red), "right", None), scene), n_errors(Scene((blue, red), "left", "grey"), scene)
    (0, 2)
    """
    attributes = list(said_attributes(claim))
    return min(
        sum(value_of(claim, attribute) != value_of(reading, attribute) for attribute in attributes)
        for reading in _readings(scene, len(claim.groups))
    )


def changed_claims(claim: Scene, scene: Scene, attribute: Attribute) -> list[Scene]:
    """Return the claims that say one attribute differently and are wrong in exactly one more than before."""
    present: Value = stated_value(value_of(claim, attribute))
    # Two groups may lie above and left of each other at once, so only the opposite relation is surely wrong.
    values: Sequence[Value] = [OPPOSITE[present]] if attribute[1] == "relation" else VALUES[attribute[1]]
    others = (with_value(claim, attribute, value) for value in values if value != present)
    errors = n_errors(claim, scene) + 1
    return [other for other in others if n_errors(other, scene) == errors]


def neighbour(rng: np.random.Generator, scene: Scene) -> Scene:
    """Return another scene that differs in exactly one attribute."""
    attributes = list(said_attributes(scene))
    while True:
        attribute = attributes[rng.integers(len(attributes))]
        changed = [other for other in changed_claims(scene, scene, attribute) if is_possible(other)]
        if changed:
            return pick(rng, changed)


def pick(rng: np.random.Generator, choices: Sequence[Choice]) -> Choice:
    """Return one of a sequence of choices, all equally likely."""
    return choices[int(rng.integers(len(choices)))]


def _draw_group(rng: np.random.Generator) -> Group:
    return Group(pick(rng, COUNTS), pick(rng, SIZES), pick(rng, COLOURS), pick(rng, SHAPES))


def _readings(scene: Scene, n_groups: int) -> Iterator[Scene]:
    """Yield the scene as seen by a claim about `n_groups` groups."""
    if n_groups == len(scene.groups):
        yield scene
    if n_groups == 1:
        yield from (Scene((group,), None, scene.background) for group in scene.groups)
    elif len(scene.groups) == 2:
        yield Scene(scene.groups[::-1], OPPOSITE[stated_value(scene.relation)], scene.background)
    else:
        nothing = Group(None, None, None, None)
        yield Scene((scene.groups[0], nothing), None, scene.background)
        yield Scene((nothing, scene.groups[0]), None, scene.background)
