"""Demo page of RefPAC-S: `python app.py`, or a Space made of this folder."""

import os
import pathlib

import evaluate
import gradio as gr
from shared_demo_form import (
    CaptionLimits,
    Form,
    build_page,
    caption_lines,
    check_megapixels,
    check_uploaded,
    result_table,
    serve,
    uploaded_file,
)
from shared_demo_plots import caption_bars, example_picture
from shared_demo_weights import score_meaning, usable_weights, weights_note

# What one call may cost on a public page: one image, captions, characters of a caption.
LIMITS = CaptionLimits(rows=1, captions_per_row=20, characters_per_caption=300)
# The image's file and, decoded, its pixels.
MAX_MEGABYTES, MAX_MEGAPIXELS = 10, 20

# Weights other than the published ones: a file, a folder or a Hub repository.
CHECKPOINT = os.environ.get("MANYCAPS_CHECKPOINT") or None

# What the table shows, and what it means.
MEANINGS = {
    "ref_pac_score": "RefPAC-S, mean over the captions: 0 (worst) to 1.33 (best)",
    "pac_score": "the same without human captions: 0 (worst) to 2 (best)",
    "n_truncated": "captions of more tokens than the model reads, of which only the first were read",
}

ref_pac_score = evaluate.load(str(pathlib.Path(__file__).resolve().parent / "ref_pac_score.py"), checkpoint=CHECKPOINT)


def measure(image, candidates, references):
    """Score the captions of one image."""
    path = check_uploaded(image, "images[0]", MAX_MEGABYTES)
    check_megapixels(path, "images[0]", MAX_MEGAPIXELS)
    rows = {
        "predictions": caption_lines(candidates, "predictions", LIMITS),
        "references": caption_lines(references, "references", LIMITS),
    }
    weights = usable_weights(ref_pac_score.encoder)
    result = ref_pac_score.compute(**rows, images=[path.read_bytes()], details=True)
    scores = {
        "RefPAC-S": result["ref_pac_score_per_candidate"][0],
        "PAC-S, without human captions": result["pac_score_per_candidate"][0],
    }
    bars = caption_bars(scores, rows["predictions"][0])
    meaning = score_meaning(MEANINGS["ref_pac_score"], weights)
    return result_table(result, MEANINGS | {"ref_pac_score": meaning}), bars


page = build_page(
    Form(
        title="RefPAC-S",
        introduction=(
            "How well do captions fit an image, and what people say about it? The harmonic mean of PAC-S and of the "
            "largest cosine with a human caption, both from a CLIP tuned with positive-augmented contrastive learning."
            "\n\n" + weights_note(ref_pac_score.encoder)
        ),
        inputs=[
            uploaded_file(gr.Image(label="Image", sources=["upload"], type="filepath", height=320, render=False)),
            gr.Textbox(label="Candidate captions", info="one caption a line", lines=10, max_lines=10, render=False),
            gr.Textbox(label="Human captions", info="of the same image", lines=10, max_lines=10, render=False),
        ],
        options=[],
        drawings=["Captions"],
        examples={
            "A picture and captions": lambda: (
                example_picture(),
                "a red square and a blue circle\na red square\ntwo shapes on a white background\na dog on the beach",
                "a red square beside a blue circle\na square and a circle",
            )
        },
        measure=measure,
    )
)

if __name__ == "__main__":
    serve(page, MAX_MEGABYTES)
