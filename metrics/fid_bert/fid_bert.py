"""FID-BERT: are candidate captions and human captions samples of one distribution, by means and covariances?"""

import datasets
import evaluate
import numpy as np

from .frechet import (
    frechet_distances,
    joint_scatter,
    null_frechet_distances,
    pair_distances,
    pooled_frechet_distance,
    pooled_frechet_p_value,
)
from .shared_added_rows import added_rows_kept
from .shared_caption_rows import as_caption_rows, check_row_counts
from .shared_corpus_test import partitions_of
from .shared_distribution_results import (
    DISTRIBUTION_DEFAULTS,
    check_distribution_options,
    check_examined_row,
    distribution_result,
    examined_row,
    test_settings,
)
from .shared_embedding_rows import (
    ARRAY_COLUMNS,
    CAPTION_COLUMNS,
    Comparison,
    as_embedding_rows,
    check_no_captions,
    check_side_sizes,
    check_test_sizes,
    compare_embedding_rows,
    drawn_counts,
    embed_caption_rows,
    joint_row,
)
from .shared_options import check_flag, take_compute_options, take_load_options
from .shared_partition_test import P_VALUE_METHODS
from .shared_sentence_encoder import ENCODER_DEFAULTS, SentenceEncoder, check_encoder_options, encoder_settings
from .shared_signature import signature
from .shared_split_forms import split_forms

# Why a side needs two captions, for the message.
NO_COVARIANCE = (
    "One caption has no covariance: sample more, leave the row out, or use mmd_bert with estimator='biased'."
)

# Options of this module, at load or at compute time.
DEFAULTS = {"pooled": False, **ENCODER_DEFAULTS, **DISTRIBUTION_DEFAULTS}

_DESCRIPTION = """
FID-BERT compares the distribution of several candidate captions with the distribution of several human captions of the
same image or video: the squared Fréchet distance of their sentence embeddings, computed exactly from singular values of
small matrices, with exact p-values. 0 means equal means and covariances; larger values mean that the sets differ.
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
    predictions: n_rows lists of candidate captions; a plain string counts as one candidate.
    references: n_rows lists of reference captions.
        At least two captions a row in either column.
    prediction_embeddings, reference_embeddings: ready vectors in place of predictions and references, for compute only:
        n_rows floating-point arrays of shape (n_captions, d).
    pooled: True adds the value of all candidates against all references of all rows; default False.
    p_value: "none" (default), "exact" (all splits of a row) or "permutation" (n_resamples random ones).
    max_partitions: largest number of splits of a row for "exact", default 1,000,000.
    n_resamples: random splits of a row, draws of the corpus test, and resamples of the bootstrap; default 9,999.
    confidence_level: for example 0.95 adds a bootstrap interval over rows; default: no interval.
    seed: non-negative whole number, default 0.
    details: True adds per-row lists and the signature; default False.
    encoder: name or folder of a sentence-transformers model, or a function from a list of distinct captions to a
        floating-point array of shape (n, d); default sentence-transformers/all-MiniLM-L6-v2.
    device: "cpu", "cuda:0", ...; default: the best one there is.
    precision: "float32" (default), "bfloat16" or "float16", for the model's arithmetic.
    batch_size: captions embedded at once, default 64.
    Every option can be given to `evaluate.load` as well; None means "as given there".
Returns:
    fid_bert: mean squared Fréchet distance over rows, 0 (alike) or more;
        lower is better. It depends on the numbers of captions: compare only equal ones.
    n_rows: number of rows.
    fid_bert_pooled: with pooled.
    fid_bert_pooled_p_value: with pooled and p_value; candidates and references exchanged within rows only, n_resamples
        times.
    fid_bert_corpus_p_value: with p_value; do the sets differ over all rows? p-value of the mean over rows: one split of
        every row is drawn, n_resamples times; at least 1 / (n_resamples + 1). One row keeps its own p-value.
    fid_bert_z, fid_bert_excess: with p_value; how far the mean over rows lies above its mean under all splits, in
        standard deviations of the null distribution (NaN where no split changes it), and in the statistic's own unit.
        Around 0 for human captions, whatever their number.
    fid_bert_p_value, fid_bert_harmonic_mean_p: with p_value; the rows' p-values combined as in the paper, calibrated
        and raw. The harmonic mean cannot fall below fid_bert_smallest_p, however many rows there are.
    fid_bert_smallest_p, fid_bert_smallest_corpus_p: with p_value; the smallest p-value that any row, and the corpus,
        can have with sets of these sizes.
    fid_bert_ci_low, fid_bert_ci_high: with confidence_level; with p_value also fid_bert_excess_ci_low and
        fid_bert_excess_ci_high.
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
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class FidBert(evaluate.Metric):
    """Squared Fréchet distance of sentence embeddings, as an evaluate module."""

    def __init__(self, *args, **keywords):
        self.load_options = self.options = take_load_options(keywords, DEFAULTS)
        check_options(self.options)
        self.encoder = SentenceEncoder()
        super().__init__(*args, **keywords)

    def _info(self):
        captions = datasets.Sequence(datasets.Value("string"))
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_KWARGS_DESCRIPTION,
            features=datasets.Features({"predictions": captions, "references": captions}),
            reference_urls=["https://arxiv.org/abs/2209.07518"],
        )

    def add_batch(self, *, predictions=None, references=None, **keywords):
        """Check every row before evaluate casts it, then add the rows."""
        predictions, references = checked_rows(predictions, references)
        super().add_batch(predictions=predictions, references=references, **keywords)

    def add(self, *, prediction=None, reference=None, **keywords):
        """Check one row before evaluate casts it, then add it."""
        self.add_batch(predictions=[prediction], references=[reference], **keywords)

    def compute(
        self, *, predictions=None, references=None, prediction_embeddings=None, reference_embeddings=None, **options
    ):
        """Check the options of this call, then compute: from captions, or past evaluate's table from ready arrays."""
        self.options = take_compute_options(options, self.load_options)
        check_options(self.options)
        if prediction_embeddings is not None or reference_embeddings is not None:
            check_no_captions(predictions, references, len(self))
            rows = as_embedding_rows(prediction_embeddings, reference_embeddings)
            check_sizes(rows.predictions, rows.references, ARRAY_COLUMNS, self.options)
            return self._result(rows, ARRAY_COLUMNS)
        with added_rows_kept(self):
            return super().compute(predictions=predictions, references=references)

    def examine(self, *, predictions, references, row=0, **options):
        """Return the distances of one row and its statistic under every split, for drawings and diagnosis."""
        self.options = take_compute_options(options, self.load_options)
        check_options(self.options)
        predictions, references = checked_rows(predictions, references)
        check_examined_row(row, len(predictions), self.options)
        predictions, references = predictions[row : row + 1], references[row : row + 1]
        partitions = partitions_of((len(predictions[0]), len(references[0])), self.options)
        vectors = joint_row(embed_caption_rows(predictions, references, self._embed))
        n_candidates = len(predictions[0])
        null_blocks = null_frechet_distances(vectors, n_candidates, partitions)
        return examined_row(frechet_distances(vectors, n_candidates)[0], null_blocks, pair_distances(vectors)[0])

    def _compute(self, predictions, references):
        check_sizes(predictions, references, CAPTION_COLUMNS, self.options)
        return self._result(embed_caption_rows(predictions, references, self._embed), CAPTION_COLUMNS)

    def _embed(self, captions):
        return self.encoder.embed(captions, self.options, evaluate.utils.logging.tqdm)

    def _result(self, rows, columns):
        progress = evaluate.utils.logging.tqdm
        results = compare_embedding_rows(rows, compare, self.options, progress)
        result = distribution_result({"fid_bert": results.statistic}, results.tests, self.options)
        if self.options["pooled"]:
            result["fid_bert_pooled"] = float(pooled_frechet_distance(rows.vectors, *rows.counts(), progress))
            if self.options["p_value"] != "none":
                null_counts = drawn_counts(rows, self.options["n_resamples"], self.options["seed"])
                n_draws = self.options["n_resamples"]
                p_value = pooled_frechet_p_value(rows.vectors, *rows.counts(), null_counts, n_draws, progress)
                result["fid_bert_pooled_p_value"] = p_value
        return result | ({"signature": self._signature(columns)} if self.options["details"] else {})

    def _signature(self, columns):
        encoder = encoder_settings(self.options) if columns == CAPTION_COLUMNS else {"encoder": "ready arrays"}
        return signature(
            "fid_bert",
            **encoder,
            **test_settings(self.options),
        )


def compare(vectors, n_candidates):
    """Return the distances of rows of equal sizes, and their null values in units of the joint scatter."""
    scatter = joint_scatter(vectors)
    scaled = vectors / np.sqrt(scatter)[:, None, None]

    def null_values(part, partitions):
        return null_frechet_distances(scaled[part], n_candidates, partitions)

    return Comparison(frechet_distances(vectors, n_candidates), null_values, scatter)


def checked_rows(predictions, references):
    """Return both columns as lists of lists of captions, or raise for the first bad row."""
    predictions = as_caption_rows(predictions, "predictions", string_is_one_caption=True)
    references = as_caption_rows(references, "references")
    check_row_counts(len(predictions), len(references))
    check_side_sizes(predictions, references, CAPTION_COLUMNS, NO_COVARIANCE)
    return predictions, references


def check_options(options):
    """Raise unless every option of this module has a legal value."""
    check_flag("pooled", options["pooled"])
    check_encoder_options(options)
    check_distribution_options(options)


def check_sizes(predictions, references, columns, options):
    """Raise if a row has no covariance, or is too large for an exact test."""
    check_side_sizes(predictions, references, columns, NO_COVARIANCE)
    check_test_sizes(predictions, references, options)
