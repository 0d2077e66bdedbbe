"""Human captions scored against the other captions of their row: what scores them, drawn hypotheses, and the mean."""

import functools
import hashlib
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .base_types import Floats, Ints, Masks
from .sets_splits import RowGenerators
from .text_ngrams import RowTexts

# Iterations that are drawn at once: a number, and with several hypotheses or limited references one for each caption,
# per row and iteration.
BLOCK = 50

# Pairs of texts that are gathered at once, 8 bytes each in a few arrays.
MAX_PAIRS = 4_000_000

Statistics = npt.NDArray[Any]


class ScoredTexts(NamedTuple):
    """A metric that scores any text of a row against any others of it."""

    # From numbers of texts, shape (n,), and masks of their references to numbers of each, shape (n,) or (n, n_numbers).
    statistics: Callable[[Ints, Masks], Statistics]
    # From these to the score that each line of numbers has by itself, shape (n,), by the key of the result.
    each: Callable[[Statistics], dict[str, Floats]]
    # And to the values of a corpus, one of whose hypotheses each line of numbers stands for.
    corpus: Callable[[Statistics], dict[str, float]]
    # Whether the statistics of a hypothesis depend on its own references alone.
    is_own: bool = True
    # Whether all hypotheses of a row are compared at once: they come as an array of shape (n, n_hypotheses).
    is_set: bool = False


def mean_scores(
    name: str, scores: Callable[[Ints, Masks], Floats], *, is_own: bool = True, is_set: bool = False
) -> ScoredTexts:
    """Return a metric whose corpus has the mean of its hypotheses: the statistics are the scores, shape (n,)."""
    return ScoredTexts(
        scores,
        lambda values: {name: values},
        lambda values: {name: math.fsum(values.tolist()) / len(values)},
        is_own,
        is_set,
    )


class RowPairs:
    """Where the pairs [first, second] of the texts of every row stand: in a square for each row, row after row."""

    def __init__(self, texts: RowTexts) -> None:
        self.texts = texts
        self.first_pair: Ints = np.cumsum(texts.sizes**2) - texts.sizes**2

    def pairs(self) -> tuple[Ints, Ints]:
        """Numbers of candidate and reference of all pairs, each text with itself included."""
        size = self.texts.sizes[self.texts.row]
        candidate = np.repeat(np.arange(len(size)), size)
        offset = np.arange(len(candidate)) - np.repeat(np.cumsum(size) - size, size)
        return candidate, self.texts.first[self.texts.row[candidate]] + offset

    def chosen(self, hypotheses: Ints, references: Masks) -> tuple[Ints, Ints]:
        """Numbers of the pairs of each hypothesis with its references, and where each hypothesis begins."""
        row = self.texts.row[hypotheses]
        position, other = self.texts.members(row, references)
        line = self.first_pair[row] + self.texts.place[hypotheses] * self.texts.sizes[row]
        return line[position] + self.texts.place[other], np.searchsorted(position, np.arange(len(hypotheses)))

    def squares(self, texts: Ints) -> Ints:
        """Numbers of the pairs of some texts of a row with each other: int64, (n, n_texts) to (n, n_texts, n_texts)."""
        row, position = self.texts.row[texts[:, :1]], self.texts.place[texts]
        line = self.first_pair[row] + position * self.texts.sizes[row]
        return line[:, :, None] + position[:, None, :]


class Draw(NamedTuple):
    """An iteration."""

    # int64 array, shape (n_rows, n_hypotheses): numbers of the texts that are the hypotheses of each row.
    hypotheses: Ints
    # uint64 array, shape (n_rows, n_blocks): masks of their references.
    references: Masks
    # Whether the references are all other texts of the rows.
    is_whole: bool


def draws(
    rows: Sequence[Sequence[str]],
    texts: RowTexts,
    n_iterations: int,
    n_references: int | None,
    seed: int,
    n_hypotheses: int = 1,
) -> Iterator[Draw]:
    """Draw hypotheses, each caption of a row with equal probability, and references without replacement.

    What is drawn for a row depends on the seed and on its captions, not on its index; equal rows draw independently.

    `rows` are n_rows lists of more than n_hypotheses captions, and `texts` their layout. A row has at most
    `n_references` references, None for all captions but the hypotheses; `n_hypotheses` is at least 1, and `seed` at
    least 0.

    >>> rows = [["a", "b"], ["c", "d", "e"]]
    >>> draw = next(draws(rows, RowTexts([2, 3]), 1, 1, seed=0))
    >>> draw.hypotheses.shape, draw.references.shape, draw.is_whole
    ((2, 1), (2, 1), False)
    """
    generators, of_seed = [], RowGenerators((seed,))
    for row in rows:
        content = repr(list(row)).encode("utf-8", "surrogatepass")
        generators.append(of_seed.of(hashlib.blake2b(content, digest_size=16).digest()))
    sizes, whole = texts.sizes, texts.masks(texts.row, texts.place, len(texts.sizes))
    for begin in range(0, n_iterations, BLOCK):
        n_drawn = min(BLOCK, n_iterations - begin)

        def keys(n_drawn: int = n_drawn) -> np.ndarray:
            """Random numbers, shape (n_texts, n_drawn)."""
            return np.concatenate([g.random((size, n_drawn)) for g, size in zip(generators, sizes, strict=True)])

        if n_hypotheses == 1:
            places = np.stack([g.integers(0, size, n_drawn) for g, size in zip(generators, sizes, strict=True)])
            drawn = [texts.first[:-1, None] + places[:, i : i + 1] for i in range(n_drawn)]
        else:
            drawn = [_smallest(texts, numbers, n_hypotheses).reshape(-1, n_hypotheses) for numbers in keys().T]
        of_references = None if n_references is None else keys()
        for i, hypotheses in enumerate(drawn):
            own = texts.masks(texts.row[hypotheses].ravel(), texts.place[hypotheses].ravel(), len(sizes))
            if of_references is None or n_references is None:
                yield Draw(hypotheses, whole & ~own, True)
            else:
                numbers = of_references[:, i].copy()
                numbers[hypotheses] = np.inf
                chosen = _smallest(texts, numbers, np.minimum(n_references, sizes - n_hypotheses)[texts.row])
                yield Draw(hypotheses, texts.masks(texts.row[chosen], texts.place[chosen], len(sizes)), False)


def _smallest(texts: RowTexts, keys: np.ndarray, n_chosen: int | Ints) -> Ints:
    """Numbers of the texts with the smallest keys of each row, row after row."""
    return np.lexsort((keys, texts.row))[texts.place < n_chosen]


class IterationValues(NamedTuple):
    """Scores of drawn hypotheses."""

    # For each key the values of the corpus, of all iterations.
    corpus: dict[str, list[float]]
    # For each key the score of each row by itself: float64 arrays, shape (n_rows,). With one hypothesis a row and all
    # other captions as references it is the mean over all captions of the row, else, and for CIDEr-D, over those drawn.
    rows: dict[str, Floats]


def iteration_values(metrics: Sequence[ScoredTexts], texts: RowTexts, draws: Iterable[Draw]) -> IterationValues:
    """Score the hypotheses of every iteration as a corpus, and row by row."""
    corpus: dict[str, list[float]] = {}
    rows: dict[str, Floats] = {}
    # The scores of each text against all others of its row, computed once and if they are needed.
    scores_of_texts = [functools.cache(functools.partial(_scores_of_texts, metric, texts)) for metric in metrics]
    for draw in draws:
        for metric, of_texts in zip(metrics, scores_of_texts, strict=True):
            of_corpus, of_rows = _scored(metric, draw, of_texts)
            for key, value in of_corpus.items():
                corpus.setdefault(key, []).append(value)
                rows[key] = rows[key] + of_rows[key] if key in rows else of_rows[key]
    return IterationValues(corpus, {key: total / len(corpus[key]) for key, total in rows.items()})


def _scored(
    metric: ScoredTexts, draw: Draw, of_texts: Callable[[], tuple[Statistics, dict[str, Floats]]]
) -> tuple[dict[str, float], dict[str, Floats]]:
    """Score the hypotheses of an iteration as a corpus, and those of each row by themselves."""
    n_hypotheses = draw.hypotheses.shape[1]
    if metric.is_own and draw.is_whole and n_hypotheses == 1:
        statistics, of_rows = of_texts()
        return metric.corpus(statistics[draw.hypotheses[:, 0]]), of_rows
    if metric.is_set:
        statistics = metric.statistics(draw.hypotheses, draw.references)
        return metric.corpus(statistics), metric.each(statistics)
    statistics = np.concatenate([metric.statistics(column, draw.references) for column in draw.hypotheses.T])
    each = {key: values.reshape(n_hypotheses, -1) for key, values in metric.each(statistics).items()}
    return metric.corpus(statistics), {key: values.mean(axis=0) for key, values in each.items()}


def _scores_of_texts(metric: ScoredTexts, texts: RowTexts) -> tuple[Statistics, dict[str, Floats]]:
    """Statistics of every text against all others of its row, and the mean score of each row's texts."""
    everyone = np.arange(len(texts.row))
    statistics = metric.statistics(everyone[:, None] if metric.is_set else everyone, texts.others(everyone))
    sums = {key: np.bincount(texts.row, values) for key, values in metric.each(statistics).items()}
    return statistics, {key: total / texts.sizes for key, total in sums.items()}


def summary(values: Sequence[float], share: float) -> tuple[float, float, float, float]:
    """Mean of the iterations, the central interval of `share`, and the standard error of the mean.

    The ends are quantiles by linear interpolation; the error is the standard deviation (divisor n - 1) over the root of
    n, NaN for one iteration.

    >>> summary([1.0, 2.0, 3.0], 0.5)
    (2.0, 1.5, 2.5, 0.5773502691896258)
    """
    low, high = np.quantile(values, [(1 - share) / 2, (1 + share) / 2]).tolist()
    n = len(values)
    error = float(np.std(values, ddof=1)) / math.sqrt(n) if n > 1 else math.nan
    return math.fsum(values) / n, low, high, error
