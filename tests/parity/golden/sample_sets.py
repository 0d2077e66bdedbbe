"""The sets of candidates and references that the golden distribution metrics compare."""

from typing import Any

from tests.parity.golden.golden_file import caption_rows

# Row of captions.json, first candidate, number of candidates, number of references.
SETS = (
    ("pancake_breakfast/diverse", 0, 5, 5),
    ("pancake_breakfast/repeating", 0, 5, 5),
    ("pancake_breakfast/off_topic", 0, 5, 5),
    ("kite_on_beach/diverse", 0, 10, 5),
    ("kite_on_beach/repeating", 0, 4, 6),
    ("kite_on_beach/off_topic", 0, 6, 6),
    ("street_market/diverse", 0, 10, 6),
    ("street_market/diverse", 2, 2, 3),
    ("street_market/off_topic", 3, 3, 2),
    ("dog_in_snow/diverse", 0, 4, 4),
    ("dog_in_snow/diverse", 5, 1, 5),
    ("dog_in_snow/diverse", 5, 5, 1),
    ("football_match/diverse", 1, 2, 2),
    ("football_match/diverse", 1, 7, 4),
    ("nasty/numbers", 0, 3, 3),
    ("nasty/clitics", 0, 5, 5),
    ("nasty/accents_and_scripts", 0, 4, 4),
    ("nasty/emoji", 0, 3, 4),
    ("nasty/spaces", 0, 4, 4),
    ("nasty/very_short", 0, 4, 4),
    ("nasty/stems_and_synonyms", 0, 5, 5),
    ("nasty/same_words", 0, 5, 5),
    ("nasty/same_words", 0, 3, 2),
    ("made/0", 0, 3, 3),
    ("made/1", 0, 7, 4),
    ("made/2", 3, 4, 4),
)


def samples() -> list[dict[str, Any]]:
    """Return name, n, m, candidates and references of each set."""
    rows = {row["_id"]: row for row in caption_rows()}
    return [
        {
            "name": f"{name} {n}+{m}",
            "n": n,
            "m": m,
            "candidates": rows[name]["candidates"][first : first + n],
            "references": rows[name]["references"][:m],
        }
        for name, first, n, m in SETS
    ]


def texts() -> list[str]:
    """Return every text of the sets once."""
    return list(dict.fromkeys(text for sample in samples() for text in sample["candidates"] + sample["references"]))
