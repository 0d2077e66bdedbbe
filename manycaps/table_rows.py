"""Rows of tables in files: text by Python's own parsers, since pyarrow's reader of JSON can end the process."""

import pathlib
from collections.abc import Iterator, Mapping
from typing import Any

from manycaps.shared_demo_files import file_entries
from manycaps.shared_input_files import is_regular_file
from manycaps.shared_messages import is_in_house_form, reason_of, shown_path, shown_value

# Endings that are read.
TABLE_ENDINGS = (".json", ".jsonl", ".csv", ".parquet")


def table_rows(path: pathlib.Path) -> Iterator[Mapping[str, Any]]:
    """Yield the rows of a table, whatever is in the file.

    Args:
        path: a file that ends in one of `TABLE_ENDINGS`; text is UTF-8.

    Yields:
        Values by the names of columns.

    Raises:
        ValueError: there is no such file, it has another ending, it cannot be read, or a row has no columns.
    """
    if path.suffix not in TABLE_ENDINGS:
        raise ValueError(
            f"{shown_path(path)}: expected a file ending in {', '.join(TABLE_ENDINGS)}, got "
            f"{path.suffix or 'no ending'}. Convert it, or rename it."
        )
    if not is_regular_file(path):
        raise ValueError(f"{shown_path(path)}: expected a file, got none of that name. Check the path.")
    try:
        yield from _parquet_rows(path) if path.suffix == ".parquet" else _text_rows(path)
    except Exception as error:  # pyarrow and datasets raise their own
        if is_in_house_form(error):
            raise
        raise ValueError(
            f"{shown_path(path)}: expected a table of the kind {path.suffix}, got {type(error).__name__} "
            f"({reason_of(error)}). Check the file."
        ) from error


def _text_rows(path: pathlib.Path) -> Iterator[Mapping[str, Any]]:
    with path.open(encoding="utf-8-sig") as file:
        for place, value, _ in file_entries(file, path.suffix, str(path)):
            if not isinstance(value, Mapping):
                raise ValueError(
                    f"{shown_path(path)}, {place}: expected values by the names of columns, got {shown_value(value)}. "
                    "Check this place in the file."
                )
            yield value


def _parquet_rows(path: pathlib.Path) -> Iterator[Mapping[str, Any]]:
    import pyarrow.parquet

    with pyarrow.parquet.ParquetFile(path) as file:
        for batch in file.iter_batches():
            yield from batch.to_pylist()
