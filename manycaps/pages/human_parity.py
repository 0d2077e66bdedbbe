"""The page of human parity: two boxes of captions, or a file with both, the answer, and where to look."""

import functools
import math
from typing import Any

import gradio as gr

from manycaps.files.caption_tables.rows import good_rows
from manycaps.files.caption_tables.source import open_source
from manycaps.kit.errors import InputError

from .examples import EXAMPLE_CAPTIONS
from .form import Form, Page
from .inputs import (
    BOXES,
    KINDS,
    CaptionLimits,
    caption_box,
    check_at_most,
    check_caption_limits,
    check_kind,
    check_uploaded,
    rows_of_text_box,
    take_uploads_only,
)
from .module_page import CONFIDENCE
from .plots import caption_bars, histogram_figure
from .results import Drawing, leading_tables

COLUMNS = ("predictions", "references")

# Distances of the page: no data are read for them but the installation's.
DISTANCE_OF_LABEL = {"sentence embeddings": "bert", "METEOR": "meteor"}

# Limits of one call of a public page: rows, captions of a set in a row, characters of a caption; and of a file.
LIMITS = CaptionLimits(rows=100, captions_per_row=20, characters_per_caption=300)
MAX_MEGABYTES = 2

# Captions of the drawing.
N_DRAWN = 12

# Numbers to read first.
N_FIRST = 6


def form(module: Any) -> Form:
    """Return the inputs and outputs of the page."""
    names = list(DISTANCE_OF_LABEL)
    return Form(
        title="Human Parity",
        introduction=(
            "How many of several captions of each image have faults, and how human-like are they, which is not how "
            "good: generic, predictable or repeated? One test over all images, and shares beside people's. Fill in "
            f"the boxes, or upload a table ({', '.join(KINDS)}) of up to {LIMITS.rows} rows with the columns "
            "`predictions` and `references`."
        ),
        inputs=[
            *(caption_box(*BOXES[column]) for column in COLUMNS),
            take_uploads_only(gr.File(label="Or a file with both", file_types=list(KINDS), height=160, render=False)),
        ],
        options=[gr.Dropdown(names, value=names[0], label="Distance of two captions", render=False)],
        drawings=["Captions among people", "Captions most unlike people's"],
        examples={name: (*boxes, None, names[0]) for name, boxes in EXAMPLE_CAPTIONS.items()},
        measure=functools.partial(measure, module),
        parameters=[*COLUMNS, "file", "distance"],
    )


def rows_of_file(path: str) -> dict[str, list[list[str]]]:
    """Return the rows of an uploaded table whose columns hold candidates and human captions, within the limits.

    Nothing that the file names is opened; messages name it as the user does.
    """
    upload = check_uploaded(path, "file", MAX_MEGABYTES)
    check_kind(upload, "file")
    try:
        source = open_source([str(upload)], optional=["image", "video"])._replace(media={})
        rows: dict[str, list[list[str]]] = {column: [] for column in COLUMNS}
        for row in good_rows(source.rows()):
            rows["predictions"].append(row.predictions or [])
            rows["references"].append(row.references or [])
            check_at_most(len(rows["predictions"]), LIMITS.rows, "file", "rows")
    except InputError as error:
        raise error.replace(str(upload), upload.name) from None
    for column in COLUMNS:
        check_caption_limits(rows[column], column, LIMITS)
    return rows


def measure(
    module: Any, predictions: str, references: str, file: str | None, distance: str
) -> tuple[str, Drawing, Drawing, str]:
    """Compare both boxes, or a file: the answer, captions among people's, those most unlike people's, other values."""
    boxes = {"predictions": predictions, "references": references}
    if file and any(text.strip() for text in boxes.values()):
        raise InputError("file", "the boxes or a file", "both", "Empty the boxes, or remove the file.")
    rows = rows_of_file(file) if file else {name: rows_of_text_box(text, name, LIMITS) for name, text in boxes.items()}
    several = len(rows["predictions"]) > 1
    result = module.compute(
        **rows, distance=DISTANCE_OF_LABEL[distance], details=True, confidence_level=CONFIDENCE if several else None
    )
    result |= {
        key: int(result[key])
        for key in ("rows_to_detect", "rows_to_detect_ci_low", "rows_to_detect_ci_high")
        if math.isfinite(result.get(key, math.nan))
    }
    # Each caption of a row once.
    distance_of = {
        (row, rows["predictions"][row][candidate]): result["distance_per_candidate"][row][candidate]
        for row, candidate in result["most_unlike_people"]
    }
    distances, captions = list(distance_of.values())[:N_DRAWN], [caption for _, caption in distance_of][:N_DRAWN]
    sentences = module.words(result) if several else ["One image: give more for an answer with intervals."]
    leading, others = leading_tables(result, module, N_FIRST)
    return (
        f"### {' '.join(sentences)}\n\nWhat it sees and what it misses: [card below](#card).\n\n{leading}",
        histogram_figure(result["distance_histogram"]),
        caption_bars(distances, captions, "mean distance from people's captions"),
        others,
    )


HUMAN_PARITY = Page(form, "human_parity", megabytes=MAX_MEGABYTES)
