"""The result of a comparison in sentences and tables.

Of systems beside people a line each, and one for each pair; the summary of every pair by every metric; tables; and a
paragraph on the methods.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

import manycaps.comparison.sentences as sentences
from manycaps.catalog.modules import ROW_VALUES, SET_MODULES, RowValue, module_of
from manycaps.comparison.compare_options import ORDERS
from manycaps.comparison.groups import letters_of_systems
from manycaps.comparison.parity import (
    FAULTS,
    LENGTH_GAP,
    ROWS,
    ComparedParity,
    ParityPair,
    ShareTest,
    copies_references,
)
from manycaps.comparison.read import SystemRow, UnsupportedSentence
from manycaps.comparison.sentences import NOUNS, TERMS, Share, as_list, percent
from manycaps.comparison.table_terms import EXCESS, GROUP, MOST_MARKED, P_PEOPLE
from manycaps.comparison.test import AgainstPeople, ComparedMetric, ComparedPair, Comparison
from manycaps.files.result_tables import (
    LETTERS,
    Cell,
    Table,
    as_digits,
    as_interval,
    column_form,
    number_cell,
    write_table,
)
from manycaps.kit.module import VERSION
from manycaps.kit.paired_tests import MOST_EXACT_CLUSTERS, PairedTest
from manycaps.kit.parity_faults import FAULTS as KINDS_OF_FAULTS
from manycaps.kit.parity_power import CONFIDENCE_LEVEL, LEVEL, POWER
from manycaps.kit.parity_tails import TAIL
from manycaps.kit.parity_words import (
    DIRECTIONS,
    LEAST_LENGTH_RATIO,
    clear_phrases,
    format_p_value,
    gap_text,
    is_above_people,
    p_value_digits,
    share_text,
)
from manycaps.kit.rows import n_sharing_rows
from manycaps.kit.words_phrases import Phrase

# Columns of a terminal.
WIDTH = 100

# Captions of each system, and pairs of them, that are shown, and lines of them in a terminal.
MOST_EXAMPLES, MOST_LINES = 20, 3

# Letters of a caption that a terminal shows.
MOST_LETTERS = 35

# Shares of the table that are no faults. A terminal leaves the last one out.
LIKENESS_COLUMNS = ("ordinary_share", "formulaic_share", "near_duplicate_share", "spread_share")

# What the columns are about. Where wording alone is compared, odd wording stands in the place of faults.
LEGEND = (
    "faults: unsupported, omitted, oddly worded and repeated beyond people's rates, which read 0; a low number says "
    "that texts are not worse than people's, not that they are alike."
)
WORDING_ALONE = (
    "Wording alone is compared: meaning takes two references in every row. odd wording: sentences less predictable "
    "than 19 of 20 human ones (people 5%); fewer are better."
)

# Titles that a terminal writes in two lines.
TWO_LINES = {"rows to detect": "rows to\ndetect", "predictable wording": "predictable\nwording"}
TWO_LINES |= {
    "near-duplicates": "near-\nduplicates",
    "words per text": "words\nper text",
    "odd wording": "odd\nwording",
}

# Phrases that are named of a system: used more often than by people, and less often.
MOST_OVERUSED, MOST_UNDERUSED = 3, 1


# A table of what is not known.
NOTHING = Table("", [], [])

# A system as `ComparedParity` has it.
System = Mapping[str, Any]

# By its key what a metric compares.
VALUES = {value.key: value for value in ROW_VALUES}


def has_meaning(parity: ComparedParity) -> bool:
    """Say whether captions are compared by their meaning, and not by their wording alone."""
    return all("unlike_people_share" in system["per_row"] for system in parity.systems.values())


def has_wording(parity: ComparedParity) -> bool:
    """Say whether the wording of all systems is compared."""
    return all("odd_wording_share" in system["per_row"] for system in parity.systems.values())


def faults(parity: ComparedParity) -> str:
    """Return the key of the faults: of all kinds, or of odd wording where wording alone is compared."""
    return FAULTS if has_meaning(parity) else "odd_wording_share"


def unlikeness(system: System, key: str) -> float:
    """Say how bad a value is: faults, the distance of another share from people's, or minus the rows."""
    value = float(system[key])
    return value if key == FAULTS or key in KINDS_OF_FAULTS else -value if key == ROWS else abs(value - TAIL)


def in_order(parity: ComparedParity, order: str = "") -> list[str]:
    """Return the systems as they are printed: as they were given, or sorted by faults or by likeness alone.

    The fewest faults first, or the most rows after which they are distinguished from people; there, ties by p.
    """

    def key(name: str) -> tuple[float, float]:
        system = parity.systems[name]
        if order == ORDERS[0]:
            return float(np.nan_to_num(unlikeness(system, faults(parity)), nan=math.inf)), 0.0
        return unlikeness(system, ROWS), -float(np.nan_to_num(system["human_parity_p_value"], nan=2.0))

    return sorted(parity.systems, key=key) if order else list(parity.systems)


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


def legend_of(parity: ComparedParity) -> str:
    """Say what the columns of the answer are about."""
    if not has_meaning(parity):
        return WORDING_ALONE
    # Of texts that are too long, the sentence about the system says why wording is not measured.
    if has_wording(parity) or any(system["are_too_long"] for system in parity.systems.values()):
        return LEGEND
    return f"{LEGEND} {sentences.too_few_rows_for_wording()}"


def system_phrases(system: System, width: int | None = None) -> str:
    """Name the phrases in which a system differs from people, where its verdict allows; may be empty."""
    is_alike = not system["adjusted_p_value"] <= LEVEL
    named = clear_phrases(system["phrases"]) if is_alike else system["phrases"]
    return phrase_line([Phrase(**phrase) for phrase in named], width)


def phrase_line(phrases: Sequence[Phrase], width: int | None = None) -> str:
    """Name the phrases that a test finds, the largest differences first: as many as fit a width, or none.

    >>> shirt, begins = Phrase("shirt", False, False, 0.34, 0.01, 0.001), Phrase("a", True, False, 0.44, 0.09, 0.001)
    >>> phrase_line([begins, shirt])
    "Phrases that differ from people's: begins with 'a' (44% of captions, people 9%), 'shirt' (34%, 1%)."
    >>> phrase_line([begins, shirt, Phrase("there is", False, False, 0.0, 0.02, 0.01)], width=80)
    "Phrases that differ from people's: never 'there is' (people 2%)."
    """
    over = [phrase for phrase in phrases if phrase.share > phrase.share_of_people][:MOST_OVERUSED]
    under = [phrase for phrase in phrases if phrase.share < phrase.share_of_people][:MOST_UNDERUSED]
    for n_over in range(len(over), -1, -1):
        named = [
            f"{_phrase(phrase)} ({as_percent(phrase.share)}{', ' if i else ' of captions, people '}"
            f"{as_percent(phrase.share_of_people)})"
            for i, phrase in enumerate(over[:n_over])
        ]
        lacking = [
            f"never {_phrase(phrase)} (people {as_percent(phrase.share_of_people)})"
            if phrase.share == 0
            else f"seldom {_phrase(phrase)} ({as_percent(phrase.share)}, people {as_percent(phrase.share_of_people)})"
            for phrase in under
        ]
        line = sentences.phrases_that_differ("; ".join(filter(None, [", ".join(named), *lacking])))
        if (named or lacking) and (width is None or len(line) <= width):
            return line
    return ""


def _phrase(phrase: Phrase) -> str:
    """A phrase in quotes, with its place."""
    place = "begins with " * phrase.begins + "ends in " * phrase.ends
    return f"{'is ' if phrase.begins and phrase.ends else place}'{shorten(phrase.phrase, MOST_LETTERS)}'"


class Verdict(NamedTuple):
    """What is said of a system beside people: whole sentences, and briefly the numbers of some of them."""

    # By the name of its function in `sentences`.
    said: dict[str, str]
    # Shares and lengths in the words of the columns, as a terminal has them.
    brief: dict[str, str]


def verdict_of(system: System) -> Verdict:
    """Say how a system differs from people."""
    n_rows, p_value = int(system["n_rows"]), float(system["adjusted_p_value"])
    lacks_shares = math.isnan(system["tails_p_value"]) and "unlike_people_share" in system["per_row"]
    if n_rows < 2:
        return Verdict({"one_row": sentences.one_row()}, {})
    if math.isnan(p_value):
        return Verdict({"not_tested": sentences.not_tested()}, {})
    said = {}
    if p_value > LEVEL:
        if clear_phrases(system["phrases"]):
            said["no_difference_but_phrases"] = sentences.no_difference_but_phrases(p_value, n_rows)
        else:
            most = system.get("unsupported_share_ci_high", math.nan)
            said["no_difference_from_people"] = sentences.no_difference_from_people(p_value, n_rows, most)
    else:
        said["differs_from_people"] = sentences.differs_from_people(p_value, n_rows)
    verdict = Verdict(said, {})
    if p_value <= LEVEL:
        _say_faults(system, verdict)
    if is_above_people(system, "copied_share"):
        _say_share(system, verdict, "copied_share", "copied")
    if p_value <= LEVEL:
        _say_likeness(system, verdict)
        if verdict.said.keys() <= {"differs_from_people", "copied"}:
            how = _directions(system)
            if how:
                said["differs_by_gaps"] = sentences.differs_by_gaps(how)
    if system["are_too_long"]:
        said["too_long_to_compare"] = sentences.too_long_to_compare()
    if lacks_shares:
        said["too_few_rows_for_shares"] = sentences.too_few_rows_for_shares()
    return verdict


def _say_faults(system: System, verdict: Verdict) -> None:
    """Add the kinds of faults of which a system has more than people, and its length."""
    n_known = sum(not math.isnan(system.get(kind, math.nan)) for kind in KINDS_OF_FAULTS)
    for key in KINDS_OF_FAULTS:
        p_value = system.get(key.replace("_share", "_p_value"), math.nan) * n_known
        share = _share(system, key)
        if p_value <= LEVEL and share.low > share.people:
            _say_share(system, verdict, key, key.removesuffix("_share"))
    words, people, low, high = _length(system)
    differ = people > 0 and max(words, people) >= LEAST_LENGTH_RATIO * min(words, people)
    if differ and system.get("length_p_value", math.nan) <= LEVEL and not low <= people <= high:
        verdict.said["other_length"] = sentences.other_length(words, people)
        verdict.brief["other_length"] = f"{sentences.times_as_long(words / people)} people's"


def _say_likeness(system: System, verdict: Verdict) -> None:
    """Add the shares that are no faults and lie above people's."""
    copied = system["copied_share"] if "copied" in verdict.said else 0.0
    shown = [
        ("ordinary_share", "generic", system["ordinary_share_ci_low"] - copied > TAIL),
        ("formulaic_share", "predictable_wording", is_above_people(system, "formulaic_share")),
        ("near_duplicate_share", "near_duplicates", is_above_people(system, "near_duplicate_share")),
        # Captions far from the references lie far apart, too: then that has been said.
        ("spread_share", "spread_pairs", "unsupported" not in verdict.said and is_above_people(system, "spread_share")),
    ]
    for key, name, is_shown in shown:
        if is_shown:
            _say_share(system, verdict, key, name)


def _say_share(system: System, verdict: Verdict, key: str, name: str) -> None:
    """Add the sentence of a share, and its number in the words of the column."""
    share = _share(system, key)
    verdict.said[name] = getattr(sentences, name)(share)
    verdict.brief[name] = f"{percent(share.value)} {TERMS[key]}"


def _share(system: System, key: str) -> Share:
    """A share with its interval and people's."""
    value, low, high = (float(system.get(f"{key}{end}", math.nan)) for end in ("", "_ci_low", "_ci_high"))
    return Share(value, low, high, float(system.get(f"{key}_of_people", TAIL)))


def _length(system: System) -> tuple[float, float, float, float]:
    """Words per text, people's, and the ends of the interval of the former: people's and the gap's."""
    words, people = (float(system.get(f"words_per_text{end}", math.nan)) for end in ("", "_of_people"))
    low, high = (people + float(system.get(f"{LENGTH_GAP}_ci_{end}", math.nan)) for end in ("low", "high"))
    return words, people, low, high


def _directions(system: System) -> str:
    """In which direction means differ: by the gaps that are significant by themselves, else by both; may be empty."""
    gaps = [gap for gap in DIRECTIONS if not math.isnan(system.get(gap, math.nan))]
    keys = {gap: "wording_p_value" if gap == "wording_gap" else f"{gap}_p_value" for gap in gaps}
    clear = [gap for gap, key in keys.items() if system.get(key, math.nan) <= LEVEL]
    named = clear or [gap for gap in gaps if gap != "wording_gap"] or gaps
    listed = [f"{DIRECTIONS[g][system[g] > 0]} ({g.replace('_', ' ')} {gap_text(system, g)})" for g in named]
    return as_list(listed) if listed else ""


def screen_line(name: str, system: System) -> str:
    """Say briefly how a system differs from people: the numbers without intervals, which the table has."""
    verdict = verdict_of(system)
    spoken = [sentence for kind, sentence in verdict.said.items() if kind not in verdict.brief]
    if verdict.brief:
        spoken.insert(1, f"{', '.join(verdict.brief.values())}.")
    return f"{name}: {' '.join(spoken)}"


def system_line(parity: ComparedParity, name: str) -> str:
    """Say in one line how a system stands beside people."""
    system = parity.systems[name]
    spoken = [*verdict_of(system).said.values(), system_phrases(system), _within(parity, name)]
    return f"{name}: {' '.join(filter(None, spoken))}"


def _within(parity: ComparedParity, name: str) -> str:
    """Whether the gaps lie within the margin; empty without one."""
    if parity.margin is None:
        return ""
    system = parity.systems[name]
    say_it = sentences.within_margin if system["within_margin"] else sentences.not_within_margin
    return say_it(parity.margin, _gaps_named(has_diversity=not math.isnan(system["diversity_gap"])))


def _gaps_named(*, has_diversity: bool) -> str:
    """Name the gaps that there are."""
    return "both gaps" if has_diversity else "the fidelity gap"


def pair_line(systems: Mapping[str, System], pair: ParityPair) -> str:
    """Say which of two systems has more faults, and which is closer to people in what else."""
    names, p_value = (pair.first, pair.second), pair.adjusted_p_value
    if pair.kind == "copies":
        return sentences.not_compared(*names, pair.copying)
    if pair.kind == "alike":
        return " ".join(filter(None, [_no_difference(pair), _margin(pair)]))
    closer = [
        sentences.is_closer_to_people(name, [_closer(share, pair) for share in shares])
        for name in names
        if (shares := [share for share in pair.shares if share.key in pair.closer_to_people[name]])
    ]
    if pair.more_faults:
        fewer = pair.second if pair.more_faults == pair.first else pair.first
        tested = next(share for share in pair.shares if share.key == FAULTS)
        share, other = (_share(systems[name], tested.kind) for name in (pair.more_faults, fewer))
        kind, p_faults = TERMS[tested.kind], tested.p_value
        spoken = [sentences.has_more_faults(pair.more_faults, fewer, kind, share, other.value, p_faults)]
    elif any(share.key == FAULTS for share in pair.shares):
        spoken = [sentences.differ_without_more_faults(*names, p_value)]
    else:
        spoken = [sentences.differ(*names, p_value)]
    if not pair.more_faults and not closer:
        closer = _other_differences(pair)
    return " ".join(filter(None, [*spoken, *closer, _margin(pair)]))


def _closer(share: ShareTest, pair: ParityPair) -> tuple[str, float, float]:
    """A share by its noun, the better system's value first."""
    values = (share.first, share.second) if share.better == pair.first else (share.second, share.first)
    return NOUNS[share.key], *values


def _other_differences(pair: ParityPair) -> list[str]:
    """How two systems differ where no share says which is better: by gaps whose intervals exclude 0, else by shares."""
    words = {
        "fidelity_gap": "nearer to the references",
        "diversity_gap": "less varied",
        "wording_gap": "less predictable in wording",
        LENGTH_GAP: "shorter",
    }
    clear = [gap for gap in pair.gaps if not gap.low <= 0 <= gap.high]
    undecided = [share for share in pair.shares if share.key != FAULTS and share.p_value <= LEVEL]
    if undecided and not clear:
        return [sentences.differ_on_both_sides(NOUNS[s.key], s.first, s.second) for s in undecided]
    named = clear or [gap for gap in pair.gaps if gap.key in ("fidelity_gap", "diversity_gap")] or pair.gaps
    said: dict[str, list[str]] = {}
    for gap in named:
        said.setdefault(pair.first if gap.difference < 0 else pair.second, []).append(
            f"{words[gap.key]} ({gap.key.replace('_', ' ')} {gap.first:.2g} and {gap.second:.2g}, difference "
            f"{gap.difference:.2g} [{gap.low:.2g}, {gap.high:.2g}])"
        )
    how = as_list([f"{name} is {as_list(gaps)}" for name, gaps in said.items()])
    if not clear and len(named) > 1:
        return [sentences.differ_on_average_together(how)]
    return [sentences.differ_on_average(how)] if named else []


def _no_difference(pair: ParityPair) -> str:
    """That no difference is detected, and what would be, or that nothing can be."""
    names, p_value = (pair.first, pair.second), pair.adjusted_p_value
    if math.isinf(pair.detectable_gap) and not pair.least_rows:
        return sentences.too_few_draws_for_two(*names, p_value)
    if math.isinf(pair.detectable_gap):
        return sentences.too_few_rows_for_two(*names, p_value, pair.least_rows)
    effects = pair.detectable_wrong_captions, pair.detectable_wrong_rows, pair.detectable_gap
    if math.isnan(pair.detectable_gap):
        effects = math.nan, math.nan, math.nan
    return sentences.no_difference_of_two(*names, p_value, *effects)


def _margin(pair: ParityPair) -> str:
    if not pair.within_margin:
        return ""
    return sentences.equivalent(_gaps_named(has_diversity="diversity_gap" in [gap.key for gap in pair.gaps]))


def baseline_lines(parity: ComparedParity) -> list[str]:
    """Say in few sentences how many systems stand beside the baseline."""
    baseline = next(iter(parity.systems))
    said: dict[str, list[str]] = {}
    for pair in parity.pairs:
        if pair.second == baseline:
            kind = pair.kind
            if pair.kind in ("shares", "gaps"):
                kind = {pair.first: "more", baseline: "fewer", None: "differ"}[pair.more_faults]
            said.setdefault(kind, []).append(pair.first)
    say_it = {
        "more": sentences.more_faults_than_baseline,
        "fewer": sentences.baseline_has_more_faults,
        "differ": sentences.differ_from_baseline,
        "alike": sentences.no_difference_from_baseline,
        "copies": sentences.not_compared_with_baseline,
    }
    return [
        *(say_it[kind](said[kind], baseline) for kind in say_it if kind in said),
        sentences.all_pairs(len(parity.pairs)),
    ]


def as_rows_needed(result: Mapping[str, Any]) -> str:
    """Write the rows after which a system is distinguished from people, with the interval.

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
    after = [_interval_cell(as_rows_needed(system), system[ROWS], name in best) for name, system in systems.items()]
    columns += [("p", p_cells, Cell("")), ("rows to detect", after, Cell(""))]
    lengths = [_length(system) for system in systems.values()]
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


def as_percent(share: float) -> str:
    """Write a share in percent, rounded as in sentences and the table.

    >>> as_percent(0.126)
    '13%'
    """
    return f"{100 * share:.0f}%"


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
        f"{shorten(shown.row.id)}: {_quote(shown.captions[0])}; people: {_quote((shown.row.references or [''])[0])}"
        for shown in unlike[:MOST_LINES]
    ]
    if unsupported:
        lines = [
            f"{shorten(row_id)}: {_quote(each.text)}; nearest: {_quote(each.nearest)}"
            for row_id, each in unsupported[:MOST_LINES]
        ]
    for pair in alike[:1] if "near_duplicates" in said else ():
        first, second = map(_quote, pair.captions)
        both = f"{first} twice" if first == second else f"{first} and {second}"
        # The pair comes first, unless the captions themselves are a reason for what is said.
        lines.insert(len(lines) if "unsupported" in said else 0, f"{shorten(pair.row.id)}: {both}")
    phrases = system_phrases(system, WIDTH - 2)
    return [phrases, *lines] if phrases else lines


def _quote(caption: str) -> str:
    return f'"{shorten(caption, MOST_LETTERS)}"'


def shorten(text: str, n: int = 12) -> str:
    """Return the beginning of a text, at most n letters, on one line.

    >>> shorten("beach"), shorten("a_very_long_name.jpg")
    ('beach', 'a_very_long…')
    """
    text = " ".join(text.split())
    return text if len(text) <= n else f"{text[: n - 1]}…"


def parity_methods(parity: ComparedParity, n_pairs: int) -> list[str]:
    """Describe the test against people, and the test of pairs, for a paper."""
    adjusted = f", adjusted by Holm's method over the {n_pairs} pairs" if n_pairs > 1 else ""
    holm = " p-values of several systems are adjusted by Holm's method." if len(parity.systems) > 1 else ""
    is_worded = has_wording(parity)
    weights = "four tests with 0.72, 0.18, 0.05 and 0.05" if is_worded else "two tests with 0.8 and 0.2"
    by_wording = (
        "the wording gap, the mean SLOR (Pauls and Klein 2012) by a trigram model of people's captions of other rows, "
        "less the mean SLOR of people's captions, in closed form under random splits of every row"
    )
    distinguished = (
        f"{holm} Rows to detect are those with which the difference is found in {POWER:.0%} of the cases at a level of "
        "5%."
    )
    if not has_meaning(parity):
        said = [
            f"The wording of captions was compared with people's by {by_wording}.{distinguished}",
            "Two systems differ if their wording gaps do, or the shares of captions beyond the 95% quantile of "
            f"people's SLOR, by paired tests with half of the level each{adjusted}.",
        ]
        return said if n_pairs else said[:1]
    said = [
        f"Captions were compared with people's by the distance {parity.distance}, by {weights} of "
        "the level (Bonferroni): the fidelity and the diversity gap of all rows jointly, in closed form under random "
        "splits of every row (Chen and Friedman 2017), and the shares of captions, and of pairs of captions, beyond "
        f"the 5% and 95% quantiles of people's own distances{f', {by_wording}, and the length gap' * is_worded}."
        f"{distinguished}",
        "Faults are the sum of what lies beyond people's rates of unsupported sentences (farther from the references "
        "than 19 of 20 human sentences), omissions (texts that leave out more of what people say than 19 of 20), "
        "oddly worded sentences (odder than 19 of 20) and repetitions. Generic captions are nearer to the "
        "references than 19 of 20 human ones, and near-duplicates are pairs nearer to each other than 19 of 20 pairs "
        "of human captions.",
        f"Two systems differ if the rows' differences of both gaps do, by a joint sign-flip test{adjusted}, or a share "
        f"{'or the wording gap ' * is_worded}does; one has more faults if it has more than people and more than the "
        "other of one kind, by a test each (intersection-union), with Bonferroni's factor for the kinds and the "
        "direction and Holm's over the pairs; and one is closer to people in another share if that is nearer to "
        "people's 5%, by a paired test, adjusted over all shares of such pairs.",
    ]
    return said if n_pairs else said[:2]


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


def comparison_methods(comparison: Comparison) -> str:
    """Describe the comparison in a paragraph for a paper."""
    n_pairs = len(comparison.systems) * (len(comparison.systems) - 1) // 2
    n_rows, n_clusters = comparison.n_rows, comparison.n_clusters
    grouped = f" in {n_clusters:,} mutually independent clusters" if n_clusters < n_rows else ""
    unit = "cluster" if grouped else "row"
    is_sampled = any(not pair.test.is_exact for metric in comparison.metrics.values() for pair in metric.pairs)
    flips = f"{comparison.n_resamples:,} random sign flips" if is_sampled else "all sign flips"
    exact = f" (all where at most {MOST_EXACT_CLUSTERS} {unit}s differ)" if is_sampled else ""
    adjusted = f"are adjusted by Holm's method over the {n_pairs} pairs of systems within each metric"
    if n_pairs == 1:
        adjusted = "need no adjustment, as two systems make a single pair"
    verb = "compared" if n_pairs else "measured"
    systems = " and ".join(filter(None, (", ".join(comparison.systems[:-1]), comparison.systems[-1])))
    said = [
        f"We {verb} {systems} on {n_rows:,} {'rows' if n_rows > 1 else 'row'}{grouped}, with manycaps {VERSION} "
        f"(seed {comparison.seed}).",
        f"Differences of two systems are means over rows, with two-sided paired tests by {flips} of {unit}s{exact}; "
        f"ties count. Their {CONFIDENCE_LEVEL:.0%} intervals hold the differences that the test does not reject.",
        f"p-values {adjusted}; {n_pairs * len(comparison.metrics)} tests were made for {len(comparison.metrics)} "
        f"{'metrics' if len(comparison.metrics) > 1 else 'metric'}, at the level of {LEVEL:.0%}.",
        f"Detectable differences are found with a power of at least {POWER:.0%} after the adjustment.",
    ]
    if not comparison.metrics or n_pairs == 0:
        said = said[:1]
    if comparison.metrics:
        said.append(
            f"{CONFIDENCE_LEVEL:.0%} intervals of a system's means are Student's over {unit}s, transformed to remove "
            "skewness (Hall 1992)."
        )
    if comparison.human_parity is not None:
        said[1:1] = parity_methods(comparison.human_parity, n_pairs)
    if any(VALUES[key].is_excess for key in comparison.metrics):
        said.append(
            "Metrics of two sets of captions are given as their excess over the mean of all splits of an image's "
            "captions into sets of the same sizes, which is around 0 for human captions."
        )
    if n_pairs and any(VALUES[key].best == "zero" for key in comparison.metrics):
        said.append("One of two systems is called nearer only if their difference and sum are significant.")
    if not comparison.shown.has_equal_sizes:
        said.append(UNEQUAL_SIZES)
    if comparison.against_people:
        said.append(
            "The mean over rows is tested against people "
            + ("by the spread of the clusters." if grouped else "under random splits of every row's captions.")
        )
    if comparison.exchangeable:
        titles = " and ".join(dict.fromkeys(SET_MODULES[pair.module].title for pair in comparison.exchangeable))
        said.append(
            f"Whether the captions of two systems are exchangeable was tested by {titles} with the captions of one of "
            "them in place of the references."
        )
    return " ".join(said)


@dataclass(frozen=True, kw_only=True)
class Words:
    """What is said of a comparison: all that rendering needs besides the result."""

    # What a reader should know before the numbers, and behind the answer.
    notes: Sequence[str]
    behind: Sequence[str]
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
        return [*self.notes, *self.systems.values(), *self.pairs, *self.metrics, *self.behind]

    @property
    def metric_tables(self) -> list[Table]:
        """The tables of metrics that have rows: what the answer on the screen does not say."""
        return [table for name, table in self.tables.items() if table.rows and name not in ("answer", "correlations")]

    @property
    def all_tables(self) -> list[Table]:
        """The tables that have rows: the systems beside people, and the metrics."""
        return [*(table for table in [self.tables["answer"]] if table.rows), *self.metric_tables]


def say(comparison: Comparison, *, are_asked_for: bool = False) -> Words:
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
        behind=shared_rows(comparison),
        metrics=compare_with_baseline(comparison) if lacks_meaning else [],
        asked=[metric_line(*each) for each in comparison.metrics.items()]
        if are_asked_for and not lacks_meaning
        else [],
        legend="" if parity is None else legend_of(parity),
        systems={} if parity is None else {name: system_line(parity, name) for name in systems},
        brief={}
        if parity is None
        else {n: f"{screen_line(n, systems[n])} {_within(parity, n)}".rstrip() for n in systems},
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
