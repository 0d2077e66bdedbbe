"""Command lines of the studies, and the names of what they compare.

A study is a docstring, a parser from `study_parser`, and `main(options)`, which fills a `StudyTable` cell by cell and
draws a picture from the lines of that table alone. Tests find a study by its call of `study_parser`. The requirements
of all studies are in tests/requirements.txt.
"""

import argparse
import pathlib
from collections.abc import Mapping, Sequence

Options = argparse.Namespace

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Folder of what the studies write, unless another one is given.
OUTPUT = pathlib.Path("studies-output")

MODULES = ("trm_meteor", "trm_cider", "trm_bert", "mmd_bert", "fid_bert")

# Modules of triangle ranks: they have two statistics, and also test rows with a single candidate.
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
names tables of human captions, of any kind that `manycaps score` reads, and --predictions tables of systems, joined
by id; or --data a folder with msvd_val_references.txt, Flickr8k.token.txt.gz or coco_val_1000.json, and --corpus which
of them. Without systems, the candidates are human captions, whole and damaged."""


def tool_parser(description: str | None) -> argparse.ArgumentParser:
    """Return a parser whose help is the docstring of a program."""
    return argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)


def study_parser(description: str | None) -> argparse.ArgumentParser:
    """Return a parser with the options of every study."""
    parser = tool_parser(description)
    add_output(parser)
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of every random choice, default 0")
    return parser


def add_output(parser: argparse.ArgumentParser) -> None:
    """Add the option of the folder that gets the table."""
    parser.add_argument("--output", type=pathlib.Path, default=OUTPUT, metavar="FOLDER", help=f"default: {OUTPUT}")


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


def decoding_parser(description: str | None, temperatures: Sequence[float]) -> argparse.ArgumentParser:
    """Return the parser of a study that decodes simulated speakers."""
    parser = study_parser(description)
    add_caption_options(parser, n_rows=200)
    parser.add_argument("--temperatures", nargs="+", type=float, default=temperatures, help="default: %(default)s")
    parser.add_argument("--trials", type=int, default=3, metavar="N", help="draws of images and captions, default 3")
    return parser


def add_parity_options(parser: argparse.ArgumentParser, distances: Sequence[str] = DISTANCES) -> None:
    """Add the options that say which captions and distances are used."""
    parser.add_argument("--data", type=pathlib.Path, metavar="FOLDER", help="public data sets; default: bundled scenes")
    parser.add_argument("--corpus", choices=CORPORA, help="which of them")
    parser.add_argument("--distances", nargs="+", choices=DISTANCES, default=distances, metavar="NAME")
    parser.add_argument("--drawn", type=int, default=3_000, metavar="N", help="rows of 5 + 5 captions of all images")


def data_folder(options: Options) -> pathlib.Path:
    """Return the folder of a corpus, or raise if none is given."""
    if not options.data:
        raise ValueError("--data: expected a folder with the files of --corpus, got none. Name one.")
    return options.data


def add_world_options(parser: argparse.ArgumentParser, n_scenes: int, temperatures: Sequence[float]) -> None:
    """Add the options of speakers of the made world."""
    parser.add_argument("--scenes", type=int, default=n_scenes, metavar="N", help="of each seed, default %(default)s")
    parser.add_argument("--seeds", type=int, default=5, metavar="N", help="worlds, default %(default)s")
    sizes_help = "candidates, references"
    parser.add_argument("--sizes", nargs=2, type=int, default=(10, 10), metavar=("N", "M"), help=sizes_help)
    parser.add_argument("--temperatures", nargs="+", type=float, default=temperatures, help="default: %(default)s")
    parser.add_argument("--splits", type=int, default=99, metavar="N", help="of a row, default %(default)s")
