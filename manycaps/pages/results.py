"""Result of a page: a table, and drawings with their descriptions."""

import html
import math
import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import PIL.Image

from manycaps.files.result_tables import markdown_table


class Drawing(NamedTuple):
    """A picture and its text alternative."""

    image: PIL.Image.Image
    description: str


def result_table(
    result: Mapping[str, Any], meanings: Mapping[str, str], people: Mapping[str, float] = MappingProxyType({})
) -> str:
    """Write a module's result as a Markdown table of the keys that have a meaning, with people's number beside.

    >>> print(result_table({"a": 0.5, "n_rows": 2}, {"a": "a share", "b": "not asked for"}, {"a": 0.05}))
    | result | value | meaning |
    |:---|---:|:---|
    | `a` | 0.5000<br>people 0.0500 | a share |
    """
    shown = [(key, meaning) for key, meaning in meanings.items() if key in result]
    beside = {key: f"<br>people {as_table_cell(people[key])}" for key, _ in shown if key in people}
    rows = ([f"`{key}`", as_table_cell(result[key]) + beside.get(key, ""), meaning] for key, meaning in shown)
    return markdown_table([["result", "value", "meaning"], *rows], [":---", "---:", ":---"])


def candidate_table(result: Mapping[str, Any], captions: Sequence[str]) -> str:
    """Write the scores of the candidates of the first row as a Markdown table; an empty text where the result has none.

    >>> print(candidate_table({"rouge_l_per_candidate": [[0.5, 1.0]]}, ["a dog", "a | b"]))
    | candidate | `rouge_l` |
    |:---|---:|
    | a dog | 0.5000 |
    | a &#124; b | 1.0000 |
    """
    columns = {
        key.removesuffix("_per_candidate"): rows[0] for key, rows in result.items() if key.endswith("_per_candidate")
    }
    if not columns:
        return ""
    cells = [[as_table_cell(value) for value in values] for values in columns.values()]
    names = [html.escape(caption).replace("|", "&#124;") for caption in captions]
    header = ["candidate", *(f"`{name}`" for name in columns)]
    return markdown_table([header, *zip(names, *cells, strict=True)], [":---", *["---:"] * len(columns)])


def leading_tables(result: Mapping[str, Any], module: Any, most: int = 4) -> tuple[str, str]:
    """Return the table of the numbers of a module to read first, `most` at most, and all others, folded.

    A number that is not defined is read first only where all are. What people have stands beside the system's number.
    """
    numbers = {key: value for key, value in result.items() if isinstance(value, int | float)}
    people = {key: value for key in numbers if (value := number_of_people(key, numbers, module)) is not None}
    meanings = {key: module.meaning(key) for key in numbers if key.removesuffix(OF_PEOPLE) not in people.keys() - {key}}
    leads = [value for value in module.VALUES if value.leads]
    first = [key for value in leads for key in meanings if value.has_key(key)]
    first = ([key for key in first if not math.isnan(result[key])] or first)[:most]
    others = {key: meaning for key, meaning in meanings.items() if key not in first}
    table = result_table(result, others, people)
    return (
        result_table(result, {key: meanings[key] for key in first}, people),
        f"<details><summary>All other values</summary>\n\n{table}\n\n</details>",
    )


# Ending of the keys that have people's own number.
OF_PEOPLE = "_of_people"


def number_of_people(key: str, result: Mapping[str, float], module: Any) -> float | None:
    """Return people's own number beside a value: of the result, or what the range of the value says; None: neither.

    >>> number_of_people("words", {"words": 9.5, "words_of_people": 11.0}, None)
    11.0
    """
    if key + OF_PEOPLE in result:
        return float(result[key + OF_PEOPLE])
    value = next((value for value in getattr(module, "VALUES", ()) if value.has_key(key)), None)
    stated = re.search(r"; ([\d.]+) for people$", value.range) if value is not None else None
    return float(stated[1]) if stated and not math.isnan(result[key]) else None


def as_table_cell(value: Any) -> str:
    """Write a value for the table: counts whole, other numbers with four decimals, small ones with their power.

    A list is written item by item, and a mention of an object by its name and, if that is another, its word.

    >>> as_table_cell(12345), as_table_cell(0.25), as_table_cell(0.00002), as_table_cell(0.0), as_table_cell(math.nan)
    ('12,345', '0.2500', '2.0e-05', '0.0000', 'not defined')
    >>> as_table_cell([["dog", "puppy", 1], ["bed", "bed", 4]]), as_table_cell([]), as_table_cell(None)
    ('dog (puppy), bed', 'none', 'not defined')
    """
    if isinstance(value, str):
        return html.escape(value).replace("|", "&#124;")
    if isinstance(value, list | tuple):
        return ", ".join(map(_as_item, value)) or "none"
    if value is None:
        return "not defined"
    if isinstance(value, int):
        return f"{value:,}"
    if math.isnan(value):
        return "not defined"
    return f"{value:.1e}" if 0 < abs(value) < 0.0005 else f"{value:.4f}"


def _as_item(value: Any) -> str:
    """An item of a list in a table."""
    if not isinstance(value, list | tuple):
        return as_table_cell(value)
    names = list(dict.fromkeys(as_table_cell(part) for part in value if isinstance(part, str)))
    return f"{names[0]} ({', '.join(names[1:])})" if len(names) > 1 else ", ".join(names or map(_as_item, value))
