"""Human parity: how far candidates are from people, how varied they are, and one test of both, in closed form.

With m candidates, n references and symmetric distances d, the fidelity gap f = mean d(c, r) - mean d(r, r') says how
much farther candidates are from people than people are from each other, and the diversity gap v = mean d(c, c') - mean
d(r, r') how much more varied they are (the two words are those of Naeem et al. 2020, https://arxiv.org/abs/2002.09797).
Means are over pairs of different texts, so that both are 0 for people at any sizes of the sets; the energy distance
(Székely and Rizzo 2013, https://doi.org/10.1016/j.jspi.2013.03.018) is 2 f - v.

Null hypothesis: the texts of a row may as well be split at random into candidates and references. The mean of (f, v)
over all splits is 0, and its covariance has a closed form in the sums of distances (Chen and Friedman 2017,
https://doi.org/10.1080/01621459.2016.1147356; Song and Chen 2020, https://arxiv.org/abs/2011.06127), so that nothing is
drawn, and a corpus needs five sums, which add over its parts.
"""

import math
from collections.abc import Hashable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
import scipy.special

from .sets_intervals import cluster_numbers
from .sets_splits import TIE_TOLERANCE


class RowGaps(NamedTuple):
    """Gaps of rows of equal sizes, and their covariance over all splits of each row."""

    # float64 arrays, shape (n_rows,), in the unit of the distance; diversity is 0 where rows have one candidate.
    fidelity: np.ndarray
    diversity: np.ndarray
    # float64 array, shape (n_rows, 2, 2), of (fidelity, diversity).
    covariance: np.ndarray


class GapsTest(NamedTuple):
    """Test of all rows together; p-values are two-sided, and NaN where no split changes the gap."""

    p_value: float
    fidelity_p_value: float
    diversity_p_value: float
    # T2 = g' S^-1 g of the summed gaps g and covariances S, and its degrees of freedom: 2, 1, or 0 if nothing varies.
    statistic: float
    degrees: int


def row_gaps(distances: np.ndarray, n_candidates: int) -> RowGaps:
    """Compute the gaps of rows of equal sizes and their covariance over all splits.

    Args:
        distances: float64 array, shape (n_rows, n_texts, n_texts), symmetric, zeros on the diagonal, candidates first.
        n_candidates: number of candidates of every row, at least 1; there are at least two references.

    Returns:
        The gaps.

    >>> gaps = row_gaps(np.array([[[0.0, 1.0, 4.0], [1.0, 0.0, 2.0], [4.0, 2.0, 0.0]]]), 1)
    >>> gaps.fidelity.tolist(), gaps.covariance[0, 0, 0].round(4).tolist()
    ([0.5], 3.5)
    """
    m, n = n_candidates, distances.shape[1] - n_candidates
    inside, outside, total = (
        part.sum(axis=(1, 2)) / 2 for part in (distances[:, :m, :m], distances[:, m:, m:], distances)
    )
    # (f, v) as linear forms in the sums (A, B, X) within candidates, within references, and across.
    pairs, own = m * (m - 1) / 2, n * (n - 1) / 2
    across = total - inside - outside
    fidelity = across / (m * n) - outside / own
    diversity = inside / pairs - outside / own if m > 1 else np.zeros(len(distances))
    forms = np.array(
        [[-1 / (m * n), -1 / (m * n) - 1 / own], [1 / pairs if m > 1 else 0.0, -1 / own if m > 1 else 0.0]]
    )
    return RowGaps(fidelity, diversity, forms @ _covariance(distances, total, m, n) @ forms.T)


def _covariance(distances: np.ndarray, total: np.ndarray, m: int, n: int) -> np.ndarray:
    """Covariance of the sums within candidates and within references over all splits: (n_rows, 2, 2)."""
    # Centred, which moves the sums of every split alike, so that no difference of large numbers is left.
    n_texts = m + n
    mean = total / (n_texts * (n_texts - 1) / 2)
    centred = (distances - mean[:, None, None]) * ~np.eye(n_texts, dtype=bool)
    squares = (centred**2).sum(axis=(1, 2)) / 2
    chains = (centred.sum(axis=2) ** 2).sum(axis=1) - 2 * squares
    apart = -squares - chains  # the sum of all is 0
    of_m, of_n = ([_share(k, size, n_texts) for k in (2, 3, 4)] for size in (m, n))
    variances = [squares * two + chains * three + apart * four for two, three, four in (of_m, of_n)]
    both = apart * _falling(m, 2) * _falling(n, 2) / _falling(n_texts, 4) if n_texts > 3 else np.zeros(len(distances))
    return np.stack([np.stack([variances[0], both], axis=-1), np.stack([both, variances[1]], axis=-1)], axis=-2)


def _falling(number: int, k: int) -> int:
    """Number (number - 1) ... (number - k + 1)."""
    return math.perm(number, k) if number >= k else 0


def _share(k: int, chosen: int, number: int) -> float:
    """Chance that k given texts are all among `chosen` of `number`; 0 where there are fewer."""
    return _falling(chosen, k) / _falling(number, k) if number >= k else 0.0


def gaps_test(gaps: Iterable[RowGaps], clusters: Sequence[Hashable] | None = None) -> GapsTest:
    """Test whether candidates and references of all rows have one distribution.

    T2 of the summed gaps is chi-squared with two degrees of freedom, one where all rows have a single candidate, from
    five rows on. Rows that depend on each other have no covariance by splits: with clusters it is that of the clusters'
    sums, and T2 (C - 2) / (2 (C - 1)) is compared with Fisher's F of 2 and C - 2 degrees (Hotelling 1931,
    https://doi.org/10.1214/aoms/1177732979).

    Args:
        gaps: those of all rows, in any number of parts.
        clusters: labels of the rows in the order of the parts; None: every row is independent.

    Returns:
        The test.

    >>> gaps = row_gaps(np.array([[[0.0, 1.0, 4.0], [1.0, 0.0, 2.0], [4.0, 2.0, 0.0]]] * 4), 1)
    >>> round(gaps_test([gaps]).p_value, 4)
    0.593
    """
    parts = list(gaps)
    values = np.concatenate([np.stack([part.fidelity, part.diversity], axis=1) for part in parts])
    if clusters is None:
        sums = np.array([math.fsum(column) for column in values.T])
        entries = np.concatenate([part.covariance for part in parts])
        return gaps_test_of_sums(sums, np.array([[math.fsum(entries[:, i, j]) for j in (0, 1)] for i in (0, 1)]))
    of_clusters = sums_of_clusters(values, clusters)
    n_clusters = len(of_clusters)
    residuals = of_clusters - of_clusters.mean(axis=0)
    covariance = residuals.T @ residuals * n_clusters / max(1, n_clusters - 1)
    return gaps_test_of_sums(of_clusters.sum(axis=0), covariance, n_clusters)


def sums_of_clusters(values: np.ndarray, clusters: Sequence[Hashable]) -> np.ndarray:
    """Add up the values of each cluster's rows: (n_rows, k) to (n_clusters, k)."""
    numbers = cluster_numbers(clusters)
    sums = np.zeros((numbers.max() + 1, values.shape[1]))
    np.add.at(sums, numbers, values)
    return sums


def gaps_test_of_sums(sums: np.ndarray, covariance: np.ndarray, n_clusters: int | None = None) -> GapsTest:
    """Test summed gaps.

    Args:
        sums: float64 array, shape (2,): fidelity and diversity gap, added over rows.
        covariance: float64 array, shape (2, 2): of the sums.
        n_clusters: number of clusters whose spread the covariance is; None: it is that of the splits.

    Returns:
        The test.
    """
    own = [
        _tail(float(sums[i] ** 2 / covariance[i, i]), 1, n_clusters) if covariance[i, i] > 0 else math.nan
        for i in (0, 1)
    ]
    deviations = np.sqrt(np.diagonal(covariance))
    varies = np.flatnonzero(deviations > 0)
    # In their own units, in which a singular covariance is told by its determinant.
    scaled = sums[varies] / deviations[varies]
    correlations = covariance[np.ix_(varies, varies)] / np.outer(deviations[varies], deviations[varies])
    if len(varies) == 2 and np.linalg.det(correlations) < TIE_TOLERANCE:  # both gaps say the same
        varies, scaled, correlations = varies[:1], scaled[:1], correlations[:1, :1]
    if not len(varies):
        return GapsTest(math.nan, own[0], own[1], math.nan, 0)
    statistic = float(scaled @ np.linalg.solve(correlations, scaled))
    return GapsTest(_tail(statistic, len(varies), n_clusters), own[0], own[1], statistic, len(varies))


def _tail(statistic: float, degrees: int, n_clusters: int | None) -> float:
    """Upper tail of T2: of chi-squared, or by the spread of clusters of Hotelling's distribution."""
    if n_clusters is None:
        return float(scipy.special.chdtrc(degrees, statistic))
    if n_clusters <= degrees:
        return math.nan
    others = n_clusters - degrees
    return float(scipy.special.fdtrc(degrees, others, statistic * others / (degrees * (n_clusters - 1))))
