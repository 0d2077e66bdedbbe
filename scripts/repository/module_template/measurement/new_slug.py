"""New Slug: how many words all captions of an image share."""

import math

import evaluate

from .module import CollectionModule, signature
from .options import DETAILS, About, value_table
from .text_new_slug import word_overlap
from .words_tokenizers import TOKENIZER, token_finder, tokenize_rows, tokenizer_name

_DESCRIPTION = """
New Slug measures the share of all words of an image's captions that each of them uses.
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
>>> new_slug = evaluate.load("measurements/new_slug")  # on the Hub: "manycaps/new_slug"
>>> new_slug.compute(data=[["a dog", "a wet dog runs"], ["a cat"]])
{'new_slug': 0.75, 'n_rows': 2}
"""


class NewSlug(CollectionModule, evaluate.Measurement):
    """Overlap of the words of a set of captions, as an evaluate module."""

    ABOUT = About(_DESCRIPTION, _CITATION, _EXAMPLES)
    COLUMNS = {"data": "n_rows lists of captions, or n_rows strings."}
    OPTIONS = TOKENIZER | DETAILS
    VALUES = value_table("""
        * new_slug | 0 to 1 |  | mean over rows: 0 for no common word, 1 for the same words
        n_rows | | | number of rows
        new_slug_per_row | | | with `details`
        signature | | | with `details`: everything that determines the numbers
    """)
    token_finder = token_finder

    def result(self, data, options):
        """Return the result of these columns."""
        per_row = [word_overlap(row) for row in tokenize_rows(data, options["tokenizer"])]
        # fsum is exact, so the order of the rows cannot change the last digit.
        result = {"new_slug": math.fsum(per_row) / len(per_row), "n_rows": len(per_row)}
        if options["details"]:
            settings = {"tokenizer": tokenizer_name(options["tokenizer"])}
            result |= {"new_slug_per_row": per_row, "signature": signature("new_slug", **settings)}
        return result
