"""Columns of captions in odd containers and with odd values."""

import array
import collections
import itertools
import pathlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas

from tests.hostile_inputs.rule import Case
from tests.modules.sample_inputs import SAMPLE_INPUTS

# Every column of captions of every module, and of which rows: of lists of captions, or of single ones.
COLUMNS = [
    (module, column, isinstance(rows[0], str))
    for module, columns in SAMPLE_INPUTS.items()
    for column, rows in columns.items()
    if column not in ("images", "videos")
]

# The first of each module.
FIRST = {module: column for module, column, _ in reversed(COLUMNS)}


def with_row(module: str, column: str, row: Any) -> Case:
    """Return a case whose third row of a column is the hostile one."""

    def given(_: pathlib.Path, columns: dict[str, Any]) -> dict[str, Any]:
        rows = list(columns[column])
        rows[2] = row
        return {**columns, column: rows}

    return Case(module, given, f"{column}[2]")


def whole(module: str, column: str, make: Callable[[list[Any]], Any], where: str) -> Case:
    """Return a case whose column is made of the good rows."""

    def given(_: pathlib.Path, columns: dict[str, Any]) -> dict[str, Any]:
        return {**columns, column: make([[row] if isinstance(row, str) else list(row) for row in columns[column]])}

    return Case(module, given, where)


def same(module: str, column: str, make: Callable[[list[Any]], Any]) -> Case:
    """Return a case whose column is another container of the good rows."""

    def equal(result: dict[str, Any], expected: dict[str, Any]) -> bool:
        return result.keys() == expected.keys() and all(
            np.isclose(result[key], expected[key], rtol=1e-5, atol=1e-5, equal_nan=True) for key in expected
        )

    return Case(module, lambda _, columns: {**columns, column: make(columns[column])}, check=equal, adds=False)


def frame(rows: list[Any]) -> Any:
    """Return a table of pandas, which yields the names of its columns."""
    return pandas.DataFrame({"first": [row[0] for row in rows], "second": [row[-1] for row in rows]})


def frame_of_rows(rows: list[Any]) -> Any:
    """Return a table of pandas with as many columns as rows."""
    return pandas.DataFrame({f"column {i}": [row] for i, row in enumerate(rows)})


def series(rows: list[Any]) -> Any:
    """Return a column of pandas whose index is not 0, 1, 2."""
    return pandas.Series(list(rows), index=range(10, 10 + len(rows)))


def arrow_table(rows: list[Any]) -> Any:
    """Return a table of Arrow."""
    import pyarrow

    return pyarrow.table({"first": rows, "second": rows})


def arrow_column(rows: list[Any]) -> Any:
    """Return a column of Arrow."""
    import pyarrow

    return pyarrow.array([row if isinstance(row, str) else list(row) for row in rows])


def data_set(rows: list[Any]) -> Any:
    """Return a data set, whose rows are dicts."""
    import datasets

    return datasets.Dataset.from_dict({"first": rows})


def data_set_column(rows: list[Any]) -> Any:
    """Return a column of a data set."""
    import datasets

    return datasets.Dataset.from_dict({"first": rows})["first"]


def tensor(rows: list[Any]) -> Any:
    """Return numbers."""
    import torch

    return torch.zeros(len(rows), 2)


# A list that holds itself.
HOLDS_ITSELF: list[Any] = ["a dog"]
HOLDS_ITSELF.append(HOLDS_ITSELF)

BAD_ROWS: dict[str, Any] = {
    "none": None,
    "number": 3,
    "nan": float("nan"),
    "bytes": b"a dog",
    "dict": {"a dog": 1},
    "empty": [],
    "of_none": ["a dog", None],
    "of_numbers": ["a dog", 3],
    "of_bytes": ["a dog", b"a cat"],
    "of_lists": ["a dog", ["a cat"]],
    "of_nan": ["a dog", float("nan")],
    "surrogate": ["a dog", "half \ud83d a smile"],
    "set": {"a dog", "a cat", "a cow"},
    "frozen_set": frozenset(["a dog", "a cat", "a cow"]),
    "array_of_numbers": np.zeros(3),
    "array_without_dimension": np.array("a dog"),
    "array_of_bytes": np.array([b"a dog", b"a cat"]),
    "range": range(3),
    "object": object(),
    "function": len,
    "counter": collections.Counter(["a dog"]),
    "byte_array": bytearray(b"a dog"),
    "memory": memoryview(b"a dog"),
    "machine_array": array.array("i", [1, 2]),
    "frame": pandas.DataFrame({"a dog": ["a cat"]}),
    "holds_itself": HOLDS_ITSELF,
}

BAD_COLUMNS: dict[str, Callable[[list[Any]], Any]] = {
    "frame": frame,
    "frame_of_rows": frame_of_rows,
    "arrow_table": arrow_table,
    "data_set": data_set,
    "tensor": tensor,
    "text": lambda rows: "a dog",
    "bytes": lambda rows: b"a dog",
    "dict": lambda rows: dict(enumerate(rows)),
    "ordered_dict": lambda rows: collections.OrderedDict(enumerate(rows)),
    "set": lambda rows: {tuple(row) for row in rows},
    "number": lambda rows: 4,
    "empty": lambda rows: [],
    "too_many": lambda rows: [*rows, *rows],
    "too_few": lambda rows: rows[:3],
    "no_dimension": lambda rows: np.array("a dog"),
    "empty_array": lambda rows: np.zeros((0, 2)),
    "object": lambda rows: object(),
    "type": lambda rows: list,
    "records": lambda rows: np.array([("a dog", 1)] * len(rows), dtype=[("caption", "U9"), ("n", int)]),
}

GOOD_COLUMNS: dict[str, Callable[[list[Any]], Any]] = {
    "tuple": tuple,
    "iterator": iter,
    "generator": lambda rows: (row for row in rows),
    "series": series,
    "deque": collections.deque,
    "dict_values": lambda rows: dict(enumerate(rows)).values(),
    "objects": lambda rows: np.array([*rows, None], dtype=object)[:-1],
    "arrow_column": arrow_column,
    "data_set_column": data_set_column,
    "chain": lambda rows: itertools.chain(rows[:1], rows[1:]),
}

# Captions that are strange and legal: a finite number comes out.
STRANGE_CAPTIONS = {
    "empty": "",
    "blanks": "   ",
    "full_stop": ".",
    "nul": "a\0dog",
    "tabs": "a\tdog\n",
    "emoji": "\U0001f415 \U0001f3d6",
    "right_to_left": "\u202eנבח כלב",
    "marks": "a\u0301\u0301\u0301 dog",
    "surrogate_pair": "\U0001f600",
    "byte_order": "\ufeffa dog",
    "tag": "<end_of_text> a dog <start_of_text>",
    "escape": "&lt;&amp;amp;lt;",
    "brackets": "-LRB- a -RRB-",
    "quotes": "`` '' \" '",
    "not_a_character": "\uffff\ufffe",
    "private": "\ue000",
    "blank_like": "a\u00a0dog\u2003runs\u200b",
    "line_separator": "a\u2028dog\u2029",
    "chinese": "一只狗在跑",
    "upper_case": "A DOG RUNS",
    "digits": "3 dogs 1,000.5",
    "backslash": "\\a\\dog",
    "form_feed": "a\fdog",
}


def with_strange(module: str, column: str, caption: str) -> Case:
    """Return a case with one strange caption."""

    def given(_: pathlib.Path, columns: dict[str, Any]) -> dict[str, Any]:
        rows = list(columns[column])
        rows[2] = caption if isinstance(rows[2], str) else [*rows[2][:-1], caption]
        return {**columns, column: rows}

    return Case(module, given)


def swapped(module: str, where: str | None = None, **columns: Any) -> Case:
    """Return a case with other columns altogether."""
    return Case(module, lambda *_: columns, where)


CASES = {
    **{
        f"{m}/{c}_row_{n}": with_row(m, c, row) for m, c, single in COLUMNS if not single for n, row in BAD_ROWS.items()
    },
    **{
        f"{m}/{c}_{n}": whole(m, c, make, "" if n.startswith("too_") else c)
        for m, c, _ in COLUMNS
        for n, make in BAD_COLUMNS.items()
        if not (n.startswith("too_") and c == "data")
    },
    **{f"{m}/{c}_{n}_is_right": same(m, c, make) for m, c, _ in COLUMNS for n, make in GOOD_COLUMNS.items()},
    **{f"{m}/{c}_{n}": with_strange(m, c, text) for m, c, _ in COLUMNS for n, text in STRANGE_CAPTIONS.items()},
    **{f"{m}/unknown_column": Case(m, lambda _, columns: {**columns, "captions": ["a"]}, "") for m in FIRST},
    **{f"{m}/no_columns_but_options": Case(m, lambda *_: {"details": True}) for m in FIRST},
    **{
        f"{m}/one_column": Case(m, lambda _, columns, c=c: {c: columns[c]}, "") for m, c in FIRST.items() if c != "data"
    },
    **{f"{m}/all_none": swapped(m, **{c: [None] * 4}) for m, c in FIRST.items()},
}
