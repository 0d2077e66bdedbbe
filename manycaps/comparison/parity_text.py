"""The answer of a comparison in words: a line for each system beside people, and one for each pair."""

import math
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from manycaps.comparison.mean_intervals import POWER
from manycaps.comparison.parity import ROWS, ComparedParity, SystemParity
from manycaps.comparison.parity_pairs import FAULTS, ParityPair, ShareTest
from manycaps.comparison.systems import SystemRow
from manycaps.kit.caption_wording import Phrase
from manycaps.kit.parity_tails import SHARE_NOUNS, TAIL, gap_text, p_value_digits, share_text, shown_p_value
from manycaps.tables import Cell, Table, number_cell, write_table

# Columns of a terminal, and pairs that are printed without --full: those with the baseline if there are more.
WIDTH, MOST_PAIRS = 100, 3

# Lines of a terminal, without that of the next command, and captions of a system that are printed if they fit.
HEIGHT, MOST_EXAMPLES = 26, 3

# Letters of a caption that a terminal shows.
MOST_LETTERS = 35

# Shares that sentences name, and how.
SHARES = SHARE_NOUNS
NOUNS = {**SHARES, "formulaic_share": "formulaic captions"}

# Columns of the table: shares of faults, and of likeness. A terminal shows the first and those of likeness that differ.
FAULT_COLUMNS = {"faulty_share": "faults", "unlike_people_share": "unlike people", "odd_wording_share": "odd wording"}
LIKENESS_COLUMNS = {
    "ordinary_share": "ordinary",
    "formulaic_share": "formulaic",
    "near_duplicate_share": "near-duplicates",
    "spread_share": "spread pairs",
}

# What each column of the answer is about, and what is said where wording is not known.
LEGEND = (
    "Faults are captions that people would not write, by meaning{wording}: fewer are better. The other columns say how "
    "like people's these captions are, not how good."
)
BY_WORDING, NO_WORDING = " or wording", " alone (wording takes ten rows or more, and captions)"
WORDING_ALONE = LEGEND.replace("by meaning{wording}", "by wording alone (meaning takes two references in every row)")
MARKED = " {mark}: not shown to be worse than the best of the column."

# What a terminal says of a share that is above people's; the page has a sentence.
BRIEFLY = {
    "unlike": ("unlike_people_share", "unlike people's"),
    "odd-wording": ("odd_wording_share", "of odd wording"),
    "copies": ("copied_share", "also among the references"),
    "ordinary": ("ordinary_share", "ordinary"),
    "formulaic": ("formulaic_share", "formulaic"),
    "near-duplicates": ("near_duplicate_share", "of pairs near-duplicates"),
    "spread": ("spread_share", "of pairs far apart"),
}

# What the caption of a table adds where wording is known.
WORDING_CAPTION = (
    "odd wording, and formulaic captions, are less and more predictable than 19 of 20 human ones, by the words that "
    "people used of other rows, and the wording gap is the mean difference in natural logarithms per word"
)

# Phrases that are named of a system: used more often than by people, and less often.
MOST_OVERUSED, MOST_UNDERUSED = 3, 1


def legend_of(parity: ComparedParity) -> str:
    """Say what the columns of the answer are about."""
    if not parity.has_meaning:
        return WORDING_ALONE
    return LEGEND.format(wording=BY_WORDING if parity.faults == FAULTS[0] else NO_WORDING)


def phrase_line(phrases: Sequence[Phrase], width: int | None = None) -> str:
    """Name the phrases that give a system away, the largest differences first: as many as fit a width, or none.

    >>> shirt, begins = Phrase("shirt", False, False, 0.34, 0.01, 0.001), Phrase("a", True, False, 0.44, 0.09, 0.001)
    >>> phrase_line([begins, shirt])
    "gives itself away by: begins with 'a' (44 % of captions, people 9 %), 'shirt' (34 %, 1 %)"
    >>> phrase_line([begins, shirt, Phrase("there is", False, False, 0.0, 0.02, 0.01)], width=80)
    "gives itself away by: never 'there is' (people 2 %)"
    """
    over = [phrase for phrase in phrases if phrase.share > phrase.share_of_people][:MOST_OVERUSED]
    under = [phrase for phrase in phrases if phrase.share < phrase.share_of_people][:MOST_UNDERUSED]
    for n_over in range(len(over), -1, -1):
        named = [
            f"{_named(phrase)} ({as_percent(phrase.share)}{', ' if i else ' of captions, people '}"
            f"{as_percent(phrase.share_of_people)})"
            for i, phrase in enumerate(over[:n_over])
        ]
        lacking = [
            f"never {_named(phrase)} (people {as_percent(phrase.share_of_people)})"
            if phrase.share == 0
            else f"seldom {_named(phrase)} ({as_percent(phrase.share)}, people {as_percent(phrase.share_of_people)})"
            for phrase in under
        ]
        line = f"gives itself away by: {'; '.join(filter(None, [', '.join(named), *lacking]))}"
        if (named or lacking) and (width is None or len(line) <= width):
            return line
    return ""


def _named(phrase: Phrase) -> str:
    """A phrase in quotes, with its place."""
    place = "begins with " * phrase.begins + "ends in " * phrase.ends
    return f"{'is ' if phrase.begins and phrase.ends else place}'{_short(phrase.phrase, MOST_LETTERS)}'"


def screen_line(system: SystemParity) -> str:
    """Say briefly how a system differs from people: the numbers without intervals, which the table has."""
    shares = [BRIEFLY[word.name] for word in system.words if word.name in BRIEFLY]
    brief = ", ".join(f"{as_percent(system.result[key])} {noun}" for key, noun in shares)
    others = [word.sentence for word in system.words if word.name not in BRIEFLY]
    has_p = any(word.name == "different" for word in system.words)
    sentences = [*([] if has_p else [f"{system_p_value(system)}."]), *([f"{brief}."] if brief else []), *others]
    return f"{system.name}: {' '.join(sentences)}"


def system_line(parity: ComparedParity, system: SystemParity) -> str:
    """Say in one line how a system stands beside people."""
    sentences = " ".join(word.sentence for word in system.words) or "One row: no interval."
    has_p = any(word.name == "different" for word in system.words)
    p_value = "" if has_p else f"{system_p_value(system)}. "
    phrases = phrase_line(system.rows.phrases)
    phrases = f" {phrases[0].upper()}{phrases[1:]}." if phrases else ""
    return f"{system.name}: {p_value}{sentences}{phrases}{_within(parity, system)}"


def _within(parity: ComparedParity, system: SystemParity) -> str:
    if parity.margin is None:
        return ""
    is_shown = "Within" if parity.within[system.name] else "Not shown to be within"
    return f" {is_shown} {parity.margin:g} of people in {_gaps_named(system.result['diversity_gap'])}."


def system_p_value(system: SystemParity) -> str:
    """The p-value of a system after Holm's rule, as it is printed; see `shown_p_value`."""
    return shown_p_value(system.adjusted_p_value, int(system.result["n_rows"]))


def _gaps_named(diversity_gap: float) -> str:
    """Name the gaps that there are."""
    return "the fidelity gap" if math.isnan(diversity_gap) else "both gaps"


def pair_line(pair: ParityPair) -> str:
    """Say in one line which of two systems has fewer faults, and which is more like people in what."""
    names, p_value = f"{pair.first} and {pair.second}", shown_p_value(pair.adjusted_p_value)
    if pair.kind == "copies":
        return f"{names} are not compared: captions of {' and '.join(pair.copying)} also occur among the references."
    if pair.kind == "alike":
        return f"{names}: no difference detected ({p_value}{_detectable(pair)}).{_margin(pair)}"
    likeness = "; ".join(
        f"{name} is more like people in {_listed([_both(share, name, pair) for share in shares])}"
        for name in (pair.first, pair.second)
        if (shares := pair.more_like_people(name))
    )
    if pair.faults is not None and pair.faults.better:
        better = pair.faults.better
        worse = pair.second if better == pair.first else pair.first
        values = _values(pair.faults, better, pair)
        faults = f"{better} has fewer faults than {worse} ({values}, {shown_p_value(pair.faults.p_value)})"
        return f"{faults}; {likeness}." if likeness else f"{faults}."
    if pair.faults is not None:
        values = _values(pair.faults, pair.first, pair)
        return f"{names} differ ({p_value}): {likeness or _of_gaps(pair)}; faults: no difference detected ({values})."
    return f"{names} differ ({p_value}): {likeness or _of_gaps(pair)}.{_margin(pair)}"


def _of_gaps(pair: ParityPair) -> str:
    """The direction in which two systems differ: by the gaps whose intervals exclude 0, else by all together."""
    words = {
        "fidelity_gap": "{} is nearer to the references",
        "diversity_gap": "{} is less varied",
        "wording_gap": "{} is less predictable in wording",
    }
    clear = [gap for gap in pair.gaps if not gap.low <= 0 <= gap.high]
    parts = [
        f"{words[gap.key].format(pair.first if gap.difference < 0 else pair.second)} ({gap.key.replace('_', ' ')} "
        f"{gap.first:.2g} and {gap.second:.2g}, difference {gap.difference:.2g} [{gap.low:.2g}, {gap.high:.2g}])"
        for gap in clear or pair.gaps
    ]
    return ("" if clear else "neither gap by itself, but together ") + _listed(parts)


def _listed(parts: Sequence[str]) -> str:
    return " and ".join(parts)


def _detectable(pair: ParityPair) -> str:
    """What would be found, or that nothing can be."""
    gap, least_rows, wrong_captions, wrong_rows = pair.detectable
    if math.isinf(gap):
        return f"; too few rows to distinguish any two systems: at least {least_rows} are needed"
    if math.isnan(gap):
        return ""
    shares = {"wrong captions": wrong_captions, "rows of wrong captions": wrong_rows}
    if wrong_rows == wrong_captions:  # rows have one caption
        del shares["rows of wrong captions"]
    known = [f"{100 * share:.2g} % more {noun}, " for noun, share in shares.items() if math.isfinite(share)]
    found = f"{''.join(known)}{'or ' * bool(known)}fidelity gaps that differ by {gap:.2g} in every row"
    return f"; {found} would be detected with a power of {100 * POWER:.0f} %"


def _margin(pair: ParityPair) -> str:
    if not pair.within_margin:
        return ""
    return f" Equivalent within the margin in {_gaps_named(math.nan if len(pair.gaps) < 2 else 0.0)}."


def _both(share: ShareTest, better: str, pair: ParityPair) -> str:
    return f"{NOUNS[share.key]} ({_values(share, better, pair)})"


def _values(share: ShareTest, better: str, pair: ParityPair) -> str:
    """Both values of a share, that of the better system first."""
    values = (share.first, share.second) if better == pair.first else (share.second, share.first)
    return " and ".join(f"{100 * value:.0f} %" for value in values)


def as_rows_needed(result: Mapping[str, Any]) -> str:
    """Rows after which a system is distinguished from people, with the interval.

    >>> as_rows_needed({"rows_needed": 23.0, "rows_needed_ci_low": 11.0, "rows_needed_ci_high": 79.0, "n_rows": 60})
    '23 [11, 79]'
    >>> inf = math.inf
    >>> as_rows_needed({"rows_needed": inf, "rows_needed_ci_low": 310.0, "rows_needed_ci_high": inf, "n_rows": 200})
    'at least 310'
    """
    rows, low, high = (result.get(f"rows_needed{end}", math.nan) for end in ("", "_ci_low", "_ci_high"))
    if math.isnan(rows):
        return "not defined"
    if math.isinf(high) or math.isinf(rows):
        return f"at least {low:,.0f}" if math.isfinite(low) else "none found"
    return f"{rows:,.0f}" if math.isnan(low) else f"{rows:,.0f} [{low:,.0f}, {high:,.0f}]"


def parity_table(parity: ComparedParity, *, whole: bool = False) -> Table:
    """Return the table of systems beside people: that of a terminal, or with `whole` all shares and the wording gap."""
    systems, has_wording = parity.in_order(), parity.faults != "unlike_people_share"
    columns = [("system", [Cell(system.name) for system in systems], Cell("people"))]

    def add_share(key: str, title: str) -> None:
        best = parity.best(key)
        columns.append(
            (
                title,
                [
                    _interval_cell(
                        "one caption" if math.isnan(system.result[key]) else share_text(system.result, key),
                        system.result[key],
                        system.name in best,
                        system.unlikeness(key),
                    )
                    for system in systems
                ],
                number_cell(systems[0].result.get(f"{key}_of_people", TAIL), as_percent),
            )
        )

    add_share(parity.faults, "faults")
    if whole and parity.faults == FAULTS[0]:
        for key in FAULTS[1:]:
            add_share(key, FAULT_COLUMNS[key])
    p_values = [(each.adjusted_p_value, int(each.result["n_rows"])) for each in systems]
    p_cells = [Cell(p_value_digits(p_value, n_rows), value=p_value) for p_value, n_rows in p_values]
    best = parity.best(ROWS)
    after = [_interval_cell(as_rows_needed(each.result), each.result[ROWS], each.name in best) for each in systems]
    columns += [("p", p_cells, Cell("")), ("distinguished", after, Cell(""))]
    for key, title in LIKENESS_COLUMNS.items():
        values = [system.result[key] for system in systems if key in system.shares]
        is_shown = whole or (key != "spread_share" and not np.isnan(values).all())
        if len(values) == len(systems) and is_shown:
            add_share(key, title)
    if whole and has_wording:
        gaps = [
            _interval_cell(gap_text(each.result, "wording_gap"), each.result["wording_gap"], False) for each in systems
        ]
        columns.append(("wording gap", gaps, number_cell(0.0)))
    by_meaning = "Captions unlike people's are farther from the references than 19 of 20 human ones; "
    of_likeness = (
        " Ordinary captions are nearer to the references than 19 of 20 human ones; near-duplicates and spread pairs "
        "are pairs of captions nearer to each other, and farther apart, than 19 of 20 pairs of human ones: people's "
        "5 % is best."
    )
    defined = f"{by_meaning * parity.has_meaning}{WORDING_CAPTION * has_wording}".removesuffix("; ")
    caption = (
        f"Systems beside people. {legend_of(parity)} {defined[0].upper()}{defined[1:]}. p is that of "
        '"people could have written all captions"; after so many rows the difference is found 80 % of the time.'
        f"{of_likeness * parity.has_meaning} Brackets: 95 % intervals"
        f"{'; marked: not shown to be worse than the best of the column' if len(systems) > 1 else ''}."
    )
    rows = [list(row) for row in zip(*(cells for _, cells, _ in columns), strict=True)]
    return Table(caption, [title for title, *_ in columns], [*rows, [cell for *_, cell in columns]])


def _interval_cell(text: str, value: float, is_best: bool, sort: float | None = None) -> Cell:
    """Return the cell of a text that ends in an interval."""
    number, _, interval = text.partition(" [")
    return Cell(number, is_best, value=value, sort=sort, interval=interval and f"[{interval}")


def as_percent(share: float) -> str:
    """A share in percent, rounded as in sentences and the table.

    >>> as_percent(0.126)
    '13 %'
    """
    return f"{100 * share:.0f} %"


def parity_screen(
    parity: ComparedParity,
    notes: Sequence[str],
    rows: Sequence[SystemRow] = (),
    *,
    warnings: Sequence[str] = (),
    full: bool = False,
) -> str:
    """Return the answer as a terminal shows it: a table, a line for each system, with captions, and one for each pair.

    `notes` are what a reader should know before, `warnings` what may be wrong with the answer, behind it. Of rows with
    captions, the three most unlike people's of each system are shown, or fewer, so that the answer fits a terminal.
    `full` adds the rest of them and of the pairs.
    """
    table = write_table(parity_table(parity)._replace(caption=""), "text").splitlines()
    legend = legend_of(parity) + MARKED.format(mark="*") * (len(parity.systems) > 1)
    pairs = parity.pairs
    if not full and len(pairs) > MOST_PAIRS:
        pairs = [pair for pair in pairs if pair.second == pairs[0].second]
    of_pairs = [f"- {pair_line(pair)}" for pair in pairs]
    if len(pairs) < len(parity.pairs):
        of_pairs.append(f"- {len(parity.pairs)} pairs in all: --full")
    of_pairs += warnings
    before = [*table, *_wrapped(legend), "", *(line for note in notes for line in _wrapped(note))]
    after = ["", *(line for text in of_pairs for line in _wrapped(text))] if of_pairs else []
    systems = parity.in_order()
    sentences = [_wrapped(f"- {screen_line(system)}{_within(parity, system)}") for system in systems]
    n_free = HEIGHT - len(before) - len(after) - sum(map(len, sentences))
    examples = [example_lines(system, rows, MOST_EXAMPLES) for system in systems]
    shown = [len(lines) for lines in examples] if full else _shares(list(map(len, examples)), n_free)
    answer_lines = [
        line
        for sentence, lines, n in zip(sentences, examples, shown, strict=True)
        for line in (*sentence, *(f"  {line}" for line in lines[:n]))
    ]
    return "\n".join([*before, *answer_lines, *after])


class CaptionExample(NamedTuple):
    """One caption, or two, of a row."""

    row: SystemRow
    captions: tuple[str, ...]


def most_unlike(system: SystemParity, rows: Sequence[SystemRow], n: int) -> list[CaptionExample]:
    """Return at most n captions, the farthest from their references first, each different one once."""
    return _examples(system, "most_unlike_people", rows, n)


def most_alike(system: SystemParity, rows: Sequence[SystemRow], n: int) -> list[CaptionExample]:
    """Return the pairs of captions that are nearest to each other; see `most_unlike`."""
    return _examples(system, "most_alike", rows, n)


def _examples(system: SystemParity, key: str, rows: Sequence[SystemRow], n: int) -> list[CaptionExample]:
    if not rows or system.name not in rows[0].captions:
        return []
    if key == "most_unlike_people" and not system.has_meaning:
        key = "oddest_wording"
    chosen: dict[tuple[int, frozenset[str]], CaptionExample] = {}
    for number, *places in system.lists[key]:
        captions = tuple(rows[number].captions[system.name][candidate] for candidate in places)
        chosen.setdefault((number, frozenset(captions)), CaptionExample(rows[number], captions))
    return list(chosen.values())[:n]


def example_lines(system: SystemParity, rows: Sequence[SystemRow], n: int) -> list[str]:
    """Return lines of a terminal: phrases, n captions most unlike people's, and the most similar near-duplicates."""
    words = {word.name for word in system.words}
    lines = [
        f"{_short(shown.row.id)}: {_quoted(shown.captions[0])}; people: {_quoted((shown.row.references or [''])[0])}"
        for shown in most_unlike(system, rows, n)
    ]
    for pair in most_alike(system, rows, 1) if "near-duplicates" in words else ():
        first, second = map(_quoted, pair.captions)
        both = f"{first} twice" if first == second else f"{first} and {second}"
        # The pair comes first, unless the captions themselves are a reason for what is said.
        lines.insert(len(lines) if "unlike" in words else 0, f"{_short(pair.row.id)}: {both}")
    phrases = phrase_line(system.rows.phrases, WIDTH - 2)
    return [phrases, *lines] if phrases else lines


def _quoted(caption: str) -> str:
    return f'"{_short(caption, MOST_LETTERS)}"'


def _short(text: str, n: int = 12) -> str:
    """The beginning of a text, on one line.

    >>> _short("beach"), _short("a_very_long_name.jpg")
    ('beach', 'a_very_long…')
    """
    text = " ".join(text.split())
    return text if len(text) <= n else f"{text[: n - 1]}…"


def _shares(wanted: Sequence[int], n_free: int) -> list[int]:
    """Divide free lines in turns.

    >>> _shares([3, 1, 3], 4), _shares([3], -1)
    ([2, 1, 1], [0])
    """
    given = [0] * len(wanted)
    turns = [i for turn in range(max(wanted, default=0)) for i in range(len(wanted)) if turn < wanted[i]]
    for i in turns[: max(0, n_free)]:
        given[i] += 1
    return given


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, subsequent_indent="  ", break_on_hyphens=False)


def parity_methods(parity: ComparedParity, n_pairs: int) -> list[str]:
    """Describe the test against people, and that of pairs, for a paper."""
    adjusted = f", adjusted by Holm's method over the {n_pairs} pairs" if n_pairs > 1 else ""
    holm = " p-values of several systems are adjusted by Holm's method." if len(parity.systems) > 1 else ""
    has_wording = parity.faults != "unlike_people_share"
    weights = "three tests with 0.76, 0.19 and 0.05" if has_wording else "two tests with 0.8 and 0.2"
    by_wording = (
        "the wording gap, the mean SLOR (Pauls and Klein 2012) by a trigram model of people's captions of other rows, "
        "less that of people's captions, in closed form under random splits of every row"
    )
    distinguished = (
        f"{holm} A system is distinguished after the rows with which the difference is found in {POWER:.0%} of the "
        "cases at a level of 5%."
    )
    if not parity.has_meaning:
        sentences = [
            f"The wording of captions was compared with that of people's by {by_wording}.{distinguished}",
            "Two systems differ if their wording gaps do, or the shares of captions beyond the 5% and 95% quantiles of "
            f"people's SLOR, by paired tests with half of the level each{adjusted}.",
        ]
        return sentences if n_pairs else sentences[:1]
    sentences = [
        f"Captions were compared with people's by the distance {parity.distance}, by {weights} of "
        "the level (Bonferroni): the fidelity and the diversity gap of all rows jointly, in closed form under random "
        "splits of every row (Chen and Friedman 2017), and the shares of captions, and of pairs of captions, beyond "
        f"the 5% and 95% quantiles of people's own distances{f', and {by_wording}' * has_wording}.{distinguished}",
        "Captions unlike people's are farther from the references than 19 of 20 human captions, ordinary ones nearer "
        "than 19 of 20, and near-duplicates are pairs that are nearer to each other than 19 of 20 pairs of human "
        "captions; people give 5% of each.",
        f"Two systems differ if the rows' differences of both gaps do, by a joint sign-flip test{adjusted}, or a share "
        f"{'or the wording gap ' * has_wording}does; then one has fewer faults if its share of captions unlike "
        f"people's{', or of odd wording,' * has_wording} is smaller, and is more like people "
        "if another share of it is nearer to people's 5%, each by a paired test, adjusted over all shares of such "
        "pairs.",
    ]
    return sentences if n_pairs else sentences[:2]
