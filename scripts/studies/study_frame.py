"""The frame of the studies in docs/studies.md: a table that resumes, and further tables."""

import argparse
import csv
import io
import json
import pathlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tqdm import tqdm

from manycaps.files.result_tables import markdown_line, markdown_table
from manycaps.files.saved_files import make_folder, write_text_atomically
from manycaps.kit.errors import quote_path

# A line of a table, as in the file.
Line = Mapping[str, str]

# What a cell stands for: the first columns of its lines.
Cell = tuple[Any, ...]

# Options that a table does not depend on: where it is written, and which cells it has, so that more can be added.
NO_SETTINGS = ("output", "trials", "settings")


def study_settings(options: argparse.Namespace) -> dict[str, Any]:
    """Return what the cells of a table depend on: all options but `NO_SETTINGS`."""
    return {name: as_json_option(value) for name, value in vars(options).items() if name not in NO_SETTINGS}


def as_json_option(value: Any) -> Any:
    """Return an option as JSON can hold it; of a path its name alone, so that no file names a machine's folders."""
    if isinstance(value, pathlib.Path):
        return value.name
    return [as_json_option(item) for item in value] if isinstance(value, list | tuple) else value


class StudyTable:
    """A CSV file that is filled cell by cell: what an interrupted study has computed is not computed again.

    A cell has any number of lines. The file is replaced after each cell, so that it never holds a part of one, and at
    the end its lines stand in the order of the cells: an interrupted study leaves the same bytes as an undisturbed one.
    """

    def __init__(
        self, folder: pathlib.Path, name: str, key: Sequence[str], columns: Sequence[str], settings: Mapping[str, Any]
    ):
        """Read an existing table, NAME.csv of the folder, which is created if it does not exist.

        `key` names the first columns, which say what a cell is about, and `columns` the others. `settings` are
        everything that the numbers depend on, as JSON can hold it, and are kept in NAME.json. Raises ValueError if the
        folder has a table that was made with other settings.
        """
        self._name, self._path = name, make_folder(folder) / f"{name}.csv"
        self._key, self._columns = tuple(key), (*key, *columns)
        self._lines: dict[tuple[str, ...], list[Line]] = {}
        made_with = folder / f"{name}.json"
        text = json.dumps({"study": name, "settings": settings}, indent=1, sort_keys=True) + "\n"
        if self._path.exists():
            if not made_with.exists() or made_with.read_text(encoding="utf-8") != text:
                raise ValueError(
                    f"{quote_path(self._path)}: expected a table made with the settings of this call, got one made "
                    f"with {made_with.name}. Choose another --output, or delete the table."
                )
            for line in read_lines(self._path):
                self._lines.setdefault(tuple(line[column] for column in self._key), []).append(line)
        write_text_atomically(made_with, text)

    def fill(self, cells: Iterable[Cell], study: Callable[..., Iterable[Sequence[Any]]]) -> list[Line]:
        """Compute the cells that the file does not have, and return the lines of all cells, in their order.

        Args:
            cells: values of the key's columns; strings or whole numbers.
            study: called with a cell's values; returns the lines of the cell, each with the values of the columns.
        """
        keys = {tuple(map(str, cell)): cell for cell in cells}
        for key, cell in tqdm(keys.items(), desc=self._name, unit="cell"):
            if key not in self._lines:
                lines = [map(as_cell, (*cell, *values)) for values in study(*cell)]
                self._lines[key] = [dict(zip(self._columns, line, strict=True)) for line in lines]
                self._write()
        # Lines of cells that this call does not ask for come last.
        self._lines = {key: self._lines[key] for key in keys} | self._lines
        self._write()
        return [line for key in keys for line in self._lines[key]]

    def _write(self) -> None:
        lines = (line.values() for lines in self._lines.values() for line in lines)
        write_lines(self._path, self._columns, lines)


def as_cell(value: Any) -> str:
    """Format a value for a table: six digits of a number that is not whole.

    >>> [as_cell(value) for value in ("human", 3, 0.123456789, float("nan"))]
    ['human', '3', '0.123457', 'nan']
    """
    return f"{float(value):.6g}" if hasattr(value, "__float__") and not isinstance(value, int) else str(value)


def write_lines(path: pathlib.Path, columns: Sequence[str], lines: Iterable[Iterable[Any]]) -> None:
    """Write a table, whole or not at all."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(map(as_cell, line) for line in lines)
    write_text_atomically(path, text.getvalue(), newline="")


def read_lines(path: pathlib.Path) -> list[Line]:
    """Return the lines of a table."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def print_table(head: Sequence[str], rows: Iterable[Iterable[str]]) -> None:
    """Print a table in Markdown, row by row as they come."""
    print(markdown_table([head]), flush=True)
    for row in rows:
        print(markdown_line(row), flush=True)


def numbers(lines: Iterable[Line], column: str, **where: Any) -> list[float]:
    """Return a column of the lines that have the values of `where`.

    >>> numbers([{"system": "a", "z": "1.5"}, {"system": "b", "z": "2"}], "z", system="a")
    [1.5]
    """
    return [float(line[column]) for line in matching_lines(lines, **where)]


def matching_lines(lines: Iterable[Line], **where: Any) -> list[Line]:
    """Return the lines that have the values of `where`."""
    wanted = {column: str(value) for column, value in where.items()}
    return [line for line in lines if wanted.items() <= line.items()]


def distinct(lines: Iterable[Line], *columns: str) -> list[Any]:
    """Return the values of a column, or of several, each once, in the order of the lines.

    >>> distinct([{"a": "1", "b": "2"}, {"a": "1", "b": "3"}], "a"), distinct([{"a": "1", "b": "2"}], "a", "b")
    (['1'], [('1', '2')])
    """
    rows = dict.fromkeys(tuple(line[column] for column in columns) for line in lines)
    return [row[0] for row in rows] if len(columns) == 1 else list(rows)
