"""What the studies compare, and their options for captions, modules and distances; needs no package."""

import argparse
import pathlib
from collections.abc import Mapping, Sequence

MODULES = ("trm_meteor", "trm_cider", "trm_bert", "mmd_bert", "fid_bert")

# Those of triangle ranks: they have two statistics, and also test rows with a single candidate.
TRIANGLE_RANK_MODULES = MODULES[:3]

# How the candidates of an image are made: human captions of the image itself, each of them replaced by one of another
# image with the probability that is given, or the first of them in place of all.
DAMAGES: Mapping[str, float] = {"human": 0, "w = 0.1": 0.1, "w = 0.2": 0.2, "w = 0.5": 0.5, "w = 1": 1, "repeated": 0}

# Most candidates, and references, of a row, by --corpus; None stands for the bundled scenes and for given tables.
SIZES: Mapping[str | None, tuple[int, int]] = {None: (10, 6), "MSVD": (10, 10), "Flickr8k": (2, 3), "COCO": (1, 4)}

# Distances of texts by the names of `human_parity`, and of embeddings.
TEXT_DISTANCES = ("meteor", "meteor15", "cider")
EMBEDDINGS = ("MiniLM", "CLIP text")
DISTANCES = (*TEXT_DISTANCES, *EMBEDDINGS)

# Public captions, and the human captions of an image that are used.
CORPORA = {"MSVD": 24, "Flickr8k": 5}

CAPTIONS_HELP = """Without options the study runs on bundled scenes with captions written for this project. --references
names tables of human captions, of any kind that `manycaps score` reads, and --predictions those of systems, joined
by id; or --data a folder with msvd_val_references.txt, Flickr8k.token.txt.gz or coco_val_1000.json, and --corpus which
of them. Without systems, the candidates are human captions, whole and damaged."""


def add_caption_options(parser: argparse.ArgumentParser, n_rows: int) -> None:
    """Add the options that name captions."""
    group = parser.add_argument_group("captions", CAPTIONS_HELP)
    group.add_argument("--references", nargs="+", default=[], metavar="FILE", help="human captions")
    group.add_argument("--predictions", nargs="+", default=[], metavar="NAME=FILE", help="captions of systems")
    group.add_argument("--data", type=pathlib.Path, metavar="FOLDER", help="public data sets")
    group.add_argument("--corpus", choices=[name for name in SIZES if name], help="which of them")
    group.add_argument("--rows", type=int, default=n_rows, metavar="N", help=f"images to draw, default {n_rows}")
    sizes_help = "most candidates, and references, of an image"
    group.add_argument("--sizes", nargs=2, type=int, metavar=("N", "M"), help=sizes_help)


def add_parity_options(parser: argparse.ArgumentParser, distances: Sequence[str] = DISTANCES) -> None:
    """Add the options that say which captions and distances are used."""
    parser.add_argument("--data", type=pathlib.Path, metavar="FOLDER", help="public data sets; default: bundled scenes")
    parser.add_argument("--corpus", choices=CORPORA, help="which of them")
    parser.add_argument("--distances", nargs="+", choices=DISTANCES, default=distances, metavar="NAME")
    parser.add_argument("--drawn", type=int, default=3_000, metavar="N", help="rows of 5 + 5 captions of all images")
