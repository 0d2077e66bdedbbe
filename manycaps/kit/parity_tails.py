"""Human parity by tails: shares of captions unlike people's, power, rows needed, and their words."""

import bisect
import dataclasses
import functools
import math
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import scipy.special

from .base import InputError, InputTypeError, quote_value
from .caption_sets import TIE_TOLERANCE, ClusteredMean, cluster_numbers, mean_of_rows, row_scales

# --------------------------------------------------------------------------------------------------------------------
# Tails of people's own distances: the share of candidates that lie where only one human caption in twenty lies.
#
# For a reference r_j of a row, with S_j the other references, a_j = mean d(r_j, S_j); for a candidate c beside the
# same texts, b_j = mean d(c, S_j). Given S_j, c and r_j are exchangeable if c is a human caption, so that b and a
# have one distribution, whatever the sizes of the sets. A candidate is unlike people's captions as far as its b_j lie
# above the 95% quantile of the a of all rows, and ordinary as far as they lie below the 5% quantile. Pairs of
# candidates are compared with pairs of references in the same way: near-duplicates lie below the 5% quantile of
# people's pairs, spread pairs above the 95% quantile. Human captions give 5% of each.
#
# Rows have equal weight, and so have the references of a row. Values within 1e-9 of the corpus's scale are equal;
# those at a quantile count with the fraction that gives people exactly 5%.

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
    "ordinary_share": Tail(-1, False),
    "near_duplicate_share": Tail(-1, True),
    "spread_share": Tail(1, True),
}

# Tails that the test looks at; spread pairs are a sign of wrong captions, which the first one sees better.
TESTED = ("unlike_people_share", "ordinary_share", "near_duplicate_share")


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
    (see `caption_sets`). A draw splits all rows, takes people's quantile again, and counts the candidates beyond it.
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


# --------------------------------------------------------------------------------------------------------------------
# Power of the human-parity test: the rows that it needs, and the gaps that it finds, in closed form.
#
# T2 is noncentral chi-squared with n lambda, lambda = g' S^-1 g of a row's mean gaps g and null covariance S, so that
# a lambda, which has no unit, says how soon a system is distinguished from people.

# Level and power of a planned test, the usual ones (Cohen 1988, section 2.4), and confidence level of an interval.
LEVEL = 0.05
POWER = 0.8
CONFIDENCE_LEVEL = 0.95

# Largest adjusted p-value of a phrase that is named where the joint test finds no difference: so both together say of
# people in 5% that they differ, as the joint test alone does.
LEVEL_OF_PHRASES = 0.01

# Shares of the level that the test of the gaps and the tests of the tails have, where both are made.
WEIGHT_OF_GAPS, WEIGHT_OF_TAILS = 0.8, 0.2

# Shares of the level that the tests of the wording and of the length have, where they are made; gaps and tails have
# the rest, in their proportion.
WEIGHT_OF_WORDING, WEIGHT_OF_LENGTH = 0.05, 0.05

# Mean of the square of the largest of k independent standard normal numbers: what people give (k = 1 to 4).
LARGEST_SQUARE = (1.0, 1.0, 1.0 + math.sqrt(3) / (2 * math.pi), 1.0 + math.sqrt(3) / math.pi)

# Rows for which the spread of lambda is taken to be people's, beside the rows at hand: few rows say little of it.
PRIOR_ROWS = 5

# Bisections of an end of an interval with clusters: as many as a double has digits.
N_BISECTIONS = 60


class RowsNeeded(NamedTuple):
    """Rows after which a system is distinguished from people with a power of 80% at a level of 5%."""

    # float, at least 1; infinity where lambda is 0 or below.
    rows: float
    # Its interval; NaN with a single row or cluster, or no confidence level.
    low: float
    high: float


class ParityPlan(NamedTuple):
    """What the test finds, and what it takes; diversity is NaN where rows have one candidate."""

    power: float
    n_rows: int
    # The least gaps that this number of rows finds with this power, in the unit of the distance.
    fidelity_gap: float
    diversity_gap: float
    # Rows that find a gap of the size asked for; NaN where none was.
    fidelity_rows: float
    diversity_rows: float


def joint_p_value(
    gaps_p_value: float, tails_p_value: float, wording_p_value: float = math.nan, length_p_value: float = math.nan
) -> float:
    """Return the p-value of the tests together: a Bonferroni test with the weights 0.8 and 0.2 (Holm 1979).

    Wording and length have the weights 0.05 where they are tested, and the others what is left: 0.72 and 0.18. A
    p-value is NaN where nothing is tested. The result is at most 1: the p-value of the gaps where tails are not tested,
    NaN where nothing is.

    >>> joint_p_value(0.04, 0.004), joint_p_value(0.04, math.nan), joint_p_value(0.04, 0.004, 0.0005)
    (0.02, 0.04, 0.01)
    >>> round(joint_p_value(0.9, 0.9, 0.9, 0.0005), 4)
    0.01
    """
    distances_p_value = gaps_p_value
    if not math.isnan(tails_p_value):
        distances_p_value = min(1.0, float(np.fmin(gaps_p_value / WEIGHT_OF_GAPS, tails_p_value / WEIGHT_OF_TAILS)))
    tests = [(WEIGHT_OF_WORDING, wording_p_value), (WEIGHT_OF_LENGTH, length_p_value)]
    tests = [(weight, p_value) for weight, p_value in tests if not math.isnan(p_value)]
    if math.isnan(distances_p_value):
        return min(1.0, len(tests) * min(p_value for _, p_value in tests)) if tests else math.nan
    tests.append((1 - sum(weight for weight, _ in tests), distances_p_value))
    return min(1.0, *(p_value / weight for weight, p_value in tests))


def level_of_distances(with_wording: bool, with_length: bool = False) -> float:
    """Return the level at which gaps and tails are tested together, beside wording and length or alone."""
    return LEVEL * (1 - WEIGHT_OF_WORDING * with_wording - WEIGHT_OF_LENGTH * with_length)


def level_of_gaps(with_tails: bool, with_wording: bool = False, with_length: bool = False) -> float:
    """Return the level at which the gaps are tested, beside the other tests or alone."""
    return level_of_distances(with_wording, with_length) * (WEIGHT_OF_GAPS if with_tails else 1.0)


def noncentrality(degrees: int, level: float = LEVEL, power: float = POWER) -> float:
    """Return the n lambda that a test of so many degrees of freedom finds with a power.

    >>> round(noncentrality(2), 2), round(noncentrality(1), 2)
    (9.63, 7.85)
    """
    return float(scipy.special.chndtrinc(scipy.special.chdtri(degrees, level), degrees, 1 - power))


def noncentrality_of_f(degrees: int, others: int, level: float) -> float:
    """Return the noncentrality, above 0, at which Fisher's F with `others` degrees in the denominator has the `POWER`.

    >>> round(noncentrality_of_f(2, 10**6, 0.05), 2), round(noncentrality_of_f(2, 8, 0.05), 2)
    (9.63, 14.36)
    """
    return _noncentral_f(float(scipy.special.fdtri(degrees, others, 1 - level)), degrees, others, 1 - POWER)


def spread_of_effect(
    mean: np.ndarray, covariance: np.ndarray, blocks: Iterable[tuple[np.ndarray, np.ndarray]]
) -> float:
    """Return the variance of sqrt(T2), by the spread of the rows, in units of its value for people's texts, 1.

    With w = S^-1 g of the means g and S, row i moves lambda by 2 w'(g_i - g) - w'(S_i - S) w over the number of rows.
    Wrong captions in some of the rows raise it, and damage that all rows share lowers it. Few rows tell little: with
    Student's quantile in place of the normal one, and `PRIOR_ROWS` rows at 1, intervals of lambda hold it in 92 to
    99% of the cases from five rows on (`python -m scripts.studies.human_parity_power`).

    `mean` (k,) and `covariance` (k, k), not singular, are the means over rows; `blocks` are the gaps (n, k) and
    covariances (n, k, k) of all rows, at least 2, in parts; all float64. The result is above 0.
    """
    weights = np.linalg.solve(covariance, mean)
    effect = float(mean @ weights)
    if not effect > 0:
        return 1.0
    n_rows, squares = 0, 0.0
    for gaps, covariances in blocks:
        moves = 2 * (gaps - mean) @ weights - (covariances - covariance) @ weights @ weights  # with a mean of 0
        n_rows, squares = n_rows + len(moves), squares + math.fsum(moves**2)
    own = squares / (n_rows - 1) / (4 * effect)
    few = (float(scipy.special.stdtrit(n_rows - 1, 0.975)) / float(scipy.special.ndtri(0.975))) ** 2
    return (n_rows * own * few + PRIOR_ROWS) / (n_rows + PRIOR_ROWS)


def rows_needed(
    statistic: float, degrees: int, n_rows: int, confidence_level: float | None, spread: float, *, level: float = LEVEL
) -> RowsNeeded:
    """Return the rows that the test needs, by lambda = (T2 - degrees) / n_rows.

    `statistic` is T2, `degrees` its degrees of freedom, `spread` the value of `spread_of_effect`, and `level` the
    test's; without a `confidence_level`, from 0 to 1, there is no interval.

    >>> rows_needed(50.0, 2, 100, 0.95, 1.0)
    RowsNeeded(rows=21.0, low=12.0, high=39.0)
    """
    if not degrees:
        return RowsNeeded(math.nan, math.nan, math.nan)
    wanted = noncentrality(degrees, level)
    rows = _rows(wanted, (statistic - degrees) / n_rows)
    if confidence_level is None or n_rows < 2:
        return RowsNeeded(rows, math.nan, math.nan)
    tails, scaled = _outside(confidence_level, level / LEVEL), statistic / spread
    lambdas = [
        float(scipy.special.chndtrinc(scaled, degrees, share)) * spread / n_rows
        if scipy.special.chdtr(degrees, scaled) > share
        else 0.0
        for share in (tails[0], 1 - tails[1])
    ]
    return RowsNeeded(rows, *(_rows(wanted, each) for each in lambdas))


def rows_needed_of_clusters(
    statistic: float,
    degrees: int,
    n_clusters: int,
    n_rows: int,
    confidence_level: float | None,
    *,
    level: float = LEVEL,
) -> RowsNeeded:
    """Count the rows that the test needs where the covariance is the clusters'; more come in clusters of these sizes.

    T2 (C - k) / (k (C - 1)) of C clusters and k degrees is noncentral F with C lambda (Anderson 2003, section 5.2):
    its mean gives lambda, and its inversion the interval.

    Arguments and result as for `rows_needed`; NaN with fewer than three clusters more than degrees.
    """
    others = n_clusters - degrees
    if not degrees or others < 3:
        return RowsNeeded(math.nan, math.nan, math.nan)
    value, wanted = (
        statistic * others / (degrees * (n_clusters - 1)),
        noncentrality(degrees, level) * n_rows / n_clusters,
    )
    lambdas = [max(0.0, value * degrees * (others - 2) / others - degrees) / n_clusters]
    if confidence_level is not None:
        tails = _outside(confidence_level, level / LEVEL)
        shares = tails[0], 1 - tails[1]
        lambdas += [_noncentral_f(value, degrees, others, share) / n_clusters for share in shares]
    ends = [_rows(wanted, each) for each in lambdas]
    return RowsNeeded(*(ends if len(ends) == 3 else [*ends, math.nan, math.nan]))


def rows_needed_of_tails(
    t_values: Sequence[float],
    n_clusters: int,
    n_rows: int,
    confidence_level: float | None,
    *,
    level: float = LEVEL * WEIGHT_OF_TAILS,
) -> RowsNeeded:
    """Return the rows after which the tests of the tails find what the strongest of them shows.

    ((z_a + z_0.8) / e)^2, with a the level of one tail and e the mean difference in standard deviations of the rows.
    The square of e is the largest t's, less what people give: the mean square of the largest of k normal numbers.
    `t_values` are each tail's difference from people in standard errors; without any the rows are NaN. `level` is for
    all of them together. The wording needs rows in the same way, by the size of its one z at half of its level.

    >>> rows_needed_of_tails([4.0, -1.0], 100, 100, 0.95)
    RowsNeeded(rows=78.0, low=33.0, high=917.0)
    """
    if not t_values:
        return RowsNeeded(math.nan, math.nan, math.nan)
    k, t = len(t_values), max(t_values)
    level = level / k
    wanted = float(scipy.special.ndtri(1 - level) + scipy.special.ndtri(POWER)) ** 2 * n_rows
    rows = _rows(wanted, t**2 - LARGEST_SQUARE[k - 1] if t > 0 else 0.0)
    if confidence_level is None:
        return RowsNeeded(rows, math.nan, math.nan)
    below, above = scipy.special.stdtrit(n_clusters - 1, _outside(confidence_level, level / LEVEL)).tolist()
    low, high = (_rows(wanted, max(0.0, end) ** 2) for end in (t - below, t + above))
    return RowsNeeded(rows, low, high)


def _outside(confidence_level: float, weight: float) -> tuple[float, float]:
    """Chances that are left out beyond both ends of an interval of rows needed, the near end first.

    The sooner one of several tests is taken, so that any of them can make the far end too short: each leaves out its
    share of the level there, so that infinity is left out of people's intervals no more often than one end may be.
    """
    tail = (1 - confidence_level) / 2
    return tail, tail * weight


def soonest(*needed: RowsNeeded) -> RowsNeeded:
    """Return the rows after which one of several tests finds a difference; NaN where none is made."""
    return RowsNeeded(*(float(np.fmin.reduce(values)) for values in zip(*needed, strict=True)))


def _noncentral_f(value: float, degrees: int, others: int, share: float) -> float:
    """The noncentrality at which `share` of the values lie below this one; 0 where there is none."""
    if not scipy.special.fdtr(degrees, others, value) > share:
        return 0.0
    low, high = 0.0, 1.0
    while scipy.special.ncfdtr(degrees, others, high, value) > share:
        low, high = high, 2 * high
    for _ in range(N_BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if scipy.special.ncfdtr(degrees, others, middle, value) > share else (low, middle)
    return high


def _rows(wanted: float, effect: float) -> float:
    """Whole number of rows, at least 1, at which n lambda is the wanted one to 1e-12; infinity for none."""
    return float(max(1, math.ceil(wanted / effect * (1 - 1e-12)))) if effect > 0 else math.inf


def rows_for_gap(gap: float, variance: float, degrees: int, power: float = POWER) -> float:
    """Return the rows, a whole number as a float, with which the test finds a gap, not 0, whatever the other gap is.

    Of all pairs of gaps with this one, lambda is least where the other lies on their regression: gap^2 / variance, the
    variance of a row's gap under its splits. The gaps have 0.8 of the level, as beside the tails.

    >>> rows_for_gap(0.02, 0.0025, 2)
    64.0
    """
    return _rows(noncentrality(degrees, level_of_gaps(True), power), gap**2 / variance)


def detectable_gap(n_rows: float, variance: float, degrees: int, power: float = POWER) -> float:
    """Return the least gap that the test finds with so many rows; see `rows_for_gap`.

    >>> round(detectable_gap(64, 0.0025, 2), 4)
    0.02
    """
    return math.sqrt(noncentrality(degrees, level_of_gaps(True), power) * variance / n_rows)


def parity_plan(covariance: np.ndarray, n_rows: int, gap: float | None, power: float) -> ParityPlan:
    """Plan a test of human parity from the mean covariance of the gaps of a pilot's rows: float64, shape (2, 2).

    The gap to be found is above 0, or None for none; the power is the share of the tests that are to find it.
    """
    variances = np.diagonal(covariance).tolist()
    degrees = 2 if variances[1] > 0 else 1
    gaps = [detectable_gap(n_rows, variance, degrees, power) if variance > 0 else math.nan for variance in variances]
    rows = [rows_for_gap(gap, variance, degrees, power) if variance > 0 and gap else math.nan for variance in variances]
    return ParityPlan(power, n_rows, *gaps, *rows)


# --------------------------------------------------------------------------------------------------------------------
# What may be said in words of a result of human parity: the one place that says what each word needs.
#
# A word needs the p-value, which is for the gaps and the tails together, to be at most 0.05, and the 95% interval of
# its share to lie above the 5% of people. So people's captions get any word at all in at most 5% of the cases, and a
# system with one damage gets each word for another damage in at most 5%. Measured by `python -m
# scripts.studies.human_parity_truth`.
#
# Faults and likeness are two questions. Captions unlike people's, or of odd wording, are faults: fewer than people's
# are never held against a system. Those far from the references are a lower bound of those that people would not have
# written: nearly tight with MiniLM, about a third with METEOR. All other words are about likeness, in which people's
# own value is best. Copies of references are as near to them as ordinary captions: only ordinary captions beyond the
# copies are called bland. And captions that lie farther apart than people's are no praise: wrong ones do.
#
# Where p finds a difference and no share does, the gaps give the direction: those that are significant by themselves,
# else both together. The p-value of a gap supposes that people wrote all captions: wrong captions that are as varied as
# people's have a diversity gap that is significant in a quarter of the cases, with either sign. So of significant gaps
# those are named whose intervals leave 0 out, as far as any does. A clear fidelity gap is said unless a share says so.

# Rows below which no p-value under FEW_ROWS_P is printed: the closed form is right at 5% from five rows on, but its
# far tail only with more.
MANY_ROWS, FEW_ROWS_P, LEAST_P = 50, 0.001, 0.0001

# What the sign of a gap means, negative and positive.
DIRECTIONS = {
    "fidelity_gap": (
        "nearer to the references than people are to each other",
        "farther from the references than people are from each other",
    ),
    "diversity_gap": ("less varied than people", "more varied than people"),
    "wording_gap": ("less predictable in wording than people", "more predictable in wording than people"),
}

# Shares that are tested, as sentences name them.
SHARE_NOUNS = {
    "unlike_people_share": "captions unlike people's",
    "ordinary_share": "ordinary captions",
    "near_duplicate_share": "near-duplicates",
}


class ParityWord(NamedTuple):
    """One thing that is said."""

    # "untested", "alike", "different", "unlike", "unsupported", "omitted", "odd-wording", "repeated", "longer",
    # "shorter", "copies", "ordinary", "formulaic", "near-duplicates" or "spread".
    name: str
    # A sentence of plain English.
    sentence: str


def words_of(result: Mapping[str, Any], p_value: float | None = None) -> list[ParityWord]:
    """Say what a result means.

    `result` is one of `human_parity`, with its p-value and confidence_level=0.95; `p_value` takes the place of its own,
    for example after Holm's correction over several systems. There is at least one word: "untested" alone where there
    is no p-value, "alike" alone where the joint test finds no difference (the `phrases` of the details may differ by
    tests of their own, which is said), "different" where the gaps say how, or nearer or farther, as no share does.
    Raises ValueError if the result has no p-value or no intervals.

    >>> result = {"human_parity_p_value": 0.01, "tails_p_value": 0.01, "n_rows": 60, "copied_share_expected": 0.01}
    >>> shares = {"unlike_people": 0.05, "copied": 0.0, "ordinary": 0.32, "near_duplicate": 0.04, "spread": 0.05}
    >>> for name, share in shares.items():
    ...     result |= {f"{name}_share{end}": share + shift for end, shift in (("", 0), ("_ci_low", -0.03))}
    ...     result |= {f"{name}_share_ci_high": share + 0.03}
    >>> print(words_of(result)[0].sentence)
    Blander than human captions: 32% [29, 35] are nearer to the references than 19 of 20 human ones (people 5%).
    """
    if not isinstance(result, Mapping):
        raise InputTypeError("result", "the dict that compute returns", quote_value(result), "Compute it first.")
    missing = [key for key in ("human_parity_p_value", "unlike_people_share_ci_low") if key not in result]
    if missing:
        raise InputError(
            "result",
            f"the key {missing[0]!r}",
            "none",
            "Compute it with p_value other than 'none', and with confidence_level=0.95.",
        )
    p_value = result["human_parity_p_value"] if p_value is None else p_value
    if math.isnan(p_value):
        sentence = "Not tested: all captions of a row are equally far apart, or there are too few rows."
        return [ParityWord("untested", sentence)]
    if p_value > LEVEL:
        said = only_phrases_differ if clear_phrases(result.get("phrases") or ()) else cannot_be_distinguished
        return [ParityWord("alike", said(_bound(result)))]
    words = _share_words(result)
    names = {word.name for word in words}
    is_nearer_or_farther = result.get("fidelity_gap_p_value", math.nan) <= LEVEL and _has_sign(result, "fidelity_gap")
    if names <= {"copies"} or (
        is_nearer_or_farther and names.isdisjoint({"unlike", "unsupported", "copies", "ordinary"})
    ):
        p_text = format_p_value(p_value, int(result["n_rows"]))
        chosen = DIRECTIONS if names <= {"copies"} else ("fidelity_gap",)
        sentence = f"Distinguished from human captions ({p_text}): {_gaps_text(result, chosen)}."
        words.append(ParityWord("different", sentence))
    return words


def clear_phrases(phrases: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the phrases that are named where the joint test finds no difference.

    >>> clear_phrases([{"phrase": "shirt", "p_value": 0.001}, {"phrase": "unk", "p_value": 0.04}])
    [{'phrase': 'shirt', 'p_value': 0.001}]
    """
    return [phrase for phrase in phrases if phrase["p_value"] <= LEVEL_OF_PHRASES]


def cannot_be_distinguished(bound: str) -> str:
    """Say that no test finds a difference.

    >>> cannot_be_distinguished("; too few rows to test the shares")
    'Cannot be distinguished from human captions; too few rows to test the shares.'
    """
    return f"Cannot be distinguished from human captions{bound}."


def only_phrases_differ(bound: str) -> str:
    """Say that the joint test finds no difference, and that the corrected tests of single phrases find one.

    >>> only_phrases_differ("; too few rows to test the shares")
    'The joint test finds no difference from human captions; too few rows to test the shares. Single phrases differ.'
    """
    return f"The joint test finds no difference from human captions{bound}. Single phrases differ."


def _gaps_text(result: Mapping[str, float], chosen: Collection[str]) -> str:
    """In which direction a result differs: by significant gaps, else by the largest share, or by both gaps together."""
    gaps = {gap: result[gap] for gap in chosen if not math.isnan(result.get(gap, math.nan))}
    p_keys = {gap: "wording_p_value" if gap == "wording_gap" else f"{gap}_p_value" for gap in gaps}
    significant = [gap for gap, key in p_keys.items() if result.get(key, math.nan) <= LEVEL]
    if not significant and result.get("gaps_p_value", math.nan) > LEVEL:
        shares = [name for name in SHARE_NOUNS if result[f"{name}_ci_low"] < result[name]]
        largest = max(shares, key=lambda name: (result[name] - TAIL) / (result[name] - result[f"{name}_ci_low"]))
        return f"most by {SHARE_NOUNS[largest]} ({share_text(result, largest)}, people {100 * TAIL:.0f}%)"
    named = [gap for gap in significant if _has_sign(result, gap)] or significant
    named = named or [gap for gap in gaps if gap != "wording_gap"]  # the test of both gaps knows no wording
    directions = [
        f"{DIRECTIONS[gap][gaps[gap] > 0]} ({gap.replace('_', ' ')} {gap_text(result, gap)})" for gap in named
    ]
    return "neither gap by itself, but together " * (not significant and len(named) > 1) + " and ".join(directions)


def _has_sign(result: Mapping[str, float], gap: str) -> bool:
    """Whether the interval of a gap leaves 0 out, or there is none."""
    low, high = (result.get(f"{gap}_ci_{end}", math.nan) for end in ("low", "high"))
    return not low <= 0 <= high


def gap_text(result: Mapping[str, float], gap: str) -> str:
    """Return a gap with its interval.

    >>> gap_text({"gap": -0.0312, "gap_ci_low": -0.042, "gap_ci_high": -0.02}, "gap")
    '-0.031 [-0.042, -0.02]'
    """
    value, low, high = (result.get(f"{gap}{end}", math.nan) for end in ("", "_ci_low", "_ci_high"))
    return f"{value:.2g}" if math.isnan(low) else f"{value:.2g} [{low:.2g}, {high:.2g}]"


def _bound(result: Mapping[str, float]) -> str:
    high = result["unlike_people_share_ci_high"]
    bound = (
        ""
        if math.isnan(high)
        else f"; at most {_percent_up(high)}% are farther from the references than 19 of 20 human ones"
    )
    return bound + ("" if not math.isnan(result["tails_p_value"]) else "; too few rows to test the shares")


def _share_words(result: Mapping[str, float]) -> list[ParityWord]:
    """The words whose intervals lie above what people give."""
    people, copied = f"(people {TAIL:.0%})", 0.0
    words = _fault_words(result)
    is_unlike = is_above_people(result, "unlike_people_share") and "unsupported_share" not in result
    if is_unlike:
        # How many are wrong, and how many only seldom said, no distance knows.
        share = share_text(result, "unlike_people_share")
        sentence = f"{share} of its captions are farther from the references than 19 of 20 human ones {people}."
        words.append(ParityWord("unlike", sentence))
    is_unlike |= is_above_people(result, "unsupported_share")
    places = [("formulaic", "formulaic_share", "more predictable in their wording")]
    if "faults" not in result:
        places.insert(0, ("odd-wording", "odd_wording_share", "less predictable in their wording"))
    for name, share, place in places:
        if is_above_people(result, share):
            sentence = f"{share_text(result, share)} of its captions are {place} than 19 of 20 human ones {people}."
            words.append(ParityWord(name, sentence))
    if is_above_people(result, "copied_share"):
        people_copies = f"{100 * result['copied_share_of_people']:.0f}%"
        words.append(
            ParityWord(
                "copies",
                f"{share_text(result, 'copied_share')} of its captions also occur among the references of their row "
                f"(people {people_copies}): copied, or very common ones.",
            )
        )
        copied = result["copied_share"]
    if result["ordinary_share_ci_low"] - copied > TAIL:
        words.append(
            ParityWord(
                "ordinary",
                f"Blander than human captions: {share_text(result, 'ordinary_share')} are nearer to the references "
                f"than 19 of 20 human ones {people}.",
            )
        )
    if is_above_people(result, "near_duplicate_share"):
        share = share_text(result, "near_duplicate_share")
        words.append(ParityWord("near-duplicates", f"{share} of its caption pairs are near-duplicates {people}."))
    # Captions far from the references lie far apart, too: then that has been said.
    if not is_unlike and is_above_people(result, "spread_share"):
        share = share_text(result, "spread_share")
        words.append(
            ParityWord(
                "spread", f"Its captions vary more than human ones: {share} of the pairs are far apart {people}."
            )
        )
    return words


# What is said of each fault: its word, its share, and what the share is of.
FAULT_WORDS = (
    ("unsupported", "unsupported_share", "of its sentences say what no reference says"),
    ("omitted", "omitted_share", "of its texts leave out what the references say"),
    ("odd-wording", "odd_wording_share", "of its sentences are oddly worded"),
    ("repeated", "repeated_share", "of its texts repeat themselves"),
)

# Lengths that differ by less are not worth a sentence.
LEAST_LENGTH_RATIO = 1.1


def _fault_words(result: Mapping[str, float]) -> list[ParityWord]:
    """The faults by sentence that lie above people's rate, and a length that differs from people's.

    A fault needs its own p-value, times the number of faults, and its interval.
    """
    if "faults" not in result:
        return []
    words = []
    known = [name for _, name, _ in FAULT_WORDS if not math.isnan(result.get(name, math.nan))]
    for word, name, what in FAULT_WORDS:
        people = result.get(f"{name}_of_people", math.nan)
        p_value = result.get(name.replace("_share", "_p_value"), math.nan) * len(known)
        if p_value <= LEVEL and result.get(f"{name}_ci_low", math.nan) > people:
            sentence = f"{share_text(result, name)} {what} (people {100 * people:.0f}%)."
            words.append(ParityWord(word, sentence))
    mine, people = (result.get(key, math.nan) for key in ("words_per_text", "words_per_text_of_people"))
    low, high = (result.get(f"length_gap_ci_{end}", math.nan) for end in ("low", "high"))
    if result.get("length_p_value", math.nan) <= LEVEL and not low <= 0 <= high:
        longer, shorter = max(mine, people), min(mine, people)
        if shorter > 0 and longer >= LEAST_LENGTH_RATIO * shorter:
            times = "twice" if 1.95 <= longer / shorter < 2.05 else f"{longer / shorter:.1f} times"
            kind = "longer" if mine > people else "shorter"
            sentence = f"Its texts are {times} as {'long' if mine > people else 'short'} as people's"
            words.append(ParityWord(kind, f"{sentence} ({mine:.0f} words, people {people:.0f})."))
    return words


def is_above_people(result: Mapping[str, float], name: str) -> bool:
    """Return whether the interval of a share lies above what people give; False of what is NaN."""
    return bool(result.get(f"{name}_ci_low", math.nan) > result.get(f"{name}_expected", TAIL))


def share_text(result: Mapping[str, float], name: str) -> str:
    """Return a share in percent with its interval, whose ends are rounded outwards: the same wherever it is shown.

    >>> share_text({"spread_share": 0.127, "spread_share_ci_low": 0.019, "spread_share_ci_high": 0.301}, "spread_share")
    '13% [1, 31]'
    >>> share_text({"spread_share": 0.0}, "spread_share"), share_text({"spread_share": math.nan}, "spread_share")
    ('0%', 'not defined')
    """
    value, low, high = (result.get(f"{name}{end}", math.nan) for end in ("", "_ci_low", "_ci_high"))
    if math.isnan(value):
        return "not defined"
    text = f"{100 * value:.0f}%"
    return text if math.isnan(low) else f"{text} [{_percent_down(low)}, {_percent_up(high)}]"


def p_value_digits(p_value: float, n_rows: int = MANY_ROWS) -> str:
    """Write a p-value as in tables: two significant digits, and none below what this number of rows is right for.

    >>> p_value_digits(0.0312), p_value_digits(1e-9), p_value_digits(1e-9, n_rows=20), p_value_digits(math.nan)
    ('0.031', '< 0.0001', '< 0.001', 'not defined')
    """
    least = LEAST_P if n_rows >= MANY_ROWS else FEW_ROWS_P
    if math.isnan(p_value):
        return "not defined"
    return f"< {least:g}" if p_value < least else rounded_p_value(p_value)


def rounded_p_value(p_value: float) -> str:
    """Round a p-value to two significant digits; one above 0.05, which is no finding, does not read as 0.05.

    >>> rounded_p_value(0.0496), rounded_p_value(0.0504), rounded_p_value(1e-9)
    ('0.05', '0.0504', '1e-09')
    """
    rounded = f"{p_value:.2g}"
    return f"{math.ceil(10_000 * p_value) / 10_000:g}" if float(rounded) <= LEVEL < p_value else rounded


def format_p_value(p_value: float, n_rows: int = MANY_ROWS) -> str:
    """Return a p-value as sentences print it.

    >>> format_p_value(0.0312), format_p_value(1e-9), format_p_value(1e-9, n_rows=20), format_p_value(math.nan)
    ('p = 0.031', 'p < 0.0001', 'p < 0.001', 'p not defined')
    """
    digits = p_value_digits(p_value, n_rows)
    return f"p = {digits}" if digits[0].isdigit() else f"p {digits}"


def _percent_down(share: float) -> int:
    """Percent rounded down; 1e-9 is the rounding of a float."""
    return math.floor(100 * share + 1e-9)


def _percent_up(share: float) -> int:
    return math.ceil(100 * share - 1e-9)
