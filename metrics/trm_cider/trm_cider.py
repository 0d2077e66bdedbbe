"""TRM-CIDEr: are candidate captions and human captions samples of one distribution, by CIDEr-D distance?"""

import evaluate
import numpy as np

from .base import CHAN_CITATION, About, check_choice, with_shared_parts
from .caption_sets import DISTRIBUTION_DEFAULTS, DistributionModule, caption_rows, check_distribution_options
from .ngram_scores import (
    CountsDocuments,
    check_document_frequency,
    cider_d_scores,
    cider_distances,
    frequency_settings,
    multi_reference_cider_d,
)
from .tokenization import check_tokenizer, ngram_tokens, token_finder, tokenizer_name
from .triangle_rank import STATISTICS, TriangleRanks, triangle_rank_comparison

_DESCRIPTION = """
TRM-CIDEr compares the distribution of several candidate captions with the distribution of several human captions of the
same image or video: the triangle-rank statistic over CIDEr-D distances, computed exactly, with exact p-values. The
statistic grows when candidates are wrong, and also when they are all alike. Sets of finite size are not at 0 even when
both are human; the excess over the mean of all splits is.
"""

_KWARGS_DESCRIPTION = with_shared_parts(
    "trm_cider",
    """
Args:
    predictions: n_rows lists of candidate captions, or n_rows strings: one caption per row.
    references: n_rows lists of reference captions, or n_rows strings. At least three captions per row in all.
    <statistic>
    <test options>
    document_frequency: None (default: counted in the references, one document per row, at least two rows), or a table
        of the layout {"n_documents": 8092, "document_frequency": {"a dog": 312, ...}}, or the path of a JSON file.
    tokenizer: "ptb" (default), another name of a tokenizer, or a function from a caption to its list of tokens.
    Every option can be given to `evaluate.load` as well; None means "as given there".
Returns:
    trm_cider: mean statistic over rows, 0 to 8/3, or to 4/3 for "pooled"; lower is better.
    cider_d: mean CIDEr-D of the candidates against all their references, 0 to 10; higher is better.
    n_rows: number of rows.
    <test results>
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
""",
)


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class TrmCider(CountsDocuments, TriangleRanks, DistributionModule, evaluate.Metric):
    """Triangle-rank statistic over CIDEr-D distances, as an evaluate module."""

    ABOUT = About(_DESCRIPTION, CHAN_CITATION, _KWARGS_DESCRIPTION, ["https://arxiv.org/abs/2209.07518"])
    DEFAULTS = {"statistic": "per_side", "tokenizer": "ptb", "document_frequency": None, **DISTRIBUTION_DEFAULTS}
    token_finder = token_finder
    PLAIN = "cider_d"
    progress = evaluate.utils.logging.tqdm

    def check_options(self, options):
        """Raise unless every option of this module has a legal value."""
        check_choice("statistic", options["statistic"], STATISTICS)
        check_tokenizer(options["tokenizer"])
        check_document_frequency(options["document_frequency"])
        check_distribution_options(options)

    def rows_of(self, predictions, references, options):
        """Return the rows, which are compared by CIDEr-D."""
        frequency = self.document_frequency(references, options)

        def compare(rows, n_candidates):
            tokens = ngram_tokens(rows, options["tokenizer"])
            scores = cider_d_scores(tokens, frequency.counts, frequency.n_documents)
            plain = multi_reference_cider_d(np.stack(scores), n_candidates)
            distances = np.stack(cider_distances(tokens, scores))
            return triangle_rank_comparison(distances, n_candidates, options["statistic"], plain)

        return caption_rows(predictions, references, compare, **frequency_settings(frequency, options))

    def signature_parts(self, options):
        """Return what decides the numbers besides the texts, the test and the intervals."""
        return {**super().signature_parts(options), "tokenizer": tokenizer_name(options["tokenizer"])}
