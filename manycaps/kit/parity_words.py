"""What may be said in words of a result of human parity: the one place that says what each word needs.

A word needs the p-value, which is for the gaps and the tails together, to be at most 0.05, and the 95% interval of
its share to lie above the 5% of people. So people's captions get any word at all in at most 5% of the cases, and a
system with one damage gets each word for another damage in at most 5%. Measured by `python -m
scripts.studies.human_parity_truth`.

Faults and likeness are two questions. Captions unlike people's, or of odd wording, are faults: fewer than people's
are never held against a system. Those far from the references are a lower bound of those that people would not have
written: nearly tight with MiniLM, about a third with METEOR. All other words are about likeness, in which people's
own value is best. Copies of references are as near to them as generic captions: only generic captions beyond the
copies are called bland. And captions that lie farther apart than people's are no praise: wrong ones do.

Where p finds a difference and no share does, the gaps give the direction: those that are significant by themselves,
else both together. The p-value of a gap supposes that people wrote all captions: wrong captions that are as varied as
people's have a diversity gap that is significant in a quarter of the cases, with either sign. So of significant gaps
those are named whose intervals leave 0 out, as far as any does. A clear fidelity gap is said unless a share says so.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from .errors import InputError, InputTypeError, quote_value
from .parity_gaps import LEVEL, LEVEL_OF_PHRASES
from .parity_tails import TAIL

# Rows below which no p-value under FEW_ROWS_P is printed: the closed form is right at 5% from five rows on, but its
# far tail only with more.
MANY_ROWS, FEW_ROWS_P, LEAST_P = 50, 0.001, 0.0001

# What the sign of a gap means, negative and positive.
DIRECTIONS = {
    "fidelity_gap": (
        "nearer to the references than people are to each other",
        "farther from the references than people are from each other",
    ),
    "diversity_gap": ("less varied than people", "more varied than people"),
    "wording_gap": ("less predictable in wording than people", "more predictable in wording than people"),
}

# Shares that are tested, as sentences name them.
SHARE_NOUNS = {
    "unlike_people_share": "captions unlike people's",
    "generic_share": "generic captions",
    "near_duplicate_share": "near-duplicates",
}


class ParityWord(NamedTuple):
    """One thing that is said."""

    # "untested", "alike", "different", "unlike", "unsupported", "omitted", "odd-wording", "repeated", "longer",
    # "shorter", "copies", "generic", "predictable", "near-duplicates" or "spread".
    name: str
    # A sentence of plain English.
    sentence: str


def words_of(result: Mapping[str, Any], p_value: float | None = None) -> list[ParityWord]:
    """Say what a result means.

    `result` is one of `human_parity`, with its p-value and confidence_level=0.95; `p_value` takes the place of its own,
    for example after Holm's correction over several systems. There is at least one word: "untested" alone where there
    is no p-value, "alike" alone where the joint test finds no difference (the `phrases` of the details may differ by
    tests of their own, which is said), "different" where the gaps say how, or nearer or farther, as no share does.
    Raises ValueError if the result has no p-value or no intervals.

    >>> result = {"human_parity_p_value": 0.01, "tails_p_value": 0.01, "n_rows": 60, "copied_share_expected": 0.01}
    >>> shares = {"unlike_people": 0.05, "copied": 0.0, "generic": 0.32, "near_duplicate": 0.04, "spread": 0.05}
    >>> for name, share in shares.items():
    ...     result |= {f"{name}_share{end}": share + shift for end, shift in (("", 0), ("_ci_low", -0.03))}
    ...     result |= {f"{name}_share_ci_high": share + 0.03}
    >>> print(words_of(result)[0].sentence)
    Blander than human captions: 32% [29, 35] are nearer to the references than 19 of 20 human ones (people 5%).
    """
    if not isinstance(result, Mapping):
        raise InputTypeError("result", "the dict that compute returns", quote_value(result), "Compute it first.")
    missing = [key for key in ("human_parity_p_value", "unlike_people_share_ci_low") if key not in result]
    if missing:
        fix = "Compute it with p_value other than 'none', and with confidence_level=0.95."
        raise InputError("result", f"the key {missing[0]!r}", "none", fix)
    p_value = result["human_parity_p_value"] if p_value is None else p_value
    if math.isnan(p_value):
        sentence = "Not tested: all captions of a row are equally far apart, or there are too few rows."
        return [ParityWord("untested", sentence)]
    if p_value > LEVEL:
        said = only_phrases_differ if clear_phrases(result.get("phrases") or ()) else cannot_be_distinguished
        return [ParityWord("alike", said(_bound(result)))]
    words = _share_words(result)
    names = {word.name for word in words}
    is_nearer_or_farther = result.get("fidelity_gap_p_value", math.nan) <= LEVEL and _has_sign(result, "fidelity_gap")
    if names <= {"copies"} or (
        is_nearer_or_farther and names.isdisjoint({"unlike", "unsupported", "copies", "generic"})
    ):
        p_text = format_p_value(p_value, int(result["n_rows"]))
        chosen = DIRECTIONS if names <= {"copies"} else ("fidelity_gap",)
        sentence = f"Distinguished from human captions ({p_text}): {_gaps_text(result, chosen)}."
        words.append(ParityWord("different", sentence))
    return words


def clear_phrases(phrases: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the phrases that are named where the joint test finds no difference.

    >>> clear_phrases([{"phrase": "shirt", "p_value": 0.001}, {"phrase": "unk", "p_value": 0.04}])
    [{'phrase': 'shirt', 'p_value': 0.001}]
    """
    return [phrase for phrase in phrases if phrase["p_value"] <= LEVEL_OF_PHRASES]


def cannot_be_distinguished(bound: str) -> str:
    """Say that no test finds a difference.

    >>> cannot_be_distinguished("; too few rows to test the shares")
    'Cannot be distinguished from human captions; too few rows to test the shares.'
    """
    return f"Cannot be distinguished from human captions{bound}."


def only_phrases_differ(bound: str) -> str:
    """Say that the joint test finds no difference, and that the corrected tests of single phrases find one.

    >>> only_phrases_differ("; too few rows to test the shares")
    'The joint test finds no difference from human captions; too few rows to test the shares. Single phrases differ.'
    """
    return f"The joint test finds no difference from human captions{bound}. Single phrases differ."


def _gaps_text(result: Mapping[str, float], chosen: Collection[str]) -> str:
    """In which direction a result differs: by significant gaps, else by the largest share, or by both gaps together."""
    gaps = {gap: result[gap] for gap in chosen if not math.isnan(result.get(gap, math.nan))}
    p_keys = {gap: "wording_p_value" if gap == "wording_gap" else f"{gap}_p_value" for gap in gaps}
    significant = [gap for gap, key in p_keys.items() if result.get(key, math.nan) <= LEVEL]
    if not significant and result.get("gaps_p_value", math.nan) > LEVEL:
        shares = [name for name in SHARE_NOUNS if result[f"{name}_ci_low"] < result[name]]
        largest = max(shares, key=lambda name: (result[name] - TAIL) / (result[name] - result[f"{name}_ci_low"]))
        return f"most by {SHARE_NOUNS[largest]} ({share_text(result, largest)}, people {100 * TAIL:.0f}%)"
    named = [gap for gap in significant if _has_sign(result, gap)] or significant
    named = named or [gap for gap in gaps if gap != "wording_gap"]  # the test of both gaps knows no wording
    directions = [
        f"{DIRECTIONS[gap][gaps[gap] > 0]} ({gap.replace('_', ' ')} {gap_text(result, gap)})" for gap in named
    ]
    return "neither gap by itself, but together " * (not significant and len(named) > 1) + " and ".join(directions)


def _has_sign(result: Mapping[str, float], gap: str) -> bool:
    """Whether the interval of a gap leaves 0 out, or there is none."""
    low, high = (result.get(f"{gap}_ci_{end}", math.nan) for end in ("low", "high"))
    return not low <= 0 <= high


def gap_text(result: Mapping[str, float], gap: str) -> str:
    """Return a gap with its interval.

    >>> gap_text({"gap": -0.0312, "gap_ci_low": -0.042, "gap_ci_high": -0.02}, "gap")
    '-0.031 [-0.042, -0.02]'
    """
    value, low, high = (result.get(f"{gap}{end}", math.nan) for end in ("", "_ci_low", "_ci_high"))
    return f"{value:.2g}" if math.isnan(low) else f"{value:.2g} [{low:.2g}, {high:.2g}]"


def _bound(result: Mapping[str, float]) -> str:
    high = result["unlike_people_share_ci_high"]
    bound = (
        ""
        if math.isnan(high)
        else f"; at most {_percent_up(high)}% are farther from the references than 19 of 20 human ones"
    )
    return bound + ("" if not math.isnan(result["tails_p_value"]) else "; too few rows to test the shares")


def _share_words(result: Mapping[str, float]) -> list[ParityWord]:
    """The words whose intervals lie above what people give."""
    people, copied = f"(people {TAIL:.0%})", 0.0
    words = _fault_words(result)
    is_unlike = is_above_people(result, "unlike_people_share") and "unsupported_share" not in result
    if is_unlike:
        # How many are wrong, and how many only seldom said, no distance knows.
        share = share_text(result, "unlike_people_share")
        sentence = f"{share} of its captions are farther from the references than 19 of 20 human ones {people}."
        words.append(ParityWord("unlike", sentence))
    is_unlike |= is_above_people(result, "unsupported_share")
    places = [("predictable", "predictable_share", "more predictable in their wording")]
    if "faults" not in result:
        places.insert(0, ("odd-wording", "odd_wording_share", "less predictable in their wording"))
    for name, share, place in places:
        if is_above_people(result, share):
            sentence = f"{share_text(result, share)} of its captions are {place} than 19 of 20 human ones {people}."
            words.append(ParityWord(name, sentence))
    if is_above_people(result, "copied_share"):
        people_copies = f"{100 * result['copied_share_of_people']:.0f}%"
        words.append(
            ParityWord(
                "copies",
                f"{share_text(result, 'copied_share')} of its captions also occur among the references of their row "
                f"(people {people_copies}): copied, or very common ones.",
            )
        )
        copied = result["copied_share"]
    if result["generic_share_ci_low"] - copied > TAIL:
        words.append(
            ParityWord(
                "generic",
                f"Blander than human captions: {share_text(result, 'generic_share')} are nearer to the references "
                f"than 19 of 20 human ones {people}.",
            )
        )
    if is_above_people(result, "near_duplicate_share"):
        share = share_text(result, "near_duplicate_share")
        words.append(ParityWord("near-duplicates", f"{share} of its caption pairs are near-duplicates {people}."))
    # Captions far from the references lie far apart, too: then that has been said.
    if not is_unlike and is_above_people(result, "spread_share"):
        share = share_text(result, "spread_share")
        words.append(
            ParityWord(
                "spread", f"Its captions vary more than human ones: {share} of the pairs are far apart {people}."
            )
        )
    return words


# What is said of each fault: its word, its share, and what the share is of.
FAULT_WORDS = (
    ("unsupported", "unsupported_share", "of its sentences say what no reference says"),
    ("omitted", "omitted_share", "of its texts leave out what the references say"),
    ("odd-wording", "odd_wording_share", "of its sentences are oddly worded"),
    ("repeated", "repeated_share", "of its texts repeat themselves"),
)

# Lengths that differ by less are not worth a sentence.
LEAST_LENGTH_RATIO = 1.1


def _fault_words(result: Mapping[str, float]) -> list[ParityWord]:
    """The faults by sentence that lie above people's rate, and a length that differs from people's.

    A fault needs its own p-value, times the number of faults, and its interval.
    """
    if "faults" not in result:
        return []
    words = []
    known = [name for _, name, _ in FAULT_WORDS if not math.isnan(result.get(name, math.nan))]
    for word, name, what in FAULT_WORDS:
        people = result.get(f"{name}_of_people", math.nan)
        p_value = result.get(name.replace("_share", "_p_value"), math.nan) * len(known)
        if p_value <= LEVEL and result.get(f"{name}_ci_low", math.nan) > people:
            sentence = f"{share_text(result, name)} {what} (people {100 * people:.0f}%)."
            words.append(ParityWord(word, sentence))
    mine, people = (result.get(key, math.nan) for key in ("words_per_text", "words_per_text_of_people"))
    low, high = (result.get(f"length_gap_ci_{end}", math.nan) for end in ("low", "high"))
    if result.get("length_p_value", math.nan) <= LEVEL and not low <= 0 <= high:
        longer, shorter = max(mine, people), min(mine, people)
        if shorter > 0 and longer >= LEAST_LENGTH_RATIO * shorter:
            times = "twice" if 1.95 <= longer / shorter < 2.05 else f"{longer / shorter:.1f} times"
            kind = "longer" if mine > people else "shorter"
            sentence = f"Its texts are {times} as {'long' if mine > people else 'short'} as people's"
            words.append(ParityWord(kind, f"{sentence} ({mine:.0f} words, people {people:.0f})."))
    return words


def is_above_people(result: Mapping[str, float], name: str) -> bool:
    """Return whether the interval of a share lies above what people give; False of what is NaN."""
    return bool(result.get(f"{name}_ci_low", math.nan) > result.get(f"{name}_expected", TAIL))


def share_text(result: Mapping[str, float], name: str) -> str:
    """Return a share in percent with its interval, whose ends are rounded outwards: the same wherever it is shown.

    >>> share_text({"spread_share": 0.127, "spread_share_ci_low": 0.019, "spread_share_ci_high": 0.301}, "spread_share")
    '13% [1, 31]'
    >>> share_text({"spread_share": 0.0}, "spread_share"), share_text({"spread_share": math.nan}, "spread_share")
    ('0%', 'not defined')
    """
    value, low, high = (result.get(f"{name}{end}", math.nan) for end in ("", "_ci_low", "_ci_high"))
    if math.isnan(value):
        return "not defined"
    text = f"{100 * value:.0f}%"
    return text if math.isnan(low) else f"{text} [{_percent_down(low)}, {_percent_up(high)}]"


def p_value_digits(p_value: float, n_rows: int = MANY_ROWS) -> str:
    """Write a p-value as in tables: two significant digits, and none below what this number of rows is right for.

    >>> p_value_digits(0.0312), p_value_digits(1e-9), p_value_digits(1e-9, n_rows=20), p_value_digits(math.nan)
    ('0.031', '< 0.0001', '< 0.001', 'not defined')
    """
    least = LEAST_P if n_rows >= MANY_ROWS else FEW_ROWS_P
    if math.isnan(p_value):
        return "not defined"
    return f"< {least:g}" if p_value < least else rounded_p_value(p_value)


def rounded_p_value(p_value: float) -> str:
    """Round a p-value to two significant digits; one above 0.05, which is no finding, does not read as 0.05.

    >>> rounded_p_value(0.0496), rounded_p_value(0.0504), rounded_p_value(1e-9)
    ('0.05', '0.0504', '1e-09')
    """
    rounded = f"{p_value:.2g}"
    return f"{math.ceil(10_000 * p_value) / 10_000:g}" if float(rounded) <= LEVEL < p_value else rounded


def format_p_value(p_value: float, n_rows: int = MANY_ROWS) -> str:
    """Return a p-value as sentences print it.

    >>> format_p_value(0.0312), format_p_value(1e-9), format_p_value(1e-9, n_rows=20), format_p_value(math.nan)
    ('p = 0.031', 'p < 0.0001', 'p < 0.001', 'p not defined')
    """
    digits = p_value_digits(p_value, n_rows)
    return f"p = {digits}" if digits[0].isdigit() else f"p {digits}"


def _percent_down(share: float) -> int:
    """Percent rounded down; 1e-9 is the rounding of a float."""
    return math.floor(100 * share + 1e-9)


def _percent_up(share: float) -> int:
    return math.ceil(100 * share - 1e-9)
