"""The page of vdtk_diversity: vocabulary, n-grams and duplicates of an uploaded caption file."""

import functools
import pathlib
import tempfile
from typing import Any

import gradio as gr

from .caption_files import CAPTION_COLUMNS, FILE_KINDS, caption_file_rows
from .examples import EXAMPLE_CAPTIONS
from .form import Form, Page
from .limits import CaptionLimits, check_at_most, check_caption_limits
from .plots import histogram, share_bars, vocabulary_curve
from .results import Drawing, result_table
from .uploads import check_uploaded, uploaded_file

# Limits of one call of a public page: the file, its rows, captions of a row, characters of a caption, captions.
MAX_MEGABYTES, MAX_CAPTIONS = 5, 50_000
LIMITS = CaptionLimits(rows=20_000, captions_per_row=1_000, characters_per_caption=2_000)

# Shares of the tokens for which the vocabulary curve has a point.
HEAD_SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1)

# EVS@2, EVS@3 and EVS@4 of Table 2 in Chan et al. (2022), https://arxiv.org/abs/2205.06253.
PUBLISHED_EVS = {"MSVD, published": (0.4783, 0.2529, 0.1467), "MS-COCO, published": (0.5391, 0.3259, 0.2056)}

KIND_LIST = "\n".join(f"- `{end}`: {what}" for end, what in FILE_KINDS.items())

# Keys of the table and their meanings.
MEANINGS = {
    "n_rows": "images or videos",
    "n_captions": "captions",
    "n_types": "different words",
    "head_90": "most frequent words that make up 90% of the text",
    "tokens_per_caption": "words in a caption, mean",
    "within_row_uniqueness_of_tokens": "words that occur once among the captions of an image, as a share of its text",
    "ed_10": "decisions that the n-grams leave open in a caption of ten words",
    "distinct_within_row": "different captions of an image, as a share of its captions",
    "novel_in_data": "captions that occur once in the file, as a share of all",
}


def form(module: Any) -> Form:
    """Return the inputs and outputs of the page."""
    return Form(
        title="VDTK Diversity",
        introduction=(
            "How diverse is a set of captions? Vocabulary and its head, decisions that the n-grams leave open, exact "
            "duplicates. Upload a caption file:\n\n"
            f"{KIND_LIST}\n\n"
            f"The captions may also be called {', '.join(CAPTION_COLUMNS[2:])}."
        ),
        inputs=[uploaded_file(gr.File(label="Caption file", file_types=list(FILE_KINDS), render=False))],
        options=[gr.Textbox(label="Column", info="of the captions, if the file has several", render=False)],
        drawings=["Vocabulary", "Contexts that leave a choice", "Duplicates"],
        examples={
            "Captions by people": functools.partial(example, "Varied captions", 1),
            "One caption repeated": functools.partial(example, "One caption repeated", 0),
        },
        measure=functools.partial(diversity_of_file, module),
    )


def diversity_of_file(module: Any, file: str | None, column: str | None) -> tuple[str, Drawing, Drawing, Drawing]:
    """Read a caption file, and draw its vocabulary, its n-grams and its duplicates."""
    path = check_uploaded(file, "data", MAX_MEGABYTES)
    rows = caption_file_rows(path, (column or "").strip() or None, "in the box Column")
    check_caption_limits(rows, "data", LIMITS)
    check_at_most(sum(map(len, rows)), MAX_CAPTIONS, "data", "captions")
    result = module.compute(data=rows, head_shares=HEAD_SHARES, details=True)
    evs = {
        f"EVS@{order}": {"your captions": result[f"evs_{order}"]}
        | {name: values[order - 2] for name, values in PUBLISHED_EVS.items()}
        for order in (2, 3, 4)
    }
    counts, edges = (result[f"distinct_within_row_histogram_{part}"] for part in ("counts", "edges"))
    return (
        result_table(result, MEANINGS),
        vocabulary_curve({share: result[f"head_{100 * share:g}"] for share in HEAD_SHARES}),
        share_bars(evs),
        histogram(counts, edges, "different captions of an image, as a share of its captions", "images"),
    )


def example(name: str, side: int) -> tuple[str, str]:
    """Write one side of the example captions into a file, whose captions need no column."""
    path = pathlib.Path(tempfile.mkdtemp()) / "captions.txt"
    path.write_text(EXAMPLE_CAPTIONS[name][side], encoding="utf-8")
    return str(path), ""


VDTK_DIVERSITY = Page(form, "vdtk_diversity", megabytes=MAX_MEGABYTES)
