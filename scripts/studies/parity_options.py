"""Options of the studies of `human_parity`; needs no package."""

import argparse
import pathlib
from collections.abc import Sequence

# Distances of texts by the names of `human_parity`, and of embeddings.
TEXT_DISTANCES = ("meteor", "meteor15", "cider")
EMBEDDINGS = ("MiniLM", "CLIP text")
DISTANCES = (*TEXT_DISTANCES, *EMBEDDINGS)

# Public captions, and the human captions of an image that are used.
CORPORA = {"MSVD": 24, "Flickr8k": 5}


def add_parity_options(parser: argparse.ArgumentParser, distances: Sequence[str] = DISTANCES) -> None:
    """Add the options that say which captions and distances are used."""
    parser.add_argument("--data", type=pathlib.Path, metavar="FOLDER", help="public data sets; default: bundled scenes")
    parser.add_argument("--corpus", choices=CORPORA, help="which of them")
    parser.add_argument("--distances", nargs="+", choices=DISTANCES, default=distances, metavar="NAME")
    parser.add_argument("--drawn", type=int, default=3_000, metavar="N", help="rows of 5 + 5 captions of all images")
