"""`manycaps compare` of many systems with long texts, and `human_parity` of many captions, beside limits of time.

Texts of words by Zipf's law are embedded by a small file of word vectors, so that next to no time goes to an encoder:
what is measured is all that comes after embedding. Each program runs in a process of its own, with its peak of memory.
"""

import json
import pathlib
import tempfile
from collections.abc import Iterator

import numpy as np

from scripts.benchmarks.timing import Comparison, alone
from scripts.toy.speakers import zipf_probabilities

# Systems, rows, references of a row, sentences of a text and words of a sentence; and the seconds and GiB of all.
N_SYSTEMS, N_ROWS, N_REFERENCES, N_SENTENCES, N_WORDS = 18, 100, 10, 4, 15
SECONDS, GIBIBYTES = 90, 3

# Rows of one caption and four references of a sentence each, and the seconds and GiB that these may take.
N_CAPTION_ROWS, N_OTHERS, CAPTION_SECONDS, CAPTION_GIBIBYTES = 10_000, 4, 30, 3

# Sizes of a run that shows only that the suite works (--small).
SMALL = {"N_SYSTEMS": 2, "N_ROWS": 12, "N_REFERENCES": 3, "N_CAPTION_ROWS": 12}

# Words of the language, and dimensions of their vectors.
N_KNOWN, N_DIMENSIONS = 2_000, 50

COMPARE = """
import pathlib, sys, time
from manycaps.comparison import CompareOptions, compare
folder = pathlib.Path(sys.argv[1])
files = [str(path) for path in sorted(folder.glob("system*.jsonl"))]
people, encoder = [str(folder / "references.jsonl")], f"vectors:{folder / 'vectors.txt'}"
start = time.perf_counter()
compare(CompareOptions(files, references=people, metrics=["bleu_rouge"], distance="bert", encoder=encoder))
print(time.perf_counter() - start)
"""

CAPTIONS = """
import json, pathlib, sys, time
import manycaps
folder = pathlib.Path(sys.argv[1])
columns = json.loads((folder / "captions.json").read_text())
module = manycaps.load("human_parity", encoder=f"vectors:{folder / 'vectors.txt'}", confidence_level=0.95)
start = time.perf_counter()
module.compute(**columns)
print(time.perf_counter() - start)
"""


def draw_texts(rng: np.random.Generator, n: int, n_sentences: int) -> list[str]:
    """Return texts of some sentences."""
    shape = (n, n_sentences, N_WORDS - 1)
    words = rng.choice([f"w{i}" for i in range(N_KNOWN)], p=zipf_probabilities(N_KNOWN, 1), size=shape)
    return [" ".join(f"The {' '.join(sentence)}." for sentence in text) for text in words.tolist()]


def write_vectors(rng: np.random.Generator, folder: pathlib.Path) -> None:
    """Write a file of word vectors."""
    vectors = rng.normal(size=(N_KNOWN, N_DIMENSIONS))
    lines = (f"w{i} {' '.join(f'{number:.4f}' for number in row)}\n" for i, row in enumerate(vectors.tolist()))
    (folder / "vectors.txt").write_text("".join(lines), encoding="utf-8")


def write_rows(path: pathlib.Path, key: str, texts: list[str]) -> None:
    """Write a table of as many texts a row."""
    per_row = len(texts) // N_ROWS
    rows = ({"id": str(i), key: texts[i * per_row : (i + 1) * per_row]} for i in range(N_ROWS))
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def comparisons() -> Iterator[Comparison]:
    """Yield times and memory."""
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as made:
        folder = pathlib.Path(made)
        write_vectors(rng, folder)
        write_rows(folder / "references.jsonl", "references", draw_texts(rng, N_ROWS * N_REFERENCES, N_SENTENCES))
        for i in range(N_SYSTEMS):
            write_rows(folder / f"system{i:02}.jsonl", "captions", draw_texts(rng, N_ROWS, N_SENTENCES))
        n_words = N_SENTENCES * N_WORDS
        name = f"compare: {N_SYSTEMS} systems, {N_ROWS} rows, {N_REFERENCES} references of {n_words} words"
        yield from alone(name, COMPARE, [made], SECONDS, GIBIBYTES)
        n_captions = N_CAPTION_ROWS * (1 + N_OTHERS)
        texts = [text.rstrip(".") for text in draw_texts(rng, n_captions, 1)]
        rows = [texts[i : i + 1 + N_OTHERS] for i in range(0, n_captions, 1 + N_OTHERS)]
        columns = {"predictions": [row[:1] for row in rows], "references": [row[1:] for row in rows]}
        (folder / "captions.json").write_text(json.dumps(columns), encoding="utf-8")
        name = f"human_parity: {n_captions:,} captions of one sentence"
        yield from alone(name, CAPTIONS, [made], CAPTION_SECONDS, CAPTION_GIBIBYTES)
