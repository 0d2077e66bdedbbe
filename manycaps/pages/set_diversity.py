"""The page of set_diversity: how different the captions of an image are, those of a system beside those of people."""

import functools
import math
from typing import Any

import gradio as gr

from .examples import EXAMPLE_CAPTIONS
from .form import Form, Page
from .limits import CaptionLimits
from .plots import share_bars
from .results import Drawing, result_table
from .text_boxes import caption_boxes, rows_of_text_box

# Limits of one call of a public page: rows, captions of a set in a row, characters of a caption.
LIMITS = CaptionLimits(rows=20, captions_per_row=20, characters_per_caption=300)

# Keys of the table for candidates and references, and their meanings.
VALUES = {
    "self_cider": "0 (one caption repeated) to 1 (nothing in common), by the eigenvalues of the CIDEr kernel",
    "vendi_ngram_1": "effective number of different captions, by their n-grams",
    "vendi_embedding_1": "effective number of different captions, by their meaning",
    "div_1": "different words as a share of the words",
    "div_2": "different pairs of words as a share of the words",
    "mbleu_4": "BLEU-4 of a caption against the others; lower is more diverse",
    "unique_share": "different captions as a share of the captions",
    "pairwise_distance": "mean cosine distance of two captions",
    "compression_ratio": "bytes divided by bytes after gzip; lower is more diverse",
}
MEANINGS = {
    key: text
    for name, meaning in VALUES.items()
    for key, text in ((name, meaning), (f"{name}_references", "the same of the human captions"))
} | {"n_rows": "number of rows"}

# Values between 0 and 1, for the drawing.
SHARES = ("self_cider", "div_1", "div_2", "mbleu_4", "unique_share")


def form(module: Any) -> Form:
    """Return the inputs and outputs of the page."""
    return Form(
        title="Set Diversity",
        introduction=(
            "How different from each other are the captions of an image, those of a system and those of people? With "
            "equal sizes, as many captions of both sides are measured as the smaller one has: most values depend on "
            "their number."
        ),
        inputs=caption_boxes(),
        options=[gr.Dropdown(["equal", "all"], value="equal", label="Captions to measure on each side", render=False)],
        drawings=["Candidates beside humans"],
        examples={name: (*boxes, "equal") for name, boxes in EXAMPLE_CAPTIONS.items()},
        measure=functools.partial(measure, module),
    )


def measure(module: Any, candidates: str, references: str, sizes: str) -> tuple[str, Drawing]:
    """Compute both boxes, and draw what lies between 0 and 1."""
    rows = {
        "predictions": rows_of_text_box(candidates, "predictions", LIMITS),
        "references": rows_of_text_box(references, "references", LIMITS),
    }
    result = module.compute(**rows, sizes=sizes)
    shares = {
        name: {"candidates": result[name], "humans": result[f"{name}_references"]}
        for name in SHARES
        if not math.isnan(result[name]) and not math.isnan(result[f"{name}_references"])
    }
    return result_table(result, MEANINGS), share_bars(shares)


SET_DIVERSITY = Page(form, "set_diversity")
