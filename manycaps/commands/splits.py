"""Split caption files into training, validation and test rows, by the length of captions or by what they name.

manycaps splits captions.jsonl --by length                                writes splits.jsonl
manycaps splits captions.csv --by concept --labels coco.txt --test 0.2 --validation 0
manycaps splits captions.jsonl --by length --hold-out                     the longest captions are the test set

Without --hold-out every split has each length, or each concept, in the stated shares, so that no split is easier
or harder than another. With it training never sees what is tested: the rows with the longest captions are the
test split and the next ones the validation split; or the concepts are put in a random order, and the last ones are held
out. A concept at the boundary of two splits is in both, and the table says how many are new. Shares are
met to within one row.

The concept of a row is the rarest label of the list that one of its captions has as whole words; --labels is a text
file with one label per line, such as the labels of ImageNet, COCO, Kinetics or Places. The length is the mean number of
tokens of a row's captions, by --tokenizer. The same seed gives the same splits, whatever the order of the rows.

The output has one line for each row, {"id": "1.jpg", "split": "test", "length": 9.4}. Nothing leaks: two rows with the
same id, image or video are refused, each row is in one split, and the table counts the captions that training has too,
word for word. The files are tables of captions as `manycaps score` reads them.
"""

import argparse
import sys

from manycaps.catalog.command_options import add_options, options_of
from manycaps.diversity.split_options import SplitOptions


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line."""
    add_options(parser, SplitOptions)


def run(arguments: argparse.Namespace) -> None:
    """Import what does the work, and do it."""
    from manycaps.diversity.caption_splits import write_splits

    splits = write_splits(options_of(arguments, SplitOptions))
    print("\n".join(splits.summary))
    print(f"{len(splits.rows):,} rows: {arguments.output}", file=sys.stderr)
