"""BLEU-1 to 4 and ROUGE-L, with the conventions and the numbers of the COCO caption code."""

import evaluate

from .base import COCO_CITATION, About, CollectionModule, check_flag, scored_result, signature
from .ngram_scores import candidate_scores, corpus_bleu
from .tokenization import check_tokenizer, token_finder, tokenize_rows, tokenizer_name

_DESCRIPTION = """
BLEU counts the n-grams that a caption has in common with human captions, ROUGE-L the longest common subsequence. Both
are computed as the COCO caption code computes them, for the corpus as papers report it, and for every caption.
"""

_KWARGS_DESCRIPTION = """
Args:
    predictions: n_rows lists of candidate captions, or n_rows strings: one caption per row.
    references: n_rows lists of reference captions, or n_rows strings.
    tokenizer: "ptb" (default, the tokens of the COCO caption code), another name of a tokenizer, or a function from a
        caption to its tokens.
    details: True adds per-row lists and the signature; default False.
    Every option can be given to `evaluate.load` as well; None means "as given there".
Returns:
    bleu_1_corpus, bleu_2_corpus, bleu_3_corpus, bleu_4_corpus: BLEU of all candidates together, 0 to 1, higher is
        better: what the COCO caption code and papers report.
    rouge_l: mean over rows of ROUGE-L, 0 to 1, higher is better: what they report.
    bleu_1, bleu_2, bleu_3, bleu_4: mean over rows of BLEU of single captions, 0 to 1; another number.
    n_rows: number of rows.
    ..._per_row, ..._per_candidate, signature: with details.
Examples:
    >>> bleu_rouge = evaluate.load("metrics/bleu_rouge")  # on the Hub: "manycaps/bleu_rouge"
    >>> result = bleu_rouge.compute(
    ...     predictions=["a man watches a film", "a dog runs"],
    ...     references=[["a man watches a movie", "a person in a cinema"], ["a dog is running on the beach"]],
    ... )
    >>> {key: round(result[key], 4) for key in ("bleu_1_corpus", "bleu_4_corpus", "rouge_l")}
    {'bleu_1_corpus': 0.4549, 'bleu_4_corpus': 0.3606, 'rouge_l': 0.5865}
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class BleuRouge(CollectionModule, evaluate.Metric):
    """BLEU and ROUGE-L of captions against human captions, as an evaluate module."""

    ABOUT = About(
        _DESCRIPTION,
        COCO_CITATION,
        _KWARGS_DESCRIPTION,
        ["https://aclanthology.org/P02-1040", "https://aclanthology.org/W04-1013"],
    )
    OWN_COLUMNS = ("predictions", "references")
    DEFAULTS = {"tokenizer": "ptb", "details": False}
    token_finder = token_finder

    def check_options(self, options):
        """Raise unless every option of this module has a legal value."""
        check_tokenizer(options["tokenizer"])
        check_flag("details", options["details"])

    def _compute(self, predictions, references, options):
        return self.scored(predictions, references, options)[0]

    def scored(self, predictions, references, options):
        """Return the result, and the statistics of every candidate, whose sums give BLEU of a larger corpus."""
        tokens = (tokenize_rows(rows, options["tokenizer"]) for rows in (predictions, references))
        scores, statistics = candidate_scores(*tokens)
        result = {f"bleu_{n}_corpus": value for n, value in enumerate(corpus_bleu(statistics).tolist(), start=1)}
        result |= scored_result(scores, [len(row) for row in predictions], options["details"])
        if options["details"]:
            result["signature"] = signature("bleu_rouge", tokenizer=tokenizer_name(options["tokenizer"]))
        return result, statistics
