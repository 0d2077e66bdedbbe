"""New Slug: how many words all captions of an image share."""

import math

import evaluate

from .base import About, CollectionModule, check_flag, signature
from .text_new_slug import word_overlap

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

_KWARGS_DESCRIPTION = """
Args:
    data: n_rows lists of captions, or n_rows strings.
    details: True adds per-row lists and the signature; default False.
    Every option can be given to `evaluate.load` as well; None means "as given there".
Returns:
    new_slug: mean over rows, 0 (no common word) to 1 (the same words).
    n_rows: number of rows.
    new_slug_per_row, signature: with details.
Examples:
    >>> new_slug = evaluate.load("measurements/new_slug")  # on the Hub: "manycaps/new_slug"
    >>> new_slug.compute(data=[["a dog", "a wet dog runs"], ["a cat"]])
    {'new_slug': 0.75, 'n_rows': 2}
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class NewSlug(CollectionModule, evaluate.Measurement):
    """Overlap of the words of a set of captions, as an evaluate module."""

    ABOUT = About(_DESCRIPTION, _CITATION, _KWARGS_DESCRIPTION)
    OWN_COLUMNS = ("data",)
    DEFAULTS = {"details": False}

    def check_options(self, options):
        """Raise unless every option of this module has a legal value."""
        check_flag("details", options["details"])

    def _compute(self, data, options):
        per_row = [word_overlap(row) for row in data]
        # fsum is exact, so the order of the rows cannot change the last digit.
        result = {"new_slug": math.fsum(per_row) / len(per_row), "n_rows": len(per_row)}
        if options["details"]:
            result |= {"new_slug_per_row": per_row, "signature": signature("new_slug")}
        return result
