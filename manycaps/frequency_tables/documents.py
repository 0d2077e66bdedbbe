"""Count in how many documents each n-gram occurs: the table that trm_cider takes as `document_frequency`."""

import json
import pathlib
from typing import Any

from tqdm import tqdm

from manycaps.caption_tables import CaptionColumn, caption_lists, open_captions
from manycaps.kit.text_cider import document_frequencies
from manycaps.kit.text_tokens import check_tokenizer, tokenize_rows
from manycaps.saved_files import check_can_be_written, write_text_atomically


def read_documents(path: str, column: str, document: str | None) -> list[list[str]]:
    """Return the captions of each document.

    Raises:
        ValueError: the file's ending or a column is unknown; the message lists what there is.
    """
    wanted = CaptionColumn(column, document, needs_group=True, group_option="--document")
    return list(caption_lists(open_captions([path], wanted)))


def write_document_counts(
    file: str, output: pathlib.Path, *, column: str = "references", document: str | None = None, tokenizer: str = "ptb"
) -> dict[str, Any]:
    """Count n-grams and write the table; the file appears whole or not at all.

    Args:
        file: of captions.
        output: the new file.
        column: of the captions.
        document: column that names the image or video, if a row holds one caption.
        tokenizer: name of a tokenizer, which the metric must be given, too.

    Returns:
        The table, as `document_frequency` takes it.

    Raises:
        TypeError, ValueError, OSError: the captions cannot be used, or the file cannot be written.
    """
    check_tokenizer(tokenizer)
    check_can_be_written(output)
    documents = read_documents(file, column, document)
    counts = document_frequencies(tokenize_rows(tqdm(documents, unit="document"), tokenizer))
    table = {"n_documents": len(documents), "document_frequency": counts}
    write_text_atomically(output, json.dumps(table))
    return table
