"""How well captions of a row score against each other, on a sample of rows: Figures 3 and S3 of Chan et al. (2022).

https://arxiv.org/abs/2205.06253, section 5 and supplement B.6. The paper's own protocol has more draws and all rows;
a plot needs fewer.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from manycaps import functional
from manycaps.cider_distance import document_frequencies
from manycaps.shared_caption_tokens import tokenize_rows

# Rows that are kept of a data set, chosen at random.
SAMPLE_ROWS = 500

# Captions that are held out of each row, one after the other, at random.
N_DRAWS = 3

# Numbers of references that are tried.
N_REFERENCES = (1, 2, 3, 4, 5, 7, 10, 15, 20)

# Fewest rows of a curve of references, points along the variance, and fewest rows of each.
FEWEST_ROWS = 8
N_POINTS, FEWEST_OF_A_POINT = 8, 5

Tokens = Sequence[Sequence[Sequence[str]]]


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
            elif (place := int(self._rng.integers(self._n_rows))) < self._size:
                self.rows[place] = list(row)


class ReferenceCurves(NamedTuple):
    """Scores of captions that were held out, by the number of references."""

    n_references: Sequence[int]
    # By metric its value for each number.
    values: Mapping[str, Sequence[float]]
    n_rows: int


def reference_curves(rows: Sequence[Sequence[str]], seed: int = 0) -> ReferenceCurves | None:
    """Score a caption of each row against 1, 2, 3, ... others of it, drawn without replacement.

    Args:
        rows: lists of captions. The largest number of references is one that half of the rows allow, and the rows that
            do not are left out.
        seed: of the draws.

    Returns:
        BLEU-4 of the corpus, and means of ROUGE-L and CIDEr-D, each a mean over the draws; None where fewer than
        `FEWEST_ROWS` rows have three captions or more.
    """
    sizes = np.array([len(row) for row in rows if len(row) > 2])
    if len(sizes) < FEWEST_ROWS:
        return None
    numbers = [n for n in N_REFERENCES if n < np.quantile(sizes, 0.5, method="lower")]
    tokens = tokenize_rows([row for row in rows if len(row) > numbers[-1]], "ptb")
    counted = {"n_documents": len(tokens), "document_frequency": dict(document_frequencies(tokens))}
    rng = np.random.default_rng(seed)
    drawn = [[[row[i] for i in rng.permutation(len(row))] for row in tokens] for _ in range(N_DRAWS)]
    found = [[_scores(draw, n, counted) for draw in drawn] for n in numbers]
    means = np.mean(found, axis=1).T.tolist()
    return ReferenceCurves(numbers, dict(zip(("BLEU-4", "ROUGE-L", "CIDEr-D"), means, strict=True)), len(tokens))


def variance_curve(rows: Sequence[Sequence[str]], vectors: Sequence[np.ndarray]) -> list[tuple[float, float]]:
    """Put the variance of the distances within rows beside the scores of their captions against each other.

    Args:
        rows: lists of different captions, three or more.
        vectors: embeddings of the captions of each row, shape (n, d).

    Returns:
        (mean variance of the cosine distances, mean BLEU-4 of a caption against the others) of rows of rising variance,
        `N_POINTS` groups of equal numbers; none where a group would have fewer than `FEWEST_OF_A_POINT`.
    """
    if len(rows) < N_POINTS * FEWEST_OF_A_POINT:
        return []
    variances = np.array([_variance(row) for row in vectors])
    tokens = tokenize_rows(rows, "ptb")
    scores = np.array([_against_others(row) for row in tokens])
    groups = np.array_split(np.argsort(variances, kind="stable"), N_POINTS)
    return [(float(variances[group].mean()), float(scores[group].mean())) for group in groups]


def _scores(rows: Tokens, n_references: int, counted: Mapping[str, Any]) -> tuple[float, float, float]:
    """BLEU-4, ROUGE-L and CIDEr-D of the first caption of every row against those that follow."""
    sides = [[row[0]] for row in rows], [row[1 : n_references + 1] for row in rows]
    return (
        float(functional.corpus_bleu(*sides)[3]),
        float(functional.rouge_l(*sides).mean()),
        float(functional.cider_d(*sides, counted).mean()),
    )


def _against_others(row: Sequence[Sequence[str]]) -> float:
    others = [[*row[:i], *row[i + 1 :]] for i in range(len(row))]
    return float(functional.bleu([[each] for each in row], others)[:, 3].mean())


def _variance(vectors: np.ndarray) -> float:
    distances = functional.cosine_distances(vectors[None])[0]
    return float(distances[np.triu_indices(len(vectors), 1)].var())
