"""TRM-METEOR: are candidate captions and human captions samples of one distribution, by METEOR distance?"""

import evaluate
import numpy as np

from .meteor15_data import METEOR15_DATA
from .meteor_nltk import METEORS, distances_from_meteor, meteor_scorer, meteor_settings, multi_reference_meteor
from .options import CHAN_CITATION, About, Effect, Option, dependent_options, one_of, value_table
from .sets_module import SET_OPTIONS, SETS_OF_THREE, SetMetric, caption_rows, check_three_texts, set_values
from .triangle_rank import STATISTIC, TRIANGLES, triangle_rank_comparison
from .words_tokenizers import TOKENIZER, token_finder, tokenize_rows, tokenizer_name

# isort: split
# What the files above import: evaluate's loader copies only what is named here. Written by `make format`.
from .arrays import map_in_order as map_in_order
from .errors import quote_value as quote_value
from .files import inline_bytes as inline_bytes
from .meteor15_scores import pair_statistics as pair_statistics
from .meteor15_search import Matches as Matches
from .meteor15_words import Prefixes as Prefixes
from .module import CollectionModule as CollectionModule
from .ngrams import RowTexts as RowTexts
from .row_images import text_key as text_key
from .rows import as_caption_rows as as_caption_rows
from .sets_tests import exact_splits as exact_splits
from .words_ptb import Shape as Shape

_DESCRIPTION = """
TRM-METEOR compares the distribution of several candidate captions with the distribution of several human captions of
the same image or video: the triangle-rank statistic over METEOR distances, computed exactly, with exact p-values. The
statistic grows when candidates are wrong, and also when they are all alike. Sets of finite size are not at 0 even when
both are human; the excess over the mean of all splits is.
"""

_EXAMPLES = """
>>> trm_meteor = evaluate.load("metrics/trm_meteor")  # on the Hub: "manycaps/trm_meteor"
>>> result = trm_meteor.compute(
...     predictions=[["a dog runs on the beach"] * 3, ["a man cooks", "a man flips a pancake"]],
...     references=[["a dog by the sea", "a brown dog plays"], ["a father makes breakfast", "a man at the stove"]],
...     p_value="exact",
... )
>>> keys = ("trm_meteor", "trm_meteor_excess", "trm_meteor_corpus_p_value")
>>> {key: round(result[key], 2) for key in keys}
{'trm_meteor': 2.08, 'trm_meteor_excess': 0.65, 'trm_meteor_corpus_p_value': 0.06}
"""


class TrmMeteor(SetMetric, evaluate.Metric):
    """Triangle-rank statistic over METEOR distances, as an evaluate module."""

    ABOUT = About(_DESCRIPTION, CHAN_CITATION, _EXAMPLES, ["https://arxiv.org/abs/2209.07518"])
    COLUMNS = SETS_OF_THREE
    OPTIONS = (
        STATISTIC
        | {
            "meteor": Option(
                "nltk",
                one_of(METEORS),
                '`"nltk"` (METEOR as NLTK and the paper\'s program compute it) or `"1.5"` (METEOR 1.5, as captioning '
                "papers report it, without Java).",
            )
        }
        | dependent_options(Effect("meteor", "'1.5'", lambda options: options["meteor"] == "1.5"), METEOR15_DATA)
        | TOKENIZER
        | SET_OPTIONS
    )
    VALUES = value_table("""
        * trm_meteor | 0 to 8/3 (`pooled`: 4/3) | lower | mean of Q over rows
        * meteor | 0 to below 1 (`"1.5"`: 1) | higher | mean over rows of the mean over candidates of METEOR against all
            references of the row (the paper's equation 1)
    """) + set_values("trm_meteor", "meteor", untested=True)
    token_finder = token_finder
    ROW_CHECKS = (check_three_texts,)
    SETS = TRIANGLES._replace(plain="meteor")

    def rows_of(self, predictions, references, options):
        """Return the rows, and how a batch of them is tokenized and compared by the ranks of METEOR distances."""
        which = options["meteor"], options["meteor15_data"], self.progress
        score = meteor_scorer(*which)

        def compare(rows, n_candidates):
            tokens = tokenize_rows(rows, options["tokenizer"])
            scores = score(tokens)
            plain = multi_reference_meteor(np.stack(scores), n_candidates)
            distances = np.stack(distances_from_meteor(tokens, scores))
            return triangle_rank_comparison(distances, n_candidates, options["statistic"], plain)

        settings = {"tokenizer": tokenizer_name(options["tokenizer"]), **meteor_settings(*which)}
        return caption_rows(predictions, references, compare, **settings)
