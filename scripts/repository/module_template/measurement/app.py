"""Demo page of New Slug: `python app.py`, or a Space made of this folder."""

import pathlib

import evaluate
import gradio as gr
from shared_demo_form import CaptionLimits, Form, build_page, caption_rows, result_table, serve

# What one call may cost on a public page: rows, captions in a row, characters of a caption.
LIMITS = CaptionLimits(rows=50, captions_per_row=50, characters_per_caption=300)

# What the table shows, and what it means.
MEANINGS = {"new_slug": "words of a caption, mean over rows", "n_rows": "number of rows"}

new_slug = evaluate.load(str(pathlib.Path(__file__).resolve().parent / "new_slug.py"))


def measure(captions):
    """Compute the box."""
    return [result_table(new_slug.compute(data=caption_rows(captions, "data", LIMITS)), MEANINGS)]


page = build_page(
    Form(
        title="New Slug",
        introduction="How many words do the captions of an image have? An empty line begins the next image.",
        inputs=[gr.Textbox(label="Captions", lines=12, max_lines=12, render=False)],
        options=[],
        drawings=[],
        examples={"Two images": ["a dog\ntwo dogs run\n\na cat"]},
        measure=measure,
    )
)

if __name__ == "__main__":
    serve(page)
