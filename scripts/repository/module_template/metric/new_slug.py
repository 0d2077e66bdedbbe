"""New Slug: how many words each candidate caption shares with a human caption of its image."""

import evaluate
import numpy as np

from .arrays import build_result
from .module import CollectionModule, signature
from .options import DETAILS, About, value_table
from .rows import CAPTIONS
from .text_new_slug import word_overlap
from .words_tokenizers import TOKENIZER, token_finder, tokenize_rows, tokenizer_name

_DESCRIPTION = """
New Slug compares the words of each candidate caption with the words of human captions of the same image: the share of
all words that both use, of the human caption with most. Higher is better.
"""

_CITATION = """
@article{jaccard1912distribution,
  title={The Distribution of the Flora in the Alpine Zone},
  author={Jaccard, Paul},
  journal={New Phytologist},
  year={1912}
}
"""

_EXAMPLES = """
>>> new_slug = evaluate.load("metrics/new_slug")  # on the Hub: "manycaps/new_slug"
>>> new_slug.compute(predictions=[["a dog", "a wet dog"]], references=[["a dog runs", "a cat"]])
{'new_slug': 0.5833333333333333, 'n_rows': 1}
"""


class NewSlug(CollectionModule, evaluate.Metric):
    """Overlap of the words of captions and human captions, as an evaluate module."""

    ABOUT = About(_DESCRIPTION, _CITATION, _EXAMPLES)
    COLUMNS = CAPTIONS
    OPTIONS = TOKENIZER | DETAILS
    VALUES = value_table("""
        * new_slug | 0 to 1 | higher | mean over rows of the mean over candidates: 1 for the same words
        n_rows | | | number of rows
        new_slug_per_row, new_slug_per_candidate | 0 to 1 | higher | with `details`
        signature | | | with `details`: everything that determines the numbers
    """)
    token_finder = token_finder

    def result(self, predictions, references, options):
        """Return the result of these columns."""
        rows = zip(*(tokenize_rows(side, options["tokenizer"]) for side in (predictions, references)), strict=True)
        overlaps = [max(word_overlap([text, other]) for other in human) for texts, human in rows for text in texts]
        sizes = [len(row) for row in predictions]
        result = build_result({"new_slug": np.array(overlaps)}, sizes, options["details"])
        if options["details"]:
            result["signature"] = signature("new_slug", tokenizer=tokenizer_name(options["tokenizer"]))
        return result
