"""Describe: the result in words, all sentences and tables that rendering needs, in one record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from manycaps.comparison.methods import comparison_methods
from manycaps.comparison.metric_words import (
    UNEQUAL_SIZES,
    VALUES,
    compare_with_baseline,
    correlation_table,
    exchange_table,
    metric_line,
    pair_table,
    people_table,
    shared_table,
    system_table,
)
from manycaps.comparison.significance import Comparison
from manycaps.comparison.system_lines import (
    baseline_lines,
    has_meaning,
    in_order,
    legend_of,
    margin_sentence,
    pair_line,
    screen_line,
    system_line,
)
from manycaps.comparison.system_tables import (
    MOST_LINES,
    NOTHING,
    CaptionExample,
    caption_examples,
    example_lines,
    parity_table,
    screen_table,
)
from manycaps.files.result_tables import Table
from manycaps.kit.rows import n_sharing_rows


def notes(comparison: Comparison) -> list[str]:
    """Return what a reader should know before the numbers."""
    said = [*comparison.notes, *one_reference(comparison), *equal_captions(comparison)]
    if not comparison.shown.has_equal_sizes:
        said.append(UNEQUAL_SIZES)
    if comparison.shown.note:
        said.append(comparison.shown.note)
    untested = [compared.title for key, compared in comparison.metrics.items() if VALUES[key].replaced_by]
    if untested:
        said.append(
            f"{' and '.join(untested)}: scored without p-values, so that the statistic is given, which is not 0 for "
            "people, and not its excess. Score with --option p_value=exact for that."
        )
    if comparison.human_parity is None and len(comparison.systems) == 1:
        said.append(f"The tables show the means of {comparison.systems[0]}, the only system.")
    return said


def one_reference(comparison: Comparison) -> list[str]:
    """Return a sentence if people cannot be compared, because rows have a single reference."""
    rows, parity = comparison.shown.rows, comparison.human_parity
    n_single = sum(len(row.references or ()) == 1 for row in rows)
    if not n_single or (parity is not None and has_meaning(parity)):
        return []
    titles = ", ".join(metric.title for metric in comparison.metrics.values())
    others = f" Systems are compared with each other, by {titles}." if len(comparison.systems) > 1 else ""
    if parity is not None:
        return [
            "Captions are compared with human ones by wording alone: their meaning takes two references or more in "
            f"every row, and {n_single} of {len(rows)} have one.{others if titles else ''}"
        ]
    return [
        "Human parity is not tested: that takes two references or more in every row, and "
        f"{n_single} of {len(rows)} have one.{others}"
    ]


def shared_rows(comparison: Comparison) -> list[str]:
    """Return a sentence if rows are equal to an earlier row, but are taken for independent; it follows the answer."""
    rows = comparison.shown.rows
    columns = [[row.captions[name] for row in rows] for name in rows[0].captions]
    if all(row.references for row in rows):
        columns.append([row.references or [] for row in rows])
    n_shared = n_sharing_rows(columns) if rows[0].captions else 0
    if not n_shared or comparison.n_clusters < len(rows):
        return []
    return [
        f"{n_shared} of {len(rows)} rows have the captions of an earlier row, people's and every system's, but all "
        "rows count as independent. If some are of one image, p-values are too small and intervals too short: say "
        "with --clusters which rows belong together."
    ]


def equal_captions(comparison: Comparison) -> list[str]:
    """Return a sentence for each system that says one caption several times in every row, as greedy decoding does."""
    rows, said = comparison.shown.rows, []
    for name in rows[0].captions:
        sizes = {len(row.captions[name]) for row in rows}
        if min(sizes) > 1 and all(len(set(row.captions[name])) == 1 for row in rows):
            size = f"all {min(sizes)}" if len(sizes) == 1 else f"all {min(sizes)} to {max(sizes)}"
            size = "both" if sizes == {2} else size
            said.append(f"{name}: {size} captions of a row are equal; `manycaps sample` draws different ones")
    return said


@dataclass(frozen=True, kw_only=True)
class Words:
    """What is said of a comparison: all that rendering needs besides the result."""

    # What a reader should know before the numbers, and after the answer.
    notes: Sequence[str]
    after: Sequence[str]
    # How every system stands beside the baseline by every metric.
    metrics: Sequence[str]
    # A line for each metric that was asked for, where the answer is by meaning and a terminal has no tables.
    asked: Sequence[str]
    # Where there are people: what the columns are about; a line for each system, as they are printed, a brief
    # one for a terminal, and one for each pair.
    legend: str
    systems: Mapping[str, str]
    brief: Mapping[str, str]
    pairs: Sequence[str]
    # The pairs with the baseline in few sentences, for a terminal.
    baseline: Sequence[str]
    # By system the captions most unlike people's, and the pairs most alike, and lines of these for a terminal.
    unlike: Mapping[str, Sequence[CaptionExample]]
    alike: Mapping[str, Sequence[CaptionExample]]
    examples: Mapping[str, Sequence[str]]
    # A paragraph for a paper.
    methods: str
    # Tables by their sections of the page; without rows where there is nothing to show; and the table of a terminal.
    tables: Mapping[str, Table]
    screen: Table

    @property
    def summary(self) -> list[str]:
        """The answer in sentences: the systems beside people, and in pairs; else by every metric."""
        return [*self.notes, *self.systems.values(), *self.pairs, *self.metrics, *self.after]

    @property
    def metric_tables(self) -> list[Table]:
        """The tables of metrics that have rows: what the answer on the screen does not say."""
        return [table for name, table in self.tables.items() if table.rows and name not in ("answer", "correlations")]

    @property
    def all_tables(self) -> list[Table]:
        """The tables that have rows: the systems beside people, and the metrics."""
        return [*(table for table in [self.tables["answer"]] if table.rows), *self.metric_tables]


def describe(comparison: Comparison, *, are_asked_for: bool = False) -> Words:
    """Put a result into sentences and tables; `are_asked_for`: the metrics were chosen, and are no defaults."""
    parity, order = comparison.human_parity, comparison.shown.order
    systems = {} if parity is None else {name: parity.systems[name] for name in in_order(parity, order)}
    lacks_meaning = parity is None or not has_meaning(parity)
    # Where wording alone is compared, the oddest captions in place of those most unlike people's.
    oddest = (
        comparison.shown.oddest if lacks_meaning else {n: each["most_unlike_people"] for n, each in systems.items()}
    )
    unlike = {name: caption_examples(comparison, name, oddest[name]) for name in systems}
    alike = {name: caption_examples(comparison, name, each["most_alike"]) for name, each in systems.items()}
    tables = {
        "answer": NOTHING if parity is None else parity_table(parity, order, whole=True),
        "systems": system_table(comparison),
        "pairs": pair_table(comparison),
        "people": people_table(comparison),
        "exchangeable": exchange_table(comparison),
        "homogeneity": shared_table(comparison),
        "correlations": correlation_table(comparison),
    }
    return Words(
        notes=notes(comparison),
        after=shared_rows(comparison),
        metrics=compare_with_baseline(comparison) if lacks_meaning else [],
        asked=[metric_line(*each) for each in comparison.metrics.items()]
        if are_asked_for and not lacks_meaning
        else [],
        legend="" if parity is None else legend_of(parity),
        systems={} if parity is None else {name: system_line(parity, name) for name in systems},
        brief={}
        if parity is None
        else {n: f"{screen_line(n, systems[n])} {margin_sentence(parity, n)}".rstrip() for n in systems},
        pairs=[] if parity is None else [pair_line(parity.systems, pair) for pair in parity.pairs],
        baseline=[] if parity is None or not parity.pairs else baseline_lines(parity),
        unlike=unlike,
        alike=alike,
        examples={
            name: example_lines(
                system,
                unlike[name],
                alike[name],
                [
                    (comparison.shown.rows[each.row].id, each)
                    for each in comparison.shown.unsupported.get(name, ())[:MOST_LINES]
                ],
            )
            for name, system in systems.items()
        },
        methods=comparison_methods(comparison),
        tables=tables,
        screen=NOTHING if parity is None else screen_table(parity, order),
    )
