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

# Colours of candidates and references in all drawings, of further series, and of values for comparison.
CANDIDATES, REFERENCES = "#1f5fa8", "#b4480c"
SERIES = (CANDIDATES, REFERENCES, "#157347", "#8a3fa0")
MUTED = "#c3c6cc"

# Characters of a caption beside a drawing; longer ones end in three dots.
LABEL_CHARACTERS = 44

# Width of a drawing in inches, and its dots per inch: 960 pixels.
WIDTH, DOTS_PER_INCH = 8.0, 120

# Inches at the top where the page writes the drawing's label.
HEADROOM = 0.35

# Values nearer than this share of the largest are equal, as in the permutation test.
TIE_TOLERANCE = 1e-9

# Values of a heat map are written into it where it has at most this many texts.
MAX_WRITTEN_TEXTS = 12

SETTINGS: dict[Any, Any] = {
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "grid.color": "#e6e6e2",
    "legend.frameon": False,
}


def null_distribution(null_statistics: np.ndarray, observed: float, p_value: float, name: str) -> Drawing:
    """Histogram of a statistic under the splits of a row, and the observed value.

    Args:
        null_statistics: float64 array, shape (n_partitions,).
        observed: the statistic of the row.
        p_value: share of the splits that reach it.
        name: what the statistic is called.

    Returns:
        Drawing with the splits that reach the observed value in colour.
    """
    reached = null_statistics >= observed - TIE_TOLERANCE * np.abs(null_statistics).max()
    low, high = float(null_statistics.min()), float(null_statistics.max())
    pad = 0.04 * (high - low) or 0.04 * max(abs(high), 1.0)
    edges = np.linspace(low - pad, high + pad, 45).tolist()
    with matplotlib.rc_context(SETTINGS):
        figure, axes = _figure(3.6)
        kinds = (null_statistics[~reached], null_statistics[reached])
        labels = ("splits below the observed value", f"splits that reach it: p = {p_value:.4g}")
        axes.hist(kinds, edges, stacked=True, color=(MUTED, CANDIDATES), label=labels)
        axes.axvline(observed, color=REFERENCES, lw=2, label=f"observed: {observed:.4g}")
        axes.set(xlabel=name, ylabel="number of splits", title=f"{len(null_statistics):,} splits of the same captions")
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        axes.yaxis.set_major_locator(matplotlib.ticker.MaxNLocator(integer=True))
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=3)
    n_reached = int(np.count_nonzero(reached))
    return _drawing(figure, f"{name}: {n_reached:,} of {len(reached):,} splits reach the observed {observed:.4g}.")


def heat_map(pair_values: np.ndarray, candidates: Sequence[str], references: Sequence[str], name: str) -> Drawing:
    """Values of all pairs of texts of a row, candidates first, both sets marked by colour.

    Args:
        pair_values: float64 array, shape (n_texts, n_texts); row i, column j is the pair (text i, text j).
        candidates: the candidate captions.
        references: the reference captions.
        name: what the values are called.

    Returns:
        Drawing with captions down the side and their short names along the top.
    """
    n_texts = len(pair_values)
    short = [f"C{i + 1}" for i in range(len(candidates))] + [f"R{i + 1}" for i in range(len(references))]
    colors = [CANDIDATES] * len(candidates) + [REFERENCES] * len(references)
    captions = [f"{shortened(text)}  {name}" for text, name in zip([*candidates, *references], short, strict=True)]
    with matplotlib.rc_context(SETTINGS):
        figure, axes = _figure(1.1 + max(0.28 * n_texts, 1.6))
        image = axes.imshow(pair_values, cmap="viridis", aspect="auto")
        axes.set_yticks(range(n_texts), captions, parse_math=False)
        axes.set_xticks(range(n_texts), short)
        axes.xaxis.tick_top()
        for labels in (axes.get_xticklabels(), axes.get_yticklabels()):
            for label, color in zip(labels, colors, strict=True):
                label.set_color(color)
        for line in (axes.axhline, axes.axvline):
            line(len(candidates) - 0.5, color="white", lw=3)
        if n_texts <= MAX_WRITTEN_TEXTS:
            _write_values(axes, pair_values)
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        figure.colorbar(image, label=name, fraction=0.04, pad=0.02)
        axes.set_xlabel("C: candidates, R: references")
    means = (
        f"{kind} {block.mean():.3g}"
        for kind, block in (
            ("among candidates", pair_values[: len(candidates), : len(candidates)]),
            ("across", pair_values[: len(candidates), len(candidates) :]),
            ("among references", pair_values[len(candidates) :, len(candidates) :]),
        )
    )
    return _drawing(figure, f"{name}, means with the diagonal: {', '.join(means)}.")


def caption_bars(scores: Mapping[str, Sequence[float]], captions: Sequence[str]) -> Drawing:
    """One group of horizontal bars for each caption.

    Args:
        scores: for each score's name its value for every caption.
        captions: the captions.

    Returns:
        Drawing with the first caption on top, from 0 to 1 or as far as the bars reach.
    """
    every = [value for values in scores.values() for value in values]
    places = np.arange(len(captions))
    height = 0.8 / len(scores)
    with matplotlib.rc_context(SETTINGS | {"axes.grid": True, "axes.grid.axis": "x"}):
        figure, axes = _figure(1.0 + max(0.3 * len(captions) * (1 + 0.35 * (len(scores) - 1)), 0.9))
        for i, (name, values) in enumerate(scores.items()):
            bars = axes.barh(places + (i - (len(scores) - 1) / 2) * height, values, height * 0.9, color=SERIES[i % 4])
            bars.set_label(name)
            axes.bar_label(bars, [f"{value:.3f}" for value in values], padding=3, fontsize=9)
        axes.set_yticks(places, [shortened(caption) for caption in captions], parse_math=False)
        least = min(every)
        # Room for the numbers beside the bars.
        axes.set_xlim(least - 0.15 if least < 0 else 0, max([1, *every]) + 0.1)
        axes.set_ylim(len(captions) - 0.4, -0.6)
        axes.tick_params(axis="y", length=0)
        if len(scores) == 1:
            axes.set_xlabel(next(iter(scores)))
        else:
            axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.3 / figure.get_figheight()), ncols=len(scores))
    descriptions = (
        f"{name}: " + ", ".join(f"{shortened(c)} {v:.3f}" for c, v in zip(captions, values, strict=True))
        for name, values in scores.items()
    )
    return _drawing(figure, "; ".join(descriptions) + ".")


def histogram_figure(shares: Sequence[float]) -> Drawing:
    """Shares of captions in equal parts of people's distances from the references, the nearest first, beside people's.

    Args:
        shares: n shares that add up to 1.

    Returns:
        Drawing with a line at 1 / n, where people's are.
    """
    bins = np.arange(len(shares))
    with matplotlib.rc_context(SETTINGS | {"axes.grid": True, "axes.grid.axis": "y"}):
        figure, axes = _figure(2.8)
        axes.bar(bins, shares, 0.9, color=CANDIDATES, label="candidates")
        axes.axhline(1 / len(shares), color=REFERENCES, lw=2, label="people")
        axes.set_xticks([0, len(shares) - 1], ["ordinary", "unlike people's"])
        axes.set(ylabel="share of captions")
        axes.yaxis.set_major_formatter(matplotlib.ticker.PercentFormatter(1))
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.15), ncols=2)
    ends = f"{shares[0]:.0%} ordinary, {shares[-1]:.0%} unlike people's, people {1 / len(shares):.0%}"
    return _drawing(figure, f"Candidates by people's distances from the references: {ends}.")


def mean_intervals(means: Mapping[str, tuple[float, float, float]], name: str, mark: float | None = None) -> Drawing:
    """Means with their intervals, one below the other.

    Args:
        means: for each label, the first one on top, the mean and both ends of its interval; NaN where there is none.
        name: what the horizontal axis shows.
        mark: a value with a line of its own.

    Returns:
        Drawing.
    """
    with matplotlib.rc_context(SETTINGS | {"axes.grid": True, "axes.grid.axis": "x"}):
        figure, axes = _figure(0.8 + 0.4 * len(means))
        if mark is not None:
            axes.axvline(mark, color="#84878f", lw=1.5)
        for i, (mean, low, high) in enumerate(means.values()):
            axes.plot([low, high], [i, i], color=SERIES[i % 4], lw=3, solid_capstyle="butt")
            axes.plot([mean], [i], "osD^"[i % 4], color=SERIES[i % 4], ms=9)
        axes.set_yticks(range(len(means)), [shortened(label) for label in means], parse_math=False)
        axes.set(xlabel=name, ylim=(len(means) - 0.5, -0.5))
        axes.tick_params(axis="y", length=0)
    descriptions = (
        f"{label} {mean:.3f}" + ("" if np.isnan(low) else f" ({low:.3f} to {high:.3f})")
        for label, (mean, low, high) in means.items()
    )
    return _drawing(figure, f"{name}: {', '.join(descriptions)}.")


def vocabulary_curve(heads: Mapping[float, int]) -> Drawing:
    """How many of the most frequent types make up which share of the tokens.

    Args:
        heads: for each share, in rising order and 0.9 and 1 among them, the number of types.

    Returns:
        Drawing with a logarithmic axis of types, and the head at 90 % marked.
    """
    head, n_types = heads[0.9], heads[1]
    with matplotlib.rc_context(SETTINGS | {"axes.grid": True}):
        figure, axes = _figure(3.4)
        axes.plot(list(heads.values()), list(heads), "o-", color=CANDIDATES, lw=2, ms=4)
        axes.plot([head], [0.9], "o", color=REFERENCES, ms=9)
        note = f"head: {head:,} of {n_types:,} types"
        axes.annotate(note, (head, 0.9), (-10, 8), textcoords="offset points", ha="right", color=REFERENCES)
        axes.axhline(0.9, color=REFERENCES, lw=1, ls="--")
        axes.set(xscale="log", xlabel="most frequent types", ylabel="share of all tokens", ylim=(0, 1.06))
        axes.set_xlim(0.8, 1.3 * n_types)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        axes.xaxis.set_minor_formatter(matplotlib.ticker.NullFormatter())
        axes.yaxis.set_major_formatter(matplotlib.ticker.PercentFormatter(1))
    return _drawing(figure, f"{head:,} of {n_types:,} types make up 90% of the tokens.")


def share_bars(shares: Mapping[str, Mapping[str, float]]) -> Drawing:
    """Groups of horizontal bars between 0 and 100 %.

    Args:
        shares: for each group the share of each series; the first group has all series, the others may lack some, and
            the first series is the user's.

    Returns:
        Drawing with one group of bars for each label.
    """
    names = list(next(iter(shares.values())))
    height = 0.8 / len(names)
    with matplotlib.rc_context(SETTINGS | {"axes.grid": True, "axes.grid.axis": "x"}):
        figure, axes = _figure(1.0 + 0.24 * len(names) * len(shares))
        for i, name in enumerate(names):
            values = [group[name] for group in shares.values() if name in group]
            places = np.flatnonzero([name in group for group in shares.values()]) + (i - (len(names) - 1) / 2) * height
            color = CANDIDATES if i == 0 else (MUTED, "#dcdee2")[(i - 1) % 2]
            bars = axes.barh(places, values, height * 0.9, color=color, label=name)
            axes.bar_label(bars, [f"{value:.1%}" for value in values], padding=3, fontsize=9)
        axes.set_yticks(range(len(shares)), list(shares))
        axes.set(xlim=(0, 1.12), ylim=(len(shares) - 0.4, -0.6))
        axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0%", "25%", "50%", "75%", "100%"])
        axes.tick_params(axis="y", length=0)
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.3 / figure.get_figheight()), ncols=len(names))
    descriptions = (
        f"{label}: " + ", ".join(f"{n} {v:.1%}" for n, v in group.items()) for label, group in shares.items()
    )
    return _drawing(figure, "; ".join(descriptions) + ".")


def histogram(counts: Sequence[int], edges: Sequence[float], label: str, unit: str) -> Drawing:
    """Histogram out of its counts.

    Args:
        counts: n counts.
        edges: n + 1 edges.
        label: what the horizontal axis shows.
        unit: what is counted, in the plural.

    Returns:
        Drawing.
    """
    with matplotlib.rc_context(SETTINGS | {"axes.grid": True, "axes.grid.axis": "y"}):
        figure, axes = _figure(3.0)
        axes.stairs(counts, edges, fill=True, color=CANDIDATES)
        axes.set(xlabel=label, ylabel=unit)
        axes.yaxis.set_major_locator(matplotlib.ticker.MaxNLocator(integer=True))
    peak = int(np.argmax(counts))
    return _drawing(figure, f"Most {unit} ({counts[peak]:,}) between {edges[peak]:.2g} and {edges[peak + 1]:.2g}.")


def shortened(caption: str) -> str:
    """Truncate a caption to `LABEL_CHARACTERS`, at a space where there is one.

    >>> shortened("a dog"), shortened("a brown dog runs on the beach while its owner looks on")
    ('a dog', 'a brown dog runs on the beach while its...')
    """
    caption = " ".join(caption.split()) or "(empty)"
    if len(caption) <= LABEL_CHARACTERS:
        return caption
    cut = textwrap.shorten(caption, LABEL_CHARACTERS, placeholder="...")
    return cut if len(cut) > LABEL_CHARACTERS // 2 else caption[: LABEL_CHARACTERS - 3] + "..."


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


def _write_values(axes: matplotlib.axes.Axes, values: np.ndarray) -> None:
    """Write every value into its field, light on dark and dark on light."""
    middle = (values.min() + values.max()) / 2
    # Four characters fit into a field.
    decimals = 2 if np.abs(values).max() < 9.995 else 1
    for i, j in np.ndindex(values.shape):
        color = "white" if values[i, j] <= middle else "black"
        axes.text(j, i, f"{values[i, j]:.{decimals}f}", ha="center", va="center", color=color, fontsize=8)
