"""novelty beside a loop over sets of n-grams of all training captions, which holds them in memory.

Captions are random words of Zipf's frequencies, 10 each; the loop is the tests' own. Speed is per training caption.
Ten million more are read from a file, in a process of its own whose memory counts.
"""

import pathlib
import tempfile
from collections.abc import Iterator

import numpy as np

from manycaps.catalog.installed_modules import load
from scripts.benchmarks.diversity import peak_bytes
from scripts.benchmarks.timing import Comparison, Work, alone
from tests.oracles.novelty_loop import ngrams

# Training captions, and candidates, as many as references.
N_TRAINING, N_CANDIDATES = 200_000, 5_000

# Training captions of a file, and the seconds and GiB that they may take.
N_STREAMED, SECONDS, GIBIBYTES = 10_000_000, 600, 2

# Sizes of a run that shows only that the suite works (--small).
SMALL = {"N_TRAINING": 200, "N_CANDIDATES": 10, "N_STREAMED": 1_000}

# Reads a file of training captions, for the number of candidates that follows its name.
PROGRAM = """
import sys, time
from manycaps.catalog.installed_modules import load
from scripts.benchmarks.novelty import draw_captions
captions = draw_captions(int(sys.argv[2]), 1)
start = time.perf_counter()
load("novelty", training=sys.argv[1]).compute(predictions=captions, references=captions)
print(time.perf_counter() - start)
"""


def draw_captions(n: int, seed: int) -> list[str]:
    """Return captions of ten words each, out of 10,000 words."""
    numbers = np.random.default_rng(seed).zipf(1.3, (n, 10)) % 10_000
    return [" ".join(map("w{}".format, row)) for row in numbers.tolist()]


def comparisons() -> Iterator[Comparison]:
    """Yield time and memory."""
    training, candidates = draw_captions(N_TRAINING, 0), draw_captions(N_CANDIDATES, 1)
    module = load("novelty", training=training, tokenizer="none")

    def ours() -> object:
        return module.compute(predictions=candidates, references=candidates)

    def loop() -> list[bool]:
        orders = range(1, 11)
        known = {n: {g for text in training for g in ngrams(text.split(), n)} for n in orders}
        return [
            g not in known[n] for text in [*candidates, *candidates] for n in orders for g in ngrams(text.split(), n)
        ]

    name = f"novelty of {2 * N_CANDIDATES:,} captions"
    yield Work(name, "training captions", N_TRAINING, ours).beside("sets of all n-grams", loop, claim=2, repeats=3)
    mebibytes = [peak_bytes(work) / 2**20 for work in (ours, loop)]
    yield Comparison(name, "sets of all n-grams", "training captions", *(N_TRAINING / m for m in mebibytes), 5, "MiB")
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "training.txt"
        with path.open("w", encoding="utf-8") as file:
            for start in range(0, N_STREAMED, N_TRAINING):
                file.write("\n".join(draw_captions(min(N_TRAINING, N_STREAMED - start), start + 2)) + "\n")
        name = f"novelty beside a file of {N_STREAMED:,} training captions"
        yield from alone(name, PROGRAM, [str(path), str(N_CANDIDATES)], SECONDS, GIBIBYTES)
