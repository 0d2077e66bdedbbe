"""The page of New Slug: candidate captions beside human captions."""

import functools
from typing import Any

from .examples import EXAMPLE_CAPTIONS
from .form import Form, Page
from .limits import CaptionLimits
from .results import result_table
from .text_boxes import caption_boxes, rows_of_text_box

# Limits of one call of a public page: rows, captions of a set in a row, characters of a caption.
LIMITS = CaptionLimits(rows=50, captions_per_row=50, characters_per_caption=300)

# Keys of the table and their meanings.
MEANINGS = {
    "new_slug": "share of all words that both sides use, mean over rows: 0 to 1; higher is better",
    "n_rows": "number of rows",
}


def form(module: Any) -> Form:
    """Return the inputs and outputs of the page."""
    return Form(
        title="New Slug",
        introduction="How many words do candidate captions and human captions of an image share?",
        inputs=caption_boxes(),
        examples=EXAMPLE_CAPTIONS,
        measure=functools.partial(measure, module),
    )


def measure(module: Any, candidates: str, references: str) -> list[str]:
    """Compute both boxes."""
    result = module.compute(
        predictions=rows_of_text_box(candidates, "predictions", LIMITS),
        references=rows_of_text_box(references, "references", LIMITS),
    )
    return [result_table(result, MEANINGS)]


NEW_SLUG = Page(form, "new_slug")
