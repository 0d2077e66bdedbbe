"""Count in how many captions each token of CLIP occurs: the table that emscore_pac takes as `idf`.

manycaps count-token-frequency captions.jsonl --column references --output table.json

The input is any file that `manycaps diversity` reads, with a column of captions or of caption lists; each caption is a
document, as in the authors' program, whose published numbers use the English training captions of VATEX. The output is
JSON: {"n_documents": 8092, "document_frequency": {"dog</w>": 312, ...}}. Needs `pip install 'manycaps[clip]'`.
"""

import argparse
import sys

from manycaps.catalog.command_options import path_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line."""
    parser.add_argument("file", metavar="FILE")
    parser.add_argument("--column", default="references", help="column of captions (default: references)")
    parser.add_argument("--split", metavar="NAME", help="of Karpathy's or MSR-VTT's file: test, or train+restval")
    parser.add_argument(
        "--output", type=path_of, default="token_frequency.json", metavar="FILE", help="default: %(default)s"
    )


def run(arguments: argparse.Namespace) -> None:
    """Import what does the work, and do it."""
    from manycaps.files.frequency_tables import write_token_counts

    table = write_token_counts(arguments.file, arguments.output, column=arguments.column, split=arguments.split)
    n_tokens = len(table["document_frequency"])
    print(f"{n_tokens:,} tokens in {table['n_documents']:,} captions: {arguments.output}", file=sys.stderr)
