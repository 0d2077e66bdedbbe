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
import dataclasses
import pathlib
import sys

from manycaps.pac_training.recipe import CAPTION, IMAGE, PositivesOptions


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line."""
    captioner, painter, steps = PositivesOptions.captioner, PositivesOptions.painter, PositivesOptions.steps
    parser.add_argument("data", metavar="DATA", help="Hub name, parquet file or folder")
    parser.add_argument("output", metavar="OUTPUT", type=pathlib.Path, help="output folder; give it again to resume")
    parser.add_argument("--configuration", help="configuration of a Hub data set that has several")
    parser.add_argument("--split", default="train", help='split or part, such as "train[:5%%]" (default train)')
    parser.add_argument("--name", help="name of the new split (default: the first word of --split)")
    parser.add_argument("--image-column", default=IMAGE, metavar="NAME", help=f"default {IMAGE}")
    parser.add_argument("--caption-column", default=CAPTION, metavar="NAME", help=f"default {CAPTION}")
    parser.add_argument("--captioner", default=captioner, help=f"model of transformers (default {captioner})")
    parser.add_argument("--painter", default=painter, help=f"pipeline of diffusers (default {painter})")
    parser.add_argument("--no-captions", action="store_true", help="make images only, to train with --lambda-t 0")
    parser.add_argument("--no-images", action="store_true", help="make captions only, to train with --lambda-v 0")
    parser.add_argument("--steps", type=int, default=steps, metavar="N", help=f"steps of diffusion (default {steps})")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the images' noise (default 0)")
    parser.add_argument("--batch-size", type=int, default=8, metavar="N", help="rows made at once (default 8)")
    parser.add_argument("--shard-size", type=int, default=512, metavar="N", help="rows per file (default 512)")
    parser.add_argument("--device", choices=("auto", "cpu"), default="auto", help="auto: a GPU if available")
    parser.add_argument("--workers", type=int, default=PositivesOptions.workers, metavar="N", help="decoding threads")


def run(arguments: argparse.Namespace) -> None:
    """Import what does the work, and do it."""
    from manycaps.pac_training.positives import make_positives

    given = vars(arguments)
    options = PositivesOptions(**{field.name: given[field.name] for field in dataclasses.fields(PositivesOptions)})
    made = make_positives(options)
    if made.n_left_out:
        left_out = f"{made.n_left_out} rows were left out"
        print(f"{left_out}: no image of their caption passed the safety checker", file=sys.stderr)
    if made.is_main_process:
        shards = f"{len(made.paths)} shards of {made.split}, {made.n_made} made now by this process"
        print(f"{arguments.output}: {shards}", file=sys.stderr)
