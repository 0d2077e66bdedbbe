"""RefPAC-S: how well captions fit their images and the closest of their reference captions."""

import evaluate

from .base import PAC_CITATION, About, with_shared_parts
from .clip_scores import PacModule, largest_by_caption, pac_s, ref_pac_s, text_places
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
RefPAC-S scores captions against their images and against human captions of them: the harmonic mean of PAC-S and of the
largest text-to-text cosine with a reference, both from a CLIP tuned with positive-augmented contrastive learning.
Higher is better.
"""

_KWARGS_DESCRIPTION = with_shared_parts(
    "ref_pac_score",
    """
Args:
    predictions: n_rows lists of candidate captions, or n_rows strings: one caption per row.
    images: n_rows images: paths, bytes, PIL images, arrays or tensors of pixels, or a `datasets` column;
        or the features of an image in its place, floats of shape (d,).
    references: n_rows lists of reference captions, or n_rows strings.
    prediction_embeddings, reference_embeddings: ready features in place of predictions and references, for compute
        only and beside features of images: n_rows floating-point arrays of shape (n_captions, d). No checkpoint is
        used.
    prompt: words before every caption and reference, default "A photo depicts"; "" for none.
    weight: factor of the image cosine, default 2.0; RefCLIP-S has 2.5.
    <options of PAC>
Returns:
    ref_pac_score: mean over rows of the mean over a row's candidates, 0 to 2 weight / (weight + 1); higher is better.
    pac_score: the same without references, 0 to weight.
    n_rows: number of rows.
    n_truncated: captions of which words were not read; n_windowed: with "window", captions read in several windows.
    ref_pac_score_per_row, ref_pac_score_per_candidate, pac_score_per_row, pac_score_per_candidate,
    signature: with details.
Examples:
    >>> ref_pac = evaluate.load("metrics/ref_pac_score", checkpoint="path/to/checkpoint.pth")  # doctest: +SKIP
    >>> import numpy as np
    >>> ref_pac_s(np.array([1.0, 2.0]), np.array([1.0, -0.5])).tolist()
    [1.0, 0.0]
""",
)


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class RefPacScore(PacModule, evaluate.Metric):
    """RefPAC-S of captions, images and references, as an evaluate module."""

    ABOUT = About(
        _DESCRIPTION,
        PAC_CITATION,
        _KWARGS_DESCRIPTION,
        ["https://arxiv.org/abs/2303.12112", "https://github.com/aimagelab/pacscore"],
    )
    OWN_COLUMNS = ("predictions", "images", "references")
    progress = evaluate.utils.logging.tqdm

    def _compute(self, predictions, images, references, options):
        return self.caption_result([predictions, references], images, options)

    def scores_of(self, texts, pictures, sizes, options):
        """Return RefPAC-S and PAC-S of all candidates."""
        places = text_places(*sizes)
        image_cosines = paired_cosines(texts.distinct, pictures, texts.rows[: len(places.rows)], places.rows)
        text_cosines = paired_cosines(
            texts.distinct, texts.distinct, texts.rows[places.captions], texts.rows[places.references]
        )
        pac_scores = pac_s(image_cosines, options["weight"])
        ref_pac_scores = ref_pac_s(pac_scores, largest_by_caption(text_cosines, places.n_references))
        return {"ref_pac_score": ref_pac_scores, "pac_score": pac_scores}
