"""The captions behind a verdict: those of a system that are most unlike people's, and its pairs that are most alike."""

from collections.abc import Sequence
from typing import NamedTuple

from manycaps.comparison.parity import SystemParity
from manycaps.comparison.systems import SystemRow

# Letters of a caption that a terminal shows.
MOST_LETTERS = 35


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
    if "near-duplicates" in words:
        # The pair comes first, unless the captions themselves are a reason for what is said.
        line = len(lines) if "unlike" in words else 0
        lines[line:line] = [_pair_line(shown) for shown in most_alike(system, rows, 1)]
    return lines


def _pair_line(pair: CaptionExample) -> str:
    first, second = map(_quoted, pair.captions)
    return f"{_short(pair.row.id)}: {f'{first} twice' if first == second else f'{first} and {second}'}"


def _quoted(caption: str) -> str:
    return f'"{_short(" ".join(caption.split()), MOST_LETTERS)}"'


def _short(text: str, n: int = 12) -> str:
    """The beginning of a text.

    >>> _short("beach"), _short("a_very_long_name.jpg")
    ('beach', 'a_very_long…')
    """
    return text if len(text) <= n else f"{text[: n - 1]}…"
