"""Result of a page: a table, and drawings with their descriptions."""

import html
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import PIL.Image

from manycaps.tables import markdown_table


class Drawing(NamedTuple):
    """A picture and its text alternative."""

    image: PIL.Image.Image
    description: str


def result_table(result: Mapping[str, Any], meanings: Mapping[str, str]) -> str:
    """Write a module's result as a Markdown table of the keys that have a meaning.

    >>> print(result_table({"a": 0.5, "n_rows": 2}, {"a": "a share", "b": "not asked for"}))
    | result | value | meaning |
    |:---|---:|:---|
    | `a` | 0.5000 | a share |
    """
    shown = ((key, meaning) for key, meaning in meanings.items() if key in result)
    rows = ([f"`{key}`", as_table_cell(result[key]), meaning] for key, meaning in shown)
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


def leading_tables(result: Mapping[str, Any], module: Any) -> tuple[str, str]:
    """Return the table of the numbers of a module to read first, four at most, and all others, folded.

    A number that is not defined is read first only where all are.
    """
    meanings = {key: module.meaning(key) for key, value in result.items() if isinstance(value, int | float)}
    leads = [value for value in module.VALUES if value.leads]
    first = [key for key in meanings if any(value.has_key(key) for value in leads)]
    first = ([key for key in first if not math.isnan(result[key])] or first)[:4]
    others = {key: meaning for key, meaning in meanings.items() if key not in first}
    table = result_table(result, others)
    return (
        result_table(result, {key: meanings[key] for key in first}),
        f"<details><summary>All other values</summary>\n\n{table}\n\n</details>",
    )


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
