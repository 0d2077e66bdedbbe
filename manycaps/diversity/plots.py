"""Plots of the diversity report."""

from collections.abc import Mapping, Sequence

import matplotlib.ticker
import numpy as np

from manycaps.report.inline_svg import MARKS, MUTED, SERIES, Plot, as_plot, line_of, new_figure

from .leave_one_out import ReferenceCurves

# Marks of published data sets on the vocabulary plot.
PUBLISHED_MARKS = ("o", "s", "^", "D")


def vocabulary_plot(curves: Mapping[str, np.ndarray], published: Mapping[str, int]) -> Plot:
    """Draw the share of all tokens that the most frequent types make up.

    `curves` has the tokens per type of each data set, `published` the vocabulary heads at 90% of the tokens.
    """
    with new_figure(4.2) as (figure, axes):
        descriptions = []
        for i, (name, counts) in enumerate(curves.items()):
            shares = np.cumsum(np.sort(counts)[::-1]) / max(counts.sum(), 1)
            # A few hundred points are enough for the eye, also for a million types.
            ranks = np.unique(np.geomspace(1, max(len(shares), 1), 300).astype(int))[: len(shares)]
            axes.plot(ranks, shares[ranks - 1], label=name, lw=2, **line_of(i))
            head = int(np.argmax(shares >= 0.9)) + 1 if len(shares) else 0
            descriptions.append(f"{name} reaches 90% with {head:,} of {len(shares):,} types")
        axes.axhline(0.9, color=MUTED, lw=1)
        for (name, head), mark in zip(published.items(), PUBLISHED_MARKS, strict=False):
            axes.plot([head], [0.9], mark, color=MUTED, label=f"{name}, published", ms=7)
        axes.set(xscale="log", xlabel="most frequent types", ylabel="share of all tokens", ylim=(0, 1.03))
        axes.set_xlim(0.8, 1.3 * max([2, *map(len, curves.values()), *published.values()]))
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        axes.yaxis.set_major_formatter(matplotlib.ticker.PercentFormatter(1))
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
        return as_plot(
            "vocabulary",
            "Vocabulary head",
            "The most frequent types in order, and the share of all tokens that they make up together. The line is "
            "at 90%, the grey marks are published heads.",
            "; ".join(descriptions),
            figure,
        )


def share_plot(name: str, title: str, caption: str, panels: Mapping[str, Mapping[str, float]], n_measured: int) -> Plot:
    """Draw bars of shares by panel and data set; the first `n_measured` are the user's, the others published."""
    names = list(next(iter(panels.values())))
    with new_figure(0.9 + 0.34 * len(names), 1, len(panels), grid="x", sharey=True, squeeze=False) as (figure, grid):
        for axes, (label, shares) in zip(grid[0], panels.items(), strict=True):
            colors = [SERIES[i % 6] if i < n_measured else MUTED for i in range(len(names))]
            bars = axes.barh(range(len(names)), [shares[n] for n in names], color=colors, height=0.66)
            axes.bar_label(bars, [f"{shares[n]:.1%}" for n in names], padding=3, fontsize=10)
            axes.set(title=label, yticks=range(len(names)), yticklabels=names, xlim=(0, 1.25))
            axes.set_xticks([0, 0.5, 1], ["0%", "50%", "100%"])
        grid[0, 0].invert_yaxis()
        descriptions = [
            f"{label}: " + ", ".join(f"{n} {s:.1%}" for n, s in shares.items()) for label, shares in panels.items()
        ]
        return as_plot(name, title, caption, "; ".join(descriptions), figure)


def histogram_plot(
    name: str,
    title: str,
    caption: str,
    label: str,
    unit: str,
    histograms: Mapping[str, tuple[Sequence[int], Sequence[float]]],
) -> Plot:
    """Draw histograms, (counts, edges) with equal edges, each as shares of its total; `unit` names what is counted."""
    with new_figure(3.4) as (figure, axes):
        descriptions, first, last = [], np.inf, 0.0
        for i, (series, (counts, edges)) in enumerate(histograms.items()):
            shares = np.array(counts) / max(sum(counts), 1)
            axes.stairs(shares, edges, label=series, lw=2, **line_of(i))
            used = np.flatnonzero(counts)
            if used.size:
                first, last = min(first, edges[used[0]]), max(last, edges[used[-1] + 1])
                peak = int(np.argmax(counts))
                descriptions.append(
                    f"{series}: most {unit} ({shares[peak]:.0%}) between {edges[peak]:.2g} and {edges[peak + 1]:.2g}"
                )
        axes.set(xlabel=label, ylabel=f"share of {unit}", ylim=(0, None))
        if last > first:
            axes.set_xlim(max(first - 0.05 * (last - first), 0), last + 0.02 * (last - first))
        axes.yaxis.set_major_formatter(matplotlib.ticker.PercentFormatter(1))
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
        return as_plot(name, title, caption, "; ".join(descriptions), figure)


def references_plot(curves: Mapping[str, ReferenceCurves]) -> Plot:
    """Draw scores of held-out captions by the number of references, a panel for each metric."""
    metrics = list(next(iter(curves.values())).values)
    with new_figure(3.2, 1, len(metrics), sharey=True, squeeze=False) as (figure, grid):
        descriptions = []
        for axes, metric in zip(grid[0], metrics, strict=True):
            for i, (name, curve) in enumerate(curves.items()):
                values = np.array(curve.values[metric])
                shares = values / values.max() if values.max() > 0 else values
                axes.plot(curve.n_references, shares, label=name, marker=MARKS[i % 6], lw=2, ms=6, **line_of(i))
                descriptions.append(
                    f"{metric} of {name}: {values[0]:.3g} with one reference, {values[-1]:.3g} with the most"
                )
            axes.set(title=metric, xlabel="references", ylim=(0, 1.05))
            axes.xaxis.set_major_locator(matplotlib.ticker.MaxNLocator(integer=True))
        grid[0, 0].set_ylabel("share of the largest mean score")
        grid[0, -1].legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
        n_rows = ", ".join(f"{curve.n_rows:,} rows of {name}" for name, curve in curves.items())
        return as_plot(
            "references",
            "Captions of a row against each other, by the number of references",
            f"A caption of each row against others of it (the paper's Figure S3), as a share of the largest: {n_rows}, "
            "drawn at random. Rising curves: more references would raise the score further.",
            "; ".join(descriptions),
            figure,
        )


def variance_plot(curves: Mapping[str, Sequence[tuple[float, float]]]) -> Plot:
    """Draw scores of captions against the others of their row, by the variance of the distances in the row.

    `curves` has (variance, BLEU-4) of groups of rows of each data set.
    """
    with new_figure(3.4) as (figure, axes):
        descriptions = []
        for i, (name, points) in enumerate(curves.items()):
            variances, scores = zip(*points, strict=True)
            axes.plot(variances, scores, label=name, marker=MARKS[i % 6], lw=2, ms=6, **line_of(i))
            descriptions.append(
                f"{name}: BLEU-4 {scores[0]:.3g} at the least variance, {scores[-1]:.3g} at the largest"
            )
        axes.set(xlabel="variance of the cosine distances in a row", ylim=(0, None))
        axes.set_ylabel("BLEU-4 of a caption\nagainst the others (higher: alike)")
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
        return as_plot(
            "variance",
            "Captions of a row against each other, by the variance of their meanings",
            "Rows of a sample in groups of rising variance (the paper's Figure 3). Falling curves: the more a row's "
            "captions differ in meaning, the lower one of them scores against the others.",
            "; ".join(descriptions),
            figure,
        )
