"""The fast path: the frozen encoders' features are computed once, and training sees only the two projections."""

from typing import NamedTuple

import numpy as np
import torch

from manycaps.kit.errors import InputError
from manycaps.pac_training.training_loop import Features

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


def check_cached_features(cached: CachedFeatures, name: str) -> None:
    """Raise unless all features are finite and none is 0, as an overflow in 16 bits would make them."""
    for column, array in cached._replace(image_rows=None)._asdict().items():
        if array is None:
            continue
        bad = np.flatnonzero(~np.isfinite(array).all(axis=1) | ~array.any(axis=1))
        if len(bad):
            where, got = f"{name}.{column}[{bad[0]}]", f"others in {len(bad)} rows"
            fix = "Leave those rows out, or cache in float32."
            raise InputError(where, "finite features that are not all 0", got, fix)
