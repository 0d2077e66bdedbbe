"""What a page shows of a result: drawings that can draw every caption, and the sentence that a result allows."""

import numpy as np
import pytest

from manycaps.pages.plots import caption_bars, histogram_figure, mean_intervals
from manycaps.pages.verdict import SIGNIFICANCE, UNUSUALLY_NEAR, verdict

# matplotlib would take some of these for formulas.
CAPTIONS = ["a $5 bill and $10", r"\frac{1}{0} $\undefined$", "", "a " * 200, "x" * 300, "<b>&amp;</b>"]


def colors(drawing):
    """Number of pixels of each colour."""
    pixels = np.asarray(drawing.image.convert("RGB")).reshape(-1, 3)
    found, counts = np.unique(pixels, axis=0, return_counts=True)
    return {tuple(color): count for color, count in zip(found.tolist(), counts.tolist(), strict=True)}


def test_drawings_of_any_captions():
    """A single row has no interval."""
    for drawing, description in (
        (caption_bars([0.5, -0.2, 0.1, 0, 1.4, 0.7], CAPTIONS, "score"), "(empty) 0.100"),
        (
            histogram_figure([0.5, 0.2, 0.2, 0.1]),
            "Candidates by people's distances from the references: 50% ordinary, 10% unlike people's, people 25%.",
        ),
        (
            mean_intervals({"a $5 system": (0.5, 0.25, 0.75), "other": (-0.5, np.nan, np.nan)}, "excess", mark=0.0),
            "excess: a $5 system 0.500 (0.250 to 0.750), other -0.500.",
        ),
    ):
        assert description in drawing.description
        assert drawing.description.endswith(".")
        assert drawing.image.width == 960
        counts = sorted(colors(drawing).values())
        assert 0.02 < 1 - counts[-1] / sum(counts) < 0.95


def test_bars_are_as_long_as_their_values():
    one, half = (colors(caption_bars([value], ["a dog"], "score"))[(0x1F, 0x5F, 0xA8)] for value in (1.0, 0.5))
    assert half / one == pytest.approx(0.5, abs=0.02)


INTERVAL = {"trm_excess_ci_low": -0.0104, "trm_excess_ci_high": 0.25}


def sentence(p_value, smallest=0.0001, system="the candidates", **more):
    tested = {"trm_corpus_p_value": p_value, "trm_smallest_corpus_p": smallest, "trm_excess": 0.1234}
    return verdict(tested | more, "trm", "TRM", system)


def test_the_border_is_the_corpus_p_value():
    for p_value in (0.0001, SIGNIFICANCE):
        assert sentence(p_value).startswith("TRM: the candidates differ from ")
    for p_value in (0.0501, 0.98):
        assert sentence(p_value).startswith("TRM: the candidates cannot be distinguished from ")
    # Copies of the references are no sample of people.
    expected = "TRM: the candidates lie nearer to the human captions than random splits of both do (corpus p"
    for p_value in (UNUSUALLY_NEAR, 1.0):
        assert sentence(p_value, trm_excess=-0.2).startswith(expected)


def test_the_effect_and_its_interval_stand_beside():
    numbers = "(corpus p 0.46, excess 0.123, interval -0.011 to 0.250)"
    expected = f"TRM: the candidates cannot be distinguished from the human captions {numbers}."
    assert sentence(0.46, **INTERVAL) == expected
    assert sentence(0.46).endswith("(corpus p 0.46, excess 0.123, no interval).")


def test_too_few_captions_are_no_equality():
    assert sentence(0.4, smallest=1 / 3, system="'b'") == (
        "TRM: not enough captions or random splits to tell 'b' from the human captions: p is at least about 0.33."
    )
    assert sentence(SIGNIFICANCE, smallest=SIGNIFICANCE).startswith("TRM: the candidates differ from")
