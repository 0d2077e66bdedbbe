"""Show chosen rows with their captions, those nearest to the mean first, as one HTML page.

manycaps rows captions.jsonl                                    twelve rows at random, into rows.html
manycaps rows references.jsonl --images photos/ --choose varied --encoder sentence-transformers/all-mpnet-base-v2
manycaps rows system.jsonl -r references.jsonl --choose worst --metric cider_d --rows 20
manycaps rows captions.parquet --ids 1014.jpg 2207.jpg

Human captions come from -r, or from a column of references, else from the input. Each is shown with its
distance to the mean of its row, 1 minus the cosine, and with its score against the others of its row by --metric.
Distances are between bags of words, or sentence embeddings with --encoder. Captions of a system are scored
against human captions. The caption nearest to the mean is marked, and so are the best and the worst by the metric: all
captions whose scores are equal as shown, or none where more than a third are equal. Input and columns are as for
`manycaps score`; a row needs two different human captions. The page makes no network requests.

--encoder needs `pip install 'manycaps[embeddings]'`, --images needs `pip install 'manycaps[clip]'`.
"""

import argparse
import pathlib
import sys

from manycaps.catalog.command_options import add_options, options_of, path_of
from manycaps.diversity.rows.rows_options import RowsOptions


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line."""
    add_options(parser, RowsOptions)
    parser.add_argument("-o", "--output", type=path_of, default=pathlib.Path("rows.html"), metavar="FILE")


def run(arguments: argparse.Namespace) -> None:
    """Import what does the work, and do it."""
    from manycaps.diversity.rows import rows
    from manycaps.files.saved_files import check_can_be_written

    options = options_of(arguments, RowsOptions)
    check_can_be_written(arguments.output, [*options.input, *options.references])
    rows(options).save(arguments.output)
    print(f"wrote {arguments.output}", file=sys.stderr)
