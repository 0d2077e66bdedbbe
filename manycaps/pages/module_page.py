"""The demo page of a module, made of its tables of columns, options and values."""

import functools
import math
import pathlib
import re
import tempfile
from collections.abc import Mapping
from typing import Any

import gradio as gr

from manycaps.report.result_sentence import verdict

from .examples import EXAMPLE_CAPTIONS, example_picture
from .form import Form, Page
from .inputs import (
    BOXES,
    CaptionLimits,
    caption_box,
    caption_lines,
    check_at_most,
    check_megapixels,
    check_uploaded,
    rows_of_text_box,
    take_uploads_only,
)
from .plots import caption_bars
from .results import Drawing, candidate_table, leading_tables
from .weights import usable_weights, weights_note

# Limits of one call of a public page: rows, captions of a set in a row, characters of a caption. Of a module that
# compares two sets, of one that measures a single one, and of the captions of one image or clip.
LIMITS = CaptionLimits(rows=20, captions_per_row=20, characters_per_caption=300)
DATA_LIMITS = CaptionLimits(rows=50, captions_per_row=50, characters_per_caption=300)
MEDIA_LIMITS = CaptionLimits(rows=1, captions_per_row=20, characters_per_caption=300)
LABEL_LIMITS = CaptionLimits(rows=1, captions_per_row=2_000, characters_per_caption=300)
# The file of an image and, decoded, its pixels.
IMAGE_MEGABYTES, IMAGE_MEGAPIXELS = 10, 20
# The file of a clip, its length, its frames in a second, and the pixels of a frame.
CLIP_MEGABYTES, CLIP_SECONDS, CLIP_RATE, CLIP_MEGAPIXELS = 50, 60, 60, 9
# Pixels of all frames of a clip: 7.5 billion in a minute of 1920 x 1080, 60 frames a second.
CLIP_GIGAPIXELS = 8

# Options that a page offers to modules which have them, with their labels; and of scipy's distances those that it has.
OFFERED = {
    "distance": "Distance of sentence embeddings",
    "kernel": "Kernel of sentence embeddings",
    "statistic": "Statistic",
    "estimator": "Estimator",
    "sizes": "Captions to measure on each side",
    "p_value": "p-value",
}
DISTANCES = ("cosine", "euclidean", "cityblock", "chebyshev")

# Options that a page sets. Splits of a row for an exact p-value: 8 + 7 captions have 6,435.
FIXED: Mapping[str, Any] = {"max_partitions": 10_000, "n_iterations": 200, "transfer": True, "details": True}

# Environment variables that name weights or data other than the published ones: a file, a folder, or for weights a
# repository of the Hub.
VARIABLES = {"checkpoint": "MANYCAPS_CHECKPOINT", "meteor15_data": "MANYCAPS_METEOR15_DATA"}

# Confidence level of the interval beside an effect.
CONFIDENCE = 0.95

# Labels and explanations of the text boxes for one image or clip.
MEDIA_BOXES = {
    "predictions": ("Candidate captions", "one caption per line"),
    "references": ("Human captions", "of the same image, one per line"),
}

# What the explanation of a box adds if the module works without it.
MAY_BE_EMPTY = "; or leave it empty"

# Example captions of the picture and of the clip, and example labels.
PICTURE_CAPTIONS = {
    "predictions": "a red square and a blue circle\na red square\ntwo shapes on a white background\na dog on the beach",
    "references": "a red square beside a blue circle\na square and a circle",
}
CLIP_CAPTIONS = "shapes move to the left\na red square and a blue circle\na dog runs on the beach"
LABELS = "dog\nbicycle\ntaking a train"


def module_page(app: str) -> Page:
    """Return the page of the module whose main script and card lie beside an `app.py`.

    Its title is the card's; its main script is the only file of a module folder that imports evaluate.
    """
    folder = pathlib.Path(app).absolute().parent
    card = (folder / "README.md").read_text(encoding="utf-8")
    title = re.search("^title: (.+)$", card, re.MULTILINE)[1]  # type: ignore[index]
    scripts = {path.stem: path.read_text(encoding="utf-8") for path in folder.glob("*.py")}
    (name,) = (name for name, text in scripts.items() if re.search("^import evaluate$", text, re.MULTILINE))
    return Page(functools.partial(module_form, title), name, VARIABLES, CLIP_MEGABYTES)


def module_form(title: str, module: Any) -> Form:
    """Return the inputs and outputs of the page of a loaded module."""
    columns = module.own_columns()
    media = [column for column in columns if column in ("images", "videos")]
    boxes = MEDIA_BOXES if media else BOXES
    inputs = [_upload(column) for column in media]
    for column in (column for column in columns if column in boxes):
        label, info = boxes[column]
        inputs.append(caption_box(label, f"{info}{MAY_BE_EMPTY if column in module.OPTIONAL_COLUMNS else ''}"))
    if "labels" in module.DEFAULTS:
        inputs.append(caption_box("Labels", "one per line"))
    introduction = " ".join(module.ABOUT.description.split())
    if media:
        introduction += f"\n\n{weights_note(module.encoder)}"
    offered = _page_options(module)
    return Form(
        title=title,
        introduction=introduction,
        inputs=inputs,
        options=[
            gr.Dropdown(list(choices), value=choices[0], label=label, render=False)
            for label, choices in offered.values()
        ],
        drawings=["Single captions" if media else "Single rows"],
        examples=_examples(columns, "labels" in module.DEFAULTS, [choices[0] for _, choices in offered.values()]),
        measure=functools.partial(measure, title, module),
        parameters=[
            *media,
            *(column for column in columns if column in boxes),
            *(["labels"] if "labels" in module.DEFAULTS else []),
            *offered,
        ],
    )


def measure(title: str, module: Any, *values: Any) -> tuple[str, Drawing | None, str]:
    """Compute the module from uploads, text boxes and options, in the order of the form.

    Returns:
        Markdown of the answer, with a verdict where the module tests and the numbers to read first; a drawing of the
        values behind one of them; Markdown of the scores of the captions of one row, and of all other values.
    """
    columns, left = module.own_columns(), list(values)
    media = [column for column in columns if column in ("images", "videos")]
    rows: dict[str, Any] = {column: [_read_upload(column, left.pop(0), module)] for column in media}
    for column in columns:
        if column in media:
            continue
        text = left.pop(0)
        if column in module.OPTIONAL_COLUMNS and not (text or "").strip():
            continue
        if media:
            rows[column] = caption_lines(text, column, MEDIA_LIMITS)
        else:
            rows[column] = rows_of_text_box(text, column, DATA_LIMITS if column == "data" else LIMITS)
    options = {option: value for option, value in FIXED.items() if option in module.DEFAULTS}
    if "labels" in module.DEFAULTS:
        labels = rows_of_text_box(left.pop(0), "labels", LABEL_LIMITS)
        options["labels"] = {"labels": [label for row in labels for label in row]}
    options |= dict(zip(_page_options(module), left, strict=True))
    several = len(next(iter(rows.values()))) > 1
    if "confidence_level" in module.DEFAULTS and several:
        options["confidence_level"] = CONFIDENCE
    if media:
        usable_weights(module.encoder)
    result = module.compute(**rows, **module.effective_options(options))
    answer, others = leading_tables(result, module)
    if f"{module.name}_corpus_p_value" in result:
        sentence = verdict(result, module.name, title)
        answer = f"### {sentence}\n\nWhat it sees and what it misses: [card below](#card).\n\n{answer}"
    if "predictions" in rows and not several:
        others = f"{candidate_table(result, rows['predictions'][0])}\n\n{others}"
    return answer, _single_values(result, module, rows), others


def _single_values(result: Mapping[str, Any], module: Any, rows: Mapping[str, Any]) -> Drawing | None:
    """Draw the values behind a number to be read: of each row, beside its first caption, or of the captions of one.

    The excess over random splits comes before other numbers: its zero is what people's captions have.
    """
    captions = rows["predictions"] if "predictions" in rows else rows["data"]
    leads = [key for value in module.VALUES if value.leads for key in value.keys.split(", ")]
    leads.sort(key=lambda key: not key.endswith("_excess"))
    for key in leads:
        if len(captions) > 1 and f"{key}_per_row" in result:
            values, labels = result[f"{key}_per_row"], [row[0] for row in captions]
        elif len(captions) == 1 and f"{key}_per_candidate" in result:
            values, labels = result[f"{key}_per_candidate"][0], captions[0]
        else:
            continue
        if len(values) == len(labels) and all(map(math.isfinite, values)):
            order = sorted(range(len(values)), key=lambda place: -values[place])
            return caption_bars([values[i] for i in order], [labels[i] for i in order], key, result.get(key))
    return None


def _page_options(module: Any) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Options of the page of a module that compares two sets, with their labels and choices, the default first."""
    offered = {name: module.OPTIONS[name] for name in OFFERED if name in module.OPTIONS}
    choices = {name: option.choices or DISTANCES for name, option in offered.items()}
    return {
        name: (OFFERED[name], tuple(choice for choice in choices[name] if choice != "none"))
        for name, option in offered.items()
        if option.default in choices[name] and module.own_columns() != ("data",)
    }


def _examples(columns: tuple[str, ...], has_labels: bool, options: list[str]) -> dict[str, Any]:
    """Values of all inputs and options, by the name of the example."""
    if "images" in columns:
        captions = [PICTURE_CAPTIONS[column] for column in columns if column in PICTURE_CAPTIONS]
        return {"A picture and captions": lambda: (example_picture(), *captions, *options)}
    if "videos" in columns:
        return {"A clip and captions": lambda: (_example_clip(), CLIP_CAPTIONS, *options)}
    if columns == ("data",):
        more = [*([LABELS] if has_labels else []), *options]
        names = ("Varied captions", "One caption repeated")
        # With a single box gradio takes what the example returns for the value of the box.
        boxes = {name: EXAMPLE_CAPTIONS[name][0] for name in names}
        return {name: (lambda box=box: (box, *more) if more else box) for name, box in boxes.items()}
    return {name: (*boxes, *options) for name, boxes in EXAMPLE_CAPTIONS.items()}


def _upload(column: str) -> Any:
    """Upload component of an image or a clip."""
    if column == "images":
        return take_uploads_only(gr.Image(label="Image", sources=["upload"], type="filepath", height=320, render=False))
    return take_uploads_only(gr.Video(label="Clip", sources=["upload"], height=320, render=False))


def _read_upload(column: str, path: str | None, module: Any) -> bytes:
    """Content of an uploaded image or clip within the limits of the page; nothing is decoded."""
    where = f"{column}[0]"
    if column == "images":
        image = check_uploaded(path, where, IMAGE_MEGABYTES)
        check_megapixels(image, where, IMAGE_MEGAPIXELS)
        return image.read_bytes()
    clip = check_uploaded(path, where, CLIP_MEGABYTES).read_bytes()
    check_clip(module.examine_video(clip))
    return clip


def check_clip(size: Any) -> None:
    """Raise if a clip, by the module's `examine_video`, is too long, or its frames are too large or too many."""
    pixels = size.width * size.height
    check_at_most(round(size.seconds, 1), CLIP_SECONDS, "videos[0]", "seconds")
    check_at_most(size.n_frames, CLIP_SECONDS * CLIP_RATE, "videos[0]", "frames")
    check_at_most(round(pixels / 1e6, 1), CLIP_MEGAPIXELS, "videos[0]", "megapixels a frame")
    check_at_most(round(size.n_frames * pixels / 1e9, 1), CLIP_GIGAPIXELS, "videos[0]", "gigapixels in all frames")


def _example_clip() -> str:
    """Path of a clip of two seconds in which a picture moves to the left."""
    import av
    import numpy as np

    path = pathlib.Path(tempfile.mkdtemp()) / "shapes.mp4"
    picture = np.asarray(example_picture())
    with av.open(str(path), "w") as clip:
        stream = clip.add_stream("h264", rate=10)
        stream.width, stream.height, stream.pix_fmt = picture.shape[1], picture.shape[0], "yuv420p"
        for shift in range(0, 160, 8):
            frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(np.roll(picture, -shift, axis=1)), format="rgb24")
            clip.mux(stream.encode(frame))
        clip.mux(stream.encode(None))
    return str(path)
