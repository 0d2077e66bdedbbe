"""Plots of the diversity report as inline SVG, whose colours are the page's own variables.

matplotlib writes plain colours; each placeholder below is replaced by a CSS variable, so that one drawing is legible on
light and on dark pages.
"""

import html
import io
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import matplotlib
import matplotlib.figure
import matplotlib.ticker
import numpy as np

# Placeholders that no other colour of a plot equals.
INK, MUTED, GRID = "#010203", "#010204", "#010205"
SERIES = ("#020301", "#020302", "#020303", "#020304", "#020305", "#020306")
VARIABLES = {INK: "--ink", MUTED: "--published", GRID: "--grid"} | {
    color: f"--series-{i}" for i, color in enumerate(SERIES)
}

# Line styles, so that series are told apart without colours, too.
LINE_STYLES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)))

# Marks of published data sets on the vocabulary plot.
PUBLISHED_MARKS = ("o", "s", "^", "D")

SETTINGS: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "diversity-report",
    "font.size": 11,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": MUTED,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
    "legend.labelcolor": INK,
}


class Plot(NamedTuple):
    """One drawing and what it says."""

    # Short identifier, for links and tests.
    name: str
    title: str
    # How to read it.
    caption: str
    # What a reader who does not see the drawing must know.
    description: str
    svg: str


def vocabulary_plot(curves: Mapping[str, np.ndarray], published: Mapping[str, int]) -> Plot:
    """Share of all tokens that the most frequent types make up.

    Args:
        curves: for each data set its int64 array of tokens per type.
        published: vocabulary heads at 90 % of the tokens, by name.
    """
    with matplotlib.rc_context(SETTINGS):
        figure = _figure(4.2)
        axes = figure.subplots()
        said = []
        for i, (name, counts) in enumerate(curves.items()):
            shares = np.cumsum(np.sort(counts)[::-1]) / max(counts.sum(), 1)
            # A few hundred points are enough for the eye, also for a million types.
            ranks = np.unique(np.geomspace(1, max(len(shares), 1), 300).astype(int))[: len(shares)]
            axes.plot(ranks, shares[ranks - 1], color=SERIES[i % 6], linestyle=LINE_STYLES[i % 6], label=name, lw=2)
            head = int(np.argmax(shares >= 0.9)) + 1 if len(shares) else 0
            said.append(f"{name} reaches 90% with {head:,} of {len(shares):,} types")
        axes.axhline(0.9, color=MUTED, lw=1)
        for (name, head), mark in zip(published.items(), PUBLISHED_MARKS, strict=False):
            axes.plot([head], [0.9], mark, color=MUTED, label=f"{name}, published", ms=7)
        axes.set(xscale="log", xlabel="most frequent types", ylabel="share of all tokens", ylim=(0, 1.03))
        axes.set_xlim(0.8, 1.3 * max([2, *map(len, curves.values()), *published.values()]))
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        axes.yaxis.set_major_formatter(matplotlib.ticker.PercentFormatter(1))
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
        title = "Vocabulary head"
        caption = (
            "The most frequent types in order, and the share of all tokens that they make up together. The line is "
            "at 90%, the grey marks are published heads."
        )
        return _plot("vocabulary", title, caption, "; ".join(said), figure)


def share_plot(name: str, title: str, caption: str, panels: Mapping[str, Mapping[str, float]], n_measured: int) -> Plot:
    """Horizontal bars of shares, one panel per figure.

    Args:
        name: identifier.
        title: title.
        caption: how to read it.
        panels: for each panel's label the share of each data set, the same data sets in every panel.
        n_measured: how many of the data sets are the user's; the others are published.
    """
    names = list(next(iter(panels.values())))
    with matplotlib.rc_context(SETTINGS | {"axes.grid.axis": "x"}):
        figure = _figure(0.9 + 0.34 * len(names))
        grid = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        for axes, (label, shares) in zip(grid, panels.items(), strict=True):
            colors = [SERIES[i % 6] if i < n_measured else MUTED for i in range(len(names))]
            bars = axes.barh(range(len(names)), [shares[n] for n in names], color=colors, height=0.66)
            axes.bar_label(bars, [f"{shares[n]:.1%}" for n in names], padding=3, fontsize=10)
            axes.set(title=label, yticks=range(len(names)), yticklabels=names, xlim=(0, 1.25))
            axes.set_xticks([0, 0.5, 1], ["0%", "50%", "100%"])
        grid[0].invert_yaxis()
        said = [f"{label}: " + ", ".join(f"{n} {s:.1%}" for n, s in shares.items()) for label, shares in panels.items()]
        return _plot(name, title, caption, "; ".join(said), figure)


def histogram_plot(
    name: str,
    title: str,
    caption: str,
    label: str,
    unit: str,
    histograms: Mapping[str, tuple[Sequence[int], Sequence[float]]],
) -> Plot:
    """Histograms of several data sets, each as shares of its own total.

    Args:
        name: identifier.
        title: title.
        caption: how to read it.
        label: what the horizontal axis shows.
        unit: what is counted, in the plural.
        histograms: (counts, edges) of each data set, the edges alike.
    """
    with matplotlib.rc_context(SETTINGS):
        figure = _figure(3.4)
        axes = figure.subplots()
        said, first, last = [], np.inf, 0.0
        for i, (series, (counts, edges)) in enumerate(histograms.items()):
            shares = np.array(counts) / max(sum(counts), 1)
            style: dict[str, Any] = {"color": SERIES[i % 6], "linestyle": LINE_STYLES[i % 6], "lw": 2}
            axes.stairs(shares, edges, label=series, **style)
            used = np.flatnonzero(counts)
            if used.size:
                first, last = min(first, edges[used[0]]), max(last, edges[used[-1] + 1])
                peak = int(np.argmax(counts))
                said.append(
                    f"{series}: most {unit} ({shares[peak]:.0%}) between {edges[peak]:.2g} and {edges[peak + 1]:.2g}"
                )
        axes.set(xlabel=label, ylabel=f"share of {unit}", ylim=(0, None))
        if last > first:
            axes.set_xlim(max(first - 0.05 * (last - first), 0), last + 0.02 * (last - first))
        axes.yaxis.set_major_formatter(matplotlib.ticker.PercentFormatter(1))
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
        return _plot(name, title, caption, "; ".join(said), figure)


def _figure(height: float) -> matplotlib.figure.Figure:
    return matplotlib.figure.Figure(figsize=(11, 1.1 * height), layout="constrained")


def _plot(name: str, title: str, caption: str, said: str, figure: matplotlib.figure.Figure) -> Plot:
    description = f"{title}. {said}."
    return Plot(name, title, caption, description, _as_inline_svg(figure, name, description))


def _as_inline_svg(figure: matplotlib.figure.Figure, name: str, description: str) -> str:
    """Write a figure as an svg element with the page's colours and font, and identifiers of its own."""
    file = io.StringIO()
    figure.savefig(file, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    svg = file.getvalue()
    box = re.findall(r'viewBox="([^"]+)"', svg)[0]
    body = svg[svg.index(">", svg.index("<svg")) + 1 : svg.rindex("</svg>")]
    body = re.sub(r"<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
    body = re.sub(r'\bid="([^"]+)"', rf'id="{name}-\1"', body)
    body = re.sub(r'(xlink:href="#|url\(#)', rf"\g<1>{name}-", body)
    body = re.sub(r"font: ([\d.]+px) [^;\"]+", r"font: \1 var(--font)", body)
    for color, variable in VARIABLES.items():
        body = body.replace(color, f"var({variable})")
    label = html.escape(description, quote=True)
    # The namespace of links is needed by the parser of a standalone file only; HTML knows it.
    return f'<svg viewBox="{box}" role="img" aria-label="{label}" data-plot="{name}">{body}</svg>'
