"""Paired test of two systems by sign flips.

Null hypothesis: the two systems are exchangeable in every cluster of rows, so that each cluster's difference may as
well have the other sign. p is the share of sign patterns whose mean difference is at least as far from 0 as the
observed one (Fisher 1935, section 21; Good 2005, section 3.2). Ties are counted: two systems with equal values have
p = 1.
"""

from typing import NamedTuple

import numpy as np

# Clusters whose sign patterns are all enumerated, about a million: it takes some milliseconds.
MOST_EXACT_CLUSTERS = 20

# Two sums are equal if they differ by no more than this share of the sum of all absolute differences.
TIE_SHARE = 1e-9

# Signs held at once, 8 bytes each.
MAX_SIGNS = 4_000_000


class SignFlipTests(NamedTuple):
    """Results of the tests, arrays of shape (n_tests,)."""

    # float64, above 0 and at most 1.
    p_values: np.ndarray
    # bool: whether every sign pattern was enumerated.
    are_exact: np.ndarray


def sign_flip_tests(sums: np.ndarray, n_resamples: int, seed: int) -> SignFlipTests:
    """Test whether the mean difference is 0, two-sided.

    Clusters whose sum is 0 have no sign; where the others are no more than `MOST_EXACT_CLUSTERS`, all sign patterns
    are enumerated, and p = c / 2^n. Else `n_resamples` random patterns are drawn and p = (c + 1) / (n_resamples + 1)
    (Phipson and Smyth 2010, https://doi.org/10.2202/1544-6115.1585). The sums are sorted by size first, so that neither
    the order of the clusters nor that of the two systems can change the draw.

    Args:
        sums: float64 array, shape (n_clusters, n_tests): the sum of each cluster's differences.
        n_resamples: random sign patterns where not all are enumerated, at least 1.
        seed: of the random patterns, at least 0.

    Returns:
        The tests.

    >>> sign_flip_tests(np.array([[1.0], [2.0], [3.0]]), 99, seed=0).p_values.tolist()
    [0.25]
    """
    sizes = np.sort(np.abs(sums), axis=0)
    observed = np.abs(sums.sum(axis=0))
    least = observed - TIE_SHARE * sizes.sum(axis=0)
    are_exact = np.count_nonzero(sizes, axis=0) <= MOST_EXACT_CLUSTERS
    p_values = np.empty(sums.shape[1])
    for test in np.flatnonzero(are_exact):
        p_values[test] = _share_of_all_flips(sizes[:, test], least[test])
    drawn = np.flatnonzero(~are_exact)
    p_values[drawn] = _share_of_drawn_flips(sizes[:, drawn], least[drawn], n_resamples, seed)
    return SignFlipTests(p_values, are_exact)


def smallest_p_value(n_clusters: int, n_resamples: int) -> float:
    """Return the p-value of clusters that all differ, and all with one sign, which is the least one.

    >>> smallest_p_value(5, 9_999), smallest_p_value(100, 9_999)
    (0.0625, 0.0001)
    """
    return 2.0 ** (1 - n_clusters) if n_clusters <= MOST_EXACT_CLUSTERS else 1 / (n_resamples + 1)


def _share_of_all_flips(sizes: np.ndarray, least: float) -> float:
    """Share of all sign patterns whose sum is at least `least` away from 0."""
    sizes = sizes[sizes > 0]
    # The pattern with all signs exchanged is as far from 0: the first sign can stay.
    flipped = sizes[:1] if sizes.size else np.zeros(1)
    for size in sizes[1:]:
        flipped = np.concatenate([flipped + size, flipped - size])
    return float(np.mean(np.abs(flipped) >= least))


def _share_of_drawn_flips(sizes: np.ndarray, least: np.ndarray, n_resamples: int, seed: int) -> np.ndarray:
    """Share of random sign patterns, the observed one among them; one draw serves all tests."""
    n_clusters, n_tests = sizes.shape
    rng, n_reached = np.random.default_rng(seed), np.ones(n_tests)
    totals = sizes.sum(axis=0)
    step = max(1, MAX_SIGNS // max(1, n_clusters))
    for start in range(0, n_resamples if n_tests else 0, step):
        n_drawn = min(step, n_resamples - start)
        bits = rng.integers(0, 256, size=(n_drawn, -(-n_clusters // 8)), dtype=np.uint8)
        positive = np.unpackbits(bits, axis=1, count=n_clusters).astype(np.float64)
        n_reached += np.count_nonzero(np.abs(2 * (positive @ sizes) - totals) >= least, axis=0)
    return n_reached / (n_resamples + 1)
