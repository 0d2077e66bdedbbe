"""TRM-CIDEr: are candidate captions and human captions samples of one distribution, by CIDEr-D distance?"""

import datasets
import evaluate
import numpy as np

from .cider_distance import cider_d_scores, cider_distances, document_frequencies, multi_reference_cider_d
from .document_frequency import (
    DocumentFrequency,
    check_document_frequency,
    check_enough_documents,
    load_document_frequency,
)
from .shared_added_rows import added_rows_kept
from .shared_caption_rows import as_caption_rows, check_row_counts, check_row_sizes
from .shared_caption_tokens import check_tokenizer, tokenize_rows, tokenizer_name
from .shared_corpus_test import row_keys
from .shared_distribution_results import (
    DISTRIBUTION_DEFAULTS,
    check_distribution_options,
    check_enough_rows,
    check_examined_row,
    distribution_result,
    test_settings,
)
from .shared_ngrams import ngram_ids
from .shared_options import check_choice, take_compute_options, take_load_options
from .shared_partition_test import P_VALUE_METHODS
from .shared_ptb_tokenizer import tokenize_captions
from .shared_signature import signature
from .shared_triangle_rank import STATISTICS, TIE_TOLERANCE
from .shared_triangle_rank_rows import examine_triangle_ranks, triangle_rank_rows

# Options of this module, at load or at compute time.
DEFAULTS = {"statistic": "per_side", "tokenizer": "ptb", "document_frequency": None, **DISTRIBUTION_DEFAULTS}

_DESCRIPTION = """
TRM-CIDEr compares the distribution of several candidate captions with the distribution of several human captions of the
same image or video: the triangle-rank statistic over CIDEr-D distances, computed exactly, with exact p-values. The
statistic grows when candidates are wrong, and also when they are all alike. Sets of finite size are not at 0 even when
both are human; the excess over the mean of all splits is.
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
    references: n_rows lists of reference captions. At least three captions a row in all.
    statistic: "per_side" (default, one Q for each kind of triangle, as in the authors' program) or "pooled" (equation 4
        of the paper as printed, in which opposite deviations of the two kinds cancel).
    p_value: "none" (default), "exact" (all splits of a row) or "permutation" (n_resamples random ones).
    max_partitions: largest number of splits of a row for "exact", default 1,000,000.
    n_resamples: random splits of a row, draws of the corpus test, and resamples of the bootstrap; default 9,999.
    confidence_level: for example 0.95 adds a bootstrap interval over rows; default: no interval.
    seed: non-negative whole number, default 0.
    details: True adds per-row lists and the signature; default False.
    document_frequency: None (default: counted in the references, one document a row, so at least two rows), or a table
        of the layout {"n_documents": 8092, "document_frequency": {"a dog": 312, ...}}, or the path of a JSON file.
    tokenizer: "ptb" (default) or a function from a caption to its list of tokens.
    Every option can be given to `evaluate.load` as well; None means "as given there".
Returns:
    trm_cider: mean statistic over rows, 0 to 8/3, or to 4/3 for "pooled"; lower is better.
    cider_d: mean CIDEr-D of the candidates against all their references, 0 to 10; higher is better.
    n_rows: number of rows.
    trm_cider_corpus_p_value: with p_value; do the sets differ over all rows? p-value of the mean over rows: one split
        of every row is drawn, n_resamples times; at least 1 / (n_resamples + 1). One row keeps its own p-value.
    trm_cider_z, trm_cider_excess: with p_value; how far the mean over rows lies above its mean under all splits, in
        standard deviations of the null distribution (NaN where no split changes it), and in the statistic's own unit.
        Around 0 for human captions, whatever their number.
    trm_cider_p_value, trm_cider_harmonic_mean_p: with p_value; the rows' p-values combined as in the paper, calibrated
        and raw. The harmonic mean cannot fall below trm_cider_smallest_p, however many rows there are.
    trm_cider_smallest_p, trm_cider_smallest_corpus_p: with p_value; the smallest p-value that any row, and the corpus,
        can have with sets of these sizes.
    trm_cider_ci_low, trm_cider_ci_high: with confidence_level; with p_value also trm_cider_excess_ci_low and
        trm_cider_excess_ci_high.
    trm_cider_per_row, cider_d_per_row, trm_cider_excess_per_row,
        trm_cider_p_value_per_row, signature: with details.
Examples:
    >>> trm_cider = evaluate.load("metrics/trm_cider")  # on the Hub: "manycaps/trm_cider"
    >>> result = trm_cider.compute(
    ...     predictions=[["a dog runs on the beach"] * 3, ["a man cooks", "a man flips a pancake"]],
    ...     references=[["a dog by the sea", "a brown dog plays"], ["a father makes breakfast", "a man at the stove"]],
    ...     p_value="exact",
    ... )
    >>> keys = ("trm_cider", "trm_cider_excess", "trm_cider_corpus_p_value")
    >>> {key: round(result[key], 2) for key in keys}
    {'trm_cider': 2.0, 'trm_cider_excess': 0.81, 'trm_cider_corpus_p_value': 0.1}
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class TrmCider(evaluate.Metric):
    """Triangle-rank statistic over CIDEr-D distances, as an evaluate module."""

    def __init__(self, *args, **keywords):
        self.load_options = self.options = take_load_options(keywords, DEFAULTS)
        check_options(self.options)
        self.table = self.table_source = None
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

    def compute(self, *, predictions=None, references=None, **options):
        """Check the options of this call, then compute; after an error the rows added before it are still there."""
        self.options = take_compute_options(options, self.load_options)
        check_options(self.options)
        with added_rows_kept(self):
            return super().compute(predictions=predictions, references=references)

    def examine(self, *, predictions, references, row=0, **options):
        """Return the distances of one row and its statistic under every split, for drawings and diagnosis."""
        self.options = take_compute_options(options, self.load_options)
        check_options(self.options)
        predictions, references = checked_rows(predictions, references)
        check_examined_row(row, len(predictions), self.options)
        self.frequency = self._document_frequency(references)
        return examine_triangle_ranks(predictions[row], references[row], self._compare, self.options)

    def _compute(self, predictions, references):
        check_enough_rows(len(predictions), self.options)
        self.frequency = self._document_frequency(references)
        rows = triangle_rank_rows(
            predictions,
            references,
            self._compare,
            multi_reference_cider_d,
            row_keys(predictions, references),
            self.options,
            evaluate.utils.logging.tqdm,
        )
        result = distribution_result({"trm_cider": rows.statistic, "cider_d": rows.plain}, rows.tests, self.options)
        return result | ({"signature": self._signature()} if self.options["details"] else {})

    def _document_frequency(self, references):
        source = self.options["document_frequency"]
        if source is None:
            check_enough_documents(len(references))
            tokens = tokenize_rows(references, self.options["tokenizer"])
            return DocumentFrequency(document_frequencies(tokens), len(references))
        if source is not self.table_source:
            self.table, self.table_source = load_document_frequency(source), source
        return self.table

    def _compare(self, rows):
        tokens = tokenize_rows(rows, self.options["tokenizer"])
        scores = cider_d_scores(tokens, self.frequency.counts, self.frequency.n_documents)
        return np.stack(scores), np.stack(cider_distances(tokens, scores))

    def _signature(self):
        return signature(
            "trm_cider",
            statistic=self.options["statistic"],
            ties=TIE_TOLERANCE,
            tokenizer=tokenizer_name(self.options["tokenizer"]),
            document_frequency="references" if self.options["document_frequency"] is None else "table",
            n_documents=self.frequency.n_documents,
            **test_settings(self.options),
        )


def checked_rows(predictions, references):
    """Return both columns as lists of lists of captions, or raise for the first bad row."""
    predictions = as_caption_rows(predictions, "predictions", string_is_one_caption=True)
    references = as_caption_rows(references, "references")
    check_row_counts(len(predictions), len(references))
    check_row_sizes(predictions, references, n_texts=3)
    return predictions, references


def check_options(options):
    """Raise unless every option of this module has a legal value."""
    check_choice("statistic", options["statistic"], STATISTICS)
    check_tokenizer(options["tokenizer"])
    check_document_frequency(options["document_frequency"])
    check_distribution_options(options)
