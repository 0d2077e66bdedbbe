# Vendored from manycaps/shared_corpus_test.py. Edit it there, then run `python scripts/sync_shared.py`.
"""Permutation tests of every row and of the whole corpus: null values come in batches of rows, only sums are kept.

Null hypothesis: in every row candidates and references are exchangeable. A row is tested by its own splits; the corpus
by the mean over rows, with one split of every row drawn independently. So the corpus test grows with the evidence,
where a combination of the rows' p-values cannot fall below the smallest p-value that one row can have.
"""

import collections
import hashlib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .shared_partition_test import TIE_TOLERANCE, Partitions, exact_partitions, random_partitions

# Null values held at once, 8 bytes each; one row's are always held together.
MAX_NULL_VALUES = 8_000_000


class CorpusTest(NamedTuple):
    """What the splits say of every row, and of the mean over rows."""

    # float64 arrays, shape (n_rows,): the rows' p-values, and each value minus the mean of its row's null values.
    p_values: np.ndarray
    excesses: np.ndarray
    # p-value of the mean over rows; one row's own p-value.
    corpus_p_value: float
    # Distance of the mean over rows from its null mean, in null standard deviations; NaN where no split changes it.
    z: float
    # Smallest p-values that one of the rows, and the corpus, can have with sets of these sizes, up to the draws.
    smallest_p: float
    smallest_corpus_p: float


def partitions_of(sizes: tuple[int, int], options: Mapping[str, Any], *, mirrored: bool = True) -> Partitions:
    """Return the splits of a row with `sizes` = (n_candidates, n_references) that `options` ask for.

    `mirrored` is as in `exact_partitions`.

    Raises:
        ValueError: p_value is "exact" and the row has more than max_partitions splits.
    """
    if options["p_value"] == "exact":
        return exact_partitions(*sizes, options["max_partitions"], mirrored=mirrored)
    return random_partitions(*sizes, options["n_resamples"], options["seed"])


def row_keys(predictions: Sequence[Any], references: Sequence[Any]) -> Callable[[int], bytes]:
    """Return, for the number of a row, what its draws depend on besides the seed: a digest of its content.

    Args:
        predictions: n_rows lists of captions, or arrays of embeddings.
        references: the same for the references.

    Returns:
        Function from a row's number, counted from 0, to 16 bytes.

    >>> key = row_keys([["a"], ["a"], ["a", "b"]], [["b"], ["b"], []])
    >>> key(0) == key(1), key(0) == key(2)
    (True, False)
    """

    def key(row: int) -> bytes:
        sides = (predictions[row], references[row])
        content = [(s.shape, s.tobytes()) if isinstance(s, np.ndarray) else list(s) for s in sides]
        return hashlib.blake2b(repr(content).encode(), digest_size=16).digest()

    return key


class RowGenerators:
    """Random numbers for every row: they depend on the seed and on the row's key, not on its place."""

    def __init__(self, seed: Sequence[int]):
        """Take the seed: whole numbers of at least 0."""
        self._seed = tuple(seed)
        self._n_earlier: collections.Counter[bytes] = collections.Counter()

    def of(self, key: bytes) -> np.random.Generator:
        """Return the numbers of the next row with this key; equal rows draw independently.

        >>> first, second = RowGenerators([0]), RowGenerators([0])
        >>> first.of(b"a").random() == second.of(b"a").random() != first.of(b"a").random()
        True
        """
        n_earlier = self._n_earlier[key]
        self._n_earlier[key] += 1
        return np.random.default_rng((*self._seed, int.from_bytes(key, "big"), n_earlier))


class RowSplits:
    """Takes the null values of all rows, in batches of rows of equal sizes, and keeps what the tests need of them.

    Memory: a number per row and one per resample, never their product. A row's draws depend on the seed, on its content
    and on how many equal rows came before, so the order of the rows changes nothing.
    """

    def __init__(self, sizes: Sequence[tuple[int, int]], options: Mapping[str, Any]):
        """Look up the splits of every size.

        Args:
            sizes: (n_candidates, n_references) of each row.
            options: p_value ("exact" or "permutation"), max_partitions, n_resamples and seed.

        Raises:
            ValueError: p_value is "exact" and a row has more than max_partitions splits.
        """
        self.splits = {size: partitions_of(size, options, mirrored=False) for size in dict.fromkeys(sizes)}
        self.n_splits = {size: _n_splits(size, options) for size in self.splits}
        smallest = {size: _smallest_p_value(size, self, options) for size in self.splits}
        self._smallest = [smallest[size] for size in sizes]
        self._generators = RowGenerators([options["seed"]])
        self._p_values, self._means, self._variances, self._units = np.empty((4, len(sizes)))
        self._drawn_sums = np.zeros(options["n_resamples"])

    def add(
        self,
        size: tuple[int, int],
        rows: Sequence[int],
        row_key: Callable[[int], bytes],
        observed: np.ndarray,
        null_values: Callable[[slice, Partitions], Iterable[np.ndarray]],
        units: np.ndarray | None = None,
    ) -> None:
        """Take in rows of equal sizes.

        Args:
            size: their (n_candidates, n_references).
            rows: their numbers in the corpus.
            row_key: from the number of a row to its key.
            observed: float64 array, shape (len(rows),): the statistic, in units.
            null_values: from a slice of these rows and the splits to blocks, float64 arrays of shape (rows of the
                slice, block): the statistic under each split, in units, the observed split among them.
            units: float64 array, shape (len(rows),): what a value of 1 stands for; None for 1. Two values within
                `TIE_TOLERANCE` units are equal.
        """
        units = np.ones(len(rows)) if units is None else units
        n_rows = max(1, MAX_NULL_VALUES // self.n_splits[size])
        for start in range(0, len(rows), n_rows):
            part = slice(start, start + n_rows)
            nulls = np.concatenate(list(null_values(part, self.splits[size])), axis=1)  # (rows of the part, n_splits)
            places = rows[part]
            self._p_values[places] = (nulls >= observed[part, None] - TIE_TOLERANCE).mean(axis=1)
            self._means[places] = nulls.mean(axis=1) * units[part]
            deviations = nulls.std(axis=1)
            self._variances[places] = (np.where(deviations > TIE_TOLERANCE, deviations, 0.0) * units[part]) ** 2
            self._units[places] = units[part]
            for i, values, unit in zip(places, nulls, units[part], strict=True):
                drawn = self._generators.of(row_key(i)).integers(len(values), size=len(self._drawn_sums))
                self._drawn_sums += unit * values[drawn]

    def test(self, values: np.ndarray) -> CorpusTest:
        """Test every row and the mean over rows.

        p = (1 + number of drawn means that reach the observed one) / (n_resamples + 1), ties within the tolerance
        counted (Phipson and Smyth 2010, https://doi.org/10.2202/1544-6115.1585). One row keeps its own p-value.

        Args:
            values: float64 array, shape (n_rows,): the observed statistics in their own unit.

        Returns:
            The tests.
        """
        excesses = values - self._means
        tolerance = TIE_TOLERANCE * math.fsum(self._units)
        n_reached = int(np.count_nonzero(self._drawn_sums >= math.fsum(values) - tolerance))
        one_row = len(values) == 1
        least = 0.0 if one_row else 1 / (1 + len(self._drawn_sums))
        deviation = math.sqrt(math.fsum(self._variances))
        return CorpusTest(
            self._p_values,
            excesses,
            corpus_p_value=float(self._p_values[0]) if one_row else (1 + n_reached) / (1 + len(self._drawn_sums)),
            z=math.fsum(excesses) / deviation if deviation > 0 else math.nan,
            smallest_p=min(self._smallest),
            smallest_corpus_p=max(math.exp(math.fsum(map(math.log, self._smallest))), least),
        )


def _n_splits(size: tuple[int, int], options: Mapping[str, Any]) -> int:
    """Number of splits that `partitions_of` gives without mirror images."""
    if options["p_value"] == "permutation":
        return int(options["n_resamples"]) + 1
    return math.comb(sum(size), size[0]) // (2 if size[0] == size[1] else 1)


def _smallest_p_value(size: tuple[int, int], rows: RowSplits, options: Mapping[str, Any]) -> float:
    """Share of the splits that leave the two sets as they are, which no row of this size can fall below.

    Sets of equal sizes may also change places: no statistic of this collection can tell which is which.
    """
    if options["p_value"] == "exact":
        return 1 / rows.n_splits[size]
    observed = np.arange(sum(size)) < size[0]
    sets_alike = [observed, ~observed] if size[0] == size[1] else [observed]
    n_alike = sum(
        int(np.count_nonzero((labels == names).all(axis=1)))
        for labels in rows.splits[size](1024)
        for names in sets_alike
    )
    return n_alike / rows.n_splits[size]
