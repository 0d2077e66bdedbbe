"""TRM-METEOR: are candidate captions and human captions samples of one distribution, by METEOR distance?"""

import evaluate
import numpy as np

# A zip of the repository holds the texts of its symbolic links. Written by `make format`.
with open(__file__.removesuffix("trm_meteor.py") + "base_descriptions.py", encoding="utf-8") as _linked:
    if _linked.read(6) == "../../":
        raise ImportError(
            "trm_meteor: expected Python files, got the texts of symbolic links. Run "
            "`pip install .` in the repository, or `manycaps export trm_meteor FOLDER` where it is installed."
        )

from .base_descriptions import CHAN_CITATION, with_shared_parts
from .base_module import About, check_choice
from .sets_module import DISTRIBUTION_DEFAULTS, DistributionModule, caption_rows, check_distribution_options
from .sets_triangle_rank import STATISTICS, TriangleRanks, triangle_rank_comparison
from .text_meteor import METEORS, meteor_distances, meteor_scorer, meteor_settings, multi_reference_meteor
from .text_tokens import check_tokenizer, token_finder, tokenize_rows, tokenizer_name

# isort: split
# What the files above import: evaluate's loader copies only what is named here. Written by `make format`.
from .base_messages import shown_value as shown_value
from .base_rows import as_caption_rows as as_caption_rows
from .sets_splits import exact_splits as exact_splits
from .text_named_tokenizers import TokenizerSource as TokenizerSource
from .text_ptb_tokenizer import Shape as Shape

# The same for imports within functions: the loader reads on between these quotes. Written by `make format`.
IMPORTED_LATER = '''
from .base_files import inline_bytes
from .base_types import Ints
from .meteor15_data import DataFiles
from .meteor15_scores import pair_statistics
from .meteor15_search import Matches
from .meteor15_stems import english_stem
from .meteor15_table import compile_table
from .meteor15_texts import PhraseTable
from .meteor15_tokens import Prefixes
from .sets_corpus import RowTests
from .sets_intervals import ClusteredMean
from .text_ngrams import RowTexts
'''  # fmt: skip

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
    token_finder = token_finder
    PLAIN = "meteor"
    progress = evaluate.utils.logging.tqdm

    def check_options(self, options):
        """Raise unless every option of this module has a legal value."""
        check_choice("statistic", options["statistic"], STATISTICS)
        check_choice("meteor", options["meteor"], METEORS)
        if options["meteor15_data"] is not None:
            from .meteor15_data import check_data_source

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
