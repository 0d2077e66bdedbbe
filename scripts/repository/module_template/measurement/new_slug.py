"""New Slug: how many words the captions of an image have."""

import math

import evaluate

from .base_module import About, CollectionModule, check_flag, signature
from .text_new_slug import mean_caption_length

_DESCRIPTION = """
New Slug measures how many words the captions of an image have on average.
"""

_CITATION = """
@misc{manycaps,
  title={manycaps},
  year={2026}
}
"""

_KWARGS_DESCRIPTION = """
Args:
    data: n_rows lists of captions, or n_rows strings.
    details: True adds per-row lists and the signature; default False.
    Every option can be given to `evaluate.load` as well; None means "as given there".
Returns:
    new_slug: mean over rows of the mean number of words, 0 or more.
    n_rows: number of rows.
    new_slug_per_row, signature: with details.
Examples:
    >>> new_slug = evaluate.load("measurements/new_slug")  # on the Hub: "manycaps/new_slug"
    >>> new_slug.compute(data=[["a dog", "two dogs run"], ["a cat"]])
    {'new_slug': 2.25, 'n_rows': 2}
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class NewSlug(CollectionModule, evaluate.Measurement):
    """Mean number of words of a set of captions, as an evaluate module."""

    ABOUT = About(_DESCRIPTION, _CITATION, _KWARGS_DESCRIPTION)
    OWN_COLUMNS = ("data",)
    DEFAULTS = {"details": False}

    def check_options(self, options):
        """Raise unless every option of this module has a legal value."""
        check_flag("details", options["details"])

    def _compute(self, data, options):
        per_row = [mean_caption_length(row) for row in data]
        # fsum is exact, so the order of the rows cannot change the last digit.
        result = {"new_slug": math.fsum(per_row) / len(per_row), "n_rows": len(per_row)}
        if options["details"]:
            result |= {"new_slug_per_row": per_row, "signature": signature("new_slug")}
        return result
