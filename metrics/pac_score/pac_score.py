"""PAC-S: how well captions fit their images, by CLIP tuned with positive-augmented contrastive learning."""

import evaluate
import numpy as np

# A zip of the repository holds the texts of its symbolic links. Written by `make format`.
with open(__file__.removesuffix("pac_score.py") + "base_descriptions.py", encoding="utf-8") as _linked:
    if _linked.read(6) == "../../":
        raise ImportError(
            "pac_score: expected Python files, got the texts of symbolic links. Run "
            "`pip install .` in the repository, or `manycaps export pac_score FOLDER` where it is installed."
        )

from .base_descriptions import PAC_CITATION, with_shared_parts
from .base_module import About
from .clip_cosines import paired_cosines
from .clip_pac_module import PacModule
from .clip_pac_scores import pac_s

# isort: split
# What the files above import: evaluate's loader copies only what is named here. Written by `make format`.
from .base_feature_memory import RememberedFeatures as RememberedFeatures
from .base_files import inline_bytes as inline_bytes
from .base_messages import shown_value as shown_value
from .base_rows import as_caption_rows as as_caption_rows
from .base_scores import scored_result as scored_result
from .clip_checkpoints import Checkpoint as Checkpoint
from .clip_encoder import TextFeatures as TextFeatures
from .clip_image_features import encode_images as encode_images
from .clip_model import ClipTokens as ClipTokens
from .clip_options import chosen_variant as chosen_variant
from .clip_variants import Treatment as Treatment
from .clip_weights import LazyLibrary as LazyLibrary
from .media_images import stored_value as stored_value
from .text_windows import sentences as sentences
from .vectors_checks import check_no_captions as check_no_captions

_DESCRIPTION = """
PAC-S scores captions against their images without references: the cosine of CLIP features, from a CLIP whose last
projections were tuned on human and generated captions and images (positive-augmented contrastive learning). With plain
CLIP weights and weight 2.5 the same module computes CLIP-S. Higher is better.
"""

_KWARGS_DESCRIPTION = with_shared_parts(
    "pac_score",
    """
Args:
    predictions: n_rows lists of candidate captions, or n_rows strings: one caption per row.
    images: n_rows images: paths, bytes, PIL images, arrays or tensors of pixels, or a `datasets` column;
        or the features of an image in its place, floats of shape (d,).
    prediction_embeddings: ready features in place of predictions, for compute only and beside features of images:
        n_rows floating-point arrays of shape (n_captions, d). No checkpoint is used.
    prompt: words before every caption, default "A photo depicts"; "" for none.
    weight: factor of the cosine, default 2.0; CLIP-S has 2.5.
    <options of PAC>
Returns:
    pac_score: mean over rows of the mean over a row's candidates, 0 to weight; higher is better.
    n_rows: number of rows.
    n_truncated: captions of which words were not read; n_windowed: with "window", captions read in several windows.
    pac_score_per_row, pac_score_per_candidate, signature: with details.
Examples:
    >>> pac_score = evaluate.load("metrics/pac_score", checkpoint="path/to/checkpoint.pth")  # doctest: +SKIP
    >>> pac_score.compute(predictions=["a red square"], images=["red_square.png"])  # doctest: +SKIP
    >>> pac_s(np.array([0.5, -0.5]), 2.0).tolist()
    [1.0, 0.0]
    >>> pac_s(np.array([0.5, -0.5]), 2.5).tolist()  # CLIP-S
    [1.25, 0.0]
""",
)


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class PacScore(PacModule, evaluate.Metric):
    """PAC-S of captions and images, as an evaluate module."""

    ABOUT = About(
        _DESCRIPTION,
        PAC_CITATION,
        _KWARGS_DESCRIPTION,
        ["https://arxiv.org/abs/2303.12112", "https://github.com/aimagelab/pacscore"],
    )
    OWN_COLUMNS = ("predictions", "images")
    progress = evaluate.utils.logging.tqdm

    def _compute(self, predictions, images, options):
        return self.caption_result([predictions], images, options)

    def scores_of(self, texts, pictures, sizes, options):
        """Return PAC-S of all candidates."""
        rows = np.repeat(np.arange(len(pictures)), sizes[0])
        return {"pac_score": pac_s(paired_cosines(texts.distinct, pictures, texts.rows, rows), options["weight"])}
