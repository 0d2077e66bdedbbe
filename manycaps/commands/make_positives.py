"""Add the generated positives that a PAC score is trained on: a caption of every image, an image of every caption.

manycaps make-positives my-name/my-captions positives --split train
manycaps make-positives my-name/my-captions positives --split validation
manycaps train-pac positives tuned-clip

DATA is a `datasets` data set (Hub name, parquet file, folder) with images and captions. A row with a list of captions
becomes one row for each; generated_image is made from the row's caption, generated_caption from its image, once for
each different image (Sarto et al., 2023, section 4.1). OUTPUT is a folder of parquet files that `datasets` loads.

The work is done shard by shard, each file written whole: interrupted at any moment, it resumes when the same command
is given again. `accelerate launch` shares the shards between processes, one GPU each. Images that the safety
checker of Stable Diffusion rejects are drawn again from other noise; rows that stay without one are left out and
counted. Needs `pip install 'manycaps[train]'`.
"""

import argparse
import os
import pathlib

from manycaps.pac_training.recipe import CAPTION, IMAGE

# The paper's: BLIP with ViT-L/14 tuned on COCO, Stable Diffusion at 512 x 512 on LAION-Aesthetics (section 4.1).
CAPTIONER = "Salesforce/blip-image-captioning-large"
PAINTER = "CompVis/stable-diffusion-v1-4"

# Steps of diffusion. The paper names none; this is diffusers' default.
N_STEPS = 50


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line."""
    parser.add_argument("data", metavar="DATA", help="Hub name, parquet file or folder")
    parser.add_argument("output", metavar="OUTPUT", type=pathlib.Path, help="folder; give it again to go on")
    parser.add_argument("--configuration", help="of a Hub data set with several")
    parser.add_argument("--split", default="train", help='split or part, such as "train[:5%%]" (default train)')
    parser.add_argument("--name", help="of the new split (default: the first word of --split)")
    parser.add_argument("--image-column", default=IMAGE, metavar="NAME", help=f"default {IMAGE}")
    parser.add_argument("--caption-column", default=CAPTION, metavar="NAME", help=f"default {CAPTION}")
    parser.add_argument("--captioner", default=CAPTIONER, help=f"model of transformers (default {CAPTIONER})")
    parser.add_argument("--painter", default=PAINTER, help=f"pipeline of diffusers (default {PAINTER})")
    parser.add_argument("--no-captions", action="store_true", help="make images only, to train with --lambda-t 0")
    parser.add_argument("--no-images", action="store_true", help="make captions only, to train with --lambda-v 0")
    parser.add_argument("--steps", type=int, default=N_STEPS, metavar="N", help=f"of diffusion (default {N_STEPS})")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the images' noise (default 0)")
    parser.add_argument("--batch-size", type=int, default=8, metavar="N", help="made at once (default 8)")
    parser.add_argument("--shard-size", type=int, default=512, metavar="N", help="rows of a file (default 512)")
    parser.add_argument("--device", choices=("auto", "cpu"), default="auto", help="auto: a GPU if there is one")
    parser.add_argument("--workers", type=int, default=min(16, os.cpu_count() or 1), metavar="N", help="that decode")


def run(arguments: argparse.Namespace) -> None:
    """Import what does the work, and do it."""
    from manycaps.pac_training.positives import make_positives

    make_positives(arguments)
