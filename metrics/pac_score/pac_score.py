"""PAC-S: how well captions fit their images, by CLIP tuned with positive-augmented contrastive learning."""

import evaluate
import numpy as np

from .arrays import build_result
from .clip_encoder import LONG_CAPTION_VALUES
from .clip_pac import (
    IMAGES,
    PAC_CONFIG_NAMES,
    PAC_ENCODER,
    PAC_OPTIONS,
    encode_caption_columns,
    encode_image_column,
    features_result,
    pac_result,
    pac_s,
    retrieval_ranks,
)
from .module import CollectionModule
from .options import PAC_CITATION, About, Option, Ready, check_flag, value_table
from .rows import CAPTIONS
from .vectors_sentences import paired_cosines

# isort: split
# What the files above import: evaluate's loader copies only what is named here. Written by `make format`.
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
PAC-S scores captions against their images without references: the cosine of CLIP features, from a CLIP whose last
projections were tuned on human and generated captions and images (positive-augmented contrastive learning). With plain
CLIP weights and weight 2.5 the same module computes CLIP-S. Higher is better.
"""

_EXAMPLES = """
>>> pac_score = evaluate.load("metrics/pac_score")  # on the Hub: "manycaps/pac_score"
>>> captions = np.array([[[1.0, 0.0]], [[3.0, 4.0]]])  # features of captions, and of their images
>>> pac_score.compute(prediction_embeddings=captions, images=np.array([[1.0, 0.0], [1.0, 0.0]]))["pac_score"]
1.6
>>> pac_s(np.array([0.5, -0.5]), 2.0).tolist()
[1.0, 0.0]
>>> pac_s(np.array([0.5, -0.5]), 2.5).tolist()  # CLIP-S
[1.25, 0.0]
"""

# Numbers of images among which the own one is looked for, as retrieval is reported.
RECALLS = (1, 5, 10)


class PacScore(CollectionModule, evaluate.Metric):
    """PAC-S of captions and images, as an evaluate module."""

    ABOUT = About(
        _DESCRIPTION,
        PAC_CITATION,
        _EXAMPLES,
        ["https://arxiv.org/abs/2303.12112", "https://github.com/aimagelab/pacscore"],
    )
    COLUMNS = {"predictions": CAPTIONS["predictions"], "images": IMAGES}
    READY = {
        "prediction_embeddings": Ready(
            "ready features in place of predictions, for compute only and beside features of images: n_rows "
            "floating-point arrays of shape (n_captions, d). No checkpoint is used.",
            features_result,
        )
    }
    OPTIONS = {
        "retrieval": Option(False, check_flag, "`True` ranks the images of all rows for every caption.")
    } | PAC_OPTIONS
    VALUES = (
        value_table("""
        * pac_score | 0 to weight | higher | mean over rows of the mean over a row's candidates
        n_rows | | | number of rows
        retrieval_rank | | lower | with `retrieval`: rank of a caption's own image, from 1 (best), the mean one of
            images that are equally similar; equal images count once. Mean over rows of the mean over a row's candidates
        recall_at_1, recall_at_5, recall_at_10 | 0 to 1 | higher | with `retrieval`: share of a row's candidates whose
            image is among the first 1, 5 or 10, mean over rows
        median_rank, n_images | | | with `retrieval`: median over captions, and number of different images
        ..._per_row, ..._per_candidate | | | with `details`
        signature | | | with `details`: among others the variant, the file's name and its sha256; `variant:custom` means
            that nothing proves the file to be the published one
    """)
        + LONG_CAPTION_VALUES
    )
    CONFIG_NAMES = PAC_CONFIG_NAMES
    PARTS = PAC_ENCODER
    ENCODERS = {"images": encode_image_column}

    def result(self, predictions, images, options):
        """Encode the captions, score them, and return the result."""
        return self.summary(encode_caption_columns(self, [predictions], images, options), options)

    def summary(self, encoded, options):
        """Return the result for encoded captions and images."""
        texts, pictures, sizes, _ = encoded
        rows = np.repeat(np.arange(len(pictures)), sizes[0])
        scores = pac_s(paired_cosines(texts.distinct, pictures, texts.rows, rows), options["weight"])
        result = pac_result("pac_score", encoded, {"pac_score": scores}, options)
        if not options["retrieval"]:
            return result
        retrieval = retrieval_ranks(texts.distinct[texts.rows], pictures, rows)
        ranks = {"retrieval_rank": retrieval.ranks()} | {f"recall_at_{k}": retrieval.recalls(k) for k in RECALLS}
        image_values = {"median_rank": float(np.median(retrieval.ranks())), "n_images": retrieval.n_images}
        return result | build_result(ranks, sizes[0], options["details"]) | image_values
