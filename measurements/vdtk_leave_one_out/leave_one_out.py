"""Leave-one-out scores of people: one caption of each row against its others, drawn again and again.

Chan, Myers et al. (2022), section 3 and supplement B.1, https://arxiv.org/abs/2205.06253.
"""

import math
from collections.abc import Iterable, Sequence

import numpy as np

from .drawn_hypotheses import Draw
from .scored_texts import ScoredTexts, Statistics
from .shared_row_texts import RowTexts


def iteration_values(metrics: Sequence[ScoredTexts], texts: RowTexts, draws: Iterable[Draw]) -> dict[str, list[float]]:
    """Score the hypotheses of every iteration as a corpus.

    Args:
        metrics: as from `scored_texts`.
        texts: places of the texts.
        draws: the iterations.

    Returns:
        For each key the values of all iterations.
    """
    values: dict[str, list[float]] = {}
    remembered: dict[int, Statistics] = {}
    everyone = np.arange(len(texts.row))
    for draw in draws:
        for i, metric in enumerate(metrics):
            if metric.is_own and draw.is_whole:
                if i not in remembered:
                    remembered[i] = metric.statistics(everyone, texts.others(everyone))
                statistics = remembered[i][draw.hypotheses]
            else:
                statistics = metric.statistics(draw.hypotheses, draw.references)
            for key, value in metric.corpus(statistics).items():
                values.setdefault(key, []).append(value)
    return values


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
