"""The drawings of the demo pages: what they say, and that they can draw every caption."""

import warnings

import numpy as np
import pytest

from manycaps.pages import plots
from manycaps.pages.plots import (
    caption_bars,
    heat_map,
    histogram,
    mean_intervals,
    null_distribution,
    share_bars,
    shortened,
    vocabulary_curve,
)

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


def test_null_distribution_colours_the_splits_that_reach_the_observed_value():
    null = np.array([0.5, 0.2, 0.2, 0.5, 0.9 - 1e-12, 0.9])
    drawing = null_distribution(null, 0.9, 2 / 6, "Q")
    assert_drawn(drawing)
    assert drawing.description == "Q: 2 of 6 splits reach the observed 0.9."
    blue = (0x1F, 0x5F, 0xA8)
    assert colors(drawing)[blue] > colors(null_distribution(null, 1.0, 0.0, "Q"))[blue] > 0  # the legend has it too


@pytest.mark.parametrize("value", [0.0, 1.5])
def test_a_null_distribution_without_spread(value):
    drawing = null_distribution(np.full(10, value), value, 1.0, "Q")
    assert drawing.description == f"Q: 10 of 10 splits reach the observed {value:.4g}."
    assert_drawn(drawing)


@pytest.mark.parametrize("n", [1, 3, 20])
def test_heat_map_of_any_captions(n):
    values = np.abs(np.subtract.outer(np.arange(2 * n), np.arange(2 * n))) / 2
    texts = (CAPTIONS * 4)[:n]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        drawing = heat_map(values, texts, texts, "distance")
    assert_drawn(drawing)
    across = values[:n, n:].mean()
    assert f"across {across:.3g}" in drawing.description


@pytest.mark.parametrize("values", [[[0.0, 9.99], [9.994, 1.0]], [[0.0, 10.0], [9.996, 1.0]], [[0.0, -0.25]]])
def test_values_fit_into_the_fields_of_a_heat_map(values):
    written = []

    class Axes:
        def text(self, x, y, text, **style):
            written.append(text)

    plots._write_values(Axes(), np.array(values))
    assert [float(text) for text in written] == pytest.approx(np.ravel(values), abs=0.05)
    assert max(map(len, written)) <= 4 + (min(np.ravel(values)) < 0)


def test_bars_of_any_captions():
    drawing = caption_bars({"fine": [0.5, -0.2, 0.1, 0, 1.4, 0.7], "coarse": [0.1] * 6}, CAPTIONS)
    assert_drawn(drawing)
    assert "(empty) 0.100" in drawing.description


def test_bars_are_as_long_as_their_values():
    one, half = (colors(caption_bars({"score": [value]}, ["a dog"]))[(0x1F, 0x5F, 0xA8)] for value in (1.0, 0.5))
    assert half / one == pytest.approx(0.5, abs=0.02)


def test_diversity_drawings():
    curve = vocabulary_curve({0.5: 3, 0.9: 40, 1: 100})
    assert curve.description == "40 of 100 types make up 90% of the tokens."
    shares = share_bars({"EVS@2": {"yours": 0.5, "MSVD": 0.25}, "EVS@3": {"yours": 0.1, "MSVD": 0.2}})
    assert shares.description == "EVS@2: yours 50.0%, MSVD 25.0%; EVS@3: yours 10.0%, MSVD 20.0%."
    bars = histogram([1, 7, 0], [0.0, 0.25, 0.5, 1.0], "share", "images")
    assert bars.description == "Most images (7) between 0.25 and 0.5."
    for drawing in (curve, shares, bars):
        assert_drawn(drawing)
    assert_drawn(vocabulary_curve({0.9: 1, 1: 1}))


def test_a_group_may_lack_published_shares():
    some = share_bars({"exact": {"yours": 0.5, "MSVD": 0.25}, "words": {"yours": 0.1}})
    assert some.description == "exact: yours 50.0%, MSVD 25.0%; words: yours 10.0%."
    assert_drawn(some)
    both = share_bars({"exact": {"yours": 0.5, "MSVD": 0.25}, "words": {"yours": 0.1, "MSVD": 0.25}})
    grey = (0xC3, 0xC6, 0xCC)
    assert colors(some)[grey] < 0.7 * colors(both)[grey]


def test_means_with_and_without_intervals():
    """A single row has no interval."""
    drawing = mean_intervals({"a $5 system": (0.5, 0.25, 0.75), "other": (-0.5, np.nan, np.nan)}, "excess", mark=0.0)
    assert drawing.description == "excess: a $5 system 0.500 (0.250 to 0.750), other -0.500."
    assert_drawn(drawing)


def test_captions_beside_a_drawing_are_short():
    assert all(len(shortened(caption)) <= 44 for caption in CAPTIONS)
    assert shortened("") == "(empty)"
    assert shortened("x" * 300).endswith("x...")
