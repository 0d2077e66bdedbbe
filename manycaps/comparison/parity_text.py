"""The answer of a comparison in words: a line for each system beside people, and one for each pair."""

import math
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from manycaps.comparison.mean_intervals import POWER
from manycaps.comparison.parity import ComparedParity, SystemParity
from manycaps.comparison.parity_pairs import ParityPair

# Columns of a terminal, and pairs that are printed without --full: those with the baseline if there are more.
WIDTH, MOST_PAIRS = 100, 3

# What is said of the system with less of a share.
LESS = {
    "unlike_people_share": "fewer captions that stand out from people's",
    "central_share": "fewer captions that are the most ordinary one",
    "repeat_share": "fewer near repeats",
}


def system_line(parity: ComparedParity, system: SystemParity) -> str:
    """Say in one line how a system stands beside people."""
    said = " ".join(word.sentence for word in system.words) or "One row: no interval."
    has_p = any(word.name in ("told", "undecided") for word in system.words)
    p_value = "" if has_p else f"{as_p(system.result['human_parity_p_value'])}. "
    margin = ""
    if parity.margin is not None:
        is_shown = "Within" if parity.within[system.name] else "Not shown to be within"
        margin = f" {is_shown} {parity.margin:g} of people in both gaps."
    return f"{system.name}: {p_value}{said}{margin}"


def pair_line(pair: ParityPair) -> str:
    """Say in one line how two systems differ."""
    names, p_value = f"{pair.first} and {pair.second}", as_p(pair.adjusted_p_value)
    margin = " Equivalent within the margin." if pair.within_margin else ""
    if pair.kind == "copies":
        return f"{names} are not ranked: captions of {' and '.join(pair.copying)} stand among the references."
    if pair.kind == "alike":
        found = ""
        if math.isfinite(pair.detectable_gap):
            found = f"; fidelity gaps {pair.detectable_gap:.2g} apart would be, {POWER:.0%} of the time"
        return f"{names} are not told apart ({p_value}{found}).{margin}"
    if pair.kind == "gaps":
        (f, v), (other_f, other_v) = pair.gaps
        diversity = f", diversity gap {v:.2g} and {other_v:.2g}" if v == v else ""
        gaps = f"fidelity gap {f:.2g} and {other_f:.2g}{diversity}"
        return f"{names} differ ({p_value}); no share says how ({gaps}).{margin}"
    by_system = {
        name: [f"{LESS[share.key]} ({_both(share, name, pair)})" for share in pair.shares if share.better == name]
        for name in (pair.first, pair.second)
    }
    if pair.kind == "dominates":
        worse = pair.second if pair.better == pair.first else pair.first
        return f"{pair.better} dominates {worse} ({p_value}): {' and '.join(by_system[str(pair.better)])}.{margin}"
    traded = "; ".join(f"{name} has {' and '.join(said)}" for name, said in by_system.items())
    return f"{names} are a trade-off ({p_value}): {traded}.{margin}"


def _both(share: Any, better: str, pair: ParityPair) -> str:
    """Both values of a share, that of the better system first."""
    values = (share.first, share.second) if better == pair.first else (share.second, share.first)
    return " and ".join(f"{100 * max(0.0, value):.0f} %" for value in values)


def as_p(p_value: float) -> str:
    """A p-value behind its letter.

    >>> as_p(0.44), as_p(0.0312), as_p(0.00003), as_p(float("nan"))
    ('p 0.44', 'p 0.031', 'p < 0.0001', 'p not defined')
    """
    if math.isnan(p_value):
        return "p not defined"
    return "p < 0.0001" if p_value < 0.0001 else f"p {p_value:.2g}"


def as_rows_needed(result: Mapping[str, Any]) -> str:
    """Rows after which a system is told from people, with the interval.

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


def shown_pairs(parity: ComparedParity, full: bool) -> Sequence[ParityPair]:
    """Return the pairs that are printed: all, or those with the baseline where there are many."""
    if full or len(parity.pairs) <= MOST_PAIRS:
        return parity.pairs
    return [pair for pair in parity.pairs if pair.second == parity.systems[0].name]


def parity_table(parity: ComparedParity) -> tuple[list[str], list[list[tuple[str, float | None]]]]:
    """Return header and rows of the table of systems beside people; cells are text and the number behind it."""
    header = ["system", "p", "rows needed", "unlike people", "most ordinary", "near repeats"]
    people = parity.systems[0].result["central_share_of_people"]
    rows: list[list[tuple[str, float | None]]] = []
    for system in parity.nearest_first():
        result = system.result
        cells: list[tuple[str, float | None]] = [(system.name, None)]
        cells.append((as_p(result["human_parity_p_value"])[2:], result["human_parity_p_value"]))
        cells.append((as_rows_needed(result), result["rows_needed"]))
        cells += [
            (_share(result, key), result[key]) for key in ("unlike_people_share", "central_share", "repeat_share")
        ]
        rows.append(cells)
    none: list[tuple[str, float | None]] = [("people", None), ("", None), ("", None)]
    return header, [*rows, [*none, ("0 %", 0.0), (f"{100 * people:.0f} %", people), ("10 %", 0.1)]]


def _share(result: Mapping[str, Any], key: str) -> str:
    """A share in percent, with its interval; whole numbers, of which none is -0.

    >>> _share({"repeat_share": 0.12, "repeat_share_ci_low": -0.002, "repeat_share_ci_high": 0.3}, "repeat_share")
    '12 % [0, 30]'
    """
    value, low, high = (result.get(f"{key}{end}", math.nan) for end in ("", "_ci_low", "_ci_high"))
    if math.isnan(value):
        return "one caption"
    return f"{round(100 * value)} %" + ("" if math.isnan(low) else f" [{round(100 * low)}, {round(100 * high)}]")


def screen(parity: ComparedParity, notes: Sequence[str], *, full: bool = False, width: int = WIDTH) -> str:
    """Return the answer as a terminal shows it: a table, and a line for each system and pair.

    Args:
        parity: of the comparison.
        notes: what a reader should know before.
        full: all pairs, where there are many.
        width: columns of the terminal.

    Returns:
        Lines, the longest of them wrapped.
    """
    header, rows = parity_table(parity)
    cells = [header, *([text for text, _ in row] for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]
    table = ["  ".join(cell.ljust(n) for cell, n in zip(row, widths, strict=True)).rstrip() for row in cells]
    pairs = shown_pairs(parity, full)
    said = [*notes, *(system_line(parity, system) for system in parity.nearest_first())]
    said += ["", *(f"- {pair_line(pair)}" for pair in pairs)]
    if len(pairs) < len(parity.pairs):
        said.append(f"- {len(parity.pairs)} pairs in all: --full")
    lines = [line for each in said for line in textwrap.wrap(each, width, subsequent_indent="  ") or [""]]
    return "\n".join([*table, "", *lines])


def methods(parity: ComparedParity, n_pairs: int) -> list[str]:
    """Describe the test against people, and that of pairs, for a paper."""
    adjusted = f", adjusted by Holm's method over the {n_pairs} pairs" if n_pairs > 1 else ""
    return [
        f"Captions were compared with people's by the distance {parity.distance}: the fidelity and the diversity gap "
        "of all rows were tested jointly, in closed form under random splits of every row (Chen and Friedman 2017), "
        f"and the rows needed are those after which that test finds the difference in {POWER:.0%} of the cases at a "
        "level of 5%.",
        "Captions unlike people's, most ordinary captions and near repeats are shares of ranks among the references, "
        "with known values for people; captions unlike people's are below 0 where fewer stand out than of people's "
        "own.",
        f"Two systems differ if the rows' differences of both gaps do, by a joint sign-flip test{adjusted}; one "
        "dominates the other if a share of it is nearer to people's, by a paired test, and none is farther.",
    ]
