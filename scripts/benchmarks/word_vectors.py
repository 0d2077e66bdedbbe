"""Word vectors out of a text file as large as GloVe's: the time and the memory that reading takes, beside limits."""

import pathlib
import tempfile
from collections.abc import Iterator

import numpy as np

from scripts.benchmarks.timing import Comparison, alone

# Words of the file and their dimensions, as in glove.6B.300d; and the seconds and GiB that reading it may take.
N_WORDS, N_DIMENSIONS, SECONDS, GIBIBYTES = 400_000, 300, 20, 1

# Sizes of a run that shows only that the suite works (--small).
SMALL = {"N_WORDS": 100}

PROGRAM = """
import sys, time
from manycaps.kit.vectors_models import read_word_vectors
start = time.perf_counter()
read_word_vectors(sys.argv[1])
print(time.perf_counter() - start)
"""


def comparisons() -> Iterator[Comparison]:
    """Yield time and memory."""
    numbers = np.random.default_rng(0).normal(scale=0.4, size=(100, N_DIMENSIONS))
    lines = [" ".join(f"{number:.5f}" for number in row) for row in numbers.tolist()]
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "vectors.txt"
        with path.open("w", encoding="utf-8") as file:
            file.writelines(f"word{i} {lines[i % len(lines)]}\n" for i in range(N_WORDS))
        name = f"word vectors: {N_WORDS:,} words, {N_DIMENSIONS} dimensions"
        yield from alone(name, PROGRAM, [str(path)], SECONDS, GIBIBYTES)
