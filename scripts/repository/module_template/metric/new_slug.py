"""New Slug: how many words candidate captions and human captions of an image share."""

import math

import evaluate

from .base import CAPTIONS, DETAILS, About, CollectionModule, signature, value_table
from .text_new_slug import word_overlap

_DESCRIPTION = """
New Slug compares the words of the candidate captions with the words of human captions of the same image: the share of
all words that both sides use. Higher is better.
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
>>> new_slug.compute(predictions=[["a dog", "a wet dog"]], references=[["a dog runs"]])
{'new_slug': 0.5, 'n_rows': 1}
"""


class NewSlug(CollectionModule, evaluate.Metric):
    """Overlap of the words of two sets of captions, as an evaluate module."""

    ABOUT = About(_DESCRIPTION, _CITATION, _EXAMPLES)
    COLUMNS = CAPTIONS
    OPTIONS = DETAILS
    VALUES = value_table("""
        new_slug | 0 to 1 | higher | mean over rows: 0 for no common word, 1 for the same words
        n_rows | | | number of rows
        new_slug_per_row | | | with `details`
        signature | | | with `details`: everything that determines the numbers
    """)

    def result(self, predictions, references, options):
        """Return the result of these columns."""
        rows = zip(predictions, references, strict=True)
        per_row = [word_overlap([" ".join(side) for side in row]) for row in rows]
        # fsum is exact, so the order of the rows cannot change the last digit.
        result = {"new_slug": math.fsum(per_row) / len(per_row), "n_rows": len(per_row)}
        if options["details"]:
            result |= {"new_slug_per_row": per_row, "signature": signature("new_slug")}
        return result
