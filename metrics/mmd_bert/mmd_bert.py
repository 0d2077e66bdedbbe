"""MMD-BERT: are candidate captions and human captions samples of one distribution, by a kernel on embeddings?"""

import functools

import evaluate

from .mmd_pooled import pooled_mmd_p_value, pooled_mmd_squared
from .mmd_rows import ESTIMATORS, check_bandwidth, gaussian_kernel, mmd_comparison
from .options import CHAN_CITATION, About, Option, by_value, one_of, value_table
from .rows import CAPTIONS
from .sets_module import SET_OPTIONS, SetMetric, Sets, set_values
from .vectors_rows import POOLED, READY_VECTORS, Vectors, check_estimator_sizes, encode_rows, pooled_values
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

_DESCRIPTION = """
MMD-BERT compares the distribution of several candidate captions with the distribution of several human captions of the
same image or video: the squared maximum mean discrepancy of their sentence embeddings, with a Gaussian kernel and exact
p-values. Around 0 means that the two sets look alike; larger values mean that they differ.
"""

_EXAMPLES = """
>>> mmd_bert = evaluate.load("metrics/mmd_bert")  # on the Hub: "manycaps/mmd_bert"
>>> prediction_embeddings = [[[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]]
>>> reference_embeddings = [[[3.0, 0.0], [0.0, 3.0], [3.0, 3.0]]]
>>> result = mmd_bert.compute(
...     prediction_embeddings=prediction_embeddings, reference_embeddings=reference_embeddings, p_value="exact"
... )
>>> keys = ("mmd_bert", "mmd_bert_excess", "mmd_bert_corpus_p_value")
>>> {key: round(result[key], 2) for key in keys}
{'mmd_bert': 0.42, 'mmd_bert_excess': 0.42, 'mmd_bert_corpus_p_value': 0.1}
"""

# The smallest and largest mean squared discrepancy; the authors' sums hold the diagonal, 1 / (n - 1) too much.
VALUE_RANGES = {"unbiased": (-2.0, 2.0), "biased": (0.0, 2.0), "authors": (0.0, 4.00002)}


def compare_by_kernel(vectors, n_candidates, options):
    """Compare rows of vectors by the mean of a kernel within and across the sets."""
    return mmd_comparison(gaussian_kernel(vectors, options["sigma"]), n_candidates, options["estimator"])


def whole_corpus(embedded, options, progress):
    """Return the value of the whole corpus, and its p-value, where they are asked for."""
    settings = {"sigma": options["sigma"], "estimator": options["estimator"], "progress": progress}
    functions = (functools.partial(function, **settings) for function in (pooled_mmd_squared, pooled_mmd_p_value))
    return pooled_values("mmd_bert", embedded, options, *functions)


class MmdBert(SetMetric, evaluate.Metric):
    """Squared maximum mean discrepancy of sentence embeddings, as an evaluate module."""

    ABOUT = About(_DESCRIPTION, CHAN_CITATION, _EXAMPLES, ["https://arxiv.org/abs/2209.07518"])
    COLUMNS = CAPTIONS | {
        "references": (
            "n_rows lists of reference captions. Rows may have different numbers of captions: at least two "
            'candidates and two references, or one of each with `estimator="biased"`.'
        )
    }
    READY = READY_VECTORS
    OPTIONS = (
        {
            "estimator": Option(
                "unbiased",
                one_of(ESTIMATORS),
                '`"unbiased"` (mean 0 for two samples of one distribution; two captions per side), `"biased"` (0 for '
                'equal sets) or `"authors"` (the normalisation of the authors\' program), see below.',
            ),
            "sigma": Option(
                "median",
                by_value(check_bandwidth),
                'Bandwidth of the kernel: `"median"` or `"mean"`, half the median or mean distance of all pairs of '
                "the row's captions (of an even number of distances, the lower of the two in the middle, as in "
                "torch), or a number.",
            ),
        }
        | POOLED
        | ENCODER_OPTIONS
        | SET_OPTIONS
    )
    VALUES = (
        value_table("""
        * mmd_bert | unbiased: about -1 to 2; biased: 0 to 2; authors: 0 to 4.00002 | lower | mean squared discrepancy
            over rows; unbiased: 0 on average for two samples of one distribution
    """)
        + LONG_TEXT_VALUES
        + set_values("mmd_bert", pooled=True)
    )
    PARTS = SENTENCES
    SETS = Sets(
        value_range=lambda options: VALUE_RANGES[options["estimator"]],
        size_checks=(check_estimator_sizes,),
        settings=lambda options: {"estimator": options["estimator"], "sigma": options["sigma"]},
        corpus_values=whole_corpus,
    )
    VECTORS = Vectors(compare_by_kernel)
    rows_of = encode_rows
