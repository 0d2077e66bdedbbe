"""The tables of systems beside people, in full and for a terminal, and the captions that stand below them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from manycaps.comparison.compare_options import ORDERS
from manycaps.comparison.groups import letters_of_systems
from manycaps.comparison.parity import ComparedParity
from manycaps.comparison.read import SystemRow, UnsupportedSentence
from manycaps.comparison.sentences import TERMS, as_list, percent
from manycaps.comparison.significance import Comparison
from manycaps.comparison.system_lines import (
    WIDTH,
    System,
    as_rows_to_detect,
    faults,
    has_meaning,
    has_wording,
    in_order,
    legend_of,
    quoted,
    shorten,
    system_phrases,
    text_lengths,
    unlikeness,
    verdict_of,
)
from manycaps.comparison.system_parity import FAULTS, ROWS, copies_references
from manycaps.comparison.table_terms import GROUP, MOST_MARKED
from manycaps.files.result_tables import Cell, Table, number_cell, write_table
from manycaps.kit.parity_faults import FAULTS as KINDS_OF_FAULTS
from manycaps.kit.parity_gaps import LEVEL, POWER
from manycaps.kit.parity_tails import TAIL
from manycaps.kit.parity_words import gap_text, p_value_digits, share_text

# Captions of each system, and pairs of them, that are shown, and lines of them in a terminal.
MOST_EXAMPLES, MOST_LINES = 20, 3


# Shares of the table that are no faults. A terminal leaves the last one out.
LIKENESS_COLUMNS = ("generic_share", "predictable_share", "near_duplicate_share", "spread_share")


# Titles that a terminal writes in two lines.
TWO_LINES = {"rows to detect": "rows to\ndetect", "predictable wording": "predictable\nwording"}
TWO_LINES |= {
    "near-duplicates": "near-\nduplicates",
    "words per text": "words\nper text",
    "odd wording": "odd\nwording",
}


# A table of what is not known.
NOTHING = Table("", [], [])


def best_systems(parity: ComparedParity, key: str) -> list[str]:
    """Return the systems with the best value of several, and all that are not shown to be worse than that one.

    Of shares, a pair's test shows it; of rows, an interval that ends below the best one's. A mark speaks for a test:
    where none compares a system with the best one, there are no marks, as of shares that no pair is tested by, and
    where a single system is left. Systems that copy references are left out.
    """
    systems = parity.systems
    names = [name for name in systems if not copies_references(systems[name]) and not math.isnan(systems[name][key])]
    if key == ROWS:
        names = [name for name in names if not math.isnan(systems[name].get(f"{key}_ci_low", math.nan))]
    if len(names) < 2:
        return []
    first = min(names, key=lambda name: unlikeness(systems[name], key))
    if key == ROWS:
        least = systems[first][f"{key}_ci_low"]
        return [name for name in names if name == first or not systems[name][f"{key}_ci_high"] < least]
    tested = FAULTS if key in KINDS_OF_FAULTS else key
    with_best = [pair for pair in parity.pairs if first in (pair.first, pair.second) and tested in pair.tested_shares]
    others = {name for pair in with_best for name in (pair.first, pair.second)} & set(names) - {first}
    worse = {
        name
        for pair in with_best
        for share in pair.shares
        if share.key == tested and share.better == first
        for name in (pair.first, pair.second)
    }
    return [name for name in names if name == first or name in others - worse] if others else []


def groups_of_systems(parity: ComparedParity) -> dict[str, str]:
    """Return the letters of groups of systems that do not differ, by the joint test of every pair, after Holm.

    Groups are runs of systems in the order of their faults. Systems that copy references are in none.
    """
    systems, key = parity.systems, faults(parity)
    ranked = [name for name in in_order(parity, ORDERS[0]) if not math.isnan(systems[name][key])]
    ranked = [name for name in ranked if not copies_references(systems[name])]
    pairs = {frozenset((pair.first, pair.second)): pair.adjusted_p_value for pair in parity.pairs}
    return letters_of_systems(ranked, lambda first, second: pairs[frozenset((first, second))] <= LEVEL)


def note_of_marks(parity: ComparedParity, table: Table, mark: str) -> str:
    """Say what the marks of a table are, if it has any, and which systems were never compared with others."""
    sentences = []
    if any(cell.is_best for row in table.rows for cell in row):
        sentences.append(f"{mark}: not shown to be worse than the best of the column.")
    if GROUP in table.header:
        sentences.append("group: systems with a common letter were not shown to differ.")
    names = [name for name, system in parity.systems.items() if copies_references(system)]
    if len(names) == 1 < len(parity.systems):
        sentences.append(f"{names[0]} is not compared: many of its captions also occur among the references.")
    elif len(names) > 1:
        sentences.append(f"{as_list(names)} are not compared: many of their captions also occur among the references.")
    return " ".join(sentences)


def parity_table(parity: ComparedParity, order: str = "", *, whole: bool = False) -> Table:
    """Return the table of systems beside people: for a terminal, or with `whole` all shares and the wording gap."""
    systems = {name: parity.systems[name] for name in in_order(parity, order)}
    columns = [("system", [Cell(name) for name in systems], Cell("people"))]

    def marked(key: str) -> list[str]:
        best = best_systems(parity, key)  # marks of most systems would say nothing
        return [] if len(systems) > MOST_MARKED and 2 * len(best) > len(systems) else best

    def add_share(key: str) -> None:
        best = marked(key)
        cells = [
            _interval_cell(
                "not measured" if math.isnan(system[key]) else share_text(system, key),
                system[key],
                name in best,
                unlikeness(system, key),
            )
            for name, system in systems.items()
        ]
        of_people = 0.0 if key == FAULTS else next(iter(systems.values())).get(f"{key}_of_people", TAIL)
        columns.append((TERMS.get(key, key), cells, number_cell(of_people, percent)))

    def known(key: str) -> list[float]:
        values = [system[key] for system in systems.values() if key in system and not math.isnan(system[key])]
        return values if all(key in system["per_row"] for system in systems.values()) else []

    add_share(faults(parity))
    if len(systems) > MOST_MARKED:
        groups = groups_of_systems(parity)
        columns.append((GROUP, [Cell(groups.get(name, "")) for name in systems], Cell("")))
    if whole and has_meaning(parity):
        for key in KINDS_OF_FAULTS:
            if known(key):
                add_share(key)
    p_values = [(system["adjusted_p_value"], int(system["n_rows"])) for system in systems.values()]
    p_cells = [Cell(p_value_digits(p_value, n_rows), value=p_value) for p_value, n_rows in p_values]
    best = marked(ROWS)
    after = [_interval_cell(as_rows_to_detect(system), system[ROWS], name in best) for name, system in systems.items()]
    columns += [("p", p_cells, Cell("")), ("rows to detect", after, Cell(""))]
    lengths = [text_lengths(system) for system in systems.values()]
    if not all(math.isnan(words) for words, *_ in lengths):
        cells = [_length_cell(*length) for length in lengths]
        columns.append(("words per text", cells, number_cell(lengths[0][1], "{:.3g}".format)))
    for key in LIKENESS_COLUMNS:
        if known(key) and (whole or key != LIKENESS_COLUMNS[-1]):
            add_share(key)
    if whole and has_wording(parity):
        gaps = [
            _interval_cell(gap_text(system, "wording_gap"), system["wording_gap"], False) for system in systems.values()
        ]
        columns.append(("wording gap", gaps, number_cell(0.0)))
    rows = [list(row) for row in zip(*(cells for _, cells, _ in columns), strict=True)]
    caption = _caption_of(parity, [title for title, *_ in columns])
    table = Table(caption, [title for title, *_ in columns], [*rows, [cell for *_, cell in columns]])
    return table._replace(caption=f"{caption} {note_of_marks(parity, table, 'marked')}".rstrip())


# What the columns of a table are, in its caption.
DEFINED = {
    "unsupported": "unsupported: sentences farther from the references than 19 of 20 human ones",
    "omitted": "omitted: texts that leave out more of what people say than 19 of 20 human ones",
    "odd wording": "odd wording: sentences of odder wording than 19 of 20 human ones",
    "repeated": "repeated: texts that repeat words or sentences",
    "generic": "generic: captions nearer to the references than 19 of 20 human ones",
    "predictable wording": "predictable wording: captions more predictable than 19 of 20 human ones, by the words that "
    "people used of other rows",
    "near-duplicates": "near-duplicates: pairs of captions nearer to each other than 19 of 20 pairs of human ones",
    "spread pairs": "spread pairs: pairs farther apart than 19 of 20",
    "wording gap": "wording gap: mean difference of predictability, in natural logarithms per word",
}


def _caption_of(parity: ComparedParity, titles: Sequence[str]) -> str:
    """The caption of the table with columns of these titles."""
    holm = ", after Holm" if len(parity.systems) > 1 else ""
    parts = [DEFINED[title] for title in titles if title in DEFINED]
    defined = f"{'; '.join(parts)}. " if parts else ""
    return (
        f"Systems beside people. {legend_of(parity)} {defined}p tests "
        f'"people could have written all captions"{holm}; rows to detect: with so many the difference is found in '
        f"{POWER:.0%} of the cases. Brackets: 95% intervals{', each by itself' * (len(parity.systems) > 1)}."
    )


def screen_table(parity: ComparedParity, order: str = "") -> Table:
    """Return the table of a terminal: titles in two lines, and no more intervals than fit, the first columns' first."""
    table = parity_table(parity, order)._replace(caption="")
    table = table._replace(header=[TWO_LINES.get(title, title) for title in table.header])
    for place in range(len(table.header) - 1, 0, -1):
        if max(map(len, write_table(table, "text").splitlines())) <= WIDTH:
            break
        rows = [[cell._replace(interval="") if i == place else cell for i, cell in enumerate(r)] for r in table.rows]
        table = table._replace(rows=rows)
    return table


def _length_cell(words: float, people: float, low: float, high: float) -> Cell:
    """The words per text, with the interval that the gap to people's leaves."""
    if math.isnan(words):
        return Cell("not measured", value=words)
    if math.isnan(low):
        return Cell(f"{words:.3g}", value=words, sort=abs(words - people))
    digits = 0 if words >= 10 else 1
    outwards = math.floor(low * 10**digits), math.ceil(high * 10**digits)
    interval = "[{:g}, {:g}]".format(*(end / 10**digits for end in outwards))
    return Cell(f"{words:.3g}", value=words, sort=abs(words - people), interval=interval)


def _interval_cell(text: str, value: float, is_best: bool, sort: float | None = None) -> Cell:
    """Return the cell of a text that ends in an interval."""
    number, _, interval = text.partition(" [")
    return Cell(number, is_best, value=value, sort=sort, interval=interval and f"[{interval}")


class CaptionExample(NamedTuple):
    """One caption, or two, of a row."""

    row: SystemRow
    captions: tuple[str, ...]


def caption_examples(comparison: Comparison, name: str, places: Sequence[Sequence[int]]) -> list[CaptionExample]:
    """Return some captions of a system, or pairs of them, by their places [row, candidate, ...], each once."""
    rows = comparison.shown.rows
    if not rows or name not in rows[0].captions:
        return []
    chosen: dict[tuple[int, frozenset[str]], CaptionExample] = {}
    for number, *candidates in places:
        captions = tuple(rows[number].captions[name][candidate] for candidate in candidates)
        chosen.setdefault((number, frozenset(captions)), CaptionExample(rows[number], captions))
    return list(chosen.values())[:MOST_EXAMPLES]


def example_lines(
    system: System,
    unlike: Sequence[CaptionExample],
    alike: Sequence[CaptionExample],
    unsupported: Sequence[tuple[str, UnsupportedSentence]] = (),
) -> list[str]:
    """Return lines of a terminal: phrases, captions or sentences most unlike people's, and the nearest near-duplicates.

    Where texts have several sentences, these stand in the place of whole texts, each with the id of its row.
    """
    said = verdict_of(system).said
    lines = [
        f"{shorten(shown.row.id)}: {quoted(shown.captions[0])}; people: {quoted((shown.row.references or [''])[0])}"
        for shown in unlike[:MOST_LINES]
    ]
    if unsupported:
        lines = [
            f"{shorten(row_id)}: {quoted(each.text)}; nearest: {quoted(each.nearest)}"
            for row_id, each in unsupported[:MOST_LINES]
        ]
    for pair in alike[:1] if "near_duplicates" in said else ():
        first, second = map(quoted, pair.captions)
        both = f"{first} twice" if first == second else f"{first} and {second}"
        # The pair comes first, unless the captions themselves are a reason for what is said.
        lines.insert(len(lines) if "unsupported" in said else 0, f"{shorten(pair.row.id)}: {both}")
    phrases = system_phrases(system, WIDTH - 2)
    return [phrases, *lines] if phrases else lines
