"""Captions of a row ordered by their distance to its mean, and scored against each other, after Chan et al. (2022).

Figures 4 and S4 to S17 of https://arxiv.org/abs/2205.06253 show rows in this way.
"""

import collections
import dataclasses
import functools
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from manycaps import functional
from manycaps.files.caption_tables import CaptionRow
from manycaps.kit.arrays import TokenRows
from manycaps.kit.errors import InputError
from manycaps.kit.ngrams import shared_document_frequencies
from manycaps.kit.ngrams_cider import cider_d_scores
from manycaps.kit.object_words import coco_vocabulary, compare_rows, shares_in_image
from manycaps.kit.words_predictability import wording_rows
from manycaps.kit.words_tokenizers import Tokenizer, tokenize_rows

# Rows whose captions are compared at once where all rows are: what they need in between is freed.
CHUNK_ROWS = 1_000

# From captions to vectors, shape (n, d).
Embedder = Callable[[Sequence[str]], np.ndarray]

# Rows of captions as tokens, and how many of each are people's, which come first: to a score of every caption against
# the others of people, shape (n_texts,) for each row.
TokenMetric = Callable[[TokenRows, Sequence[int]], list[np.ndarray]]


@dataclasses.dataclass(frozen=True, kw_only=True)
class ShownCaption:
    """A caption with its count, distance and score."""

    text: str
    # Number of times that the row has it.
    n: int
    # 1 minus the cosine with the mean of the row's human captions.
    distance: float
    # Against the row's other human captions.
    score: float


@dataclasses.dataclass(frozen=True, kw_only=True)
class ShownRow:
    """A row as the page shows it: captions by rising distance."""

    row: CaptionRow
    people: Sequence[ShownCaption]
    # Captions of a system; empty without one.
    system: Sequence[ShownCaption]

    @property
    def mean_distance(self) -> float:
        """Mean over the human captions, repeated ones included."""
        return weighted_mean(self.people, "distance")

    @property
    def mean_score(self) -> float:
        """Mean over the captions of the system, of people without one; repeated ones included."""
        return weighted_mean(self.system or self.people, "score")


@dataclasses.dataclass(frozen=True, kw_only=True)
class RowChoice:
    """Rows as the page shows them."""

    rows: Sequence[ShownRow]
    # Name of the input, which rows these are, the metric and the distance, in words.
    name: str
    choice: str
    metric: str
    distance: str

    def to_dict(self) -> dict[str, Any]:
        """Return the captions of all rows with their numbers, as `json.dumps` takes them."""
        rows = [
            {
                "id": shown.row.id,
                "people": [dataclasses.asdict(caption) for caption in shown.people],
                "system": [dataclasses.asdict(caption) for caption in shown.system],
            }
            for shown in self.rows
        ]
        return {**vars(self), "rows": rows}


def weighted_mean(captions: Sequence[ShownCaption], number: Literal["distance", "score"]) -> float:
    """Return the mean distance or score of captions, repeated ones included."""
    return math.fsum(getattr(caption, number) * caption.n for caption in captions) / sum(each.n for each in captions)


def order_rows(
    rows: Sequence[CaptionRow], metric: TokenMetric, embed: Embedder | None = None, tokenizer: Tokenizer = "ptb"
) -> list[ShownRow]:
    """Order and score the captions of rows, each with two different human captions, by `embed` or by words."""
    people, systems = zip(*map(count_captions, rows), strict=True)
    texts = [[text for text, _ in (*mine, *others)] for mine, others in zip(people, systems, strict=True)]
    tokens = tokenize_rows(texts, tokenizer)
    scores = metric(tokens, [len(mine) for mine in people])
    vectors = _bags(tokens) if embed is None else _embed_rows(texts, embed)
    shown = []
    for row, mine, others, own_scores, own in zip(rows, people, systems, scores, vectors, strict=True):
        counts = np.array([n for _, n in mine])
        distances = mean_distances(own, counts)
        captions = [
            ShownCaption(text=text, n=n, distance=float(distance), score=float(score))
            for (text, n), distance, score in zip((*mine, *others), distances, own_scores, strict=True)
        ]
        by_people, by_system = (
            sorted(side, key=lambda caption: (caption.distance, caption.text))
            for side in (captions[: len(mine)], captions[len(mine) :])
        )
        shown.append(ShownRow(row=row, people=by_people, system=by_system))
    return shown


def count_captions(row: CaptionRow) -> tuple[list[tuple[str, int]], list[tuple[str, int]]]:
    """Return the distinct captions of people and of the system, none without one, and how often each occurs."""
    system_captions = (row.predictions or []) if row.references is not None else []
    return list(collections.Counter(row.people).items()), list(collections.Counter(system_captions).items())


def mean_distances(vectors: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return the cosine distances of vectors to the mean of the first of them.

    `vectors` is float64 of shape (n, d); each is divided by its length, a vector of zeros stays. `counts`, shape (m,)
    with m <= n, are how often each of the first m counts in the mean. Shape (n,), 0 to 2; 1 of a vector of zeros.
    """
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    units = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    mean = counts @ units[: len(counts)]
    length = math.sqrt(float(mean @ mean))
    cosines = units @ mean / length if length > 0 else np.zeros(len(units))
    return np.asarray(1 - np.clip(cosines, -1, 1))


def token_metric(name: str, rows: Sequence[CaptionRow], tokenizer: Tokenizer = "ptb") -> TokenMetric:
    """Return a metric of captions by its name; CIDEr-D counts documents in the human captions of `rows`."""
    if name == "cider_d":
        return functools.partial(_cider_d, counts=_documents(rows, tokenizer), n_documents=len(rows))
    if name == "wording":
        return _wording(rows, tokenizer)
    if name == "bleu_4":
        return functools.partial(_against_others, metric=lambda *sides: functional.bleu(*sides)[:, 3])
    plain: Callable[..., Any] = {"rouge_l": functional.rouge_l, "meteor": functional.meteor, "chair": _shares_in_image}[
        name
    ]
    return functools.partial(_against_others, metric=plain)


def _wording(rows: Sequence[CaptionRow], tokenizer: Tokenizer) -> TokenMetric:
    """SLOR of captions, by an n-gram model of the human captions of all other rows."""
    texts = [[text for side in count_captions(row) for text, _ in side] for row in rows]
    tokens, people = tokenize_rows(texts, tokenizer), tokenize_rows([row.people for row in rows], tokenizer)
    keys = [tuple(map(tuple, row)) for row in tokens]
    slor_of_row = dict(zip(keys, wording_rows(tokens, people).candidate_slor(), strict=True))
    return lambda rows, _: [np.array(slor_of_row[tuple(map(tuple, row))]) for row in rows]


def _against_others(
    rows: TokenRows, n_people: Sequence[int], metric: Callable[[TokenRows, TokenRows], np.ndarray]
) -> list[np.ndarray]:
    """Score every caption of each row against the others of people; all rows in one call."""
    captions, others = [], []
    for texts, n in zip(rows, n_people, strict=True):
        lists = [list(text) for text in texts]
        for i, text in enumerate(lists):
            captions.append([text])
            others.append([*lists[: min(i, n)], *lists[i + 1 : n]])
    ends = np.cumsum([len(texts) for texts in rows])
    return np.split(metric(captions, others), ends[:-1])


def _shares_in_image(captions: TokenRows, others: TokenRows) -> np.ndarray:
    """Share of the objects that the caption of each row names which the others name, too."""
    texts, people = ([[" ".join(text) for text in row] for row in side] for side in (captions, others))
    return shares_in_image(compare_rows(texts, people, None, coco_vocabulary()))


def _cider_d(rows: TokenRows, n_people: Sequence[int], counts: Mapping[str, int], n_documents: int) -> list[np.ndarray]:
    """CIDEr-D of every caption of each row: the mean of its scores against each other caption of people."""
    scores = cider_d_scores(rows, counts, n_documents)
    means = []
    for own, n in zip(scores, n_people, strict=True):
        people_scores = own[:n, :n][~np.eye(n, dtype=bool)].reshape(n, n - 1)
        means.append(np.concatenate([people_scores.mean(axis=1), own[n:, :n].mean(axis=1)]))
    return means


def _documents(rows: Sequence[CaptionRow], tokenizer: Tokenizer) -> Mapping[str, int]:
    """Document frequencies of the n-grams that several rows have; all others occur in one document."""
    if len(rows) < 2:
        raise InputError(
            "--metric cider_d", "at least 2 rows to count document frequencies in", "1", "Give another --metric."
        )
    tokens = itertools.chain.from_iterable(
        tokenize_rows([row.people for row in rows[start : start + CHUNK_ROWS]], tokenizer)
        for start in range(0, len(rows), CHUNK_ROWS)
    )
    return shared_document_frequencies(tokens)


def _bags(tokens: Sequence[Sequence[Sequence[str]]]) -> list[np.ndarray]:
    """How often each caption has each word of its row."""
    bags = []
    for texts in tokens:
        numbers: dict[str, int] = {}
        words = np.array([numbers.setdefault(word, len(numbers)) for text in texts for word in text], dtype=np.int64)
        caption = np.repeat(np.arange(len(texts)), [len(text) for text in texts])
        width = max(len(numbers), 1)
        counts = np.bincount(caption * width + words, minlength=len(texts) * width)
        bags.append(counts.reshape(len(texts), width) * 1.0)
    return bags


def _embed_rows(texts: Sequence[Sequence[str]], embed: Embedder) -> list[np.ndarray]:
    distinct = list(dict.fromkeys(text for row in texts for text in row))
    vectors = dict(zip(distinct, np.asarray(embed(distinct), dtype=np.float64), strict=True))
    return [np.stack([vectors[text] for text in row]) for row in texts]
