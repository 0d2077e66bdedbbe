"""The tuning: the positive-augmented recipe on captions of people, and its ablations, over cached features."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from manycaps.made_world.captions import draw_caption, other_caption
from manycaps.made_world.pictures import draw_picture
from manycaps.made_world.scenes import draw_scene
from manycaps.pac_training.projections import CachedFeatures, tune_projections
from manycaps.pac_training.recipe import BATCH_SIZE, LAMBDA_T, LAMBDA_V, PATIENCE
from manycaps.shared_image_input import as_model_pixels
from scripts.toy.small_clip import IMAGE_SIZE, SmallClip
from scripts.toy.trials import encode

# Name of the checkpoint before tuning, and of the recipe's own weights, in tables.
PLAIN, PAC = "CLIP", "PAC"


class Lambdas(NamedTuple):
    """Weights of the generated images and captions."""

    v: float
    t: float


# The recipe and what it becomes without one or both kinds of positives.
VARIANTS: Mapping[str, Lambdas] = {
    PAC: Lambdas(LAMBDA_V, LAMBDA_T),
    "lambda_v = 0": Lambdas(0.0, LAMBDA_T),
    "lambda_t = 0": Lambdas(LAMBDA_V, 0.0),
    "both 0": Lambdas(0.0, 0.0),
}


class Projections(NamedTuple):
    """The two last projections of a CLIP."""

    # float32, shape (VISION_WIDTH, EMBED_DIM) and (TEXT_WIDTH, EMBED_DIM).
    visual: np.ndarray
    text: np.ndarray


@dataclasses.dataclass(frozen=True)
class TuningRecipe:
    """How the projections are tuned: as the paper does it, in fewer and larger steps, for they are small."""

    n_scenes: int = 5000
    n_validation_scenes: int = 1000
    batch_size: int = BATCH_SIZE
    learning_rate: float = 1e-3
    patience: int = PATIENCE
    max_iterations: int = 2000
    validate_every: int = 100


def cached_tuples(clip: SmallClip, seed: int, part: int, n_scenes: int, progress: Callable[..., Any]) -> CachedFeatures:
    """Draw scenes with a caption and both positives, and encode them up to the projections.

    Args:
        clip: the trained model.
        seed: of the scenes.
        part: 1 for those to learn from, 2 for those that decide when to stop.
        n_scenes: how many.
        progress: a tqdm class.

    Returns:
        One row for each scene.
    """
    pictures, captions = ([], []), ([], [])
    for i in progress(range(n_scenes), desc="tuples", unit="scene"):
        rng = np.random.default_rng([seed, part, i])
        scene = draw_scene(rng)
        for column in pictures:
            column.append(as_model_pixels(draw_picture(rng, scene), IMAGE_SIZE))
        captions[0].append(draw_caption(rng, scene))
        captions[1].append(other_caption(rng, scene, captions[0][-1]))
    images, texts = zip(*(encode(clip, np.stack(p), c) for p, c in zip(pictures, captions, strict=True)), strict=True)
    return CachedFeatures(images[0], texts[0], images[1], texts[1])


def tune_variants(clip: SmallClip, seed: int, recipe: TuningRecipe, progress: Callable[..., Any]) -> dict[str, Any]:
    """Tune the projections once with each of `VARIANTS`.

    Args:
        clip: the trained model; it is not changed.
        seed: of the scenes and their order.
        recipe: how.
        progress: a tqdm class.

    Returns:
        `TunedProjections` by the variant's name.
    """
    cached = cached_tuples(clip, seed, 1, recipe.n_scenes, progress)
    validation = cached_tuples(clip, seed, 2, recipe.n_validation_scenes, progress)
    return {
        name: tune_projections(
            cached,
            validation,
            clip.visual_projection.detach().numpy(),
            clip.text_projection.detach().numpy(),
            clip.scale.item(),
            lambda_v=lambdas.v,
            lambda_t=lambdas.t,
            learning_rate=recipe.learning_rate,
            batch_size=recipe.batch_size,
            patience=recipe.patience,
            max_iterations=recipe.max_iterations,
            validate_every=recipe.validate_every,
            seed=seed,
            progress=progress,
        )
        for name, lambdas in VARIANTS.items()
    }
