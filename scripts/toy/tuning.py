"""The tuning: the positive-augmented recipe on human captions, and its ablations, over cached features."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from manycaps.pac_training.projections import CachedFeatures, TunedProjections, tune_projections
from manycaps.pac_training.recipe import BATCH_SIZE, LAMBDA_T, LAMBDA_V, Recipe
from scripts.toy.small_clip import SmallClip
from scripts.toy.trials import encode
from scripts.toy.tuples import TupleMake, draw_tuple

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


class Projections(NamedTuple):
    """The two last projections of a CLIP."""

    # float32, shape (VISION_WIDTH, EMBED_DIM) and (TEXT_WIDTH, EMBED_DIM).
    visual: np.ndarray
    text: np.ndarray


@dataclasses.dataclass(frozen=True)
class TuningRecipe:
    """How the projections are tuned: as the paper does it, in fewer and larger steps, for they are small.

    Few pairs and many generated positives, where positives help (`positives_study.py`).
    """

    make: TupleMake = dataclasses.field(default_factory=lambda: TupleMake(n_positives=4))
    n_scenes: int = 500
    n_validation_scenes: int = 300
    batch_size: int = BATCH_SIZE
    learning_rate: float = 1e-3
    patience: int = 150
    max_iterations: int = 400
    validate_every: int = 50
    variants: Mapping[str, Lambdas] = dataclasses.field(default_factory=lambda: VARIANTS)


def cached_tuples(
    clip: SmallClip, seed: int, part: int, n_scenes: int, make: TupleMake, progress: Callable[..., Any]
) -> CachedFeatures:
    """Draw scenes with a caption and both kinds of positives, and encode them up to the projections.

    Args:
        clip: the trained model.
        seed: of the scenes.
        part: 1 for those to learn from, 2 for those that decide when to stop.
        n_scenes: how many; each depends on the seed, the part and its number alone.
        make: how captions and positives come about.
        progress: a tqdm class.

    Returns:
        A row for each positive: those of one scene have its image and its caption.
    """
    drawn = [draw_tuple(seed, part, i, make) for i in progress(range(n_scenes), desc="tuples", unit="scene")]
    positives = [positive for one in drawn for positive in one.positives]
    pictures = [one.picture for one in drawn] + [picture for picture, _ in positives]
    captions = [one.caption for one in drawn] + [caption for _, caption in positives]
    images, texts = encode(clip, np.stack(pictures), captions)
    rows = np.repeat(np.arange(n_scenes), make.n_positives)
    return CachedFeatures(images[:n_scenes], texts[rows], images[n_scenes:], texts[n_scenes:], rows)


def tune_variants(clip: SmallClip, seed: int, recipe: TuningRecipe, progress: Callable[..., Any]) -> dict[str, Any]:
    """Tune the projections once with each of the recipe's variants.

    Args:
        clip: the trained model; it is not changed.
        seed: of the scenes and their order.
        recipe: how.
        progress: a tqdm class.

    Returns:
        `TunedProjections` by the variant's name.
    """
    cached = cached_tuples(clip, seed, 1, recipe.n_scenes, recipe.make, progress)
    validation = cached_tuples(clip, seed, 2, recipe.n_validation_scenes, recipe.make, progress)
    return {
        name: tune_variant(clip, cached, validation, lambdas, seed, recipe, progress)
        for name, lambdas in recipe.variants.items()
    }


def tune_variant(
    clip: SmallClip,
    cached: CachedFeatures,
    validation: CachedFeatures,
    lambdas: Lambdas,
    seed: int,
    recipe: TuningRecipe,
    progress: Callable[..., Any] | None = None,
) -> TunedProjections:
    """Tune the projections once, on features of `cached_tuples`, with these weights of the positives."""
    return tune_projections(
        cached,
        validation,
        clip.visual_projection.detach().numpy(),
        clip.text_projection.detach().numpy(),
        clip.scale.item(),
        Recipe(
            lambda_v=lambdas.v,
            lambda_t=lambdas.t,
            learning_rate=recipe.learning_rate,
            batch_size=min(recipe.batch_size, recipe.n_scenes),
            patience=recipe.patience,
            max_iterations=recipe.max_iterations,
            validate_every=recipe.validate_every,
            seed=seed,
        ),
        progress,
    )
