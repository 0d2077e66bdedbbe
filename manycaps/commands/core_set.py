"""Find how few training captions are needed to reach a score on every row of a test set, and which ones.

manycaps core-set train.jsonl --test test.jsonl                       writes core_set.json
manycaps core-set train.csv --test test.csv --thresholds 0.3 0.5 0.7
manycaps core-set train.jsonl --test test.jsonl --metric cider_d
manycaps core-set train.jsonl --test test.jsonl --scores scores.npy --thresholds 0.8

For each threshold X, a greedy set cover takes at each step the caption that reaches a BLEU-4 of X on the most rows not
reached yet, until no caption reaches another row (Chan, Myers et al. 2022, section 6.1 and Figure
5, https://arxiv.org/abs/2205.06253). Each caption is scored by BLEU and CIDEr-D as in the COCO caption code, against
all captions of the row; the document frequencies of CIDEr-D are counted in the rows of --test, whatever captions are
scored. Tokens are as in that code, or by --tokenizer. Captions of equal tokens count once.

The files are tables of captions as `manycaps score` reads them: JSON, JSON Lines, CSV, TSV, parquet and tar, one row
per image or one per caption. Where rows have references, these are used, otherwise the predictions. --scores takes the
scores of any other metric, larger ones better, as a NumPy array of shape (distinct captions, rows); distances are given
with their sign reversed. The output is JSON: for each threshold the number of captions, the rows that they reach, and
the captions with their ids and the rows that each added; and `best_mean`, the mean over rows of the best score of all.

Scores are compared in batches and not kept. 40,000 captions and 10,000 rows took 51 s and 373 MB with BLEU-4; 38,977
captions and 10,000 rows of one caption took 18 s of processor time and 522 MB with CIDEr-D.
"""

import argparse
import sys

from manycaps.catalog.command_options import add_options, options_of
from manycaps.diversity.core_set.core_set_options import CoreSetOptions


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line."""
    add_options(parser, CoreSetOptions)


def run(arguments: argparse.Namespace) -> None:
    """Import what does the work, and do it."""
    from manycaps.diversity.core_set.core_sets import write_core_sets

    core_sets = write_core_sets(options_of(arguments, CoreSetOptions))
    n_rows = core_sets["n_rows"]
    print("threshold  captions  rows reached")
    for point in core_sets["curve"]:
        print(f"{point['threshold']:9.3g}  {point['n_captions']:8,}  {point['n_rows_reached']:,} of {n_rows:,}")
    print(f"{core_sets['n_candidates']:,} distinct captions, {n_rows:,} rows: {arguments.output}", file=sys.stderr)
