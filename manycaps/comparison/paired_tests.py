"""Two systems on the same rows: difference, interval, test, wins, and what could have been found."""

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np

from .clustered_differences import EQUAL_SHARE, clustered_differences
from .detectable_difference import minimum_detectable_differences, rows_needed, standard_errors
from .resampled_clusters import bootstrap_intervals
from .sign_flips import sign_flip_tests

# Confidence level of the intervals, and resamples of tests and intervals; those of the distribution modules.
CONFIDENCE_LEVEL = 0.95
N_RESAMPLES = 9_999


class PairedTest(NamedTuple):
    """What the rows say about the difference of two systems, first minus second."""

    # Mean over rows, and its bootstrap interval; the ends are NaN with a single cluster.
    difference: float
    ci_low: float
    ci_high: float
    # Of the sign-flip test, two-sided, before any correction.
    p_value: float
    # Whether all sign patterns were enumerated.
    is_exact: bool
    # Rows in which the first value is larger, equal, smaller.
    n_larger: int
    n_equal: int
    n_smaller: int
    # Mean difference in standard deviations of the rows' differences (Cohen's d_z); NaN where they do not vary.
    effect_size: float
    # With a power of 80 % at the level of 5 %; NaN with a single cluster.
    minimum_detectable_difference: float
    # To find the observed difference with that power: a whole number, infinity for a difference of 0.
    rows_needed: float


def paired_tests(
    first: np.ndarray,
    second: np.ndarray,
    clusters: Sequence[Hashable] | None = None,
    *,
    confidence_level: float = CONFIDENCE_LEVEL,
    n_resamples: int = N_RESAMPLES,
    seed: int = 0,
    equal_share: float | np.ndarray = EQUAL_SHARE,
) -> list[PairedTest]:
    """Compare pairs of systems on the same rows; random draws are shared by all pairs.

    Args:
        first: float64 array, shape (n_rows, n_tests), finite: values of one system of each pair.
        second: the same of the other systems.
        clusters: as for `clustered_differences`.
        confidence_level: between 0 and 1.
        n_resamples: random sign patterns, where not all are enumerated, and resamples of the intervals.
        seed: of both, non-negative.
        equal_share: as for `clustered_differences`.

    Returns:
        One result for each test.

    >>> result = paired_tests(np.array([[2.0], [3.0], [5.0]]), np.array([[1.0], [3.0], [2.0]]))[0]
    >>> result.difference, result.p_value, (result.n_larger, result.n_equal, result.n_smaller)
    (1.3333333333333333, 0.5, (2, 1, 0))
    """
    differences = clustered_differences(first, second, clusters, equal_share)
    rows, sums, sizes = differences
    low, high = bootstrap_intervals(sums, sizes, confidence_level, n_resamples, seed)
    tests = sign_flip_tests(sums, n_resamples, seed)
    errors = standard_errors(sums, sizes)
    detectable = minimum_detectable_differences(errors, len(sizes))
    deviations = rows.std(axis=0, ddof=1) if len(rows) > 1 else np.zeros(rows.shape[1])
    n_larger, n_equal, n_smaller = (np.count_nonzero(np.sign(rows) == sign, axis=0) for sign in (1, 0, -1))
    return [
        PairedTest(
            difference=float(mean),
            ci_low=float(low[i]),
            ci_high=float(high[i]),
            p_value=float(tests.p_values[i]),
            is_exact=bool(tests.are_exact[i]),
            n_larger=int(n_larger[i]),
            n_equal=int(n_equal[i]),
            n_smaller=int(n_smaller[i]),
            effect_size=float(mean / deviations[i]) if deviations[i] > 0 else float("nan"),
            minimum_detectable_difference=float(detectable[i]),
            rows_needed=rows_needed(float(mean), float(errors[i]), len(sizes), len(rows)),
        )
        for i, mean in enumerate(differences.means)
    ]
