"""Columns of captions in odd containers and with odd values.

All of them enter by `as_caption_rows`: the tables are tried on the columns of `DOORS`, and one bad row on every column
of every module. What is strange and legal goes on to each module's own maths, and is tried on all of them.
"""

import pathlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas
import pyarrow

from tests.hostile_inputs.rule import Case, third
from tests.large_packages import datasets, torch
from tests.modules.sample_inputs import SAMPLE_INPUTS

# Every column of captions of every module.
COLUMNS = [
    (module, column)
    for module, columns in SAMPLE_INPUTS.items()
    for column in columns
    if column not in ("images", "videos")
]

# The first of each module.
FIRST = dict(reversed(COLUMNS))

# Columns of a module that answers soon.
DOORS = (("bleu_rouge", "predictions"), ("bleu_rouge", "references"))

# A list that holds itself.
HOLDS_ITSELF: list[Any] = ["a dog"]
HOLDS_ITSELF.append(HOLDS_ITSELF)

BAD_ROWS: dict[str, Any] = {
    "none": None,
    "number": 3,
    "bytes": b"a dog",
    "dict": {"a dog": 1},
    "empty": [],
    "of_bytes": ["a dog", b"a cat"],
    "of_lists": ["a dog", ["a cat"]],
    "surrogate": ["a dog", "half \ud83d a smile"],
    "set": {"a dog", "a cat", "a cow"},
    "array_of_numbers": np.zeros(3),
    "array_of_bytes": np.array([b"a dog", b"a cat"]),
    "holds_itself": HOLDS_ITSELF,
}

BAD_COLUMNS: dict[str, Callable[[list[Any]], Any]] = {
    "frame": lambda rows: pandas.DataFrame({"first": [row[0] for row in rows], "second": [row[-1] for row in rows]}),
    "arrow_table": lambda rows: pyarrow.table({"first": rows, "second": rows}),
    "data_set": lambda rows: datasets.Dataset.from_dict({"first": rows}),
    "tensor": lambda rows: torch.zeros(len(rows), 2),
    "text": lambda rows: "a dog",
    "bytes": lambda rows: b"a dog",
    "set": lambda rows: {tuple(row) for row in rows},
    "number": lambda rows: 4,
    "empty": lambda rows: [],
    "too_many": lambda rows: [*rows, *rows],
    "too_few": lambda rows: rows[:3],
    "no_dimension": lambda rows: np.array("a dog"),
    "records": lambda rows: np.array([("a dog", 1)] * len(rows), dtype=[("caption", "U9"), ("n", int)]),
}

GOOD_COLUMNS: dict[str, Callable[[list[Any]], Any]] = {
    "tuple": tuple,
    "generator": lambda rows: (row for row in rows),
    "series": lambda rows: pandas.Series(list(rows), index=range(10, 10 + len(rows))),
    "dict_values": lambda rows: dict(enumerate(rows)).values(),
    "objects": lambda rows: np.array([*rows, None], dtype=object)[:-1],
    "arrow_column": lambda rows: pyarrow.array([row if isinstance(row, str) else list(row) for row in rows]),
    "data_set_column": lambda rows: datasets.Dataset.from_dict({"first": rows})["first"],
}

# Captions that are strange and legal: a finite number comes out.
STRANGE_CAPTIONS = {
    "empty": "",
    "blank": " \t\n ",
    "punctuation only": "...!? `` '' \" ' -LRB- a -RRB- \\",
    "right to left": "\u202e\u05db\u05dc\u05d1 \u05e8\u05e5 \u0643\u0644\u0628",
    "combining": "cafe\u0301 nai\u0308ve \U0001f436\u200d\U0001f9ba",
    "NUL": "a\x00dog",
    "one very long word": "x" * 20_000,
    "many words": "a dog runs " * 600,
    "one letter that stemmers recurse on": "y" * 20_000,
    "tag": "<end_of_text> a dog <start_of_text>",
    "escape": "&lt;&amp;amp;lt;",
    "not_a_character": "\ufeffa dog\uffff\ufffe\ue000",
    "blank_like": "a\u00a0dog\u2003runs\u200b\u2028dog\u2029\f",
    "chinese": "一只狗在跑",
}


def with_row(module: str, column: str, row: Any) -> Case:
    """Return a case whose third row of a column is the hostile one."""
    return Case(module, third(column, lambda _: row), f"{column}[2]")


def with_strange(module: str, caption: str) -> Case:
    """Return a case with one strange caption, the same in each column of captions."""

    def give(folder: pathlib.Path, columns: dict[str, Any]) -> dict[str, Any]:
        for name in (column for of, column in COLUMNS if of == module):
            good = columns[name][2]
            row = caption if isinstance(good, str) else [*good[:-1], caption]
            columns = third(name, lambda _, row=row: row)(folder, columns)
        return columns

    return Case(module, give)


def whole(module: str, column: str, make: Callable[[list[Any]], Any], where: str) -> Case:
    """Return a case whose column is made of the good rows."""

    def give(_: Any, columns: dict[str, Any]) -> dict[str, Any]:
        return {**columns, column: make([[row] if isinstance(row, str) else list(row) for row in columns[column]])}

    return Case(module, give, where)


def same(module: str, column: str, make: Callable[[list[Any]], Any]) -> Case:
    """Return a case whose column is another container of the good rows."""

    def equal(result: dict[str, Any], expected: dict[str, Any]) -> bool:
        return result.keys() == expected.keys() and all(
            np.isclose(result[key], expected[key], rtol=1e-5, atol=1e-5, equal_nan=True) for key in expected
        )

    return Case(module, lambda _, columns: {**columns, column: make(columns[column])}, check=equal, adds=False)


CASES = {
    **{f"{m}/{c}_row_{n}": with_row(m, c, row) for m, c in DOORS for n, row in BAD_ROWS.items()},
    **{
        f"{m}/{c}_{n}": whole(m, c, make, "" if n.startswith("too_") else c)
        for m, c in DOORS
        for n, make in BAD_COLUMNS.items()
    },
    **{f"{m}/{c}_{n}_is_right": same(m, c, make) for m, c in DOORS for n, make in GOOD_COLUMNS.items()},
    **{f"{m}/{c}_bad_row": with_row(m, c, b"a dog") for m, c in COLUMNS},
    **{f"{m}/captions_{n}": with_strange(m, text) for m in FIRST for n, text in STRANGE_CAPTIONS.items()},
    "bleu_rouge/no_columns_but_options": Case("bleu_rouge", lambda *_: {"details": True}),
    "bleu_rouge/one_column": Case("bleu_rouge", lambda _, columns: {"references": columns["references"]}, ""),
    "bleu_rouge/all_none": Case("bleu_rouge", lambda *_: {"references": [None] * 4}),
}
