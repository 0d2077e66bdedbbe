"""Two systems beside people on the same rows: whether they differ, by one test of both gaps, and how."""

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.special

from manycaps.comparison.mean_intervals import LEVEL, POWER, minimum_detectable_difference
from manycaps.comparison.paired_tests import holm_p_values, paired_tests
from manycaps.kit.sets_gaps import sums_of_clusters
from manycaps.kit.sets_intervals import ClusteredMean, mean_interval, mean_of_rows
from manycaps.kit.sets_parity import GAPS
from manycaps.kit.sets_parity_power import joint_p_value, level_of_gaps, noncentrality_of_f
from manycaps.kit.sets_tails import TESTED, CorpusTails

# Clusters whose sign patterns are all enumerated: at most as many as are drawn by default.
MOST_ENUMERATED = 14

# Signs held at once, 8 bytes each.
MAX_SIGNS = 4_000_000


class PairSide(NamedTuple):
    """A system of a pair."""

    name: str
    # Values of its rows, the tails, and its numbers with their intervals; see `SystemParity`.
    columns: Mapping[str, np.ndarray]
    tails: CorpusTails
    result: Mapping[str, Any]
    # Whether its captions also occur among the references.
    copies: bool


class ShareTest(NamedTuple):
    """A share of two systems."""

    # One of `TESTED`, and its mean in both systems.
    key: str
    first: float
    second: float
    # Do they differ, and is one nearer to people's 5 %? After Holm's rule over all shares of the pairs that differ.
    p_value: float
    nearer_p_value: float
    # The system that is nearer to people's 5 %, where the second test holds and it is no mere consequence of more wrong
    # captions; else None.
    better: str | None
    # Whether each system is shown not to be farther from people's 5 % than the other one by a detectable difference.
    not_worse: tuple[bool, bool]
    # The system that is nearer by that test, but has more wrong captions, which are seldom ordinary; else None.
    better_by_wrong_captions: str | None = None


class ParityPair(NamedTuple):
    """Two systems."""

    first: str
    second: str
    # Paired test of the rows' gaps and of the shares together, before and after Holm's rule over all pairs.
    p_value: float
    adjusted_p_value: float
    # Where that test holds, how they differ.
    shares: Sequence[ShareTest]
    # Difference of the fidelity gaps that is found 80 % of the time, after Holm's rule as well; infinity where there
    # are too few rows to distinguish any two systems; and the least number of rows that suffices.
    detectable_gap: float
    least_rows: int
    # Names of the systems whose captions also occur among the references: then they are not ranked.
    copying: Sequence[str]
    # Fidelity and diversity gap of both systems.
    gaps: tuple[tuple[float, float], tuple[float, float]]
    # Whether each system's fidelity gap is shown not to be above the other one's by a detectable difference.
    fidelity_not_worse: tuple[bool, bool]
    # Whether both gaps are shown to differ by less than the margin; None where no margin was given, or where the
    # systems wrote different numbers of captions or differ in a share.
    within_margin: bool | None

    @property
    def kind(self) -> str:
        """What is said: "copies", "alike", "dominates", "better", "trade-off", or "gaps" where no share says how."""
        if self.copying:
            return "copies"
        if self.adjusted_p_value > LEVEL:
            return "alike"
        better = {share.better for share in self.shares} - {None}
        if len(better) != 1:
            return "trade-off" if better else "gaps"
        side = 0 if self.first in better else 1
        is_shown = all(share.better or share.not_worse[side] for share in self.shares) and self.fidelity_not_worse[side]
        return "dominates" if is_shown else "better"

    @property
    def better(self) -> str | None:
        """The system that is nearer to people in a share while the other one is in none, if there is one."""
        is_one = self.kind in ("dominates", "better")
        return next(share.better for share in self.shares if share.better) if is_one else None

    def to_dict(self) -> dict[str, Any]:
        """Return every number."""
        return {
            **self._asdict(),
            "shares": [share._asdict() for share in self.shares],
            "copying": list(self.copying),
            "kind": self.kind,
            "better": self.better,
        }


class GapRows(NamedTuple):
    """A gap, or a difference of gaps."""

    # float64 array, shape (n_rows,); NaN where a row has none.
    values: np.ndarray
    # Variance of its sum under splits: that of the rows is seldom smaller, but of few rows may be by chance.
    null_variance: float

    def mean(self, clusters: Sequence[Hashable] | None) -> ClusteredMean:
        """Describe the mean over rows; its standard error is at least that of random splits."""
        known: np.ndarray = ~np.isnan(self.values)
        labels = None if clusters is None else [c for c, is_known in zip(clusters, known, strict=True) if is_known]
        mean = mean_of_rows(self.values[known], labels)
        least = math.sqrt(self.null_variance) / int(np.count_nonzero(known))
        return mean._replace(standard_error=max(mean.standard_error, least))


def are_within(gaps: Sequence[GapRows], clusters: Sequence[Hashable] | None, margin: float) -> bool:
    """Whether all gaps are shown to lie within a margin: two one-sided tests of each at 5 % (Schuirmann 1987).

    Args:
        gaps: those that are NaN in all rows do not count.
        clusters: labels of the rows, or None.
        margin: above 0, in the unit of the distance.

    Returns:
        False with a single cluster.
    """
    means = [gap.mean(clusters) for gap in gaps if not np.isnan(gap.values).all()]
    return bool(means) and all(mean.n_clusters > 1 and _upper(mean, -1) < margin > _upper(mean, 1) for mean in means)


def _upper(mean: ClusteredMean, sign: int) -> float:
    """Upper end of a one-sided 95 % interval of a mean, or of its negative.

    The farther one of Student's and of that for skewed rows: a few gross faults move both the mean and its error.
    """
    student = mean.mean + sign * float(scipy.special.stdtrit(mean.n_clusters - 1, 1 - LEVEL)) * mean.standard_error
    of_skewed = mean_interval(mean, 1 - 2 * LEVEL)[sign == 1]
    return max(sign * student, sign * of_skewed)


def compared_pairs(
    systems: Sequence[PairSide],
    clusters: Sequence[Hashable] | None,
    *,
    rounding: float,
    margin: float | None,
    n_resamples: int,
    seed: int,
) -> list[ParityPair]:
    """Compare every system with every one before it.

    Args:
        systems: the baseline first.
        clusters: labels of the rows; None: every row is independent.
        rounding: two gaps that differ by no more are equal.
        margin: as for `compared_parity`, as are the others.
        n_resamples: random sign patterns.
        seed: of the same.

    Returns:
        The pairs.
    """
    chosen = [(later, earlier) for later in range(len(systems)) for earlier in range(later)]
    if not chosen:
        return []
    differences = [_gap_differences(systems[i].columns, systems[j].columns, rounding) for i, j in chosen]
    labels = list(range(len(differences[0]))) if clusters is None else clusters
    of_gaps = joint_sign_flip_tests([sums_of_clusters(of_pair, labels) for of_pair in differences], n_resamples, seed)
    resampling = {"n_resamples": n_resamples, "seed": seed}
    shares = [_ShareTests(systems[i], systems[j], clusters, resampling) for i, j in chosen]
    p_values = [joint_p_value(gaps, tests.p_value) for gaps, tests in zip(of_gaps, shares, strict=True)]
    adjusted = holm_p_values(np.array(p_values)).tolist()
    share_tests_of_pairs = iter(_found_shares([tests for tests, p in zip(shares, adjusted, strict=True) if p <= LEVEL]))
    pairs = []
    for k, (i, j) in enumerate(chosen):
        first, second = systems[i], systems[j]
        share_tests = next(share_tests_of_pairs) if adjusted[k] <= LEVEL else []
        if of_gaps[k] <= LEVEL:
            share_tests = _without_merit_of_wrong_captions(share_tests, first, second)
        detectable = DetectableGap.of(differences[k], clusters, len(chosen), n_resamples, shares[k].are_tested)
        pairs.append(
            ParityPair(
                first.name,
                second.name,
                p_values[k],
                adjusted[k],
                share_tests,
                detectable.gap,
                detectable.least_rows,
                [side.name for side in (first, second) if side.copies],
                (_gaps(first.result), _gaps(second.result)),
                detectable.not_worse(),
                _pair_within(first, second, differences[k], share_tests, clusters, margin),
            )
        )
    return pairs


def _gaps(result: Mapping[str, Any]) -> tuple[float, float]:
    return result[GAPS[0]], result[GAPS[1]]


def _without_merit_of_wrong_captions(tests: Sequence[ShareTest], first: PairSide, second: PairSide) -> list[ShareTest]:
    """Give a system that has more wrong captions, and is farther from people, no credit for being less bland."""
    unlike = next((test.better for test in tests if test.key == "unlike_people_share"), None)
    if unlike is None:
        return list(tests)
    better, other = (first, second) if unlike == first.name else (second, first)
    if better.result[GAPS[0]] >= other.result[GAPS[0]]:
        return list(tests)
    return [
        test._replace(better=None, better_by_wrong_captions=other.name)
        if test.key == "ordinary_share" and test.better == other.name
        else test
        for test in tests
    ]


def _gap_differences(first: Mapping[str, np.ndarray], second: Mapping[str, np.ndarray], rounding: float) -> np.ndarray:
    """Differences of the rows' gaps, shape (n_rows, 2); 0 for the diversity of a row that has none in one of them."""
    differences = np.nan_to_num(np.stack([first[gap] - second[gap] for gap in GAPS], axis=1))
    differences[np.abs(differences) <= rounding] = 0.0
    return differences


def joint_sign_flip_tests(sums: Sequence[np.ndarray], n_resamples: int, seed: int) -> list[float]:
    """Test whether the mean differences of both gaps are 0, by one statistic and random signs of clusters.

    T = s' M^-1 s of the sums s of the clusters' differences and M = sum d d', which no change of signs alters, so that
    T orders the patterns as Hotelling's T2 does (Hotelling 1931, https://doi.org/10.1214/aoms/1177732979). If the two
    systems are exchangeable in every cluster, all sign patterns are equally likely, so that the level is exact.

    Args:
        sums: for each pair of systems a float64 array, shape (n_clusters, 2).
        n_resamples: random patterns besides the observed one; all are enumerated with few clusters.
        seed: of the same; one draw serves all pairs.

    Returns:
        For each pair a p-value; ties count, so that systems with equal gaps have 1.

    >>> joint_sign_flip_tests([np.ones((5, 2)), np.zeros((5, 2))], 99, seed=0)
    [0.0625, 1.0]
    """
    inverses = [np.linalg.pinv(of_pair.T @ of_pair, rcond=1e-9, hermitian=True) for of_pair in sums]
    observed = [
        float(of_pair.sum(axis=0) @ inverse @ of_pair.sum(axis=0))
        for of_pair, inverse in zip(sums, inverses, strict=True)
    ]
    reached, n_patterns = np.zeros(len(sums)), 0
    for signs in _sign_patterns(len(sums[0]), n_resamples, seed):
        n_patterns += len(signs)
        for i, (of_pair, inverse) in enumerate(zip(sums, inverses, strict=True)):
            flipped = signs @ of_pair  # (n_patterns, 2)
            statistics = np.einsum("pi,ij,pj->p", flipped, inverse, flipped)
            reached[i] += np.count_nonzero(statistics >= observed[i] * (1 - 1e-9) - 1e-12)
    return (reached / n_patterns).tolist()


def _sign_patterns(n_clusters: int, n_resamples: int, seed: int) -> Any:
    """Blocks of signs, float64 arrays of shape (n_patterns, n_clusters), the observed pattern among them."""
    if n_clusters <= MOST_ENUMERATED:
        # The pattern with all signs exchanged has the same statistic: the first sign can stay.
        patterns = np.arange(2 ** (n_clusters - 1))[:, None] >> np.arange(n_clusters - 1) & 1
        yield np.concatenate([np.ones((len(patterns), 1)), 1.0 - 2.0 * patterns], axis=1)
        return
    yield np.ones((1, n_clusters))
    rng, step = np.random.default_rng(seed), max(1, MAX_SIGNS // n_clusters)
    for start in range(0, n_resamples, step):
        bits = rng.integers(0, 256, size=(min(step, n_resamples - start), -(-n_clusters // 8)), dtype=np.uint8)
        yield 1.0 - 2.0 * np.unpackbits(bits, axis=1, count=n_clusters)


class _ShareTests:
    """Paired tests of the shares of two systems."""

    def __init__(
        self, first: PairSide, second: PairSide, clusters: Sequence[Hashable] | None, resampling: Mapping[str, int]
    ) -> None:
        self.first, self.second = first, second
        self._clusters = clusters
        self._resampling = resampling
        self.are_tested = bool(first.tails.tested and second.tails.tested)
        self.keys = [key for key in TESTED if np.count_nonzero(self._known(key)) > 1 and self.are_tested]
        self.differences = {
            key: self._test(key, *(side.tails.shares[key].rows for side in (first, second))) for key in self.keys
        }

    @property
    def p_value(self) -> float:
        """Do they differ in a share? Bonferroni; NaN where shares are not tested."""
        p_values = [test.p_value for test in self.differences.values()]
        return min(1.0, len(p_values) * min(p_values)) if p_values else math.nan

    def nearer_p_value(self, key: str) -> float:
        """Is one nearer to people's share? They differ, and so does their sum from twice that of people.

        |a| < |b| says that b - a and b + a have the sign of b: both tests are needed, and the larger p-value counts
        (an intersection-union test, Berger 1982, https://doi.org/10.1080/00401706.1982.10487790).
        """
        first, second = self._excesses(key)
        return max(self.differences[key].p_value, self._test(key, first, -second).p_value)

    def result(self, key: str, p_value: float, nearer_p_value: float) -> ShareTest:
        """Return the test of a share with p-values that are adjusted."""
        first, second = (side.tails.shares[key].value for side in (self.first, self.second))
        distances = [abs(float(np.nanmean(excess))) for excess in self._excesses(key)]
        nearer = self.first.name if distances[0] < distances[1] else self.second.name
        better = nearer if max(p_value, nearer_p_value) <= LEVEL else None
        return ShareTest(key, first, second, p_value, nearer_p_value, better, self._not_worse(key))

    def _not_worse(self, key: str) -> tuple[bool, bool]:
        """Whether |a| < |b| + margin is shown for each system's excess a and the other one's b, at 5 %."""
        margin = self.differences[key].minimum_detectable_difference
        first, second = self._excesses(key)
        difference, total = (self._mean(key, values) for values in (first - second, first + second))
        if difference.standard_error == 0:
            return True, True
        below = {
            (sign, name): _upper(mean, sign) < margin
            for name, mean in (("difference", difference), ("total", total))
            for sign in (1, -1)
        }
        # |a| - |b| < margin: a - b or a + b is below it, and so is -a - b or -a + b.
        return (
            (below[1, "difference"] or below[1, "total"]) and (below[-1, "total"] or below[-1, "difference"]),
            (below[-1, "difference"] or below[1, "total"]) and (below[-1, "total"] or below[1, "difference"]),
        )

    def _known(self, key: str) -> np.ndarray:
        rows = [side.tails.shares[key].rows for side in (self.first, self.second)]
        known: np.ndarray = ~(np.isnan(rows[0]) | np.isnan(rows[1]))
        return known

    def _excesses(self, key: str) -> tuple[np.ndarray, np.ndarray]:
        """Share of every row minus that of its own references, of both systems."""
        tails = [side.tails.shares[key] for side in (self.first, self.second)]
        return tails[0].rows - tails[0].people_rows, tails[1].rows - tails[1].people_rows

    def _labels(self, key: str) -> list[Hashable] | None:
        if self._clusters is None:
            return None
        return [label for label, is_known in zip(self._clusters, self._known(key), strict=True) if is_known]

    def _mean(self, key: str, values: np.ndarray) -> ClusteredMean:
        return mean_of_rows(values[self._known(key)], self._labels(key))

    def _test(self, key: str, first: np.ndarray, second: np.ndarray) -> Any:
        """Paired test of the rows that both systems have pairs in."""
        known = self._known(key)
        return paired_tests(
            first[known, None], second[known, None], self._labels(key), confidence_level=None, **self._resampling
        )[0]


def _found_shares(tests: Sequence[_ShareTests]) -> list[list[ShareTest]]:
    """Adjust the p-values of all shares of the pairs that differ, by Holm's rule."""
    keys = [(of_pair, key) for of_pair in tests for key in of_pair.keys]
    p_values = holm_p_values(np.array([of_pair.differences[key].p_value for of_pair, key in keys]))
    nearer = holm_p_values(np.array([of_pair.nearer_p_value(key) for of_pair, key in keys]))
    results = iter(
        of_pair.result(key, float(p), float(q)) for (of_pair, key), p, q in zip(keys, p_values, nearer, strict=True)
    )
    return [[next(results) for _ in of_pair.keys] for of_pair in tests]


class DetectableGap(NamedTuple):
    """What the paired test of the gaps finds with so many rows."""

    # Difference of the fidelity gaps, whatever that of the diversity gaps is; NaN where gaps do not vary.
    gap: float
    least_rows: int
    # Of the fidelity gaps, first minus second.
    difference: ClusteredMean

    @classmethod
    def of(
        cls, differences: np.ndarray, clusters: Sequence[Hashable] | None, n_pairs: int, n_resamples: int, both: bool
    ) -> "DetectableGap":
        """Compute it at the level that the sign-flip test can have after Holm's rule over all pairs."""
        mean = mean_of_rows(differences[:, 0], clusters)
        level = level_of_gaps(both) / n_pairs
        n, k = mean.n_clusters, max(1, int(np.count_nonzero(differences.any(axis=0))))
        least_rows = max(k + 1, math.ceil(1 - math.log2(level)))
        if n <= MOST_ENUMERATED:
            level = math.floor(level * 2 ** (n - 1)) / 2 ** (n - 1)
        elif level < 1 / (n_resamples + 1):
            level = 0.0
        if not level or n <= k:
            return cls(math.inf, least_rows, mean)
        error = mean.standard_error
        gap = math.sqrt(noncentrality_of_f(k, n - k, level, POWER)) * error if error > 0 else math.nan
        return cls(gap, least_rows, mean)

    def not_worse(self) -> tuple[bool, bool]:
        """Whether each system's fidelity gap is shown to lie below the other one's plus a detectable difference."""
        mean = self.difference
        margin = minimum_detectable_difference(mean.standard_error, mean.n_clusters)
        if mean.standard_error == 0:
            return mean.mean <= 0, mean.mean >= 0
        return (_upper(mean, 1) < margin, _upper(mean, -1) < margin) if mean.n_clusters > 1 else (False, False)


def _pair_within(
    first: PairSide,
    second: PairSide,
    differences: np.ndarray,
    shares: Sequence[ShareTest],
    clusters: Sequence[Hashable] | None,
    margin: float | None,
) -> bool | None:
    """Whether both gaps differ by less than the margin; None where that is no equivalence."""
    has_share = any(share.better or share.p_value <= LEVEL for share in shares)
    if margin is None or has_share or _sizes(first) != _sizes(second):
        return None
    # With the same references, the variance of a difference is n / (m + n) of the sum of both.
    kept = [n / (m + n) for m, n in _sizes(first)]
    gaps = []
    for gap, variance, values in zip(GAPS, ("fidelity_variance", "diversity_variance"), differences.T, strict=True):
        if not np.isnan(first.columns[gap]).all():
            both = float(np.sum(first.columns[variance]) + np.sum(second.columns[variance]))
            gaps.append(GapRows(values, both * max(kept)))
    return are_within(gaps, clusters, margin)


def _sizes(side: PairSide) -> Mapping[tuple[int, int], int]:
    return side.tails.sizes
