"""Records of parquet files, cut at their row groups and inside of large ones, and of Arrow files, read in order."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from manycaps.kit.errors import InputError, reason_of

from .files import Piece, Record, TableFile, Unreadable, open_bytes

# Rows decoded at once: images of some hundred kilobytes each may be among their columns.
BATCH_ROWS = 128

# What pyarrow raises for damaged data: also names that are not text or occur twice, and sizes beyond memory.
DAMAGE = (OSError, pa.ArrowException, ValueError, KeyError, MemoryError)

# First bytes of a file that can be read from its end; `datasets` writes streams, which have none.
FILE_MARK = b"ARROW1"


def parquet_pieces(file: TableFile, n_bytes: int) -> Iterator[Piece]:
    """Split a parquet file into runs of rows of about equal size; at the end of a row group a piece may be smaller."""
    with open_bytes(file.path) as stream:
        metadata = _open_parquet(stream, file.path).metadata
        start = held = n_rows = 0
        for i in range(metadata.num_row_groups):
            group = metadata.row_group(i)
            size = sum(group.column(k).total_compressed_size for k in range(group.num_columns))
            n_cuts = max(1, size // n_bytes)
            for k in range(n_cuts):
                n_rows += group.num_rows * (k + 1) // n_cuts - group.num_rows * k // n_cuts
                held += size // n_cuts
                if held >= n_bytes:
                    yield Piece(file, start, start + n_rows, start, n_rows, held)
                    start, held, n_rows = start + n_rows, 0, 0
        if n_rows:
            yield Piece(file, start, start + n_rows, start, n_rows, held)


def parquet_records(piece: Piece, is_read: Callable[[str], bool]) -> Iterator[Record | Unreadable]:
    """Read columns of the records of a piece; of a damaged row group those before the damage."""
    with open_bytes(piece.file.path) as stream:
        table = _open_parquet(stream, piece.file.path)
        stop = table.metadata.num_rows if piece.stop is None else piece.stop
        first = 0
        for i in range(table.metadata.num_row_groups):
            n_rows = table.metadata.row_group(i).num_rows
            if first < stop and first + n_rows > piece.start:
                yield from _group_records(table, i, first, range(piece.start, stop), is_read)
            first += n_rows


def _group_records(
    table: pq.ParquetFile, group: int, first: int, wanted: range, is_read: Callable[[str], bool]
) -> Iterator[Record | Unreadable]:
    """Records of one row group, whose first row has the number `first`, as far as they are wanted."""
    row = first
    try:
        names = [name for name in table.schema_arrow.names if is_read(name)]
        for batch in table.iter_batches(BATCH_ROWS, row_groups=[group], columns=names):
            skipped = max(0, min(wanted.start - row, len(batch)))
            for number, values in enumerate(batch.slice(skipped).to_pylist(), start=row + skipped):
                if number >= wanted.stop:
                    return
                yield Record(number, values)
            row += len(batch)
    except DAMAGE as error:
        row, got = max(row, wanted.start), f"damage ({reason_of(error)})"
        expected = "parquet data from here to the end of its row group"
        yield Unreadable(row, InputError(f"row[{row}]", expected, got, "Fetch the file again."))


def _open_parquet(stream: object, path: str) -> pq.ParquetFile:
    try:
        file = pq.ParquetFile(stream)
        list(file.schema_arrow.names)
    except DAMAGE as error:
        raise InputError(
            path, "a whole parquet file", f"one that cannot be read ({reason_of(error)})", "Fetch or write it again."
        ) from None
    return file


def arrow_records(file: TableFile, is_read: Callable[[str], bool]) -> Iterator[Record | Unreadable]:
    """Read columns of an Arrow file up to the first damage; raise a ValueError for another file."""
    row = 0
    with _batches(file) as (schema, batches):
        names = [name for name in schema.names if is_read(name)]
        try:
            for batch in batches:
                batch.validate(full=True)
                chosen = batch.select(names)
                for start in range(0, len(chosen), BATCH_ROWS):
                    for values in chosen.slice(start, BATCH_ROWS).to_pylist():
                        yield Record(row, values)
                        row += 1
        except DAMAGE as error:
            expected, got = "Arrow data from here on", f"damage ({reason_of(error)})"
            yield Unreadable(row, InputError(f"row[{row}]", expected, got, "Save the data set again."))


@contextlib.contextmanager
def _batches(file: TableFile) -> Iterator[tuple[pa.Schema, Iterator[Any]]]:
    with open_bytes(file.path) as stream:
        is_file = stream.read(len(FILE_MARK)) == FILE_MARK
        stream.seek(0)
        try:
            reader = pa.ipc.open_file(stream) if is_file else pa.ipc.open_stream(stream)
            list(reader.schema.names)
        except DAMAGE as error:
            raise InputError(
                file.path, "an Arrow file", f"one that cannot be read ({reason_of(error)})", "Save the data set again."
            ) from None
        batches = (reader.get_batch(i) for i in range(reader.num_record_batches)) if is_file else iter(reader)
        yield reader.schema, batches
