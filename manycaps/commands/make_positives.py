"""Add the generated positives that a PAC score is trained on: a caption of every image, an image of every caption.

manycaps make-positives my-name/my-captions positives --split train
manycaps make-positives my-name/my-captions positives --split validation
manycaps train-pac positives tuned-clip

DATA is a `datasets` data set (Hub name, parquet file, folder) with images and captions. A row with a list of captions
becomes one row for each; generated_image is made from the row's caption, generated_caption from its image, once for
each different image (Sarto et al., 2023, section 4.1). OUTPUT is a folder of parquet files that `datasets` loads.

The work is done shard by shard, each file written whole: if interrupted at any time, it resumes when the same
command is given again. `accelerate launch` shares the shards between processes, one GPU each. Images that the safety
checker of Stable Diffusion rejects are drawn again from new noise; rows that still have none are left out and
counted. Needs `pip install 'manycaps[train]'`.
"""

import argparse
import sys

from manycaps.catalog.command_options import add_options, options_of
from manycaps.pac_training.recipe import PositivesOptions


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line."""
    add_options(parser, PositivesOptions)


def run(arguments: argparse.Namespace) -> None:
    """Import what does the work, and do it."""
    from manycaps.pac_training.positives import make_positives

    made = make_positives(options_of(arguments, PositivesOptions))
    if made.n_left_out:
        left_out = f"{made.n_left_out} rows were left out"
        print(f"{left_out}: no image of their caption passed the safety checker", file=sys.stderr)
    if made.is_main_process:
        shards = f"{len(made.paths)} shards of {made.split}, {made.n_made} made now by this process"
        print(f"{arguments.output}: {shards}", file=sys.stderr)
