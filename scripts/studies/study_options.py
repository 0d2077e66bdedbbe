"""Options of the studies that say which captions they run on; needs no package."""

import argparse
import pathlib
from collections.abc import Mapping

# Most candidates, and references, of a row, by --corpus; None stands for the bundled scenes and for given tables.
SIZES: Mapping[str | None, tuple[int, int]] = {None: (10, 6), "MSVD": (10, 10), "Flickr8k": (2, 3), "COCO": (1, 4)}

CAPTIONS_HELP = """Without options the study runs on bundled scenes with captions written for this project. --references
names tables of human captions, of any kind that `manycaps score` reads, and --predictions those of systems, joined
by id; or --data a folder with msvd_val_references.txt, Flickr8k.token.txt.gz or coco_val_1000.json, and --corpus which
of them. Without systems, the candidates are human captions, whole and damaged."""


def add_caption_options(parser: argparse.ArgumentParser, n_rows: int) -> None:
    """Add the options that name captions.

    Args:
        parser: of a study.
        n_rows: images that are drawn unless asked otherwise.
    """
    group = parser.add_argument_group("captions", CAPTIONS_HELP)
    group.add_argument("--references", nargs="+", default=[], metavar="FILE", help="human captions")
    group.add_argument("--predictions", nargs="+", default=[], metavar="NAME=FILE", help="captions of systems")
    group.add_argument("--data", type=pathlib.Path, metavar="FOLDER", help="public data sets")
    group.add_argument("--corpus", choices=[name for name in SIZES if name], help="which of them")
    group.add_argument("--rows", type=int, default=n_rows, metavar="N", help=f"images to draw, default {n_rows}")
    group.add_argument(
        *("--sizes",), nargs=2, type=int, metavar=("N", "M"), help="most candidates, and references, of an image"
    )
