"""How well captions of a row score against each other, on a sample of rows: Figures 3 and S3 of Chan et al. (2022).

https://arxiv.org/abs/2205.06253, section 5 and supplement B.6, by what `vdtk_leave_one_out` is made of. The paper's own
protocol has more draws and all rows; a plot needs fewer.
"""

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from manycaps import functional
from manycaps.kit.leave_one_out import METRICS, Sources, count_statistics, draws, iteration_values
from manycaps.kit.ngrams import RowTexts
from manycaps.kit.words_tokenizers import tokenize_rows

# Rows that are kept of a data set, chosen at random.
SAMPLE_ROWS = 500

# How often a caption of each row is held out, at random.
N_DRAWS = 10

# What a curve of references shows: metric of `METRICS` and name, the last key of each.
CURVES = {"bleu": "BLEU-4", "rouge_l": "ROUGE-L", "cider_d": "CIDEr-D"}

# Numbers of references that are tried.
N_REFERENCES = (1, 2, 3, 4, 5, 7, 10, 15, 20)

# Fewest rows of a curve of references, points along the variance, and fewest rows of each.
FEWEST_ROWS = 8
N_POINTS, FEWEST_OF_A_POINT = 8, 5


class RowSample:
    """A random sample of a stream of rows, the same whenever the stream is (Vitter 1985, algorithm R).

    >>> sample = RowSample(2)
    >>> sample.update([["a"], ["b"], ["c"]])
    >>> len(sample.rows)
    2
    """

    def __init__(self, size: int = SAMPLE_ROWS):
        """Take the number of rows to keep."""
        self.rows: list[list[str]] = []
        self._size, self._n_rows, self._rng = size, 0, np.random.default_rng(0)

    def update(self, rows: Sequence[Sequence[str]]) -> None:
        """Take in rows."""
        for row in rows:
            self._n_rows += 1
            if len(self.rows) < self._size:
                self.rows.append(list(row))
            elif (slot := int(self._rng.integers(self._n_rows))) < self._size:
                self.rows[slot] = list(row)


@dataclasses.dataclass(frozen=True, kw_only=True)
class ReferenceCurves:
    """Scores of captions that were held out, by the number of references."""

    n_references: Sequence[int]
    # By metric its value for each number.
    values: Mapping[str, Sequence[float]]
    n_rows: int


def reference_curves(rows: Sequence[Sequence[str]]) -> ReferenceCurves | None:
    """Score a caption of each row against 1, 2, 3, ... others of it, drawn without replacement.

    The largest number of references is one that half of the rows allow, and rows that do not allow it are left out.
    BLEU-4, ROUGE-L and CIDEr-D of the corpus are means over draws; None where fewer than `FEWEST_ROWS` rows have
    three captions or more.
    """
    sizes = np.array([len(row) for row in rows if len(row) > 2])
    if len(sizes) < FEWEST_ROWS:
        return None
    numbers = [n for n in N_REFERENCES if n < np.quantile(sizes, 0.5, method="lower")]
    kept = [row for row in rows if len(row) > numbers[-1]]
    texts = RowTexts(map(len, kept))
    metrics = count_statistics(tokenize_rows(kept, "ptb"), list(CURVES), Sources())
    # The references of a number are among a larger one's: the draws depend on the seed alone.
    iterations = [iteration_values(metrics, texts, draws(kept, texts, N_DRAWS, n, 0)).corpus for n in numbers]
    curves = {
        name: [float(np.mean(values[METRICS[metric][-1]])) for values in iterations] for metric, name in CURVES.items()
    }
    return ReferenceCurves(n_references=numbers, values=curves, n_rows=len(kept))


def variance_curve(rows: Sequence[Sequence[str]], vectors: Sequence[np.ndarray]) -> list[tuple[float, float]]:
    """Put the variance of the distances within rows beside the scores of their captions against each other.

    Rows have three different captions or more, and may repeat them; `vectors` are the embeddings of the different
    captions of each row, shape (n, d), as repeated ones would bring distances of 0 (supplement B.5). Each point is
    (mean variance of the cosine distances, mean BLEU-4 of a caption against the others) of rows of rising variance, in
    `N_POINTS` groups of equal numbers; none where a group would have fewer than `FEWEST_OF_A_POINT`.
    """
    if len(rows) < N_POINTS * FEWEST_OF_A_POINT:
        return []
    distances = [functional.cosine_distances(row[None])[0][np.triu_indices(len(row), 1)] for row in vectors]
    variances = np.array([own.var() for own in distances])
    texts = RowTexts(map(len, rows))
    # All captions of a row count, whichever are drawn: one draw is enough.
    drawn = draws(rows, texts, 1, None, 0)
    scores = iteration_values(count_statistics(tokenize_rows(rows, "ptb"), ["bleu"], Sources()), texts, drawn).rows[
        "bleu_4"
    ]
    groups = np.array_split(np.argsort(variances, kind="stable"), N_POINTS)
    return [(float(variances[group].mean()), float(scores[group].mean())) for group in groups]
