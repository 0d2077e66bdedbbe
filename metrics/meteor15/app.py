"""Demo page of METEOR 1.5: `python app.py`, or a Space made of this folder."""

import os
import pathlib

import evaluate
import gradio as gr
from shared_demo_form import CaptionLimits, Form, build_page, caption_lines, result_table, serve
from shared_demo_plots import caption_bars

# What one call may cost on a public page: one image, captions, characters of a caption.
LIMITS = CaptionLimits(rows=1, captions_per_row=50, characters_per_caption=300)

# Data elsewhere than in the package pycocoevalcap: meteor-1.5.jar, or a folder that holds it.
DATA = os.environ.get("MANYCAPS_METEOR15_DATA") or None

# What the table shows, and what it means.
MEANINGS = {
    "meteor15": "METEOR 1.5 of all captions together, as papers report it for a corpus: 0 (worst) to 1 (best)",
    "meteor15_mean": "mean METEOR 1.5 of the captions",
}

meteor15 = evaluate.load(str(pathlib.Path(__file__).resolve().parent / "meteor15.py"), meteor15_data=DATA)


def measure(candidates, references):
    """Score the captions of one image."""
    rows = {
        "predictions": caption_lines(candidates, "predictions", LIMITS),
        "references": caption_lines(references, "references", LIMITS),
    }
    result = meteor15.compute(**rows, details=True)
    bars = caption_bars({"METEOR 1.5": result["meteor15_per_candidate"][0]}, rows["predictions"][0])
    return result_table(result, MEANINGS), bars


page = build_page(
    Form(
        title="METEOR 1.5",
        introduction=(
            "How near are captions to what people wrote? Words are matched by form, stem, synonyms and paraphrases. It "
            "is the METEOR of captioning papers, computed without Java."
        ),
        inputs=[
            gr.Textbox(label="Candidate captions", info="one caption a line", lines=10, max_lines=10, render=False),
            gr.Textbox(label="Human captions", info="of the same image", lines=10, max_lines=10, render=False),
        ],
        options=[],
        drawings=["Captions"],
        examples={
            "A man and a film": (
                "a man watches a film\na person is watching a movie\na dog runs on the beach",
                "a man watches a movie\na man sits in a cinema and watches a film",
            )
        },
        measure=measure,
    )
)

if __name__ == "__main__":
    serve(page)
