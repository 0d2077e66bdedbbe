"""Homogeneity: do several systems say the same of a row, more often than several people do?

Jiang et al. (2025, https://arxiv.org/abs/2510.22954) call it an artificial hivemind. Two captions of a row say the same
as far as they are nearer to each other than 19 of 20 pairs of human captions are (near-duplicates; see `parity_tails`):
of people's own pairs 5 % do, whatever the distance. With the captions C of one system and D of another, the share of a
row is the mean over all pairs (c, d) of C x D, and that of the corpus the mean over rows. Pairs at people's quantile
count with the fraction that gives people exactly 5 %.
"""

import itertools
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from manycaps.comparison.paired_tests import CONFIDENCE_LEVEL
from manycaps.comparison.systems import PEOPLE, SystemRow
from manycaps.kit.caption_sets import mean_of_rows
from manycaps.kit.parity_tails import TAIL, PeopleDistances, Threshold, quantile_interval, tail_share

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
    rows: Sequence[SystemRow],
    distances_of: RowDistances,
    within: Sequence[float],
    clusters: Sequence[Hashable] | None = None,
    progress: Callable[[], object] = lambda: None,
) -> list[SharedAnswers]:
    """Compare the captions of every two systems, and of each with people's.

    All `rows` have two references or more; `within` is the share of near-duplicates of every system, in their order.
    `progress` is called after every row.
    """
    of_pairs = [matrix[np.triu_indices(len(matrix), 1)] for _, matrix in _matrices(rows, distances_of, [PEOPLE])]
    people, threshold = people_pairs(of_pairs)
    of_people = np.array([threshold.shares(pairs).mean() for pairs in of_pairs])
    error = mean_of_rows(of_people, clusters).standard_error
    quantiles = quantile_interval(error, people, CONFIDENCE_LEVEL)
    thresholds = [threshold, *(people.threshold(-1, share) for share in quantiles[:3])]
    names = [*rows[0].captions, PEOPLE]
    # Of every row beyond people's quantile, and the sums over rows beyond the ends of its interval.
    shares, beyond = np.empty((len(rows), len(names), len(names))), np.zeros((3, len(names), len(names)))
    sizes = np.array([[len(texts) for texts in _texts(row, names)] for row in rows])
    for i, matrix in _matrices(rows, distances_of, names):
        starts = np.cumsum(sizes[i]) - sizes[i]
        counted = np.stack([each.shares(matrix) for each in thresholds])
        sums = np.add.reduceat(np.add.reduceat(counted, starts, axis=1), starts, axis=2)
        shares[i], *ends = sums / np.outer(sizes[i], sizes[i])
        beyond += ends
        progress()
    inside, answers = [*within, TAIL], []
    for i, j in itertools.combinations(range(len(names)), 2):
        n_captions = int(np.minimum(sizes[:, i], sizes[:, j]).sum())
        share = tail_share(shares[:, i, j], of_people, clusters, n_captions)
        if share.candidates.n_clusters > 1:
            below, above, near = (beyond[:, i, j] / len(rows)).tolist()
            share = share.with_interval(quantiles.far(below, above), near, CONFIDENCE_LEVEL)
        answers.append(SharedAnswers(names[i], names[j], share.value, share.low, share.high, inside[i], inside[j]))
    return answers


def people_pairs(of_rows: Sequence[np.ndarray]) -> tuple[PeopleDistances, Threshold]:
    """Return the distribution of people's pairs, with equal weight of all rows, and its 5 % quantile."""
    by_count: dict[int, list[np.ndarray]] = {}
    for pairs in of_rows:
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
