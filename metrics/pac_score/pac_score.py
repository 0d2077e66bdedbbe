"""PAC-S: how well captions fit their images, by CLIP tuned with positive-augmented contrastive learning."""

import evaluate
import numpy as np

from .base import PAC_CITATION, About, check_flag, scored_result, with_shared_parts
from .clip_scores import PacModule, pac_s, retrieval_ranks
from .embeddings import paired_cosines

# isort: split
# What the files above import: evaluate's loader copies only what is named here. Written by `make format`.
from .caption_sets import exact_splits as exact_splits
from .clip_checkpoints import Treatment as Treatment
from .clip_encoder import chosen_variant as chosen_variant
from .clip_model import read_weights as read_weights
from .images import stored_value as stored_value
from .tokenization import Shape as Shape
from .vector_rows import EmbeddingRows as EmbeddingRows
from .videos import EncodedVideo as EncodedVideo

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
    retrieval: True adds the rank of every caption's own image among the images of all rows; default False.
    <options of PAC>
Returns:
    pac_score: mean over rows of the mean over a row's candidates, 0 to weight; higher is better.
    n_rows: number of rows.
    n_truncated: captions of which words were not read; n_windowed: with "window", captions read in several windows.
    retrieval_rank: with retrieval, mean rank, from 1 (best), the mean one of images that are equally similar; equal
        images count once.
    recall_at_1, recall_at_5, recall_at_10: with retrieval, share of captions whose image is among the first 1, 5 or 10,
        0 to 1, higher is better.
    median_rank, n_images: with retrieval, median over captions, and number of different images.
    ..._per_row, ..._per_candidate, signature: with details.
Examples:
    >>> pac_score = evaluate.load("metrics/pac_score", checkpoint="path/to/checkpoint.pth")  # doctest: +SKIP
    >>> pac_score.compute(predictions=["a red square"], images=["red_square.png"])  # doctest: +SKIP
    >>> pac_s(np.array([0.5, -0.5]), 2.0).tolist()
    [1.0, 0.0]
    >>> pac_s(np.array([0.5, -0.5]), 2.5).tolist()  # CLIP-S
    [1.25, 0.0]
""",
)

# Numbers of images among which the own one is looked for, as retrieval is reported.
RECALLS = (1, 5, 10)


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
    DEFAULTS = {**PacModule.DEFAULTS, "retrieval": False}
    progress = evaluate.utils.logging.tqdm

    def check_options(self, options):
        """Raise unless every option of this module has a legal value."""
        super().check_options(options)
        check_flag("retrieval", options["retrieval"])

    def _compute(self, predictions, images, options):
        return self.caption_result([predictions], images, options)

    def scores_of(self, texts, pictures, sizes, options):
        """Return PAC-S of all candidates."""
        rows = np.repeat(np.arange(len(pictures)), sizes[0])
        return {"pac_score": pac_s(paired_cosines(texts.distinct, pictures, texts.rows, rows), options["weight"])}

    def _result(self, texts, pictures, sizes, options, settings):
        result = super()._result(texts, pictures, sizes, options, settings)
        if not options["retrieval"]:
            return result
        rows = np.repeat(np.arange(len(pictures)), sizes[0])
        found = retrieval_ranks(texts.distinct[texts.rows], pictures, rows)
        scores = {"retrieval_rank": found.ranks()} | {f"recall_at_{k}": found.recalls(k) for k in RECALLS}
        of_all = {"median_rank": float(np.median(found.ranks())), "n_images": found.n_images}
        return result | scored_result(scores, sizes[0], options["details"]) | of_all
