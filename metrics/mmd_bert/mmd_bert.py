"""MMD-BERT: are candidate captions and human captions samples of one distribution, by a kernel on embeddings?"""

import evaluate

from .base import CHAN_CITATION, About, check_choice, check_flag, with_shared_parts
from .caption_sets import DISTRIBUTION_DEFAULTS, check_distribution_options
from .embeddings import ENCODER_DEFAULTS, check_encoder_options
from .kernel_tests import (
    ESTIMATORS,
    check_bandwidth,
    gaussian_kernel,
    mmd_comparison,
    pooled_mmd_p_value,
    pooled_mmd_squared,
)
from .vector_rows import EmbeddingModule, check_side_sizes, drawn_counts

# isort: split
# What the files above import: evaluate's loader copies only what is named here. Written by `make format`.
from .tokenization import Shape as Shape

_DESCRIPTION = """
MMD-BERT compares the distribution of several candidate captions with the distribution of several human captions of the
same image or video: the squared maximum mean discrepancy of their sentence embeddings, with a Gaussian kernel and exact
p-values. Around 0 means that the two sets look alike; larger values mean that they differ.
"""

_KWARGS_DESCRIPTION = with_shared_parts(
    "mmd_bert",
    """
Args:
    predictions: n_rows lists of candidate captions, or n_rows strings: one caption per row.
    references: n_rows lists of reference captions, or n_rows strings.
    prediction_embeddings, reference_embeddings: ready vectors in place of predictions and references, for compute only:
        n_rows floating-point arrays of shape (n_captions, d).
    estimator: "unbiased" (default; mean 0 for two samples of one distribution; two captions per side), "biased" (0 for
        equal sets) or "authors" (the normalisation of the authors' program).
    sigma: bandwidth of the kernel, "median" (default: half the median distance of the row's pairs), "mean" or a number.
    pooled: True adds the value of all candidates against all references of all rows; default False.
    <test options>
    <encoder>
    <encoder options>
    Every option can be given to `evaluate.load` as well; None means "as given there".
Returns:
    mmd_bert: mean squared discrepancy over rows, at most 2; lower is better, and around 0 is alike.
    n_rows: number of rows.
    <long texts>
    <pooled results>
    <test results>
    mmd_bert_per_row, mmd_bert_excess_per_row,
        mmd_bert_p_value_per_row, signature: with details.
Examples:
    >>> mmd_bert = evaluate.load("metrics/mmd_bert")  # on the Hub: "manycaps/mmd_bert"
    >>> prediction_embeddings = [[[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]]
    >>> reference_embeddings = [[[3.0, 0.0], [0.0, 3.0], [3.0, 3.0]]]
    >>> result = mmd_bert.compute(
    ...     prediction_embeddings=prediction_embeddings, reference_embeddings=reference_embeddings, p_value="exact"
    ... )
    >>> keys = ("mmd_bert", "mmd_bert_excess", "mmd_bert_corpus_p_value")
    >>> {key: round(result[key], 2) for key in keys}
    {'mmd_bert': 0.42, 'mmd_bert_excess': 0.42, 'mmd_bert_corpus_p_value': 0.1}
""",
)


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class MmdBert(EmbeddingModule, evaluate.Metric):
    """Squared maximum mean discrepancy of sentence embeddings, as an evaluate module."""

    ABOUT = About(_DESCRIPTION, CHAN_CITATION, _KWARGS_DESCRIPTION, ["https://arxiv.org/abs/2209.07518"])
    DEFAULTS = {
        "estimator": "unbiased",
        "sigma": "median",
        "pooled": False,
        **ENCODER_DEFAULTS,
        **DISTRIBUTION_DEFAULTS,
    }
    progress = evaluate.utils.logging.tqdm

    def check_options(self, options):
        """Raise unless every option of this module has a legal value."""
        check_choice("estimator", options["estimator"], ESTIMATORS)
        check_bandwidth(options["sigma"])
        check_flag("pooled", options["pooled"])
        check_encoder_options(options)
        check_distribution_options(options)

    def value_range(self, options):
        return (0.0 if options["estimator"] == "biased" else -2.0), 2.0

    def check_sizes(self, sizes, columns, options):
        """Raise if a row is too small for the estimator, or too large for its test."""
        if options["estimator"] != "biased":
            reason = f"estimator={options['estimator']!r} leaves out pairs of a caption with itself"
            check_side_sizes(sizes, columns, f"{reason}: use estimator='biased'.")
        super().check_sizes(sizes, columns, options)

    def compare_vectors(self, vectors, n_candidates, options):
        """Compare rows of vectors by the mean of a kernel within and across the sets."""
        return mmd_comparison(gaussian_kernel(vectors, options["sigma"]), n_candidates, options["estimator"])

    def pooled_values(self, embedded, options):
        """Return the value of the whole corpus, and its p-value."""
        settings, counts = (options["sigma"], options["estimator"]), embedded.counts()
        pooled = pooled_mmd_squared(embedded.vectors, *counts, *settings, self.progress)
        values = {"mmd_bert_pooled": float(pooled)}
        if options["p_value"] != "none":
            drawn = drawn_counts(embedded, options["n_resamples"], options["seed"])
            p_value = pooled_mmd_p_value(embedded.vectors, *counts, drawn, *settings, self.progress)
            values["mmd_bert_pooled_p_value"] = p_value
        return values

    def signature_parts(self, options):
        """Return what decides the numbers besides the texts, the test and the intervals."""
        return {"estimator": options["estimator"], "sigma": options["sigma"]}
