"""Demo page of TRM: `python app.py`, or a Space made of this folder."""

import pathlib

import evaluate
import gradio as gr
from shared_demo_form import (
    EXAMPLE_CAPTIONS,
    CaptionLimits,
    Form,
    build_page,
    caption_boxes,
    conclusion,
    corpus_meanings,
    distribution_options,
    measure_captions,
    result_table,
    serve,
)
from shared_demo_plots import heat_map, null_distribution
from shared_verdict import verdict

# What one call may cost on a public page: rows, captions of a set in a row, characters of a caption.
LIMITS = CaptionLimits(rows=20, captions_per_row=20, characters_per_caption=300)
# Splits of a row for an exact p-value: 10 + 10 captions have 184,756.
MAX_PARTITIONS = 200_000

# What the table shows, and what it means.
MEANINGS = {
    "trm": "triangle-rank statistic, mean over rows: 0 to 8/3 (pooled 4/3), above 0 for people; lower is better",
    **corpus_meanings("trm"),
    "nearest_distance": "mean distance of the candidates from the nearest reference; lower is better",
    "n_rows": "number of rows",
}

# What the page says of the distance in use.
DISTANCES = {
    "cosine": "1 minus the cosine of two embeddings.",
    "euclidean": "the length of the difference of two embeddings.",
    "cityblock": "the sum of the differences of all coordinates.",
    "chebyshev": "the largest difference of a coordinate.",
}

trm = evaluate.load(str(pathlib.Path(__file__).resolve().parent / "trm.py"))


def measure(candidates, references, distance, p_value, row):
    """Compute both boxes, and draw one row."""
    options = {"distance": distance, "p_value": p_value, "max_partitions": MAX_PARTITIONS}
    measured = measure_captions(trm, (candidates, references), LIMITS, row, **options)
    examined = measured.examined
    sentence = verdict(measured.result, "trm", "TRM")
    return (
        conclusion(
            sentence, f"the distance `{distance}`, {DISTANCES[distance]}", result_table(measured.result, MEANINGS)
        ),
        null_distribution(examined.null_statistics, examined.statistic, measured.p_value, "triangle-rank statistic Q"),
        heat_map(examined.pair_values, measured.candidates, measured.references, f"{distance} distance"),
    )


page = build_page(
    Form(
        title="TRM",
        introduction=(
            "Do several candidate captions look like samples of the same distribution as several human captions? The "
            "triangle-rank statistic over a distance of your choice, and a test over all images."
        ),
        inputs=caption_boxes(),
        options=distribution_options(
            gr.Dropdown(list(DISTANCES), value="cosine", label="Distance of sentence embeddings", render=False)
        ),
        drawings=["Null distribution of the row", "Distances of the row"],
        examples={name: (*boxes, "cosine", "exact", 0) for name, boxes in EXAMPLE_CAPTIONS.items()},
        measure=measure,
    )
)

if __name__ == "__main__":
    serve(page)
