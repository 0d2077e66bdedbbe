"""Triangle-rank statistic of Chan et al. (2022), https://arxiv.org/abs/2209.07518: counts, statistic, null values.

A triangle is one text x in one set and an ordered pair of texts (y1, y2) in the other. Its edge inside a set,
d(y1, y2), is ranked among the edges that cross over, d(x, y1) and d(x, y2): shortest, middle or longest.
Texts of one distribution make the three ranks equally frequent, whatever the distance.
"""

import itertools
import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .arrays import Floats, plain_arguments
from .errors import InputError
from .options import Option, check_choice, one_of
from .rows import as_rows, check_candidates
from .sets_module import Sets
from .sets_tests import (
    MAX_PARTITIONS,
    TIE_TOLERANCE,
    Comparison,
    SplitsOfRow,
    both_candidates,
    in_row_scales,
    row_splits,
    split_p_values,
)

# "per_side" is the sum of a Q for each kind of triangle; "pooled" is equation 4, one Q over both kinds.
STATISTICS = ("per_side", "pooled")

# Triangles held at once by the counting steps; a triangle costs about 12 bytes, so this is about 100 MB.
MAX_TRIANGLES = 8_000_000

# Products of labels held at once by the null distributions, 8 bytes each.
MAX_PRODUCTS = 2_000_000

# Multiplications of a row, up to which OpenBLAS starts no threads (its threshold for a product of matrices).
MAX_PRODUCTS_OF_ROW = 262_144

# Most texts of a row in the null distributions of "per_side": their cubic forms have 1.3 million terms, 32 MB per row.
MAX_PER_SIDE_TEXTS = 200


def statistic_range(options: Mapping[str, Any]) -> tuple[float, float]:
    """Return the least and the largest statistic of a row."""
    return 0.0, (8 if options["statistic"] == "per_side" else 4) / 3


def check_statistic_sizes(
    sizes: Sequence[tuple[int, int]], columns: tuple[str, str], options: Mapping[str, Any]
) -> None:
    """Raise if a row is too large for a p-value of "per_side"; warn if all rows have a set of one, without a p-value.

    A set of one has no triangle of its own, so that wrong single captions would seem better than people's pairs.
    """
    if options["statistic"] == "pooled":
        return
    if options["p_value"] == "none":
        for k, column in enumerate(columns):
            if {size[k] for size in sizes} == {1}:
                warnings.warn(
                    f"{column}: expected two items or more per row for statistic='per_side', got one in every row. One "
                    "has no triangle of its own, and the statistic is about half as large. Compare it with other "
                    "numbers of captions by its excess, or take human_parity.",
                    stacklevel=2,
                )
        return
    for i, size in enumerate(sizes):
        if sum(size) > MAX_PER_SIDE_TEXTS:
            place = f"{columns[0]}[{i}], {columns[1]}[{i}]"
            expected = f"at most {MAX_PER_SIDE_TEXTS} captions in all for p-values with statistic='per_side'"
            raise InputError(place, expected, sum(size), "Use statistic='pooled', or p_value='none'.")


# Of every module of triangle ranks.
STATISTIC: dict[str, Option] = {
    "statistic": Option(
        "per_side",
        one_of(STATISTICS),
        '`"per_side"` (one Q for each kind of triangle, added, as the authors\' program does) or `"pooled"` '
        "(equation 4 of the paper as printed, in which opposite deviations of the two kinds cancel).",
    )
}


# What they say of it.
TRIANGLES = Sets(
    value_range=statistic_range,
    size_checks=(check_statistic_sizes,),
    settings=lambda options: {"statistic": options["statistic"], "ties": TIE_TOLERANCE},
    has_excess=lambda sizes, options: options["statistic"] == "pooled" or max(map(sum, sizes)) <= MAX_PER_SIDE_TEXTS,
)


def triangle_rank_comparison(distances: np.ndarray, n_candidates: int, statistic: str, plain: np.ndarray) -> Comparison:
    """Compare rows of equal sizes by the ranks of their distances; `plain` is the plain metric, shape (n_rows,)."""

    def null_values(part: slice, splits: SplitsOfRow) -> Iterator[np.ndarray]:
        return null_statistics(distances[part], splits, statistic)

    observed = rank_statistic(triangle_rank_counts(distances, n_candidates), statistic)
    return Comparison(observed, distances, null_values, plain=plain)


def triangle_rank_counts(distances: np.ndarray, n_candidates: int) -> np.ndarray:
    """Count how often the edge inside a set is the shortest, the middle and the longest of its triangle.

    Chan et al. (2022), equation 3, with two edges equal when they differ by at most `TIE_TOLERANCE` in the
    row's unit; a tie counts under every rank that it allows. Exact: every triangle is visited, none is sampled.

    Args:
        distances: float64 array, shape (n_rows, n_texts, n_texts), finite. `distances[r, i, j]` is d(text i, text j)
            of row r, not necessarily symmetric; the first `n_candidates` texts are candidates, the others references.
        n_candidates: number of candidates in every row, 1 to n_texts - 1.

    Returns:
        int64 array, shape (n_rows, 2, 3): for each row the triangles with their pair among the candidates, then
        those with their pair among the references; by rank shortest, middle, longest.

    >>> triangle_rank_counts(np.array([[[0.0, 1.0, 5.0], [2.0, 0.0, 6.0], [5.0, 6.0, 0.0]]]), 2).tolist()
    [[[2, 0, 0], [0, 0, 0]]]
    """
    distances = _rows_last(distances)
    among_candidates = distances[:n_candidates, :n_candidates]
    among_references = distances[n_candidates:, n_candidates:]
    to_references = distances[:n_candidates, n_candidates:]
    to_candidates = distances[n_candidates:, :n_candidates]
    return np.stack([_count(to_candidates, among_candidates), _count(to_references, among_references)], axis=1)


def rank_statistic(counts: np.ndarray, statistic: str = "per_side") -> np.ndarray:
    """Turn counts of ranks, whole numbers, shape (..., 2, 3), into Q, as `manycaps.functional.triangle_rank_statistic`.

    "pooled" adds the counts of the two kinds of triangle first; "per_side" adds one Q for each kind, so that opposite
    deviations of the two kinds cannot cancel. A set of one text has no triangle of its kind: its side then adds 0, and
    the largest value is 4/3. Returns a float64 array, shape (...).
    """
    if statistic == "pooled":
        return _deviation(counts.sum(axis=-2))
    return _deviation(counts[..., 0, :]) + _deviation(counts[..., 1, :])


def null_statistics(distances: np.ndarray, splits: SplitsOfRow, statistic: str = "per_side") -> Iterator[np.ndarray]:
    """Give the statistic of every row under each relabelling of its texts.

    The rank of an edge in a triangle does not depend on which texts are called candidates. With z = 1 for candidates,
    a triangle (x, y1, y2) counts when z_x differs from z_y1 = z_y2, that is with the weight
    (1 - z_x) z_y1 z_y2 + z_x (1 - z_y1) (1 - z_y2) = z_y1 z_y2 + z_x - z_x z_y1 - z_x z_y2: the cubic terms cancel.
    So the pooled counts are three quadratic forms in z, one matrix product for all splits and all rows. "per_side"
    also needs the first term by itself, which is a cubic form; the other side is the difference.

    Args:
        distances: as for `triangle_rank_counts`; for "per_side" with at most `MAX_PER_SIDE_TEXTS` texts.
        splits: called with a block size, gives boolean arrays of shape (at most that many, n_texts), True for the
            texts called candidates.
        statistic: "per_side" or "pooled".

    Yields:
        float64 arrays, shape (n_rows, block), in the order of the splits.
    """
    n_rows, per_side = len(distances), statistic == "per_side"
    blocks = (_forms(rows, per_side) for rows in _row_blocks(_rows_last(distances)))
    forms = [np.concatenate(parts).reshape(n_rows * 3, -1) for parts in zip(*blocks, strict=True)]
    # Whole numbers: the products are exact, in any order of summation, while every partial sum is below 2**24.
    dtype = np.float32 if max(np.abs(form).sum(axis=1).max() for form in forms) < 2**24 else np.float64
    forms = [form.astype(dtype) for form in forms]
    for labels in splits(max(1, MAX_PRODUCTS // (forms[-1].shape[1] + 12 * n_rows))):
        products = both_candidates(labels, dtype)
        pooled = _split_counts(forms[0], products)
        if per_side:
            products = np.concatenate((products, _three_candidates(labels, dtype)))
            inside = _split_counts(forms[1], products)
            yield _deviation(inside, axis=1) + _deviation(pooled - inside, axis=1)
        else:
            yield _deviation(pooled, axis=1)


def _split_counts(forms: np.ndarray, products: np.ndarray) -> np.ndarray:
    """The counts of every row under every split: (n_rows, 3, n_splits); `forms` is (n_rows * 3, n_products).

    Row by row where a row is little work: BLAS starts its threads for one large product, and they use up more processor
    time by waiting for the next one than the product takes.
    """
    if 3 * products.size <= MAX_PRODUCTS_OF_ROW:
        return forms.reshape(-1, 3, forms.shape[1]) @ products
    return (forms @ products).reshape(-1, 3, products.shape[1])


def _three_candidates(labels: np.ndarray, dtype: type[np.floating[Any]]) -> np.ndarray:
    """z_i z_j z_k for every i < j < k in the order of `itertools.combinations`: (n_triples, n_splits)."""
    z = np.ascontiguousarray(labels.T)  # (n_texts, n_splits)
    n = len(z)
    pairs = np.concatenate([z[i] & z[i + 1 :] for i in range(n)])  # i < j, in order
    # The pairs after those that begin with a text i or an earlier one are the last ones.
    n_later = [math.comb(n - i - 1, 2) for i in range(n)]
    return np.concatenate([z[i] & pairs[len(pairs) - n_later[i] :] for i in range(n)]).astype(dtype)


def _deviation(counts: np.ndarray, axis: int = -1) -> np.ndarray:
    """Sum of |share of each rank - 1/3|, the ranks along `axis`; 0 where nothing was counted."""
    counts = np.moveaxis(counts, axis, 0).astype(np.float64)  # (3, ...)
    total = counts.sum(axis=0)
    counts /= np.where(total > 0, total, 1.0)
    counts -= 1 / 3
    return np.where(total > 0, np.abs(counts, out=counts).sum(axis=0), 0.0)


def _rows_last(distances: np.ndarray) -> np.ndarray:
    """Distances in the units of their rows, (n_texts, n_texts, n_rows): NumPy is fastest along a long last axis."""
    return np.ascontiguousarray(np.moveaxis(in_row_scales(distances), 0, -1))


def _ranks(crossing: np.ndarray, inside: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the indicators of equation 3, each (n_x, n_y, n_y, n_rows): shortest, middle, longest.

    `inside` is d(y1, y2), shape (n_y, n_y, n_rows), `crossing` is d(x, y), shape (n_x, n_y, n_rows).
    """
    # y1 and y2 must be two texts: NaN compares as False and drops the diagonal from every rank.
    inside = np.where(np.eye(len(inside), dtype=bool)[..., None], np.nan, inside)
    first, second = crossing[:, :, None], crossing[:, None]
    below_first, below_second = inside <= first + TIE_TOLERANCE, inside <= second + TIE_TOLERANCE
    above_first, above_second = inside + TIE_TOLERANCE >= first, inside + TIE_TOLERANCE >= second
    yield below_first & below_second
    yield (above_first & below_second) | (above_second & below_first)
    yield above_first & above_second


def _x_blocks(n_x: int, triangles_each: int) -> Iterator[slice]:
    """Cut the texts x into blocks of at most `MAX_TRIANGLES` triangles."""
    size = max(1, MAX_TRIANGLES // max(1, triangles_each))
    return (slice(start, start + size) for start in range(0, n_x, size))


def _count(crossing: np.ndarray, inside: np.ndarray) -> np.ndarray:
    """Counts of the three ranks for one kind of triangle: (n_rows, 3)."""
    counts = np.zeros((inside.shape[-1], 3), dtype=np.int64)
    for block in _x_blocks(len(crossing), inside.size):
        for k, rank in enumerate(_ranks(crossing[block], inside)):
            counts[:, k] += np.count_nonzero(rank, axis=(0, 1, 2))
    return counts


def _row_blocks(distances: np.ndarray) -> Iterator[np.ndarray]:
    """Cut the rows into blocks of at most `MAX_TRIANGLES` triangles, at least one row each."""
    size = max(1, MAX_TRIANGLES // len(distances) ** 3)
    return (distances[..., start : start + size] for start in range(0, distances.shape[-1], size))


def _forms(distances: np.ndarray, per_side: bool) -> Iterator[np.ndarray]:
    """Yield the forms of the counts of rows: of both kinds of triangle, and with `per_side` of the candidates' pairs.

    The first are quadratic, (n_rows, 3, n_pairs), for the products of `both_candidates`; the second come from
    `_candidate_side_form`, (n_rows, 3, n_pairs + n_triples).
    """
    n, _, n_rows = distances.shape
    # How often an edge has a rank: inside a set, whatever x is, and crossing over from x, in both orders of the pair.
    inside, crossing = np.zeros((2, 3, n, n, n_rows), np.int32)
    candidate_side, counts = [], np.min_scalar_type(2 * n)  # narrow numbers are added faster
    for block in [slice(n)] if per_side else _x_blocks(n, n_rows * n * n):
        for k, rank in enumerate(_ranks(distances[block], distances)):
            rank = rank.view(np.uint8)
            either = np.add(rank, rank.swapaxes(1, 2), dtype=counts)  # (n_x, n, n, n_rows), indexed x, y1, y2
            inside[k] += either.sum(axis=0, dtype=counts)
            crossing[k, block] = either.sum(axis=2, dtype=counts)
            if per_side:
                candidate_side.append(_candidate_side_form(either))
    forms = inside - crossing - crossing.swapaxes(1, 2)  # z_y1 z_y2 - z_x z_y1 - z_x z_y2
    x = np.arange(n)
    forms[:, x, x] = crossing.sum(axis=2) // 2 - crossing[:, x, x]  # z_x, which is z_x squared
    first, second = np.triu_indices(n)
    yield np.moveaxis(forms[:, first, second], -1, 0)
    if per_side:
        yield np.moveaxis(np.stack(candidate_side), -1, 0)


def _candidate_side_form(either: np.ndarray) -> np.ndarray:
    """Form of the counts of one rank of triangles with their pair among the candidates and x among the references.

    The counts are the sum over x and y1, y2 of z_y1 z_y2 - z_x z_y1 z_y2; with x = y1 or x = y2 the terms cancel, and
    `either` loses them: whole numbers, shape (n, n, n, n_rows), indexed x, y1, y2, of both orders of a pair. Returns
    int16, (n_pairs + n_triples, n_rows): for the products of `both_candidates`, then of `_three_candidates`.
    """
    n = len(either)
    x = np.arange(n)
    either[x, x] = either[x, :, x] = 0
    first, second, third = np.array(list(itertools.combinations(range(n), 3)), dtype=np.intp).reshape(-1, 3).T
    triple_terms = either[first, second, third] + either[second, first, third] + either[third, first, second]
    pair_terms = either.sum(axis=0, dtype=either.dtype)[np.triu_indices(n)]
    return np.concatenate((pair_terms.astype(np.int16), -triple_terms.astype(np.int16)))


@plain_arguments
def triangle_rank_statistic(distances: npt.ArrayLike, n_candidates: int, statistic: str = "per_side") -> Floats:
    """Compare candidates and references of every row by the ranks of their distances.

    Q = sum over k of |I_k / I - 1/3|, I_k the triangles in which the edge inside a set is the shortest, the middle or
    the longest (Chan et al. 2022, equations 3 and 4, https://arxiv.org/abs/2209.07518). "per_side" adds a Q for each
    set, as the authors' program does; "pooled" is equation 4 as printed. Every triangle is counted, ties within 1e-9
    under each rank that they allow.

    Args:
        distances: floating-point array, shape (n_rows, n_texts, n_texts), finite; [r, i, j] is d(text i, text j) of row
            r, not necessarily symmetric; the first `n_candidates` texts are candidates.
        n_candidates: number of candidates of every row, 1 to n_texts - 1; at least three texts in all.
        statistic: "per_side" or "pooled".

    Returns:
        float64 array, shape (n_rows,): 0 (one distribution) to 8/3 ("per_side") or 4/3 ("pooled").

    Raises:
        TypeError: `n_candidates` is not a whole number.
        ValueError: another shape, number or name.

    >>> triangle_rank_statistic([[[0.0, 1.0, 5.0], [2.0, 0.0, 6.0], [5.0, 6.0, 0.0]]], 2).round(4).tolist()
    [1.3333]
    """
    rows = _as_distances(distances, n_candidates, statistic)
    return rank_statistic(triangle_rank_counts(rows, n_candidates), statistic)


@plain_arguments
def triangle_rank_p_values(
    distances: npt.ArrayLike,
    n_candidates: int,
    statistic: str = "per_side",
    *,
    n_resamples: int | None = None,
    max_partitions: int = MAX_PARTITIONS,
    seed: int = 0,
) -> Floats:
    """Return the share of the splits of every row whose triangle-rank statistic is at least the observed one.

    Under the hypothesis that candidates and references are samples of one distribution, every split of a row's texts
    into sets of the observed sizes is equally likely: a permutation test (Chan et al. 2022, section 3.1), exact if all
    splits are enumerated.

    Args:
        distances: as for `triangle_rank_statistic`; for "per_side" at most 200 texts per row.
        n_candidates: as for `triangle_rank_statistic`.
        statistic: "per_side" or "pooled".
        n_resamples: number of random splits, at least 1; None enumerates all of them.
        max_partitions: most splits of a row that may be enumerated.
        seed: of the random splits, at least 0.

    Returns:
        float64 array, shape (n_rows,), above 0 and at most 1; ties within 1e-9 count as reached.

    Raises:
        TypeError: a number is not a whole number.
        ValueError: another shape, number or name, or more than `max_partitions` splits.

    >>> points = np.array([0.0, 0.1, 0.2, 5.0, 5.1, 5.2])
    >>> triangle_rank_p_values(np.abs(points[:, None] - points)[None], 3).tolist()
    [0.1]
    """
    rows = _as_distances(distances, n_candidates, statistic)
    n_rows, n_texts = rows.shape[:2]
    options = {"statistic": statistic, "p_value": "exact"}
    check_statistic_sizes([(n_candidates, n_texts - n_candidates)] * n_rows, ("candidates", "references"), options)
    splits = row_splits(n_candidates, n_texts, n_resamples, max_partitions, seed)
    return split_p_values(
        rank_statistic(triangle_rank_counts(rows, n_candidates), statistic), null_statistics(rows, splits, statistic)
    )


def _as_distances(distances: npt.ArrayLike, n_candidates: int, statistic: str) -> Floats:
    """Distances as float64, checked as `triangle_rank_statistic` says."""
    rows = as_rows(distances, "distances")
    n_texts = rows.shape[1]
    if rows.shape[2] != n_texts or n_texts < 3:
        raise InputError("distances", "shape (n_rows, n, n), n at least 3", rows.shape, "A triangle needs three texts.")
    check_candidates(n_candidates, n_texts, 1)
    check_choice("statistic", statistic, STATISTICS)
    return rows
