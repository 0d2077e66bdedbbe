"""The contract of PAC-S and RefPAC-S: captions, features of images, and scores per candidate."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from .base_module import CollectionModule, check_flag, signature
from .base_scores import scored_result
from .clip_encoder import ClipEncoder, TextFeatures
from .clip_image_features import check_image_column, check_image_count, encode_images, features_of_rows, stored_features
from .clip_options import CLIP_CALL_DEFAULTS, CLIP_LOAD_DEFAULTS, check_clip_options, check_prompt, long_captions_name
from .clip_pac_scores import PAC_PROMPT, PAC_WEIGHT, check_weight


class PacModule(CollectionModule):
    """The contract of modules that score captions by their images."""

    DEFAULTS: ClassVar[Mapping[str, Any]] = {
        "prompt": PAC_PROMPT,
        "weight": PAC_WEIGHT,
        "details": False,
        **CLIP_CALL_DEFAULTS,
        **CLIP_LOAD_DEFAULTS,
    }
    LOAD_OPTIONS = frozenset(CLIP_LOAD_DEFAULTS)

    # Wraps the steps of the model in a progress bar, as `tqdm` does.
    progress: ClassVar[Callable[..., Any]]

    config_name: str
    name: str

    def __init__(self, *args: Any, **keywords: Any) -> None:
        super().__init__(*args, **keywords)
        self.encoder = ClipEncoder(self.load_options, type(self).progress, self.config_name)

    def check_options(self, options: Mapping[str, Any]) -> None:
        """Raise unless every option has a legal value."""
        check_clip_options(options)
        check_prompt(options["prompt"])
        check_weight(options["weight"])
        check_flag("details", options["details"])

    def checked_columns(self, options: Mapping[str, Any], **columns: Any) -> dict[str, Any]:
        """Check the captions and encode the images now: only their features are kept, in place of the images."""
        images = columns.pop("images")
        checked = super().checked_columns(options, **columns)
        check_image_column(images, "images")
        features = encode_images(self.encoder, images, "images", options["batch_size"], options["n_workers"])
        check_image_count(len(checked["predictions"]), len(features))
        return {**checked, "images": stored_features(features)}

    def image_features(self, images: Sequence[Mapping[str, Any]]) -> np.ndarray:
        """Return the features that stand in place of the images in evaluate's table: float32 array, shape (n, d)."""
        return np.concatenate(features_of_rows(images, self.encoder.model.n_features))

    def encode_captions(self, captions: Sequence[str], options: Mapping[str, Any]) -> TextFeatures:
        """Encode captions behind the prompt, each distinct one once."""
        return self.encoder.encode_captions(options["prompt"], captions, options)

    def candidate_result(
        self, scores: Mapping[str, np.ndarray], sizes: Sequence[int], texts: TextFeatures, options: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the result: means and lists of the scores of all candidates, and the counts of long captions.

        Args:
            scores: float64 arrays, shape (n_candidates,), by name.
            sizes: number of candidates of each row.
            texts: all captions that were encoded.
            options: of the call.
        """
        result = scored_result(scores, sizes, options["details"]) | texts.counts(options["long_captions"])
        return result | ({"signature": self._signature(options)} if options["details"] else {})

    def _signature(self, options: Mapping[str, Any]) -> str:
        return signature(
            self.name,
            **self.encoder.signature_parts(),
            prompt=repr(options["prompt"]),
            weight=options["weight"],
            long_captions=long_captions_name(options),
        )
