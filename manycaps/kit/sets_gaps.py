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
from .sets_splits import TIE_TOLERANCE, in_row_scales

# Share of all pairs of texts that are called nearest, and farthest.
TAIL = 0.1


class RowGaps(NamedTuple):
    """Gaps of rows of equal sizes, and their covariance over all splits of each row."""

    # float64 arrays, shape (n_rows,), in the unit of the distance; diversity is 0 where rows have one candidate.
    fidelity: np.ndarray
    diversity: np.ndarray
    # float64 array, shape (n_rows, 2, 2), of (fidelity, diversity).
    covariance: np.ndarray


class RowShares(NamedTuple):
    """Places of the candidates among people, float64 arrays of shape (n_rows,), 0 to 1."""

    # Candidates that are the farthest, and the nearest, of themselves and the references: 1 / (n + 1) for people.
    outlier: np.ndarray
    central: np.ndarray
    # Pairs of candidates in the nearest, and the farthest, tenth of the pairs of themselves and the references: 0.1 for
    # people; NaN where rows have one candidate.
    repeat: np.ndarray
    spread: np.ndarray


class ParityTest(NamedTuple):
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
    of_m, of_n = ([_share(k, each, n_texts) for k in (2, 3, 4)] for each in (m, n))
    variances = [squares * two + chains * three + apart * four for two, three, four in (of_m, of_n)]
    both = apart * _falling(m, 2) * _falling(n, 2) / _falling(n_texts, 4) if n_texts > 3 else np.zeros(len(distances))
    return np.stack([np.stack([variances[0], both], axis=-1), np.stack([both, variances[1]], axis=-1)], axis=-2)


def _falling(number: int, k: int) -> int:
    """Number (number - 1) ... (number - k + 1)."""
    return math.perm(number, k) if number >= k else 0


def _share(k: int, chosen: int, number: int) -> float:
    """Chance that k given texts are all among `chosen` of `number`; 0 where there are fewer."""
    return _falling(chosen, k) / _falling(number, k) if number >= k else 0.0


def parity_test(gaps: Iterable[RowGaps], clusters: Sequence[Hashable] | None = None) -> ParityTest:
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
    >>> round(parity_test([gaps]).p_value, 4)
    0.593
    """
    parts = list(gaps)
    values = np.concatenate([np.stack([part.fidelity, part.diversity], axis=1) for part in parts])
    if clusters is None:
        sums = np.array([math.fsum(column) for column in values.T])
        entries = np.concatenate([part.covariance for part in parts])
        return parity_of_sums(sums, np.array([[math.fsum(entries[:, i, j]) for j in (0, 1)] for i in (0, 1)]))
    of_clusters = sums_of_clusters(values, clusters)
    n_clusters = len(of_clusters)
    residuals = of_clusters - of_clusters.mean(axis=0)
    covariance = residuals.T @ residuals * n_clusters / max(1, n_clusters - 1)
    return parity_of_sums(of_clusters.sum(axis=0), covariance, n_clusters)


def sums_of_clusters(values: np.ndarray, clusters: Sequence[Hashable]) -> np.ndarray:
    """Add up the values of each cluster's rows: (n_rows, k) to (n_clusters, k)."""
    numbers = cluster_numbers(clusters)
    sums = np.zeros((numbers.max() + 1, values.shape[1]))
    np.add.at(sums, numbers, values)
    return sums


def parity_of_sums(sums: np.ndarray, covariance: np.ndarray, n_clusters: int | None = None) -> ParityTest:
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
        return ParityTest(math.nan, own[0], own[1], math.nan, 0)
    statistic = float(scaled @ np.linalg.solve(correlations, scaled))
    return ParityTest(_tail(statistic, len(varies), n_clusters), own[0], own[1], statistic, len(varies))


def _tail(statistic: float, degrees: int, n_clusters: int | None) -> float:
    """Upper tail of T2: of chi-squared, or by the spread of clusters of Hotelling's distribution."""
    if n_clusters is None:
        return float(scipy.special.chdtrc(degrees, statistic))
    if n_clusters <= degrees:
        return math.nan
    others = n_clusters - degrees
    return float(scipy.special.fdtrc(degrees, others, statistic * others / (degrees * (n_clusters - 1))))


def row_shares(distances: np.ndarray, n_candidates: int) -> RowShares:
    """Compute which share of the candidates, and of their pairs, lie at the ends of what people write.

    Of texts that are exchangeable, a candidate is as often the farthest of itself and the references as any of them (a
    conformal p-value: Vovk et al. 2005; Bates et al. 2023, https://arxiv.org/abs/2104.08279), and a pair of candidates
    is as often in the nearest tenth of the pairs of itself and the references as any pair. Ties share their places.

    Args:
        distances: as for `row_gaps`.
        n_candidates: as for `row_gaps`.

    Returns:
        The shares.

    >>> shares = row_shares(np.array([[[0.0, 1.0, 4.0], [1.0, 0.0, 2.0], [4.0, 2.0, 0.0]]]), 1)
    >>> shares.outlier.tolist(), shares.central.tolist()
    ([0.0], [0.0])
    """
    distances = in_row_scales(distances)
    m, n = n_candidates, distances.shape[1] - n_candidates
    places = candidate_places(distances, m)
    outlier, central = places.farthest().mean(axis=1), places.nearest().mean(axis=1)
    if m == 1:
        nothing = np.full(len(distances), math.nan)
        return RowShares(outlier, central, nothing, nothing)
    first_of, second_of = np.triu_indices(n, 1)
    people = distances[:, m:, m:][:, first_of, second_of]
    tails = [_pair_tails(distances, people, m, first, second) for second in range(m) for first in range(second)]
    repeat, spread = (np.mean([tail[side] for tail in tails], axis=0) for side in (0, 1))
    return RowShares(outlier, central, repeat, spread)


def unlike_people(outlier: np.ndarray, n_references: int) -> np.ndarray:
    """About the share of candidates that people would not have written: outlier shares, 0 for people and 1 if all are.

    >>> unlike_people(np.array([1.0, 1 / 6]), 5).tolist()
    [1.0, 0.0]
    """
    people = 1 / (n_references + 1)
    return (outlier - people) / (1 - people)


class CandidatePlaces(NamedTuple):
    """Place of each candidate among itself and the references, by the mean distance of each text to the others."""

    # Arrays of whole numbers, shape (n_rows, n_candidates): texts that are nearer to the others, and as near, the
    # candidate counted.
    below: np.ndarray
    alike: np.ndarray
    # Number of these texts, n_references + 1.
    n_texts: int

    def farthest(self) -> np.ndarray:
        """1 where a candidate is the farthest, 1 / k where k texts are, else 0."""
        return np.where(self.below + self.alike == self.n_texts, 1 / self.alike, 0.0)

    def nearest(self) -> np.ndarray:
        """1 where a candidate is the nearest, 1 / k where k texts are, else 0."""
        return np.where(self.below == 0, 1 / self.alike, 0.0)

    def p_values(self) -> np.ndarray:
        """Conformal p-values: the share of these texts that are at least as far as the candidate."""
        return (self.n_texts - self.below) / self.n_texts

    def histogram(self, n_bins: int) -> np.ndarray:
        """Share of the candidates in each of `n_bins` equal ranges of places, the nearest first: (n_rows, n_bins).

        1 / n_bins for people. Place k of n stands for all of k / n to (k + 1) / n, which keeps it so with any n.
        """
        edges = np.arange(n_bins + 1) / n_bins * self.n_texts
        reached = (edges - self.below[..., None]) / self.alike[..., None]  # (n_rows, n_candidates, n_bins + 1)
        return np.diff(np.clip(reached, 0.0, 1.0), axis=-1).mean(axis=1)


def candidate_places(distances: np.ndarray, n_candidates: int) -> CandidatePlaces:
    """Rank each candidate among itself and the references; only its distances and people's count.

    Args:
        distances: float64 array, shape (n_rows, n_texts, n_texts), symmetric, in the rows' units.
        n_candidates: number of candidates.

    Returns:
        The places.
    """
    m, n = n_candidates, distances.shape[1] - n_candidates
    crossing = distances[:, :m, m:]
    own = crossing.sum(axis=2)[..., None]
    others = distances[:, m:, m:].sum(axis=2)[:, None] + crossing  # (n_rows, m, n)
    tolerance = TIE_TOLERANCE * n
    below = (others < own - tolerance).sum(axis=2)
    alike = 1 + (np.abs(others - own) <= tolerance).sum(axis=2)
    return CandidatePlaces(below, alike, n + 1)


def _pair_tails(
    distances: np.ndarray, people: np.ndarray, m: int, first: int, second: int
) -> tuple[np.ndarray, np.ndarray]:
    """Shares of a pair of candidates that lie in the nearest and the farthest tenth of the pairs of both and people."""
    own = distances[:, first, second][:, None]
    beside = np.concatenate([people, distances[:, first, m:], distances[:, second, m:], own], axis=1)
    n_pairs = beside.shape[1]
    below = (beside < own - TIE_TOLERANCE).sum(axis=1)
    alike = (np.abs(beside - own) <= TIE_TOLERANCE).sum(axis=1)
    above = n_pairs - below - alike
    places = TAIL * n_pairs
    return tuple(np.clip((places - before) / alike, 0.0, 1.0) for before in (below, above))
