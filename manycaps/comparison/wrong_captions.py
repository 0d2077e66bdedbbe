"""Captions of other rows, which stand for wrong ones, and answers that rows share."""

import itertools
import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from tqdm import tqdm

from manycaps.comparison.read import PEOPLE, SystemRow
from manycaps.kit.arrays import Floats, Ints
from manycaps.kit.parity_gaps import CONFIDENCE_LEVEL, row_gaps
from manycaps.kit.parity_tails import (
    TAIL,
    Distances,
    KeptDistances,
    PeopleDistances,
    Threshold,
    quantile_interval,
    tail_share,
)
from manycaps.kit.sets_tests import cluster_numbers, mean_of_rows

# Rows in which a caption of another row is compared with the references.
N_WRONG_ROWS = 200


# Captions of another row that are compared with the references of one.
MOST_WRONG_CAPTIONS = 10


class WrongCaptions(NamedTuple):
    """Captions of other rows beside the references of a row."""

    # Different rows, and the fidelity gap of a caption of another row in each: arrays of shape (n,).
    rows: Ints
    gaps: Floats
    # Of that caption and the references of each.
    distances: Distances
    # The gaps of as many captions of that other row as are known, that one first: n arrays.
    several: Sequence[Floats]

    @classmethod
    def from_distances(cls, rows: Ints, distances: Sequence[np.ndarray], n_wrong: Sequence[int]) -> "WrongCaptions":
        """Take the distances of each row's wrong captions, which are the first texts, and its references."""
        kept, several = KeptDistances(len(rows)), []
        for i, (matrix, k) in enumerate(zip(distances, n_wrong, strict=True)):
            by_caption = [matrix[np.ix_([j, *range(k, len(matrix))], [j, *range(k, len(matrix))])] for j in range(k)]
            several.append(row_gaps(np.stack(by_caption), 1).fidelity)
            kept.add(by_caption[0][None], 1, [i])
        return cls(rows, np.array([gaps[0] for gaps in several]), kept, several)


def other_rows(n_rows: int, clusters: Sequence[Hashable] | None, n_chosen: int, seed: int) -> tuple[Ints, Ints]:
    """Draw different rows, n_chosen at most, and for each one another row, of another cluster; none of one cluster.

    >>> rows, others = other_rows(3, ["a", "a", "b"], 10, seed=0)
    >>> rows.tolist(), others[:2].tolist()
    ([0, 1, 2], [2, 2])
    """
    rng = np.random.default_rng(seed)
    numbers = np.arange(n_rows) if clusters is None else cluster_numbers(clusters)
    rows = np.sort(rng.permutation(n_rows)[: n_chosen if numbers.any() else 0])
    return rows, np.array([rng.choice(np.flatnonzero(numbers != numbers[row])) for row in rows], dtype=np.int64)


# Distances of all pairs of the texts of rows: for each row a symmetric float64 array, shape (n_texts, n_texts).
RowDistances = Callable[[Sequence[Sequence[str]]], Sequence[np.ndarray]]


# Distances that are computed at once, of 8 bytes each.
MOST_DISTANCES = 1 << 20


class SharedAnswers(NamedTuple):
    """How often two systems, or a system and people, say the same of a row."""

    first: str
    second: str
    # Share of the pairs with one caption of each, 0 to 1, and its interval; NaN with a single row or cluster.
    between: float
    ci_low: float
    ci_high: float
    # Shares of the pairs of captions of the first, and of the second, alone; NaN of systems with one caption per row.
    within_first: float
    within_second: float


def shared_answers(
    rows: Sequence[SystemRow], distances_of: RowDistances, clusters: Sequence[Hashable] | None = None
) -> list[SharedAnswers]:
    """Compare the captions of every two systems, and of each with people's.

    All `rows` have two references or more. The shares within each are not known here: NaN.
    """
    pair_distances = [matrix[np.triu_indices(len(matrix), 1)] for _, matrix in _matrices(rows, distances_of, [PEOPLE])]
    people, threshold = people_pairs(pair_distances)
    people_shares = np.array([threshold.shares(pairs).mean() for pairs in pair_distances])
    error = mean_of_rows(people_shares, clusters).standard_error
    quantiles = quantile_interval(error, people, CONFIDENCE_LEVEL)
    thresholds = [threshold, *(people.threshold(-1, share) for share in quantiles[:3])]
    names = [*rows[0].captions, PEOPLE]
    # Of every row beyond people's quantile, and the sums over rows beyond the ends of its interval.
    shares, beyond = np.empty((len(rows), len(names), len(names))), np.zeros((3, len(names), len(names)))
    sizes = np.array([[len(texts) for texts in _texts(row, names)] for row in rows])
    matrices = _matrices(rows, distances_of, names)
    for i, matrix in tqdm(matrices, "systems that say the same", len(rows), unit="row", delay=1):
        starts = np.cumsum(sizes[i]) - sizes[i]
        counted = np.stack([each.shares(matrix) for each in thresholds])
        sums = np.add.reduceat(np.add.reduceat(counted, starts, axis=1), starts, axis=2)
        shares[i], *ends = sums / np.outer(sizes[i], sizes[i])
        beyond += ends
    answers = []
    for i, j in itertools.combinations(range(len(names)), 2):
        n_captions = int(np.minimum(sizes[:, i], sizes[:, j]).sum())
        share = tail_share(shares[:, i, j], people_shares, clusters, n_captions)
        if share.candidates.n_clusters > 1:
            below, above, near = (beyond[:, i, j] / len(rows)).tolist()
            share = share.with_interval(quantiles.far(below, above), near, CONFIDENCE_LEVEL)
        answers.append(SharedAnswers(names[i], names[j], share.value, share.low, share.high, math.nan, math.nan))
    return answers


def people_pairs(row_values: Sequence[np.ndarray]) -> tuple[PeopleDistances, Threshold]:
    """Return the distribution of people's pairs, with equal weight of all rows, and its 5% quantile."""
    by_count: dict[int, list[np.ndarray]] = {}
    for pairs in row_values:
        by_count.setdefault(len(pairs), []).append(pairs)
    people = PeopleDistances({count: np.concatenate(pairs) for count, pairs in by_count.items()})
    return people, people.threshold(-1, TAIL)


def _texts(row: SystemRow, names: Sequence[str]) -> list[Sequence[str]]:
    """The captions of systems, or of people, of a row."""
    return [row.references or [] if name == PEOPLE else row.captions[name] for name in names]


def _matrices(
    rows: Sequence[SystemRow], distances_of: RowDistances, names: Sequence[str]
) -> Iterator[tuple[int, np.ndarray]]:
    """Number of every row, and the distances of all its captions of these names; a bounded number at once."""
    start = 0
    while start < len(rows):
        texts, n_distances = [], 0
        for row in rows[start:]:
            texts.append([text for side in _texts(row, names) for text in side])
            n_distances += len(texts[-1]) ** 2
            if n_distances >= MOST_DISTANCES:
                break
        for matrix in distances_of(texts):
            yield start, matrix
            start += 1


def wrong_captions(
    distances_of: RowDistances, references: Sequence[Sequence[str]], clusters: Sequence[Hashable] | None, seed: int
) -> WrongCaptions | None:
    """Compare what people wrote of other rows, or clusters, with the references of some; None for a single cluster."""
    rows, others = other_rows(len(references), clusters, N_WRONG_ROWS, seed)
    if not len(rows):
        return None
    captions = []
    for row, other in zip(rows.tolist(), others.tolist(), strict=True):
        first = row % len(references[other])
        captions.append([*references[other][first:], *references[other][:first]][:MOST_WRONG_CAPTIONS])
    texts = [[*several, *references[row]] for several, row in zip(captions, rows, strict=True)]
    return WrongCaptions.from_distances(rows, distances_of(texts), list(map(len, captions)))
