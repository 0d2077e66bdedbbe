"""Demo page of FID-BERT: `python app.py`, or a Space made of this folder."""

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
# Splits of a row for an exact p-value, each a small singular value problem: 8 + 7 captions have 6,435.
MAX_PARTITIONS = 10_000
# Random splits where the pooled value, which is computed again for each, is asked for too; 9,999 take minutes.
POOLED_RESAMPLES = 499

# What the table shows, and what it means.
MEANINGS = {
    "fid_bert": "squared Fréchet distance, mean over rows: 0 or more, above 0 for people; lower is better",
    **corpus_meanings("fid_bert"),
    "fid_bert_pooled": "squared Fréchet distance of all candidates and all references",
    "fid_bert_pooled_p_value": "of that value, from splits of the captions of every row, as the corpus test",
    "n_rows": "number of rows",
}

# What the page says of the statistic.
STATISTIC = "squared distance of the means of the embeddings of a row, plus that of their covariances."

fid_bert = evaluate.load(str(pathlib.Path(__file__).resolve().parent / "fid_bert.py"))


def measure(candidates, references, pooled, p_value, row):
    """Compute both boxes, and draw one row."""
    options = {"pooled": pooled, "p_value": p_value, "max_partitions": MAX_PARTITIONS}
    options |= {"n_resamples": POOLED_RESAMPLES} if pooled else {}
    measured = measure_captions(fid_bert, (candidates, references), LIMITS, row, **options)
    examined = measured.examined
    sentence = verdict(measured.result, "fid_bert", "FID-BERT")
    return (
        conclusion(sentence, STATISTIC, result_table(measured.result, MEANINGS)),
        null_distribution(examined.null_statistics, examined.statistic, measured.p_value, "squared Fréchet distance"),
        heat_map(examined.pair_values, measured.candidates, measured.references, "distance of embeddings"),
    )


page = build_page(
    Form(
        title="FID-BERT",
        introduction=(
            "Do the embeddings of several candidate captions have the mean and the covariance of those of several "
            "human captions? The squared Fréchet distance of sentence embeddings, and a test over all images."
        ),
        inputs=caption_boxes(),
        options=distribution_options(
            gr.Checkbox(False, label=f"All rows pooled as well ({POOLED_RESAMPLES} random splits)", render=False)
        ),
        drawings=["Null distribution of the row", "Distances of the row"],
        examples={name: (*boxes, False, "exact", 0) for name, boxes in EXAMPLE_CAPTIONS.items()},
        measure=measure,
    )
)

if __name__ == "__main__":
    serve(page)
