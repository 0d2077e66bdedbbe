"""The answer of a comparison on its page: a line for each system and pair, the histograms, the map, and captions."""

import html
import importlib.util
from collections.abc import Callable, Mapping, Sequence

import matplotlib.ticker
import numpy as np

from manycaps.comparison.parity import ComparedParity, SystemParity
from manycaps.comparison.parity_text import (
    CaptionExample,
    as_percent,
    legend_of,
    most_alike,
    most_unlike,
    pair_line,
    system_line,
)
from manycaps.comparison.systems import SystemRow
from manycaps.kit.parity_tails import SHARE_NOUNS, TAIL
from manycaps.report.inline_svg import INK, LINE_STYLES, SERIES, Plot, as_plot, mark_of, new_figure
from manycaps.report.page_frame import as_figure, caption_cell, id_cell, picture_of
from manycaps.tables import Table, page_table

# Panels of histograms beside each other.
N_PANELS = 3

# Width and height of the map in inches: it fits a telephone without scrolling.
MAP_SIZE = (6.2, 5.4)

# Points of a border: a multiple of four and one, so that the four ends of the intervals are among them.
N_POINTS = 121

# Shares to the right on the map, and what they mean.
AXES = {
    "near_duplicate_share": "pairs of captions that nearly repeat each other",
    "ordinary_share": "captions nearer to the references than 19 of 20 human ones",
}

# Captions, and pairs, of each system.
MOST_EXAMPLES = 20

# References that are shown beside them: enough to see what people wrote.
MOST_REFERENCES = 3

# What is shown of each system: identifier, title, the text of a link to it, and which captions.
KINDS: Sequence[tuple[str, str, str, Callable[[SystemParity, Sequence[SystemRow], int], list[CaptionExample]]]] = (
    ("unlike", "Captions of {} most unlike people's", "captions most unlike people's", most_unlike),
    ("alike", "Pairs of captions of {} most alike", "pairs most alike", most_alike),
)


def parity_section(parity: ComparedParity, notes: Sequence[str], rows: Sequence[SystemRow] = ()) -> str:
    """Return the section as HTML; sentences link to the captions behind them, where the rows have captions."""
    systems = "".join(
        f"<li>{_line(system_line(parity, system), system.name)}{example_links(parity, system, rows)}</li>"
        for system in parity.in_order()
    )
    lines = "".join(f"<li>{html.escape(pair_line(pair))}</li>" for pair in parity.pairs)
    pairs = f'<h2 id="pairs-beside-people">Compared with each other</h2><ul class="pairs">{lines}</ul>' if lines else ""
    paragraphs = "".join(f'<p class="soft">{html.escape(note)}</p>' for note in [legend_of(parity), *notes])
    figures = "".join(map(as_figure, parity_plots(parity)))
    return f"""<h2 id="summary">Compared with people</h2>{paragraphs}<ul class="answer summary">{systems}</ul>
{pairs}
{figures}"""


def parity_plots(parity: ComparedParity) -> list[Plot]:
    """Return the plots of the answer."""
    return [distance_plot(parity), *filter(None, [map_plot(parity)])] if parity.has_meaning else []


def _line(line: str, name: str) -> str:
    """A system's line with its name in bold."""
    return f"<b>{html.escape(name)}</b>{html.escape(line.removeprefix(name))}"


def distance_plot(parity: ComparedParity) -> Plot:
    """Captions of every system in twentieths of people's distances, a panel each; the line is what people give."""
    n_rows, names = -(-len(parity.systems) // N_PANELS), [system.name for system in parity.systems]
    descriptions = []
    with new_figure(0.7 + 1.2 * n_rows, n_rows, N_PANELS, grid="y", sharex=True, sharey=True, squeeze=False) as drawn:
        figure, panels = drawn
        for axes, system in zip(panels.flat, parity.in_order(), strict=False):
            shares = list(system.lists["distance_histogram"])
            axes.bar(range(len(shares)), shares, 0.8, color=SERIES[names.index(system.name) % 6])
            axes.axhline(1 / len(shares), color=INK, lw=1.2)
            axes.set_title(system.name, loc="left", fontsize=11)
            axes.set_xticks([0, len(shares) - 1], ["ordinary", "unlike\npeople's"])
            axes.yaxis.set_major_formatter(matplotlib.ticker.PercentFormatter(1, decimals=0))
            descriptions.append(
                f"{system.name}: {as_percent(shares[0])} ordinary, {as_percent(shares[-1])} unlike people's"
            )
        for axes in panels.flat[len(names) :]:
            axes.remove()
        return as_plot(
            "histograms",
            "Captions among people's",
            "Captions by their distance from the references, in twentieths of people's own distances, from ordinary to "
            "unlike people's; the line marks the 5 % that people give.",
            "; ".join(descriptions),
            figure,
        )


def map_plot(parity: ComparedParity) -> Plot | None:
    """Systems around people, faults upwards and a share of likeness to the right; None where a share is unknown."""
    key = "near_duplicate_share"
    if any(np.isnan(system.result[key]) for system in parity.systems):
        key = "ordinary_share"
    noun, descriptions = SHARE_NOUNS[key], []
    with new_figure(5, figsize=MAP_SIZE) as (figure, axes):
        of_people = parity.systems[0].result.get(f"{parity.faults}_of_people", TAIL)
        axes.axhline(of_people, color=INK, lw=0.8)
        axes.axvline(TAIL, color=INK, lw=0.8)
        axes.plot([TAIL], [of_people], "*", color=INK, ms=13, label="people", linestyle="none")
        for i, system in enumerate(parity.systems):
            center, ring = share_region(system.result, key, parity.faults)
            axes.fill(*ring.T, color=SERIES[i % 6], alpha=0.15, lw=0)
            axes.plot(*ring.T, color=SERIES[i % 6], lw=1.2, linestyle=LINE_STYLES[i % 6])
            axes.plot(*center[:, None], ms=8, label=system.name, linestyle="none", **mark_of(i))
            descriptions.append(f"{system.name}: {noun} {as_percent(center[0])}, faults {as_percent(center[1])}")
        axes.set(xlabel=f"{noun} (people's 5 % is best)", ylabel="faults (fewer are better)")
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_locator(matplotlib.ticker.MaxNLocator(8, steps=[1, 2, 5, 10]))
            axis.set_major_formatter(matplotlib.ticker.PercentFormatter(1, decimals=0))
        figure.legend(loc="outside lower center", ncols=3)
        return as_plot(
            "map",
            "Systems around people",
            f"Up: faults, captions that people would not write. Right: {noun}, {AXES[key]}. The star is people. "
            "Regions reach as far as the 95 % intervals of the table.",
            "; ".join(descriptions),
            figure,
        )


def share_region(result: Mapping[str, float], *keys: str) -> tuple[np.ndarray, np.ndarray]:
    """Return two shares, and the border of a region that reaches to the ends of their intervals: (2,) and (n, 2).

    A quarter of an ellipse on either side of each share, as intervals of shares are longer on one side.
    """
    angles = np.linspace(0, 2 * np.pi, N_POINTS)
    center, ends = (
        np.array([[result.get(f"{key}{end}", result[key]) for key in keys] for end in of])
        for of in (("",), ("_ci_low", "_ci_high"))
    )
    circle = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    border: np.ndarray = center + np.abs(circle) * (np.where(circle < 0, ends[0], ends[1]) - center)
    return center[0], border


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
    rows = [
        [
            id_cell(example.row, f"<br>{picture_of(example.row)}" if has_images else ""),
            caption_cell(example.captions),
            caption_cell((example.row.references or [])[:MOST_REFERENCES]),
        ]
        for example in examples
    ]
    table = page_table(title, Table("", ["row", "captions", "people"], rows), anchor, "rows examples", n_left=3)
    return f'<h2 id="{anchor}">{html.escape(title)}</h2>\n{table}'
