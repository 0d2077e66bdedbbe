"""Write a data set of the made world as a parquet file."""

import pathlib

import datasets
import tqdm

from manycaps.kit.base_messages import shown_path
from manycaps.made_world.data_set import FEATURES, made_rows
from manycaps.saved_files import check_can_be_written, write_atomically

# Rows that are held at once.
ROWS_AT_ONCE = 500


def write_world(path: pathlib.Path, seed: int, n_rows: int) -> None:
    """Write the rows as parquet, atomically.

    Args:
        path: the new file; its folder must be there.
        seed: of the data set.
        n_rows: how many scenes.
    """
    rows = tqdm.tqdm(made_rows(seed, n_rows), total=n_rows, desc=path.name, unit="scene")

    def write(target: pathlib.Path) -> None:
        options = {"features": FEATURES, "writer_batch_size": ROWS_AT_ONCE, "embed_local_files": True}
        with datasets.arrow_writer.ParquetWriter(path=str(target), **options) as writer:
            for row in rows:
                writer.write(FEATURES.encode_example(row))
            writer.finalize()

    write_atomically(path, write)


def make_world(output: pathlib.Path, *, rows: int, seed: int = 0) -> None:
    """Write a data set of the made world.

    Args:
        output: the new parquet file.
        rows: how many scenes.
        seed: of all choices.

    Raises:
        ValueError, OSError: an option is wrong, or the file cannot be written.
    """
    if rows < 1:
        raise ValueError(f"--rows: expected 1 or more, got {rows}. Leave it out for 10,000.")
    if seed < 0:
        raise ValueError(f"--seed: expected 0 or more, got {seed}. Leave it out for 0.")
    if output.suffix != ".parquet":
        raise ValueError(f"output: expected a name ending in .parquet, got {shown_path(output)}. Add the ending.")
    check_can_be_written(output)
    write_world(output, seed, rows)
