"""Lists of captions in one cell of a table, as JSON, Python and NumPy write them."""

import ast
import json
import re

from manycaps.kit.base_messages import shown_value

# How such a cell begins: a bracket before a quote, which no caption has, or an empty list.
BEGINNING = re.compile(r"""\s*\[(?:\s*\]\s*$|[\s\[]*(?:np\.str_\()?['"])""")

# One item as Python writes it, alone or as a string of NumPy, and what stands before the next: NumPy writes no commas.
ITEM = re.compile(r"""\s*(np\.str_\()?('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")(?(1)\))(?:\s*,|(?=\s|\]))""", re.DOTALL)


def looks_like_list(cell: str) -> bool:
    """Whether the text of a cell is meant as a list of strings.

    >>> looks_like_list("['a dog' 'a cat']"), looks_like_list("[music] plays")
    (True, False)
    """
    return BEGINNING.match(cell) is not None


def read_list(cell: str, where: str) -> list[str]:
    r"""Read a list of strings in a cell that looks like one; raise a ValueError if it is not a list.

    >>> read_list("['a dog' \"a cat's tail\"]", "captions[0]"), read_list('["a dog", "a cat"]', "captions[0]")
    (['a dog', "a cat's tail"], ['a dog', 'a cat'])
    """
    items = _of_json(cell)
    items = _of_python(cell.strip()) if items is None else items
    if items is None or not all(isinstance(item, str) for item in items):
        raise ValueError(
            f"{where}: expected a caption or a list of captions, got {shown_value(cell)}, which looks like a list and "
            'cannot be read as one. Write it as JSON, ["a dog", "a cat"], or leave the row out.'
        )
    return items


def _of_json(cell: str) -> list[str] | None:
    try:
        items = json.loads(cell)
    except (ValueError, RecursionError):
        return None
    return items if isinstance(items, list) else None


def _of_python(cell: str) -> list[str] | None:
    """Items of a list of Python or NumPy; `ast.literal_eval` would join strings without commas into one."""
    items, start = [], 1
    while match := ITEM.match(cell, start):
        try:
            items.append(str(ast.literal_eval(match[2])))
        except (ValueError, SyntaxError):
            return None
        start = match.end()
    return items if re.fullmatch(r"\s*\]", cell[start:]) else None
