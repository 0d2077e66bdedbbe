"""Count in how many documents each n-gram occurs: the table that trm_cider takes as `document_frequency`."""

import argparse
import sys

from tqdm import tqdm

from manycaps.caption_tables import CaptionColumn, caption_lists, open_captions
from manycaps.cider_distance import document_frequencies
from manycaps.frequency_tables.written_table import write_frequencies
from manycaps.saved_files import check_can_be_written
from manycaps.shared_ptb_tokenizer import tokenize_captions


def read_documents(path: str, column: str, document: str | None) -> list[list[str]]:
    """Return the captions of each document.

    Raises:
        ValueError: the file's ending or a column is unknown; the message lists what there is.
    """
    wanted = CaptionColumn(column, document, needs_group=True, group_option="--document")
    return list(caption_lists(open_captions([path], wanted)))


def count_documents(arguments: argparse.Namespace) -> None:
    """Count and write the table; the file appears whole or not at all.

    Raises:
        TypeError, ValueError, OSError: the captions cannot be used, or the file cannot be written.
    """
    check_can_be_written(arguments.output)
    documents = read_documents(arguments.file, arguments.column, arguments.document)
    counts = document_frequencies(tokenize_captions(captions) for captions in tqdm(documents, unit="document"))
    write_frequencies(arguments.output, len(documents), counts)
    print(f"{len(counts):,} n-grams in {len(documents):,} documents: {arguments.output}", file=sys.stderr)
