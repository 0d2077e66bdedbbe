"""Tables of a comparison.

A row per system: means with the best one marked, and the letters of the systems that are significantly worse; excess
and p-value against people. Below it a row per pair of systems.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from manycaps.catalog import SET_MODULES, module_of
from manycaps.comparison.mean_intervals import LEVEL
from manycaps.comparison.parity_text import parity_table
from manycaps.comparison.systems import LETTERS
from manycaps.comparison.table_formats import Cell, FormattedTable, as_interval, column_form, number_cell
from manycaps.kit.sets_parity_words import p_value_digits

if TYPE_CHECKING:
    from manycaps.comparison.compared_systems import AgainstPeople, ComparedMetric, SystemComparison


def answer_table(comparison: SystemComparison) -> FormattedTable:
    """Return the table of the systems beside people; without rows where there are no people."""
    return FormattedTable("", [], []) if comparison.parity is None else parity_table(comparison.parity, whole=True)


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
    cell = number_cell(mean, form, is_best=compared.is_best(name), letters=letters)
    return cell._replace(sort=abs(mean)) if compared.metric.best == "zero" else cell


def pair_table(comparison: SystemComparison) -> FormattedTable:
    """Return the table with a row per pair of systems and metric."""
    rows = [
        [
            Cell(compared.metric.title),
            Cell(f"{pair.first} - {pair.second}"),
            number_cell(pair.test.difference),
            Cell(_as_interval(pair.test.ci_low, pair.test.ci_high)),
            number_cell(pair.test.p_value, p_value_digits),
            number_cell(pair.adjusted_p_value, p_value_digits, is_best=pair.adjusted_p_value <= LEVEL),
            Cell(f"{pair.test.n_larger}/{pair.test.n_equal}/{pair.test.n_smaller}"),
            number_cell(pair.test.effect_size),
            number_cell(pair.test.minimum_detectable_difference),
            number_cell(pair.test.rows_to_detect, _as_rows),
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
            number_cell(exchange.excess),
            number_cell(exchange.z),
            number_cell(exchange.p_value, _as_p_of_exchange),
            number_cell(exchange.adjusted_p_value, _as_p_of_exchange, is_best=exchange.adjusted_p_value <= LEVEL),
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
            number_cell(tested.statistic),
            number_cell(tested.excess),
            Cell(_as_interval(tested.ci_low, tested.ci_high)),
            number_cell(tested.z),
            _people_p_value(tested),
            number_cell(tested.smallest_p_value, p_value_digits),
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
