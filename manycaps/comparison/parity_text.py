"""The answer of a comparison in words: a line for each system beside people, and one for each pair."""

import math
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from manycaps.comparison.mean_intervals import POWER
from manycaps.comparison.parity import ComparedParity, SystemParity
from manycaps.comparison.parity_pairs import ParityPair, ShareTest
from manycaps.comparison.systems import SystemRow
from manycaps.kit.sets_parity_words import share_text, shown_p_value
from manycaps.kit.sets_tails import TAIL

# Columns of a terminal, and pairs that are printed without --full: those with the baseline if there are more.
WIDTH, MOST_PAIRS = 100, 3

# Lines of a terminal, without that of the next command, and captions of a system that are printed if they fit.
HEIGHT, MOST_EXAMPLES = 24, 3

# Letters of a caption that a terminal shows.
MOST_LETTERS = 35

# Shares of the table, and how sentences name them.
SHARES = {
    "unlike_people_share": "captions unlike people's",
    "ordinary_share": "ordinary captions",
    "near_duplicate_share": "near-duplicates",
}


def system_line(parity: ComparedParity, system: SystemParity) -> str:
    """Say in one line how a system stands beside people."""
    sentences = " ".join(word.sentence for word in system.words) or "One row: no interval."
    has_p = any(word.name == "different" for word in system.words)
    p_value = "" if has_p else f"{system_p_value(system)}. "
    margin = ""
    if parity.margin is not None:
        is_shown = "Within" if parity.within[system.name] else "Not shown to be within"
        margin = f" {is_shown} {parity.margin:g} of people in {_gaps_named(system.result['diversity_gap'])}."
    return f"{system.name}: {p_value}{sentences}{margin}"


def system_p_value(system: SystemParity) -> str:
    """The p-value of a system after Holm's rule, as it is printed; see `shown_p_value`."""
    return shown_p_value(system.adjusted_p_value, int(system.result["n_rows"]))


def _gaps_named(diversity_gap: float) -> str:
    """Name the gaps that there are."""
    return "the fidelity gap" if math.isnan(diversity_gap) else "both gaps"


def pair_line(pair: ParityPair) -> str:
    """Say in one line how two systems differ."""
    names, p_value = f"{pair.first} and {pair.second}", shown_p_value(pair.adjusted_p_value)
    if pair.kind == "copies":
        return f"{names} are not ranked: captions of {' and '.join(pair.copying)} also occur among the references."
    if pair.kind == "alike":
        return f"{names}: no difference detected ({p_value}{_detectable(pair)}).{_margin(pair)}"
    if pair.kind == "gaps":
        (f, v), (other_f, other_v) = pair.gaps
        diversity = f", diversity gap {v:.2g} and {other_v:.2g}" if v == v else ""
        gaps = f"fidelity gap {f:.2g} and {other_f:.2g}{diversity}"
        return f"{names} differ ({p_value}); no share says how ({gaps}).{_margin(pair)}"
    by_system = {
        name: " and ".join(_both(share, name, pair) for share in pair.shares if share.better == name)
        for name in (pair.first, pair.second)
    }
    if pair.kind == "trade-off":
        shares = "; ".join(f"{name} is nearer to people in {shares}" for name, shares in by_system.items())
        return f"{names} are a trade-off ({p_value}): {shares}."
    worse = pair.second if pair.better == pair.first else pair.first
    shares = by_system[str(pair.better)]
    if pair.kind == "dominates":
        rest = "shown to be no farther in the rest"
        return f"{pair.better} dominates {worse} ({p_value}): nearer to people in {shares}, and {rest}."
    return f"{pair.better} is nearer to people than {worse} ({p_value}) in {shares}{_rest(pair, worse)}."


def _rest(pair: ParityPair, worse: str) -> str:
    """What is to be said of the shares in which the better system is not shown to be nearer."""
    by_wrong = [share for share in pair.shares if share.better_by_wrong_captions]
    parts = [
        f"{worse} is nearer in {_both(share, worse, pair)}, which does not count because more of its captions are "
        "unlike people's"
        for share in by_wrong
    ]
    if any(share.better is None and share not in by_wrong for share in pair.shares):
        parts.append("in the rest, neither is shown to be nearer")
    return "".join(f"; {part}" for part in parts)


def _detectable(pair: ParityPair) -> str:
    """What would be found, or that nothing can be."""
    if math.isinf(pair.detectable_gap):
        return f"; too few rows to distinguish any two systems: at least {pair.least_rows} are needed"
    if math.isnan(pair.detectable_gap):
        return ""
    gap, power = f"{pair.detectable_gap:.2g}", f"{100 * POWER:.0f} %"
    return f"; a difference of {gap} between the fidelity gaps would be detected with a power of at least {power}"


def _margin(pair: ParityPair) -> str:
    if not pair.within_margin:
        return ""
    is_single = math.isnan(pair.gaps[0][1]) and math.isnan(pair.gaps[1][1])
    return f" Equivalent within the margin in {_gaps_named(math.nan if is_single else 0.0)}."


def _both(share: ShareTest, better: str, pair: ParityPair) -> str:
    """Both values of a share, that of the better system first."""
    values = (share.first, share.second) if better == pair.first else (share.second, share.first)
    return f"{SHARES[share.key]} ({' and '.join(f'{100 * value:.0f} %' for value in values)})"


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


def parity_table(parity: ComparedParity) -> tuple[list[str], list[list[tuple[str, float | None]]]]:
    """Return header and rows of the table of systems beside people; cells are text and the number behind it."""
    header = ["system", "p", "rows needed", "unlike people", "ordinary", "near-duplicates"]
    rows: list[list[tuple[str, float | None]]] = []
    for system in parity.nearest_first():
        result = system.result
        cells: list[tuple[str, float | None]] = [(system.name, None)]
        cells.append((system_p_value(system).removeprefix("p ").removeprefix("= "), system.adjusted_p_value))
        cells.append((as_rows_needed(result), result["rows_needed"]))
        cells += [(_share(result, key), result[key]) for key in SHARES]
        rows.append(cells)
    people = (as_percent(TAIL), TAIL)
    return header, [*rows, [("people", None), ("", None), ("", None), people, people, people]]


def as_percent(share: float) -> str:
    """A share in percent, rounded as in sentences and the table.

    >>> as_percent(0.126)
    '13 %'
    """
    return f"{100 * share:.0f} %"


def _share(result: Mapping[str, Any], key: str) -> str:
    """A share in percent with its interval, or that it needs two captions."""
    return "one caption" if math.isnan(result[key]) else share_text(result, key)


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
    header, of_systems = parity_table(parity)
    cells = [header, *([text for text, _ in row] for row in of_systems)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]
    table = ["  ".join(cell.ljust(n) for cell, n in zip(row, widths, strict=True)).rstrip() for row in cells]
    pairs = parity.pairs
    if not full and len(pairs) > MOST_PAIRS:
        pairs = [pair for pair in pairs if pair.second == parity.systems[0].name]
    of_pairs = [f"- {pair_line(pair)}" for pair in pairs]
    if len(pairs) < len(parity.pairs):
        of_pairs.append(f"- {len(parity.pairs)} pairs in all: --full")
    of_pairs += warnings
    before = [*table, "", *(line for note in notes for line in _wrapped(note))]
    after = ["", *(line for text in of_pairs for line in _wrapped(text))] if of_pairs else []
    systems = parity.nearest_first()
    sentences = [_wrapped(system_line(parity, system)) for system in systems]
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
    chosen: dict[tuple[int, frozenset[str]], CaptionExample] = {}
    for number, *places in system.lists[key]:
        captions = tuple(rows[number].captions[system.name][candidate] for candidate in places)
        chosen.setdefault((number, frozenset(captions)), CaptionExample(rows[number], captions))
    return list(chosen.values())[:n]


def example_lines(system: SystemParity, rows: Sequence[SystemRow], n: int) -> list[str]:
    """Return lines of a terminal: n captions most unlike people's, and the most similar pair of near-duplicates."""
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
    return lines


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
    """Divide free lines in turns, the last one first, as it is the farthest from people.

    >>> _shares([3, 1, 3], 5), _shares([3], -1)
    ([2, 1, 2], [0])
    """
    given = [0] * len(wanted)
    turns = [i for turn in range(max(wanted, default=0)) for i in reversed(range(len(wanted))) if turn < wanted[i]]
    for i in turns[: max(0, n_free)]:
        given[i] += 1
    return given


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, subsequent_indent="  ", break_on_hyphens=False)


def parity_methods(parity: ComparedParity, n_pairs: int) -> list[str]:
    """Describe the test against people, and that of pairs, for a paper."""
    adjusted = f", adjusted by Holm's method over the {n_pairs} pairs" if n_pairs > 1 else ""
    holm = " p-values of several systems are adjusted by Holm's method." if len(parity.systems) > 1 else ""
    sentences = [
        f"Captions were compared with people's by the distance {parity.distance}, by two tests with 0.8 and 0.2 of "
        "the level (Bonferroni): the fidelity and the diversity gap of all rows jointly, in closed form under random "
        "splits of every row (Chen and Friedman 2017), and the shares of captions, and of pairs of captions, beyond "
        f"the 5% and 95% quantiles of people's own distances.{holm} The rows needed are those after which one of the "
        f"tests finds the difference in {POWER:.0%} of the cases at a level of 5%.",
        "Captions unlike people's are farther from the references than 19 of 20 human captions, ordinary ones nearer "
        "than 19 of 20, and near-duplicates are pairs that are nearer to each other than 19 of 20 pairs of human "
        "captions; people give 5% of each.",
        f"Two systems differ if the rows' differences of both gaps do, by a joint sign-flip test{adjusted}, or a share "
        "does; one dominates the other if a share of it is nearer to people's 5%, by a paired test, and it is shown "
        "not to be worse in the others and in the fidelity gap by a detectable difference.",
    ]
    return sentences if n_pairs else sentences[:2]
