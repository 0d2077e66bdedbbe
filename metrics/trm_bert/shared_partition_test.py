# Vendored from manycaps/shared_partition_test.py. Edit it there, then run `python scripts/sync_shared.py`.
"""Permutation test over the ways to split a row's texts into candidates and references; rows combined into one p-value.

Null hypothesis (Chan et al. 2022, appendix A.5, https://arxiv.org/abs/2209.07518): candidates and references of a row
are drawn from one distribution, so every split of the joint texts into sets of the same sizes is equally likely.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import scipy.stats

# Two values of a statistic this near are equal: the null values of a permutation test have many genuine ties.
TIE_TOLERANCE = 1e-9

# How p-values may be asked for; "none" leaves them out.
P_VALUE_METHODS = ("none", "exact", "permutation")

# Splits of one row, as boolean arrays of shape (at most the block size asked for, n_texts).
Partitions = Callable[[int], Iterable[np.ndarray]]


def exact_partitions(n_candidates: int, n_references: int, max_partitions: int, *, mirrored: bool = True) -> Partitions:
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

    >>> [block.sum(axis=0).tolist() for block in exact_partitions(2, 1, max_partitions=3)(8)]
    [[2, 2, 2]]
    """
    n_texts = n_candidates + n_references
    n_partitions = math.comb(n_texts, n_candidates)
    if n_partitions > max_partitions:
        raise ValueError(
            f"p_value='exact': expected at most max_partitions={max_partitions} partitions a row, got {n_partitions} "
            f"for {n_candidates} candidates and {n_references} references. Use p_value='permutation', or a larger "
            "max_partitions."
        )

    if n_candidates == n_references and not mirrored:
        n_partitions //= 2  # in this order, those in which the first text is a candidate

    def blocks(size: int) -> Iterator[np.ndarray]:
        chosen = itertools.islice(itertools.combinations(range(n_texts), n_candidates), n_partitions)
        for start in range(0, n_partitions, size):
            block = itertools.chain.from_iterable(itertools.islice(chosen, size))
            places = np.fromiter(block, dtype=np.intp).reshape(-1, n_candidates)
            labels = np.zeros((min(size, n_partitions - start), n_texts), dtype=bool)
            labels[np.arange(len(labels))[:, None], places] = True
            yield labels

    return blocks


def random_partitions(n_candidates: int, n_references: int, n_resamples: int, seed: int) -> Partitions:
    """Draw random splits, the observed one first.

    The draw depends on the seed and the two sizes alone, so a row's p-value does not depend on its neighbours.

    Args:
        n_candidates: number of texts called candidates, at least 1.
        n_references: number of the others, at least 1.
        n_resamples: number of splits drawn besides the observed one, at least 1.
        seed: non-negative integer.

    Returns:
        As `exact_partitions`, with n_resamples + 1 splits: counting the observed one keeps the test valid
        (Phipson and Smyth 2010, https://doi.org/10.2202/1544-6115.1585).

    >>> sum(len(block) for block in random_partitions(3, 2, n_resamples=10, seed=0)(4))
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
        labels: boolean array, shape (n_partitions, n_texts), True for the candidates.
        dtype: floating-point type of the result.

    Returns:
        Array of 0 and 1, shape (n_texts (n_texts + 1) / 2, n_partitions): pairs i <= j in the order of
        `np.triu_indices`.

    >>> both_candidates(np.array([[True, True, False]])).T.tolist()
    [[1.0, 1.0, 0.0, 1.0, 0.0, 0.0]]
    """
    z = np.ascontiguousarray(labels.T)  # (n_texts, n_partitions)
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
    n_reached, n_partitions = np.zeros(len(observed)), 0
    for values in null_blocks:
        n_reached += np.count_nonzero(values >= observed[:, None] - TIE_TOLERANCE, axis=1)
        n_partitions += values.shape[1]
    return n_reached / n_partitions


def harmonic_mean_p(p_values: np.ndarray) -> float:
    """Harmonic mean of the rows' p-values (Wilson 2019, https://doi.org/10.1073/pnas.1814092116), equal weights.

    Approximately a p-value while it is small; `combined_p_value` is the calibrated one.

    Args:
        p_values: float64 array, shape (n_rows,), each above 0 and at most 1.

    Returns:
        Float above 0 and at most 1.

    >>> round(harmonic_mean_p(np.array([0.5, 0.1])), 4)
    0.1667
    """
    return len(p_values) / math.fsum(1 / p_values)  # exact, whatever the order of the rows


def combined_p_value(p_values: np.ndarray) -> float:
    """p-value of "every row's candidates and references share a distribution", asymptotically exact.

    Wilson (2019), equation 4: 1 / harmonic mean of L p-values tends to a Landau distribution with location
    log L + 1 - gamma - log(2 / pi), which is log L + 0.874, and scale pi / 2. It holds under any dependence between
    rows that is not strongly negative, and gets better as p falls.

    Args:
        p_values: float64 array, shape (n_rows,), each above 0 and at most 1.

    Returns:
        Float between 0 and 1. One row: its own p-value.

    >>> round(combined_p_value(np.array([0.5, 0.1])), 4)
    0.2316
    """
    if len(p_values) == 1:
        return float(p_values[0])
    location = math.log(len(p_values)) + 1 - np.euler_gamma - math.log(2 / math.pi)
    return float(scipy.stats.landau.sf(1 / harmonic_mean_p(p_values), loc=location, scale=math.pi / 2))
