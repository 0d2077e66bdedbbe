"""Count in how many documents each n-gram occurs: the table that trm_cider takes as `document_frequency`.

python scripts/count_document_frequency.py captions.jsonl --column references --output table.json

The input is JSON, JSON Lines, CSV or Parquet with one row an image or video and a column of caption lists, or with one
caption a row and a second column, --document, that says which image or video it belongs to. Tokens are those of the
COCO caption code. The output is JSON: {"n_documents": 8092, "document_frequency": {"a dog": 312, ...}}. Needs
scripts/requirements.txt.
"""

import argparse
import json
import os
import pathlib
import sys
from collections.abc import Sequence

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from scripts.command_line import start_tool


def parsed(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse a command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("--column", default="references", help="column of captions (default: references)")
    parser.add_argument("--document", help="column that names the image or video, if a row holds one caption")
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("document_frequency.json"), metavar="FILE")
    return parser.parse_args(arguments)


start_tool(__name__, parsed, "scripts/requirements.txt")

import datasets
from tqdm import tqdm

from metrics.trm_cider.cider_distance import document_frequencies
from metrics.trm_cider.shared_caption_rows import as_caption_rows
from metrics.trm_cider.shared_ptb_tokenizer import tokenize_captions

# Loader of `datasets` for a file name's ending.
LOADERS = {".json": "json", ".jsonl": "json", ".csv": "csv", ".parquet": "parquet"}


def read_documents(path: pathlib.Path, column: str, document: str | None) -> list[list[str]]:
    """Return the captions of each document.

    Raises:
        ValueError: the file's ending or a column is unknown; the message lists what there is.
    """
    if path.suffix not in LOADERS:
        raise ValueError(f"{path}: expected a file ending in {', '.join(LOADERS)}, got {path.suffix or 'no ending'}.")
    table = datasets.load_dataset(LOADERS[path.suffix], data_files=str(path), split="train")
    for name in filter(None, (column, document)):
        if name not in table.column_names:
            raise ValueError(f"{path}: expected a column {name}, got {', '.join(table.column_names)}.")
    if document is None:
        return as_caption_rows(table[column], column)
    documents: dict[object, list[str]] = {}
    for key, caption in zip(table[document], table[column], strict=True):
        documents.setdefault(key, []).append(caption)
    return as_caption_rows(documents.values(), column)


def main(path: pathlib.Path, column: str, document: str | None, output: pathlib.Path) -> int:
    """Count and write the table; the file appears whole or not at all."""
    try:
        documents = read_documents(path, column, document)
    except (TypeError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    counts = document_frequencies(tokenize_captions(captions) for captions in tqdm(documents, unit="document"))
    unfinished = output.with_name(output.name + ".part")
    unfinished.write_text(json.dumps({"n_documents": len(documents), "document_frequency": counts}), encoding="utf-8")
    os.replace(unfinished, output)
    print(f"{len(counts):,} n-grams in {len(documents):,} documents: {output}")
    return 0


if __name__ == "__main__":
    given = parsed()
    sys.exit(main(given.file, given.column, given.document, given.output))
