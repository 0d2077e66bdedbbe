"""Draw a data set of the made world: pictures of coloured shapes with captions, positives, foils and graded captions.

manycaps make-world world.parquet                      10,000 scenes
manycaps make-world test.parquet --rows 1000 --seed 1  other scenes

Columns: image, caption, generated_image (the same scene, drawn a second time) and generated_caption (in other words),
which `manycaps train-pac` reads; references (4 more right captions), foil (the caption with one wrong word), foil_kind,
and graded_captions (with 0, 1, 2, 3 and 4 wrong attributes). The same seed gives the same rows. Needs
`pip install 'manycaps[clip]'`.
"""

import argparse
import pathlib

# Rows of a data set unless asked otherwise.
N_ROWS = 10_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line."""
    parser.add_argument("output", type=pathlib.Path, help="the new parquet file")
    parser.add_argument("--rows", type=int, default=N_ROWS, help="scenes (default %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="seed of all choices (default %(default)s)")


def run(arguments: argparse.Namespace) -> None:
    """Import what does the work, and do it."""
    from manycaps.made_world.data_set import make_world

    make_world(arguments.output, rows=arguments.rows, seed=arguments.seed)
