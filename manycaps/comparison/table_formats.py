"""Numbers and tables as they are printed: for the terminal, for Markdown and for LaTeX."""

import math
import re
import string
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from manycaps.comparison.systems import LETTERS

# How a terminal writes the letters, or the number, of systems above the line.
SUPERSCRIPTS = str.maketrans(LETTERS + string.digits, "ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖ⁰¹²³⁴⁵⁶⁷⁸⁹")

# Special characters of LaTeX, and their escapes.
LATEX_SIGNS = {
    "\\": r"\textbackslash{}",
    **{sign: "\\" + sign for sign in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "|": r"\textbar{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
}

# Cells of numbers alone, and the sign of one, which is no hyphen in print.
NUMBERS = re.compile(r"[-+.,e\d\s\[\]]+")
MINUS = re.compile(r"(?<!\w)-(?=\d)")


def as_digits(value: float) -> str:
    """Format a number with three decimals, or three significant digits where it is small.

    >>> as_digits(0.12345), as_digits(0.00012345), as_digits(0.0), as_digits(float("nan"))
    ('0.123', '0.000123', '0', 'not defined')
    """
    if math.isnan(value):
        return "not defined"
    if value == 0:
        return "0"
    return f"{value:.3f}" if abs(value) >= 0.01 else f"{value:.3g}"


def as_interval(low: float, high: float) -> str:
    """Format an interval as `as_digits`, its ends rounded outwards.

    >>> as_interval(0.1231, 0.1239), as_interval(-0.12345, 0.000061234), as_interval(0.25, math.inf)
    ('[0.123, 0.124]', '[-0.124, 6.13e-05]', '[0.250, inf]')
    """
    return f"[{_outwards(low, math.floor)}, {_outwards(high, math.ceil)}]"


def _outwards(end: float, whole: Callable[[float], int]) -> str:
    if not math.isfinite(end) or end == 0:
        return as_digits(end)
    decimals = 3 if abs(end) >= 0.01 else 2 - math.floor(math.log10(abs(end)))
    # 1e-6 of the last digit is the rounding of a float.
    inwards = 1e-6 if whole is math.floor else -1e-6
    return as_digits(whole(end * 10**decimals + inwards) / 10**decimals)


def column_form(values: Collection[float]) -> Callable[[float], str]:
    """Return what formats the numbers of a column with equally many decimals: three, or more where all are small.

    >>> [column_form([0.5251, 1.7e-9])(value) for value in (0.5251, 1.7e-9)], column_form([0.00012, 0.0])(0.00012)
    (['0.525', '0.000'], '0.000120')
    """
    largest = max((abs(value) for value in values if math.isfinite(value)), default=0.0)
    decimals = 3 if largest >= 0.01 or largest == 0 else 2 - math.floor(math.log10(largest))
    return lambda value: "not defined" if math.isnan(value) else f"{value:.{decimals}f}"


class Cell(NamedTuple):
    """Content of a cell of a table."""

    text: str
    is_best: bool = False
    letters: str = ""
    # The number in full precision, and another one to sort by: an excess by its distance from 0.
    value: float | None = None
    sort: float | None = None
    # Its interval, as it is printed.
    interval: str = ""

    @property
    def whole(self) -> str:
        """Text and interval."""
        return f"{self.text} {self.interval}".rstrip()


def number_cell(
    value: float, form: Callable[[float], str] = as_digits, is_best: bool = False, letters: str = "", interval: str = ""
) -> Cell:
    """Return the cell of a number."""
    return Cell(form(value), is_best, letters, value, interval=interval)


class FormattedTable(NamedTuple):
    """A table of any format."""

    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    # Of the label in LaTeX.
    name: str = "systems"


def as_written(table: FormattedTable, form: str) -> str:
    """Write a table as "text", "md" or "latex"."""
    return {"text": _as_text, "md": _as_markdown, "latex": _as_latex}[form](table)


def _as_text(table: FormattedTable) -> str:
    cells = [list(table.header)]
    for row in table.rows:
        cells.append(
            [
                f"{cell.text}{'*' if cell.is_best else ''}{cell.letters.translate(SUPERSCRIPTS)} {cell.interval}"
                for cell in row
            ]
        )
    widths = [max(len(row[i]) for row in cells) for i in range(len(table.header))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells]
    return "\n".join([table.caption.replace("marked:", "*:"), "", *lines])


def _as_markdown(table: FormattedTable) -> str:
    def written(cell: Cell) -> str:
        text = cell.text.replace("|", "\\|").replace("<", "&lt;")
        above = f"<sup>{cell.letters}</sup>" if cell.letters else ""
        return f"{f'**{text}**' if cell.is_best else text}{above} {cell.interval}".rstrip()

    rows = [list(table.header), ["---"] * len(table.header), *([written(cell) for cell in row] for row in table.rows)]
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([table.caption.replace("marked:", "bold:"), "", *lines])


def _as_latex(table: FormattedTable) -> str:
    def written(cell: Cell) -> str:
        text = with_minus(cell.text)
        return (rf"\textbf{{{text}}}" if cell.is_best else text) + (f"$^{{{cell.letters}}}$" if cell.letters else "")

    def with_minus(text: str) -> str:
        return MINUS.sub("$-$", as_latex(text)) if NUMBERS.fullmatch(text) else as_latex(text)

    # Intervals are on a line of their own: beside the values they would make a table too wide for a page.
    rows = []
    for row in table.rows:
        rows.append(r"    " + " & ".join(map(written, row)) + r" \\")
        if any(cell.interval for cell in row):
            intervals = (rf"{{\scriptsize {with_minus(cell.interval)}}}" if cell.interval else "" for cell in row)
            rows.append(r"    " + " & ".join(intervals) + r" \\[2pt]")
    caption = as_latex(table.caption.replace("marked:", "bold:"))
    return "\n".join(
        [
            r"% \usepackage{booktabs}",
            r"\begin{table}",
            rf"  \caption{{{caption}}}",
            rf"  \label{{tab:{table.name}}}",
            r"  \centering\footnotesize\setlength{\tabcolsep}{3pt}",
            rf"  \begin{{tabular}}{{{_alignment(table)}}}",
            r"    \toprule",
            r"    " + " & ".join(map(as_latex, table.header)) + r" \\",
            r"    \midrule",
            *rows,
            r"    \bottomrule",
            r"  \end{tabular}",
            r"\end{table}",
        ]
    )


def _alignment(table: FormattedTable) -> str:
    """Letters of LaTeX for the columns: those of numbers are right-aligned."""
    columns = zip(*table.rows, strict=True)
    return "".join("r" if any(cell.value is not None for cell in column) else "l" for column in columns)


def as_latex(text: str) -> str:
    r"""Write text for LaTeX.

    >>> as_latex("50% of a_b")
    '50\\% of a\\_b'
    """
    return "".join(LATEX_SIGNS.get(sign, sign) for sign in text)
