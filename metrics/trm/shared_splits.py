# Vendored from manycaps/shared_splits.py. Edit it there, then run `make format`.
"""The ways to split a row's texts into candidates and references, and the permutation tests over them.

Null hypothesis (Chan et al. 2022, appendix A.5, https://arxiv.org/abs/2209.07518): candidates and references of a row
are drawn from one distribution, so every split of the joint texts into sets of the same sizes is equally likely. A row
is tested by its own splits; the corpus by the mean over rows, with one split of every row drawn independently. So the
corpus test grows with the evidence, where a combination of the rows' p-values cannot fall below the smallest p-value
that one row can have.
"""

import collections
import hashlib
import itertools
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.stats

# Two distances, or two values of a statistic, this near are equal: permutation tests and METEOR have many genuine ties.
# The values are sums of a few dozen floating-point terms, with errors near 1e-15, while genuinely different ones differ
# by more than 1e-7: any bound between separates the two.
TIE_TOLERANCE = 1e-9

# How p-values may be asked for; "none" leaves them out.
P_VALUE_METHODS = ("none", "exact", "permutation")

# Splits of one row, as boolean arrays of shape (at most the block size asked for, n_texts).
Splits = Callable[[int], Iterable[np.ndarray]]

# Labelled pairs of texts held at once, 8 bytes each.
MAX_PAIR_VALUES = 2_000_000

# Null values held at once, 8 bytes each; one row's are always held together.
MAX_NULL_VALUES = 8_000_000

# Drawn statistics are added as whole numbers of 2^-SUM_BITS of a power of 2 above the row's largest null value: sums of
# whole numbers depend on no order. The powers are multiples of SUM_STEP, so that few different ones occur; the error of
# a value is at most 2^-43 of the largest, a ten-thousandth of `TIE_TOLERANCE`.
SUM_BITS = 50
SUM_STEP = 8

# Bits below which the sums are kept apart from those above, and rows after which they are: 2^50 x 4096 = 2^62.
LOW_BITS = 32
ROWS_PER_CARRY = 4096


def exact_splits(n_candidates: int, n_references: int, max_partitions: int, *, mirrored: bool = True) -> Splits:
    """Enumerate every split of n_candidates + n_references texts, the observed one first.

    Where both sets have one size, every split has a mirror image, the same two sets with their names exchanged. A
    statistic that does not tell the sets apart has the same value there, so half of the splits are enough.

    Args:
        n_candidates: number of texts called candidates, at least 1.
        n_references: number of the others, at least 1.
        max_partitions: largest number of splits that may be enumerated, mirror images counted.
        mirrored: False leaves the mirror images out, where there are any.

    Returns:
        Function from a block size to an iterator of boolean arrays, shape (block, n_texts); True marks the candidates.

    Raises:
        ValueError: there are more than `max_partitions` splits.

    >>> [block.sum(axis=0).tolist() for block in exact_splits(2, 1, max_partitions=3)(8)]
    [[2, 2, 2]]
    """
    n_texts = n_candidates + n_references
    n_splits = math.comb(n_texts, n_candidates)
    if n_splits > max_partitions:
        raise ValueError(
            f"p_value='exact': expected at most max_partitions={max_partitions} splits per row, got {n_splits} "
            f"for {n_candidates} candidates and {n_references} references. Use p_value='permutation', or a larger "
            "max_partitions."
        )

    if n_candidates == n_references and not mirrored:
        n_splits //= 2  # in this order, those in which the first text is a candidate

    def blocks(size: int) -> Iterator[np.ndarray]:
        chosen = itertools.islice(itertools.combinations(range(n_texts), n_candidates), n_splits)
        for start in range(0, n_splits, size):
            block = itertools.chain.from_iterable(itertools.islice(chosen, size))
            places = np.fromiter(block, dtype=np.intp).reshape(-1, n_candidates)
            labels = np.zeros((min(size, n_splits - start), n_texts), dtype=bool)
            labels[np.arange(len(labels))[:, None], places] = True
            yield labels

    return blocks


def random_splits(n_candidates: int, n_references: int, n_resamples: int, seed: int) -> Splits:
    """Draw random splits, the observed one first.

    The draw depends on the seed and the two sizes alone, so a row's p-value does not depend on its neighbours.

    Args:
        n_candidates: number of texts called candidates, at least 1.
        n_references: number of the others, at least 1.
        n_resamples: number of splits drawn besides the observed one, at least 1.
        seed: non-negative integer.

    Returns:
        As `exact_splits`, with n_resamples + 1 splits: counting the observed one keeps the test valid
        (Phipson and Smyth 2010, https://doi.org/10.2202/1544-6115.1585).

    >>> sum(len(block) for block in random_splits(3, 2, n_resamples=10, seed=0)(4))
    11
    """
    observed = np.arange(n_candidates + n_references) < n_candidates

    def blocks(size: int) -> Iterator[np.ndarray]:
        rng = np.random.default_rng((seed, n_candidates, n_references))
        yield observed[None]
        # Drawn in steps of fixed length, so that the block size cannot change the draw.
        for start in range(0, n_resamples, 1024):
            labels = np.broadcast_to(observed, (min(1024, n_resamples - start), len(observed)))
            drawn = rng.permuted(labels, axis=1)
            yield from np.split(drawn, range(size, len(drawn), size))

    return blocks


def both_candidates(labels: np.ndarray, dtype: type[np.floating[Any]] = np.float64) -> np.ndarray:
    """Say for every pair of texts and every split whether both texts are candidates.

    A quadratic form in the labels z is a sum over z_i z_j, so one matrix product gives its value for all splits.

    Args:
        labels: boolean array, shape (n_splits, n_texts), True for the candidates.
        dtype: floating-point type of the result.

    Returns:
        Array of 0 and 1, shape (n_texts (n_texts + 1) / 2, n_splits): pairs i <= j in the order of
        `np.triu_indices`.

    >>> both_candidates(np.array([[True, True, False]])).T.tolist()
    [[1.0, 1.0, 0.0, 1.0, 0.0, 0.0]]
    """
    z = np.ascontiguousarray(labels.T)  # (n_texts, n_splits)
    return np.concatenate([z[i] & z[i:] for i in range(len(z))]).astype(dtype)


def upper_tail_p_values(observed: np.ndarray, null_blocks: Iterable[np.ndarray]) -> np.ndarray:
    """Share of the splits whose statistic is at least the observed one.

    Args:
        observed: float64 array, shape (n_rows,).
        null_blocks: float64 arrays, shape (n_rows, block): the statistic under each split, the observed one among them.

    Returns:
        float64 array, shape (n_rows,), above 0 and at most 1; ties within `TIE_TOLERANCE` count.

    >>> upper_tail_p_values(np.array([2.0]), [np.array([[2.0, 1.0]]), np.array([[0.0, 3.0]])]).tolist()
    [0.5]
    """
    n_reached, n_splits = np.zeros(len(observed)), 0
    for values in null_blocks:
        n_reached += np.count_nonzero(values >= observed[:, None] - TIE_TOLERANCE, axis=1)
        n_splits += values.shape[1]
    return n_reached / n_splits


def harmonic_mean_p(p_values: Collection[float]) -> float:
    """Harmonic mean of the rows' p-values (Wilson 2019, https://doi.org/10.1073/pnas.1814092116), equal weights.

    Approximately a p-value while it is small; `combined_p_value` is the calibrated one.

    Args:
        p_values: float64 array, shape (n_rows,), or another collection of floats, each above 0 and at most 1.

    Returns:
        Float above 0 and at most 1.

    >>> round(harmonic_mean_p(np.array([0.5, 0.1])), 4)
    0.1667
    """
    return len(p_values) / math.fsum(1 / p_value for p_value in p_values)  # exact, whatever the order of the rows


def combined_p_value(p_values: Collection[float]) -> float:
    """p-value of "every row's candidates and references share a distribution", asymptotically exact.

    Wilson (2019), equation 4: 1 / harmonic mean of L p-values tends to a Landau distribution with location
    log L + 1 - gamma - log(2 / pi), which is log L + 0.874, and scale pi / 2. It holds under any dependence between
    rows that is not strongly negative, and gets better as p falls.

    Args:
        p_values: float64 array, shape (n_rows,), or another collection of floats, each above 0 and at most 1.

    Returns:
        Float between 0 and 1. One row: its own p-value.

    >>> round(combined_p_value(np.array([0.5, 0.1])), 4)
    0.2316
    """
    if len(p_values) == 1:
        return float(next(iter(p_values)))
    location = math.log(len(p_values)) + 1 - np.euler_gamma - math.log(2 / math.pi)
    return float(scipy.stats.landau.sf(1 / harmonic_mean_p(p_values), loc=location, scale=math.pi / 2))


def split_forms(
    pair_values: np.ndarray, among_candidates: float, among_references: float, across: float
) -> tuple[np.ndarray, np.ndarray]:
    """Turn a weighted sum over pairs of texts into a quadratic form in the labels.

    With z = 1 for candidates and M the values of pairs, the sum a z'Mz + b (1-z)'M(1-z) + c z'M(1-z) equals
    (a + b - c) z'Mz + (c - 2b) (M1)'z + b 1'M1; and z_i is its own square, so the linear term goes on the diagonal.

    Args:
        pair_values: float64 array, shape (n_rows, n_texts, n_texts), symmetric.
        among_candidates: weight a of each ordered pair of candidates, a text with itself included.
        among_references: weight b of each ordered pair of references.
        across: weight c of each pair of a candidate and a reference.

    Returns:
        float64 arrays, the forms, shape (n_rows, n_texts (n_texts + 1) / 2), in the order of `np.triu_indices`, and the
        constants, shape (n_rows,).

    >>> forms, constants = split_forms(np.array([[[1.0, 2.0], [2.0, 4.0]]]), 1.0, 1.0, 0.0)
    >>> forms.tolist(), constants.tolist()
    ([[-4.0, 8.0, -4.0]], [9.0])
    """
    n_texts = pair_values.shape[-1]
    forms = (among_candidates + among_references - across) * pair_values
    linear = (across - 2 * among_references) * pair_values.sum(axis=-1)
    forms = 2 * forms  # each pair i < j stands for (i, j) and (j, i)
    texts = np.arange(n_texts)
    forms[:, texts, texts] = forms[:, texts, texts] / 2 + linear
    first, second = np.triu_indices(n_texts)
    return forms[:, first, second], among_references * pair_values.sum(axis=(-2, -1))


def split_values(forms: np.ndarray, constants: np.ndarray, splits: Splits) -> Iterator[np.ndarray]:
    """Give the value of every row's form under every split.

    Args:
        forms: float64 array, shape (n_rows, n_pairs), as from `split_forms`.
        constants: float64 array, shape (n_rows,).
        splits: as from `exact_splits` or `random_splits`.

    Yields:
        float64 arrays, shape (n_rows, block), in the order of the splits.

    >>> forms, constants = split_forms(np.array([[[1.0, 2.0], [2.0, 4.0]]]), 1.0, 0.0, 0.0)
    >>> [values.tolist() for values in split_values(forms, constants, lambda size: [np.array([[True, False]])])]
    [[[1.0]]]
    """
    for labels in label_blocks(forms, splits):
        yield forms @ both_candidates(labels) + constants[:, None]


def label_blocks(forms: np.ndarray, splits: Splits) -> Iterable[np.ndarray]:
    """Return the splits in blocks for which `split_values` stays within `MAX_PAIR_VALUES`."""
    return splits(max(1, MAX_PAIR_VALUES // sum(forms.shape)))


class Comparison(NamedTuple):
    """What a module says of a batch of rows of equal sizes."""

    # float64 array, shape (n_rows,): the statistic, in its own unit.
    statistic: np.ndarray
    # float64 array, shape (n_rows, n_texts, n_texts), candidates first: distances, or kernel values, of all pairs.
    pair_values: np.ndarray
    # From a slice of these rows and the splits to blocks of null values, float64, shape (rows of the slice, block).
    null_values: Callable[[slice, Splits], Iterable[np.ndarray]]
    # float64 array, shape (n_rows,): the unit of the null values; None for 1.
    units: np.ndarray | None = None
    # float64 array, shape (n_rows,): the plain metric; None where a module has none.
    plain: np.ndarray | None = None


class RowTests(NamedTuple):
    """What the splits say of every row: arrays of shape (n_rows,), or other collections of as many floats."""

    # The rows' p-values.
    p_values: Collection[float]
    # Each value minus the mean of its row's null values.
    excesses: Collection[float]
    # Variance of the null values; 0 where they differ by rounding alone.
    variances: Collection[float]
    # The unit of the null values.
    units: Collection[float]


class CorpusTest(NamedTuple):
    """What the splits say of every row, and of the mean over rows."""

    # As in `RowTests`.
    p_values: Collection[float]
    excesses: Collection[float]
    # p-value of the mean over rows; one row's own p-value.
    corpus_p_value: float
    # Distance of the mean over rows from its null mean, in null standard deviations; NaN where no split changes it.
    z: float
    # Smallest p-values that one of the rows, and the corpus, can have with sets of these sizes, up to the draws.
    smallest_p: float
    smallest_corpus_p: float


def splits_of(sizes: tuple[int, int], options: Mapping[str, Any], *, mirrored: bool = True) -> Splits:
    """Return the splits of a row with `sizes` = (n_candidates, n_references) that `options` ask for.

    `mirrored` is as in `exact_splits`.

    Raises:
        ValueError: p_value is "exact" and the row has more than max_partitions splits.
    """
    if options["p_value"] == "exact":
        return exact_splits(*sizes, options["max_partitions"], mirrored=mirrored)
    return random_splits(*sizes, options["n_resamples"], options["seed"])


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

    def __init__(self, seed: Sequence[int], n_earlier: "collections.Counter[bytes] | None" = None):
        """Take the seed, whole numbers of at least 0, and how often keys came before, which is counted further."""
        self._seed = tuple(seed)
        self._n_earlier = collections.Counter() if n_earlier is None else n_earlier

    def of(self, key: bytes) -> np.random.Generator:
        """Return the numbers of the next row with this key; equal rows draw independently.

        >>> first, second = RowGenerators([0]), RowGenerators([0])
        >>> first.of(b"a").random() == second.of(b"a").random() != first.of(b"a").random()
        True
        """
        n_earlier = self._n_earlier[key]
        self._n_earlier[key] += 1
        return np.random.default_rng((*self._seed, int.from_bytes(key, "big"), n_earlier))


class DrawnSums:
    """Sums over rows of one drawn value each, for every draw: exact, so that parts of a corpus can be put together.

    >>> whole, part, other = DrawnSums(2), DrawnSums(2), DrawnSums(2)
    >>> for sums, value in ((whole, 0.1), (whole, 1e-9), (part, 1e-9), (other, 0.1)):
    ...     sums.add(np.array([value, -value]), np.array([0, 1]))
    >>> part.merge(other.parts())
    >>> part.totals().tolist() == whole.totals().tolist()
    True
    """

    def __init__(self, n_draws: int):
        """Begin with zeros."""
        self._n_draws = n_draws
        self._n_rows = 0
        # By power of 2: whole numbers, shape (2, n_draws), above and below `LOW_BITS`.
        self._parts: dict[int, np.ndarray] = {}

    def add(self, values: np.ndarray, drawn: np.ndarray) -> None:
        """Add a row.

        Args:
            values: float64 array, shape (n_splits,): its null values.
            drawn: array of whole numbers, shape (n_draws,): which of them each draw takes.
        """
        largest = float(np.abs(values).max())
        if not largest:
            return
        power = -(-math.frexp(largest)[1] // SUM_STEP) * SUM_STEP
        steps = np.rint(np.ldexp(values, SUM_BITS - power)).astype(np.int64)
        self._of(power)[1] += steps[drawn]
        self._n_rows += 1
        if self._n_rows % ROWS_PER_CARRY == 0:
            self._carry()

    def merge(self, parts: Mapping[int, np.ndarray]) -> None:
        """Add what `parts` of other sums gave."""
        self._carry()
        for power, sums in parts.items():
            self._of(power)[:] += sums
        self._carry()

    def parts(self) -> dict[int, np.ndarray]:
        """Return all that is to be known of the sums, for `merge`: int64 arrays, shape (2, n_draws), by power of 2."""
        self._carry()
        return self._parts

    def totals(self) -> np.ndarray:
        """Return the sums: float64 array, shape (n_draws,)."""
        self._carry()
        totals = np.zeros(self._n_draws)
        for power in sorted(self._parts):
            high, low = self._parts[power]
            totals += np.ldexp(high.astype(np.float64) * 2.0**LOW_BITS + low, power - SUM_BITS)
        return totals

    def _of(self, power: int) -> np.ndarray:
        return self._parts.setdefault(power, np.zeros((2, self._n_draws), dtype=np.int64))

    def _carry(self) -> None:
        """Move what stands above `LOW_BITS` to the upper number: then equal sums have equal numbers."""
        for high, low in self._parts.values():
            high += low >> LOW_BITS
            low &= (1 << LOW_BITS) - 1


class RowSplits:
    """Takes the null values of all rows, in batches of rows of equal sizes, and keeps what the tests need of them.

    Memory: a number per row and one per resample, never their product. A row's draws depend on the seed, on its content
    and on how many equal rows came before, so the order of the rows changes nothing.
    """

    def __init__(
        self,
        sizes: Sequence[tuple[int, int]],
        options: Mapping[str, Any],
        n_earlier: "collections.Counter[bytes] | None" = None,
    ):
        """Look up the splits of every size.

        Args:
            sizes: (n_candidates, n_references) of each row.
            options: p_value ("exact" or "permutation"), max_partitions, n_resamples and seed.
            n_earlier: how often keys came before, if these rows are a part of a corpus; their keys are added.

        Raises:
            ValueError: p_value is "exact" and a row has more than max_partitions splits.
        """
        self.splits = {size: splits_of(size, options, mirrored=False) for size in dict.fromkeys(sizes)}
        self.n_splits = {size: _n_splits(size, options) for size in self.splits}
        # Smallest p-values that rows can have, up to the draws, and how many rows each.
        smallest = {size: _smallest_p_value(size, self, options) for size in self.splits}
        self.smallest = collections.Counter(smallest[size] for size in sizes)
        self.n_draws = options["n_resamples"]
        self.drawn_sums = DrawnSums(self.n_draws)
        self._generators = RowGenerators([options["seed"]], n_earlier)
        self._p_values, self._means, self._variances, self._units = np.empty((4, len(sizes)))

    def add(
        self,
        size: tuple[int, int],
        rows: Sequence[int],
        row_key: Callable[[int], bytes],
        observed: np.ndarray,
        null_values: Callable[[slice, Splits], Iterable[np.ndarray]],
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
                drawn = self._generators.of(row_key(i)).integers(len(values), size=self.n_draws)
                self.drawn_sums.add(unit * values, drawn)

    def row_tests(self, values: np.ndarray) -> RowTests:
        """Test every row.

        Args:
            values: float64 array, shape (n_rows,): the observed statistics in their own unit.

        Returns:
            The tests, float64 arrays.
        """
        return RowTests(self._p_values, values - self._means, self._variances, self._units)

    def test(self, values: np.ndarray) -> CorpusTest:
        """Test every row and the mean over rows; `values` is as for `row_tests`."""
        return corpus_test(values, self.row_tests(values), self.drawn_sums.totals(), self.smallest)


def corpus_test(
    values: Collection[float], rows: RowTests, drawn_sums: np.ndarray, smallest: Mapping[float, int]
) -> CorpusTest:
    """Test the mean over rows.

    p = (1 + number of drawn means that reach the observed one) / (n_resamples + 1), ties within the tolerance
    counted (Phipson and Smyth 2010, https://doi.org/10.2202/1544-6115.1585). One row keeps its own p-value. All sums
    are exact, so that the order of the rows changes nothing.

    Args:
        values: n_rows observed statistics in their own unit.
        rows: the tests of the rows.
        drawn_sums: float64 array, shape (n_resamples,): sums over rows of a null value each, as from `DrawnSums`.
        smallest: the smallest p-values that rows can have, and how many rows each.

    Returns:
        The tests.
    """
    tolerance = TIE_TOLERANCE * math.fsum(rows.units)
    n_reached = int(np.count_nonzero(drawn_sums >= math.fsum(values) - tolerance))
    one_row = len(values) == 1
    least = 0.0 if one_row else 1 / (1 + len(drawn_sums))
    deviation = math.sqrt(math.fsum(rows.variances))
    logarithms = (itertools.repeat(math.log(p_value), n_rows) for p_value, n_rows in smallest.items())
    return CorpusTest(
        rows.p_values,
        rows.excesses,
        corpus_p_value=float(next(iter(rows.p_values))) if one_row else (1 + n_reached) / (1 + len(drawn_sums)),
        z=math.fsum(rows.excesses) / deviation if deviation > 0 else math.nan,
        smallest_p=min(smallest),
        smallest_corpus_p=max(math.exp(math.fsum(itertools.chain.from_iterable(logarithms))), least),
    )


def _n_splits(size: tuple[int, int], options: Mapping[str, Any]) -> int:
    """Number of splits that `splits_of` gives without mirror images."""
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
