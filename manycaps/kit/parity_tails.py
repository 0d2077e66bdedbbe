"""Tails of people's own distances: the share of candidates that lie where only one human caption in twenty lies.

For a reference r_j of a row, with S_j the other references, a_j = mean d(r_j, S_j); for a candidate c beside the
same texts, b_j = mean d(c, S_j). Given S_j, c and r_j are exchangeable if c is a human caption, so that b and a
have one distribution, whatever the sizes of the sets. A candidate is unlike people's captions as far as its b_j lie
above the 95% quantile of the a of all rows, and generic as far as they lie below the 5% quantile. Pairs of
candidates are compared with pairs of references in the same way: near-duplicates lie below the 5% quantile of
people's pairs, spread pairs above the 95% quantile. Human captions give 5% of each.

Rows have equal weight, and so have the references of a row. Values within 1e-9 of the corpus's scale are equal;
those at a quantile count with the fraction that gives people exactly 5%.
"""

import bisect
import dataclasses
import functools
import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import scipy.special

from .sets_tests import TIE_TOLERANCE, ClusteredMean, cluster_numbers, mean_of_rows, row_scales

# Share of people's distances in a tail.
TAIL = 0.05

# Rows, or clusters, from which on tails are tested, and people's distances that are independent of each other: the
# references of a row but one. With fewer the quantile is the largest value, and the test finds too much.
LEAST_ROWS_OF_TAILS = 10

LEAST_DISTANCES_OF_TAILS = 20

# Rows, or clusters, from which on the test is Student's; with fewer it is by random splits of every row, as far as all
# rows have no more distances than this.
LEAST_ROWS_OF_STUDENT, MOST_SPLIT_DISTANCES = 100, 1 << 18

# Draws of a test by splits: no more when so many have reached every share, else the fewest, or the most, or as many
# between them as look at so many distances.
N_REACHED, LEAST_DRAWS, MOST_DRAWS, DRAWN_DISTANCES = 25, 1_999, 9_999, 10_000_000

# Numbers of a block of rows, 8 bytes each.
BLOCK_VALUES = 1 << 19


class Tail(NamedTuple):
    """One end of a distribution of distances."""

    # 1 for the large distances, -1 for the small ones.
    sign: int
    # Whether pairs of captions are compared, or captions with the references.
    compares_pairs: bool


TAILS: Mapping[str, Tail] = {
    "unlike_people_share": Tail(1, False),
    "generic_share": Tail(-1, False),
    "near_duplicate_share": Tail(-1, True),
    "spread_share": Tail(1, True),
}

# Tails that the test looks at; spread pairs are a sign of wrong captions, which the first one sees better.
TESTED = ("unlike_people_share", "generic_share", "near_duplicate_share")


class DistanceBlock(NamedTuple):
    """Distances of rows of equal sizes."""

    # Indices of the rows, shape (n_rows,).
    rows: np.ndarray
    n_candidates: int
    # float64 array, shape (n_rows, n_texts, n_texts), symmetric, zeros on the diagonal, candidates first.
    distances: np.ndarray


class Distances(Protocol):
    """The distances of all rows of a corpus."""

    # Number of rows.
    n_rows: int

    def blocks(self) -> Iterator[DistanceBlock]:
        """Yield all rows, as often as asked."""


class KeptDistances:
    """Distances in memory: one triangle for every row, n_rows in all."""

    def __init__(self, n_rows: int):
        self.n_rows = n_rows
        self._parts: list[tuple[np.ndarray, int, np.ndarray]] = []

    def add(self, distances: np.ndarray, n_candidates: int, rows: Sequence[int]) -> None:
        """Take in rows of equal sizes: distances as in `DistanceBlock`, and the indices of the rows."""
        self._parts.append((np.asarray(rows), n_candidates, pack_rows(distances)))

    def blocks(self) -> Iterator[DistanceBlock]:
        """Yield all rows, in blocks."""
        for rows, n_candidates, packed in self._parts:
            yield from unpack_blocks(rows, n_candidates, packed)

    def pack(self) -> list[np.ndarray]:
        """Return one triangle of every row's distances, in the order of the rows: n_rows arrays, shape (n_pairs,)."""
        by_row = {row: triangle for rows, _, packed in self._parts for row, triangle in zip(rows, packed, strict=True)}
        return [by_row[row] for row in range(self.n_rows)]


def pack_rows(distances: np.ndarray) -> np.ndarray:
    """Return one triangle of symmetric distances: (n_rows, n_texts, n_texts) to (n_rows, n_pairs)."""
    first, second = np.triu_indices(distances.shape[1], 1)
    packed: np.ndarray = distances[:, first, second]
    return packed


def unpack_blocks(rows: np.ndarray, n_candidates: int, packed: np.ndarray) -> Iterator[DistanceBlock]:
    """Yield rows of equal sizes with their distances, a bounded number of them at once."""
    n_texts = (1 + math.isqrt(1 + 8 * packed.shape[1])) // 2
    first, second = np.triu_indices(n_texts, 1)
    step = max(1, BLOCK_VALUES // n_texts**2)
    for start in range(0, len(packed), step):
        part = packed[start : start + step]
        distances = np.zeros((len(part), n_texts, n_texts))
        distances[:, first, second] = distances[:, second, first] = part
        yield DistanceBlock(rows[start : start + step], n_candidates, distances)


class TailDistances:
    """What tails compare, of rows of equal sizes: float64 arrays, each computed when it is first asked for."""

    def __init__(self, distances: np.ndarray, n_candidates: int):
        """Take distances as for `row_gaps`: of at least one candidate and two references."""
        self._distances = distances
        self._candidates, self._people = np.split(np.arange(distances.shape[1]), [n_candidates])

    def _between(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Distances of texts from others; of their numbers, which broadcast, the shape, and n_rows behind it."""
        return np.moveaxis(self._distances[:, first, second], 0, -1)

    def _between_pairs(self, texts: np.ndarray) -> np.ndarray:
        first, second = np.triu_indices(len(texts), 1)
        return self._between(texts[first], texts[second]).T

    @functools.cached_property
    def people(self) -> np.ndarray:
        """Mean distances a_j of the references from the others: (n_rows, n_references)."""
        among = self._between(self._people[:, None], self._people)
        return (among.sum(axis=1) / (len(among) - 1)).T

    @functools.cached_property
    def candidates(self) -> np.ndarray:
        """Mean distances b_j of the candidates from all references but j: (n_rows, n_candidates, n_references)."""
        crossing = self._between(self._candidates[:, None], self._people)
        means = (crossing.sum(axis=1, keepdims=True) - crossing) / (crossing.shape[1] - 1)
        return np.moveaxis(means, -1, 0)

    @functools.cached_property
    def people_pairs(self) -> np.ndarray:
        """Distances of all pairs of references: (n_rows, n_pairs)."""
        return self._between_pairs(self._people)

    @functools.cached_property
    def candidate_pairs(self) -> np.ndarray:
        """Distances of all pairs of candidates: (n_rows, n_pairs)."""
        return self._between_pairs(self._candidates)

    def tail_distances(self, tail: Tail) -> tuple[np.ndarray, np.ndarray]:
        """Return the distances of people and of candidates that a tail compares, each of shape (n_rows, n_values)."""
        if tail.compares_pairs:
            return self.people_pairs, self.candidate_pairs
        return self.people, self.candidates.reshape(len(self.candidates), -1)


class Threshold(NamedTuple):
    """A quantile of people's distances, for one tail."""

    # 1 for the large distances, -1 for the small ones, and the quantile times this sign.
    sign: int
    value: float
    # Share of the distances that are equal to the quantile that counts, and what counts as equal.
    fraction: float
    tolerance: float

    def shares(self, distances: np.ndarray) -> np.ndarray:
        """Return how far distances are in the tail, 0 to 1, in their shape."""
        beyond = self.sign * distances - self.value
        return np.where(beyond > self.tolerance, 1.0, np.where(beyond >= -self.tolerance, self.fraction, 0.0))


class PeopleDistances:
    """The distribution of people's distances; every row has the same weight.

    `by_count` maps numbers of distances of a row to the distances of all rows with so many, sorted in place.
    """

    def __init__(self, by_count: Mapping[int, np.ndarray]):
        self._sorted = {count: values.ravel() for count, values in by_count.items()}
        for values in self._sorted.values():
            values.sort()
        self.n_values = sum(map(len, self._sorted.values()))
        self._n_rows = sum(len(values) // count for count, values in self._sorted.items())
        ends = np.array([[values[0], values[-1]] for values in self._sorted.values()])
        self._tolerance = TIE_TOLERANCE * float(row_scales(ends.reshape(1, -1))[0]) if self.n_values else 0.0

    def share_at_least(self, distances: np.ndarray) -> np.ndarray:
        """Return the share of people's distances that are at least as large as others: 0 to 1, in their shape."""
        least = distances - self._tolerance
        shares = [
            (len(values) - np.searchsorted(values, least)) / (count * self._n_rows)
            for count, values in self._sorted.items()
        ]
        return np.sum(shares, axis=0)

    def threshold(self, sign: int, share: float) -> Threshold:
        """Return the quantile beyond which a share of people's distances lies, at the end that the sign says.

        Beyond the quantile of a share of 0 lies nothing: it may be far from all distances that are known.
        """
        if not share:
            return Threshold(sign, math.inf, 0.0, self._tolerance)

        def share_at(value: float) -> float:
            """Return the share of people's distances that, times the sign, lie at `value` or beyond."""
            return math.fsum(
                _n_beyond(values, sign, value) / (count * self._n_rows) for count, values in self._sorted.items()
            )

        # The farthest value that enough distances reach; 1e-12 is the rounding of a sum of shares.
        farthest = (
            _last_true(values[::sign], lambda at: share_at(sign * at) >= share - 1e-12)
            for values in self._sorted.values()
        )
        value = max(sign * distance for distance in farthest if distance is not None)
        at_least, above = share_at(value - self._tolerance), share_at(math.nextafter(value + self._tolerance, math.inf))
        return Threshold(sign, value, min(1.0, (share - above) / (at_least - above)), self._tolerance)


def _n_beyond(values: np.ndarray, sign: int, value: float) -> int:
    """How many of ascending values are, times the sign, `value` or more."""
    if sign > 0:
        return len(values) - int(values.searchsorted(value))
    return int(values.searchsorted(-value, "right"))


def _last_true(values: np.ndarray, holds: Callable[[float], bool]) -> float | None:
    """The last of some values, for the first of which a condition holds; None where it holds for none."""
    end = bisect.bisect_left(values, True, key=lambda value: not holds(float(value)))
    return float(values[end - 1]) if end else None


class TailShare(NamedTuple):
    """A share of the candidates, or of their pairs, in a tail."""

    # float64 arrays, shape (n_rows,): of candidates and of people; NaN where a row has none.
    rows: np.ndarray
    people_rows: np.ndarray
    # Means over the rows that have one: of candidates, of people, and of candidates minus people, row by row.
    candidates: ClusteredMean
    people: ClusteredMean
    differences: ClusteredMean
    # Least standard error: as if one more candidate were of the other kind.
    floor: float
    # Ends of the interval; NaN where there is none.
    low: float = math.nan
    high: float = math.nan

    @property
    def value(self) -> float:
        """The share over all rows."""
        return self.candidates.mean

    @property
    def t(self) -> float:
        """The difference from people in standard errors; NaN with a single cluster."""
        return self.differences.mean / max(self.differences.standard_error, self.floor)

    @property
    def student_p_value(self) -> float:
        """One-sided, of Student's distribution: is the share larger than people's?"""
        return float(scipy.special.stdtr(self.differences.n_clusters - 1, -self.t))

    def with_interval(self, beyond_far: float, beyond_near: float, confidence_level: float) -> "TailShare":
        """Put the errors of the share and of the quantile together (Zou and Donner 2008), as for correlated means.

        The candidates lie to these shares beyond the two ends of the interval of the quantile.
        """
        one_error, other_error = self.candidates.standard_error, self.people.standard_error
        both = one_error**2 + other_error**2 - self.differences.standard_error**2
        correlation = min(1.0, max(0.0, both / (2 * one_error * other_error))) if one_error * other_error > 0 else 0.0

        def error(own: float, quantile_error: float) -> float:
            return math.sqrt(max(own**2 - 2 * correlation * own * quantile_error + quantile_error**2, self.floor**2))

        low, high = self.own_interval(confidence_level)
        low = self.value - error(self.value - low, self.value - beyond_far)
        high = self.value + error(high - self.value, beyond_near - self.value)
        return self._replace(low=max(0.0, low), high=min(1.0, high))

    def own_interval(self, confidence_level: float) -> tuple[float, float]:
        """Return the interval of the candidates' share beyond a given quantile, or without any.

        The wider one of Student's, which is too short above a share of few captions, and of Clopper and Pearson's for
        as many independent captions as the spread of the rows says, less what few rows take (Korn and Graubard 1998).
        """
        of, tail = self.candidates, (1 - confidence_level) / 2
        error, quantile = max(of.standard_error, self.floor), -float(scipy.special.stdtrit(of.n_clusters - 1, tail))
        number: float = of.n_clusters
        if 0 < of.mean < 1 and quantile > 0:  # 0 at a level of next to nothing
            number = max(1.0, of.mean * (1 - of.mean) * (float(scipy.special.ndtri(tail)) / (error * quantile)) ** 2)
        low, high = clopper_pearson_interval(of.mean, number, confidence_level)
        return min(low, of.mean - quantile * error), max(high, of.mean + quantile * error)


@dataclass(frozen=True)
class CorpusTails:
    """The tails of a corpus."""

    shares: Mapping[str, TailShare]
    # People's distances of captions from the references, and of pairs.
    people: Mapping[bool, PeopleDistances]
    # Rows or clusters that are independent of each other.
    n_clusters: int
    # How many rows have which (n_candidates, n_references).
    sizes: Mapping[tuple[int, int], int]
    # What the test needs.
    distances: Distances
    clusters: Sequence[Hashable] | None
    seed: int
    # Shares of sentences, and their p-values, that are tested in place of texts unlike people's; empty for none.
    faults: Mapping[str, tuple[TailShare, float]] = dataclasses.field(default_factory=dict)

    @property
    def is_tested(self) -> bool:
        """Whether there are enough rows, or clusters, and people's distances for tests."""
        n_independent = self.n_clusters * independent_distances(self.sizes)
        return self.n_clusters >= LEAST_ROWS_OF_TAILS and n_independent >= LEAST_DISTANCES_OF_TAILS

    @property
    def tested(self) -> list[TailShare]:
        """The shares whose tests count; empty where tails are not tested."""
        if not self._tested:
            return []
        left = [name for name in self._tested if not self.faults or name != "unlike_people_share"]
        return [*(share for share, _ in self.faults.values()), *(self.shares[name] for name in left)]

    @property
    def _tested(self) -> list[str]:
        if not self.is_tested:
            return []
        return [name for name in TESTED if self.shares[name].candidates.n_clusters > 1]

    @functools.cached_property
    def p_values(self) -> Mapping[str, float]:
        """One-sided p-values of the tested shares: are they larger than people's? NaN where they are not tested."""
        names, n_distances = self._tested, sum((m + n) ** 2 * k for (m, n), k in self.sizes.items())
        if not names:
            known = []
        elif self.n_clusters >= LEAST_ROWS_OF_STUDENT or n_distances > MOST_SPLIT_DISTANCES:
            known = [self.shares[name].student_p_value for name in names]
        else:
            known = SplitTails(self.distances, self.clusters).p_values([TAILS[name] for name in names], self.seed)
        return dict.fromkeys(TESTED, math.nan) | dict(zip(names, known, strict=True))

    @property
    def p_value(self) -> float:
        """Smallest p-value of the tails times their number, at most 1 (Bonferroni); NaN where they are not tested."""
        p_values = dict(self.p_values)
        if self.faults:
            p_values["unlike_people_share"] = math.nan
        known = [p for p in (*p_values.values(), *(p for _, p in self.faults.values())) if not math.isnan(p)]
        return min(1.0, len(known) * min(known)) if known else math.nan


class SplitRows(NamedTuple):
    """Rows of equal sizes to be split."""

    # As in `DistanceBlock`.
    distances: np.ndarray
    n_candidates: int
    # The cluster of each row, whole numbers, shape (n_rows,).
    clusters: np.ndarray


class SplitTails:
    """The shares of tails under random splits of every row, for few rows.

    If people wrote the candidates, the texts of a row may as well be split otherwise into candidates and references
    (see `sets_tests`). A draw splits all rows, takes people's quantile again, and counts the candidates beyond it.
    Student's t finds too much here: where candidates outnumber references the error of the quantile is most of the
    error, and it is the same in all rows. Of a cluster each draw takes a single row, with the weight of all of them, so
    that nothing is supposed of how they depend on each other.

    Rows are put in an order of their own, by their distances, so that the draws depend on the seed and on the rows, not
    on their order or division into parts.
    """

    def __init__(self, distances: Distances, clusters: Sequence[Hashable] | None):
        """Take in all rows; `clusters` as for `corpus_tails`."""
        by_size: dict[tuple[int, int], list[DistanceBlock]] = {}
        for block in distances.blocks():
            by_size.setdefault((block.n_candidates, block.distances.shape[1]), []).append(block)
        ordered = []
        for (m, _), blocks in sorted(by_size.items()):
            values, rows = np.concatenate([b.distances for b in blocks]), np.concatenate([b.rows for b in blocks])
            packed = pack_rows(values)
            order = np.lexsort((*packed.T[::-1], packed.sum(axis=1)))
            ordered.append((values[order], m, rows[order].tolist()))
        labels = [row if clusters is None else clusters[row] for _, _, rows in ordered for row in rows]
        # The cluster of every row, its number among the rows of its cluster, and how many these are.
        self._clusters = cluster_numbers(labels)
        self._sizes = np.bincount(self._clusters)
        by_cluster = np.argsort(self._clusters, kind="stable")
        self._numbers = np.empty_like(by_cluster)
        self._numbers[by_cluster] = np.arange(len(labels)) - np.repeat(
            np.cumsum(self._sizes) - self._sizes, self._sizes
        )
        self._ends = np.cumsum([len(rows) for _, _, rows in ordered])[:-1]
        parts = np.split(self._clusters, self._ends)
        self.rows = [SplitRows(values, m, part) for (values, m, _), part in zip(ordered, parts, strict=True)]
        self._most = max(m for _, m, _ in ordered)
        self._n_keys = 1 + self._most + max(values.shape[1] - m for values, m, _ in ordered)
        self._n_distances = sum(values.size for values, _, _ in ordered)
        self._tolerance = TIE_TOLERANCE * float(row_scales(np.array([[v.max() for v, _, _ in ordered]]))[0])

    def p_values(self, tails: Sequence[Tail], seed: int) -> list[float]:
        """Return the one-sided p-values, ties counted.

        With r of L draws at the observed share or above, (1 + r) / (1 + L) (Phipson and Smyth 2010); drawing ends at
        the draw at which the last of the tails has `N_REACHED`, and a tail that has them at draw l gets r / l (Besag
        and Clifford 1991, https://doi.org/10.1093/biomet/78.2.301).
        """
        n_draws = int(np.clip(DRAWN_DISTANCES // self._n_distances, LEAST_DRAWS, MOST_DRAWS))
        observed = self.shares(tails, None)
        rng, step = np.random.default_rng(seed), max(1, min(256, BLOCK_VALUES // self._n_distances))
        reached = np.zeros((len(tails), 0), dtype=bool)
        while reached.shape[1] < n_draws and (left := np.flatnonzero(reached.sum(axis=1) < N_REACHED).tolist()):
            keys = rng.random((min(step, n_draws - reached.shape[1]), len(self._sizes), self._n_keys))
            shares, reaches = self.shares([tails[i] for i in left], keys), np.zeros((len(tails), len(keys)), dtype=bool)
            # What is not defined, as no row of a draw has pairs, counts.
            reaches[left] = ~(shares < observed[left] - TIE_TOLERANCE)
            reached = np.concatenate([reached, reaches], axis=1)
        return [p_value_of_draws(of_tail, n_draws) for of_tail in reached]

    def shares(self, tails: Sequence[Tail], keys: np.ndarray | None) -> np.ndarray:
        """Return the shares of the candidates in tails: float64, shape (n_tails, n_draws).

        `keys` are random numbers, shape (n_draws, n_clusters, 1 + n_candidates + n_references) of the largest sets:
        which row of a cluster is taken, and the order of a row's texts. None: the split that was observed.
        """
        split = [self._split(rows, keys) for rows in self.rows]
        weights = np.ones((1, len(self._clusters)))
        if keys is not None:
            is_taken = (keys[:, :, 0] * self._sizes).astype(np.intp)[:, self._clusters] == self._numbers
            weights = np.where(is_taken, self._sizes[self._clusters], 0.0)
        size_weights = np.split(weights, self._ends, axis=1)
        with np.errstate(invalid="ignore"):
            return np.stack([_split_shares(split, size_weights, tail, self._tolerance) for tail in tails])

    def _split(self, rows: SplitRows, keys: np.ndarray | None) -> TailDistances:
        """What tails compare, of n_draws times n_rows rows, the draws one after the other."""
        if keys is None:
            return TailDistances(rows.distances, rows.n_candidates)
        m, n_texts, first = rows.n_candidates, rows.distances.shape[1], 1 + self._most
        chosen = [*range(1, 1 + m), *range(first, first + n_texts - m)]
        return SplitDistances(rows.distances, m, np.argsort(keys[:, rows.clusters][:, :, chosen]))


def p_value_of_draws(reached: np.ndarray, n_draws: int) -> float:
    """Return the p-value of draws that may have ended early; `reached`, (n,), says which reach the observed value.

    >>> p_value_of_draws(np.array([False, True, False]), 3), p_value_of_draws(np.ones(25, dtype=bool), 1_999)
    (0.5, 1.0)
    """
    counts = reached.cumsum()
    if counts[-1] >= N_REACHED:
        return N_REACHED / (1 + int(np.searchsorted(counts, N_REACHED)))
    return (1 + int(counts[-1])) / (1 + n_draws)


class SplitDistances(TailDistances):
    """What tails compare of rows whose texts are split otherwise: n_draws times n_rows rows, a draw after the other."""

    def __init__(self, distances: np.ndarray, n_candidates: int, texts: np.ndarray):
        """Take the texts of each row in their new order, shape (n_draws, n_rows, n_texts)."""
        super().__init__(distances, n_candidates)
        n_draws, n_rows, n_texts = texts.shape
        # By place in the new order, shape (n_texts, n_draws * n_rows): the text, and where its distances begin.
        self._texts = np.ascontiguousarray(texts.reshape(-1, n_texts).T)
        self._starts = n_texts * (self._texts + n_texts * np.tile(np.arange(n_rows), n_draws))

    def _between(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        return self._distances.take(self._starts[first] + self._texts[second])


def _split_shares(
    split: Sequence[TailDistances], weights: Sequence[np.ndarray], tail: Tail, tolerance: float
) -> np.ndarray:
    """Shares of the candidates beyond people's quantile under every draw: (n_draws,)."""
    compared = [(*distances.tail_distances(tail), weight) for distances, weight in zip(split, weights, strict=True)]
    compared = [sides for sides in compared if sides[1].shape[1]]
    n_draws, total = len(weights[0]), np.sum([weight.sum(axis=1) for _, _, weight in compared], axis=0)
    values = np.concatenate([tail.sign * people.reshape(n_draws, -1) for people, _, _ in compared], axis=1)
    value_weights = np.concatenate(
        [np.repeat(weight / people.shape[1], people.shape[1], axis=1) for people, _, weight in compared], axis=1
    )
    value_weights = value_weights / total[:, None]
    order = np.argsort(-values, axis=1)
    beyond = np.take_along_axis(value_weights, order, axis=1).cumsum(axis=1)
    first = (beyond >= TAIL - 1e-12).argmax(axis=1)
    quantiles = np.take_along_axis(values, order[np.arange(n_draws), first][:, None], axis=1)
    above, at_least = quantiles + tolerance, quantiles - tolerance
    n_above = np.where(values > above, value_weights, 0.0).sum(axis=1)
    n_at_least = np.where(values >= at_least, value_weights, 0.0).sum(axis=1)
    fractions = np.minimum(1.0, (TAIL - n_above) / (n_at_least - n_above))
    shares = np.zeros(n_draws)
    for _, candidates, weight in compared:
        rows = tail.sign * candidates.reshape(n_draws, weight.shape[1], -1)
        n_beyond = np.count_nonzero(rows > above[:, :, None], axis=2)
        n_equal = np.count_nonzero(rows >= at_least[:, :, None], axis=2) - n_beyond
        shares += (weight * (n_beyond + fractions[:, None] * n_equal)).sum(axis=1) / rows.shape[2]
    return shares / total


def independent_distances(sizes: Mapping[tuple[int, int], int]) -> float:
    """Return the mean number of references but one; `sizes` says how many rows have which numbers of texts.

    >>> independent_distances({(1, 2): 30, (1, 4): 10})
    1.5
    """
    return sum((n - 1) * k for (_, n), k in sizes.items()) / sum(sizes.values())


def corpus_tails(
    distances: Distances, confidence_level: float | None, clusters: Sequence[Hashable] | None, *, seed: int = 0
) -> CorpusTails:
    """Compute the shares of all tails, with intervals and tests.

    The p-value of `LEAST_ROWS_OF_STUDENT` rows or more is Student's, of the rows' differences between the candidates'
    share and their own references': both move alike with the quantile. With fewer rows it is by random splits of the
    rows, with the `seed`; see `SplitTails`. The ends of the interval put together the errors of the candidates' share
    and of the quantile, each by its own interval (MOVER: Zou and Donner 2008, https://doi.org/10.1002/sim.3095). The
    quantile's is Clopper and Pearson's, for as many independent distances as the spread of the rows says; where its far
    end leaves none of people's, none of the candidates is known to lie beyond it. The candidates' interval is no
    shorter than theirs either, so that a few wrong captions in few rows are not taken for all.

    All rows have two references or more. `confidence_level` is between 0 and 1, or None for no intervals; `clusters`
    are labels of the rows, and None makes every row independent. The shares have the names of `TAILS`.
    """
    people, sizes = _people(distances)
    thresholds = {
        name: (tail, people[tail.compares_pairs].threshold(tail.sign, TAIL))
        for name, tail in TAILS.items()
        if people[tail.compares_pairs].n_values
    }
    nothing = np.full(distances.n_rows, math.nan)
    candidate_shares = dict.fromkeys(TAILS, nothing) | rows_beyond(distances, thresholds)
    people_shares = dict.fromkeys(TAILS, nothing) | rows_beyond(distances, thresholds, counts_people=True)
    n_clusters = distances.n_rows if clusters is None else len(set(clusters))
    shares = {
        name: tail_share(candidate_shares[name], people_shares[name], clusters, _n_candidates(sizes, tail))
        for name, tail in TAILS.items()
    }
    if confidence_level is not None:
        shares |= _shares_with_intervals(distances, people, shares, confidence_level)
    return CorpusTails(shares, people, n_clusters, sizes, distances, clusters, seed)


def _n_candidates(sizes: Mapping[tuple[int, int], int], tail: Tail) -> int:
    """Number of candidates that a tail looks at."""
    return sum(m * k for (m, _), k in sizes.items() if m > 1 or not tail.compares_pairs)


def _people(distances: Distances) -> tuple[dict[bool, PeopleDistances], dict[tuple[int, int], int]]:
    """People's distances from each other and of pairs, and how many rows have which sizes.

    Pairs come from rows with two candidates: the candidates' pairs are compared with them.
    """
    by_count: dict[bool, dict[int, np.ndarray]] = {False: {}, True: {}}
    sizes: dict[tuple[int, int], int] = {}
    for block in distances.blocks():
        m, n = block.n_candidates, block.distances.shape[1] - block.n_candidates
        sizes[m, n] = sizes.get((m, n), 0) + len(block.rows)
        row_distances = TailDistances(block.distances, m)
        _append(by_count[False], row_distances.people)
        if m > 1:
            _append(by_count[True], row_distances.people_pairs)
    return {compares_pairs: PeopleDistances(counts) for compares_pairs, counts in by_count.items()}, sizes


def _append(by_count: dict[int, np.ndarray], values: np.ndarray) -> None:
    """Append the distances of rows, shape (n_rows, n_values), to the array of all rows with as many, in place."""
    array = by_count.setdefault(values.shape[1], np.empty(0))
    # Not `np.concatenate`, which would hold all distances twice.
    array.resize(array.size + values.size, refcheck=False)
    array[-values.size :] = values.ravel()


def rows_beyond(
    distances: Distances, thresholds: Mapping[Any, tuple[Tail, Threshold]], *, counts_people: bool = False
) -> dict[Any, np.ndarray]:
    """Return the shares of every row beyond thresholds, by key: float64, shape (n_rows,); NaN where a row has no pairs.

    `thresholds` have a tail, which says what is compared, and the threshold. `counts_people` asks for people's shares.
    """
    counted = {name: np.full(distances.n_rows, math.nan) for name in thresholds}
    for block in distances.blocks():
        row_distances = TailDistances(block.distances, block.n_candidates)
        for name, (tail, threshold) in thresholds.items():
            if block.n_candidates > 1 or not tail.compares_pairs:
                people, candidates = row_distances.tail_distances(tail)
                counted[name][block.rows] = threshold.shares(people if counts_people else candidates).mean(axis=1)
    return counted


def tail_share(
    candidates: np.ndarray, people: np.ndarray, clusters: Sequence[Hashable] | None, n_candidates: int
) -> TailShare:
    """Describe the shares of the rows that have one."""
    known = ~np.isnan(candidates)
    if not known.any():
        nothing = ClusteredMean(math.nan, math.nan, 0.0, 0)
        return TailShare(candidates, people, nothing, nothing, nothing, math.nan)
    if clusters is not None and not known.all():
        clusters = [label for label, is_known in zip(clusters, known, strict=True) if is_known]
    columns = candidates[known], people[known], candidates[known] - people[known]
    candidates_mean, people_mean, differences = (mean_of_rows(column, clusters) for column in columns)
    return TailShare(candidates, people, candidates_mean, people_mean, differences, 1 / n_candidates)


def _shares_with_intervals(
    distances: Distances,
    people: Mapping[bool, PeopleDistances],
    shares: Mapping[str, TailShare],
    confidence_level: float,
) -> dict[str, TailShare]:
    """The shares of two clusters or more, with the ends of their intervals."""
    tails = {name: TAILS[name] for name, share in shares.items() if share.candidates.n_clusters > 1}
    quantiles = {
        name: quantile_interval(shares[name].people.standard_error, people[tail.compares_pairs], confidence_level)
        for name, tail in tails.items()
    }
    beyond: dict[str, list[float]] = {name: [] for name in tails}
    for end in (0, 1, 2):  # one after the other, to hold a third of the rows' shares
        thresholds = {
            name: (tail, people[tail.compares_pairs].threshold(tail.sign, quantiles[name][end]))
            for name, tail in tails.items()
        }
        for name, rows in rows_beyond(distances, thresholds).items():
            share = math.fsum(rows[~np.isnan(rows)]) / np.count_nonzero(~np.isnan(rows))
            beyond[name].append(share)
    return {
        name: shares[name].with_interval(quantiles[name].far(below, above), near, confidence_level)
        for name, (below, above, near) in beyond.items()
    }


class QuantileInterval(NamedTuple):
    """Shares of people's distances beyond the ends of the interval of a quantile."""

    # The far end lies between two whole numbers of distances; the near end.
    below: float
    above: float
    near: float
    # How far the far end lies from the first to the second.
    part: float

    def far(self, below: float, above: float) -> float:
        """Return the candidates' share beyond the far end, from those beyond the two whole numbers of distances."""
        return (1 - self.part) * below + self.part * above


def quantile_interval(error: float, people: PeopleDistances, confidence_level: float) -> QuantileInterval:
    """Return the interval of the share of people's distances beyond these rows' quantile (Clopper and Pearson 1934).

    With less than one distance beyond the far end, the quantile may lie beyond all of them, where nothing is known.
    """
    if not error > 0:
        return QuantileInterval(TAIL, TAIL, TAIL, 0.0)
    number = min(TAIL * (1 - TAIL) / error**2, people.n_values)
    low, high = clopper_pearson_interval(TAIL, number, confidence_level)
    n_far = low * people.n_values
    below = math.floor(n_far)
    return QuantileInterval(below / people.n_values, (below + 1) / people.n_values, high, n_far - below)


def clopper_pearson_interval(share: float, number: float, confidence_level: float) -> tuple[float, float]:
    """Return the interval of a share of so many independent ones (Clopper and Pearson 1934).

    >>> np.round([clopper_pearson_interval(0.0, 20, 0.95), clopper_pearson_interval(0.1, 60, 0.95)], 3).tolist()
    [[0.0, 0.168], [0.038, 0.205]]
    """
    tail, beyond = (1 - confidence_level) / 2, share * number
    low = scipy.special.betaincinv(beyond, number - beyond + 1, tail) if beyond > 0 else 0.0
    high = scipy.special.betaincinv(beyond + 1, number - beyond, 1 - tail) if beyond < number else 1.0
    return float(low), float(high)
