"""Limits of one call of a public page, with their messages."""

from collections.abc import Sequence
from typing import NamedTuple


class CaptionLimits(NamedTuple):
    """Limits of one call of a public page."""

    rows: int
    captions_per_row: int
    characters_per_caption: int


def check_caption_limits(rows: Sequence[Sequence[str]], column: str, limits: CaptionLimits) -> None:
    """Raise if there is more than a public page allows; the message names the row and the caption.

    Raises:
        ValueError: too many rows, captions in a row, or characters in a caption.
    """
    check_at_most(len(rows), limits.rows, column, "rows")
    for i, row in enumerate(rows):
        check_at_most(len(row), limits.captions_per_row, f"{column}[{i}]", "captions")
        for j, caption in enumerate(row):
            check_at_most(len(caption), limits.characters_per_caption, f"{column}[{i}][{j}]", "characters")


def check_at_most(n: float, limit: float, where: str, unit: str) -> None:
    """Raise if something is larger than a public page allows.

    Raises:
        ValueError: n is above the limit.
    """
    if n > limit:
        raise ValueError(
            f"{where}: expected at most {limit:,} {unit} on this page, got {n:,}. Give less, or run the module on your "
            "own machine, where nothing is limited."
        )
