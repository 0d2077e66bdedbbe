"""MID: mutual information divergence of captions and images, by CLIP features and a Gaussian of people's pairs."""

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
)
from .module import CollectionModule
from .mutual_divergence import EPSILON, N_SPLITS, check_epsilon, divergence_result
from .options import About, Effect, Option, Ready, value_table, whole_number
from .rows import CAPTIONS

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
from .vectors_rows import EmbeddingRows as EmbeddingRows
from .vectors_sentences import paired_cosines as paired_cosines
from .words_ptb import Shape as Shape

_DESCRIPTION = """
MID scores captions against their images by the CLIP features of both: how much more likely they are together than
apart, under a Gaussian of people's captions and images. In nats, higher is better. Beside it stands people's own value,
by splits of the references, and the excess over it, which is 0 for people.
"""

_CITATION = """
@inproceedings{kim2022mutual,
  title={Mutual Information Divergence: A Unified Metric for Multimodal Generative Models},
  author={Kim, Jin-Hwa and Kim, Yunji and Lee, Jiyoung and Yoo, Kang Min and Lee, Sang-Woo},
  booktitle={Advances in Neural Information Processing Systems}, year={2022}
}
"""

_EXAMPLES = """
>>> import numpy as np
>>> mid = evaluate.load("metrics/mid")  # on the Hub: "manycaps/mid"
>>> rng = np.random.default_rng(0)
>>> images = rng.normal(size=(300, 8))  # features of images, and of captions that are near them
>>> people, mine = (images[:, None] + 0.5 * rng.normal(size=(300, n, 8)) for n in (5, 1))
>>> for captions in (mine, np.roll(mine, 1, axis=0)):
...     result = mid.compute(prediction_embeddings=captions, reference_embeddings=people, images=images)
...     print({key: round(result[key], 1) for key in ("mid", "mid_of_people", "mid_excess")})
{'mid': 6.0, 'mid_of_people': 6.0, 'mid_excess': -0.0}
{'mid': -20.6, 'mid_of_people': 6.0, 'mid_excess': -26.5}
"""

# When the seed has an effect.
HAS_SPLITS = Effect("n_splits", str(N_SPLITS), lambda options: options["n_splits"] > 0)


class Mid(CollectionModule, evaluate.Metric):
    """Mutual information divergence of captions, images and references, as an evaluate module."""

    ABOUT = About(
        _DESCRIPTION,
        _CITATION,
        _EXAMPLES,
        ["https://arxiv.org/abs/2205.13445", "https://github.com/naver-ai/mid.metric"],
    )
    COLUMNS = {"predictions": CAPTIONS["predictions"], "images": IMAGES, "references": CAPTIONS["references"]}
    READY = {
        "prediction_embeddings, reference_embeddings": Ready(
            "ready features in place of both predictions and references, for compute only and beside features of "
            "images: n_rows floating-point arrays of shape (n_captions, d). No checkpoint is used.",
            features_result,
        )
    }
    OPTIONS = {
        "epsilon": Option(
            EPSILON,
            check_epsilon,
            "Added to the diagonals of the covariances of the Gaussian; 0 as in the paper, which needs more images "
            "than features, and more references than features of captions and images together.",
        ),
        "n_splits": Option(
            N_SPLITS, whole_number(0, 1_000), "Random splits of the references for people's own value; 0: none."
        ),
        "seed": Option(
            0,
            whole_number(0),
            "Of the splits: the same seed gives the same answer, whatever the order of the rows.",
            needs=HAS_SPLITS,
        ),
    } | {name: option for name, option in PAC_OPTIONS.items() if name != "weight"}
    VALUES = (
        value_table("""
        * mid | | higher | in nats: of all candidates, with n - 1 as the authors' program; NaN for a single one
        * mid_excess | | 0 | with `n_splits`: the value of as many candidates of each row as references are held out,
            less people's, by the Gaussian of the other references: 0 on average for candidates that people wrote
        mid_of_people | | | with `n_splits`: the value of references held out, by the Gaussian of the others
        information | from 0 | | mutual information of the references and images, in nats
        n_rows | | | number of rows
        mid_per_row, mid_per_candidate | | | with `details`: pointwise mutual information, mean over the candidates of a
            row
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
        """Return the result for encoded captions and images."""
        return divergence_result(self, encoded, options, self.progress)
