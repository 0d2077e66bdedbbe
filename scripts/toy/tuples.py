"""Rows to tune on: a picture, what a person says of it, and positives as a captioner and a painter would make them."""

import dataclasses
from typing import NamedTuple

import numpy as np

from manycaps.kit.media_images import as_model_pixels
from manycaps.made_world.captions import PERSON_HABITS, VAGUE_HABITS, as_caption, draw_claim, draw_wording, wrong_claim
from manycaps.made_world.pictures import draw_picture
from manycaps.made_world.scenes import VALUES, Scene, draw_scene, is_possible, neighbour, pick, with_value
from scripts.toy.small_clip import IMAGE_SIZE


@dataclasses.dataclass(frozen=True)
class TupleMake:
    """How captions and positives come about."""

    # Share of human captions that are those of another picture, and of those that say little.
    wrong: float = 0.0
    vague: float = 0.0
    # Share of generated captions, and of generated pictures, with one wrong attribute.
    caption_errors: float = 0.0
    picture_errors: float = 0.0
    # Generated captions, and pictures, for each picture.
    n_positives: int = 1


class Tuple(NamedTuple):
    """A picture, a caption of a person, and positives: a generated picture and a generated caption each."""

    # uint8, shape (IMAGE_SIZE, IMAGE_SIZE, 3).
    picture: np.ndarray
    caption: str
    positives: list[tuple[np.ndarray, str]]


def draw_tuple(seed: int, part: int, number: int, make: TupleMake) -> Tuple:
    """Draw a scene and what belongs to it; it depends on the seed, the part and the number alone.

    The captioner sees the picture and names everything in it. The painter reads the caption, also a wrong one,
    and makes up what it does not say. A share of both makes one mistake. Another `make` with the same seed changes only
    what it is about: the numbers that decide are drawn all the same.

    Args:
        seed: of the scenes.
        part: other scenes for another one.
        number: of the scene.
        make: how.

    Returns:
        The picture, the caption, and `make.n_positives` positives.
    """
    rng = np.random.default_rng([seed, part, number])
    is_wrong, is_vague = rng.random(2) < (make.wrong, make.vague)
    scene = draw_scene(rng)
    picture = as_model_pixels(draw_picture(rng, scene), IMAGE_SIZE)
    other = draw_scene(rng)
    claim = draw_claim(rng, other if is_wrong else scene, VAGUE_HABITS if is_vague else PERSON_HABITS)
    caption = as_caption(claim, draw_wording(rng), VAGUE_HABITS if is_vague else PERSON_HABITS)
    positives = []
    for i in range(make.n_positives):
        own = np.random.default_rng([seed, part, number, i])
        errs = own.random(2) < (make.caption_errors, make.picture_errors)
        said = wrong_claim(own, scene, scene, int(errs[0]))
        generated_caption = as_caption(said, draw_wording(own))
        painted = completed(own, claim)
        painted = neighbour(own, painted) if errs[1] else painted
        positives.append((as_model_pixels(draw_picture(own, painted), IMAGE_SIZE), generated_caption))
    return Tuple(picture, caption, positives)


def completed(rng: np.random.Generator, claim: Scene) -> Scene:
    """Draw a scene of which a claim is true: what it does not say is made up."""
    while True:
        scene = claim
        for i, group in enumerate(claim.groups):
            for field, value in zip(group._fields, group, strict=True):
                if value is None:
                    scene = with_value(scene, (i, field), pick(rng, VALUES[field]))
        if claim.background is None:
            scene = scene._replace(background=pick(rng, VALUES["background"]))
        if claim.relation is None and len(claim.groups) == 2:
            scene = scene._replace(relation=pick(rng, VALUES["relation"]))
        if is_possible(scene):
            return scene
