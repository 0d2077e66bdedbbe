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

MEANINGS = {
    "human_parity_p_value": "could people have written all candidates? Small values say no",
    "rows_needed": "images after which the test finds this, 80% of the time; the more, the more like people's",
    "rows_needed_ci_low": f"lower end of its {CONFIDENCE:.0%} interval",
    "rows_needed_ci_high": "upper end",
    "unlike_people_share": "captions farther from the human ones than 19 of 20 of these; people 0.05",
    "unlike_people_share_ci_low": "lower end of its interval",
    "unlike_people_share_ci_high": "upper end",
    "faulty_share": "captions that people would not write, by meaning or by wording; fewer is better",
    "faulty_share_of_people": "the same of people's own captions",
    "odd_wording_share": "captions worded less predictably than 19 of 20 human ones; people 0.05",
    "formulaic_share": "captions worded more predictably than 19 of 20 human ones; people 0.05",
    "wording_gap": "how much more predictable than people's its words are; people 0",
    "wrong_share_ci_low": "at least this share of the captions is not what people write",
    "ordinary_share": "captions nearer to the human ones than 19 of 20 of these; people 0.05",
    "near_duplicate_share": "pairs of captions nearer to each other than 19 of 20 pairs of human ones; people 0.05",
    "spread_share": "pairs of captions farther apart than 19 of 20 pairs of human ones; people 0.05",
    "copied_share": "captions that also occur among the human ones",
    "fidelity_gap": "how much farther from people than people are from each other; people 0",
    "diversity_gap": "how much more varied than people; people 0",
    "n_rows": "number of rows",
}


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
        for key in MEANINGS
        if key.startswith("rows_") and math.isfinite(result.get(key, math.nan))
    }
    # Each caption of a row once.
    distance_of = {
        (row, rows["predictions"][row][candidate]): result["distance_per_candidate"][row][candidate]
        for row, candidate in result["most_unlike_people"]
    }
    distances, captions = list(distance_of.values())[:N_DRAWN], [caption for _, caption in distance_of][:N_DRAWN]
    sentences = module.words(result) if several else ["One image: give more for an answer with intervals."]
    leading, others = leading_tables(result, MEANINGS, module.VALUES)
    return (
        f"### {' '.join(sentences)}\n\nWhat it sees and what it misses: [card below](#card).\n\n{leading}",
        histogram_figure(result["distance_histogram"]),
        caption_bars(distances, captions, "mean distance from people's captions"),
        others,
    )


HUMAN_PARITY = Page(form, "human_parity")
