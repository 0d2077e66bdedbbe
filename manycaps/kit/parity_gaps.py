"""Human parity: how far candidates are from people, how varied they are, and one test of both, in closed form.

With m candidates, n references and symmetric distances d, the fidelity gap f = mean d(c, r) - mean d(r, r') says
how much farther candidates are from people than people are from each other, and the diversity gap v = mean d(c, c')
- mean d(r, r') how much more varied they are (the two words as in Naeem et al. 2020,
https://arxiv.org/abs/2002.09797). Means are over pairs of different texts, so that both are 0 for people at any
sizes of the sets; the energy distance (Székely and Rizzo 2013, https://doi.org/10.1016/j.jspi.2013.03.018) is 2 f -
v.

Null hypothesis: the texts of a row may as well be split at random into candidates and references. The mean of (f,
v) over all splits is 0, and its covariance has a closed form in the sums of distances (Chen and Friedman 2017,
https://doi.org/10.1080/01621459.2016.1147356; Song and Chen 2020, https://arxiv.org/abs/2011.06127), so that
nothing is drawn, and a corpus needs five sums, which add over its parts.
"""

import math
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.special

from .sets_tests import (
    TIE_TOLERANCE,
    Comparison,
    RowGenerators,
    SplitsOfRow,
    cluster_numbers,
    split_forms,
    split_values,
    splits_of,
)


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

    `distances` is float64, shape (n_rows, n_texts, n_texts), symmetric, zeros on the diagonal, candidates first; there
    is at least one candidate, and at least two references.
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
    m_shares, n_shares = ([_share(k, size, n_texts) for k in (2, 3, 4)] for size in (m, n))
    variances = [squares * two + chains * three + apart * four for two, three, four in (m_shares, n_shares)]
    both = apart * math.perm(m, 2) * math.perm(n, 2) / math.perm(n_texts, 4) if n_texts > 3 else np.zeros(len(total))
    return np.stack([np.stack([variances[0], both], axis=-1), np.stack([both, variances[1]], axis=-1)], axis=-2)


def _share(k: int, chosen: int, number: int) -> float:
    """Chance that k given texts are all among `chosen` of `number`; 0 where there are fewer."""
    return math.perm(chosen, k) / math.perm(number, k) if number >= k else 0.0


def gaps_test(gaps: Iterable[RowGaps], clusters: Sequence[Hashable] | None = None) -> GapsTest:
    """Test whether candidates and references of all rows have one distribution.

    T2 of the summed gaps is chi-squared with two degrees of freedom, one where all rows have a single candidate, from
    five rows on. Rows that depend on each other have no covariance by splits: with clusters it is by the clusters'
    sums, and T2 (C - 2) / (2 (C - 1)) is compared with Fisher's F of 2 and C - 2 degrees (Hotelling 1931,
    https://doi.org/10.1214/aoms/1177732979).

    `gaps` are of all rows, in any number of parts, and `clusters` labels of the rows in their order; None makes every
    row independent.
    """
    parts = list(gaps)
    values = np.concatenate([np.stack([part.fidelity, part.diversity], axis=1) for part in parts])
    if clusters is None:
        sums = np.array([math.fsum(column) for column in values.T])
        entries = np.concatenate([part.covariance for part in parts])
        return gaps_test_of_sums(sums, np.array([[math.fsum(entries[:, i, j]) for j in (0, 1)] for i in (0, 1)]))
    cluster_sums = sums_of_clusters(values, clusters)
    n_clusters = len(cluster_sums)
    residuals = cluster_sums - cluster_sums.mean(axis=0)
    covariance = residuals.T @ residuals * n_clusters / max(1, n_clusters - 1)
    return gaps_test_of_sums(cluster_sums.sum(axis=0), covariance, n_clusters)


def sums_of_clusters(values: np.ndarray, clusters: Sequence[Hashable]) -> np.ndarray:
    """Add up the values of each cluster's rows: (n_rows, k) to (n_clusters, k)."""
    numbers = cluster_numbers(clusters)
    sums = np.zeros((numbers.max() + 1, values.shape[1]))
    np.add.at(sums, numbers, values)
    return sums


def gaps_test_of_sums(sums: np.ndarray, covariance: np.ndarray, n_clusters: int | None = None) -> GapsTest:
    """Test the summed gaps, float64, shape (2,), fidelity first, with their covariance, shape (2, 2).

    With `n_clusters` the covariance is the spread of so many clusters, without the spread by splits.
    """
    own = [
        _tail(float(sums[i] ** 2 / covariance[i, i]), 1, n_clusters) if covariance[i, i] > 0 else math.nan
        for i in (0, 1)
    ]
    deviations = np.sqrt(np.maximum(np.diagonal(covariance), 0.0))
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


def parity_comparison(distances: np.ndarray, n_candidates: int) -> Comparison:
    """Compare rows of equal sizes by T2 of each row, for a row's own p-value; the distances are as for `row_gaps`.

    T2 is 0 where no split changes the gaps, and has no unit.
    """
    gaps = row_gaps(distances, n_candidates)
    inverses = _inverses(gaps.covariance)

    def statistics(values: np.ndarray, rows: slice) -> np.ndarray:
        return np.einsum("irb,rij,jrb->rb", values, inverses[rows], values)

    def null_values(rows: slice, splits: SplitsOfRow) -> Iterable[np.ndarray]:
        return (statistics(values, rows) for values in null_gaps(distances[rows], n_candidates, splits))

    observed = statistics(np.stack([gaps.fidelity, gaps.diversity])[..., None], slice(None))[:, 0]
    return Comparison(observed, distances, null_values)


def _inverses(covariances: np.ndarray) -> np.ndarray:
    """Inverses of covariances, shape (n_rows, 2, 2), without the directions in which nothing varies."""
    # A variance of 0 may be rounded below it.
    scales = np.sqrt(np.maximum(np.diagonal(covariances, axis1=1, axis2=2), 0.0))  # (n_rows, 2)
    safe = np.where(scales > 0, scales, 1.0)
    correlations = covariances / (safe[:, :, None] * safe[:, None, :])
    inverses = np.linalg.pinv(correlations, rcond=TIE_TOLERANCE, hermitian=True)
    return inverses / (safe[:, :, None] * safe[:, None, :])


def null_gaps(distances: np.ndarray, n_candidates: int, splits: SplitsOfRow) -> Iterable[np.ndarray]:
    """Give both gaps of every row under every split: float64 arrays, shape (2, n_rows, block)."""
    m, n = n_candidates, distances.shape[1] - n_candidates
    within, own = m * (m - 1), n * (n - 1)
    weights = [(0.0, -1 / own, 1 / (m * n)), (1 / within, -1 / own, 0.0)] if m > 1 else [(0.0, -1 / own, 1 / n)]
    forms = [split_forms(distances, *pair_weights) for pair_weights in weights]
    values = [split_values(form, constant, splits) for form, constant in forms]
    if m > 1:
        return (np.stack(blocks) for blocks in zip(*values, strict=True))
    return (np.stack([block, np.zeros_like(block)]) for block in values[0])


class DrawnGaps:
    """Sums over rows of the gaps of a random split of each row, for the p-values of few rows."""

    def __init__(self, options: Mapping[str, Any], n_rows: int):
        self._options = options
        # float64 array, shape (n_rows,): the rows' own p-values.
        self.p_values = np.empty(n_rows)
        self._generators = RowGenerators([options["seed"]])
        self._sums = np.zeros((2, options["n_resamples"]))

    def add(
        self, distances: np.ndarray, size: tuple[int, int], rows: Sequence[int], row_key: Callable[[int], bytes]
    ) -> None:
        """Add rows of equal sizes (n_candidates, n_references), by their numbers; distances as for `row_gaps`.

        `row_key` is from the number of a row to what its draws depend on, see `row_keys`.
        """
        splits = splits_of(size, self._options)
        inverses = _inverses(row_gaps(distances, size[0]).covariance)
        for i, row in enumerate(rows):
            nulls = np.concatenate(list(null_gaps(distances[i : i + 1], size[0], splits)), axis=2)[:, 0]
            generator = self._generators.next_generator(row_key(row))
            self._sums += nulls[:, generator.integers(nulls.shape[1], size=self._options["n_resamples"])]
            statistics = np.einsum("is,ij,js->s", nulls, inverses[i], nulls)
            self.p_values[row] = (statistics >= statistics[0] - TIE_TOLERANCE * max(1.0, statistics[0])).mean()

    def test(self, observed: "ParityCorpus") -> GapsTest:
        """Return the test with p-values by the draws, ties counted: (1 + draws that reach it) / (1 + draws)."""
        draws = self._sums
        inverse = _inverses(observed.covariance[None])[0]
        statistics = np.einsum("is,ij,js->s", draws, inverse, draws)
        if not observed.test.degrees:
            return observed.test
        joint = _share_reached(statistics, observed.sums @ inverse @ observed.sums)
        if len(self.p_values) == 1:
            joint = float(self.p_values[0])
        fidelity, diversity = (
            _share_reached(np.abs(values), abs(value)) if variance > 0 else math.nan
            for values, value, variance in zip(draws, observed.sums, np.diagonal(observed.covariance), strict=True)
        )
        return observed.test._replace(p_value=joint, fidelity_p_value=fidelity, diversity_p_value=diversity)


def _share_reached(draws: np.ndarray, observed: float) -> float:
    """p-value of a value by draws, which are never negative (Phipson and Smyth 2010)."""
    return float((1 + np.count_nonzero(draws >= observed * (1 - TIE_TOLERANCE))) / (1 + len(draws)))


ParityColumns = Mapping[str, Collection[float]]


class ParityCorpus(NamedTuple):
    """The test of the gaps of all rows."""

    test: GapsTest
    # float64 arrays, shapes (2,) and (2, 2): fidelity and diversity gaps of all rows added, and their covariance.
    sums: np.ndarray
    covariance: np.ndarray
