"""Document frequencies from a table that was counted elsewhere: a JSON file or a mapping, never a pickle."""

import os
from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple

from .base_files import check_count_table, path_state, read_count_table

# Layout of a table, for messages about a bad one.
TABLE_LAYOUT = '{"n_documents": 8092, "document_frequency": {"a dog": 312, ...}}'

# How to make a table, for the messages too.
HOW_TO_MAKE_A_TABLE = "Make one with `manycaps count-document-frequency`."


class DocumentFrequency(NamedTuple):
    """Number of documents with each n-gram (1 to 4 tokens, joined by blanks), and the number of all documents."""

    counts: Mapping[str, int]
    n_documents: int


class LoadedTable(NamedTuple):
    """A table that stays loaded until its source changes."""

    frequency: DocumentFrequency
    # What changes with the source.
    state: tuple[Hashable, ...]
    # Held, so that no other mapping takes the place of this one in memory.
    source: Any


def check_document_frequency(source: object) -> None:
    """Raise unless `source` is None, a mapping, or the path of a file that exists; the table itself is not read."""
    if source is not None:
        check_count_table(source, "document_frequency", "", HOW_TO_MAKE_A_TABLE)


def load_document_frequency(source: str | os.PathLike[str] | Mapping[str, Any]) -> DocumentFrequency:
    """Read and check a table: the path of a JSON file, or a mapping, of the layout `TABLE_LAYOUT`.

    Every count is a whole number from 1 to n_documents, which is at least 2 (a single document gives no inverse
    document frequency) and at most 2**53.

    >>> load_document_frequency({"n_documents": 2, "document_frequency": {"a dog": 1}})
    DocumentFrequency(counts={'a dog': 1}, n_documents=2)
    """
    layout = f"{TABLE_LAYOUT} with 2 to 2**53 documents"
    return DocumentFrequency(*read_count_table(source, "document_frequency", 2, layout, HOW_TO_MAKE_A_TABLE))


def reloaded_table(source: str | os.PathLike[str] | Mapping[str, Any], last: LoadedTable | None) -> LoadedTable:
    """Return the table that was loaded last, or load it where the source is another one or has changed since."""
    if isinstance(source, Mapping):  # whose counts are read where they stand
        state: tuple[Hashable, ...] = id(source), source.get("n_documents"), id(source.get("document_frequency"))
    else:
        state = path_state(source)
    if last is not None and last.state == state:
        return last
    return LoadedTable(load_document_frequency(source), state, source)


def check_enough_documents(n_rows: int) -> None:
    """Raise if document frequencies cannot be counted in the references, because there is only one row of them."""
    if n_rows < 2:
        raise ValueError(
            "references: expected at least 2 rows to count document frequencies in, got 1. Add rows, or give "
            f"document_frequency= a table. {HOW_TO_MAKE_A_TABLE}"
        )
