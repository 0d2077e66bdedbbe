"""Build NLTK's WordNet 3.0 corpus out of Debian's packages, for machines that cannot run `nltk.download`.

manycaps install-wordnet               into this Python's own nltk_data folder, which NLTK searches
manycaps install-wordnet --to FOLDER   into another folder; then set NLTK_DATA=FOLDER

Does nothing if NLTK already finds the corpus. Otherwise tries `nltk.download`, then the files of the packages
wordnet-base and wordnet-sense-index, which it installs with apt-get when it runs as root.
"""

import argparse
import pathlib
import sys

from manycaps.catalog.command_options import path_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line."""
    folder = pathlib.Path(sys.prefix) / "nltk_data"
    parser.add_argument("--to", type=path_of, default=folder, metavar="FOLDER", help="default: %(default)s")


def run(arguments: argparse.Namespace) -> None:
    """Import what does the work, and do it."""
    from manycaps.catalog.wordnet_corpus import install_wordnet

    print(install_wordnet(arguments.to), file=sys.stderr)
