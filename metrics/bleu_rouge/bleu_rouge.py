"""BLEU-1 to 4 and ROUGE-L, with the conventions and the numbers of the COCO caption code."""

import evaluate

from .arrays import build_result
from .module import CollectionModule, signature
from .ngrams_bleu import bleu_of_sums
from .ngrams_rouge import candidate_scores
from .options import COCO_CITATION, DETAILS, About, value_table
from .rows import CAPTIONS
from .words_tokenizers import TOKENIZER, token_finder, tokenize_rows, tokenizer_name

# isort: split
# What the files above import: evaluate's loader copies only what is named here. Written by `make format`.
from .errors import quote_value as quote_value
from .files import inline_bytes as inline_bytes
from .ngrams import RowTexts as RowTexts
from .ngrams_cider import cider_scores as cider_scores
from .row_images import text_key as text_key
from .words_ptb import Shape as Shape

_DESCRIPTION = """
BLEU counts the n-grams that a caption has in common with human captions, ROUGE-L the longest common subsequence. Both
are computed as the COCO caption code computes them, for the corpus as papers report it, and for every caption.
"""

_EXAMPLES = """
>>> bleu_rouge = evaluate.load("metrics/bleu_rouge")  # on the Hub: "manycaps/bleu_rouge"
>>> result = bleu_rouge.compute(
...     predictions=["a man watches a film", "a dog runs"],
...     references=[["a man watches a movie", "a person in a cinema"], ["a dog is running on the beach"]],
... )
>>> {key: round(result[key], 4) for key in ("bleu_1_corpus", "bleu_4_corpus", "rouge_l")}
{'bleu_1_corpus': 0.4549, 'bleu_4_corpus': 0.3606, 'rouge_l': 0.5865}
"""


class BleuRouge(CollectionModule, evaluate.Metric):
    """BLEU and ROUGE-L of captions against human captions, as an evaluate module."""

    ABOUT = About(
        _DESCRIPTION,
        COCO_CITATION,
        _EXAMPLES,
        ["https://aclanthology.org/P02-1040", "https://aclanthology.org/W04-1013"],
    )
    COLUMNS = CAPTIONS
    OPTIONS = TOKENIZER | DETAILS
    VALUES = value_table("""
        * bleu_4_corpus | 0 to 1 | higher | BLEU-4 of all candidates together: their n-grams and lengths are summed
            first. Papers report this
        bleu_1_corpus, bleu_2_corpus, bleu_3_corpus | 0 to 1 | higher | the same for shorter n-grams
        * rouge_l | 0 to 1 | higher | mean over rows of the mean over a row's candidates of ROUGE-L. Papers report this
        bleu_1, bleu_2, bleu_3, bleu_4 | 0 to 1 | higher | mean over rows of BLEU of single captions, which is not the
            BLEU of the corpus
        n_rows | | | number of rows
        ..._per_row, ..._per_candidate | | | with `details`
        signature | | | with `details`: everything that determines the numbers
    """)
    token_finder = token_finder

    def result(self, predictions, references, options):
        """Score the captions, and return the result."""
        return self.score_with_sums(predictions, references, options)[0]

    def score_with_sums(self, predictions, references, options):
        """Return the result, and the statistics of every candidate, whose sums give BLEU of a larger corpus."""
        tokens = (tokenize_rows(rows, options["tokenizer"]) for rows in (predictions, references))
        scores, statistics = candidate_scores(*tokens)
        result = {f"bleu_{n}_corpus": value for n, value in enumerate(bleu_of_sums(statistics).tolist(), start=1)}
        result |= build_result(scores, [len(row) for row in predictions], options["details"])
        if options["details"]:
            result["signature"] = signature("bleu_rouge", tokenizer=tokenizer_name(options["tokenizer"]))
        return result, statistics
