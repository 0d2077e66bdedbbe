"""METEOR 1.5 of candidates against the best of several references."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from .base_scores import first_largest
from .base_types import CaptionRows, Ints
from .meteor15_scores import pair_statistics, scores
from .meteor15_texts import Meteor15Lexicon
from .text_tokens import Tokenizer, check_tokenizer, tokenize_rows

# Pairs of a candidate and a reference whose statistics are held at once: 10 MB.
PAIRS_PER_BATCH = 57_600


def check_meteor15_tokenizer(tokenizer: object) -> None:
    """Raise unless `tokenizer` is "raw", another name of a tokenizer, or a function."""
    if not isinstance(tokenizer, str) or tokenizer != "raw":
        check_tokenizer(tokenizer, ("raw",))


def best_statistics(
    candidates: CaptionRows,
    references: CaptionRows,
    lexicon: Meteor15Lexicon,
    progress: Callable[..., Iterable[Any]],
    tokenizer: Tokenizer = "raw",
) -> Ints:
    """Align every candidate with all references of its row, and keep the statistics against the best one.

    `tokenizer` is "raw" for the texts as they are, or a tokenizer, whose tokens are joined by spaces; no reference is
    empty; `progress` wraps the batches, as `tqdm` does. Returns an int64 array, shape (n_candidates in all, 23), row
    after row: statistics against the reference with the highest score, the first among equals.
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


def _best_of_batch(
    candidates: CaptionRows, references: CaptionRows, lexicon: Meteor15Lexicon, tokenizer: Tokenizer
) -> Ints:
    """Statistics of the candidates of some rows against their best references."""
    numbers: dict[str, int] = {}
    hypothesis, reference, n_references = [], [], []
    for texts, others in zip(candidates, references, strict=True):
        of_row = [numbers.setdefault(text, len(numbers)) for text in others]
        for text in texts:
            hypothesis += [numbers.setdefault(text, len(numbers))] * len(of_row)
            reference += of_row
            n_references.append(len(of_row))
    distinct = numbers if tokenizer == "raw" else map(" ".join, tokenize_rows([list(numbers)], tokenizer)[0])
    words = [lexicon.words(text) for text in distinct]
    statistics = pair_statistics(words, hypothesis, reference, lexicon)
    return statistics[first_largest(scores(statistics, lexicon.data.language), np.array(n_references))]
