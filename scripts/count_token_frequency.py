"""Count in how many captions each token of CLIP occurs: the table that emscore_pac takes as `idf`.

python scripts/count_token_frequency.py captions.jsonl --column references --output table.json

The input is JSON, JSON Lines, CSV or Parquet with a column of captions or of caption lists; each caption is a document,
as in the authors' program, whose published numbers use the English training captions of VATEX. The output is JSON:
{"n_documents": 8092, "document_frequency": {"dog</w>": 312, ...}}. Needs metrics/emscore_pac/requirements.txt.
"""

import argparse
import json
import os
import pathlib
import sys
from collections.abc import Iterable, Sequence

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from scripts.command_line import start_tool


def parsed(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse a command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("--column", default="references", help="column of captions (default: references)")
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("token_frequency.json"), metavar="FILE")
    return parser.parse_args(arguments)


start_tool(__name__, parsed, "metrics/emscore_pac/requirements.txt")

import datasets
import open_clip
from tqdm import tqdm

from metrics.emscore_pac.shared_caption_rows import as_caption_rows
from metrics.emscore_pac.token_weights import count_tokens

# Loader of `datasets` for a file name's ending.
LOADERS = {".json": "json", ".jsonl": "json", ".csv": "csv", ".parquet": "parquet"}

# Tokens that every published CLIP reads of a text, start and end included (open_clip, tokenizer.py).
CONTEXT_LENGTH = 77


def read_captions(path: pathlib.Path, column: str) -> list[str]:
    """Return all captions of a file.

    Raises:
        TypeError, ValueError: the file's ending, the column or a caption is not as expected.
    """
    if path.suffix not in LOADERS:
        raise ValueError(f"{path}: expected a file ending in {', '.join(LOADERS)}, got {path.suffix or 'no ending'}.")
    table = datasets.load_dataset(LOADERS[path.suffix], data_files=str(path), split="train")
    if column not in table.column_names:
        raise ValueError(f"{path}: expected a column {column}, got {', '.join(table.column_names)}.")
    return [caption for row in as_caption_rows(table[column], column, string_is_one_caption=True) for caption in row]


def token_table(captions: Iterable[str]) -> dict[str, object]:
    """Count the tokens of captions, and name them as CLIP's vocabulary does."""
    tokenizer = open_clip.SimpleTokenizer()
    ends = tokenizer.sot_token_id, tokenizer.eot_token_id
    texts = ((ends[0], *tokenizer.encode(caption)[: CONTEXT_LENGTH - 2], ends[1]) for caption in captions)
    frequency = count_tokens(texts)
    counts = {tokenizer.decoder[i]: count for i, count in sorted(frequency.counts.items())}
    return {"n_documents": frequency.n_documents, "document_frequency": counts}


def main(path: pathlib.Path, column: str, output: pathlib.Path) -> int:
    """Count and write the table; the file appears whole or not at all."""
    try:
        captions = read_captions(path, column)
    except (TypeError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    table = token_table(tqdm(captions, unit="caption"))
    unfinished = output.with_name(output.name + ".part")
    unfinished.write_text(json.dumps(table), encoding="utf-8")
    os.replace(unfinished, output)
    print(f"{len(table['document_frequency']):,} tokens in {table['n_documents']:,} captions: {output}")
    return 0


if __name__ == "__main__":
    given = parsed()
    sys.exit(main(given.file, given.column, given.output))
