"""Plots of the reports: inline SVG for a page, and files of their own for a paper.

A plot is drawn in the colours of a light page. In inline SVG each of them is replaced by a CSS variable, so that one
drawing is legible on light and on dark pages.
"""

import contextlib
import html
import io
import pathlib
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import matplotlib
import matplotlib.figure
from matplotlib.backends.backend_svg import FigureCanvasSVG

# Colours of a light page, as page.css has them.
INK, MUTED, GRID = "#1c1d20", "#84878f", "#e9e9e4"
SERIES = ("#1f5fa8", "#b4480c", "#157347", "#8a3fa0", "#a3264c", "#5f6400")
VARIABLES = {INK: "--ink", MUTED: "--published", GRID: "--grid"} | {
    color: f"--series-{i}" for i, color in enumerate(SERIES)
}

# Line styles, marks, and how marks of later series are filled, to distinguish series without colours, too.
LINE_STYLES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)))
MARKS = ("o", "s", "^", "D", "v", "P")
FILLS = ("full", "none", "left", "right", "bottom", "top")

SETTINGS: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "report",
    # Names of systems are no formulas.
    "text.parse_math": False,
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
    "figure.autolayout": False,
    "figure.constrained_layout.use": False,
    "legend.frameon": False,
    "legend.labelcolor": INK,
}


class Plot(NamedTuple):
    """A drawing and its caption."""

    # Short identifier, for links and tests.
    name: str
    title: str
    # How to read it.
    caption: str
    # Text alternative of the drawing.
    description: str
    svg: str
    figure: matplotlib.figure.Figure

    def save(self, folder: pathlib.Path) -> None:
        """Write the plot as NAME.svg and NAME.pdf, which need neither the page's style nor its fonts."""
        for kind, date in (("svg", "Date"), ("pdf", "CreationDate")):
            with matplotlib.rc_context(SETTINGS | {"svg.fonttype": "path", "pdf.fonttype": 42}):
                metadata = {date: None, "Title": self.description}
                self.figure.savefig(folder / f"{self.name}.{kind}", metadata=metadata)


@contextlib.contextmanager
def new_figure(
    height: float,
    n_rows: int = 1,
    n_columns: int = 1,
    *,
    grid: str = "both",
    figsize: tuple[float, float] | None = None,
    **subplot_options: Any,
) -> Iterator[tuple[matplotlib.figure.Figure, Any]]:
    """Draw in the style of the reports: a figure as wide as the page, and its axes as `subplots` of matplotlib does.

    `height` is in units of 1.1 inches, `grid` the axes with lines across: "x", "y" or "both"; `figsize`, in inches,
    takes the place of width and height.
    """
    with matplotlib.rc_context(SETTINGS | {"axes.grid.axis": grid}):
        figure = matplotlib.figure.Figure(figsize=figsize or (11, 1.1 * height), layout="constrained")
        yield figure, figure.subplots(n_rows, n_columns, **subplot_options)


def line_of(series: int) -> dict[str, Any]:
    """Return colour and style of the line of a series, as matplotlib takes them."""
    style: dict[str, Any] = {"color": SERIES[series % 6], "linestyle": LINE_STYLES[series % 6]}
    return style if series < 6 else style | {"marker": MARKS[series // 6 % 6], "markevery": 0.1}


def mark_of(series: int) -> dict[str, Any]:
    """Return colour, mark and filling of the points of a series, as matplotlib takes them."""
    return {"color": SERIES[series % 6], "marker": MARKS[series % 6], "fillstyle": FILLS[series // 6 % 6]}


def as_plot(name: str, title: str, caption: str, values: str, figure: matplotlib.figure.Figure) -> Plot:
    """Turn a figure into a plot, whose `values` say in words what it shows."""
    description = f"{title}. {values}."
    return Plot(name, title, caption, description, as_inline_svg(figure, name, description), figure)


def as_inline_svg(figure: matplotlib.figure.Figure, name: str, description: str) -> str:
    """Write a figure as an svg element with the page's colours and font, and identifiers of its own."""
    file = io.StringIO()
    # The layout by itself, at the size of an SVG: savefig would draw everything twice to find it.
    FigureCanvasSVG(figure)
    figure.dpi = FigureCanvasSVG.fixed_dpi
    figure.get_layout_engine().execute(figure)  # type: ignore[union-attr]  # new_figure gives one
    figure.set_layout_engine(None)
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
