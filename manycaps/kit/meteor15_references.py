"""METEOR 1.5 of candidates against the best of several references."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from .base_types import CaptionRows, Ints
from .meteor15_scores import pair_statistics, scores
from .meteor15_texts import Meteor15Lexicon
from .text_ptb_tokenizer import tokenize_captions

# The tokens of the COCO caption code, or the captions as they are.
TOKENIZERS = ("ptb", "raw")

# Pairs of a candidate and a reference whose statistics are held at once: 10 MB.
PAIRS_PER_BATCH = 57_600


def best_statistics(
    candidates: CaptionRows,
    references: CaptionRows,
    lexicon: Meteor15Lexicon,
    progress: Callable[..., Iterable[Any]],
    tokenizer: str = "raw",
) -> Ints:
    """Align every candidate with all references of its row, and keep the statistics against the best one.

    Args:
        candidates: n_rows lists of texts.
        references: n_rows lists of texts, none of them empty.
        lexicon: of the data of METEOR 1.5.
        progress: wraps the batches in a progress bar, as `tqdm` does.
        tokenizer: "ptb" for the tokens of the COCO caption code, joined by spaces, or "raw" for the texts as they are.

    Returns:
        int64 array, shape (n_candidates in all, 23), row after row: statistics against the reference with the highest
        score, the first among equals.
    """
    batches = list(_batches(candidates, references))
    return np.concatenate(
        [
            _best_of_batch(candidates[begin:end], references[begin:end], lexicon, tokenizer)
            for begin, end in progress(batches, desc="rows", unit="batch", delay=1)
        ]
    )


def _batches(candidates: CaptionRows, references: CaptionRows) -> Iterator[tuple[int, int]]:
    """Ranges of rows of bounded numbers of pairs."""
    begin = n_pairs = 0
    for i, (texts, others) in enumerate(zip(candidates, references, strict=True)):
        if i > begin and n_pairs + len(texts) * len(others) > PAIRS_PER_BATCH:
            yield begin, i
            begin, n_pairs = i, 0
        n_pairs += len(texts) * len(others)
    yield begin, len(candidates)


def _best_of_batch(candidates: CaptionRows, references: CaptionRows, lexicon: Meteor15Lexicon, tokenizer: str) -> Ints:
    """Statistics of the candidates of some rows against their best references."""
    numbers: dict[str, int] = {}
    hypothesis, reference, n_references = [], [], []
    for texts, others in zip(candidates, references, strict=True):
        of_row = [numbers.setdefault(text, len(numbers)) for text in others]
        for text in texts:
            hypothesis += [numbers.setdefault(text, len(numbers))] * len(of_row)
            reference += of_row
            n_references.append(len(of_row))
    distinct = map(" ".join, tokenize_captions(list(numbers))) if tokenizer == "ptb" else numbers
    words = [lexicon.words(text) for text in distinct]
    statistics = pair_statistics(words, hypothesis, reference, lexicon)
    return statistics[_first_largest(scores(statistics), np.array(n_references))]


def _first_largest(values: npt.NDArray[np.float64], sizes: Ints) -> Ints:
    """Index of the first largest value of each run of `sizes` values."""
    first = np.cumsum(sizes) - sizes
    largest = np.flatnonzero(values == np.repeat(np.maximum.reduceat(values, first), sizes))
    return largest[np.searchsorted(largest, first)]
