"""Demo page of BLEU and ROUGE-L: `python app.py`, or a Space made of this folder."""

import pathlib

import evaluate
import gradio as gr
from shared_demo_form import CaptionLimits, Form, build_page, caption_lines, result_table, serve
from shared_demo_plots import caption_bars

# What one call may cost on a public page: one image, captions, characters of a caption.
LIMITS = CaptionLimits(rows=1, captions_per_row=50, characters_per_caption=300)

# What the table shows, and what it means.
MEANINGS = {
    "bleu_1_corpus": "BLEU-1 of all captions together, 0 (worst) to 1 (best)",
    "bleu_4_corpus": "BLEU-4 of all captions together, as papers report it for a corpus",
    "bleu_4": "mean BLEU-4 of the captions, each by itself",
    "rouge_l": "mean ROUGE-L of the captions",
}

bleu_rouge = evaluate.load(str(pathlib.Path(__file__).resolve().parent / "bleu_rouge.py"))


def measure(candidates, references):
    """Score the captions of one image."""
    rows = {
        "predictions": caption_lines(candidates, "predictions", LIMITS),
        "references": caption_lines(references, "references", LIMITS),
    }
    result = bleu_rouge.compute(**rows, details=True)
    scores = {"BLEU-4": result["bleu_4_per_candidate"][0], "ROUGE-L": result["rouge_l_per_candidate"][0]}
    return result_table(result, MEANINGS), caption_bars(scores, rows["predictions"][0])


page = build_page(
    Form(
        title="BLEU and ROUGE-L",
        introduction="How many words, and in which order, do captions share with what people wrote?",
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
