"""Permutation tests of rows and of their mean, by splits into candidates and references; intervals of means over rows.

Null hypothesis (Chan et al. 2022, appendix A.5, https://arxiv.org/abs/2209.07518): candidates and references of a
row are drawn from one distribution, so every split of the joint texts into sets of the same sizes is equally
likely. A row is tested by its own splits; the corpus by the mean over rows, with one split of every row drawn
independently. So its test grows with the evidence, where a combination of the rows' p-values cannot fall below the
smallest p-value that one row can have.

Intervals draw nothing: they depend on the values alone, whatever their order and unit. They are Student's, over rows
or over clusters of rows that belong together, after a transformation that takes the skewness of the values out (Hall
1992, https://doi.org/10.1111/j.2517-6161.1992.tb01876.x). Percentile bootstrap intervals hold the mean of 5 or 10 rows
in 77 to 86 or 86 to 91% of the cases where 95% are stated; these do in 92 to 95 or 94 to 99%, for skewed values, too
(`python -m scripts.studies.inference`).
"""

import collections
import hashlib
import itertools
import math
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.special

from .arrays import Floats, as_finite, plain_arguments
from .errors import InputError
from .module import as_labels
from .options import check_whole_number

# Two distances, or two values of a statistic, this near are equal, in the unit that `row_scales` gives their row:
# permutation tests and METEOR have many genuine ties. The values are sums of a few dozen floating-point terms, with
# errors near 1e-15 of the largest; values of CIDEr-D that differ do so by 1e-10 of it and more.
TIE_TOLERANCE = 1e-9

# How p-values may be asked for; "none" leaves them out.
P_VALUE_METHODS = ("none", "exact", "permutation")

# Splits of one row, as boolean arrays of shape (at most the block size asked for, n_texts).
SplitsOfRow = Callable[[int], Iterable[np.ndarray]]

# Labelled pairs of texts held at once, 8 bytes each.
MAX_PAIR_VALUES = 2_000_000


def exact_splits(n_candidates: int, n_references: int, max_partitions: int, *, mirrored: bool = True) -> SplitsOfRow:
    """Enumerate every split of n_candidates + n_references texts, the observed one first.

    Where both sets have one size, every split has a mirror image, the same two sets with their names exchanged. A
    statistic that does not tell the sets apart has the same value there, so half of the splits are enough: `mirrored`
    False leaves the mirror images out, which count for `max_partitions`.

    Returns a function from a block size to an iterator of boolean arrays, shape (block, n_texts); True marks the
    candidates. Raises ValueError for more than `max_partitions` splits.

    >>> [block.sum(axis=0).tolist() for block in exact_splits(2, 1, max_partitions=3)(8)]
    [[2, 2, 2]]
    """
    n_texts = n_candidates + n_references
    n_splits = math.comb(n_texts, n_candidates)
    if n_splits > max_partitions:
        got = f"{n_splits} for {n_candidates} candidates and {n_references} references"
        fix = "Use p_value='permutation', or a larger max_partitions."
        raise InputError("p_value='exact'", f"at most max_partitions={max_partitions} splits per row", got, fix)

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


def random_splits(n_candidates: int, n_references: int, n_resamples: int, seed: int) -> SplitsOfRow:
    """Draw random splits, the observed one first: as `exact_splits`, with n_resamples + 1 splits.

    The draw depends on the seed and the two sizes alone, so a row's p-value does not depend on its neighbours. Counting
    the observed split keeps the test valid (Phipson and Smyth 2010, https://doi.org/10.2202/1544-6115.1585).
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


# Most splits of a row that are enumerated unless asked otherwise; more are refused.
MAX_PARTITIONS = 1_000_000


def row_splits(n_candidates: int, n_texts: int, n_resamples: int | None, max_partitions: int, seed: int) -> SplitsOfRow:
    """Return all splits of a row, or `n_resamples` random ones, for the functions of `functional`."""
    check_whole_number("max_partitions", max_partitions, 1)
    check_whole_number("seed", seed, 0)
    n_references = n_texts - n_candidates
    if n_resamples is not None:
        check_whole_number("n_resamples", n_resamples, 1, MOST_RESAMPLES)
        return random_splits(n_candidates, n_references, n_resamples, seed)
    n_splits = math.comb(n_texts, n_candidates)
    if n_splits > max_partitions:
        raise InputError(
            "max_partitions", f"at least {n_splits}, all of a row", max_partitions, "Raise it, or give n_resamples."
        )
    return exact_splits(n_candidates, n_references, max_partitions, mirrored=False)


def both_candidates(labels: np.ndarray, dtype: type[np.floating[Any]] = np.float64) -> np.ndarray:
    """Say for every pair of texts and every split whether both texts are candidates.

    A quadratic form in the labels z is a sum over z_i z_j, so one matrix product gives its value for all splits.

    `labels` is a boolean array of shape (n_splits, n_texts), True for the candidates. Returns 0 and 1, shape (n_texts
    (n_texts + 1) / 2, n_splits): pairs i <= j in the order of `np.triu_indices`.

    >>> both_candidates(np.array([[True, True, False]])).T.tolist()
    [[1.0, 1.0, 0.0, 1.0, 0.0, 0.0]]
    """
    z = np.ascontiguousarray(labels.T)  # (n_texts, n_splits)
    return np.concatenate([z[i] & z[i:] for i in range(len(z))]).astype(dtype)


def split_p_values(observed: np.ndarray, null_blocks: Iterable[np.ndarray]) -> np.ndarray:
    """Return the share of splits with a statistic of at least the observed one: float64, (n_rows,), above 0, at most 1.

    `observed` has shape (n_rows,), each block (n_rows, block), the observed split among them. Ties within
    `TIE_TOLERANCE` count, so that both should be in the rows' own units, see `row_scales`.
    """
    n_reached, n_splits = np.zeros(len(observed)), 0
    for values in null_blocks:
        n_reached += np.count_nonzero(values >= observed[:, None] - TIE_TOLERANCE, axis=1)
        n_splits += values.shape[1]
    return n_reached / n_splits


def row_scales(values: np.ndarray) -> np.ndarray:
    """Return the unit in which ties of each row are told: the power of 2 at or below an eighth of its largest value.

    A power of 2, since dividing by it changes no digit: values in another unit have the same ties, ranks and p-values.
    Of CIDEr-D distances, 0 to 10, it is 1. Absolute values count, of float64 arrays (n_rows, ...); returns a float64
    array, shape (n_rows,), above 0; 1 for a row of zeros.

    >>> row_scales(np.array([[0.3, -10.0], [1.0, 0.0], [0.0, 0.0]])).tolist()
    [1.0, 0.125, 1.0]
    """
    largest = np.abs(values).reshape(len(values), -1).max(axis=1, initial=0.0)
    exponents = np.frexp(largest)[1] - 4
    return np.ldexp(1.0, np.where(largest > 0, exponents, 0))


def in_row_scales(values: np.ndarray) -> np.ndarray:
    """Return the values of every row in its unit; see `row_scales`."""
    return values / row_scales(values).reshape(-1, *[1] * (values.ndim - 1))


def split_forms(
    pair_values: np.ndarray, among_candidates: float, among_references: float, across: float
) -> tuple[np.ndarray, np.ndarray]:
    """Turn a weighted sum over pairs of texts into a quadratic form in the labels.

    With z = 1 for candidates and M the values of pairs, the sum a z'Mz + b (1-z)'M(1-z) + c z'M(1-z) equals
    (a + b - c) z'Mz + (c - 2b) (M1)'z + b 1'M1; and z_i is its own square, so the linear term goes on the diagonal.

    `pair_values` is a symmetric float64 array of shape (n_rows, n_texts, n_texts); a and b are for ordered pairs, a
    text with itself included. Returns the forms, float64 of shape (n_rows, n_texts (n_texts + 1) / 2) in the order of
    `np.triu_indices`, and the constants, shape (n_rows,).
    """
    n_texts = pair_values.shape[-1]
    forms = (among_candidates + among_references - across) * pair_values
    linear = (across - 2 * among_references) * pair_values.sum(axis=-1)
    forms = 2 * forms  # each pair i < j stands for (i, j) and (j, i)
    texts = np.arange(n_texts)
    forms[:, texts, texts] = forms[:, texts, texts] / 2 + linear
    first, second = np.triu_indices(n_texts)
    return forms[:, first, second], among_references * pair_values.sum(axis=(-2, -1))


def split_values(forms: np.ndarray, constants: np.ndarray, splits: SplitsOfRow) -> Iterator[np.ndarray]:
    """Yield the value of every row's form, as from `split_forms`, under every split: float64, shape (n_rows, block)."""
    for labels in label_blocks(forms, splits):
        yield forms @ both_candidates(labels) + constants[:, None]


def label_blocks(forms: np.ndarray, splits: SplitsOfRow) -> Iterable[np.ndarray]:
    """Return the splits in blocks for which `split_values` stays within `MAX_PAIR_VALUES`."""
    return splits(max(1, MAX_PAIR_VALUES // sum(forms.shape)))


class Comparison(NamedTuple):
    """Results of a module for a batch of rows of equal sizes."""

    # float64 array, shape (n_rows,): the statistic, in its own unit.
    statistic: np.ndarray
    # float64 array, shape (n_rows, n_texts, n_texts), candidates first: distances, or kernel values, of all pairs.
    pair_values: np.ndarray
    # From a slice of these rows and the splits to blocks of null values, float64, shape (rows of the slice, block).
    null_values: Callable[[slice, SplitsOfRow], Iterable[np.ndarray]]
    # float64 array, shape (n_rows,): the unit of the null values; None for 1.
    units: np.ndarray | None = None
    # float64 array, shape (n_rows,): the plain metric; None where a module has none.
    plain: np.ndarray | None = None

    @property
    def row_units(self) -> np.ndarray:
        """The unit of each row: float64, shape (n_rows,)."""
        return np.ones(len(self.statistic)) if self.units is None else self.units


def comparison_p_values(compared: Comparison, splits: SplitsOfRow) -> np.ndarray:
    """Return p-values of the rows of a comparison by their splits, as `split_p_values`, in the rows' own units."""
    return split_p_values(compared.statistic / compared.row_units, compared.null_values(slice(None), splits))


def as_p_values(values: npt.ArrayLike, at_least_one: bool = False) -> Floats:
    """Return p-values as float64, shape (n,), 0 to 1; with `at_least_one`, not empty and above 0."""
    array = as_finite(values, "p_values")
    if array.ndim != 1 or (at_least_one and not array.size):
        shape = "shape (n,), n at least 1" if at_least_one else "shape (n,)"
        raise InputError("p_values", f"an array of {shape}", array.shape, "Give one value per test.")
    outside = np.flatnonzero((array < 0) | (array > 1) | (at_least_one & (array == 0)))
    if outside.size:
        limits = "above 0 and at most 1" if at_least_one else "from 0 to 1"
        raise InputError(f"p_values[{outside[0]}]", f"a number {limits}", array[outside[0]], "Give p-values.")
    return array


def splits_of(sizes: tuple[int, int], options: Mapping[str, Any], *, mirrored: bool = True) -> SplitsOfRow:
    """Return the splits of a row of (n_candidates, n_references) that `options` ask for, as `exact_splits`."""
    if options["p_value"] == "exact":
        return exact_splits(*sizes, options["max_partitions"], mirrored=mirrored)
    return random_splits(*sizes, options["n_resamples"], options["seed"])


def rows_by_size(
    sizes: Sequence[tuple[int, int]], batch_size: Callable[[int], int]
) -> list[tuple[tuple[int, int], list[int]]]:
    """Group row numbers by (n_candidates, n_references), in batches, which share their splits and are stacked.

    `batch_size` is from the number of texts of a row to the most rows of a batch.

    >>> rows_by_size([(2, 1), (1, 1), (2, 1)], lambda n_texts: 8)
    [((2, 1), [0, 2]), ((1, 1), [1])]
    """
    groups: dict[tuple[int, int], list[int]] = {}
    for i, size in enumerate(sizes):
        groups.setdefault(size, []).append(i)
    return [
        (size, rows[start : start + batch_size(sum(size))])
        for size, rows in groups.items()
        for start in range(0, len(rows), batch_size(sum(size)))
    ]


def row_keys(predictions: Sequence[Any], references: Sequence[Any]) -> Callable[[int], bytes]:
    """Return, for the number of a row, what its draws depend on besides the seed: a digest of its content, 16 bytes.

    Each side is n_rows lists of captions, or arrays of embeddings.

    >>> key = row_keys([["a"], ["a"], ["a", "b"]], [["b"], ["b"], []])
    >>> key(0) == key(1), key(0) == key(2)
    (True, False)
    """

    def key(row: int) -> bytes:
        sides = (predictions[row], references[row])
        # Equal numbers have equal keys, whatever their type and byte order.
        content = [(s.shape, s.astype("<f8").tobytes()) if isinstance(s, np.ndarray) else list(s) for s in sides]
        return hashlib.blake2b(repr(content).encode(), digest_size=16).digest()

    return key


class RowGenerators:
    """Random numbers for every row: they depend on the seed and on the row's key, not on its index."""

    def __init__(self, seed: Sequence[int], n_earlier: "collections.Counter[bytes] | None" = None):
        """Take the seed, whole numbers of at least 0, and how often keys came before, which is counted further."""
        self._seed = tuple(seed)
        self._n_earlier = collections.Counter() if n_earlier is None else n_earlier

    def next_generator(self, key: bytes) -> np.random.Generator:
        """Return the numbers of the next row with this key; equal rows draw independently.

        >>> first, second = (RowGenerators([0]).next_generator for _ in range(2))
        >>> first(b"a").random() == second(b"a").random() != first(b"a").random()
        True
        """
        n_earlier = self._n_earlier[key]
        self._n_earlier[key] += 1
        return np.random.default_rng((*self._seed, int.from_bytes(key, "big"), n_earlier))


MOST_RESAMPLES = 10_000_000


# Null values held at once, 8 bytes each; one row's are always held together.
MAX_NULL_VALUES = 8_000_000


class RowTests(NamedTuple):
    """Tests of every row by its splits: arrays of shape (n_rows,), or other collections of as many floats."""

    # The rows' p-values.
    p_values: Collection[float]
    # Each value minus the mean of its row's null values.
    excesses: Collection[float]
    # Variance of the null values; 0 where they differ by rounding alone.
    variances: Collection[float]
    # The unit of the null values.
    units: Collection[float]


class CorpusTest(NamedTuple):
    """Tests of every row by its splits, and of the mean over rows."""

    # As in `RowTests`.
    p_values: Collection[float]
    excesses: Collection[float]
    # p-value of the mean over rows; one row's own p-value.
    corpus_p_value: float
    # Distance of the mean over rows from its null mean, in null standard deviations; NaN where no split changes it.
    z: float
    # Smallest p-values that one of the rows, and the corpus, can have with sets of these sizes; the corpus's by all
    # splits, around whose p-value the p-value by draws scatters.
    smallest_p: float
    smallest_corpus_p: float


class RowTester:
    """Takes the null values of all rows, in batches of rows of equal sizes, and keeps what the tests need.

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
        self.n_draws, self._is_drawn = options["n_resamples"], options["p_value"] == "permutation"
        # float64 array, shape (n_draws,): sums over rows of the null value that each draw takes.
        self.drawn_sums = np.zeros(self.n_draws)
        self._generators = RowGenerators([options["seed"]], n_earlier)
        self._p_values, self._means, self._variances, self._units = np.empty((4, len(sizes)))

    def add(
        self, size: tuple[int, int], rows: Sequence[int], row_key: Callable[[int], bytes], compared: Comparison
    ) -> None:
        """Add rows of equal sizes: their numbers in the corpus, and their comparison.

        Two values within `TIE_TOLERANCE` units of their row are equal.
        """
        units = compared.row_units
        observed = compared.statistic / units
        n_rows = max(1, MAX_NULL_VALUES // self.n_splits[size])
        for start in range(0, len(rows), n_rows):
            part = slice(start, start + n_rows)
            nulls = np.concatenate(
                list(compared.null_values(part, self.splits[size])), axis=1
            )  # (rows of the part, n_splits)
            places = rows[part]
            self._p_values[places] = split_p_values(observed[part], [nulls])
            # Where splits are drawn, the first is the observed one and not a draw: with few draws it would shift the
            # mean.
            draws = nulls[:, 1:] if self._is_drawn else nulls
            self._means[places] = draws.mean(axis=1) * units[part]
            deviations = draws.std(axis=1)
            self._variances[places] = (np.where(deviations > TIE_TOLERANCE, deviations, 0.0) * units[part]) ** 2
            self._units[places] = units[part]
            for i, values, unit in zip(places, nulls, units[part], strict=True):
                drawn = self._generators.next_generator(row_key(i)).integers(len(values), size=self.n_draws)
                self.drawn_sums += unit * values[drawn]

    def row_tests(self, values: np.ndarray) -> RowTests:
        """Test every row by the observed statistics, float64, shape (n_rows,), in their own unit."""
        return RowTests(self._p_values, values - self._means, self._variances, self._units)

    def test(self, values: np.ndarray) -> CorpusTest:
        """Test every row and the mean over rows; `values` is as for `row_tests`."""
        return mean_test(values, self.row_tests(values), self.drawn_sums, self.smallest)


def mean_test(
    values: Collection[float], rows: RowTests, drawn_sums: np.ndarray, smallest: Mapping[float, int]
) -> CorpusTest:
    """Test the mean over rows.

    p = (1 + number of drawn means that reach the observed one) / (n_resamples + 1), ties within the tolerance
    counted (Phipson and Smyth 2010, https://doi.org/10.2202/1544-6115.1585). One row keeps its own p-value. The order
    of the rows changes the sums of draws by their rounding, far below the tolerance; all other sums are exact.

    `values` are the n_rows observed statistics in their own unit, `drawn_sums`, shape (n_resamples,), the sums over
    rows of a null value each, and `smallest` the smallest p-values that rows can have, with the number of rows of each.
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


def _smallest_p_value(size: tuple[int, int], rows: RowTester, options: Mapping[str, Any]) -> float:
    """Share of the splits that leave the two sets as they are: a lower bound of p-values of this size.

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


@plain_arguments
def harmonic_mean_p(p_values: npt.ArrayLike) -> float:
    """Return the harmonic mean of p-values, equal weights (Wilson 2019): approximately a p-value while it is small.

    `combined_p_value` is the calibrated one.

    Args:
        p_values: as for `combined_p_value`.

    Returns:
        Float above 0 and at most 1.

    Raises:
        ValueError: as for `combined_p_value`.

    >>> round(harmonic_mean_p([0.5, 0.1]), 4)
    0.1667
    """
    values = as_p_values(p_values, at_least_one=True).tolist()
    # Exact, whatever the order of the rows; by a power of 2, whose reciprocals stay in the range of float64.
    return len(values) / math.fsum(1 / (value * 2.0**200) for value in values) / 2.0**200


@plain_arguments
def combined_p_value(p_values: npt.ArrayLike) -> float:
    """Return the p-value of "every row's candidates and references share a distribution", asymptotically exact.

    Wilson (2019, https://doi.org/10.1073/pnas.1814092116), equation 4: 1 / harmonic mean of L p-values tends
    to a Landau distribution with location log L + 1 - gamma - log(2 / pi), which is log L + 0.874, and scale pi / 2. It
    holds under any dependence between rows that is not strongly negative, and gets better as p falls.

    Args:
        p_values: shape (n_rows,), at least one, each above 0 and at most 1.

    Returns:
        Float between 0 and 1. One row: its own p-value.

    Raises:
        ValueError: no p-values, or one that is not above 0 and at most 1.

    >>> round(combined_p_value([0.5, 0.1]), 4)
    0.2316
    """
    p_values = as_p_values(p_values, at_least_one=True)
    if len(p_values) == 1:
        return float(p_values[0])
    location = math.log(len(p_values)) + 1 - np.euler_gamma - math.log(2 / math.pi)
    from scipy import stats  # takes 0.4 s

    harmonic = harmonic_mean_p(p_values)
    # The tail is the mean itself where 1 / mean leaves the range of float64.
    return float(stats.landau.sf(1 / harmonic, location, math.pi / 2)) or harmonic


# Residuals that are no larger than this share of the values are rounding.
ROUNDING = 1e-14


class ClusteredMean(NamedTuple):
    """A mean over rows, its standard error, and what else its distribution depends on."""

    mean: float
    # sqrt(n / (n - 1) sum over clusters of (sum - size mean)^2) / rows (Cameron and Miller 2015, section II.B,
    # https://doi.org/10.3368/jhr.50.2.317); with one row a cluster the usual standard error of a mean.
    standard_error: float
    # Skewness of the clusters' residuals over the square root of their number.
    skewness: float
    n_clusters: int


def clustered_mean(sums: np.ndarray, sizes: np.ndarray) -> ClusteredMean:
    """Describe the mean over rows by the spread of the clusters; the standard error is NaN with a single cluster.

    `sums` is float64, shape (n_clusters,): the sum of each cluster's values; `sizes` are the rows of each, at least 1.
    """
    n_clusters, n_rows = len(sums), int(sizes.sum())
    mean = math.fsum(sums) / n_rows
    if n_clusters < 2:
        return ClusteredMean(mean, math.nan, 0.0, n_clusters)
    residuals = sums - sizes * mean
    # Values that are equal leave rounding, which is no spread. In a unit of their own no square can leave the range.
    unit = float(row_scales(residuals[None])[0])
    if np.abs(residuals).max() <= ROUNDING * max(np.abs(sums).max(), np.abs(mean) * sizes.max()):
        return ClusteredMean(mean, 0.0, 0.0, n_clusters)
    residuals = residuals / unit
    squares = math.fsum(residuals**2)
    skewness = math.fsum(residuals**3) / squares**1.5  # (sum / n) / (squares / n)^1.5 / sqrt(n)
    error = unit * math.sqrt(n_clusters / (n_clusters - 1) * squares) / n_rows
    return ClusteredMean(mean, error, skewness, n_clusters)


def mean_interval(of: ClusteredMean, confidence_level: float) -> tuple[float, float]:
    """Return the interval of a mean: Student's, transformed so that its ends miss equally often on both sides.

    With T the studentised mean and a its skewness, g(T) = T + a T^2 / 3 + a^2 T^3 / 27 + a / 6 has almost none (Hall
    1992, equation 2.2), and the ends are the means at which g(T) is Student's quantile for n_clusters - 1 degrees.

    Args:
        of: as from `clustered_mean`.
        confidence_level: between 0 and 1.

    Returns:
        Lower and upper end; NaN with a single cluster.

    >>> np.round(mean_interval(clustered_mean(np.array([1.0, 2.0, 3.0]), np.ones(3, dtype=int)), 0.95), 4).tolist()
    [-0.4841, 4.4841]
    """
    if of.n_clusters < 2:
        return math.nan, math.nan
    # Of the lower tail: a level next to 1 leaves it something, where the upper one would be rounded to 1.
    quantile = -float(scipy.special.stdtrit(of.n_clusters - 1, (1 - confidence_level) / 2))
    low, high = (of.mean - of.standard_error * _invert_transform(sign * quantile, of.skewness) for sign in (1, -1))
    return low, high


def wilson_interval(share: float, error: float, n_clusters: int, confidence_level: float) -> tuple[float, float]:
    """Return the interval of a share: Wilson's, for as many independent items as the standard error says.

    With n = share (1 - share) / error^2 and Student's quantile z for n_clusters - 1 degrees, the ends are the shares p
    with |share - p| = z sqrt(p (1 - p) / n) (Wilson 1927, https://doi.org/10.1080/01621459.1927.10502953). Where the
    error is 0, no spread was estimated, and z is the quantile of the normal distribution.

    Args:
        share: 0 to 1.
        error: its standard error; where it is 0, every cluster counts as one item.
        n_clusters: at least 2.
        confidence_level: between 0 and 1.

    Returns:
        Lower and upper end, within 0 to 1; NaN with a single cluster or an error that is NaN.

    >>> [round(end, 3) for end in wilson_interval(1.0, 0.0, 5, 0.95)]
    [0.566, 1.0]
    """
    if n_clusters < 2 or math.isnan(error):
        return math.nan, math.nan
    n = share * (1 - share) / error**2 if error > 0 else n_clusters
    n = n if n > 0 else n_clusters  # all items alike, but for rounding
    level = (1 + confidence_level) / 2
    squared = float(scipy.special.stdtrit(n_clusters - 1, level) if error > 0 else scipy.special.ndtri(level)) ** 2
    middle = (share + squared / (2 * n)) / (1 + squared / n)
    reach = math.sqrt(squared * (share * (1 - share) / n + squared / (4 * n**2))) / (1 + squared / n)
    return max(0.0, middle - reach), min(1.0, middle + reach)


def one_sided_p_value(of: ClusteredMean) -> float:
    """Return the p-value, 0 to 1, of "the mean is 0" against "it is larger", by the same transformation.

    NaN with a single cluster, and where the values are all equal.
    """
    if not of.standard_error > 0:
        return math.nan
    t, a = of.mean / of.standard_error, of.skewness
    return float(scipy.special.stdtr(of.n_clusters - 1, -(t + a * t**2 / 3 + a**2 * t**3 / 27 + a / 6)))


def interval_of_rows(
    values: Collection[float], confidence_level: float, clusters: Sequence[Hashable] | None = None
) -> tuple[float, float]:
    """Return the ends of the interval of the mean over rows; NaN with a single cluster. See `mean_interval`.

    `values` are n_rows floats, at least 2, and `clusters` n_rows labels; None: every row stands for itself.
    """
    return mean_interval(mean_of_rows(values, clusters), confidence_level)


def mean_of_rows(values: Collection[float], clusters: Sequence[Hashable] | None = None) -> ClusteredMean:
    """Describe the mean over rows; the arguments are as for `interval_of_rows`."""
    column = np.fromiter(values, dtype=np.float64, count=len(values))
    numbers = np.arange(len(column)) if clusters is None else cluster_numbers(clusters)
    sizes = np.bincount(numbers)
    if len(sizes) == len(column):
        return clustered_mean(column, sizes)
    # Exact sums: the order of a cluster's rows changes nothing.
    members = np.split(column[np.argsort(numbers, kind="stable")], np.cumsum(sizes)[:-1])
    return clustered_mean(np.array([math.fsum(each) for each in members]), sizes)


def with_interval(name: str, values: Sequence[float], level: float | None) -> dict[str, float]:
    """Return a value and the ends of its interval by the keys of a result, the ends if there is a confidence level.

    >>> with_interval("gap", (0.5, 0.0, 1.0), 0.95)
    {'gap': 0.5, 'gap_ci_low': 0.0, 'gap_ci_high': 1.0}
    """
    keys = (name, f"{name}_ci_low", f"{name}_ci_high") if level is not None else (name,)
    return dict(zip(keys, values, strict=False))


def clustered_test(name: str, excess: ClusteredMean) -> dict[str, float]:
    """Test the mean excess of rows that depend on each other within clusters.

    Splits of every row by itself take rows for independent. Under the null hypothesis the excess of every row, its
    value minus the mean of its null values, has mean 0 whatever the others are, so the mean over rows is tested by the
    spread of the clusters. Returns p-value, z and smallest p-value, by the keys of the module `name`.
    """
    z = excess.mean / excess.standard_error if excess.standard_error > 0 else math.nan
    return {f"{name}_corpus_p_value": one_sided_p_value(excess), f"{name}_z": z, f"{name}_smallest_corpus_p": 0.0}


def cluster_numbers(clusters: Iterable[Hashable]) -> np.ndarray:
    """Number the clusters in the order in which they appear, and return the cluster's number for every row.

    >>> cluster_numbers(["b", "a", "b"]).tolist()
    [0, 1, 0]
    """
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(label, len(numbers)) for label in clusters], dtype=np.intp)


def check_clusters(clusters: object, n_rows: int) -> list[Hashable]:
    """Return a label for every row as plain values, or raise unless there is one that others can equal."""
    return as_labels(clusters, "clusters", n_rows)


def _invert_transform(value: float, skewness: float) -> float:
    """The T with g(T) = `value`: 3 / a ((1 + a (value - a / 6))^(1/3) - 1), without its division by a small a."""
    distance = value - skewness / 6
    root = math.copysign(abs(1 + skewness * distance) ** (1 / 3), 1 + skewness * distance)
    return 3 * distance / (root * root + root + 1)
