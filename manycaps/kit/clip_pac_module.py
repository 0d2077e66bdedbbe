"""The contract of PAC-S and RefPAC-S: captions and images, or their ready features, and scores per candidate."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from .base_module import CollectionModule, check_flag, signature
from .base_scores import scored_result
from .clip_cosines import as_features
from .clip_encoder import ClipEncoder, TextFeatures
from .clip_image_features import (
    check_image_column,
    check_item_count,
    encode_images,
    features_of_rows,
    ready_features,
    stored_features,
)
from .clip_options import CLIP_CALL_DEFAULTS, CLIP_LOAD_DEFAULTS, check_clip_options, check_prompt, long_captions_name
from .clip_pac_scores import PAC_PROMPT, PAC_WEIGHT, check_weight
from .clip_variants import VARIANTS
from .media_images import decoded_values
from .vectors_checks import ARRAY_COLUMNS, as_embedding_arrays, check_no_captions

# The columns of captions, in the order of the keywords `ARRAY_COLUMNS`, which stand in their place.
CAPTION_COLUMNS = ("predictions", "references")


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

    # A configuration is a variant, "pac-" may be left out.
    CONFIG_NAMES = (*VARIANTS, *(name.removeprefix("pac-") for name in VARIANTS if name.startswith("pac-")))

    # Wraps the steps of the model in a progress bar, as `tqdm` does.
    progress: ClassVar[Callable[..., Any]]

    def __init__(self, /, *args: Any, **keywords: Any) -> None:
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
        if not len(self):  # rows of one call have one model
            self.encoder.renew()
        checked = super().checked_columns(options, **columns)
        check_image_column(images, "images", ready=True)
        settings = options["batch_size"], options["n_workers"]
        features = encode_images(self.encoder, images, "images", *settings, ready=True)
        check_item_count(len(checked["predictions"]), len(features), "image")
        return {**checked, "images": stored_features(features)}

    def compute(
        self, /, *, prediction_embeddings: Any = None, reference_embeddings: Any = None, **given: Any
    ) -> dict[str, Any] | None:
        """Check the options of this call, then compute: from captions, or from ready features past any model."""
        given_arrays = zip(CAPTION_COLUMNS, ARRAY_COLUMNS, (prediction_embeddings, reference_embeddings), strict=True)
        ready = {}
        for column, name, arrays in given_arrays:
            if column in self.own_columns():
                ready[name] = arrays
            elif arrays is not None:
                raise TypeError(
                    f"{name}: expected only {ARRAY_COLUMNS[0]} and images, which {self.name} reads, got {name}, which "
                    "it would ignore. Leave it out, or take ref_pac_score."
                )
        if all(arrays is None for arrays in ready.values()):
            return super().compute(**given)
        with self.lock:
            check_no_captions([given.pop(name, None) for name in CAPTION_COLUMNS], len(self))
            images = given.pop("images", None)
            options = self.call_options(given)
            sides = as_text_features(ready)
            pictures = as_image_rows(images, sides[0][0].shape[1], len(sides[0]))
            distinct = np.concatenate([row for side in sides for row in side])
            texts = TextFeatures(distinct, np.arange(len(distinct)), n_truncated=0)
            sizes = [[len(row) for row in side] for side in sides]
            return self._result(texts, pictures, sizes, options, {"encoder": "ready arrays"})

    def scores_of(
        self, texts: TextFeatures, pictures: np.ndarray, sizes: Sequence[Sequence[int]], options: Mapping[str, Any]
    ) -> dict[str, np.ndarray]:
        """Return the scores of all candidates: float64 arrays, shape (n_candidates,), by name.

        `texts` are all captions, those of one column after those of the other; `pictures` are features of the images,
        shape (n_rows, d); `sizes` has for each column of captions the number of captions of each row.
        """
        raise NotImplementedError

    def image_features(self, images: Sequence[Mapping[str, Any]]) -> np.ndarray:
        """Return the features that stand in place of the images in evaluate's table: float32 array, shape (n, d)."""
        return np.concatenate(features_of_rows(images, self.encoder.model.n_features))

    def caption_result(
        self, sides: Sequence[Sequence[Sequence[str]]], images: Sequence[Mapping[str, Any]], options: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Encode the columns of captions, score the candidates, and return the result."""
        captions = [caption for side in sides for row in side for caption in row]
        texts = self.encoder.encode_captions(options["prompt"], captions, options)
        settings = {**self.encoder.signature_parts(), "prompt": repr(options["prompt"])}
        sizes = [[len(row) for row in side] for side in sides]
        return self._result(texts, self.image_features(images), sizes, options, settings)

    def _result(
        self,
        texts: TextFeatures,
        pictures: np.ndarray,
        sizes: Sequence[Sequence[int]],
        options: Mapping[str, Any],
        settings: Mapping[str, Any],
    ) -> dict[str, Any]:
        scores = self.scores_of(texts, pictures, sizes, options)
        result = scored_result(scores, sizes[0], options["details"]) | texts.counts(options["long_captions"])
        if not options["details"]:
            return result
        windows = long_captions_name(options) if "prompt" in settings else None
        return result | {"signature": signature(self.name, **settings, weight=options["weight"], long_captions=windows)}


def as_text_features(columns: Mapping[str, Any]) -> list[list[np.ndarray]]:
    """Return columns of ready features of captions, by name n_rows floating-point arrays (n_captions, d), as float32.

    Raises:
        TypeError: a column is missing, or is no list of such arrays.
        ValueError: different numbers of rows or of features, or features without a cosine.
    """
    sides = [as_embedding_arrays(rows, name) for name, rows in columns.items()]
    (first, n), d = (next(iter(columns)), len(sides[0])), sides[0][0].shape[1]
    for name, side in zip(columns, sides, strict=True):
        if len(side) != n:
            raise ValueError(
                f"{name}: expected one array for each of the {n} rows of {first}, got {len(side)}. Row i of both "
                "belongs together."
            )
        odd = next((i for i, row in enumerate(side) if row.shape[1] != d), None)
        if odd is not None:
            raise ValueError(
                f"{name}[{odd}]: expected {d} features per caption, as {first}[0] has, got {side[odd].shape[1]}. "
                "Encode all captions with the same checkpoint."
            )
    return [
        [as_features(row, f"{name}[{i}][{{}}]".format, "caption") for i, row in enumerate(side)]
        for name, side in zip(columns, sides, strict=True)
    ]


def as_image_rows(images: Any, d: int, n_rows: int) -> np.ndarray:
    """Return ready features of images, as long as those of captions: float32 array, shape (n_rows, d)."""
    check_image_column(images, "images", ready=True)
    rows = decoded_values(images, "images", "an image")
    whose = f"{ARRAY_COLUMNS[0]} have"
    features = [ready_features(image, f"images[{i}]", d, whose) for i, image in enumerate(rows)]
    check_item_count(n_rows, len(features), "image")
    return np.stack(features)
