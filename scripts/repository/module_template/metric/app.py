"""Demo page of New Slug: `python app.py`, or a Space made of this folder."""

import pathlib

import evaluate
from shared_demo_form import (
    EXAMPLE_CAPTIONS,
    CaptionLimits,
    Form,
    build_page,
    caption_boxes,
    caption_rows,
    result_table,
    serve,
)

# What one call may cost on a public page: rows, captions of a set in a row, characters of a caption.
LIMITS = CaptionLimits(rows=50, captions_per_row=50, characters_per_caption=300)

# What the table shows, and what it means.
MEANINGS = {
    "new_slug": "share of all words that both sides use, mean over rows: 0 to 1; higher is better",
    "n_rows": "number of rows",
}

new_slug = evaluate.load(str(pathlib.Path(__file__).resolve().parent / "new_slug.py"))


def measure(candidates, references):
    """Compute both boxes."""
    result = new_slug.compute(
        predictions=caption_rows(candidates, "predictions", LIMITS),
        references=caption_rows(references, "references", LIMITS),
    )
    return [result_table(result, MEANINGS)]


page = build_page(
    Form(
        title="New Slug",
        introduction="How many words do candidate captions and human captions of an image share?",
        inputs=caption_boxes(),
        options=[],
        drawings=[],
        examples=EXAMPLE_CAPTIONS,
        measure=measure,
    )
)

if __name__ == "__main__":
    serve(page)
