"""The answer of `manycaps decoding` on one screen."""

import math
import textwrap

from manycaps.comparison.sentences import TERMS
from manycaps.comparison.system_lines import WIDTH, as_rows_to_detect, shorten
from manycaps.files.result_tables import align_columns
from manycaps.kit.parity_tails import TAIL
from manycaps.kit.parity_words import format_p_value, p_value_digits, share_text

from .nearest import ENERGY, Half, NearestSetting, SettingsAgainstPeople, likeness

# Keys of the shares of the table, in its order.
SHARES = ("faults", "unsupported_share", "generic_share", "near_duplicate_share")

HEADER = (
    *("setting", "rows", "p", "rows to detect"),
    *(TERMS.get(key, key) for key in SHARES),
    *("energy", "to the best"),
)

# What the answer is about.
LEGEND = (
    "The most human-like setting is the one whose difference from people takes the most rows to detect (80% power); "
    "human-like is not the same as good. Faults lie beyond people's rates, which read 0: fewer are better. p tests "
    "each setting against people, before Holm's correction; to the best: p of the pair with the best one, after it."
)


def table(compared: SettingsAgainstPeople) -> list[list[str]]:
    """Return header and lines: the most human-like setting first, those that were dropped last, then people."""
    nearest = compared.nearest
    order = sorted(nearest.systems, key=lambda name: (name not in nearest.p_values, likeness(nearest.systems[name])))
    lines = [_line(name, nearest) for name in order]
    people = f"{100 * TAIL:.0f}%"
    return [list(HEADER), *lines, ["people", "", "", "", "0%", people, people, people, "0", ""]]


def _line(name: str, nearest: NearestSetting) -> list[str]:
    system, result = nearest.systems[name], nearest.results[name]
    if name not in nearest.p_values:
        paired = "dropped"
    elif system.copies:
        paired = "copies"
    elif name == nearest.best:
        paired = "best"
    else:
        paired = format_p_value(nearest.p_values[name], int(result["n_rows"]))
    shares = [share_text(result, key) for key in SHARES]
    return [
        *(name, f"{result['n_rows']:,}", p_value_digits(result["human_parity_p_value"], result["n_rows"])),
        *(as_rows_to_detect(result), *shares, f"{result[ENERGY]:.4f}", paired),
    ]


def decoding_sentences(compared: SettingsAgainstPeople) -> list[str]:
    """Return the answer in sentences."""
    nearest = compared.nearest
    sentences = [LEGEND, *([compared.note] if compared.note else [])]
    best = f"Most human-like: {nearest.best} (rows to detect: {as_rows_to_detect(nearest.results[nearest.best])})."
    if nearest.alike:
        best += f" No difference from it detected: {', '.join(nearest.alike)}."
    tested = [name for name in nearest.p_values if name != nearest.best and not nearest.systems[name].copies]
    if len(nearest.alike) < len(tested):
        which = "All others" if len(tested) == len(nearest.systems) - 1 else "All others that were compared with it"
        best += f" {which} differ from it (test of pairs, Holm), or from people, from whom it does not."
    sentences.append(best)
    sentences += [
        f"{share_text(system.result, 'copied_share')} of the captions of {name} also occur among the references of "
        "their row: copied, or very common ones. It is ranked last."
        for name, system in nearest.systems.items()
        if system.copies
    ]
    sentences += [_half_sentence(half) for half in nearest.halves]
    if len(nearest.halves) > 1:
        chosen = list(dict.fromkeys(half.setting for half in nearest.halves))
        p_value = format_p_value(nearest.p_value, min(int(half.result["n_rows"]) for half in nearest.halves))
        both = f"Both ways round: {p_value}."
        if len(chosen) > 1:
            both = f"The halves choose different settings, {' and '.join(chosen)}: each p is for its own alone."
        sentences.append(
            f"{both} The p of the table is from all rows, among which {nearest.best} was chosen: it is no fair test "
            f"of {nearest.best}."
        )
    return sentences


def _half_sentence(half: Half) -> str:
    result = half.result
    return (
        f"Chosen on {half.n_chosen:,} rows: {half.setting}. On {result['n_rows']:,} others it has "
        f"{format_p_value(result['human_parity_p_value'], result['n_rows'])}, rows to detect: "
        f"{as_rows_to_detect(result)}, energy distance {result[ENERGY]:.4f}."
    )


def screen_table(compared: SettingsAgainstPeople) -> list[str]:
    """Return the lines of the table in a terminal, at most `WIDTH` columns wide.

    Faults hold what is unsupported; rows are the same of all settings but within a budget; generic captions and
    near-duplicates have their intervals on the page. Names of settings are shortened if nothing else helps.
    """
    header, *cells = table(compared)
    are_alike = len({row[1] for row in cells[:-1]}) == 1
    rows = [dict(zip(header, row, strict=True)) for row in cells]
    has_faults = rows[0]["faults"] != share_text({"faults": math.nan}, "faults")
    left_out = ["unsupported" if has_faults else "faults", *(["rows"] if are_alike else [])]
    columns = [name for name in header if name not in left_out]
    for row in rows:
        row |= {name: row[name].partition(" [")[0] for name in ("generic", "near-duplicates")}
    titles = {name: ("", name) for name in columns} | {
        "rows to detect": ("rows to", "detect"),
        "near-duplicates": ("near-", "duplicates"),
        "to the best": ("to the", "best"),
    }
    rows = [*({name: titles[name][line] for name in columns} for line in (0, 1)), *rows]
    widths = {name: max(len(row[name]) for row in rows) for name in columns}
    n_free = WIDTH - sum(widths[name] + 2 for name in columns[1:])
    widths["setting"] = max(len("setting"), min(widths["setting"], n_free))
    return align_columns([[shorten(row[name], widths[name]) for name in columns] for row in rows])


def decoding_screen(compared: SettingsAgainstPeople) -> str:
    """Return table and sentences, as a terminal shows them."""
    lines = screen_table(compared)
    sentences = [
        line
        for sentence in decoding_sentences(compared)
        for line in textwrap.wrap(sentence, WIDTH, subsequent_indent="  ")
    ]
    return "\n".join([*lines, "", *sentences])
