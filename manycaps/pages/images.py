"""Pages of the metrics of images by CLIP: captions of an uploaded image, for RefPAC-S beside human captions."""

import functools
from collections.abc import Mapping
from typing import Any, NamedTuple

import gradio as gr
import PIL.Image

from .examples import example_picture
from .form import Form, Page
from .limits import CaptionLimits
from .plots import caption_bars
from .results import Drawing, result_table
from .text_boxes import caption_box, caption_lines
from .uploads import check_megapixels, check_uploaded, uploaded_file
from .weights import WEIGHTS, score_meaning, usable_weights, weights_note

# Limits of one call of a public page: one image, captions, characters of a caption.
LIMITS = CaptionLimits(rows=1, captions_per_row=20, characters_per_caption=300)
# The image's file and, decoded, its pixels.
MAX_MEGABYTES, MAX_MEGAPIXELS = 10, 20

# Captions of the example picture, by column.
EXAMPLE = {
    "predictions": "a red square and a blue circle\na red square\ntwo shapes on a white background\na dog on the beach",
    "references": "a red square beside a blue circle\na square and a circle",
}


class ImageMetric(NamedTuple):
    """A metric of images, and what its page says and draws."""

    # Name of the module, and as a person writes it.
    name: str
    title: str
    introduction: str
    # For each column of captions its text box.
    boxes: Mapping[str, functools.partial[gr.Textbox]]
    # For each key of the table its meaning; the module's own one is first.
    meanings: Mapping[str, str]
    # For each label of the drawing the key of its values per candidate.
    bars: Mapping[str, str]
    # Typical scores with the published weights.
    published: str = ""


def image_page(metric: ImageMetric) -> Page:
    """Return the page of a metric of images."""
    return Page(functools.partial(image_form, metric), metric.name, WEIGHTS, MAX_MEGABYTES)


def image_form(metric: ImageMetric, module: Any) -> Form:
    """Return the inputs and outputs of the page of a metric of images."""
    image = gr.Image(label="Image", sources=["upload"], type="filepath", height=320, render=False)
    return Form(
        title=metric.title,
        introduction=f"{metric.introduction}\n\n{weights_note(module.encoder)}",
        inputs=[uploaded_file(image), *(box() for box in metric.boxes.values())],
        drawings=["Captions"],
        examples={"A picture and captions": functools.partial(example, metric)},
        measure=functools.partial(measure, metric, module),
    )


def measure(metric: ImageMetric, module: Any, image: str | None, *captions: str) -> tuple[str, Drawing]:
    """Score the captions of one image."""
    path = check_uploaded(image, "images[0]", MAX_MEGABYTES)
    check_megapixels(path, "images[0]", MAX_MEGAPIXELS)
    rows = {column: caption_lines(text, column, LIMITS) for column, text in zip(metric.boxes, captions, strict=True)}
    weights = usable_weights(module.encoder)
    result = module.compute(**rows, images=[path.read_bytes()], details=True)
    scores = {label: result[key][0] for label, key in metric.bars.items()}
    meaning = score_meaning(metric.meanings[metric.name], weights, metric.published)
    table = result_table(result, {**metric.meanings, metric.name: meaning})
    return table, caption_bars(scores, rows["predictions"][0])


def example(metric: ImageMetric) -> tuple[PIL.Image.Image | str, ...]:
    """Return a picture, and captions for every box."""
    return example_picture(), *(EXAMPLE[column] for column in metric.boxes)


TRUNCATED = "captions with more tokens than the model reads; only their first tokens were read"

PAC_SCORE = image_page(
    ImageMetric(
        name="pac_score",
        title="PAC-S",
        introduction=(
            "How well do captions fit an image? The cosine of CLIP features, from a CLIP tuned with positive-augmented "
            "contrastive learning. No reference captions are needed."
        ),
        boxes={"predictions": functools.partial(caption_box, "Captions")},
        meanings={"pac_score": "PAC-S, mean over the captions: 0 (worst) to 2 (best)", "n_truncated": TRUNCATED},
        bars={"PAC-S": "pac_score_per_candidate"},
        published="good captions have 0.7 to 0.9",
    )
)

REF_PAC_SCORE = image_page(
    ImageMetric(
        name="ref_pac_score",
        title="RefPAC-S",
        introduction=(
            "How well do captions fit an image and what people say about it? The harmonic mean of PAC-S and of the "
            "largest cosine with a human caption, both from a CLIP tuned with positive-augmented contrastive learning."
        ),
        boxes={
            "predictions": functools.partial(caption_box, "Candidate captions"),
            "references": functools.partial(caption_box, "Human captions", "of the same image"),
        },
        meanings={
            "ref_pac_score": "RefPAC-S, mean over the captions: 0 (worst) to 1.33 (best)",
            "pac_score": "the same without human captions: 0 (worst) to 2 (best)",
            "n_truncated": TRUNCATED,
        },
        bars={"RefPAC-S": "ref_pac_score_per_candidate", "PAC-S, without human captions": "pac_score_per_candidate"},
    )
)
