"""Tables of captions that the frequencies are counted in: JSON, JSON Lines, CSV or Parquet, whatever is in the file."""

import json
import pathlib
from typing import Any

from manycaps.saved_files import write_text_atomically
from manycaps.shared_messages import shown_path
from manycaps.table_rows import table_rows


def read_columns(path: pathlib.Path, names: list[str]) -> list[list[Any]]:
    """Return columns of a file.

    Args:
        path: as for `table_rows`.
        names: of the columns.

    Returns:
        One list for each name, all of one length.

    Raises:
        ValueError: the file cannot be read, or a row lacks a column.
    """
    columns: list[list[Any]] = [[] for _ in names]
    for i, row in enumerate(table_rows(path)):
        for name, column in zip(names, columns, strict=True):
            if name not in row:
                raise ValueError(
                    f"{shown_path(path)}, row {i}: expected a column {name}, got {', '.join(row)[:80] or 'none'}. "
                    "Name the column with --column."
                )
            column.append(row[name])
    return columns


def write_frequencies(path: pathlib.Path, n_documents: int, counts: dict[str, int]) -> None:
    """Write a table of document frequencies as JSON, whole or not at all.

    Raises:
        OSError: it cannot be written.
    """
    write_text_atomically(path, json.dumps({"n_documents": n_documents, "document_frequency": counts}))
