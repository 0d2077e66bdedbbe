"""Inputs of the example buttons of the pages: captions of twelve images, and a picture."""

import json
import pathlib

import PIL.Image
import PIL.ImageDraw

# Six captions of each of twelve images by a system that varies, and by people; wording needs ten images.
_CAPTIONS = json.loads(pathlib.Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
_VARIED, _PEOPLE = _CAPTIONS["varied"], _CAPTIONS["people"]


def _as_text(rows: list[list[str]]) -> str:
    """Captions as the boxes take them: one a line, and a blank line between images."""
    return "\n\n".join("\n".join(row) for row in rows)


# What the candidates of an example are, and both boxes. A test asks every distribution module whether it agrees.
EXAMPLE_CAPTIONS = {
    "Varied captions": (_as_text(_VARIED), _as_text(_PEOPLE)),
    "One caption repeated": (_as_text([row[:1] * len(row) for row in _VARIED]), _as_text(_PEOPLE)),
    "Captions of another image": (_as_text([*_VARIED[1:], _VARIED[0]]), _as_text(_PEOPLE)),
}


def example_picture() -> PIL.Image.Image:
    """Draw a red square and a blue circle on white, to fill in as an example.

    >>> example_picture().size
    (320, 240)
    """
    picture = PIL.Image.new("RGB", (320, 240), "white")
    pen = PIL.ImageDraw.Draw(picture)
    pen.rectangle((40, 70, 140, 170), fill=(200, 30, 30))
    pen.ellipse((180, 70, 280, 170), fill=(30, 60, 200))
    return picture
