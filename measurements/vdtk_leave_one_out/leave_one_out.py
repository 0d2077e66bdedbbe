"""Leave-one-out scores of people: one caption of each row against its others, drawn again and again.

Chan, Myers et al. (2022), section 3 and supplement B.1, https://arxiv.org/abs/2205.06253.
"""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from .drawn_hypotheses import Draw
from .row_pairs import Floats, ScoredTexts, Statistics
from .shared_row_texts import RowTexts


class IterationValues(NamedTuple):
    """Scores of drawn hypotheses."""

    # For each key the values of the corpus, of all iterations.
    corpus: dict[str, list[float]]
    # For each key the score of each row by itself: float64 arrays, shape (n_rows,). With one hypothesis a row and all
    # other captions as references it is the mean over all captions of the row, else, and for CIDEr-D, over those drawn.
    rows: dict[str, Floats]


def iteration_values(metrics: Sequence[ScoredTexts], texts: RowTexts, draws: Iterable[Draw]) -> IterationValues:
    """Score the hypotheses of every iteration as a corpus, and row by row.

    Args:
        metrics: as from `scored_texts`.
        texts: places of the texts.
        draws: the iterations, at least one.

    Returns:
        The values.
    """
    corpus: dict[str, list[float]] = {}
    rows: dict[str, Floats] = {}
    scorers = [_Scorer(metric, texts) for metric in metrics]
    for draw in draws:
        for scorer in scorers:
            of_corpus, of_rows = scorer.scored(draw)
            for key, value in of_corpus.items():
                corpus.setdefault(key, []).append(value)
                rows[key] = rows[key] + of_rows[key] if key in rows else of_rows[key]
    return IterationValues(corpus, {key: total / len(corpus[key]) for key, total in rows.items()})


class _Scorer:
    """A metric that remembers what each text scores against all others of its row, where nothing else counts."""

    def __init__(self, metric: ScoredTexts, texts: RowTexts) -> None:
        self.metric, self.texts = metric, texts
        self.remembered: tuple[Statistics, dict[str, Floats]] | None = None

    def scored(self, draw: Draw) -> tuple[dict[str, float], dict[str, Floats]]:
        """Score the hypotheses of an iteration as a corpus, and those of each row by themselves."""
        metric, n_hypotheses = self.metric, draw.hypotheses.shape[1]
        if metric.is_own and draw.is_whole and n_hypotheses == 1:
            of_texts, of_rows = self._of_texts()
            return metric.corpus(of_texts[draw.hypotheses[:, 0]]), of_rows
        if metric.is_set:
            statistics = metric.statistics(draw.hypotheses, draw.references)
            return metric.corpus(statistics), metric.each(statistics)
        statistics = np.concatenate([metric.statistics(column, draw.references) for column in draw.hypotheses.T])
        each = {key: values.reshape(n_hypotheses, -1) for key, values in metric.each(statistics).items()}
        return metric.corpus(statistics), {key: values.mean(axis=0) for key, values in each.items()}

    def _of_texts(self) -> tuple[Statistics, dict[str, Floats]]:
        """Statistics of every text against all others of its row, and the mean score of each row's texts."""
        if self.remembered is None:
            texts = np.arange(len(self.texts.row))
            hypotheses = texts[:, None] if self.metric.is_set else texts
            statistics = self.metric.statistics(hypotheses, self.texts.others(texts))
            sums = {key: np.bincount(self.texts.row, values) for key, values in self.metric.each(statistics).items()}
            self.remembered = statistics, {key: total / self.texts.sizes for key, total in sums.items()}
        return self.remembered


def summary(values: Sequence[float], share: float) -> tuple[float, float, float, float]:
    """Mean of the iterations, the interval that holds the middle `share` of them, and the mean's standard error.

    Args:
        values: at least one.
        share: between 0 and 1.

    Returns:
        Mean; lower and upper end, quantiles by linear interpolation; standard deviation (divisor n - 1) over the root
        of n, NaN for one iteration.

    >>> summary([1.0, 2.0, 3.0], 0.5)
    (2.0, 1.5, 2.5, 0.5773502691896258)
    """
    low, high = np.quantile(values, [(1 - share) / 2, (1 + share) / 2]).tolist()
    n = len(values)
    error = float(np.std(values, ddof=1)) / math.sqrt(n) if n > 1 else math.nan
    return math.fsum(values) / n, low, high, error
