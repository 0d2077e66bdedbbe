"""RefPAC-S: how well captions fit their images and the closest of their reference captions."""

import evaluate

from .clip_encoder import LONG_CAPTION_VALUES
from .clip_pac import (
    IMAGES,
    PAC_CONFIG_NAMES,
    PAC_ENCODER,
    PAC_OPTIONS,
    encode_caption_columns,
    encode_image_column,
    features_result,
    largest_by_caption,
    pac_result,
    pac_s,
    ref_pac_s,
    text_places,
)
from .module import CollectionModule
from .options import PAC_CITATION, About, Ready, value_table
from .rows import CAPTIONS
from .vectors_sentences import paired_cosines

# isort: split
# What the files above import: evaluate's loader copies only what is named here. Written by `make format`.
from .arrays import map_in_order as map_in_order
from .clip_checkpoints import Treatment as Treatment
from .clip_model import weights_error as weights_error
from .errors import quote_value as quote_value
from .files import inline_bytes as inline_bytes
from .images import unwrap_value as unwrap_value
from .row_images import text_key as text_key
from .sets_module import ComparableRows as ComparableRows
from .sets_tests import exact_splits as exact_splits
from .vectors_models import RememberedFeatures as RememberedFeatures
from .words_ptb import Shape as Shape

_DESCRIPTION = """
RefPAC-S scores captions against their images and against human captions of them: the harmonic mean of PAC-S and of the
largest text-to-text cosine with a reference, both from a CLIP tuned with positive-augmented contrastive learning.
Higher is better.
"""

_EXAMPLES = """
>>> import numpy as np
>>> ref_pac = evaluate.load("metrics/ref_pac_score")  # on the Hub: "manycaps/ref_pac_score"
>>> features = np.array([[[3.0, 4.0]]])  # of one caption, of the human caption beside it, and of their image
>>> result = ref_pac.compute(
...     prediction_embeddings=features, reference_embeddings=features, images=np.array([[1.0, 0.0]])
... )
>>> round(result["pac_score"], 4), round(result["ref_pac_score"], 4)
(1.2, 1.0909)
>>> ref_pac_s(np.array([1.0, 2.0]), np.array([1.0, -0.5])).tolist()
[1.0, 0.0]
"""


class RefPacScore(CollectionModule, evaluate.Metric):
    """RefPAC-S of captions, images and references, as an evaluate module."""

    ABOUT = About(
        _DESCRIPTION,
        PAC_CITATION,
        _EXAMPLES,
        ["https://arxiv.org/abs/2303.12112", "https://github.com/aimagelab/pacscore"],
    )
    COLUMNS = {"predictions": CAPTIONS["predictions"], "images": IMAGES, "references": CAPTIONS["references"]}
    READY = {
        "prediction_embeddings, reference_embeddings": Ready(
            "ready features in place of both predictions and references, for compute only and beside features of "
            "images: n_rows floating-point arrays of shape (n_captions, d). No checkpoint is used.",
            features_result,
        )
    }
    OPTIONS = PAC_OPTIONS
    VALUES = (
        value_table("""
        * ref_pac_score | 0 to 2 weight / (weight + 1) | higher | mean over rows of the mean over a row's candidates; at
            most 4/3 for `weight=2`
        * pac_score | 0 to weight | higher | the same captions without references
        n_rows | | | number of rows
        ..._per_row, ..._per_candidate | | | with `details`, of both
        signature | | | with `details`: among others the variant, the file's name and its sha256
    """)
        + LONG_CAPTION_VALUES
    )
    CONFIG_NAMES = PAC_CONFIG_NAMES
    PARTS = PAC_ENCODER
    ENCODERS = {"images": encode_image_column}

    def result(self, predictions, images, references, options):
        """Encode the captions, score the candidates, and return the result."""
        return self.summary(encode_caption_columns(self, [predictions, references], images, options), options)

    def summary(self, encoded, options):
        """Return the result for encoded captions and images: RefPAC-S and PAC-S of all candidates."""
        texts, pictures, sizes, _ = encoded
        places = text_places(*sizes)
        image_cosines = paired_cosines(texts.distinct, pictures, texts.rows[: len(places.rows)], places.rows)
        text_cosines = paired_cosines(
            texts.distinct, texts.distinct, texts.rows[places.captions], texts.rows[places.references]
        )
        pac_scores = pac_s(image_cosines, options["weight"])
        ref_pac_scores = ref_pac_s(pac_scores, largest_by_caption(text_cosines, places.n_references))
        scores = {"ref_pac_score": ref_pac_scores, "pac_score": pac_scores}
        return pac_result("ref_pac_score", encoded, scores, options)
