r"""Tables of a comparison for the terminal, for Markdown and for LaTeX.

A row per system: means with the best one marked, and the letters of the systems that are significantly worse; excess
and p-value against people. Below it a row per pair of systems.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from manycaps.catalog import SET_MODULES, module_of
from manycaps.comparison.comparison_text import as_digits, as_interval, column_form
from manycaps.comparison.mean_intervals import LEVEL
from manycaps.comparison.parity_text import parity_table
from manycaps.comparison.systems import LETTERS
from manycaps.kit.sets_parity_words import p_value_digits

if TYPE_CHECKING:
    from manycaps.comparison.compared_systems import AgainstPeople, ComparedMetric, SystemComparison

# How a terminal writes the letters of systems above the line.
SUPERSCRIPTS = str.maketrans(LETTERS, "ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖ")

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


class Cell(NamedTuple):
    """Content of a cell of a table."""

    text: str
    is_best: bool = False
    letters: str = ""
    # The number in full precision, and another one to sort by: an excess by its distance from 0.
    value: float | None = None
    sort: float | None = None


def _number(value: float, form: Callable[[float], str] = as_digits, is_best: bool = False, letters: str = "") -> Cell:
    return Cell(form(value), is_best, letters, value)


class FormattedTable(NamedTuple):
    """A table of any format."""

    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[Cell]]


def answer_table(comparison: SystemComparison) -> FormattedTable:
    """Return the table of the systems beside people, the nearest first; without rows where there are no people."""
    if comparison.parity is None:
        return FormattedTable("", [], [])
    header, rows = parity_table(comparison.parity)
    return FormattedTable(
        'Systems compared with people: p of "people could have written all captions"; rows after which the difference '
        "is found 80 % of the time (more means nearer to people); with 95 % intervals, the captions farther from the "
        "references than 19 of 20 human ones, those nearer than 19 of 20, and the near-duplicates among pairs; last "
        "line: people.",
        header,
        [[Cell(text, value=value) for text, value in row] for row in rows],
    )


def system_table(comparison: SystemComparison) -> FormattedTable:
    """Return the table with a row per system; without rows where there are no metrics beside human parity."""
    if not comparison.metrics:
        return FormattedTable("", [], [])
    systems, several = comparison.systems, len(comparison.systems) > 1
    names = [f"{name} ({letter})" if several else name for letter, name in zip(LETTERS, systems, strict=False)]
    columns = [("system", [Cell(name) for name in names])]
    for compared in comparison.metrics:
        is_excess = compared.metric.best == "zero"
        cells = [_mean_cell(compared, name, systems) for name in systems]
        columns.append((f"{compared.metric.title}{' excess' if is_excess else ''}", cells))
        slug = module_of(compared.metric).slug
        people = {tested.system: tested for tested in comparison.people if tested.module == slug}
        if not compared.metric.is_per_candidate and len(people) == len(systems):
            columns.append(("p people", [_people_p_value(people[name]) for name in systems]))
    marks = "; marked: the best one; superscripts: systems that are significantly worse (p at most 0.05 after Holm)"
    people_test = " p people: test against human captions." * ("p people" in dict(columns))
    return FormattedTable(
        f"Means over rows{marks * several}.{people_test}",
        [header for header, _ in columns],
        list(zip(*(cells for _, cells in columns), strict=True)),
    )


def _mean_cell(compared: ComparedMetric, name: str, systems: Sequence[str]) -> Cell:
    """The mean of a system, with the letters of those that are worse; an excess is sorted by its distance from 0."""
    mean, form = compared.means[name].mean, column_form([each.mean for each in compared.means.values()])
    letters = "".join(sorted(LETTERS[systems.index(other)] for other in compared.worse_than(name)))
    cell = _number(mean, form, is_best=compared.is_best(name), letters=letters)
    return cell._replace(sort=abs(mean)) if compared.metric.best == "zero" else cell


def pair_table(comparison: SystemComparison) -> FormattedTable:
    """Return the table with a row per pair of systems and metric."""
    rows = [
        [
            Cell(compared.metric.title),
            Cell(f"{pair.first} - {pair.second}"),
            _number(pair.test.difference),
            Cell(_as_interval(pair.test.ci_low, pair.test.ci_high)),
            _number(pair.test.p_value, p_value_digits),
            _number(pair.adjusted_p_value, p_value_digits, is_best=pair.adjusted_p_value <= LEVEL),
            Cell(f"{pair.test.n_larger}/{pair.test.n_equal}/{pair.test.n_smaller}"),
            _number(pair.test.effect_size),
            _number(pair.test.minimum_detectable_difference),
            _number(pair.test.rows_to_detect, _as_rows),
        ]
        for compared in comparison.metrics
        for pair in compared.pairs
    ]
    return FormattedTable(
        "Differences of two systems, mean over rows with its 95 % interval; p before and after Holm, marked: at most "
        "0.05; rows in which the first system's value is larger, equal, smaller; effect in standard deviations of the "
        "rows' differences; smallest difference found 80 % of the time, and rows to find the observed one.",
        ["metric", "difference", "mean", "interval", "p", "p Holm", "+/=/-", "effect", "detectable", "rows to detect"],
        rows,
    )


def exchange_table(comparison: SystemComparison) -> FormattedTable:
    """Return the table of systems as distributions: a row per pair and set metric."""
    rows = [
        [
            Cell(SET_MODULES[exchange.module].title),
            Cell(f"{exchange.first}, {exchange.second}"),
            _number(exchange.excess),
            _number(exchange.z),
            _number(exchange.p_value, _as_p_of_exchange),
            _number(exchange.adjusted_p_value, _as_p_of_exchange, is_best=exchange.adjusted_p_value <= LEVEL),
        ]
        for exchange in comparison.exchanges
    ]
    return FormattedTable(
        "Are the captions of two systems exchangeable? Set metrics with the captions of one of them as the references; "
        "marked: no, p at most 0.05 after Holm.",
        ["metric", "systems", "excess", "z", "p", "p Holm"],
        rows,
    )


def _as_p_of_exchange(value: float) -> str:
    """A p-value; NaN of systems that share captions, which no random split does."""
    return "shared captions" if math.isnan(value) else p_value_digits(value)


def people_table(comparison: SystemComparison) -> FormattedTable:
    """Return the table of systems against people: a row per system and set metric."""
    rows = [
        [
            Cell(tested.title),
            Cell(tested.system),
            _number(tested.statistic),
            _number(tested.excess),
            Cell(_as_interval(tested.ci_low, tested.ci_high)),
            _number(tested.z),
            _people_p_value(tested),
            _number(tested.smallest_p_value, p_value_digits),
        ]
        for tested in comparison.people
    ]
    return FormattedTable(
        "Systems against people: statistic, excess over chance with its interval, distance from chance in standard "
        "deviations, and the p-value over all rows with the smallest one that sets of these sizes allow.",
        ["metric", "system", "statistic", "excess", "interval", "z", "p", "smallest p"],
        rows,
    )


def _people_p_value(tested: AgainstPeople) -> Cell:
    """A p-value against people; none is shown where sets of these sizes can distinguish nothing."""
    is_tested = tested.smallest_p_value <= LEVEL
    return Cell(p_value_digits(tested.p_value) if is_tested else "not testable", value=tested.p_value)


def all_tables(comparison: SystemComparison) -> list[FormattedTable]:
    """Return the tables of a comparison that have rows: that of the systems beside people, and those of metrics."""
    return [table for table in (answer_table(comparison), *metric_tables(comparison)) if table.rows]


def metric_tables(comparison: SystemComparison) -> list[FormattedTable]:
    """Return the tables of metrics that have rows: what the answer on the screen does not say."""
    tables = (system_table, pair_table, people_table, exchange_table)
    return [table for table in (make_table(comparison) for make_table in tables) if table.rows]


def _as_interval(low: float, high: float) -> str:
    return "none" if math.isnan(low) else as_interval(low, high)


def _as_rows(n_rows: float) -> str:
    return "never" if math.isinf(n_rows) else "not defined" if math.isnan(n_rows) else f"{n_rows:,.0f}"


def as_written(table: FormattedTable, form: str) -> str:
    """Write a table as "text", "md" or "latex"."""
    return {"text": _as_text, "md": _as_markdown, "latex": _as_latex}[form](table)


def _as_text(table: FormattedTable) -> str:
    cells = [list(table.header)]
    for row in table.rows:
        cells.append(
            [f"{cell.text}{'*' if cell.is_best else ''}{cell.letters.translate(SUPERSCRIPTS)}" for cell in row]
        )
    widths = [max(len(row[i]) for row in cells) for i in range(len(table.header))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells]
    return "\n".join([table.caption.replace("marked:", "*:"), "", *lines])


def _as_markdown(table: FormattedTable) -> str:
    def written(cell: Cell) -> str:
        text = cell.text.replace("|", "\\|").replace("<", "&lt;")
        above = f"<sup>{cell.letters}</sup>" if cell.letters else ""
        return (f"**{text}**" if cell.is_best else text) + above

    rows = [list(table.header), ["---"] * len(table.header), *([written(cell) for cell in row] for row in table.rows)]
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([table.caption.replace("marked:", "bold:"), "", *lines])


def _as_latex(table: FormattedTable) -> str:
    def written(cell: Cell) -> str:
        text = as_latex(cell.text)
        if NUMBERS.fullmatch(cell.text):
            text = MINUS.sub("$-$", text)
        return (rf"\textbf{{{text}}}" if cell.is_best else text) + (f"$^{{{cell.letters}}}$" if cell.letters else "")

    rows = [r"    " + " & ".join(map(written, row)) + r" \\" for row in table.rows]
    caption = as_latex(table.caption.replace("marked:", "bold:"))
    return "\n".join(
        [
            r"% \usepackage{booktabs}",
            r"\begin{table}",
            rf"  \caption{{{caption}}}",
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
