"""Count the n-grams of a training corpus: the language model that wording and human_parity take.

manycaps count-ngrams train.jsonl --column captions --output language_model.json
manycaps compare mine.jsonl -r references.jsonl --option language_model=language_model.json

The input is any file that `manycaps diversity` reads, with a column of captions or of caption lists; it is read row by
row, and memory holds the distinct n-grams alone. Tokens are as in the COCO caption code, or by --tokenizer, which
must be the metric's. With --least 2, n-grams that occur once are left out. The captions that are compared later must
not be among them. The output is JSON: {"n_captions": 8092, "tokenizer": "ptb", "trigrams": {"  a": 312, ...}}.
"""

import argparse
import sys

from manycaps.catalog.command_options import path_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line."""
    parser.add_argument("file", metavar="FILE")
    parser.add_argument("--column", default="references", help="column of captions (default: references)")
    parser.add_argument("--tokenizer", default="ptb", metavar="NAME", help="such as zh-jieba; default: ptb")
    parser.add_argument(
        "--least", type=int, default=1, metavar="N", help="fewest uses of an n-gram that is kept; default: 1"
    )
    parser.add_argument("--split", metavar="NAME", help="of Karpathy's or MSR-VTT's file: test, or train+restval")
    parser.add_argument(
        "--output", type=path_of, default="language_model.json", metavar="FILE", help="default: %(default)s"
    )


def run(arguments: argparse.Namespace) -> None:
    """Import what does the work, and do it."""
    from manycaps.files.frequency_tables import write_ngram_counts

    table = write_ngram_counts(
        arguments.file,
        arguments.output,
        column=arguments.column,
        tokenizer=arguments.tokenizer,
        least=arguments.least,
        split=arguments.split,
    )
    n_ngrams = len(table["trigrams"])
    print(f"{n_ngrams:,} n-grams in {table['n_captions']:,} captions: {arguments.output}", file=sys.stderr)
