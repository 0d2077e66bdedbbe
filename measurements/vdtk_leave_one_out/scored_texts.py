"""Scores of any text of a row against any others of it: what does not depend on the draw is computed once.

Each class has `statistics`, one line of numbers for each hypothesis, and `corpus`, from these to the values that are
reported. Where the statistics of a hypothesis depend on its own references alone, `is_own` is True.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from .cider_d_table import CIDER_D_MAXIMUM, CiderTable
from .shared_bleu import MAX_ORDER, BleuTable, corpus_bleu
from .shared_caption_tokens import same_tokens
from .shared_meteor15 import corpus_score, pair_statistics
from .shared_meteor15 import scores as meteor15_scores
from .shared_meteor15_texts import Lexicon as Meteor15Lexicon
from .shared_meteor_distance import Lexicon, meteor_distances, meteor_scores
from .shared_rouge_l import f_measure, precisions_and_recalls
from .shared_row_texts import Ints, Masks, RowTexts
from .shared_triangle_rank import triangle_rank_counts, triangle_rank_statistic

Tokens = Sequence[str]
TokenRows = Sequence[Sequence[Tokens]]
Statistics = npt.NDArray[Any]


class ScoredTexts(Protocol):
    """What every class here has."""

    is_own: bool

    def statistics(self, hypotheses: Ints, references: Masks) -> Statistics:
        """Return the numbers of some texts, shape (n,) or (n, n_numbers)."""

    def corpus(self, statistics: Statistics) -> dict[str, float]:
        """Return the values of a corpus, one of whose rows each line of numbers stands for."""


class BleuScores:
    """BLEU-1 to BLEU-4 of a corpus, from the sums of its statistics."""

    is_own = True

    def __init__(self, rows: TokenRows) -> None:
        self.table = BleuTable(rows)

    def statistics(self, hypotheses: Ints, references: Masks) -> Statistics:
        """As `BleuTable.statistics`."""
        return self.table.statistics(hypotheses, references)

    def corpus(self, statistics: Statistics) -> dict[str, float]:
        """BLEU-1 to BLEU-4."""
        return {f"bleu_{n}": value for n, value in enumerate(corpus_bleu(statistics).tolist(), start=1)}


class CiderScores:
    """CIDEr-D, whose document frequencies are those of all references of an iteration."""

    is_own = False

    def __init__(self, rows: TokenRows) -> None:
        self.table = CiderTable(rows)

    def statistics(self, hypotheses: Ints, references: Masks) -> Statistics:
        """As `CiderTable.scores`."""
        return self.table.scores(hypotheses, references)

    def corpus(self, statistics: Statistics) -> dict[str, float]:
        """The mean."""
        return {"cider_d": math.fsum(statistics.tolist()) / len(statistics)}


class PairScores:
    """What all metrics of pairs of texts have in common: a number for each pair of texts of a row."""

    is_own = True

    def __init__(self, rows: TokenRows) -> None:
        self.texts = RowTexts(len(row) for row in rows)
        self.flat = [tokens for row in rows for tokens in row]
        sizes = self.texts.sizes
        # Pairs [candidate, reference] of a row stand in a square, row after row.
        self.first_pair = np.cumsum(sizes**2) - sizes**2

    def pairs(self) -> tuple[Ints, Ints]:
        """Numbers of candidate and reference of all pairs, each text with itself included."""
        size = self.texts.sizes[self.texts.row]
        candidate = np.repeat(np.arange(len(size)), size)
        place = np.arange(len(candidate)) - np.repeat(np.cumsum(size) - size, size)
        return candidate, self.texts.first[self.texts.row[candidate]] + place

    def chosen(self, hypotheses: Ints, references: Masks) -> tuple[Ints, Ints]:
        """Numbers of the pairs of each hypothesis with its references, and where each hypothesis begins."""
        row = self.texts.row[hypotheses]
        position, other = self.texts.members(row, references)
        line = self.first_pair[row] + self.texts.place[hypotheses] * self.texts.sizes[row]
        return line[position] + self.texts.place[other], np.searchsorted(position, np.arange(len(hypotheses)))


class RougeScores(PairScores):
    """ROUGE-L: mean over rows, of precision and recall the best over the references."""

    def __init__(self, rows: TokenRows) -> None:
        super().__init__(rows)
        self.precision, self.recall = precisions_and_recalls(self.flat, *self.pairs())

    def statistics(self, hypotheses: Ints, references: Masks) -> Statistics:
        """Scores of the hypotheses, shape (n,)."""
        pairs, starts = self.chosen(hypotheses, references)
        best = (np.maximum.reduceat(values[pairs], starts) for values in (self.precision, self.recall))
        return f_measure(*best)

    def corpus(self, statistics: Statistics) -> dict[str, float]:
        """The mean."""
        return {"rouge_l": math.fsum(statistics.tolist()) / len(statistics)}


class MeteorScores(PairScores):
    """METEOR as NLTK computes it: mean over rows of the score against the best reference."""

    def __init__(self, rows: TokenRows, lexicon: Lexicon) -> None:
        super().__init__(rows)
        self.matrices = meteor_scores(rows, lexicon)  # [reference, candidate]
        self.scores = np.concatenate([matrix.T.ravel() for matrix in self.matrices])

    def statistics(self, hypotheses: Ints, references: Masks) -> Statistics:
        """Scores of the hypotheses, shape (n,)."""
        pairs, starts = self.chosen(hypotheses, references)
        return np.maximum.reduceat(self.scores[pairs], starts)

    def corpus(self, statistics: Statistics) -> dict[str, float]:
        """The mean."""
        return {"meteor": math.fsum(statistics.tolist()) / len(statistics)}


class Meteor15Scores(PairScores):
    """METEOR 1.5 of a corpus, from the sums of the statistics against each hypothesis's best reference."""

    def __init__(self, rows: TokenRows, lexicon: Meteor15Lexicon) -> None:
        super().__init__(rows)
        numbers: dict[str, int] = {}
        text = np.array([numbers.setdefault(" ".join(tokens), len(numbers)) for tokens in self.flat], np.int64)
        candidate, reference = (text[side] for side in self.pairs())
        distinct, self.number = np.unique(candidate * len(numbers) + reference, return_inverse=True)
        words = [lexicon.words(caption) for caption in numbers]
        self.of_pair = pair_statistics(words, *np.divmod(distinct, len(numbers)), lexicon)
        self.scores = meteor15_scores(self.of_pair)

    def statistics(self, hypotheses: Ints, references: Masks) -> Statistics:
        """Statistics of each hypothesis with its best reference, the first of equals, shape (n, 23)."""
        pairs, starts = self.chosen(hypotheses, references)
        pairs = self.number[pairs]
        scores = self.scores[pairs]
        best = np.maximum.reduceat(scores, starts)
        hypothesis = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(pairs))))
        is_best = np.flatnonzero(scores == best[hypothesis])
        return self.of_pair[pairs[is_best[np.unique(hypothesis[is_best], return_index=True)[1]]]]

    def corpus(self, statistics: Statistics) -> dict[str, float]:
        """The score of the corpus."""
        return {"meteor15": corpus_score(statistics)}


class TriangleScores(PairScores):
    """A triangle-rank statistic with one candidate: mean over rows."""

    def __init__(self, rows: TokenRows, name: str, distances: Sequence[np.ndarray]) -> None:
        super().__init__(rows)
        self.name, self.distances = name, np.concatenate([matrix.ravel() for matrix in distances])

    def statistics(self, hypotheses: Ints, references: Masks) -> Statistics:
        """Statistics of the hypotheses, shape (n,)."""
        position, other = self.texts.members(self.texts.row[hypotheses], references)
        numbers = np.bincount(position, minlength=len(hypotheses))
        values = np.zeros(len(hypotheses))
        for number in np.unique(numbers).tolist():
            these = np.flatnonzero(numbers == number)
            own = other[np.isin(position, these)].reshape(len(these), number)
            texts = np.column_stack([hypotheses[these], own])  # candidate first
            row = self.texts.row[texts[:, :1]]
            line = self.first_pair[row] + self.texts.place[texts] * self.texts.sizes[row]
            matrices = self.distances[line[:, :, None] + self.texts.place[texts][:, None, :]]
            values[these] = triangle_rank_statistic(triangle_rank_counts(matrices, 1), "per_side")
        return values

    def corpus(self, statistics: Statistics) -> dict[str, float]:
        """The mean."""
        return {self.name: math.fsum(statistics.tolist()) / len(statistics)}


def cider_d_distances(rows: TokenRows) -> list[np.ndarray]:
    """CIDEr-D distances of all pairs of texts of a row, each row one document: d(x, y) = 10 - CIDEr-D(x, y).

    Args:
        rows: n_rows rows of token lists.

    Returns:
        For each row a float64 array, shape (n_texts, n_texts); texts of equal tokens have distance 0.
    """
    sizes = [len(row) for row in rows]
    cells = np.split(CiderTable(rows).pair_scores(), np.cumsum(np.array(sizes) ** 2)[:-1])
    matrices = (part.reshape(size, size) for part, size in zip(cells, sizes, strict=True))
    return [
        np.where(same_tokens(row), 0.0, CIDER_D_MAXIMUM - matrix) for row, matrix in zip(rows, matrices, strict=True)
    ]


def scored_texts(
    rows: TokenRows, metrics: Sequence[str], meteor: Callable[[], Lexicon], meteor15: Callable[[], Meteor15Lexicon]
) -> list[ScoredTexts]:
    """Count what the metrics need, once for all iterations.

    Args:
        rows: n_rows rows of token lists.
        metrics: names, of `METRICS`.
        meteor: gives the words that NLTK's METEOR asks for; called if it is wanted.
        meteor15: the same for METEOR 1.5.

    Returns:
        One object for each metric.
    """
    makers: Mapping[str, Callable[[], ScoredTexts]] = {
        "bleu": lambda: BleuScores(rows),
        "rouge_l": lambda: RougeScores(rows),
        "cider_d": lambda: CiderScores(rows),
        "meteor15": lambda: Meteor15Scores(rows, meteor15()),
        "meteor": lambda: MeteorScores(rows, meteor()),
        "trm_meteor": lambda: TriangleScores(rows, "trm_meteor", meteor_distances(rows, meteor_scores(rows, meteor()))),
        "trm_cider": lambda: TriangleScores(rows, "trm_cider", cider_d_distances(rows)),
    }
    return [makers[metric]() for metric in metrics]


# Keys of the results of each metric.
METRICS = {
    "bleu": tuple(f"bleu_{n}" for n in range(1, MAX_ORDER + 1)),
    "rouge_l": ("rouge_l",),
    "cider_d": ("cider_d",),
    "meteor15": ("meteor15",),
    "meteor": ("meteor",),
    "trm_meteor": ("trm_meteor",),
    "trm_cider": ("trm_cider",),
}
