"""Show chosen rows with their captions, those nearest to the mean first, as one HTML page.

manycaps rows captions.jsonl                                    twelve rows at random, into rows.html
manycaps rows references.jsonl --images photos/ --choose varied --encoder sentence-transformers/all-mpnet-base-v2
manycaps rows system.jsonl -r references.jsonl --choose worst --metric cider_d --rows 20
manycaps rows captions.parquet --ids 1014.jpg 2207.jpg

Human captions are those of -r, or of a column of references, else those of the input. Each is shown with its
distance to the mean of its row, 1 minus the cosine, and with its score against the others of its row by --metric.
Distances are those of bags of words, or of sentence embeddings with --encoder. Captions of a system are scored
against human captions. The caption nearest to the mean is marked, and so are the best and the worst by the metric: all
captions whose scores are equal as shown, or none where more than a third are equal. Input and columns are those of
`manycaps score`; a row needs two different human captions. The page makes no network requests.

--encoder needs `pip install 'manycaps[embeddings]'`, --images needs `pip install 'manycaps[clip]'`.
"""

import argparse
import dataclasses
import pathlib
import sys

from manycaps.rows.rows_options import CHOICES, METRICS, RowsOptions


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line."""
    parser.add_argument("input", nargs="+", metavar="SOURCE", help="human captions, or those of a system")
    parser.add_argument("-r", "--references", nargs="+", default=[], metavar="SOURCE", help="human captions, by id")
    parser.add_argument("-o", "--output", type=pathlib.Path, default=pathlib.Path("rows.html"), metavar="FILE")
    parser.add_argument(
        "--choose", choices=tuple(CHOICES), default="random", help="which rows to show; default: random"
    )
    parser.add_argument("--rows", type=int, default=RowsOptions.rows, metavar="N", help="how many rows: 12")
    parser.add_argument("--ids", nargs="+", metavar="ID", help="ids of the rows to show, in this order")
    parser.add_argument(
        "--metric",
        choices=tuple(METRICS),
        default=RowsOptions.metric,
        help="for best and worst; default: rouge_l, as most pairs of captions have no 4-gram in common",
    )
    parser.add_argument("--tokenizer", default="ptb", metavar="NAME", help="such as zh-jieba; default: ptb")
    parser.add_argument("--encoder", metavar="NAME", help="sentence-transformers model for distances, or vectors:FILE")
    parser.add_argument(
        "--device", metavar="NAME", default="auto", help="device of the encoder; default: the best available"
    )
    parser.add_argument(
        "--long-texts",
        choices=("truncate", "window"),
        default=RowsOptions.long_texts,
        help="of texts longer than the encoder reads; default: truncate",
    )
    parser.add_argument("--split", metavar="NAME", help="of Karpathy's or MSR-VTT's file: test, or train+restval")
    parser.add_argument(
        "--columns", metavar="[FILE:]ROLE=NAME,...", help="columns of predictions, references, id, image"
    )
    parser.add_argument("--images", metavar="FOLDER", help="where the images of column or id lie, for thumbnails")
    parser.add_argument("--limit", type=int, metavar="N", help="read the first N rows")
    parser.add_argument("--seed", type=int, default=RowsOptions.seed, metavar="N", help="seed of the random choice (0)")


def run(arguments: argparse.Namespace) -> None:
    """Import what does the work, and do it."""
    from manycaps.rows import rows
    from manycaps.saved_files import check_can_be_written

    options = RowsOptions(**{field.name: getattr(arguments, field.name) for field in dataclasses.fields(RowsOptions)})
    check_can_be_written(arguments.output)
    rows(options).save(arguments.output)
    print(f"wrote {arguments.output}", file=sys.stderr)
