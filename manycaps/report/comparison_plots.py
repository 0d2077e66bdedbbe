"""Plots of the comparison report."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import matplotlib.ticker
import numpy as np

from manycaps.kit.parity_tails import shown_p_value
from manycaps.report.inline_svg import MUTED, SERIES, Plot, as_plot, line_of, mark_of, new_figure
from manycaps.tables import as_digits

if TYPE_CHECKING:
    from manycaps.comparison.compared_systems import ComparedMetric, SystemComparison

# Points of a curve that are drawn at most: enough for the eye, for any number of rows.
MOST_POINTS = 300

# Height of a line of a legend, in units of a figure's height.
LEGEND_LINE = 0.22


def metric_plot(compared: ComparedMetric) -> Plot:
    """Means of the systems, and differences to the first one, with their intervals."""
    metric, names = compared.metric, list(compared.means)
    pairs = [pair for pair in compared.pairs if pair.second == names[0]]
    with new_figure(1.5 + 0.36 * len(names), 1, 1 + bool(pairs), grid="x", squeeze=False) as (figure, panels):
        left, right = panels[0, 0], panels[0, -1]
        for i, mean in enumerate(compared.means.values()):
            _draw_interval(left, i, i, mean.mean, mean.ci_low, mean.ci_high)
        left.set(yticks=range(len(names)), yticklabels=names, xlabel=f"{metric.measures}\n({metric.direction})")
        left.set(title="mean over rows", ylim=(len(names) - 0.5, -0.5))
        caption = f"Means over rows and their 95 % intervals: {metric.direction}."
        if pairs:
            for i, pair in enumerate(pairs):
                _draw_interval(right, i, i + 1, pair.test.difference, pair.test.ci_low, pair.test.ci_high)
            right.axvline(0, color=MUTED, lw=1)
            labels = [f"{pair.first}\n{shown_p_value(pair.adjusted_p_value)}" for pair in pairs]
            right.set(yticks=range(len(pairs)), yticklabels=labels, xlabel="difference, same unit")
            right.set(title=f"difference to {names[0]}", ylim=(len(pairs) - 0.5, -0.5))
            caption += f" Right: differences to {names[0]}, row by row; p after Holm's method over all pairs."
        for axes in (left, right):
            axes.xaxis.set_major_locator(matplotlib.ticker.MaxNLocator(6))
        descriptions = [f"{name} {as_digits(mean.mean)}" for name, mean in compared.means.items()]
        return as_plot(f"means-{metric.key}", metric.title, caption, ", ".join(descriptions), figure)


def _draw_interval(axes: Any, height: int, series: int, mean: float, low: float, high: float) -> None:
    if not math.isnan(low):
        axes.plot([low, high], [height, height], color=SERIES[series % 6], lw=2.5, solid_capstyle="butt")
    axes.plot([mean], [height], ms=8, **mark_of(series))


def difference_plot(compared: ComparedMetric) -> Plot:
    """Differences to the first system, row by row in falling order."""
    metric, names = compared.metric, list(compared.values)
    descriptions = []
    with new_figure(max(3.2, LEGEND_LINE * len(names))) as (figure, axes):
        for i, name in enumerate(names[1:], start=1):
            differences = np.sort(compared.values[name] - compared.values[names[0]])[::-1]
            places = np.unique(np.linspace(0, len(differences) - 1, MOST_POINTS).astype(int))
            shares = (places + 0.5) / len(differences)
            axes.plot(shares, differences[places], label=name, lw=2, **line_of(i))
            n_larger, n_smaller = np.count_nonzero(differences > 0), np.count_nonzero(differences < 0)
            descriptions.append(f"{name} is above {names[0]} in {n_larger:,} rows and below in {n_smaller:,}")
        axes.axhline(0, color=MUTED, lw=1)
        axes.set(xlabel="rows, by falling difference", ylabel=f"difference to {names[0]}", xlim=(0, 1))
        axes.xaxis.set_major_formatter(matplotlib.ticker.PercentFormatter(1))
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
        return as_plot(
            f"rows-{metric.key}",
            f"{metric.title}, row by row",
            f"{metric.title} of every row minus that of {names[0]}, in falling order ({metric.direction}). Where a "
            "curve crosses the line says in which share of the rows a system is above.",
            "; ".join(descriptions),
            figure,
        )


def people_plot(comparison: SystemComparison, module: str) -> Plot | None:
    """Means over rows under random splits, and the observed ones; None where the module's test says too little."""
    tested = [system for system in comparison.people if system.module == module]
    tested = [system for system in tested if math.isfinite(system.z) and system.z != 0 and system.excess / system.z > 0]
    if not tested:
        return None
    with new_figure(0.6 + 1.1 * len(tested), len(tested), sharex=True, squeeze=False) as (figure, panels):
        for axes, system in zip(panels[:, 0], tested, strict=True):
            series = list(comparison.systems).index(system.system)
            center, width = system.statistic - system.excess, system.excess / system.z
            points = np.linspace(center - 4 * width, center + 4 * width, 121)
            density = np.exp(-0.5 * ((points - center) / width) ** 2)
            axes.fill_between(points, density, color=MUTED, alpha=0.35, lw=0)
            axes.plot(points, density, color=MUTED, lw=1)
            axes.axvline(system.statistic, lw=2.5, **line_of(series))
            axes.set_title(
                f"{system.system}: z {as_digits(system.z)}, {shown_p_value(system.p_value)}", loc="left", fontsize=11
            )
            axes.grid(visible=False)
            axes.set_yticks([])
            axes.spines["left"].set_visible(False)
        panels[-1, 0].set_xlabel(f"{tested[0].title}, mean over rows (lower is better)")
        descriptions = [
            f"{system.system} lies {as_digits(system.z)} standard deviations above chance" for system in tested
        ]
        return as_plot(
            f"people-{module}",
            f"{tested[0].title} against people",
            "Grey: the mean over rows when the captions of every row are split at random, as a normal curve with the "
            "mean and the standard deviation of all splits. Line: candidates against people.",
            "; ".join(descriptions),
            figure,
        )


def diversity_plot(comparison: SystemComparison) -> Plot | None:
    """Quality of the captions against how many of them are different; None without captions or a measure of quality."""
    quality = next((compared for compared in comparison.metrics if compared.metric.best == "highest"), None)
    if quality is None or not comparison.rows[0].captions:
        return None
    shares = {name: distinct_share([row.captions[name] for row in comparison.rows]) for name in comparison.systems}
    with new_figure(max(3.6, LEGEND_LINE * (len(shares) + 1))) as (figure, axes):
        for i, (name, share) in enumerate(shares.items()):
            mean = quality.means[name]
            if not math.isnan(mean.ci_low):
                axes.plot([share, share], [mean.ci_low, mean.ci_high], color=SERIES[i % 6], lw=1.5)
            axes.plot([share], [mean.mean], ms=9, label=name, linestyle="none", **mark_of(i))
        references = [row.references for row in comparison.rows if row.references]
        descriptions = [
            f"{name}: {share:.0%} different, {as_digits(quality.means[name].mean)}" for name, share in shares.items()
        ]
        if len(references) == len(comparison.rows):
            share = distinct_share(references)
            axes.axvline(share, color=MUTED, lw=1.5, linestyle="--", label="people")
            descriptions.append(f"people: {share:.0%} different")
        axes.set(xlabel="different captions of a row, as a share of its captions (higher: more varied)", xlim=(0, 1.04))
        axes.set_ylabel(f"{quality.metric.measures}\n({quality.metric.direction})")
        axes.xaxis.set_major_formatter(matplotlib.ticker.PercentFormatter(1))
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
        return as_plot(
            "diversity",
            "Correct and unique captions",
            "Quality against diversity, after Chan et al. (2022, appendix B.2): a system that repeats one good caption "
            "lies on the left, however high. Vertical lines: 95% intervals of the mean.",
            "; ".join(descriptions),
            figure,
        )


def distinct_share(rows: Any) -> float:
    """Share of a row's captions that are different, mean over rows; letter case and blanks at the ends do not count.

    >>> distinct_share([["a dog", "A dog "], ["a cat"]])
    0.75
    """
    return math.fsum(len({caption.strip().lower() for caption in row}) / len(row) for row in rows) / len(rows)
