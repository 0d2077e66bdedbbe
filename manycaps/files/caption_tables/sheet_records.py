"""Records of .xlsx files, read by openpyxl as a stream: the only sheet with content, whose first row has the names."""

import os
import zipfile
from collections.abc import Iterator
from typing import Any

from manycaps.kit.errors import InputError, as_input_errors, reason_of
from manycaps.kit.files import EXPANSION_BYTES, MOST_EXPANSION

from .files import Record, TableFile, Unreadable, open_bytes
from .text_records import check_names

# Most rows of a sheet, of the file format.
MOST_ROWS = 1 << 20

# What cells hold whose formula fails: ECMA-376, part 1, 18.17.3.
ERRORS = {"#DIV/0!", "#N/A", "#NAME?", "#NULL!", "#NUM!", "#REF!", "#VALUE!"}


def sheet_records(file: TableFile) -> Iterator[Record | Unreadable]:
    """Read the rows of a sheet; cells are text, as in a .csv file of the same sheet, and empty ones no value."""
    from openpyxl import load_workbook

    with open_bytes(file.path) as stream:
        with as_input_errors(file.path, "an .xlsx file", "Save it again, or as .csv.", "one that cannot be read"):
            _check_size(stream, file)
            book = load_workbook(stream, read_only=True, data_only=True)
            filled = [sheet for sheet in book.worksheets if any(map(_has_cells, _rows(sheet)))]
        if len(filled) > 1:
            got = f"{len(filled)}: {', '.join(sheet.title for sheet in filled)}"
            raise InputError(file.path, "one sheet with content", got, "Save the sheet of the captions as a file.")
        rows = (row for sheet in filled for row in _rows(sheet) if _has_cells(row))
        names = [str(cell or "").strip() for cell in next(rows, ())]
        check_names(names, file)
        number = 0
        try:
            for row in rows:
                yield _record(number, names, row)
                number += 1
        except InputError as error:
            yield Unreadable(number, error.within(f"row[{number}]"))
        except Exception as error:  # openpyxl raises what the parser of XML, and its own, raise
            expected, got = "rows of a sheet from here on", f"damage ({reason_of(error)})"
            yield Unreadable(number, InputError(f"row[{number}]", expected, got, "Save it again."))


def _rows(sheet: Any) -> Iterator[tuple[Any, ...]]:
    """Rows of a sheet, as far as there may be any: a row may say that it is the last of trillions."""
    sheet.reset_dimensions()  # some programs write wrong ones
    for number, row in enumerate(sheet.iter_rows(values_only=True)):
        if number >= MOST_ROWS:
            raise InputError("", f"a sheet of at most {MOST_ROWS:,} rows", "more", "Save it as .csv.")
        yield row


def _has_cells(row: tuple[Any, ...]) -> bool:
    return any(cell is not None for cell in row)


def _record(number: int, names: list[str], row: tuple[Any, ...]) -> Record | Unreadable:
    values = {name: None if cell is None else str(cell) or None for name, cell in zip(names, row, strict=False)}
    wrong = next((name for name, cell in values.items() if cell in ERRORS), None)
    if wrong is not None:
        got = f"the error {values[wrong]} of a formula"
        return Unreadable(number, InputError(f"{wrong}[{number}]", "a value", got, "Write a text into the cell."))
    return Record(number, values)


def _check_size(stream: Any, file: TableFile) -> None:
    """Raise if the parts of the file expand beyond the limit of compressed files; `zipfile` reads what they declare."""
    n_bytes = sum(part.file_size for part in zipfile.ZipFile(stream).infolist())
    stream.seek(0, os.SEEK_SET)
    if n_bytes > max(EXPANSION_BYTES, MOST_EXPANSION * file.n_bytes):
        expected = f"an .xlsx file that expands to at most {MOST_EXPANSION} times its size"
        raise InputError(file.path, expected, f"one of {n_bytes:,} bytes", "If it is right, save it as .csv.")
