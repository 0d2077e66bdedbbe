"""The fast path: the frozen encoders' features are computed once, and training sees only the two projections."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch

from manycaps.kit.base import InputError
from manycaps.pac_training.recipe import Recipe
from manycaps.pac_training.training_loop import Features, Training

# Names of the two projections in a CLIP's state dict.
VISUAL_PROJECTION, TEXT_PROJECTION = "visual.proj", "text_projection"


class CachedFeatures(NamedTuple):
    """Output of the frozen encoders for a data set, before their last projections.

    Row j holds a caption, an image made from it, and a caption made from the image that it belongs to. An image with
    several captions has several rows; an epoch visits each *image* once and draws one of its rows.
    """

    # float32, shape (n_images, d_visual), each image once.
    images: np.ndarray
    # float32, shape (n_rows, d_text).
    captions: np.ndarray
    # float32, shape (n_rows, d_visual); None where lambda_v is 0.
    generated_images: np.ndarray | None = None
    # float32, shape (n_rows, d_text); None where lambda_t is 0.
    generated_captions: np.ndarray | None = None
    # Image of each row, integers of shape (n_rows,); None where row j belongs to image j.
    image_rows: np.ndarray | None = None


class TunedProjections(NamedTuple):
    """Result of `tune_projections`: the weights with the lowest validation loss, and how they were found."""

    # float32, shape (d_visual, d).
    visual_projection: np.ndarray
    # float32, shape (d_text, d).
    text_projection: np.ndarray
    # Validation loss of these weights, and after how many iterations they were reached (0: those given).
    best_loss: float
    best_iteration: int
    # Total number of iterations, and the reason to stop.
    n_iterations: int
    stop_reason: str
    # One flat dict for each validation, the first before any step: iteration, epoch, losses, retrieval recall.
    history: list[dict[str, float]]


class ProjectedRows:
    """Cached features and the projections that are trained: the `TrainingRows` of the training loop."""

    def __init__(self, cached: CachedFeatures, visual_projection: torch.Tensor, text_projection: torch.Tensor) -> None:
        device = visual_projection.device
        self.visual_projection, self.text_projection = visual_projection, text_projection
        self.image_rows = np.arange(len(cached.captions)) if cached.image_rows is None else cached.image_rows
        self._images, self._captions = (torch.from_numpy(x).to(device) for x in cached[:2])
        self._generated_images, self._generated_captions = (
            x if x is None else torch.from_numpy(x).to(device) for x in cached[2:4]
        )

    def features(self, rows: np.ndarray, *_: object) -> Features:
        """Project the cached features of some rows."""
        own = torch.from_numpy(rows).to(self._captions.device)
        shown = torch.from_numpy(self.image_rows[rows]).to(self._captions.device)
        generated_images, generated_captions = self._generated_images, self._generated_captions
        return Features(
            self._images[shown] @ self.visual_projection,
            self._captions[own] @ self.text_projection,
            None if generated_images is None else generated_images[own] @ self.visual_projection,
            None if generated_captions is None else generated_captions[own] @ self.text_projection,
        )


def tune_projections(
    cached: CachedFeatures,
    validation: CachedFeatures,
    visual_projection: np.ndarray,
    text_projection: np.ndarray,
    scale: float,
    recipe: Recipe,
    progress: Callable[..., Any] | None = None,
) -> TunedProjections:
    """Train the two final projections by positive-augmented contrastive learning (Sarto et al., 2023, section 3).

    AdamW on `positive_augmented_loss`; the weights with the lowest validation loss are returned, those given among
    them. The same arguments on the same machine with the same number of threads give the same bits.

    `cached` has at least as many images as a batch; `validation` decides when to stop. The projections are
    `visual.proj` (d_visual, d) and `text_projection` (d_text, d) of a CLIP, float32, and `scale` is 1 / tau, not
    trained: `logit_scale.exp()`. `progress`, such as tqdm, is called with total= and desc=.
    """
    visual, text = (
        torch.nn.Parameter(torch.tensor(np.asarray(x), dtype=torch.float32))
        for x in (visual_projection, text_projection)
    )
    check_cached_features(cached, "cached")
    check_cached_features(validation, "validation")
    training = Training(
        ProjectedRows(cached, visual, text),
        ProjectedRows(validation, visual, text),
        {VISUAL_PROJECTION: visual, TEXT_PROJECTION: text},
        scale,
        recipe,
    )
    bar = progress(total=recipe.max_iterations, desc="projections") if progress else None
    for event in training.run():
        if bar is not None and "validation_loss" not in event:
            bar.update(1)
    if bar is not None:
        bar.close()
    return TunedProjections(
        training.best_weights[VISUAL_PROJECTION].cpu().numpy(),
        training.best_weights[TEXT_PROJECTION].cpu().numpy(),
        training.best["validation_loss"],
        int(training.best["iteration"]),
        training.iteration,
        str(training.stop_reason),
        training.history,
    )


def check_cached_features(cached: CachedFeatures, name: str) -> None:
    """Raise unless all features are finite and none is 0, as an overflow in 16 bits would make them."""
    for column, array in cached._replace(image_rows=None)._asdict().items():
        if array is None:
            continue
        bad = np.flatnonzero(~np.isfinite(array).all(axis=1) | ~array.any(axis=1))
        if len(bad):
            raise InputError(
                f"{name}.{column}[{bad[0]}]",
                "finite features that are not all 0",
                f"others in {len(bad)} rows",
                "Leave those rows out, or cache in float32.",
            )
