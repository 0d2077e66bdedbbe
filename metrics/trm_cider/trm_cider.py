"""TRM-CIDEr: are candidate captions and human captions samples of one distribution, by CIDEr-D distance?"""

import evaluate
import numpy as np

from .ngrams import DOCUMENT_FREQUENCY, FREQUENCIES, frequency_settings
from .ngrams_cider import cider_d_scores, cider_distances, multi_reference_cider_d
from .options import CHAN_CITATION, About, value_table
from .sets_module import SET_OPTIONS, SETS_OF_THREE, SetMetric, caption_rows, check_three_texts, set_values
from .triangle_rank import STATISTIC, TRIANGLES, triangle_rank_comparison
from .words_tokenizers import TOKENIZER, ngram_tokens, token_finder, tokenizer_name

# isort: split
# What the files above import: evaluate's loader copies only what is named here. Written by `make format`.
from .arrays import map_in_order as map_in_order
from .errors import quote_value as quote_value
from .files import inline_bytes as inline_bytes
from .module import CollectionModule as CollectionModule
from .row_images import text_key as text_key
from .rows import as_caption_rows as as_caption_rows
from .sets_tests import exact_splits as exact_splits
from .words_ptb import Shape as Shape

_DESCRIPTION = """
TRM-CIDEr compares the distribution of several candidate captions with the distribution of several human captions of the
same image or video: the triangle-rank statistic over CIDEr-D distances, computed exactly, with exact p-values. The
statistic grows when candidates are wrong, and also when they are all alike. Sets of finite size are not at 0 even when
both are human; the excess over the mean of all splits is.
"""

_EXAMPLES = """
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


class TrmCider(SetMetric, evaluate.Metric):
    """Triangle-rank statistic over CIDEr-D distances, as an evaluate module."""

    ABOUT = About(_DESCRIPTION, CHAN_CITATION, _EXAMPLES, ["https://arxiv.org/abs/2209.07518"])
    COLUMNS = SETS_OF_THREE
    OPTIONS = STATISTIC | TOKENIZER | DOCUMENT_FREQUENCY | SET_OPTIONS
    VALUES = value_table("""
        * trm_cider | 0 to 8/3 (`pooled`: 4/3) | lower | mean of Q over rows
        * cider_d | 0 to 10 | higher | mean over rows of the mean over candidates of CIDEr-D against all references of
            the row (the paper's equation 1)
    """) + set_values("trm_cider", "cider_d", untested=True)
    token_finder = token_finder
    PARTS = FREQUENCIES
    ROW_CHECKS = (check_three_texts,)
    SETS = TRIANGLES._replace(plain="cider_d")

    def rows_of(self, predictions, references, options):
        """Return the rows, and how a batch of them is tokenized and compared by the ranks of CIDEr-D distances."""
        # A row is a document, in which an n-gram counts once: `ngrams.document_ngrams`.
        frequency = self.frequencies.count(references, options)

        def compare(rows, n_candidates):
            tokens = ngram_tokens(rows, options["tokenizer"])
            scores = cider_d_scores(tokens, frequency.counts, frequency.n_documents)
            plain = multi_reference_cider_d(np.stack(scores), n_candidates)
            distances = np.stack(cider_distances(tokens, scores))
            return triangle_rank_comparison(distances, n_candidates, options["statistic"], plain)

        settings = {"tokenizer": tokenizer_name(options["tokenizer"]), **frequency_settings(frequency, options)}
        return caption_rows(predictions, references, compare, **settings)
