"""Plots of the pages: the components of a score, drawn by matplotlib."""

import io
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib
import matplotlib.axes
import matplotlib.figure
import matplotlib.layout_engine
import matplotlib.ticker
import numpy as np
import PIL.Image

from .results import Drawing

# Colours of candidates and references in all drawings and of further series. A Space has no files of reports.
CANDIDATES, REFERENCES = "#1f5fa8", "#b4480c"
SERIES = (CANDIDATES, REFERENCES, "#157347", "#8a3fa0")

# Characters of a caption above its bar; longer ones end in three dots.
LABEL_CHARACTERS = 44

# Width of a drawing in inches, and its dots per inch: 960 pixels, with letters for the width of a telephone.
WIDTH, DOTS_PER_INCH = 4.8, 200

# Inches at the top where the page writes the drawing's label.
HEADROOM = 0.35

SETTINGS: dict[Any, Any] = {
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "grid.color": "#e6e6e2",
    "legend.frameon": False,
}


def caption_bars(values: Sequence[float], captions: Sequence[str], name: str, overall: float | None = None) -> Drawing:
    """Draw a horizontal bar for each caption, the first on top: its value; `name` says what the values are.

    A line shows the value of all together, where it is given.
    """
    places, labels = range(len(captions)), [shorten(caption) for caption in captions]
    with matplotlib.rc_context(SETTINGS | {"axes.grid": True, "axes.grid.axis": "x"}):
        figure, axes = _figure(0.9 + max(0.4 * len(captions), 0.9))
        bars = axes.barh(places, values, 0.42, color=CANDIDATES)
        axes.bar_label(bars, [f"{value:.3f}" for value in values], padding=3, fontsize=9)
        _label_above(axes, places, labels)
        # Distances without a value of all together have one scale: 1 is far.
        least, most = min(0, *values), max(1 if overall is None else 0, *values)
        # Room for the numbers beside the bars; rounding errors are no bars.
        room = max(0.16 * (most - least), 1e-3)
        axes.set_xlim(least - room if least < 0 else 0, most + room)
        if overall is not None:
            axes.axvline(overall, color=REFERENCES, lw=1.5, ls="--", label=f"all together {overall:.3f}")
            axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0))
        axes.set(xlabel=name, ylim=(len(captions) - 0.6, -0.9))
    shown = ", ".join(f"{label} {value:.3f}" for label, value in zip(labels, values, strict=True))
    return _drawing(figure, f"{name}: {shown}" + ("." if overall is None else f"; all together {overall:.3f}."))


def histogram_figure(shares: Sequence[float]) -> Drawing:
    """Draw the shares of captions in n equal parts of people's distances from the references, the nearest first.

    A line at 1 / n shows where people's are.
    """
    bins = np.arange(len(shares))
    with matplotlib.rc_context(SETTINGS | {"axes.grid": True, "axes.grid.axis": "y"}):
        figure, axes = _figure(2.8)
        axes.bar(bins, shares, 0.9, color=CANDIDATES, label="candidates")
        axes.axhline(1 / len(shares), color=REFERENCES, lw=2, label="people")
        axes.set_xticks([0, len(shares) - 1], ["generic", "far from people's"])
        axes.set(ylabel="share of captions")
        axes.yaxis.set_major_formatter(matplotlib.ticker.PercentFormatter(1))
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.15), ncols=2)
    ends = f"{shares[0]:.0%} generic, {shares[-1]:.0%} far from people's, people {1 / len(shares):.0%}"
    return _drawing(figure, f"Candidates by people's distances from the references: {ends}.")


def mean_intervals(means: Mapping[str, tuple[float, float, float]], name: str, mark: float | None = None) -> Drawing:
    """Draw means with their intervals, the first on top.

    Args:
        means: for each label the mean and both ends of its interval; NaN where there is none.
        name: what the horizontal axis shows.
        mark: a value with a line of its own.
    """
    with matplotlib.rc_context(SETTINGS | {"axes.grid": True, "axes.grid.axis": "x"}):
        figure, axes = _figure(0.8 + 0.5 * len(means))
        if mark is not None:
            axes.axvline(mark, color="#84878f", lw=1.5)
        for i, (mean, low, high) in enumerate(means.values()):
            axes.plot([low, high], [i, i], color=SERIES[i % 4], lw=3, solid_capstyle="butt")
            axes.plot([mean], [i], "osD^"[i % 4], color=SERIES[i % 4], ms=9)
        _label_above(axes, range(len(means)), [shorten(label) for label in means])
        axes.set(xlabel=name, ylim=(len(means) - 0.5, -0.8))
    descriptions = (
        f"{label} {mean:.3f}" + ("" if np.isnan(low) else f" ({low:.3f} to {high:.3f})")
        for label, (mean, low, high) in means.items()
    )
    return _drawing(figure, f"{name}: {', '.join(descriptions)}.")


def shorten(caption: str) -> str:
    """Truncate a caption to `LABEL_CHARACTERS`, at a space where there is one.

    >>> shorten("a dog"), shorten("a brown dog runs on the beach while its owner looks on")
    ('a dog', 'a brown dog runs on the beach while its...')
    """
    caption = " ".join(caption.split()) or "(empty)"
    if len(caption) <= LABEL_CHARACTERS:
        return caption
    cut = textwrap.shorten(caption, LABEL_CHARACTERS, placeholder="...")
    return cut if len(cut) > LABEL_CHARACTERS // 2 else caption[: LABEL_CHARACTERS - 3] + "..."


def _label_above(axes: matplotlib.axes.Axes, places: Sequence[float], labels: Sequence[str]) -> None:
    """Write a label above each bar: beside them, captions would take half of the width of a telephone."""
    axes.set_yticks([])
    beside = axes.get_yaxis_transform()
    for place, label in zip(places, labels, strict=True):
        axes.text(0.01, place - 0.28, label, transform=beside, va="bottom", fontsize=9, parse_math=False)


def _figure(height: float) -> tuple[matplotlib.figure.Figure, matplotlib.axes.Axes]:
    height += HEADROOM
    layout = matplotlib.layout_engine.ConstrainedLayoutEngine(rect=(0, 0, 1, 1 - HEADROOM / height))
    figure = matplotlib.figure.Figure(figsize=(WIDTH, height), dpi=DOTS_PER_INCH, layout=layout)
    return figure, figure.subplots()


def _drawing(figure: matplotlib.figure.Figure, description: str) -> Drawing:
    file = io.BytesIO()
    with matplotlib.rc_context(SETTINGS):
        figure.savefig(file, format="png")
    return Drawing(PIL.Image.open(file), description)
