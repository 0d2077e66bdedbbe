"""Demo page of MMD: `python app.py`, or a Space made of this folder."""

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
    "mmd": "squared maximum mean discrepancy, mean over rows; lower is better",
    **corpus_meanings("mmd"),
    "n_rows": "number of rows",
}

# What the page says of the kernel in use.
KERNELS = {
    "rbf": "Gaussian, of half the median distance of the row: sees every difference of two distributions.",
    "laplace": "exponential in the sum of the coordinates' differences: sees every difference of two distributions.",
    "polynomial": "that of KID, of degree 3: sees differences of the first three moments.",
    "linear": "the product of two embeddings: sees differences of the means alone.",
}

mmd = evaluate.load(str(pathlib.Path(__file__).resolve().parent / "mmd.py"))


def measure(candidates, references, kernel, p_value, row):
    """Compute both boxes, and draw one row."""
    options = {"kernel": kernel, "p_value": p_value, "max_partitions": MAX_PARTITIONS}
    measured = measure_captions(mmd, (candidates, references), LIMITS, row, **options)
    examined = measured.examined
    about = f"the `{kernel}` kernel, {KERNELS[kernel]}"
    sentence = verdict(measured.result, "mmd", "MMD")
    return (
        conclusion(sentence, about, result_table(measured.result, MEANINGS)),
        null_distribution(
            examined.null_statistics, examined.statistic, measured.p_value, "squared maximum mean discrepancy"
        ),
        heat_map(examined.pair_values, measured.candidates, measured.references, "kernel value"),
    )


page = build_page(
    Form(
        title="MMD",
        introduction=(
            "Do several candidate captions mean the same as several human captions, and vary as much? The squared "
            "maximum mean discrepancy of sentence embeddings with a kernel of your choice, and a test over all images."
        ),
        inputs=caption_boxes(),
        options=distribution_options(
            gr.Dropdown(list(KERNELS), value="rbf", label="Kernel of sentence embeddings", render=False)
        ),
        drawings=["Null distribution of the row", "Kernel of the row"],
        examples={name: (*boxes, "rbf", "exact", 0) for name, boxes in EXAMPLE_CAPTIONS.items()},
        measure=measure,
    )
)

if __name__ == "__main__":
    serve(page)
