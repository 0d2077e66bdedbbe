"""The ways to split a row's texts into candidates and references, and the statistic of a row under all of them.

Null hypothesis (Chan et al. 2022, appendix A.5, https://arxiv.org/abs/2209.07518): candidates and references of a
row are drawn from one distribution, so every split of the joint texts into sets of the same sizes is equally
likely. A row is tested by its own splits, the corpus below.
"""

import collections
import hashlib
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .arrays import Floats, as_finite
from .errors import InputError
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
