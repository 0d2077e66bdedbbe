"""Inputs of the pages: text boxes, uploaded files, and the limits of one call of a public page."""

import pathlib
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import gradio as gr
import PIL.Image

from manycaps.kit.errors import InputError

# What ends a line of a text box; U+2028, form feeds and the like may be in a caption.
NEWLINE = re.compile(r"\r\n?|\n")

# Kinds of files of captions; formats that may refer to other files, or need a library, are left out.
KINDS = (".jsonl", ".json", ".csv", ".tsv")

# Labels and explanations of the text boxes for several rows.
BOXES = {
    "predictions": ("Candidate captions", "captions of a system: one per line, an empty line before the next image"),
    "references": ("Human captions", "human captions: the same images in the same order"),
    "data": ("Captions", "one per line, an empty line before the next image"),
}


class CaptionLimits(NamedTuple):
    """Limits of one call of a public page."""

    rows: int
    captions_per_row: int
    characters_per_caption: int


def check_caption_limits(rows: Sequence[Sequence[str]], column: str, limits: CaptionLimits) -> None:
    """Raise if there is more than a public page allows; the message names the row and the caption."""
    check_at_most(len(rows), limits.rows, column, "rows")
    for i, row in enumerate(rows):
        check_at_most(len(row), limits.captions_per_row, f"{column}[{i}]", "captions")
        for j, caption in enumerate(row):
            check_at_most(len(caption), limits.characters_per_caption, f"{column}[{i}][{j}]", "characters")


def check_at_most(n: float, limit: float, where: str, unit: str) -> None:
    """Raise if something is larger than a public page allows."""
    if n > limit:
        fix = "Give less, or run the module on your own machine, where nothing is limited."
        raise InputError(where, f"at most {limit:,} {unit} on this page", f"{n:,}", fix)


def caption_box(label: str, info: str) -> gr.Textbox:
    """Return a text box for captions."""
    return gr.Textbox(label=label, info=info, lines=12, max_lines=12, render=False)


def rows_of_text_box(text: str, column: str, limits: CaptionLimits) -> list[list[str]]:
    r"""Split a text box into rows of captions: one caption per line, an empty line between rows.

    >>> rows_of_text_box("a dog\na brown dog\n\na cat\n", "predictions", CaptionLimits(2, 2, 20))
    [['a dog', 'a brown dog'], ['a cat']]
    """
    lines = "\n".join(line.strip() for line in NEWLINE.split(text or ""))
    rows = [block.split("\n") for block in re.split(r"\n\n+", lines.strip("\n")) if block]
    check_caption_limits(rows, column, limits)
    return rows


def caption_lines(text: str, column: str, limits: CaptionLimits) -> list[list[str]]:
    r"""Take a text box as the captions of one row: one per line, empty lines left out; raise if there is none.

    >>> caption_lines("a dog\n\na brown dog", "predictions", CaptionLimits(1, 2, 20))
    [['a dog', 'a brown dog']]
    """
    row = [line.strip() for line in NEWLINE.split(text or "") if line.strip()]
    if not row:
        raise InputError(f"{column}[0]", "at least one caption", "none", "Write one caption per line.")
    check_caption_limits([row], column, limits)
    return [row]


def take_uploads_only(component: Any) -> Any:
    """Make an upload component give the path of the file that was uploaded, and nothing else.

    gradio lets a caller name a web address or hold the data in the message instead, and opens images before the app
    sees them. Here only uploads pass, and they are not opened: the limits of the page come first.
    """
    # On the instance: gradio writes a type stub beside every module that subclasses a component.
    move = component.async_move_resource_to_block_cache

    async def move_uploads_only(path: Any) -> Any:
        if re.match(r"[A-Za-z][A-Za-z0-9+.-]+:", str(path)):
            raise gr.Error("upload: expected a file, got an address. Upload the file itself.", print_exception=False)
        return await move(path)

    component.async_move_resource_to_block_cache = move_uploads_only
    component.preprocess = lambda payload: payload.path if payload else None
    return component


def check_uploaded(path: str | None, where: str, megabytes: float) -> pathlib.Path:
    """Return the path of an upload; raise if nothing was uploaded, or too much."""
    if not path:
        raise InputError(where, "a file", "none", "Upload one, or fill in an example.")
    check_at_most(round(pathlib.Path(path).stat().st_size / 1e6, 1), megabytes, where, "megabytes")
    return pathlib.Path(path)


def check_kind(path: pathlib.Path, where: str) -> None:
    """Raise unless an upload is a file of captions of one of the `KINDS`."""
    if path.suffix not in KINDS:
        raise InputError(where, f"files of the kinds {', '.join(KINDS)}", repr(path.name[-20:]), "Convert it.")


def check_megapixels(path: pathlib.Path, where: str, megapixels: float) -> None:
    """Raise if an image has too many pixels; they are not decoded. Other files are left to the module."""
    try:
        with PIL.Image.open(path) as image:
            n_pixels = image.width * image.height
    except PIL.Image.DecompressionBombError:
        n_pixels = 2 * (PIL.Image.MAX_IMAGE_PIXELS or 0)
    except OSError:
        return
    check_at_most(round(n_pixels / 1e6, 1), megapixels, where, "megapixels")
