"""FID-BERT: are candidate captions and human captions samples of one distribution, by means and covariances?"""

import functools

import evaluate
import numpy as np

from .frechet import frechet_comparison, pooled_frechet_p_value, pooled_frechet_squared
from .options import CHAN_CITATION, About, value_table
from .rows import CAPTIONS
from .sets_module import SET_OPTIONS, SetMetric, Sets, set_values
from .vectors_rows import POOLED, READY_VECTORS, Vectors, check_side_sizes, encode_rows, pooled_values
from .vectors_sentences import ENCODER_OPTIONS, LONG_TEXT_VALUES, SENTENCES

# isort: split
# What the files above import: evaluate's loader copies only what is named here. Written by `make format`.
from .arrays import map_in_order as map_in_order
from .errors import quote_value as quote_value
from .files import inline_bytes as inline_bytes
from .module import CollectionModule as CollectionModule
from .row_images import text_key as text_key
from .sets_tests import exact_splits as exact_splits
from .vectors_models import RememberedFeatures as RememberedFeatures
from .words_ptb import Shape as Shape

# Why a side needs two captions, for the message.
NO_COVARIANCE = (
    "One caption has no covariance: sample more, leave the row out, or use mmd_bert with estimator='biased'."
)

_DESCRIPTION = """
FID-BERT compares the distribution of several candidate captions with the distribution of several human captions of the
same image or video: the squared Fréchet distance of their sentence embeddings, computed exactly from singular values of
small matrices, with exact p-values. 0 means equal means and covariances; larger values mean that the sets differ.
"""

_EXAMPLES = """
>>> fid_bert = evaluate.load("metrics/fid_bert")  # on the Hub: "manycaps/fid_bert"
>>> prediction_embeddings = [[[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]]
>>> reference_embeddings = [[[3.0, 0.0], [0.0, 3.0], [3.0, 3.0]]]
>>> result = fid_bert.compute(
...     prediction_embeddings=prediction_embeddings, reference_embeddings=reference_embeddings, p_value="exact"
... )
>>> keys = ("fid_bert", "fid_bert_excess", "fid_bert_corpus_p_value")
>>> {key: round(result[key], 2) for key in keys}
{'fid_bert': 6.22, 'fid_bert_excess': 1.13, 'fid_bert_corpus_p_value': 0.1}
"""


def whole_corpus(embedded, options, progress):
    """Return the distance of the whole corpus, and its p-value, where they are asked for."""
    value = functools.partial(pooled_frechet_squared, progress=progress)
    p_value = functools.partial(pooled_frechet_p_value, n_draws=options["n_resamples"], progress=progress)
    return pooled_values("fid_bert", embedded, options, value, p_value)


class FidBert(SetMetric, evaluate.Metric):
    """Squared Fréchet distance of sentence embeddings, as an evaluate module."""

    ABOUT = About(_DESCRIPTION, CHAN_CITATION, _EXAMPLES, ["https://arxiv.org/abs/2209.07518"])
    COLUMNS = CAPTIONS | {
        "references": (
            "n_rows lists of reference captions. Rows may have different numbers of captions: at least two "
            "candidates and two references."
        )
    }
    READY = READY_VECTORS
    OPTIONS = POOLED | ENCODER_OPTIONS | SET_OPTIONS
    VALUES = (
        value_table("""
        * fid_bert | 0 or more | lower | mean squared Fréchet distance over rows; 0 for equal means and covariances. It
            depends on the numbers of captions: compare only equal ones
    """)
        + LONG_TEXT_VALUES
        + set_values("fid_bert", pooled=True)
    )
    PARTS = SENTENCES
    ROW_CHECKS = (lambda sizes, columns: check_side_sizes(sizes, columns, NO_COVARIANCE),)
    SETS = Sets(value_range=lambda _options: (0.0, np.inf), corpus_values=whole_corpus)
    VECTORS = Vectors(lambda vectors, n_candidates, _options: frechet_comparison(vectors, n_candidates))
    rows_of = encode_rows
