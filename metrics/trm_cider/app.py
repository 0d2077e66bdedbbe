"""Demo page of TRM-CIDEr: `python app.py`, or a Space made of this folder."""

import pathlib

import evaluate
import gradio as gr
from shared_demo_form import (
    EXAMPLE_CAPTIONS,
    TRIANGLE_RANKS,
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
    "trm_cider": "triangle-rank statistic, mean over rows: 0 to 8/3 (pooled 4/3), above 0 for people; lower is better",
    **corpus_meanings("trm_cider"),
    "cider_d": "mean CIDEr-D of the candidates against all references, 0 to 10; higher is better",
    "n_rows": "number of rows",
}

trm_cider = evaluate.load(str(pathlib.Path(__file__).resolve().parent / "trm_cider.py"))


def measure(candidates, references, statistic, p_value, row):
    """Compute both boxes, and draw one row."""
    options = {"statistic": statistic, "p_value": p_value, "max_partitions": MAX_PARTITIONS}
    measured = measure_captions(trm_cider, (candidates, references), LIMITS, row, **options)
    examined = measured.examined
    sentence = verdict(measured.result, "trm_cider", "TRM-CIDEr")
    return (
        conclusion(sentence, f"`{statistic}`, {TRIANGLE_RANKS[statistic]}", result_table(measured.result, MEANINGS)),
        null_distribution(examined.null_statistics, examined.statistic, measured.p_value, "triangle-rank statistic Q"),
        heat_map(examined.pair_values, measured.candidates, measured.references, "CIDEr-D distance"),
    )


page = build_page(
    Form(
        title="TRM-CIDEr",
        introduction=(
            "Do several candidate captions look like samples of the same distribution as several human captions? The "
            "triangle-rank statistic over CIDEr-D distances, and a test over all images. Document frequencies are "
            "counted in the human captions, so give at least two images."
        ),
        inputs=caption_boxes(),
        options=distribution_options(
            gr.Dropdown(["per_side", "pooled"], value="per_side", label="Statistic", render=False)
        ),
        drawings=["Null distribution of the row", "Distances of the row"],
        examples={name: (*boxes, "per_side", "exact", 0) for name, boxes in EXAMPLE_CAPTIONS.items()},
        measure=measure,
    )
)

if __name__ == "__main__":
    serve(page)
