"""TRM-METEOR: are candidate captions and human captions samples of one distribution, by METEOR distance?"""

import evaluate
import numpy as np

from .base import CHAN_CITATION, About, Effect, check_choice, with_shared_parts
from .caption_sets import (
    DISTRIBUTION_DEFAULTS,
    DISTRIBUTION_EFFECTS,
    DistributionModule,
    caption_rows,
    check_distribution_options,
)
from .meteor15_scores import check_data_source
from .meteor_nltk import METEORS, meteor_distances, meteor_scorer, meteor_settings, multi_reference_meteor
from .tokenization import check_tokenizer, token_finder, tokenize_rows, tokenizer_name
from .triangle_rank import STATISTICS, TriangleRanks, triangle_rank_comparison

# isort: split
# What the files above import: evaluate's loader copies only what is named here. Written by `make format`.
from .meteor15_search import english_stem as english_stem

_DESCRIPTION = """
TRM-METEOR compares the distribution of several candidate captions with the distribution of several human captions of
the same image or video: the triangle-rank statistic over METEOR distances, computed exactly, with exact p-values. The
statistic grows when candidates are wrong, and also when they are all alike. Sets of finite size are not at 0 even when
both are human; the excess over the mean of all splits is.
"""

_KWARGS_DESCRIPTION = with_shared_parts(
    "trm_meteor",
    """
Args:
    predictions: n_rows lists of candidate captions, or n_rows strings: one caption per row.
    references: n_rows lists of reference captions, or n_rows strings. At least three captions per row in all.
    <statistic>
    <test options>
    meteor: "nltk" (default, METEOR as the paper's program computes it) or "1.5" (that of the Java program, without
        Java), whose data `pip install pycocoevalcap` brings.
    meteor15_data: path of meteor-1.5.jar, or of a folder that holds it, instead of pycocoevalcap's.
    tokenizer: "ptb" (default), another name of a tokenizer, or a function from a caption to its list of tokens.
    Every option can be given to `evaluate.load` as well; None means "as given there".
Returns:
    trm_meteor: mean statistic over rows, 0 to 8/3, or to 4/3 for "pooled"; lower is better.
    meteor: mean METEOR of the candidates against all their references, 0 to below 1 ("1.5": 1); higher is better.
    n_rows: number of rows.
    <test results>
    trm_meteor_per_row, meteor_per_row, trm_meteor_excess_per_row,
        trm_meteor_p_value_per_row, signature: with details.
Examples:
    >>> trm_meteor = evaluate.load("metrics/trm_meteor")  # on the Hub: "manycaps/trm_meteor"
    >>> result = trm_meteor.compute(
    ...     predictions=[["a dog runs on the beach"] * 3, ["a man cooks", "a man flips a pancake"]],
    ...     references=[["a dog by the sea", "a brown dog plays"], ["a father makes breakfast", "a man at the stove"]],
    ...     p_value="exact",
    ... )
    >>> keys = ("trm_meteor", "trm_meteor_excess", "trm_meteor_corpus_p_value")
    >>> {key: round(result[key], 2) for key in keys}
    {'trm_meteor': 2.08, 'trm_meteor_excess': 0.65, 'trm_meteor_corpus_p_value': 0.06}
""",
)


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class TrmMeteor(TriangleRanks, DistributionModule, evaluate.Metric):
    """Triangle-rank statistic over METEOR distances, as an evaluate module."""

    ABOUT = About(_DESCRIPTION, CHAN_CITATION, _KWARGS_DESCRIPTION, ["https://arxiv.org/abs/2209.07518"])
    DEFAULTS = {
        "statistic": "per_side",
        "meteor": "nltk",
        "meteor15_data": None,
        "tokenizer": "ptb",
        **DISTRIBUTION_DEFAULTS,
    }
    EFFECTS = {
        **DISTRIBUTION_EFFECTS,
        "meteor15_data": Effect("meteor", "'1.5'", lambda options: options["meteor"] == "1.5"),
    }
    token_finder = token_finder
    PLAIN = "meteor"
    progress = evaluate.utils.logging.tqdm

    def check_options(self, options):
        """Raise unless every option of this module has a legal value."""
        check_choice("statistic", options["statistic"], STATISTICS)
        check_choice("meteor", options["meteor"], METEORS)
        if options["meteor15_data"] is not None:
            check_data_source(options["meteor15_data"])
        check_tokenizer(options["tokenizer"])
        check_distribution_options(options)

    def rows_of(self, predictions, references, options):
        """Return the rows, which are compared by METEOR."""
        score = meteor_scorer(options["meteor"], options["meteor15_data"], type(self).progress)

        def compare(rows, n_candidates):
            tokens = tokenize_rows(rows, options["tokenizer"])
            scores = score(tokens)
            plain = multi_reference_meteor(np.stack(scores), n_candidates)
            distances = np.stack(meteor_distances(tokens, scores))
            return triangle_rank_comparison(distances, n_candidates, options["statistic"], plain)

        return caption_rows(predictions, references, compare)

    def signature_parts(self, options):
        """Return what decides the numbers besides the texts, the test and the intervals."""
        parts = {**super().signature_parts(options), "tokenizer": tokenizer_name(options["tokenizer"])}
        return parts | meteor_settings(options["meteor"], options["meteor15_data"], type(self).progress)
