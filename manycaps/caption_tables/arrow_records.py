"""Records of Arrow files, as `datasets` saves them: runs of batches, which are read one after the other."""

import contextlib
from collections.abc import Collection, Iterator
from typing import Any

import pyarrow as pa

from manycaps.caption_tables.files import TableFile, open_bytes
from manycaps.caption_tables.parquet_records import BATCH_ROWS, DAMAGE
from manycaps.caption_tables.pieces import Record, Unreadable
from manycaps.shared_messages import reason_of

# First bytes of a file that can be read from its end; `datasets` writes streams, which have none.
FILE_MARK = b"ARROW1"


def arrow_columns(file: TableFile) -> list[str]:
    """Return the names of the columns.

    Raises:
        ValueError: the file is no Arrow file.
    """
    with _batches(file) as (schema, _):
        return list(schema.names)


def arrow_records(file: TableFile, columns: Collection[str]) -> Iterator[Record | Unreadable]:
    """Read the records of an Arrow file, up to damage.

    Args:
        file: of kind .arrow.
        columns: those that are wanted.

    Raises:
        ValueError: the file is no Arrow file.
    """
    row = 0
    with _batches(file) as (schema, batches):
        names = [name for name in schema.names if name in columns]
        try:
            for batch in batches:
                batch.validate(full=True)
                chosen = batch.select(names)
                for start in range(0, len(chosen), BATCH_ROWS):
                    for values in chosen.slice(start, BATCH_ROWS).to_pylist():
                        yield Record(row, values)
                        row += 1
        except DAMAGE as error:
            yield Unreadable(
                row,
                f"row[{row}]: expected Arrow data from here on, got damage ({reason_of(error)}). Save the data set "
                "again.",
            )


@contextlib.contextmanager
def _batches(file: TableFile) -> Iterator[tuple[pa.Schema, Iterator[Any]]]:
    with open_bytes(file.path) as stream:
        is_file = stream.read(len(FILE_MARK)) == FILE_MARK
        stream.seek(0)
        try:
            reader = pa.ipc.open_file(stream) if is_file else pa.ipc.open_stream(stream)
            list(reader.schema.names)
        except DAMAGE as error:
            raise ValueError(
                f"{file.path}: expected an Arrow file, got one that cannot be read ({reason_of(error)}). Save the data "
                "set again."
            ) from None
        batches = (reader.get_batch(i) for i in range(reader.num_record_batches)) if is_file else iter(reader)
        yield reader.schema, batches
