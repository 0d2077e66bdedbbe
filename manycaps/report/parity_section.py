"""The answer of a comparison on its page: a line for each system with a histogram, the map, the pairs, and captions."""

import html
import importlib.util
import math
from collections.abc import Callable, Sequence

import matplotlib
import matplotlib.figure
import matplotlib.ticker
import numpy as np
import scipy.special

from manycaps.comparison.parity import ComparedParity, SystemParity
from manycaps.comparison.parity_text import CaptionExample, as_percent, most_alike, most_unlike, pair_line, system_line
from manycaps.comparison.systems import SystemRow
from manycaps.kit.sets_intervals import cluster_numbers
from manycaps.kit.sets_tails import TAIL
from manycaps.report.inline_svg import INK, MARKS, SERIES, SETTINGS, Plot, as_plot
from manycaps.report.page_frame import as_caption_cell, as_figure, as_table, picture_of

# Width and height of a small histogram, in units of its drawing.
BAR_WIDTH, BAR_HEIGHT = 60, 26

# Width and height of the map in inches: it fits a telephone without scrolling.
MAP_SIZE = (6.2, 5.4)

# Points of an ellipse.
N_POINTS = 121

# Captions, and pairs, of each system.
MOST_EXAMPLES = 20

# References that are shown beside them: enough to see what people wrote.
MOST_REFERENCES = 3

# What is shown of each system: identifier, title, the text of a link to it, and which captions.
KINDS: Sequence[tuple[str, str, str, Callable[[SystemParity, Sequence[SystemRow], int], list[CaptionExample]]]] = (
    ("unlike", "Captions of {} most unlike people's", "captions most unlike people's", most_unlike),
    ("alike", "Pairs of captions of {} most alike", "pairs most alike", most_alike),
)


def parity_section(
    parity: ComparedParity, clusters: np.ndarray, notes: Sequence[str], rows: Sequence[SystemRow] = ()
) -> str:
    """Return the section as HTML; sentences link to the captions behind them, where the rows have captions."""
    systems = "".join(
        f"<li>{_histogram(system, parity)}<span>{_line(system_line(parity, system), system.name)}"
        f"{example_links(parity, system, rows)}</span></li>"
        for system in parity.in_order()
    )
    lines = "".join(f"<li>{html.escape(pair_line(pair))}</li>" for pair in parity.pairs)
    pairs = f'<h2 id="pairs-beside-people">Compared with each other</h2><ul class="pairs">{lines}</ul>' if lines else ""
    paragraphs = "".join(f'<p class="soft">{html.escape(note)}</p>' for note in notes)
    drawn = map_plot(parity, clusters)
    return f"""<h2 id="summary">Compared with people</h2>{paragraphs}<ul class="answer summary">{systems}</ul>
<p class="soft">Bars: captions by their distance from the references, in twentieths of people's own distances, from
ordinary to unlike people's; the line marks the 5 % that people give.</p>
{pairs}
{"" if drawn is None else as_figure(drawn)}"""


def _line(line: str, name: str) -> str:
    """A system's line with its name in bold."""
    return f"<b>{html.escape(name)}</b>{html.escape(line.removeprefix(name))}"


def _histogram(system: SystemParity, parity: ComparedParity) -> str:
    """Captions in twentieths of people's distances, as a small drawing."""
    shares = list(system.lists["distance_histogram"])
    series = [other.name for other in parity.systems].index(system.name) % 6
    step, people = BAR_WIDTH / len(shares), 1 / len(shares)
    unit = (BAR_HEIGHT - 2) / max(*shares, 2 * people)
    bars = "".join(
        f'<rect x="{i * step + 0.5:.2f}" y="{BAR_HEIGHT - share * unit:.2f}" width="{step - 1:.2f}" '
        f'height="{share * unit:.2f}" fill="var(--series-{series})"/>'
        for i, share in enumerate(shares)
    )
    line = BAR_HEIGHT - people * unit
    ordinary, unlike, of_people = map(as_percent, (shares[0], shares[-1], people))
    label = f"{system.name}: {ordinary} ordinary, {unlike} unlike people's, people {of_people}"
    return (
        f'<svg viewBox="0 0 {BAR_WIDTH} {BAR_HEIGHT}" role="img" aria-label="{html.escape(label, quote=True)}">{bars}'
        f'<line x1="0" x2="{BAR_WIDTH}" y1="{line:.2f}" y2="{line:.2f}" stroke="var(--ink)" stroke-width="1.2"/></svg>'
    )


def map_plot(parity: ComparedParity, clusters: np.ndarray) -> Plot | None:
    """Systems around people, with their joint 95% regions; None where a system has single captions."""
    names = [system.name for system in parity.systems]
    points = {system.name: _region(system, clusters) for system in parity.systems}
    if any(np.isnan(center).any() for center, _ in points.values()):
        return None
    with matplotlib.rc_context(SETTINGS):
        figure = matplotlib.figure.Figure(figsize=MAP_SIZE, layout="constrained")
        axes, descriptions = figure.subplots(), []
        axes.axhline(TAIL, color=INK, lw=0.8)
        axes.axvline(TAIL, color=INK, lw=0.8)
        axes.plot([TAIL], [TAIL], "*", color=INK, ms=13, label="people", linestyle="none")
        for i, name in enumerate(names):
            center, ring = points[name]
            axes.fill(*ring.T, color=SERIES[i % 6], alpha=0.15, lw=0)
            axes.plot(*ring.T, color=SERIES[i % 6], lw=1.2)
            axes.plot(*center[:, None], MARKS[i % 6], color=SERIES[i % 6], ms=8, label=name, linestyle="none")
            descriptions.append(
                f"{name}: near-duplicates {as_percent(center[0])}, unlike people {as_percent(center[1])}"
            )
        axes.set(xlabel="near-duplicate pairs", ylabel="captions unlike people's")
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_locator(matplotlib.ticker.MaxNLocator(8, steps=[1, 2, 5, 10]))
            axis.set_major_formatter(matplotlib.ticker.PercentFormatter(1, decimals=0))
        figure.legend(loc="outside lower center", ncols=3)
        return as_plot(
            "map",
            "Systems around people",
            "Up: captions farther from the references than 19 of 20 human ones, wrong ones for example. Right: pairs "
            "of captions that nearly repeat each other. People give 5 % of each. Regions hold both means in 95 % of "
            "the cases.",
            "; ".join(descriptions),
            figure,
        )


def _region(system: SystemParity, clusters: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Means of both shares, and the border of their joint region (Hotelling 1931), shape (n, 2).

    The spread is that of the rows' differences from their own references, as in the tests of the shares.
    """
    shares = [system.tails.shares[name] for name in ("near_duplicate_share", "unlike_people_share")]
    values = np.stack([share.rows - share.people_rows for share in shares], axis=1)
    center = np.array([share.value for share in shares])
    sums = np.zeros((int(clusters.max()) + 1, 2))
    np.add.at(sums, cluster_numbers(clusters.tolist()), values - values.mean(axis=0))
    n = len(sums)
    if n < 4 or np.isnan(center).any():
        return center, np.repeat(center[None], N_POINTS, axis=0)
    covariance = sums.T @ sums * n / (n - 1) / len(values) ** 2
    radius = math.sqrt(2 * (n - 1) / (n - 2) * scipy.special.fdtri(2, n - 2, 0.95))
    lengths, axes = np.linalg.eigh(covariance)
    angles = np.linspace(0, 2 * np.pi, N_POINTS)
    circle = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    return center, center + radius * circle * np.sqrt(np.maximum(lengths, 0)) @ axes.T


def example_links(parity: ComparedParity, system: SystemParity, rows: Sequence[SystemRow]) -> str:
    """Return links from a system's sentence to its captions; empty where captions are not known."""
    links = [
        f'<a href="#{_place(parity, system, kind)}">{text}</a>'
        for kind, _, text, choose in KINDS
        if choose(system, rows, 1)
    ]
    return f" ({', '.join(links)})" if links else ""


def examples_section(parity: ComparedParity, rows: Sequence[SystemRow]) -> str:
    """Return the tables of all systems; empty where captions are not known."""
    has_images = any(row.image is not None for row in rows) and importlib.util.find_spec("PIL") is not None
    return "\n".join(
        _examples(title.format(system.name), _place(parity, system, kind), examples, has_images)
        for system in parity.in_order()
        for kind, title, _, choose in KINDS
        if (examples := choose(system, rows, MOST_EXAMPLES))
    )


def _place(parity: ComparedParity, system: SystemParity, kind: str) -> str:
    """Identifier of a table, by the system's number: its name may hold anything."""
    return f"{kind}-of-{[other.name for other in parity.systems].index(system.name)}"


def _examples(title: str, anchor: str, examples: Sequence[CaptionExample], has_images: bool) -> str:
    heads = "".join(f'<th scope="col" class="left">{text}</th>' for text in ("row", "captions", "people"))
    body = "".join(_example(example, has_images) for example in examples)
    table = as_table(title, heads, body, anchor, " rows examples")
    return f'<h2 id="{anchor}">{html.escape(title)}</h2>\n{table}'


def _example(example: CaptionExample, has_images: bool) -> str:
    picture = f"<br>{picture_of(example.row)}" if has_images else ""
    captions = as_caption_cell(example.captions) + as_caption_cell((example.row.references or [])[:MOST_REFERENCES])
    return f'<tr><th scope="row">{html.escape(example.row.id)}{picture}</th>{captions}</tr>'
