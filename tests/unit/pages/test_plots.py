"""The drawings of the demo pages: what they say, and that they can draw every caption."""

import numpy as np
import pytest

from manycaps.pages.plots import caption_bars, histogram_figure, mean_intervals, shortened

# matplotlib would take some of these for formulas.
CAPTIONS = ["a $5 bill and $10", r"\frac{1}{0} $\undefined$", "", "a " * 200, "x" * 300, "<b>&amp;</b>"]


def colors(drawing):
    """Number of pixels of each colour."""
    pixels = np.asarray(drawing.image.convert("RGB")).reshape(-1, 3)
    found, counts = np.unique(pixels, axis=0, return_counts=True)
    return {tuple(color): count for color, count in zip(found.tolist(), counts.tolist(), strict=True)}


def assert_drawn(drawing):
    assert drawing.image.width == 960
    assert drawing.description.endswith(".")
    counts = sorted(colors(drawing).values())
    assert 0.02 < 1 - counts[-1] / sum(counts) < 0.95


def test_bars_of_any_captions():
    drawing = caption_bars({"fine": [0.5, -0.2, 0.1, 0, 1.4, 0.7], "coarse": [0.1] * 6}, CAPTIONS)
    assert_drawn(drawing)
    assert "(empty) 0.100" in drawing.description


def test_bars_are_as_long_as_their_values():
    one, half = (colors(caption_bars({"score": [value]}, ["a dog"]))[(0x1F, 0x5F, 0xA8)] for value in (1.0, 0.5))
    assert half / one == pytest.approx(0.5, abs=0.02)


def test_shares_of_captions_beside_those_of_people():
    drawing = histogram_figure([0.5, 0.2, 0.2, 0.1])
    assert drawing.description == (
        "Candidates by people's distances from the references: 50% ordinary, 10% unlike people's, people 25%."
    )
    assert_drawn(drawing)


def test_means_with_and_without_intervals():
    """A single row has no interval."""
    drawing = mean_intervals({"a $5 system": (0.5, 0.25, 0.75), "other": (-0.5, np.nan, np.nan)}, "excess", mark=0.0)
    assert drawing.description == "excess: a $5 system 0.500 (0.250 to 0.750), other -0.500."
    assert_drawn(drawing)


def test_captions_beside_a_drawing_are_short():
    assert all(len(shortened(caption)) <= 44 for caption in CAPTIONS)
    assert shortened("") == "(empty)"
    assert shortened("x" * 300).endswith("x...")
