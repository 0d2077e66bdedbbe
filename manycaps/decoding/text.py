"""The answer of `manycaps decoding` on one screen."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from manycaps.comparison.parity_text import SHARES, WIDTH, as_rows_needed
from manycaps.decoding.nearest import ENERGY, Half, NearestSetting, nearest_of
from manycaps.kit.sets_parity_words import p_value_digits, share_text, shown_p_value
from manycaps.kit.sets_tails import TAIL

if TYPE_CHECKING:
    from manycaps.decoding.run import ComparedSettings

# Shares of a setting, the first of which are faults.
COLUMNS = {"unlike_people_share": "unlike people", "odd_wording_share": "odd wording", **SHARES}

HEADER = ("setting", "rows", "p", "rows needed", *COLUMNS.values(), "energy", "to nearest")


def table(compared: ComparedSettings) -> list[list[str]]:
    """Return header and lines: the nearest setting first, those that were dropped last, then people."""
    nearest = compared.nearest
    order = sorted(nearest.results, key=lambda name: (name not in nearest.p_values, nearest.results[name][ENERGY]))
    lines = [_line(name, nearest) for name in order]
    people = f"{100 * TAIL:.0f} %"
    return [list(HEADER), *lines, ["people", "", "", "", *[people] * len(COLUMNS), "0", ""]]


def _line(name: str, nearest: NearestSetting) -> list[str]:
    result, paired_p = nearest.results[name], nearest.p_values.get(name)
    paired = "dropped" if paired_p is None else shown_p_value(paired_p)
    if name == nearest.best:
        paired = "nearest"
    p = p_value_digits(result["human_parity_p_value"])
    shares = [share_text(result, key) for key in COLUMNS]
    return [name, f"{result['n_rows']:,}", p, as_rows_needed(result), *shares, f"{result[ENERGY]:.4f}", paired]


def decoding_sentences(compared: ComparedSettings) -> list[str]:
    """Return the answer in sentences."""
    nearest = compared.nearest
    sentences = [compared.note] if compared.note else []
    others = "All others differ from it"
    if nearest.alike:
        others = f"Cannot be distinguished from it: {', '.join(nearest.alike)}"
    sentences.append(f"Nearest to people: {nearest.best} ({_why_nearest(nearest)}). {others} (paired test, Holm).")
    sentences += [_of_half(half) for half in nearest.halves]
    if len(nearest.halves) > 1:
        sentences.append(
            f"Both ways round: {shown_p_value(nearest.p_value)}. The p of the table is that of all rows, among which "
            f"{nearest.best} was chosen: it is no fair test of {nearest.best}."
        )
    return sentences


def _why_nearest(nearest: NearestSetting) -> str:
    """Say what makes the nearest setting the nearest; see `nearest_of`."""
    lowest = nearest_of({name: nearest.results[name][ENERGY] for name in nearest.p_values}, ())
    if lowest == nearest.best:
        return "lowest energy distance"
    return f"energy distance; that of {lowest}, a search, counts by how far it is from 0"


def _of_half(half: Half) -> str:
    result = half.result
    return (
        f"Chosen on {half.n_chosen:,} rows: {half.setting}. On {result['n_rows']:,} others it has "
        f"{shown_p_value(result['human_parity_p_value'])}, rows needed {as_rows_needed(result)}, energy distance "
        f"{result[ENERGY]:.4f}."
    )


def decoding_screen(compared: ComparedSettings) -> str:
    """Return table and sentences, as a terminal shows them."""
    cells = table(compared)
    widths = [max(len(row[i]) for row in cells) for i in range(len(HEADER))]
    lines = ["  ".join(cell.ljust(n) for cell, n in zip(row, widths, strict=True)).rstrip() for row in cells]
    sentences = [
        line
        for sentence in decoding_sentences(compared)
        for line in textwrap.wrap(sentence, WIDTH, subsequent_indent="  ")
    ]
    return "\n".join([*lines, "", *sentences])
