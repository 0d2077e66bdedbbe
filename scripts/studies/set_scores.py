"""Set metrics and plain scores of rows of captions, with intervals over rows: what the decoding studies compare."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import scipy.stats

from manycaps.kit.sets_module import DISTRIBUTION_DEFAULTS, compare_rows
from scripts.studies.caption_rows import CaptionMeasures
from scripts.studies.study_options import MODULES

# Random splits of a row, for its excess, and resamples of the intervals.
N_SPLITS, N_RESAMPLES = 199, 999

CONFIDENCE_LEVEL = 0.95

# Values resampled at once, 8 bytes each.
MAX_RESAMPLED = 6_000_000

# Plain score that a module gives besides.
PLAIN = {"trm_meteor": "meteor", "trm_cider": "cider_d", "trm_bert": "bert"}

# Titles, and whether larger values are better; the set metrics are shown by their excess.
TITLES = {
    "trm_meteor": "TRM-METEOR, excess",
    "trm_cider": "TRM-CIDEr, excess",
    "trm_bert": "TRM-BERT, excess",
    "mmd_bert": "MMD, excess",
    "fid_bert": "Frechet, excess",
    "meteor": "METEOR",
    "cider_d": "CIDEr-D",
    "bert": "BERT cosine",
}
LARGER_IS_BETTER = frozenset(PLAIN.values())

SCORE_COLUMNS = ("measure", "n_rows", "value", "excess", "shown", "ci_low", "ci_high")


def set_scores(
    measures: CaptionMeasures,
    predictions: Sequence[Sequence[str]],
    references: Sequence[Sequence[str]],
    modules: Sequence[str] = MODULES,
) -> Iterator[list[Any]]:
    """Yield the values of `SCORE_COLUMNS` for every module and plain score.

    "shown" is the excess of a set metric, the value minus its mean over random splits of the same captions, so that it
    is about 0 where candidates have the human distribution; and the value of a plain score. The interval is that
    of "shown", a percentile bootstrap over rows.
    """
    for module in modules:
        options = {**DISTRIBUTION_DEFAULTS, "statistic": "per_side", "p_value": "permutation", "n_resamples": N_SPLITS}
        rows = measures.rows(module, "per_side", predictions, references)
        compared = compare_rows(rows, options, lambda batches, **_: batches)
        assert compared.tests is not None  # a p-value was asked for
        yield [module, *_summary(compared.statistic, np.asarray(compared.tests.excesses))]
        if module in PLAIN and compared.plain is not None:
            yield [PLAIN[module], *_summary(compared.plain, None)]


def _summary(values: np.ndarray, excesses: np.ndarray | None) -> list[Any]:
    shown = values if excesses is None else excesses
    low, high = bootstrap_interval(shown, CONFIDENCE_LEVEL, N_RESAMPLES, seed=0)
    excess = np.nan if excesses is None else excesses.mean()
    return [len(values), values.mean(), excess, shown.mean(), low, high]


def bootstrap_interval(
    values: Sequence[float] | np.ndarray, confidence_level: float, n_resamples: int, seed: int
) -> tuple[float, float]:
    """Percentile bootstrap interval of a mean over rows, whatever their order; at least 2 rows.

    >>> bootstrap_interval([1.0, 1.0], 0.95, 99, seed=0)
    (1.0, 1.0)
    """
    interval = scipy.stats.bootstrap(
        (np.sort(values),),
        np.mean,
        n_resamples=n_resamples,
        batch=max(1, MAX_RESAMPLED // len(values)),
        confidence_level=confidence_level,
        method="percentile",
        rng=np.random.default_rng(seed),
    ).confidence_interval
    return float(interval.low), float(interval.high)
