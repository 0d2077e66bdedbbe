"""Show chosen rows with their captions, those nearest to the mean first, as one HTML page.

manycaps rows captions.jsonl                                    twelve rows at random, into rows.html
manycaps rows references.jsonl --images photos/ --choose varied --encoder sentence-transformers/all-mpnet-base-v2
manycaps rows system.jsonl -r references.jsonl --choose worst --metric cider_d --rows 20
manycaps rows captions.parquet --ids 1014.jpg 2207.jpg

Captions of people are those of -r, or of a column of references, else those of the input. Each is shown with its
distance to the mean of its row, 1 minus the cosine, and with its score against the others of its row by --metric.
Distances are those of bags of words, or of sentence embeddings with --encoder. Captions of a system are scored
against people's. Marked are the caption nearest to the mean, and the best and the worst by the metric. Input and
columns are those of `manycaps score`; a row needs two different captions of people. The page makes no request to the
network.

--encoder needs `pip install 'manycaps[embeddings]'`, --images needs `pip install 'manycaps[clip]'`.
"""

import argparse
import pathlib

from manycaps.report.row_choices import CHOICES, METRICS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line."""
    parser.add_argument("input", nargs="+", metavar="SOURCE", help="captions of people, or of a system")
    parser.add_argument("-r", "--references", nargs="+", default=[], metavar="SOURCE", help="captions of people, by id")
    parser.add_argument("-o", "--output", type=pathlib.Path, default=pathlib.Path("rows.html"), metavar="FILE")
    parser.add_argument("--choose", choices=tuple(CHOICES), default="random", help="which rows; default: random")
    parser.add_argument("--rows", type=int, default=12, metavar="N", help="how many rows: 12")
    parser.add_argument("--ids", nargs="+", metavar="ID", help="these rows, in this order")
    parser.add_argument(
        "--metric",
        choices=tuple(METRICS),
        default="rouge_l",
        help="for best and worst: rouge_l; most pairs of captions have no 4-gram in common",
    )
    parser.add_argument("--encoder", metavar="NAME", help="sentence-transformers model for distances")
    parser.add_argument("--device", metavar="NAME", default="auto", help="of the encoder; default: the best there is")
    parser.add_argument("--columns", metavar="ROLE=NAME,...", help="of predictions, references, id, image")
    parser.add_argument("--images", metavar="FOLDER", help="where the images of column or id lie, for thumbnails")
    parser.add_argument("--limit", type=int, metavar="N", help="read the first N rows")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the choice at random: 0")


def run(arguments: argparse.Namespace) -> None:
    """Import what does the work, and do it."""
    from manycaps.report.rows_report import write_rows

    write_rows(arguments)
