"""Draw a data set of the made world: pictures of coloured shapes with captions, positives, foils and graded captions.

python scripts/make_world.py world.parquet                      10,000 scenes
python scripts/make_world.py test.parquet --rows 1000 --seed 1  other scenes

Columns: image, caption, generated_image (the same scene, drawn anew) and generated_caption (in other words), which
scripts/train_pac.py reads; references (4 more right captions), foil (the caption with one wrong word), foil_kind, and
graded_captions (with 0, 1, 2, 3 and 4 wrong attributes). The same seed gives the same rows. Needs
metrics/pac_score/requirements.txt.
"""

import argparse
import pathlib
import sys
from collections.abc import Sequence

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from scripts.command_line import start_tool

# Rows of a data set unless asked otherwise.
N_ROWS = 10_000


def parsed(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse a command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=pathlib.Path, help="the new parquet file")
    parser.add_argument("--rows", type=int, default=N_ROWS, help="scenes (default %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of all choices (default %(default)s)")
    return parser.parse_args(arguments)


start_tool(__name__, parsed, "metrics/pac_score/requirements.txt")

import datasets
import tqdm

from scripts.made_world.data_set import FEATURES, made_rows
from scripts.pac_training.saved_files import write_atomically

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


def main(arguments: argparse.Namespace) -> int:
    """Write the data set, or say in one line why not."""
    try:
        if arguments.rows < 1:
            raise ValueError(f"--rows: expected 1 or more, got {arguments.rows}. Leave it out for {N_ROWS}.")
        if arguments.output.suffix != ".parquet":
            raise ValueError(f"output: expected a name ending in .parquet, got {arguments.output}. Add the ending.")
        write_world(arguments.output, arguments.seed, arguments.rows)
    except (ValueError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(parsed()))
