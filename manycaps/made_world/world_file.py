"""Write a data set of the made world as a parquet file."""

import argparse
import pathlib

import datasets
import tqdm

from manycaps.made_world.data_set import FEATURES, made_rows
from manycaps.saved_files import check_can_be_written, write_atomically
from manycaps.shared_messages import shown_path

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


def make_world(arguments: argparse.Namespace) -> None:
    """Write the data set.

    Raises:
        ValueError, OSError: an option is wrong, or the file cannot be written.
    """
    if arguments.rows < 1:
        raise ValueError(f"--rows: expected 1 or more, got {arguments.rows}. Leave it out for 10,000.")
    if arguments.seed < 0:
        raise ValueError(f"--seed: expected 0 or more, got {arguments.seed}. Leave it out for 0.")
    if arguments.output.suffix != ".parquet":
        raise ValueError(
            f"output: expected a name ending in .parquet, got {shown_path(arguments.output)}. Add the ending."
        )
    check_can_be_written(arguments.output)
    write_world(arguments.output, arguments.seed, arguments.rows)
