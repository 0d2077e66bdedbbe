"""Sums of vectors and of their outer products without rounding: equal in any order, blocks and parts, to the last bit.

Every float is cut into pieces of 20 bits that lie on one grid, so that the products of two pieces are whole numbers
and a matrix product of 8,192 texts adds them exactly in float64 (the splitting of Ozaki et al. 2012, section 2,
https://doi.org/10.1007/s11075-011-9478-1). The covariance is exact up to its Cholesky factor, which is computed with
twice the digits of a float: so its square root, that is what a Fréchet distance needs, has all digits of one.
"""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from .base_types import Progress

# Bits of a piece: a block of 2^13 products of two pieces stays below 2^53.
PIECE_BITS = 20

# Texts multiplied at once.
BLOCK_SIZE = 8_192

# Sums above this are carried to the next coarser piece; 2^22 blocks more then fit into 64 bits.
CARRY_ABOVE = 2**40

# Pivots below this share of the largest one are the rounding of a covariance that is singular.
SINGULAR = 1e-28

# Splits a float into two halves whose products are exact (Dekker 1971, https://doi.org/10.1007/BF01397083).
SPLITTER = 2.0**27 + 1

# Steps of the factorisation after which the columns that are done are left out.
STEPS_TO_SHRINK = 32


class ExactMoments:
    """Number, sum and sum of outer products of vectors that come in any blocks.

    >>> whole, part = ExactMoments(), ExactMoments()
    >>> whole.add(np.array([[0.5], [1e30], [-1e30]]), np.array([3, 1, 1]))
    >>> part.add(np.array([[1e30], [0.5]]), np.array([1, 2]))
    >>> part.add(np.array([[-1e30], [0.5]]), np.array([1, 1]))
    >>> whole.mean().tolist(), part.mean().tolist()
    ([0.3], [0.3])
    """

    def __init__(self) -> None:
        self.n = self.n_dimensions = 0
        self._sums = _PieceSums()
        self._products = _PieceSums()

    def add(
        self,
        vectors: np.ndarray,
        counts: np.ndarray,
        progress: Progress = lambda steps, **_: steps,
        block_size: int = BLOCK_SIZE,
    ) -> None:
        """Take in vectors.

        Args:
            vectors: finite floating-point array, shape (n_vectors, d).
            counts: array of whole numbers, shape (n_vectors,): how often each vector comes.
            progress: wraps the blocks in a progress bar.
            block_size: texts multiplied at once, at most `BLOCK_SIZE`.
        """
        texts = np.repeat(np.arange(len(vectors)), counts.astype(np.int64))
        self.n, self.n_dimensions = self.n + len(texts), vectors.shape[1]
        upper = np.triu_indices(self.n_dimensions)
        for start in progress(range(0, len(texts), block_size), desc="pooled covariance", unit="block", delay=1):
            pieces = dict(_pieces(vectors[texts[start : start + block_size]].astype(np.float64)))
            for level, piece in pieces.items():
                self._sums.add(level, piece.sum(axis=0).astype(np.int64))
            for first, second in ((i, j) for i in pieces for j in pieces if i <= j):
                product = (pieces[first].T @ pieces[second]).astype(np.int64)  # exact: below 2^53
                both = product if first == second else product + product.T
                self._products.add(first + second, both[upper])

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the moments as arrays of whole numbers, for `merge`."""
        size = np.array([self.n, self.n_dimensions])
        return {"size": size, **self._sums.arrays("sums"), **self._products.arrays("products")}

    def merge(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Merge the `arrays` of other moments of vectors of the same length."""
        n, n_dimensions = arrays["size"].tolist()
        self.n, self.n_dimensions = self.n + n, n_dimensions or self.n_dimensions
        for name, sums in (("sums", self._sums), ("products", self._products)):
            for level, values in zip(arrays[f"{name}_levels"].tolist(), arrays[name], strict=True):
                sums.add(level, values)

    def mean(self) -> np.ndarray:
        """Return the mean: float64 array, shape (d,), each number the float nearest to the exact one."""
        sums, exponent = self._sums.total(self.n_dimensions)
        return _nearest(sums, Fraction(2) ** exponent / self.n)

    def factor(self) -> np.ndarray:
        """Return R with R'R = the covariance, divisor n - 1: float64 array, shape (rank, d). Needs two texts."""
        d = self.n_dimensions
        sums, exponent_of_sums = self._sums.total(d)
        upper, exponent = self._products.total(d * (d + 1) // 2)
        # n * (sum of x x') - (sum of x)(sum of x)', in units that both terms are whole multiples of.
        unit = min(exponent, 2 * exponent_of_sums)
        products = np.empty((d, d), dtype=object)
        products[np.triu_indices(d)] = upper
        products.T[np.triu_indices(d)] = upper
        scatter = products * (self.n << (exponent - unit))
        scatter -= np.multiply.outer(sums, sums) * (1 << (2 * exponent_of_sums - unit))
        return _root(scatter, unit) / np.sqrt(self.n * (self.n - 1))


def mean_difference(first: ExactMoments, second: ExactMoments) -> np.ndarray:
    """Return the difference of two means: float64 array, shape (d,), each number the float nearest to the exact one."""
    (sums, exponent), (others, other_exponent) = (side._sums.total(side.n_dimensions) for side in (first, second))
    unit = min(exponent, other_exponent)
    whole = sums * (second.n << (exponent - unit)) - others * (first.n << (other_exponent - unit))
    return _nearest(whole, Fraction(2) ** unit / (first.n * second.n))


class _PieceSums:
    """Sums of whole numbers, in units of 2^(-20 level)."""

    def __init__(self) -> None:
        self._levels: dict[int, np.ndarray] = {}

    def add(self, level: int, values: np.ndarray) -> None:
        """Add int64 values, shape (n,), and carry large sums to the next coarser level."""
        sums = self._levels.setdefault(level, np.zeros(len(values), dtype=np.int64))
        sums += values
        if np.abs(sums).max(initial=0) > CARRY_ABOVE:
            carried = (sums + 2 ** (PIECE_BITS - 1)) >> PIECE_BITS
            sums -= carried << PIECE_BITS
            self.add(level - 1, carried)

    def arrays(self, name: str) -> dict[str, np.ndarray]:
        """Return the levels, and their values."""
        values = np.array(list(self._levels.values()), dtype=np.int64)
        return {f"{name}_levels": np.array(list(self._levels), dtype=np.int64), name: values}

    def total(self, n: int) -> tuple[np.ndarray, int]:
        """Return n Python ints, shape (n,), and e: the sums are these times 2^e."""
        finest = max(self._levels, default=0)
        total = np.zeros(n, dtype=object)
        for level, sums in self._levels.items():
            total += sums.astype(object) * (1 << (PIECE_BITS * (finest - level)))
        return total, -PIECE_BITS * finest


def _pieces(vectors: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """Yield (level, whole numbers below 2^20 in size): the vectors are the sums of pieces times 2^(-20 level)."""
    rest = vectors
    while rest.any():
        largest = int(np.frexp(np.abs(rest).max())[1])  # below 2^largest
        level = 1 - -(-largest // PIECE_BITS)
        piece = np.trunc(np.ldexp(rest, PIECE_BITS * level))
        yield level, piece
        rest = rest - np.ldexp(piece, -PIECE_BITS * level)


def _nearest(whole: np.ndarray, scale: Fraction) -> np.ndarray:
    """Floats nearest to Python ints times a fraction."""
    return np.array([float(number * scale) for number in whole])


class _Doubled(NamedTuple):
    """Numbers as unevaluated sums of two floats, the second below half a unit in the last place of the first."""

    high: np.ndarray
    low: np.ndarray


def _root(matrix: np.ndarray, exponent: int) -> np.ndarray:
    """R with R'R = matrix * 2^exponent, of Python ints, symmetric, never negative: float64 array, (rank, d)."""
    largest = max(int(number) for number in np.diagonal(matrix))
    # Scaled so that the largest number of the diagonal is near 1; bits 2^-1000 below it do not matter.
    shift = (largest.bit_length() + 1) // 2 * 2
    dropped = max(0, shift - 1000)
    kept = matrix // (1 << dropped) if dropped else matrix
    high = kept.astype(np.float64)
    low = (kept - np.frompyfunc(int, 1, 1)(high)).astype(np.float64)
    scaled = _Doubled(np.ldexp(high, dropped - shift), np.ldexp(low, dropped - shift))
    return np.ldexp(_cholesky(scaled), (exponent + shift) // 2)


def _cholesky(matrix: _Doubled) -> np.ndarray:
    """Cholesky factor with the largest pivot first, rows in that order: R'R = matrix, float64 array, (rank, d)."""
    d = len(matrix.high)
    rest, columns = matrix, np.arange(d)
    rows: list[np.ndarray] = []
    largest = max(float(np.diagonal(matrix.high).max(initial=0)), 0.0)
    for step in range(d):
        diagonal = np.diagonal(rest.high)
        pivot = int(np.argmax(diagonal))
        if diagonal[pivot] <= SINGULAR * largest:
            break
        row = _divided_by_root(_Doubled(rest.high[pivot], rest.low[pivot]), pivot)
        whole = np.zeros(d)
        whole[columns] = row.high
        rows.append(whole)
        rest = _minus_outer(rest, row)
        for part in rest:
            part[pivot] = part[:, pivot] = 0.0
        if (step + 1) % STEPS_TO_SHRINK == 0:
            left = np.flatnonzero(np.diagonal(rest.high) > 0)
            columns, rest = columns[left], _Doubled(*(part[np.ix_(left, left)] for part in rest))
            if not len(left):
                break
    return np.array(rows).reshape(len(rows), d)


def _divided_by_root(row: _Doubled, pivot: int) -> _Doubled:
    """A row divided by the square root of its number at the pivot."""
    square = _Doubled(row.high[pivot], row.low[pivot])
    root = np.sqrt(square.high)
    product = _product(root, root)
    root_low = ((square.high - product.high) - product.low + square.low) / (2 * root)
    quotient = row.high / root
    product = _product(quotient, root)
    remainder = (row.high - product.high) - product.low + row.low - quotient * root_low
    return _quick_sum(quotient, remainder / root)


def _minus_outer(matrix: _Doubled, row: _Doubled) -> _Doubled:
    """The matrix less the outer product of a row with itself."""
    product = _product(row.high[:, None], row.high[None])
    cross = row.high[:, None] * row.low[None]
    difference = matrix.high - product.high
    back = difference - matrix.high
    lost = (matrix.high - (difference - back)) - (product.high + back)
    return _quick_sum(difference, lost + (matrix.low - product.low - (cross + cross.T)))


def _product(first: Any, second: Any) -> _Doubled:
    """Products with their rounding errors."""
    product = first * second
    (a, b), (c, d) = _halves(first), _halves(second)
    return _Doubled(product, ((a * c - product) + a * d + b * c) + b * d)


def _halves(numbers: Any) -> tuple[Any, Any]:
    shifted = SPLITTER * numbers
    upper = shifted - (shifted - numbers)
    return upper, numbers - upper


def _quick_sum(larger: Any, smaller: Any) -> _Doubled:
    total = larger + smaller
    return _Doubled(total, smaller - (total - larger))
