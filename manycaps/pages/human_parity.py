"""The page of human parity: two boxes of captions, the answer, and where to look."""

import functools
import math
from typing import Any

import gradio as gr

from .examples import EXAMPLE_CAPTIONS
from .form import Form, Page
from .inputs import BOXES, caption_box, rows_of_text_box
from .module_page import CONFIDENCE, LIMITS
from .plots import caption_bars, histogram_figure
from .results import Drawing, leading_tables

# Distances of the page: no data are read for them but the installation's.
DISTANCE_OF_LABEL = {"sentence embeddings": "bert", "METEOR": "meteor"}

# Captions of the drawing.
N_DRAWN = 12


def form(module: Any) -> Form:
    """Return the inputs and outputs of the page."""
    names = list(DISTANCE_OF_LABEL)
    return Form(
        title="Human Parity",
        introduction=(
            "How many of several captions of each image are faults, and how like people's are they, which is not how "
            "good: bland, formulaic or repeated? One test over all images, and shares beside what people give."
        ),
        inputs=[caption_box(*BOXES[column]) for column in ("predictions", "references")],
        options=[gr.Dropdown(names, value=names[0], label="Distance of two captions", render=False)],
        drawings=["Captions among people", "Captions most unlike people's"],
        examples={name: (*boxes, names[0]) for name, boxes in EXAMPLE_CAPTIONS.items()},
        measure=functools.partial(measure, module),
    )


def measure(module: Any, candidates: str, references: str, distance: str) -> tuple[str, Drawing, Drawing, str]:
    """Compare both boxes: the answer, captions among people's distances, those most unlike people's, other values."""
    rows = {
        "predictions": rows_of_text_box(candidates, "predictions", LIMITS),
        "references": rows_of_text_box(references, "references", LIMITS),
    }
    several = len(rows["predictions"]) > 1
    result = module.compute(
        **rows, distance=DISTANCE_OF_LABEL[distance], details=True, confidence_level=CONFIDENCE if several else None
    )
    result |= {
        key: int(result[key])
        for key in ("rows_needed", "rows_needed_ci_low", "rows_needed_ci_high")
        if math.isfinite(result.get(key, math.nan))
    }
    # Each caption of a row once.
    distance_of = {
        (row, rows["predictions"][row][candidate]): result["distance_per_candidate"][row][candidate]
        for row, candidate in result["most_unlike_people"]
    }
    distances, captions = list(distance_of.values())[:N_DRAWN], [caption for _, caption in distance_of][:N_DRAWN]
    sentences = module.words(result) if several else ["One image: give more for an answer with intervals."]
    leading, others = leading_tables(result, module)
    return (
        f"### {' '.join(sentences)}\n\nWhat it sees and what it misses: [card below](#card).\n\n{leading}",
        histogram_figure(result["distance_histogram"]),
        caption_bars(distances, captions, "mean distance from people's captions"),
        others,
    )


HUMAN_PARITY = Page(form, "human_parity")
