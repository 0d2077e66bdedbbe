"""Inputs of the example buttons of the pages: captions of five images, and a picture."""

import json
import pathlib
from collections.abc import Mapping

import PIL.Image
import PIL.ImageDraw

# Five images, twelve captions each, one half for a system that varies and one for people.
_ROWS: Mapping[str, list[list[str]]] = json.loads(pathlib.Path(__file__).with_suffix(".json").read_text("utf-8"))
_VARIED, _PEOPLE = _ROWS["varied"], _ROWS["people"]


def _as_text(rows: list[list[str]]) -> str:
    """Rows as the boxes take them."""
    return "\n\n".join(map("\n".join, rows))


# The first caption of every image as often as there were captions, and every image's captions at the image before it.
_REPEATED = [row[:1] * len(row) for row in _VARIED]
_SHIFTED = [*_VARIED[1:], _VARIED[0]]

# What the candidates of an example are, and both boxes. A test asks every distribution module whether it agrees.
EXAMPLE_CAPTIONS = {
    "Varied captions": (_as_text(_VARIED), _as_text(_PEOPLE)),
    "One caption repeated": (_as_text(_REPEATED), _as_text(_PEOPLE)),
    "Captions of another image": (_as_text(_SHIFTED), _as_text(_PEOPLE)),
}


def example_picture() -> PIL.Image.Image:
    """A red square and a blue circle on white, to fill in as an example.

    >>> example_picture().size
    (320, 240)
    """
    picture = PIL.Image.new("RGB", (320, 240), "white")
    pen = PIL.ImageDraw.Draw(picture)
    pen.rectangle((40, 70, 140, 170), fill=(200, 30, 30))
    pen.ellipse((180, 70, 280, 170), fill=(30, 60, 200))
    return picture
