"""Pictures of the studies: one look, labelled axes that say which direction is better, PNG with equal bytes."""

import functools
import io
import pathlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import matplotlib
import matplotlib.axes
import matplotlib.figure
import PIL.Image

from manycaps.files.saved_files import write_atomically

SETTINGS: dict[Any, Any] = {
    "font.size": 10,
    "axes.titlesize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#dddddd",
    "legend.frameon": False,
    "figure.facecolor": "white",
}

# Colours that people with colour blindness tell apart (Okabe and Ito 2008, https://jfly.uni-koeln.de/color), by what a
# metric compares; a triangle-rank metric has the colour of its distance.
BLUE, ORANGE, GREEN, PURPLE, BLACK, SKY = "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#000000", "#56b4e9"

# Dots per inch of the PNG, and its colours: a quarter of the bytes of all colours, no visible difference.
RESOLUTION, N_COLOURS = 120, 128


@contextmanager
def new_picture(folder: pathlib.Path, name: str, width: float, height: float) -> Iterator[matplotlib.figure.Figure]:
    """Give an empty figure, and save it as NAME.png when the block ends."""
    with matplotlib.rc_context(SETTINGS):
        figure = matplotlib.figure.Figure(figsize=(width, height), layout="constrained")
        yield figure
        drawn = io.BytesIO()
        figure.savefig(drawn, dpi=RESOLUTION)
        # Neither a date nor a version: the files of equal pictures are equal.
        picture = with_few_colours(PIL.Image.open(drawn))
        write_atomically(folder / f"{name}.png", functools.partial(picture.save, format="PNG", optimize=True))


def with_few_colours(picture: PIL.Image.Image) -> PIL.Image.Image:
    """Reduce a picture to `N_COLOURS`, none of them far from its own."""
    return picture.convert("RGB").quantize(N_COLOURS, PIL.Image.Quantize.MAXCOVERAGE, dither=PIL.Image.Dither.NONE)


def label_axes(axes: matplotlib.axes.Axes, x: str, y: str, *, better: str = "") -> None:
    """Name both axes."""
    axes.set_xlabel(x)
    axes.set_ylabel(f"{y}\n({better})" if better else y)
