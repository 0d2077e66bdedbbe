"""A line on each system beside people, and one on each pair of systems: which sentences hold, and in which order."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from manycaps.comparison import sentences
from manycaps.comparison.compare_options import ORDERS
from manycaps.comparison.parity import ComparedParity
from manycaps.comparison.parity_pairs import ParityPair, ShareTest
from manycaps.comparison.sentences import NOUNS, TERMS, Share, as_list
from manycaps.comparison.system_parity import FAULTS, LENGTH_GAP, ROWS
from manycaps.kit.parity_faults import FAULTS as KINDS_OF_FAULTS
from manycaps.kit.parity_gaps import LEVEL
from manycaps.kit.parity_tails import TAIL
from manycaps.kit.parity_words import DIRECTIONS, LEAST_LENGTH_RATIO, clear_phrases, gap_text, is_above_people
from manycaps.kit.words_tests import Phrase

# Columns of a terminal.
WIDTH = 100


# Letters of a caption that a terminal shows.
MOST_LETTERS = 35


# What the columns are about. Where wording alone is compared, odd wording stands in the place of faults.
LEGEND = (
    "faults: unsupported, omitted, oddly worded and repeated beyond people's rates, which read 0; a low number says "
    "that texts are not worse than people's, not that they are alike."
)


WORDING_ALONE = (
    "Wording alone is compared: meaning takes two references in every row. odd wording: sentences less predictable "
    "than 19 of 20 human ones (people 5%); fewer are better."
)


# Phrases that are named of a system: used more often than by people, and less often.
MOST_OVERUSED, MOST_UNDERUSED = 3, 1


# A system as `ComparedParity` has it.
System = Mapping[str, Any]


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
    words, people, low, high = text_lengths(system)
    differ = people > 0 and max(words, people) >= LEAST_LENGTH_RATIO * min(words, people)
    if differ and system.get("length_p_value", math.nan) <= LEVEL and not low <= people <= high:
        verdict.said["other_length"] = sentences.other_length(words, people)
        verdict.brief["other_length"] = sentences.brief_length(words, people)


def _say_likeness(system: System, verdict: Verdict) -> None:
    """Add the shares that are no faults and lie above people's."""
    copied = system["copied_share"] if "copied" in verdict.said else 0.0
    shown = [
        ("generic_share", "generic", system["generic_share_ci_low"] - copied > TAIL),
        ("predictable_share", "predictable_wording", is_above_people(system, "predictable_share")),
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
    verdict.brief[name] = sentences.brief_share(key, share.value)


def _share(system: System, key: str) -> Share:
    """A share with its interval and people's."""
    value, low, high = (float(system.get(f"{key}{end}", math.nan)) for end in ("", "_ci_low", "_ci_high"))
    return Share(value, low, high, float(system.get(f"{key}_of_people", TAIL)))


def text_lengths(system: System) -> tuple[float, float, float, float]:
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
    spoken = [*verdict_of(system).said.values(), system_phrases(system), margin_sentence(parity, name)]
    return f"{name}: {' '.join(filter(None, spoken))}"


def margin_sentence(parity: ComparedParity, name: str) -> str:
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


def as_rows_to_detect(result: Mapping[str, Any]) -> str:
    """Write the rows that detect a difference from people, with the interval.

    >>> low, high = {"rows_to_detect_ci_low": 11.0}, {"rows_to_detect_ci_high": 79.0}
    >>> as_rows_to_detect({"rows_to_detect": 23.0, **low, **high, "n_rows": 60})
    '23 [11, 79]'
    >>> inf = math.inf
    >>> low, high = {"rows_to_detect_ci_low": 310.0}, {"rows_to_detect_ci_high": inf}
    >>> as_rows_to_detect({"rows_to_detect": inf, **low, **high, "n_rows": 200})
    'at least 310'
    """
    rows, low, high = (result.get(f"rows_to_detect{end}", math.nan) for end in ("", "_ci_low", "_ci_high"))
    if math.isnan(rows):
        return "not defined"
    if math.isinf(high) or math.isinf(rows):
        return f"at least {low:,.0f}" if math.isfinite(low) else "none found"
    return f"{rows:,.0f}" if math.isnan(low) else f"{rows:,.0f} [{low:,.0f}, {high:,.0f}]"


def quoted(caption: str) -> str:
    """A caption in quotes, shortened as a terminal has it."""
    return f'"{shorten(caption, MOST_LETTERS)}"'


def shorten(text: str, n: int = 12) -> str:
    """Return the beginning of a text, at most n letters, on one line.

    >>> shorten("beach"), shorten("a_very_long_name.jpg")
    ('beach', 'a_very_long…')
    """
    text = " ".join(text.split())
    return text if len(text) <= n else f"{text[: n - 1]}…"


def as_percent(share: float) -> str:
    """Write a share in percent, rounded as in sentences and the table.

    >>> as_percent(0.126)
    '13%'
    """
    return f"{100 * share:.0f}%"
