"""Every verdict of `manycaps compare`, each a function of numbers and names that can be read as the sentence it makes.

Terminal, page, tables and notebooks say these. `SENTENCES` lists them, each with its condition and an example.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from manycaps.kit.parity_gaps import POWER
from manycaps.kit.parity_words import format_p_value

# What columns, sentences and pages call each share, the kinds of faults first.
TERMS: Mapping[str, str] = {
    "unsupported_share": "unsupported",
    "omitted_share": "omitted",
    "odd_wording_share": "odd wording",
    "repeated_share": "repeated",
    "generic_share": "generic",
    "predictable_share": "predictable wording",
    "near_duplicate_share": "near-duplicates",
    "spread_share": "spread pairs",
    "copied_share": "copied",
}

# What the shares that are no faults are shares of, in sentences about two systems.
NOUNS: Mapping[str, str] = {
    "generic_share": "generic captions",
    "predictable_share": "predictable wording",
    "near_duplicate_share": "near-duplicates",
}


class Share(NamedTuple):
    """A share, 0 to 1, with its interval, whose ends are NaN where there is none, and people's."""

    value: float
    low: float = math.nan
    high: float = math.nan
    people: float = 0.05

    def __str__(self) -> str:
        """Write the share in percent, the ends of the interval rounded outwards.

        >>> str(Share(0.127, 0.019, 0.301)), str(Share(0.004))
        ('13% [1, 31]', '0.4%')
        """
        if math.isnan(self.low):
            return percent(self.value)
        return f"{percent(self.value)} [{math.floor(100 * self.low + 1e-9)}, {math.ceil(100 * self.high - 1e-9)}]"


class Listed(NamedTuple):
    """A sentence in the list of the documentation."""

    about: str
    condition: str
    example: str


# All sentences, by the names of their functions.
SENTENCES: dict[str, Listed] = {}

Said = Callable[..., str]


def said_when(about: str, condition: str, *example: Any) -> Callable[[Said], Said]:
    """Put a sentence into the list, with its condition and what it says of an example."""

    def add(function: Said) -> Said:
        SENTENCES[function.__name__] = Listed(about, condition, function(*example))
        return function

    return add


def percent(share: float) -> str:
    """Write a share in percent; a small one does not read as none.

    >>> percent(0.126), percent(0.004), percent(0.0)
    ('13%', '0.4%', '0%')
    """
    return f"{100 * share:.1f}%" if 0.0005 <= share < 0.0095 else f"{100 * share:.0f}%"


def as_list(names: Sequence[str]) -> str:
    """Join names as a sentence does.

    >>> as_list(["a"]), as_list(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def times_as_long(ratio: float) -> str:
    """Say how many times as long texts are.

    >>> [times_as_long(ratio) for ratio in (2.04, 1.6, 1.04, 8.2)]
    ['twice as long as', '1.6 times as long as', 'slightly longer than', '8 times as long as']
    >>> [times_as_long(ratio) for ratio in (0.97, 0.7, 0.5)]
    ['slightly shorter than', '0.7 times as long as', 'half as long as']
    """
    if 1.95 <= ratio < 2.05:
        return "twice as long as"
    if 0.475 <= ratio < 0.525:
        return "half as long as"
    if 0.95 < ratio < 1.05:
        return "slightly longer than" if ratio > 1 else "slightly shorter than"
    return f"{ratio:.0f} times as long as" if ratio >= 5 else f"{ratio:.2g} times as long as"


# --------------------------------------------------------------------------------------------------------------------
# A system and people.

SYSTEM, PAIR, SCREEN = "A system and people", "Two systems", "The screen, where there are more pairs than fit"

GATE = "p of the system, after Holm over the systems, is at most 0.05, and "
OF_KIND = (
    "p of this kind of fault, times the number of kinds, is at most 0.05 and the interval of the share lies above "
    "people's rate"
)


@said_when(SYSTEM, "p is above 0.05 after Holm over the systems", 0.31, 200, 0.08)
def no_difference_from_people(p_value: float, n_rows: int, most_unsupported: float) -> str:
    """Say that no test finds a difference, and what the upper end of an interval leaves open."""
    p_text = format_p_value(p_value, n_rows)
    if math.isnan(most_unsupported):
        return f"No difference from people detected ({p_text})."
    at_most = math.ceil(100 * most_unsupported - 1e-9)
    return f"No difference from people detected ({p_text}); at most {at_most}% of its sentences are unsupported."


@said_when(SYSTEM, "the same, and the corrected test of some phrase has p at most 0.01", 0.31, 200)
def no_difference_but_phrases(p_value: float, n_rows: int) -> str:
    """Say that the joint test finds no difference, and that tests of single phrases do."""
    return f"No difference from people detected ({format_p_value(p_value, n_rows)}), but single phrases differ."


@said_when(SYSTEM, "no test can be made: all captions of a row are equally far apart, or there are too few rows")
def not_tested() -> str:
    """Say that nothing was tested."""
    return "Not tested: all captions of a row are equally far apart, or there are too few rows."


@said_when(SYSTEM, "a single row")
def one_row() -> str:
    """Say that nothing is tested with one row."""
    return "One row: no interval and no test of shares."


@said_when(SYSTEM, "fewer than 10 rows, or 20 with two references")
def too_few_rows_for_shares() -> str:
    """Say that only gaps were tested."""
    return "Too few rows to test the shares."


@said_when(SYSTEM, "fewer than 10 rows with captions")
def too_few_rows_for_wording() -> str:
    """Say that wording is not measured."""
    return "Too few rows to measure odd wording, or no captions."


@said_when(SYSTEM, "p is at most 0.05 after Holm over the systems", 0.0003, 200)
def differs_from_people(p_value: float, n_rows: int) -> str:
    """Say that a test finds a difference."""
    return f"Differs from people ({format_p_value(p_value, n_rows)})."


@said_when(SYSTEM, f"{GATE}{OF_KIND}", Share(0.22, 0.12, 0.35))
def unsupported(share: Share) -> str:
    """Say how many sentences nobody said anything like."""
    return (
        f"{share} of its sentences are unsupported: farther from the references than 19 of 20 human sentences "
        f"(people {percent(share.people)})."
    )


@said_when(SYSTEM, f"{GATE}{OF_KIND}", Share(0.3, 0.2, 0.41))
def omitted(share: Share) -> str:
    """Say how many texts leave out what people say."""
    return (
        f"{share} of its texts have omissions: they leave out more of what people say than 19 of 20 human texts "
        f"(people {percent(share.people)})."
    )


@said_when(SYSTEM, f"{GATE}{OF_KIND}", Share(0.14, 0.09, 0.2))
def odd_wording(share: Share) -> str:
    """Say how many sentences are worded as people would not."""
    return (
        f"{share} of its sentences have odd wording: odder than 19 of 20 human sentences "
        f"(people {percent(share.people)})."
    )


@said_when(SYSTEM, f"{GATE}{OF_KIND}", Share(0.27, 0.2, 0.35, 0.03))
def repeated(share: Share) -> str:
    """Say how many texts repeat themselves."""
    return f"{share} of its texts repeat words or sentences (people {percent(share.people)})."


@said_when(
    SYSTEM, "most of its sentences are more than twice as long as the longest of people's, so that no threshold holds"
)
def too_long_to_compare() -> str:
    """Say that no threshold of people's sentences holds."""
    return (
        "Most of its sentences are more than twice as long as the longest of people's: unsupported sentences and odd "
        "wording cannot be measured."
    )


@said_when(
    SYSTEM, f"{GATE}so is p of the length gap, whose interval leaves 0 out, and the ratio is 1.1 or more", 22.4, 11.1
)
def other_length(words: float, people: float) -> str:
    """Say how long texts are beside people's."""
    return f"Its texts are {times_as_long(words / people)} people's ({words:.3g} and {people:.3g} words)."


def brief_length(words: float, people: float) -> str:
    """Say how long texts are in a list of a system's numbers, as a terminal has it.

    >>> brief_length(62.4, 39.0)
    "1.6 times as long as people's"
    """
    return f"{times_as_long(words / people)} people's"


def brief_share(key: str, share: float) -> str:
    """Name a share as a terminal does, among other numbers of a system.

    >>> brief_share("generic_share", 0.32)
    '32% generic'
    """
    return f"{percent(share)} {TERMS[key]}"


@said_when(
    SYSTEM,
    f"{GATE}the interval of the share lies above 5% even without the captions that also occur among the references",
    Share(0.32, 0.29, 0.35),
)
def generic(share: Share) -> str:
    """Say how many captions fit what everybody says."""
    return (
        f"{share} of its captions are generic: nearer to the references than 19 of 20 human ones "
        f"(people {percent(share.people)})."
    )


@said_when(SYSTEM, f"{GATE}the interval of the share lies above 5%", Share(0.4, 0.3, 0.52))
def predictable_wording(share: Share) -> str:
    """Say how many captions are worded more predictably than people's."""
    return (
        f"{share} of its captions have predictable wording: more so than 19 of 20 human ones "
        f"(people {percent(share.people)})."
    )


@said_when(SYSTEM, f"{GATE}the interval of the share lies above 5%", Share(0.34, 0.27, 0.42))
def near_duplicates(share: Share) -> str:
    """Say how many pairs of captions say the same."""
    return (
        f"{share} of the pairs of its captions are near-duplicates: nearer to each other than 19 of 20 pairs of human "
        f"ones (people {percent(share.people)})."
    )


@said_when(
    SYSTEM, f"{GATE}the interval of the share lies above 5%, and unsupported is not said", Share(0.12, 0.08, 0.17)
)
def spread_pairs(share: Share) -> str:
    """Say that captions vary more than people's."""
    return (
        f"Its captions vary more than people's: {share} of their pairs are farther apart than 19 of 20 pairs of human "
        f"ones (people {percent(share.people)})."
    )


@said_when(SYSTEM, "whatever p is: the interval of the share lies above people's own share", Share(0.6, 0.5, 0.7, 0.01))
def copied(share: Share) -> str:
    """Say how many captions are also references."""
    return (
        f"{share} of its captions also occur among the references of their row (people {percent(share.people)}): "
        "copied, or very common ones."
    )


@said_when(
    SYSTEM,
    f"{GATE}no share or length says how: the gaps that are significant by themselves, else both",
    "farther from the references than people are from each other (fidelity gap 0.024 [0.017, 0.031])",
)
def differs_by_gaps(how: str) -> str:
    """Say in which direction the means differ."""
    return f"On average its captions are {how}."


@said_when(
    SYSTEM,
    "the difference of some phrase is significant, and so is p of the system",
    "'shirt' (34% of captions, people 1%)",
)
def phrases_that_differ(phrases: str) -> str:
    """Name phrases that a system uses more or less often than people."""
    return f"Phrases that differ from people's: {phrases}."


@said_when(SYSTEM, "--margin; the 90% intervals of all gaps lie within it", 0.02, "both gaps")
def within_margin(margin: float, gaps: str) -> str:
    """Say that a system is equivalent to people within a margin."""
    return f"Within {margin:g} of people in {gaps}."


@said_when(SYSTEM, "--margin; otherwise", 0.02, "both gaps")
def not_within_margin(margin: float, gaps: str) -> str:
    """Say that equivalence is not shown."""
    return f"Not shown to be within {margin:g} of people in {gaps}."


# --------------------------------------------------------------------------------------------------------------------
# Two systems.


@said_when(
    PAIR,
    "p of the pair is at most 0.05 after Holm over the pairs, and so is p of faults: of the named kind, the first has "
    "more than people (one test) and more than the second (another); both must hold, in one of the kinds (Bonferroni), "
    "in either direction (twice p), after Holm over the pairs",
    *("a", "b", "unsupported", Share(0.22), 0.06, 0.0004),
)
def has_more_faults(more: str, fewer: str, kind: str, share: Share, other: float, p_value: float) -> str:
    """Say which of two systems has more faults."""
    return (
        f"{more} has more faults than {fewer}: {kind} {percent(share.value)} and {percent(other)}, people "
        f"{percent(share.people)} ({format_p_value(p_value)})."
    )


@said_when(
    PAIR,
    "p of the pair is at most 0.05, and of a share that is no fault both the difference and the difference of the "
    "distances from people's share are significant after Holm over all shares of the pairs that differ",
    *("b", [("near-duplicates", 0.06, 0.34)]),
)
def is_closer_to_people(name: str, shares: Sequence[tuple[str, float, float]]) -> str:
    """Say in which shares a system is closer to people."""
    listed = as_list([f"{noun} ({percent(share)} and {percent(other)})" for noun, share, other in shares])
    return f"{name} is closer to people in {listed}; people 5%."


@said_when(PAIR, "p of the pair is at most 0.05 after Holm over the pairs, and p of faults is above", "a", "b", 0.003)
def differ_without_more_faults(first: str, second: str, p_value: float) -> str:
    """Say that two systems differ, and that neither is shown to have more faults."""
    return f"{first} and {second} differ ({format_p_value(p_value)}); neither is shown to have more faults."


@said_when(PAIR, "p of the pair is at most 0.05 after Holm over the pairs, and faults are not tested", "a", "b", 0.003)
def differ(first: str, second: str, p_value: float) -> str:
    """Say that two systems differ."""
    return f"{first} and {second} differ ({format_p_value(p_value)})."


@said_when(
    PAIR,
    "the same, and no single gap has an interval that leaves 0 out",
    "a is nearer to the references (fidelity gap -0.02 and 0.01, difference -0.03 [-0.07, 0.01]) and less varied "
    "(diversity gap 0.2 and 0.1, difference 0.1 [-0.02, 0.22])",
)
def differ_on_average_together(how: str) -> str:
    """Say in which means two systems differ together."""
    return f"On average neither gap by itself, but both together: {how}."


@said_when(
    PAIR,
    "p of the pair is at most 0.05, and neither faults nor another share say how",
    "a is nearer to the references (fidelity gap -0.02 and 0.01, difference -0.03 [-0.04, -0.02])",
)
def differ_on_average(how: str) -> str:
    """Say in which mean two systems differ."""
    return f"On average, {how}."


@said_when(
    PAIR,
    "p of the pair is at most 0.05, a share differs significantly, and its distance from people's does not",
    "generic captions",
    0.01,
    0.09,
)
def differ_on_both_sides(noun: str, first: float, second: float) -> str:
    """Say that two systems differ in a share, on either side of people's."""
    return f"They differ in {noun} ({percent(first)} and {percent(second)}, people 5%), about equally far from people."


@said_when(
    PAIR,
    "p of the pair is above 0.05 after Holm over the pairs; what would have been found with a power of 80%",
    *("a", "b", 0.31, 0.013, 0.042, 0.031),
)
def no_difference_of_two(
    first: str, second: str, p_value: float, wrong_captions: float, wrong_rows: float, gap: float
) -> str:
    """Say that no test finds a difference, and which one would have been found."""
    shares = {"wrong captions": wrong_captions, "rows of wrong captions": wrong_rows}
    if wrong_rows == wrong_captions:  # rows have one caption
        del shares["rows of wrong captions"]
    known = [f"{float(f'{100 * share:.2g}'):g}% more {noun}" for noun, share in shares.items() if math.isfinite(share)]
    if math.isfinite(gap):
        known.append(f"fidelity gaps that differ by {gap:.2g} in every row")
    beginning = f"{first} and {second}: no difference detected ({format_p_value(p_value)})"
    if not known:
        return f"{beginning}."
    effects = known[0] if len(known) == 1 else f"{', '.join(known[:-1])}, or {known[-1]}"
    return f"{beginning}; {effects} would be detected with {100 * POWER:.0f}% power."


@said_when(PAIR, "no p of so few rows can be at most 0.05 after Holm over the pairs", "a", "b", 0.25, 6)
def too_few_rows_for_two(first: str, second: str, p_value: float, least_rows: int) -> str:
    """Say that no pair can be told apart with so few rows."""
    return (
        f"{first} and {second}: no difference detected ({format_p_value(p_value)}); too few rows for any difference: "
        f"at least {least_rows} are needed."
    )


@said_when(PAIR, "--n-resamples is so small that no p can be at most 0.05 after Holm over the pairs", "a", "b", 0.25)
def too_few_draws_for_two(first: str, second: str, p_value: float) -> str:
    """Say that no pair can be told apart with so few sign flips."""
    return (
        f"{first} and {second}: no difference detected ({format_p_value(p_value)}); too few random sign flips "
        "(--n-resamples) for any difference."
    )


@said_when(
    PAIR,
    "more than a tenth of the captions of one, beyond people's, also occur among the references",
    *("a", "b", ["b"]),
)
def not_compared(first: str, second: str, copying: Sequence[str]) -> str:
    """Say that a system that copies references is compared with no other."""
    return f"{first} and {second} are not compared: captions of {as_list(copying)} also occur among the references."


@said_when(
    PAIR,
    "--margin; no difference of gaps or shares, and the 90% intervals of the differences lie within it",
    "both gaps",
)
def equivalent(gaps: str) -> str:
    """Say that two systems are equivalent within the margin."""
    return f"Equivalent within the margin in {gaps}."


# --------------------------------------------------------------------------------------------------------------------
# All systems and the baseline, on a screen with many pairs.


@said_when(SCREEN, "the sentence about more faults holds of each of them and the baseline", ["b", "c"], "a")
def more_faults_than_baseline(names: Sequence[str], baseline: str) -> str:
    """Name the systems with more faults than the baseline."""
    return f"More faults than {baseline}: {as_list(names)}."


@said_when(SCREEN, "the sentence about more faults holds of the baseline and each of them", ["d"], "a")
def baseline_has_more_faults(names: Sequence[str], baseline: str) -> str:
    """Name the systems that have fewer faults than the baseline."""
    return f"{baseline} has more faults than {as_list(names)}."


@said_when(SCREEN, "they differ from the baseline, and neither is shown to have more faults", ["e"], "a")
def differ_from_baseline(names: Sequence[str], baseline: str) -> str:
    """Name the systems that differ from the baseline otherwise."""
    return f"Different from {baseline}, without more faults: {as_list(names)}."


@said_when(SCREEN, "no difference from the baseline is detected", ["f"], "a")
def no_difference_from_baseline(names: Sequence[str], baseline: str) -> str:
    """Name the systems that no test distinguishes from the baseline."""
    return f"No difference from {baseline} detected: {as_list(names)}."


@said_when(SCREEN, "they, or the baseline, copy references", ["g"], "a")
def not_compared_with_baseline(names: Sequence[str], baseline: str) -> str:
    """Name the systems that are not compared with the baseline."""
    return f"Not compared with {baseline} (captions among the references): {as_list(names)}."


@said_when(SCREEN, "always", 10)
def all_pairs(n_pairs: int) -> str:
    """Say where all pairs are."""
    return f"All {n_pairs} pairs: --full."
