"""The tuning: the positive-augmented recipe on human captions, and its ablations, over cached features.

A row to tune on is a picture, what a person says of it, and positives as a captioner and a painter would make them.
"""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import torch

from manycaps.kit.images import as_model_pixels
from manycaps.pac_training.projections import TEXT_PROJECTION, VISUAL_PROJECTION, CachedFeatures, ProjectedRows
from manycaps.pac_training.recipe import BATCH_SIZE, LAMBDA_T, LAMBDA_V, Recipe
from manycaps.pac_training.training_loop import Training
from scripts.toy.captions import as_caption, draw_claim, draw_wording
from scripts.toy.pictures import draw_picture
from scripts.toy.scenes import VALUES, Scene, draw_scene, is_possible, pick, with_value
from scripts.toy.small_clip import IMAGE_SIZE, SmallClip
from scripts.toy.trials import encode

# Name of the checkpoint before tuning, and of the recipe's own weights, in tables.
PLAIN, PAC = "CLIP", "PAC"


class Lambdas(NamedTuple):
    """Weights of the generated images and captions."""

    v: float
    t: float


# The recipe, what it becomes without one or both kinds of positives, and with the paper's weights of them.
VARIANTS: Mapping[str, Lambdas] = {
    PAC: Lambdas(0.4, 0.4),
    "lambda_v = 0": Lambdas(0.0, 0.4),
    "lambda_t = 0": Lambdas(0.4, 0.0),
    "both 0": Lambdas(0.0, 0.0),
    f"lambdas {LAMBDA_V:g}, {LAMBDA_T:g}": Lambdas(LAMBDA_V, LAMBDA_T),
}


class Tuple(NamedTuple):
    """A picture, a caption of a person, and positives: a generated picture and a generated caption each."""

    # uint8, shape (IMAGE_SIZE, IMAGE_SIZE, 3).
    picture: np.ndarray
    caption: str
    positives: list[tuple[np.ndarray, str]]


@dataclasses.dataclass(frozen=True)
class TuningRecipe:
    """How the projections are tuned: as the paper does it, in fewer and larger steps, for they are small.

    Few pairs and many generated positives, where positives help.
    """

    # Generated captions, and pictures, for each picture.
    n_positives: int = 4
    n_scenes: int = 500
    n_validation_scenes: int = 300
    batch_size: int = BATCH_SIZE
    learning_rate: float = 1e-3
    patience: int = 150
    max_iterations: int = 400
    validate_every: int = 50
    variants: Mapping[str, Lambdas] = dataclasses.field(default_factory=lambda: VARIANTS)


def draw_tuple(seed: int, part: int, number: int, n_positives: int) -> Tuple:
    """Draw a scene and what belongs to it; it depends on the seed, the part and the number alone.

    The captioner sees the picture and names everything in it. The painter reads the caption, and makes up what it does
    not say.
    """
    rng = np.random.default_rng([seed, part, number])
    rng.random(2)  # drawn for the published checkpoint, and not used
    scene = draw_scene(rng)
    picture = as_model_pixels(draw_picture(rng, scene), IMAGE_SIZE)
    draw_scene(rng)  # as above
    claim = draw_claim(rng, scene)
    caption = as_caption(claim, draw_wording(rng))
    positives = []
    for i in range(n_positives):
        own = np.random.default_rng([seed, part, number, i])
        own.random(2)  # as above
        generated_caption = as_caption(scene, draw_wording(own))
        positives.append((as_model_pixels(draw_picture(own, complete(own, claim)), IMAGE_SIZE), generated_caption))
    return Tuple(picture, caption, positives)


def complete(rng: np.random.Generator, claim: Scene) -> Scene:
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


def encode_tuples(
    clip: SmallClip, seed: int, part: int, n_scenes: int, n_positives: int, progress: Callable[..., Any]
) -> CachedFeatures:
    """Draw scenes with a caption and both kinds of positives, and encode them up to the projections."""
    drawn = [draw_tuple(seed, part, i, n_positives) for i in progress(range(n_scenes), desc="tuples", unit="scene")]
    positives = [positive for one in drawn for positive in one.positives]
    pictures = [one.picture for one in drawn] + [picture for picture, _ in positives]
    captions = [one.caption for one in drawn] + [caption for _, caption in positives]
    images, texts = encode(clip, np.stack(pictures), captions)
    rows = np.repeat(np.arange(n_scenes), n_positives)
    return CachedFeatures(images[:n_scenes], texts[rows], images[n_scenes:], texts[n_scenes:], rows)


def tune_variants(
    clip: SmallClip, seed: int, recipe: TuningRecipe, progress: Callable[..., Any]
) -> dict[str, Training]:
    """Tune the projections once with each of the recipe's variants, on the same tuples; return finished trainings."""
    cached = encode_tuples(clip, seed, 1, recipe.n_scenes, recipe.n_positives, progress)
    validation = encode_tuples(clip, seed, 2, recipe.n_validation_scenes, recipe.n_positives, progress)
    tuned = {}
    for name, lambdas in recipe.variants.items():
        numbers = Recipe(
            lambda_v=lambdas.v,
            lambda_t=lambdas.t,
            learning_rate=recipe.learning_rate,
            batch_size=min(recipe.batch_size, recipe.n_scenes),
            patience=recipe.patience,
            max_iterations=recipe.max_iterations,
            validate_every=recipe.validate_every,
            seed=seed,
        )
        names = (VISUAL_PROJECTION, TEXT_PROJECTION)
        weights = {key: torch.nn.Parameter(torch.tensor(x)) for key, x in zip(names, clip.projections(), strict=True)}
        rows = [ProjectedRows(features, *weights.values()) for features in (cached, validation)]
        tuned[name] = Training(*rows, weights, clip.scale.item(), numbers)
        for _ in progress(tuned[name].run(), total=numbers.max_iterations, desc=name, unit="step"):
            pass
    return tuned
