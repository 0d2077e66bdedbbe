"""Text boxes of the pages, and their content as rows of captions."""

import re

import gradio as gr

from .limits import CaptionLimits, check_caption_limits

# What ends a line of a text box; U+2028, form feeds and the like may be in a caption.
NEWLINE = re.compile(r"\r\n?|\n")


# Labels and explanations of the text boxes for several rows.
BOXES = {
    "predictions": ("Candidate captions", "captions of a system: one per line, an empty line before the next image"),
    "references": ("Human captions", "human captions: the same images in the same order"),
    "data": ("Captions", "one per line, an empty line before the next image"),
}


def caption_boxes() -> list[gr.Textbox]:
    """Return text boxes for the candidates and the references of several rows."""
    return [caption_box(*BOXES[column]) for column in ("predictions", "references")]


def caption_box(label: str, info: str) -> gr.Textbox:
    """Return a text box."""
    return gr.Textbox(label=label, info=info, lines=12, max_lines=12, render=False)


def rows_of_text_box(text: str, column: str, limits: CaptionLimits) -> list[list[str]]:
    r"""Split a text box into rows of captions: one caption per line, an empty line between rows.

    Args:
        text: content of the box.
        column: name of the column, for the messages.
        limits: of this page.

    Returns:
        List of rows, each a list of captions without spaces around them; no rows for an empty box.

    Raises:
        ValueError: more than the page allows; the message names the row and the caption.

    >>> rows_of_text_box("a dog\na brown dog\n\na cat\n", "predictions", CaptionLimits(2, 2, 20))
    [['a dog', 'a brown dog'], ['a cat']]
    """
    lines = "\n".join(line.strip() for line in NEWLINE.split(text or ""))
    rows = [block.split("\n") for block in re.split(r"\n\n+", lines.strip("\n")) if block]
    check_caption_limits(rows, column, limits)
    return rows


def caption_lines(text: str, column: str, limits: CaptionLimits) -> list[list[str]]:
    r"""Take a text box as the captions of one row: one a line, empty lines left out.

    Args:
        text: content of the box.
        column: name of the column, for the messages.
        limits: of this page.

    Returns:
        List of one row.

    Raises:
        ValueError: no caption, or more than the page allows.

    >>> caption_lines("a dog\n\na brown dog", "predictions", CaptionLimits(1, 2, 20))
    [['a dog', 'a brown dog']]
    """
    row = [line.strip() for line in NEWLINE.split(text or "") if line.strip()]
    if not row:
        raise ValueError(f"{column}[0]: expected at least one caption, got none. Write one caption per line.")
    check_caption_limits([row], column, limits)
    return [row]
