"""Count in how many documents each n-gram occurs: the table that trm_cider takes as `document_frequency`.

manycaps count-document-frequency captions.jsonl --column references --output table.json

The input is any file that `manycaps diversity` reads, with one row per image or video and a column of caption lists, or
with one caption per row and a column that says which image or video it belongs to: --document, or one with a usual name
such as image_id, id or image. Tokens are as in the COCO caption code, or by --tokenizer, which must be the metric's.
The output is JSON: {"n_documents": 8092, "tokenizer": "ptb", "document_frequency": {"a dog": 312, ...}}.
"""

import argparse
import sys

from manycaps.catalog.command_options import path_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line."""
    parser.add_argument("file", metavar="FILE")
    parser.add_argument("--column", default="references", help="column of captions (default: references)")
    parser.add_argument("--document", help="column that names the image or video, if a row holds one caption")
    parser.add_argument("--tokenizer", default="ptb", metavar="NAME", help="such as zh-jieba; default: ptb")
    parser.add_argument("--split", metavar="NAME", help="of Karpathy's or MSR-VTT's file: test, or train+restval")
    parser.add_argument(
        "--output", type=path_of, default="document_frequency.json", metavar="FILE", help="default: %(default)s"
    )


def run(arguments: argparse.Namespace) -> None:
    """Import what does the work, and do it."""
    from manycaps.files.frequency_tables import write_document_counts

    table = write_document_counts(
        arguments.file,
        arguments.output,
        column=arguments.column,
        document=arguments.document,
        tokenizer=arguments.tokenizer,
        split=arguments.split,
    )
    n_ngrams = len(table["document_frequency"])
    print(f"{n_ngrams:,} n-grams in {table['n_documents']:,} documents: {arguments.output}", file=sys.stderr)
