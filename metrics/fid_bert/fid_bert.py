"""FID-BERT: are candidate captions and human captions samples of one distribution, by means and covariances?"""

import evaluate
import numpy as np

# A zip of the repository holds the texts of its symbolic links. Written by `make format`.
with open(__file__.removesuffix("fid_bert.py") + "base_descriptions.py", encoding="utf-8") as _linked:
    if _linked.read(6) == "../../":
        raise ImportError(
            "fid_bert: expected Python files, got the texts of symbolic links. Run "
            "`pip install .` in the repository, or `manycaps export fid_bert FOLDER` where it is installed."
        )

from .base_descriptions import CHAN_CITATION, with_shared_parts
from .base_module import About, check_flag
from .sets_module import DISTRIBUTION_DEFAULTS, check_distribution_options
from .text_sentence_encoder import ENCODER_DEFAULTS, check_encoder_options
from .vectors_frechet import frechet_comparison, pooled_frechet_p_value, pooled_frechet_squared
from .vectors_rows import EmbeddingModule, check_side_sizes, drawn_counts

# isort: split
# What the files above import: evaluate's loader copies only what is named here. Written by `make format`.
from .base_feature_memory import RememberedFeatures as RememberedFeatures
from .base_files import inline_bytes as inline_bytes
from .base_messages import shown_value as shown_value
from .base_rows import as_caption_rows as as_caption_rows
from .base_types import Ints as Ints
from .sets_splits import exact_splits as exact_splits
from .text_ptb_tokenizer import Shape as Shape
from .text_windows import sentences as sentences
from .text_word_vectors import is_word_vectors as is_word_vectors
from .vectors_checks import check_no_captions as check_no_captions

# The same for imports within functions: the loader reads on between these quotes. Written by `make format`.
IMPORTED_LATER = '''
from .sets_corpus import RowTests
from .sets_intervals import ClusteredMean
'''  # fmt: skip

# Why a side needs two captions, for the message.
NO_COVARIANCE = (
    "One caption has no covariance: sample more, leave the row out, or use mmd_bert with estimator='biased'."
)

_DESCRIPTION = """
FID-BERT compares the distribution of several candidate captions with the distribution of several human captions of the
same image or video: the squared Fréchet distance of their sentence embeddings, computed exactly from singular values of
small matrices, with exact p-values. 0 means equal means and covariances; larger values mean that the sets differ.
"""

_KWARGS_DESCRIPTION = with_shared_parts(
    "fid_bert",
    """
Args:
    predictions: n_rows lists of candidate captions, or n_rows strings: one caption per row.
    references: n_rows lists of reference captions, or n_rows strings.
        At least two captions per row in either column.
    prediction_embeddings, reference_embeddings: ready vectors in place of predictions and references, for compute only:
        n_rows floating-point arrays of shape (n_captions, d).
    pooled: True adds the value of all candidates against all references of all rows; default False.
    <test options>
    <encoder>
    <encoder options>
    Every option can be given to `evaluate.load` as well; None means "as given there".
Returns:
    fid_bert: mean squared Fréchet distance over rows, 0 (alike) or more;
        lower is better. It depends on the numbers of captions: compare only equal ones.
    n_rows: number of rows.
    <long texts>
    <pooled results>
    <test results>
    fid_bert_per_row, fid_bert_excess_per_row,
        fid_bert_p_value_per_row, signature: with details.
Examples:
    >>> fid_bert = evaluate.load("metrics/fid_bert")  # on the Hub: "manycaps/fid_bert"
    >>> prediction_embeddings = [[[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]]
    >>> reference_embeddings = [[[3.0, 0.0], [0.0, 3.0], [3.0, 3.0]]]
    >>> result = fid_bert.compute(
    ...     prediction_embeddings=prediction_embeddings, reference_embeddings=reference_embeddings, p_value="exact"
    ... )
    >>> keys = ("fid_bert", "fid_bert_excess", "fid_bert_corpus_p_value")
    >>> {key: round(result[key], 2) for key in keys}
    {'fid_bert': 6.22, 'fid_bert_excess': 1.13, 'fid_bert_corpus_p_value': 0.1}
""",
)


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class FidBert(EmbeddingModule, evaluate.Metric):
    """Squared Fréchet distance of sentence embeddings, as an evaluate module."""

    ABOUT = About(_DESCRIPTION, CHAN_CITATION, _KWARGS_DESCRIPTION, ["https://arxiv.org/abs/2209.07518"])
    DEFAULTS = {"pooled": False, **ENCODER_DEFAULTS, **DISTRIBUTION_DEFAULTS}
    progress = evaluate.utils.logging.tqdm

    def check_options(self, options):
        """Raise unless every option of this module has a legal value."""
        check_flag("pooled", options["pooled"])
        check_encoder_options(options)
        check_distribution_options(options)

    def value_range(self, options):
        return 0.0, np.inf

    def check_rows(self, sizes, columns):
        """Raise unless every set has a covariance."""
        check_side_sizes(sizes, columns, NO_COVARIANCE)

    def compare_vectors(self, vectors, n_candidates, options):
        """Compare rows of vectors by means and covariances."""
        return frechet_comparison(vectors, n_candidates)

    def pooled_values(self, embedded, options):
        """Return the distance of the whole corpus, and its p-value."""
        counts = embedded.counts()
        pooled = pooled_frechet_squared(embedded.vectors, *counts, self.progress)
        values = {"fid_bert_pooled": float(pooled)}
        if options["p_value"] != "none":
            n_draws = options["n_resamples"]
            drawn = drawn_counts(embedded, n_draws, options["seed"])
            p_value = pooled_frechet_p_value(embedded.vectors, *counts, drawn, n_draws, self.progress)
            values["fid_bert_pooled_p_value"] = p_value
        return values
