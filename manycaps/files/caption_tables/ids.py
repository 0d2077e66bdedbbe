"""Ids of two files that do not meet: what they differ in, as a person would see it beside each other."""

import itertools
import re
import unicodedata
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence

from manycaps.kit.errors import InputError, quote_value

# Ids of each file at most that are looked at: enough to see what all of them have in common.
MOST_IDS = 100_000

# Share of the ids of the shorter file that meet where the difference explains it.
LEAST_MET = 0.5

# Characters of an id that are shown.
MOST_CHARACTERS = 80

# A difference that nobody sees: a letter with its accent, or both after each other.
UNICODE = "the form of their Unicode alone, NFC or NFD"

# What ids may differ in, and what makes them alike, in this order.
FORMS: Mapping[str, Callable[[str], str]] = {
    UNICODE: lambda name: unicodedata.normalize("NFC", name),
    "blanks": lambda name: " ".join(name.split()),
    "the folders before the name": lambda name: re.split(r"[/\\]", name)[-1],
    "the number of the caption behind #": lambda name: re.sub(r"#\d+$", "", name),
    "the ending, such as .jpg": lambda name: re.sub(r"(?<=.)\.[A-Za-z]\w{1,4}$", "", name),
    "a point behind whole numbers, such as 1.0": lambda name: re.sub(r"(?<=\d)\.0+$", "", name),
    "upper and lower case": str.casefold,
    "leading zeros": lambda name: re.sub(r"(?<!\d)0+(?=\d)", "", name),
}

# Tried where these do not explain it: COCO_val2014_000000000042 and 42.
NUMBER = "the text around the last number"


def difference_of_ids(ids: Sequence[str], others: Sequence[str]) -> str | None:
    """Say what the ids of two files, none of which is in the other, differ in, with a pair of them; None if unknown.

    >>> difference_of_ids(["COCO_val2014_000000000042.jpg", "x"], ["42", "43"])
    "the text around the last number ('COCO_val2014_000000000042.jpg' and '42')"
    >>> difference_of_ids(["007.jpg", "008.jpg"], ["8", "7"])
    "the ending, such as .jpg, and leading zeros ('007.jpg' and '7')"
    >>> difference_of_ids(["a"], ["b"])
    """
    ids, others = ids[:MOST_IDS], others[:MOST_IDS]
    forms = dict(FORMS)
    if _met(ids, others, forms) is None:
        forms = {NUMBER: _last_number}
    pair = _met(ids, others, forms)
    if pair is None:
        return None
    for name in list(forms):
        fewer = {other: form for other, form in forms.items() if other != name}
        if fewer and (met := _met(ids, others, fewer)) is not None:
            forms, pair = fewer, met
    # Forms of Unicode look the same unless they are escaped.
    shown = (ascii(name)[:MOST_CHARACTERS] if UNICODE in forms else quote_value(name) for name in pair)
    return f"{', and '.join(forms)} ({' and '.join(shown)})"


def _last_number(name: str) -> str:
    """The last whole number of an id without its leading zeros; the id itself where there is none."""
    numbers: list[str] = re.findall(r"\d+", name)
    return numbers[-1].lstrip("0") or "0" if numbers else name


def _met(
    ids: Sequence[str], others: Sequence[str], forms: Mapping[str, Callable[[str], str]]
) -> tuple[str, str] | None:
    """The first pair of ids that are alike in some forms, if enough of the shorter list are."""

    def alike(names: Sequence[str]) -> dict[str, str]:
        made: dict[str, str] = {}
        for name in names:
            form = name
            for make in forms.values():
                form = make(form)
            made.setdefault(form, name)
        return made

    mine, theirs = alike(ids), alike(others)
    met = [form for form in mine if form in theirs]
    if not met or len(met) < LEAST_MET * min(len(mine), len(theirs)):
        return None
    return mine[met[0]], theirs[met[0]]


def labels_of_ids(ids: Iterable[str], pattern: str) -> list[str]:
    """Return the cluster of each id, its match of the regular expression of --clusters.

    >>> labels_of_ids(["1#0", "1#1", "2#0"], "^[^#]+")
    ['1', '1', '2']
    """
    try:
        expression = re.compile(pattern)
    except re.error as error:
        raise InputError("--clusters", "a regular expression", f"{pattern!r} ({error})", "Fix it.") from None
    labels = []
    for name in ids:
        match = expression.search(name)
        if match is None:
            raise InputError("--clusters", f"{pattern!r} in every id", f"{name!r}", "Fix the expression.")
        labels.append(match.group())
    return labels


def check_ids_meet(
    where: str, ids: Collection[Hashable], other: str, others: Collection[Hashable], fix: str = ""
) -> None:
    """Raise a ValueError that shows ids of both files, and what they differ in, where they have none in common.

    >>> check_ids_meet("a.csv", ["1"], "b.csv", ["2", "1"])
    >>> check_ids_meet("a.csv", ["01", "02"], "b.csv", ["1", "2"])
    Traceback (most recent call last):
    manycaps.kit.errors.InputError: a.csv: expected ids that b.csv has, such as '1', got none of these in 2 rows, \
the first with the id '01'. They differ in leading zeros ('01' and '1'): write them alike.
    """
    if not ids or not others or not set(ids).isdisjoint(others):
        return
    raise ids_error(where, ids, other, others, fix)


def ids_error(
    where: str, ids: Collection[Hashable], other: str, others: Collection[Hashable], fix: str = ""
) -> InputError:
    """Return the error of two files that have no id in common."""
    shown = next(iter(ids)), next(iter(others))
    kinds = [type(name) for name in shown]
    texts = [[str(name) for name in itertools.islice(names, MOST_IDS)] for names in (ids, others)]
    if kinds[0] is not kinds[1] and not set(texts[0]).isdisjoint(texts[1]):
        difference: str | None = f"their type, {kinds[0].__name__} and {kinds[1].__name__}"
    else:
        difference = difference_of_ids(*texts)
    rows = f"{len(ids):,} {'row' if len(ids) == 1 else 'rows'}"
    fix = fix or "Give files of the same rows, or name the columns of the ids with --columns id=NAME."
    got = f"none of these in {rows}, the first with the id {quote_value(shown[0])}"
    fix = fix if difference is None else f"They differ in {difference}: write them alike."
    return InputError(where, f"ids that {other} has, such as {quote_value(shown[1])}", got, fix)
