"""novelty beside a loop over sets of n-grams of all training captions, which holds them in memory.

Captions are random words of Zipf's frequencies, 10 each; the loop comes from the tests. Speed is per training caption.
"""

from collections.abc import Iterator

import numpy as np

from manycaps.installed_modules import load
from scripts.benchmarks.diversity import peak_bytes
from scripts.benchmarks.timing import Comparison, Work
from tests.oracles.novelty_loop import ngrams

# Training captions, and candidates, as many as references.
N_TRAINING, N_CANDIDATES = 200_000, 5_000

# Sizes of a run that shows only that the suite works (--small).
SMALL = {"N_TRAINING": 200, "N_CANDIDATES": 10}


def drawn_captions(n: int, seed: int) -> list[str]:
    """Return captions of ten words each, out of 10,000 words."""
    numbers = np.random.default_rng(seed).zipf(1.3, (n, 10)) % 10_000
    return [" ".join(map("w{}".format, row)) for row in numbers.tolist()]


def comparisons() -> Iterator[Comparison]:
    """Yield time and memory."""
    training, candidates = drawn_captions(N_TRAINING, 0), drawn_captions(N_CANDIDATES, 1)
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
