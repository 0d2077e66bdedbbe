"""Captions of a row ordered by their distance to its mean, and scored against each other, after Chan et al. (2022).

Figures 4 and S4 to S17 of https://arxiv.org/abs/2205.06253 show rows in this way.
"""

import collections
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from manycaps import functional
from manycaps.caption_tables import CaptionRow
from manycaps.kit.text_tokens import Tokenizer, tokenize_rows

# From captions to vectors, shape (n, d).
Embedder = Callable[[Sequence[str]], np.ndarray]

# Captions as tokens, each with those that it is scored against, to a score for each.
TokenMetric = Callable[[Sequence[Sequence[str]], Sequence[Sequence[Sequence[str]]]], np.ndarray]


class ShownCaption(NamedTuple):
    """A caption with its count, distance and score."""

    text: str
    # Number of times that the row has it.
    n: int
    # 1 minus the cosine with the mean of the row's human captions.
    distance: float
    # Against the row's other human captions.
    score: float


class ShownRow(NamedTuple):
    """A row as the page shows it: captions by rising distance."""

    row: CaptionRow
    people: Sequence[ShownCaption]
    # Captions of a system; empty without one.
    system: Sequence[ShownCaption]

    @property
    def mean_distance(self) -> float:
        """Mean over the human captions, repeated ones included."""
        return mean_distance(self.people)

    @property
    def mean_score(self) -> float:
        """Mean over the captions of the system, of people without one; repeated ones included."""
        return mean_score(self.system or self.people)


def mean_distance(captions: Sequence[ShownCaption]) -> float:
    """Mean distance of captions, repeated ones included."""
    return _mean([each.distance for each in captions], [each.n for each in captions])


def mean_score(captions: Sequence[ShownCaption]) -> float:
    """Mean score of captions, repeated ones included."""
    return _mean([each.score for each in captions], [each.n for each in captions])


def shown_rows(
    rows: Sequence[CaptionRow], metric: TokenMetric, embed: Embedder | None = None, tokenizer: Tokenizer = "ptb"
) -> list[ShownRow]:
    """Order and score the captions of rows.

    Args:
        rows: each with two different human captions at least.
        metric: scores captions against others.
        embed: from captions to vectors; None for bags of words.
        tokenizer: makes the words.

    Returns:
        The rows in their order.
    """
    people = [list(collections.Counter(row.people).items()) for row in rows]
    systems = [
        list(collections.Counter((row.predictions or []) if row.references is not None else []).items()) for row in rows
    ]
    texts = [[text for text, _ in (*mine, *others)] for mine, others in zip(people, systems, strict=True)]
    tokens = tokenize_rows(texts, tokenizer)
    scores = _scores(tokens, [len(mine) for mine in people], metric)
    vectors = _bags(tokens) if embed is None else _embedded(texts, embed)
    shown = []
    for row, mine, others, own_scores, own in zip(rows, people, systems, scores, vectors, strict=True):
        counts = np.array([n for _, n in mine])
        distances = mean_distances(own, counts)
        captions = [
            ShownCaption(text, n, float(distance), float(score))
            for (text, n), distance, score in zip((*mine, *others), distances, own_scores, strict=True)
        ]
        sides = captions[: len(mine)], captions[len(mine) :]
        shown.append(ShownRow(row, *(sorted(side, key=lambda each: (each.distance, each.text)) for side in sides)))
    return shown


def mean_distances(vectors: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Cosine distances of vectors to the mean of the first of them.

    Args:
        vectors: float64 array, shape (n, d); each is divided by its length, a vector of zeros stays.
        counts: whole numbers, shape (m,), m <= n: how often each of the first m counts in the mean.

    Returns:
        float64 array, shape (n,): 0 to 2; 1 of a vector of zeros.

    >>> mean_distances(np.array([[1.0, 0.0], [0.0, 3.0], [0.0, 0.0]]), np.array([1, 1])).round(4).tolist()
    [0.2929, 0.2929, 1.0]
    """
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    units = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    mean = counts @ units[: len(counts)]
    length = math.sqrt(float(mean @ mean))
    cosines = units @ mean / length if length > 0 else np.zeros(len(units))
    return np.asarray(1 - np.clip(cosines, -1, 1))


def token_metric(name: str, rows: Sequence[CaptionRow], tokenizer: Tokenizer = "ptb") -> TokenMetric:
    """Return a metric of captions against others.

    Args:
        name: "bleu_4", "rouge_l", "meteor" or "cider_d".
        rows: all rows, in whose human captions the documents of CIDEr-D are counted.
        tokenizer: makes the words of these documents.
    """
    if name == "cider_d":
        table = _documents(rows, tokenizer)
        return lambda captions, others: np.asarray(functional.cider_d([[each] for each in captions], others, table))
    if name == "bleu_4":
        return lambda captions, others: np.asarray(functional.bleu([[each] for each in captions], others)[:, 3])
    plain: Callable[..., Any] = {"rouge_l": functional.rouge_l, "meteor": functional.meteor}[name]
    return lambda captions, others: np.asarray(plain([[each] for each in captions], others))


def _documents(rows: Sequence[CaptionRow], tokenizer: Tokenizer) -> Mapping[str, Any]:
    from manycaps.kit.text_cider import document_frequencies

    if len(rows) < 2:
        raise ValueError(
            "--metric cider_d: expected at least 2 rows to count document frequencies in, got 1. Give another --metric."
        )
    counts = document_frequencies(tokenize_rows([row.people for row in rows], tokenizer))
    return {"n_documents": len(rows), "document_frequency": dict(counts)}


def _scores(
    tokens: Sequence[Sequence[Sequence[str]]], n_people: Sequence[int], metric: TokenMetric
) -> list[np.ndarray]:
    """Scores of every caption of each row against the others of people; all rows in one call."""
    captions, others = [], []
    for texts, n in zip(tokens, n_people, strict=True):
        for i, text in enumerate(texts):
            captions.append(list(text))
            others.append([list(texts[j]) for j in range(n) if j != i])
    ends = np.cumsum([len(texts) for texts in tokens])
    return np.split(metric(captions, others), ends[:-1])


def _bags(tokens: Sequence[Sequence[Sequence[str]]]) -> list[np.ndarray]:
    """How often each caption has each word of its row."""
    bags = []
    for texts in tokens:
        numbers: dict[str, int] = {}
        places = [[numbers.setdefault(word, len(numbers)) for word in text] for text in texts]
        bags.append(np.stack([np.bincount(own, minlength=max(len(numbers), 1)) for own in map(_whole, places)]) * 1.0)
    return bags


def _whole(places: Sequence[int]) -> np.ndarray:
    return np.array(places, dtype=np.int64)


def _embedded(texts: Sequence[Sequence[str]], embed: Embedder) -> list[np.ndarray]:
    distinct = list(dict.fromkeys(text for row in texts for text in row))
    vectors = dict(zip(distinct, np.asarray(embed(distinct), dtype=np.float64), strict=True))
    return [np.stack([vectors[text] for text in row]) for row in texts]


def _mean(values: Sequence[float], counts: Sequence[int]) -> float:
    return math.fsum(value * n for value, n in zip(values, counts, strict=True)) / sum(counts)
