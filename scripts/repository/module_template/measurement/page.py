"""The page of New Slug: captions of several images."""

import functools
from typing import Any

import gradio as gr

from .form import Form, Page
from .limits import CaptionLimits
from .results import result_table
from .text_boxes import rows_of_text_box

# Limits of one call of a public page: rows, captions in a row, characters of a caption.
LIMITS = CaptionLimits(rows=50, captions_per_row=50, characters_per_caption=300)

# Keys of the table and their meanings.
MEANINGS = {"new_slug": "words of a caption, mean over rows", "n_rows": "number of rows"}


def form(module: Any) -> Form:
    """Return the inputs and outputs of the page."""
    return Form(
        title="New Slug",
        introduction="How many words do the captions of an image have? An empty line begins the next image.",
        inputs=[gr.Textbox(label="Captions", lines=12, max_lines=12, render=False)],
        # With a single box gradio takes what the example returns for the value of the box.
        examples={"Two images": lambda: "a dog\ntwo dogs run\n\na cat"},
        measure=functools.partial(measure, module),
    )


def measure(module: Any, captions: str) -> list[str]:
    """Compute the box."""
    return [result_table(module.compute(data=rows_of_text_box(captions, "data", LIMITS)), MEANINGS)]


NEW_SLUG = Page(form, "new_slug")
