"""What metrics say of systems: tables, and a sentence on each pair and on each metric."""

from __future__ import annotations

import math
from collections.abc import Sequence

from manycaps.catalog.modules import ROW_VALUES, SET_MODULES, RowValue, module_of
from manycaps.comparison.groups import letters_of_systems
from manycaps.comparison.sentences import as_list
from manycaps.comparison.significance import AgainstPeople, ComparedMetric, ComparedPair, Comparison
from manycaps.comparison.system_tables import NOTHING
from manycaps.comparison.table_terms import EXCESS, MOST_MARKED, P_PEOPLE
from manycaps.files.result_tables import LETTERS, Cell, Table, as_digits, as_interval, column_form, number_cell
from manycaps.kit.paired_tests import MOST_EXACT_CLUSTERS, PairedTest
from manycaps.kit.parity_gaps import LEVEL, POWER
from manycaps.kit.parity_tails import TAIL
from manycaps.kit.parity_words import format_p_value, p_value_digits

# By its key what a metric compares.
VALUES = {value.key: value for value in ROW_VALUES}


def value_of(metric: ComparedMetric, system: str) -> float:
    """Return the number of a system that is printed: of the corpus, or else the mean over rows."""
    numbers = metric.systems[system]
    return numbers.get("corpus", numbers["mean"])


def is_best(key: str, metric: ComparedMetric, system: str) -> bool:
    """Say whether a system has the best value, the first of several, or one that differs in rounding alone.

    None is marked where the test of pairs cannot find a difference, as in a single row.
    """
    if metric.smallest_p_value > LEVEL and not any(pair.better for pair in metric.pairs):
        return False
    best = min(metric.systems, key=lambda name: VALUES[key].distance(value_of(metric, name)))
    equals = [{pair.first, pair.second} for pair in metric.pairs if pair.test.difference == 0]
    return len(metric.systems) > 1 and (system == best or {system, best} in equals)


def system_table(comparison: Comparison) -> Table:
    """Return the table with a row per system; without rows where there are no metrics beside human parity."""
    if not comparison.metrics:
        return NOTHING
    systems = comparison.systems
    has_letters = 1 < len(systems) <= MOST_MARKED
    names = [f"{name} ({LETTERS[i]})" if has_letters else name for i, name in enumerate(systems)]
    columns = [("system", [Cell(name) for name in names])]
    for key, compared in comparison.metrics.items():
        columns.append((_header(VALUES[key]), _value_cells(key, compared, systems)))
        slug = module_of(VALUES[key]).slug
        people = {tested.system: tested for tested in comparison.against_people if tested.module == slug}
        if not VALUES[key].is_per_candidate and len(people) == len(systems):
            columns.append((P_PEOPLE, [_people_p_value(people[name]) for name in systems]))
    marks = "; marked: the best one; superscripts: systems that are significantly worse (p at most 0.05 after Holm)"
    if len(systems) > MOST_MARKED:
        marks = "; marked: the best one; superscripts: groups, of which two systems were not shown to differ (Holm)"
    has_marks = any(cell.is_best for _, cells in columns for cell in cells)
    people_test = " p people: test against human captions." * (P_PEOPLE in dict(columns))
    corpus_values = " and ".join(each.title for each in comparison.metrics.values() if is_of_corpus(each))
    summed = (
        f" {corpus_values}: of the whole corpus, from summed statistics; tests are of the rows."
        if corpus_values
        else ""
    )
    return Table(
        f"Means over rows{marks * has_marks}.{summed}{people_test}",
        [header for header, _ in columns],
        list(zip(*(cells for _, cells in columns), strict=True)),
    )


def is_of_corpus(metric: ComparedMetric) -> bool:
    """Say whether the values of a metric are of the corpus, and not means over rows."""
    return all("corpus" in numbers for numbers in metric.systems.values())


def _value_cells(key: str, compared: ComparedMetric, systems: Sequence[str]) -> list[Cell]:
    """The values of systems, with the letters of those that are worse, or of more systems of their groups.

    An excess is sorted by its distance from 0.
    """
    values = {name: value_of(compared, name) for name in systems}
    form, better = (
        column_form(list(values.values())),
        {(pair.first, pair.second): pair.better for pair in compared.pairs},
    )

    def differ(first: str, second: str) -> bool:
        return bool(better.get((first, second)) or better.get((second, first)))

    if len(systems) > MOST_MARKED:
        ranked = sorted(systems, key=lambda name: VALUES[key].distance(values[name]))
        letters = letters_of_systems(ranked, differ) if any(better.values()) else {}
    else:
        worse = {
            name: [pair.second if pair.first == name else pair.first for pair in compared.pairs if pair.better == name]
            for name in systems
        }
        letters = {name: "".join(sorted(LETTERS[systems.index(each)] for each in worse[name])) for name in systems}
    cells = []
    for name, value in values.items():
        cell = number_cell(value, form, is_best=is_best(key, compared, name), letters=letters.get(name, ""))
        cells.append(cell._replace(sort=abs(value)) if VALUES[key].best == "zero" else cell)
    return cells


def metric_header(key: str) -> str:
    """Return the title of a metric's column, by the metric's key."""
    return _header(VALUES[key])


def _header(value: RowValue) -> str:
    return f"{value.title}{EXCESS * value.is_excess}"


def pair_table(comparison: Comparison) -> Table:
    """Return the table with a row per pair of systems and metric."""
    rows = [
        [
            Cell(compared.title),
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
        for compared in comparison.metrics.values()
        for pair in compared.pairs
    ]
    return Table(
        "Differences of two systems, mean over rows with its 95% interval, by itself; p before and after Holm, marked: "
        "at most 0.05; rows in which the first system's value is larger, equal, smaller; effect in standard deviations "
        "of the rows' differences; smallest difference found 80% of the time, and rows to find the observed one.",
        ["metric", "difference", "mean", "interval", "p", "p Holm", "+/=/-", "effect", "detectable", "rows to detect"],
        rows,
        "pairs",
    )


def exchange_table(comparison: Comparison) -> Table:
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
        for exchange in comparison.exchangeable
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


def shared_table(comparison: Comparison) -> Table:
    """Return the table of homogeneity: a row per pair of systems, and of a system and people."""
    rows = [
        [
            Cell(f"{pair.first}, {pair.second}"),
            number_cell(pair.between, _as_percent, is_best=pair.ci_low > TAIL),
            Cell("none" if math.isnan(pair.ci_low) else f"[{_as_percent(pair.ci_low)}, {_as_percent(pair.ci_high)}]"),
            number_cell(pair.within_first, _as_percent),
            number_cell(pair.within_second, _as_percent),
        ]
        for pair in (comparison.human_parity.shared_answers if comparison.human_parity else ())
    ]
    return Table(
        "Do systems say the same? Share of the pairs of captions of a row, one of each system, that are nearer to each "
        "other than 19 of 20 pairs of human captions, with its interval, beside the shares within each of the two; 5% "
        "of people's own pairs are. Marked: more than people, the interval lies above 5%.",
        ["systems", "between", "interval", "within first", "within second"],
        rows,
        "homogeneity",
    )


def _as_percent(share: float) -> str:
    return "one caption" if math.isnan(share) else f"{100 * share:.1f}%"


def correlation_table(comparison: Comparison) -> Table:
    """Return the rank correlations of the metrics."""
    titles = [compared.title for compared in comparison.metrics.values()]
    rows = [
        [Cell(title), *(Cell("not defined" if math.isnan(r) else f"{r:.2f}", value=float(r)) for r in row)]
        for title, row in zip(titles, comparison.correlations, strict=True)
    ]
    return Table(
        "Spearman's rank correlation of the values of all rows and systems. A metric that is better when lower has "
        "negative correlations with one that is better when higher, where both agree.",
        ["metric", *titles],
        rows if len(rows) > 1 else [],
    )


def people_table(comparison: Comparison) -> Table:
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
        for tested in comparison.against_people
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


def _as_interval(low: float, high: float) -> str:
    return "none" if math.isnan(low) else as_interval(low, high)


def _as_rows(n_rows: float) -> str:
    return "never" if math.isinf(n_rows) else "not defined" if math.isnan(n_rows) else f"{n_rows:,.0f}"


# Note for systems that gave different numbers of captions.
UNEQUAL_SIZES = (
    "The systems gave different numbers of captions, on which the values of set metrics depend: these are left out. "
    "Human parity and metrics of single captions do not depend on them."
)


def pair_summary(key: str, metric: ComparedMetric, pair: ComparedPair, n_clusters: int | None = None) -> str:
    """Summarise in one sentence which of two systems is better by a metric, or what could have been found.

    `n_clusters` are permuted as wholes; None: every row by itself.
    """
    title, best, test = metric.title, VALUES[key].best, pair.test
    n_rows = test.n_larger + test.n_equal + test.n_smaller
    n_units = n_clusters or n_rows
    # Where few of many differ, all flips of these are enumerated, whatever the number of random ones.
    if metric.smallest_p_value > LEVEL and not (test.is_exact and n_units > MOST_EXACT_CLUSTERS):
        units = "clusters of rows" if n_units < n_rows else "rows"
        few = units if test.is_exact else "random sign flips (--n-resamples)"
        return (
            f"{title}: too few {few} to distinguish {pair.first} and {pair.second}: with so few, p cannot fall below "
            f"{p_value_digits(metric.smallest_p_value)} after Holm."
        )
    p_value = f"{format_p_value(pair.adjusted_p_value)} after Holm"
    size = f"by {as_digits(abs(test.difference))} {_interval(test)}"
    if pair.adjusted_p_value > LEVEL:
        return (
            f"{title}: no difference detected between {pair.first} and {pair.second} ({_difference(test)}, {p_value})."
        )
    mean, other = (as_digits(metric.systems[name]["mean"]) for name in (pair.first, pair.second))
    if pair.better is None:
        return (
            f"{title}: {pair.first} ({mean}) and {pair.second} ({other}) differ {size}, {p_value}; which of them is "
            f"nearer to people is undecided ({format_p_value(pair.ranking_p_value)})."
        )
    worse = pair.second if pair.better == pair.first else pair.first
    if best == "zero" and metric.systems[worse]["mean"] * metric.systems[pair.better]["mean"] < 0:
        mean, other = (as_digits(metric.systems[name]["mean"]) for name in (pair.better, worse))
        p_value = f"{format_p_value(pair.ranking_p_value)} after Holm"
        return (
            f"{title}: {pair.better} ({mean}) is nearer to people than {worse} ({other}), which lies on the other side "
            f"of 0, {p_value}."
        )
    verb = "scores higher" if best == "highest" else "is nearer to people"
    return f"{title}: {pair.better} {verb} than {worse} {size}, {p_value}."


def metric_line(key: str, metric: ComparedMetric) -> str:
    """Give the values of all systems by a metric in one line, the best first, and which ones are worse than the best.

    Tables have the intervals and every pair.
    """
    of_system = {name: value_of(metric, name) for name in metric.systems}
    names = sorted(of_system, key=lambda name: VALUES[key].distance(of_system[name]))
    form = column_form(list(of_system.values()))
    title = f"{_header(VALUES[key])} ({metric.direction})"
    values = ", ".join(f"{name} {form(of_system[name])}" for name in names)
    worse = {
        pair.second if pair.better == pair.first else pair.first for pair in metric.pairs if pair.better == names[0]
    }
    if len(names) == 1:
        return f"{title}: {values}."
    if metric.smallest_p_value > LEVEL:
        return f"{title}: {values}; no difference can be significant here (p at least {metric.smallest_p_value:.2g})."
    if not worse:
        return f"{title}: {values}; none is significantly worse than {names[0]}."
    listed = as_list([name for name in names if name in worse])
    return f"{title}: {values}; significantly worse than {names[0]}: {listed}."


def _difference(test: PairedTest) -> str:
    """Difference, and the one that would have been found."""
    sentence = f"difference {as_digits(abs(test.difference))} {_interval(test)}"
    if math.isfinite(test.minimum_detectable_difference):
        least = as_digits(test.minimum_detectable_difference)
        sentence += f"; one of {least} in every row would be detected with {POWER:.0%} power"
    return sentence


def _interval(test: PairedTest) -> str:
    """Interval of the difference without its sign."""
    if not math.isfinite(test.ci_low):
        return "[no interval]"
    low, high = (test.ci_low, test.ci_high) if test.difference >= 0 else (-test.ci_high, -test.ci_low)
    return as_interval(low, high)


def compare_with_baseline(comparison: Comparison) -> list[str]:
    """Say how every system stands beside the baseline by every metric."""
    baseline = comparison.systems[0]
    return [
        pair_summary(key, metric, pair, comparison.n_clusters)
        for key, metric in comparison.metrics.items()
        for pair in metric.pairs
        if pair.second == baseline
    ]
