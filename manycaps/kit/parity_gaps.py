"""Human parity: how far candidates are from people, how varied they are, and one test of both, with its power.

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

Power: T2 is noncentral chi-squared with n lambda, lambda = g' S^-1 g of a row's mean gaps g and null covariance S, so
that a lambda, which has no unit, says how many rows detect a difference from people.
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


# Level and power of a planned test, the usual ones (Cohen 1988, section 2.4), and confidence level of an interval.
LEVEL = 0.05

POWER = 0.8

CONFIDENCE_LEVEL = 0.95

# Largest adjusted p-value of a phrase that is named where the joint test finds no difference: so both together say of
# people in 5% that they differ, as the joint test alone does.
LEVEL_OF_PHRASES = 0.01

# Shares of the level that the test of the gaps and the tests of the tails have, where both are made.
WEIGHT_OF_GAPS, WEIGHT_OF_TAILS = 0.8, 0.2

# Shares of the level that the tests of the wording and of the length have, where they are made; gaps and tails have
# the rest, in their proportion.
WEIGHT_OF_WORDING, WEIGHT_OF_LENGTH = 0.05, 0.05

# Mean of the square of the largest of k independent standard normal numbers: what people give (k = 1 to 4).
LARGEST_SQUARE = (1.0, 1.0, 1.0 + math.sqrt(3) / (2 * math.pi), 1.0 + math.sqrt(3) / math.pi)

# Rows for which the spread of lambda is taken to be people's, beside the rows at hand: few rows say little of it.
PRIOR_ROWS = 5

# Bisections of an end of an interval with clusters: as many as a double has digits.
N_BISECTIONS = 60


class RowsToDetect(NamedTuple):
    """Rows that detect a difference of a system from people with a power of 80% at a level of 5%."""

    # float, at least 1; infinity where lambda is 0 or below.
    rows: float
    # Its interval; NaN with a single row or cluster, or no confidence level.
    low: float
    high: float


class ParityPlan(NamedTuple):
    """What the test finds, and what it takes; diversity is NaN where rows have one candidate."""

    power: float
    n_rows: int
    # The least gaps that this number of rows finds with this power, in the unit of the distance.
    fidelity_gap: float
    diversity_gap: float
    # Rows that find a gap of the size asked for; NaN where none was.
    fidelity_rows: float
    diversity_rows: float


def joint_p_value(
    gaps_p_value: float, tails_p_value: float, wording_p_value: float = math.nan, length_p_value: float = math.nan
) -> float:
    """Return the p-value of the tests together: a Bonferroni test with the weights 0.8 and 0.2 (Holm 1979).

    Wording and length have the weights 0.05 where they are tested, and the others what is left: 0.72 and 0.18. A
    p-value is NaN where nothing is tested. The result is at most 1: the p-value of the gaps where tails are not tested,
    NaN where nothing is.

    >>> joint_p_value(0.04, 0.004), joint_p_value(0.04, math.nan), joint_p_value(0.04, 0.004, 0.0005)
    (0.02, 0.04, 0.01)
    >>> round(joint_p_value(0.9, 0.9, 0.9, 0.0005), 4)
    0.01
    """
    distances_p_value = gaps_p_value
    if not math.isnan(tails_p_value):
        distances_p_value = min(1.0, float(np.fmin(gaps_p_value / WEIGHT_OF_GAPS, tails_p_value / WEIGHT_OF_TAILS)))
    tests = [(WEIGHT_OF_WORDING, wording_p_value), (WEIGHT_OF_LENGTH, length_p_value)]
    tests = [(weight, p_value) for weight, p_value in tests if not math.isnan(p_value)]
    if math.isnan(distances_p_value):
        return min(1.0, len(tests) * min(p_value for _, p_value in tests)) if tests else math.nan
    tests.append((1 - sum(weight for weight, _ in tests), distances_p_value))
    return min(1.0, *(p_value / weight for weight, p_value in tests))


def level_of_distances(with_wording: bool, with_length: bool = False) -> float:
    """Return the level at which gaps and tails are tested together, beside wording and length or alone."""
    return LEVEL * (1 - WEIGHT_OF_WORDING * with_wording - WEIGHT_OF_LENGTH * with_length)


def level_of_gaps(with_tails: bool, with_wording: bool = False, with_length: bool = False) -> float:
    """Return the level at which the gaps are tested, beside the other tests or alone."""
    return level_of_distances(with_wording, with_length) * (WEIGHT_OF_GAPS if with_tails else 1.0)


def noncentrality(degrees: int, level: float = LEVEL, power: float = POWER) -> float:
    """Return the n lambda that a test of so many degrees of freedom finds with a power.

    >>> round(noncentrality(2), 2), round(noncentrality(1), 2)
    (9.63, 7.85)
    """
    return float(scipy.special.chndtrinc(scipy.special.chdtri(degrees, level), degrees, 1 - power))


def noncentrality_of_f(degrees: int, others: int, level: float) -> float:
    """Return the noncentrality, above 0, at which Fisher's F with `others` degrees in the denominator has the `POWER`.

    >>> round(noncentrality_of_f(2, 10**6, 0.05), 2), round(noncentrality_of_f(2, 8, 0.05), 2)
    (9.63, 14.36)
    """
    return _noncentral_f(float(scipy.special.fdtri(degrees, others, 1 - level)), degrees, others, 1 - POWER)


def spread_of_effect(
    mean: np.ndarray, covariance: np.ndarray, blocks: Iterable[tuple[np.ndarray, np.ndarray]]
) -> float:
    """Return the variance of sqrt(T2), by the spread of the rows, in units of its value for people's texts, 1.

    With w = S^-1 g of the means g and S, row i moves lambda by 2 w'(g_i - g) - w'(S_i - S) w over the number of rows.
    Wrong captions in some of the rows raise it, and damage that all rows share lowers it. Few rows tell little: with
    Student's quantile in place of the normal one, and `PRIOR_ROWS` rows at 1, intervals of lambda hold it in 92 to
    99% of the cases from five rows on (`python -m scripts.studies.human_parity_power`).

    `mean` (k,) and `covariance` (k, k), not singular, are the means over rows; `blocks` are the gaps (n, k) and
    covariances (n, k, k) of all rows, at least 2, in parts; all float64. The result is above 0.
    """
    weights = np.linalg.solve(covariance, mean)
    effect = float(mean @ weights)
    if not effect > 0:
        return 1.0
    n_rows, squares = 0, 0.0
    for gaps, covariances in blocks:
        moves = 2 * (gaps - mean) @ weights - (covariances - covariance) @ weights @ weights  # with a mean of 0
        n_rows, squares = n_rows + len(moves), squares + math.fsum(moves**2)
    own = squares / (n_rows - 1) / (4 * effect)
    few = (float(scipy.special.stdtrit(n_rows - 1, 0.975)) / float(scipy.special.ndtri(0.975))) ** 2
    return (n_rows * own * few + PRIOR_ROWS) / (n_rows + PRIOR_ROWS)


def rows_to_detect(
    statistic: float, degrees: int, n_rows: int, confidence_level: float | None, spread: float, *, level: float = LEVEL
) -> RowsToDetect:
    """Return the rows that the test needs, by lambda = (T2 - degrees) / n_rows.

    `statistic` is T2, `degrees` its degrees of freedom, `spread` the value of `spread_of_effect`, and `level` the
    test's; without a `confidence_level`, from 0 to 1, there is no interval.

    >>> rows_to_detect(50.0, 2, 100, 0.95, 1.0)
    RowsToDetect(rows=21.0, low=12.0, high=39.0)
    """
    if not degrees:
        return RowsToDetect(math.nan, math.nan, math.nan)
    wanted = noncentrality(degrees, level)
    rows = _rows(wanted, (statistic - degrees) / n_rows)
    if confidence_level is None or n_rows < 2:
        return RowsToDetect(rows, math.nan, math.nan)
    tails, scaled = _outside(confidence_level, level / LEVEL), statistic / spread
    lambdas = [
        float(scipy.special.chndtrinc(scaled, degrees, share)) * spread / n_rows
        if scipy.special.chdtr(degrees, scaled) > share
        else 0.0
        for share in (tails[0], 1 - tails[1])
    ]
    return RowsToDetect(rows, *(_rows(wanted, each) for each in lambdas))


def rows_to_detect_of_clusters(
    statistic: float,
    degrees: int,
    n_clusters: int,
    n_rows: int,
    confidence_level: float | None,
    *,
    level: float = LEVEL,
) -> RowsToDetect:
    """Count the rows that the test needs where the covariance is the clusters'; more come in clusters of these sizes.

    T2 (C - k) / (k (C - 1)) of C clusters and k degrees is noncentral F with C lambda (Anderson 2003, section 5.2):
    its mean gives lambda, and its inversion the interval.

    Arguments and result as for `rows_to_detect`; NaN with fewer than three clusters more than degrees.
    """
    others = n_clusters - degrees
    if not degrees or others < 3:
        return RowsToDetect(math.nan, math.nan, math.nan)
    value, wanted = (
        statistic * others / (degrees * (n_clusters - 1)),
        noncentrality(degrees, level) * n_rows / n_clusters,
    )
    lambdas = [max(0.0, value * degrees * (others - 2) / others - degrees) / n_clusters]
    if confidence_level is not None:
        tails = _outside(confidence_level, level / LEVEL)
        shares = tails[0], 1 - tails[1]
        lambdas += [_noncentral_f(value, degrees, others, share) / n_clusters for share in shares]
    ends = [_rows(wanted, each) for each in lambdas]
    return RowsToDetect(*(ends if len(ends) == 3 else [*ends, math.nan, math.nan]))


def rows_to_detect_of_tails(
    t_values: Sequence[float],
    n_clusters: int,
    n_rows: int,
    confidence_level: float | None,
    *,
    level: float = LEVEL * WEIGHT_OF_TAILS,
) -> RowsToDetect:
    """Return the rows after which the tests of the tails find what the strongest of them shows.

    ((z_a + z_0.8) / e)^2, with a the level of one tail and e the mean difference in standard deviations of the rows.
    The square of e is the largest t's, less what people give: the mean square of the largest of k normal numbers.
    `t_values` are each tail's difference from people in standard errors; without any the rows are NaN. `level` is for
    all of them together. The wording needs rows in the same way, by the size of its one z at half of its level.

    >>> rows_to_detect_of_tails([4.0, -1.0], 100, 100, 0.95)
    RowsToDetect(rows=78.0, low=33.0, high=917.0)
    """
    if not t_values:
        return RowsToDetect(math.nan, math.nan, math.nan)
    k, t = len(t_values), max(t_values)
    level = level / k
    wanted = float(scipy.special.ndtri(1 - level) + scipy.special.ndtri(POWER)) ** 2 * n_rows
    rows = _rows(wanted, t**2 - LARGEST_SQUARE[k - 1] if t > 0 else 0.0)
    if confidence_level is None:
        return RowsToDetect(rows, math.nan, math.nan)
    below, above = scipy.special.stdtrit(n_clusters - 1, _outside(confidence_level, level / LEVEL)).tolist()
    low, high = (_rows(wanted, max(0.0, end) ** 2) for end in (t - below, t + above))
    return RowsToDetect(rows, low, high)


def _outside(confidence_level: float, weight: float) -> tuple[float, float]:
    """Chances that are left out beyond both ends of an interval of rows needed, the near end first.

    The sooner one of several tests is taken, so that any of them can make the far end too short: each leaves out its
    share of the level there, so that infinity is left out of people's intervals no more often than one end may be.
    """
    tail = (1 - confidence_level) / 2
    return tail, tail * weight


def soonest(*needed: RowsToDetect) -> RowsToDetect:
    """Return the rows after which one of several tests finds a difference; NaN where none is made."""
    return RowsToDetect(*(float(np.fmin.reduce(values)) for values in zip(*needed, strict=True)))


def _noncentral_f(value: float, degrees: int, others: int, share: float) -> float:
    """The noncentrality at which `share` of the values lie below this one; 0 where there is none."""
    if not scipy.special.fdtr(degrees, others, value) > share:
        return 0.0
    low, high = 0.0, 1.0
    while scipy.special.ncfdtr(degrees, others, high, value) > share:
        low, high = high, 2 * high
    for _ in range(N_BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if scipy.special.ncfdtr(degrees, others, middle, value) > share else (low, middle)
    return high


def _rows(wanted: float, effect: float) -> float:
    """Whole number of rows, at least 1, at which n lambda is the wanted one to 1e-12; infinity for none."""
    return float(max(1, math.ceil(wanted / effect * (1 - 1e-12)))) if effect > 0 else math.inf


def rows_for_gap(gap: float, variance: float, degrees: int, power: float = POWER) -> float:
    """Return the rows, a whole number as a float, with which the test finds a gap, not 0, whatever the other gap is.

    Of all pairs of gaps with this one, lambda is least where the other lies on their regression: gap^2 / variance, the
    variance of a row's gap under its splits. The gaps have 0.8 of the level, as beside the tails.

    >>> rows_for_gap(0.02, 0.0025, 2)
    64.0
    """
    return _rows(noncentrality(degrees, level_of_gaps(True), power), gap**2 / variance)


def detectable_gap(n_rows: float, variance: float, degrees: int, power: float = POWER) -> float:
    """Return the least gap that the test finds with so many rows; see `rows_for_gap`.

    >>> round(detectable_gap(64, 0.0025, 2), 4)
    0.02
    """
    return math.sqrt(noncentrality(degrees, level_of_gaps(True), power) * variance / n_rows)


def parity_plan(covariance: np.ndarray, n_rows: int, gap: float | None, power: float) -> ParityPlan:
    """Plan a test of human parity from the mean covariance of the gaps of a pilot's rows: float64, shape (2, 2).

    The gap to be found is above 0, or None for none; the power is the share of the tests that are to find it.
    """
    variances = np.diagonal(covariance).tolist()
    degrees = 2 if variances[1] > 0 else 1
    gaps = [detectable_gap(n_rows, variance, degrees, power) if variance > 0 else math.nan for variance in variances]
    rows = [rows_for_gap(gap, variance, degrees, power) if variance > 0 and gap else math.nan for variance in variances]
    return ParityPlan(power, n_rows, *gaps, *rows)
