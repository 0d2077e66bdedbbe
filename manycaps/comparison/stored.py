"""A comparison in its folder: written as JSON, and read again without the files, models or tests behind it.

`comparison.json` has every number. JSON has no NaN and no infinity, which are null there; `shown.json` says which null
is which, and has the rows with their captions and what else sentences and pages show.
"""

import collections.abc
import dataclasses
import hashlib
import json
import math
import pathlib
import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

from manycaps.catalog.command_options import check_left_out
from manycaps.comparison.compare_options import CompareOptions
from manycaps.files.result_tables import finite
from manycaps.kit.errors import InputError, quote_path, quote_value
from manycaps.kit.files import read_json
from manycaps.kit.module import VERSION

if typing.TYPE_CHECKING:
    from manycaps.comparison.significance import Comparison

T = TypeVar("T")

# The numbers, and what is kept beside them.
NUMBERS, SHOWN = "comparison.json", "shown.json"

# Options that say how a report is shown; all others are of the comparison itself.
OF_SHOWING = ("systems", "sort", "table", "full")

# Numbers that JSON does not have, by their names in `shown.json`.
NOT_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}

# What to do about a folder that cannot be shown again.
COMPARE_AGAIN = "Compare the captions again, with -o and --overwrite."


def is_report(systems: Sequence[str]) -> bool:
    """Return whether the only system that is named is the folder of an earlier comparison."""
    return len(systems) == 1 and (pathlib.Path(systems[0]) / NUMBERS).is_file()


def check_report_options(options: CompareOptions) -> None:
    """Raise if an option is given that a finished comparison cannot follow."""
    expected, fix = "none beside a report, whose numbers are fixed", "Leave it out, or compare the captions again."
    check_left_out(options, expected, fix, but=OF_SHOWING)


def as_files(comparison: "Comparison", *, are_asked_for: bool) -> dict[str, str]:
    """Return the contents of both files by their names; `are_asked_for` is as for `say`.

    Images and videos are not kept: only a page shows them, which has its own.
    """
    whole = dataclasses.asdict(comparison)
    shown = whole.pop("shown")
    shown["rows"] = [row._replace(image=None, video=None) for row in comparison.shown.rows]
    numbers = json.dumps(finite(whole), indent=1, allow_nan=False) + "\n"
    kept = {
        "version": VERSION,
        "sha256": hashlib.sha256(numbers.encode()).hexdigest(),
        "are_asked_for": are_asked_for,
        "not_finite": {name: list(_places(_plain(whole), name)) for name in NOT_FINITE},
        # Captions may hold what is no Unicode, such as half a surrogate pair: JSON escapes it.
        "shown": finite(shown),
    }
    return {NUMBERS: numbers, SHOWN: json.dumps(kept, allow_nan=False) + "\n"}


def read_report(folder: str) -> tuple["Comparison", bool]:
    """Read the comparison in a folder, and whether its metrics were chosen.

    Raises:
        ValueError, OSError: a file is missing or was changed, or another version wrote it.
    """
    from manycaps.comparison.significance import Comparison

    path = pathlib.Path(folder) / SHOWN
    if not path.is_file():
        raise InputError(quote_path(folder), f"a report with {SHOWN}", "one without", COMPARE_AGAIN)
    numbers = path.with_name(NUMBERS).read_bytes()
    kept = read_json(path, quote_path(path), COMPARE_AGAIN)
    version = kept.get("version") if isinstance(kept, dict) else None
    if version != VERSION:
        raise InputError(quote_path(path), f"a report of manycaps {VERSION}", quote_value(version), COMPARE_AGAIN)
    if kept["sha256"] != hashlib.sha256(numbers).hexdigest():
        got = f"another {NUMBERS} than was written with it"
        raise InputError(quote_path(path), f"{NUMBERS} as it was written", got, COMPARE_AGAIN)
    whole = json.loads(numbers)
    for name, places in kept["not_finite"].items():
        for place in places:
            _put(whole, place, NOT_FINITE[name])
    return rebuilt(Comparison, whole | {"shown": kept["shown"]}), kept["are_asked_for"]


def _plain(value: Any) -> Any:
    """A value of dicts and lists, as JSON will have it, with its NaN and infinity."""
    if hasattr(value, "_asdict"):
        return _plain(value._asdict())
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


def _places(value: Any, name: str) -> Iterator[list[str | int]]:
    """Yield where numbers of one kind stand: keys and indices from the outermost."""
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            for place in _places(item, name):
                yield [key, *place]
    elif isinstance(value, float) and not math.isfinite(value) and str(float(value)) == name:
        yield []


def _put(whole: Any, place: Sequence[str | int], value: float) -> None:
    *outer, last = place
    for key in outer:
        whole = whole[key]
    whole[last] = value


def rebuilt(kind: Any, value: Any) -> Any:
    """Return a value out of dicts and lists as its type says: data classes, named tuples, and what they hold.

    >>> from manycaps.comparison.read import SystemRow
    >>> rebuilt(Sequence[SystemRow], [{"id": "1", "captions": {"a": ["a dog"]}}])[0].captions
    {'a': ['a dog']}
    """
    origin, of = typing.get_origin(kind), typing.get_args(kind)
    if value is None or kind is Any:
        return value
    if origin in (types.UnionType, typing.Union):
        return rebuilt(next(each for each in of if each is not types.NoneType), value)
    if origin is collections.abc.Mapping:
        return {key: rebuilt(of[1], item) for key, item in value.items()}
    if origin is collections.abc.Sequence:
        return [rebuilt(of[0], item) for item in value]
    if dataclasses.is_dataclass(kind) or hasattr(kind, "_fields"):
        kinds = typing.get_type_hints(kind)
        return kind(**{name: rebuilt(kinds[name], item) for name, item in value.items()})
    return value
