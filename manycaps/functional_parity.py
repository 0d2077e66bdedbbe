"""Human parity as plain functions; `manycaps.functional` gives them out."""

import math
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .functional_checks import as_rows, plain_arguments
from .kit.base_module import check_number, check_whole_number
from .kit.base_types import Floats
from .kit.sets_gaps import ParityTest, parity_test, row_gaps, row_shares, unlike_people
from .kit.sets_intervals import check_clusters
from .kit.sets_parity_power import LEVEL, ParityPlan, parity_plan


class HumanGaps(NamedTuple):
    """Rows of candidates beside people, float64 arrays, shape (n_rows,); what needs two candidates is NaN with one."""

    # In the unit of the distance, 0 for people: how much farther from people, and more varied, than people are.
    fidelity: Floats
    diversity: Floats
    # Energy distance, 2 fidelity - diversity.
    energy: Floats
    # Candidates that are the farthest, and the nearest, of themselves and the n references: 1 / (n + 1) for people.
    outlier_share: Floats
    central_share: Floats
    # About the share of candidates that people would not have written: outlier_share, 0 for people and 1 if all are.
    unlike_people_share: Floats
    # Pairs of candidates in the nearest, and the farthest, tenth of the pairs of people; 0.1 for people.
    repeat_share: Floats
    spread_share: Floats


@plain_arguments
def human_gaps(distances: npt.ArrayLike, n_candidates: int) -> HumanGaps:
    """Say of every row how far its candidates are from people, in which direction.

    With m candidates c and n references r: fidelity = mean d(c, r) - mean d(r, r'), diversity = mean d(c, c') - mean
    d(r, r'), over pairs of different texts. Wrong captions raise both, repeated ones lower the diversity. Means can
    cancel; the shares, which compare each candidate, or pair of them, with the references, cannot. Ties share places.

    Args:
        distances: floating-point array, shape (n_rows, n_texts, n_texts), symmetric, at least 0, candidates first; the
            diagonal is 0. Of METEOR and CIDEr-D, which are not symmetric, give the mean of both directions.
        n_candidates: number of candidates of every row, at least 1; two references at least.

    Returns:
        The gaps and shares.

    Raises:
        TypeError: n_candidates is no whole number.
        ValueError: another shape or number, distances that are not symmetric or finite, or fewer than two references.

    >>> points = np.array([[0.0, 9.0, 2.0, 3.0, 4.0]])
    >>> gaps = human_gaps(np.abs(points[:, :, None] - points[:, None]), 2)
    >>> gaps.fidelity.round(4).tolist(), gaps.outlier_share.tolist(), gaps.unlike_people_share.tolist()
    ([3.1667], [1.0], [1.0])
    """
    rows = _as_symmetric(distances, n_candidates)
    gaps, shares = row_gaps(rows, n_candidates), row_shares(rows, n_candidates)
    diversity = gaps.diversity if n_candidates > 1 else np.full(len(rows), np.nan)
    unlike = unlike_people(shares.outlier, rows.shape[1] - n_candidates)
    return HumanGaps(
        gaps.fidelity, diversity, 2 * gaps.fidelity - diversity, shares.outlier, shares.central, unlike, *shares[2:]
    )


@plain_arguments
def human_parity_test(
    distances: npt.ArrayLike, n_candidates: int, clusters: Sequence[Hashable] | None = None
) -> ParityTest:
    """Test whether the candidates of all rows may as well be people's: one p-value, without a draw.

    T2 = g' S^-1 g, g the sums over rows of the fidelity and the diversity gap, S the covariance of g when every row's
    texts are split at random (in closed form; Chen and Friedman 2017, https://doi.org/10.1080/01621459.2016.1147356),
    is chi-squared with two degrees of freedom from five rows on, with one where rows have a single candidate. It adds
    up signed gaps, and so finds small ones that all rows share.

    Args:
        distances: as for `human_gaps`, as is the next.
        n_candidates: number of candidates of every row.
        clusters: n_rows labels: rows with equal labels, of one image for example, depend on each other, and the spread
            of the clusters stands in for S. None: all rows are independent.

    Returns:
        A named tuple: `p_value`; `fidelity_p_value` and `diversity_p_value`, of each gap alone, two-sided; `statistic`,
        T2; `degrees`, its degrees of freedom. NaN where no split changes a gap, or there are too few clusters.

    Raises:
        TypeError, ValueError: as `human_gaps`, and labels that are missing or cannot be told apart.

    >>> points = np.random.default_rng(0).normal(size=(20, 6)) + np.array([1.5, 1.5, 1.5, 0, 0, 0])
    >>> test = human_parity_test(np.abs(points[:, :, None] - points[:, None]), 3)
    >>> test.p_value < 1e-4, test.fidelity_p_value < 1e-4, test.degrees
    (True, True, 2)
    """
    rows = _as_symmetric(distances, n_candidates)
    if clusters is not None:
        check_clusters(clusters, len(rows))
    return parity_test([row_gaps(rows, n_candidates)], clusters)


@plain_arguments
def plan_human_parity(
    distances: npt.ArrayLike, n_candidates: int, n_rows: int | None = None, gap: float | None = None, power: float = 0.8
) -> ParityPlan:
    """Say from a pilot which gaps the test of human parity finds with more rows, and how many rows a gap takes.

    T2 is noncentral chi-squared with n g' S^-1 g for gaps g and the mean covariance S of a row under its splits, at
    least n g_i^2 / S_ii for one of the gaps, whatever the other is. The level is 5 %.

    Args:
        distances: of the pilot, as for `human_gaps`, as is the next.
        n_candidates: number of candidates of every row.
        n_rows: rows to be tested; None: those of the pilot.
        gap: a gap to be found, above 0, in the unit of the distance; None: none.
        power: chance of finding it, above 0.05 and below 1.

    Returns:
        A named tuple: `power`; `n_rows`; `fidelity_gap` and `diversity_gap`, the least ones that these rows find;
        `fidelity_rows` and `diversity_rows`, the rows that find `gap`.

    Raises:
        TypeError, ValueError: as `human_gaps`, and another n_rows, gap or power than these.

    >>> points = np.random.default_rng(0).normal(size=(20, 6))
    >>> plan = plan_human_parity(np.abs(points[:, :, None] - points[:, None]), 3, n_rows=80, gap=0.1)
    >>> round(plan.fidelity_gap, 3), plan.fidelity_rows
    (0.177, 251.0)
    """
    rows = _as_symmetric(distances, n_candidates)
    n_rows = len(rows) if n_rows is None else n_rows
    check_plan(n_rows, gap, power)
    return parity_plan(row_gaps(rows, n_candidates).covariance.mean(axis=0), n_rows, gap, power)


def check_plan(n_rows: Any, gap: Any, power: Any, names: Sequence[str] = ("n_rows", "gap", "power")) -> None:
    """Raise unless a test can be planned with these; `names` are those that messages call them.

    Raises:
        TypeError: no numbers.
        ValueError: a number out of range.
    """
    check_whole_number(names[0], n_rows, 1)
    if gap is not None:
        check_number(names[1], gap, 0, math.inf)
    check_number(names[2], power, LEVEL, 1)


def _as_symmetric(distances: npt.ArrayLike, n_candidates: int) -> Floats:
    """Distances as float64, checked as `human_gaps` says."""
    rows = as_rows(distances, "distances")
    if rows.shape[1] != rows.shape[2]:
        raise ValueError(
            f"distances: expected shape (n_rows, n, n), got {rows.shape}. Give those of all pairs of texts."
        )
    check_whole_number("n_candidates", n_candidates, 1)
    if rows.shape[1] - n_candidates < 2:
        raise ValueError(
            f"n_candidates: expected at most {rows.shape[1] - 2} of {rows.shape[1]} texts, got {n_candidates}. People "
            "are compared with each other: give two references or more."
        )
    largest = np.abs(rows).max(axis=(1, 2))
    wrong = (np.abs(rows - rows.swapaxes(1, 2)).max(axis=(1, 2)) > 1e-9 * largest) | (rows.min(axis=(1, 2)) < 0)
    wrong |= np.abs(np.diagonal(rows, axis1=1, axis2=2)).max(axis=1) > 0
    if wrong.any():
        raise ValueError(
            f"distances[{int(np.argmax(wrong))}]: expected symmetric distances of at least 0 with zeros on the "
            "diagonal, got others. Give the mean of both directions."
        )
    return rows
