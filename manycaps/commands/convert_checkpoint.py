"""Turn a CLIP checkpoint into a folder for the Hub, and check that both give the same features.

manycaps convert-checkpoint clip_ViT-B-32.pth pac-vit-b-32 --variant pac-vit-b-32
hf upload my-name/pac-vit-b-32 pac-vit-b-32

Reads .pth, .pt and .safetensors files in the authors' formats; LoRA updates (PAC-S++) are merged. The folder holds the
weights as safetensors (no code can hide in them), open_clip's configuration (open_clip loads it too, as
`hf-hub:my-name/pac-vit-b-32`) and a card. Needs `pip install 'manycaps[clip]'`.
"""

import argparse
import sys

from manycaps.catalog.command_options import path_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line."""
    parser.add_argument("source", type=path_of, help="the file to convert")
    parser.add_argument("folder", type=path_of, help="the new folder; its name becomes the model's name")
    parser.add_argument("--variant", metavar="NAME", help="a variant of pac_score: decides activation and pixels")


def run(arguments: argparse.Namespace) -> None:
    """Import what does the work, and do it."""
    from manycaps.pac_training.checkpoint_conversion import N_PROBE_IMAGES, PROBE_CAPTIONS, convert

    made = convert(arguments.source, arguments.folder, arguments.variant)
    equal = f"{len(PROBE_CAPTIONS)} texts and {N_PROBE_IMAGES} images have equal features"
    print(f"{made.weights}: {equal}", file=sys.stderr)
    print(f"source sha256 {made.source_sha256}; new file sha256 {made.sha256}", file=sys.stderr)
