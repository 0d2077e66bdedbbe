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
from manycaps.kit.parity_tails import TAIL, p_value_digits
from manycaps.tables import LETTERS, Cell, Table, as_interval, column_form, number_cell

if TYPE_CHECKING:
    from manycaps.comparison.compared_systems import AgainstPeople, ComparedMetric, SystemComparison


def answer_table(comparison: SystemComparison) -> Table:
    """Return the table of the systems beside people; without rows where there are no people."""
    return Table("", [], []) if comparison.parity is None else parity_table(comparison.parity, whole=True)


def system_table(comparison: SystemComparison) -> Table:
    """Return the table with a row per system; without rows where there are no metrics beside human parity."""
    if not comparison.metrics:
        return Table("", [], [])
    systems, several = comparison.systems, len(comparison.systems) > 1
    has_letters = 1 < len(systems) <= len(LETTERS)
    names = [f"{name} ({LETTERS[i]})" if has_letters else name for i, name in enumerate(systems)]
    columns = [("system", [Cell(name) for name in names])]
    for compared in comparison.metrics:
        columns.append((_header(compared), [_value_cell(compared, name, systems) for name in systems]))
        slug = module_of(compared.metric).slug
        people = {tested.system: tested for tested in comparison.people if tested.module == slug}
        if not compared.metric.is_per_candidate and len(people) == len(systems):
            columns.append(("p people", [_people_p_value(people[name]) for name in systems]))
    worse = "systems" if has_letters else "how many systems"
    marks = f"; marked: the best one; superscripts: {worse} that are significantly worse (p at most 0.05 after Holm)"
    people_test = " p people: test against human captions." * ("p people" in dict(columns))
    of_corpus = " and ".join(compared.metric.title for compared in comparison.metrics if compared.of_corpus)
    summed = f" {of_corpus}: of the whole corpus, from summed statistics; tests are of the rows." if of_corpus else ""
    return Table(
        f"Means over rows{marks * several}.{summed}{people_test}",
        [header for header, _ in columns],
        list(zip(*(cells for _, cells in columns), strict=True)),
    )


def _value_cell(compared: ComparedMetric, name: str, systems: Sequence[str]) -> Cell:
    """The value of a system, with the letters of those that are worse, or their number.

    An excess is sorted by its distance from 0. The interval is that of the mean over rows; none is known of a value of
    the corpus.
    """
    value, form = compared.value(name), column_form([compared.value(each) for each in compared.means])
    worse = compared.worse_than(name)
    letters = str(len(worse) or "")
    if len(systems) <= len(LETTERS):
        letters = "".join(sorted(LETTERS[systems.index(other)] for other in worse))
    cell = number_cell(value, form, is_best=compared.is_best(name), letters=letters)
    return cell._replace(sort=abs(value)) if compared.metric.best == "zero" else cell


def paper_tables(comparison: SystemComparison, *, full: bool = False) -> list[Table]:
    """Return one table for a paper: systems beside people, their metrics, intervals; `full` adds the other tables."""
    answer, metrics = answer_table(comparison), system_table(comparison)
    of_systems = {name: list(row[1:]) for name, row in zip(comparison.systems, metrics.rows, strict=False)}
    for place, compared in ((metrics.header.index(_header(each)) - 1, each) for each in comparison.metrics):
        for name, cells in of_systems.items():
            mean = compared.means[name]
            if not compared.of_corpus and not math.isnan(mean.ci_low):
                cells[place] = cells[place]._replace(interval=as_interval(mean.ci_low, mean.ci_high))
    letters = {name: row[0] for name, row in zip(comparison.systems, metrics.rows, strict=False)}
    rows = answer.rows or [[Cell(name)] for name in comparison.systems]
    names = [row[0].text for row in rows]
    joined = [
        [letters.get(name, row[0]), *row[1:], *of_systems.get(name, [Cell("")] * len(metrics.header[1:]))]
        for name, row in zip(names, rows, strict=True)
    ]
    caption = f"{answer.caption} {metrics.caption}".strip()
    one = Table(caption, [*(answer.header or ["system"]), *metrics.header[1:]], joined)
    others = [make_table(comparison) for make_table in PAIR_TABLES] if full else []
    return [one, *(table for table in others if table.rows)]


def _header(compared: ComparedMetric) -> str:
    return f"{compared.metric.title}{' excess' if compared.metric.best == 'zero' else ''}"


def pair_table(comparison: SystemComparison) -> Table:
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
    return Table(
        "Differences of two systems, mean over rows with its 95 % interval; p before and after Holm, marked: at most "
        "0.05; rows in which the first system's value is larger, equal, smaller; effect in standard deviations of the "
        "rows' differences; smallest difference found 80 % of the time, and rows to find the observed one.",
        ["metric", "difference", "mean", "interval", "p", "p Holm", "+/=/-", "effect", "detectable", "rows to detect"],
        rows,
        "pairs",
    )


def exchange_table(comparison: SystemComparison) -> Table:
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
    return Table(
        "Are the captions of two systems exchangeable? Set metrics with the captions of one of them as the references; "
        "marked: no, p at most 0.05 after Holm.",
        ["metric", "systems", "excess", "z", "p", "p Holm"],
        rows,
        "exchangeable",
    )


def _as_p_of_exchange(value: float) -> str:
    """A p-value; NaN of systems that share captions, which no random split does."""
    return "shared captions" if math.isnan(value) else p_value_digits(value)


def shared_table(comparison: SystemComparison) -> Table:
    """Return the table of homogeneity: a row per pair of systems, and of a system and people."""
    rows = [
        [
            Cell(f"{pair.first}, {pair.second}"),
            number_cell(pair.between, _as_percent, is_best=pair.ci_low > TAIL),
            Cell("none" if math.isnan(pair.ci_low) else f"[{_as_percent(pair.ci_low)}, {_as_percent(pair.ci_high)}]"),
            number_cell(pair.within_first, _as_percent),
            number_cell(pair.within_second, _as_percent),
        ]
        for pair in (comparison.parity.shared if comparison.parity else ())
    ]
    return Table(
        "Do systems say the same? Share of the pairs of captions of a row, one of each system, that are nearer to each "
        "other than 19 of 20 pairs of human captions, with its interval, beside the shares within each of the two; 5 % "
        "of people's own pairs are. Marked: more than people, the interval lies above 5 %.",
        ["systems", "between", "interval", "within first", "within second"],
        rows,
        "homogeneity",
    )


def _as_percent(share: float) -> str:
    return "one caption" if math.isnan(share) else f"{100 * share:.1f} %"


def people_table(comparison: SystemComparison) -> Table:
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
    return Table(
        "Systems against people: statistic, excess over chance with its interval, distance from chance in standard "
        "deviations, and the p-value over all rows with the smallest one that sets of these sizes allow.",
        ["metric", "system", "statistic", "excess", "interval", "z", "p", "smallest p"],
        rows,
        "against-people",
    )


def _people_p_value(tested: AgainstPeople) -> Cell:
    """A p-value against people; none is shown where sets of these sizes can distinguish nothing."""
    is_tested = tested.smallest_p_value <= LEVEL
    return Cell(p_value_digits(tested.p_value) if is_tested else "not testable", value=tested.p_value)


def all_tables(comparison: SystemComparison) -> list[Table]:
    """Return the tables of a comparison that have rows: that of the systems beside people, and those of metrics."""
    return [table for table in (answer_table(comparison), *metric_tables(comparison)) if table.rows]


def metric_tables(comparison: SystemComparison) -> list[Table]:
    """Return the tables of metrics that have rows: what the answer on the screen does not say."""
    tables = (make_table(comparison) for make_table in (system_table, *PAIR_TABLES))
    return [table for table in tables if table.rows]


# What --full adds to the table of systems.
PAIR_TABLES = (pair_table, people_table, exchange_table, shared_table)


def _as_interval(low: float, high: float) -> str:
    return "none" if math.isnan(low) else as_interval(low, high)


def _as_rows(n_rows: float) -> str:
    return "never" if math.isinf(n_rows) else "not defined" if math.isnan(n_rows) else f"{n_rows:,.0f}"
