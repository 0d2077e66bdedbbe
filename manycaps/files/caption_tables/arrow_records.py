"""Records of parquet files, cut at their row groups and inside of large ones, and of Arrow files, read in order."""

from collections.abc import Callable, Iterator

import pyarrow as pa
import pyarrow.parquet as pq

from .files import Piece, Record, TableFile, open_bytes

# Rows decoded at once: images of some hundred kilobytes each may be among their columns.
BATCH_ROWS = 128

# First bytes of a file that can be read from its end; `datasets` writes streams, which have none.
FILE_MARK = b"ARROW1"


def parquet_pieces(file: TableFile, n_bytes: int) -> Iterator[Piece]:
    """Split a parquet file into runs of rows of about equal size; at the end of a row group a piece may be smaller."""
    with open_bytes(file.path) as stream:
        metadata = pq.ParquetFile(stream).metadata
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


def parquet_records(piece: Piece, is_read: Callable[[str], bool]) -> Iterator[Record]:
    """Read columns of the records of a piece."""
    with open_bytes(piece.file.path) as stream:
        table = pq.ParquetFile(stream)
        names = [name for name in table.schema_arrow.names if is_read(name)]
        stop = table.metadata.num_rows if piece.stop is None else piece.stop
        row = 0
        for i in range(table.num_row_groups):
            n_rows = table.metadata.row_group(i).num_rows
            if row >= stop or row + n_rows <= piece.start:
                row += n_rows
                continue
            for batch in table.iter_batches(BATCH_ROWS, row_groups=[i], columns=names):
                skipped = min(max(0, piece.start - row), len(batch))
                yield from map(Record, range(row + skipped, stop), batch.slice(skipped).to_pylist())
                row += len(batch)


def arrow_records(file: TableFile, is_read: Callable[[str], bool]) -> Iterator[Record]:
    """Read columns of an Arrow file, a stream or one that can be read from its end."""
    with open_bytes(file.path) as stream:
        is_file = stream.read(len(FILE_MARK)) == FILE_MARK
        stream.seek(0)
        reader = pa.ipc.open_file(stream) if is_file else pa.ipc.open_stream(stream)
        names = [name for name in reader.schema.names if is_read(name)]
        row = 0
        for batch in map(reader.get_batch, range(reader.num_record_batches)) if is_file else reader:
            batch.validate(full=True)
            for start in range(0, len(batch), BATCH_ROWS):
                for values in batch.select(names).slice(start, BATCH_ROWS).to_pylist():
                    yield Record(row, values)
                    row += 1
