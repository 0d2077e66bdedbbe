"""MMD-BERT: are candidate captions and human captions samples of one distribution, by a kernel on embeddings?"""

import evaluate

# A zip of the repository holds the texts of its symbolic links. Written by `make format`.
with open(__file__.removesuffix("mmd_bert.py") + "base_module.py", encoding="utf-8") as _linked:
    if _linked.read(6) == "../../":
        raise ImportError(
            "mmd_bert: expected Python files, got the texts of symbolic links. Run "
            "`pip install .` in the repository, or `manycaps export mmd_bert FOLDER` where it is installed."
        )

from .base_module import About, check_choice, check_flag, signature
from .sets_module import DISTRIBUTION_DEFAULTS, check_distribution_options, signature_settings
from .text_sentence_encoder import ENCODER_DEFAULTS, check_encoder_options
from .vectors_kernels import check_bandwidth, gaussian_kernel
from .vectors_mmd import ESTIMATORS, mmd_comparison
from .vectors_pooled_mmd import pooled_mmd_p_value, pooled_mmd_squared
from .vectors_rows import EmbeddingModule, check_side_sizes, drawn_counts

# isort: split
# What the files above import: evaluate's loader copies only what is named here. Written by `make format`.
from .base_feature_memory import RememberedFeatures as RememberedFeatures
from .base_files import is_regular_file as is_regular_file
from .base_messages import shown_value as shown_value
from .base_rows import as_caption_rows as as_caption_rows
from .base_types import Ints as Ints
from .sets_splits import exact_splits as exact_splits
from .text_windows import sentences as sentences
from .vectors_checks import check_no_captions as check_no_captions
from .vectors_pairs import n_threads as n_threads

# The same for imports within functions: the loader reads on between these quotes. Written by `make format`.
IMPORTED_LATER = '''
from .sets_corpus import RowTests
from .sets_intervals import ClusteredMean
'''  # fmt: skip

_DESCRIPTION = """
MMD-BERT compares the distribution of several candidate captions with the distribution of several human captions of the
same image or video: the squared maximum mean discrepancy of their sentence embeddings, with a Gaussian kernel and exact
p-values. Around 0 means that the two sets look alike; larger values mean that they differ.
"""

_CITATION = """
@inproceedings{chan2022distribution,
  title={Distribution Aware Metrics for Conditional Natural Language Generation},
  author={Chan, David M. and Ni, Yiming and Ross, David A. and Vijayanarasimhan, Sudheendra
          and Myers, Austin and Canny, John F.},
  year={2022},
  eprint={2209.07518},
  archivePrefix={arXiv}
}
"""

_KWARGS_DESCRIPTION = """
Args:
    predictions: n_rows lists of candidate captions, or n_rows strings: one caption a row.
    references: n_rows lists of reference captions, or n_rows strings.
    prediction_embeddings, reference_embeddings: ready vectors in place of predictions and references, for compute only:
        n_rows floating-point arrays of shape (n_captions, d).
    estimator: "unbiased" (default; mean 0 for two samples of one distribution; two captions a side), "biased" (0 for
        equal sets) or "authors" (the normalisation of the authors' program).
    sigma: bandwidth of the kernel, "median" (default: half the median distance of the row's pairs), "mean" or a number.
    pooled: True adds the value of all candidates against all references of all rows; default False.
    p_value: "none" (default), "exact" (all splits of a row) or "permutation" (n_resamples random ones).
    max_partitions: largest number of splits of a row for "exact", default 1,000,000.
    n_resamples: random splits of a row, and draws of the corpus test; default 9,999.
    confidence_level: for example 0.95 adds an interval of the mean over rows; default: no interval.
    clusters: one label per row, equal ones for rows that depend on each other; default: none do.
    seed: non-negative whole number, default 0.
    details: True adds per-row lists and the signature; default False.
    encoder: name or folder of a sentence-transformers model, or a function from a list of distinct captions to a
        floating-point array of shape (n, d); default sentence-transformers/all-MiniLM-L6-v2.
    device: "auto" (default, the best available one), or for example "cuda:0".
    dtype: "float32" (default), "bfloat16" or "float16", for the model's arithmetic.
    batch_size: captions embedded at once, default 64.
    long_texts: of texts that are longer than the model reads (256 word pieces for the default): "truncate" (default) or
        "window", the mean over windows of whole sentences.
    Every option can be given to `evaluate.load` as well; None means "as given there".
Returns:
    mmd_bert: mean squared discrepancy over rows, at most 2; lower is better, and around 0 is alike.
    n_rows: number of rows.
    n_truncated: texts of which words were not read, of a model that says how much it reads; n_windowed: with
        long_texts="window", texts read in several windows.
    mmd_bert_pooled: with pooled.
    mmd_bert_pooled_p_value: with pooled and p_value; candidates and references exchanged within rows only, n_resamples
        times.
    mmd_bert_corpus_p_value: with p_value; do the sets differ over all rows? p-value of the mean over rows: one split of
        every row is drawn, n_resamples times; at least 1 / (n_resamples + 1). One row keeps its own p-value.
    mmd_bert_z, mmd_bert_excess: with p_value; how far the mean over rows lies above its mean under all splits, in
        standard deviations of the null distribution (NaN where no split changes it), and in the statistic's own unit.
        Around 0 for human captions, whatever their number.
    mmd_bert_p_value, mmd_bert_harmonic_mean_p: with p_value; the rows' p-values combined as in the paper, calibrated
        and raw. The harmonic mean cannot fall below mmd_bert_smallest_p, however many rows there are.
    mmd_bert_smallest_p, mmd_bert_smallest_corpus_p: with p_value; the smallest p-value that any row, and the corpus,
        can have with sets of these sizes.
    mmd_bert_ci_low, mmd_bert_ci_high: with confidence_level; with p_value also mmd_bert_excess_ci_low and
        mmd_bert_excess_ci_high.
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
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class MmdBert(EmbeddingModule, evaluate.Metric):
    """Squared maximum mean discrepancy of sentence embeddings, as an evaluate module."""

    ABOUT = About(_DESCRIPTION, _CITATION, _KWARGS_DESCRIPTION, ["https://arxiv.org/abs/2209.07518"])
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

    def _signature(self, options, settings):
        return signature(
            "mmd_bert",
            estimator=options["estimator"],
            sigma=options["sigma"],
            **settings,
            **signature_settings(options),
        )
