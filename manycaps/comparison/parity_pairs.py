"""Two systems beside people on the same rows: whether they differ, by one test of both gaps, and how."""

import itertools
import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.special

from manycaps.comparison.detectable_differences import (
    MOST_ENUMERATED,
    Detectable,
    PairTests,
    WrongCaptions,
    detectable_differences,
)
from manycaps.comparison.mean_intervals import LEVEL, MOST_EXACT_CLUSTERS
from manycaps.comparison.paired_tests import (
    drawn_patterns,
    enough_resamples,
    holm_p_values,
    nearer_p_values,
    paired_tests,
)
from manycaps.kit.caption_sets import ClusteredMean, mean_interval, mean_of_rows
from manycaps.kit.parity_tails import WEIGHT_OF_TAILS, joint_p_value, level_of_distances, level_of_gaps
from manycaps.kit.parity_tests import GAPS, sums_of_clusters

if TYPE_CHECKING:
    from manycaps.comparison.parity import SystemParity

# Shares of faults, of which fewer are better: by meaning or wording, and each. In all others people's 5 % is best.
FAULTS = ("faulty_share", "unlike_people_share", "odd_wording_share")

# Other shares of which pairs are tested, where both systems have them.
LIKENESS = ("ordinary_share", "formulaic_share", "near_duplicate_share")


class ShareTest(NamedTuple):
    """A share of two systems."""

    # Name of the share, and its mean in both systems.
    key: str
    first: float
    second: float
    # Do they differ, and is one better? After Holm's rule over all shares of the pairs that differ.
    p_value: float
    better_p_value: float
    # The system with fewer faults, or nearer to people's 5 % in a share of likeness, where both tests hold; else None.
    better: str | None


class GapDifference(NamedTuple):
    """A gap of two systems: its mean in both, and their difference, first minus second, with its 95 % interval."""

    key: str
    first: float
    second: float
    difference: float
    low: float
    high: float


class ParityPair(NamedTuple):
    """Two systems: which has fewer faults, and which is more like people in what, are two questions."""

    first: str
    second: str
    # Paired test of the rows' gaps and of the shares together, before and after Holm's rule over all pairs.
    p_value: float
    adjusted_p_value: float
    # Where that test holds, how they differ.
    shares: Sequence[ShareTest]
    # Fidelity, diversity and wording gap, as far as both systems have them.
    gaps: Sequence[GapDifference]
    detectable: Detectable
    # Names of the systems of which many captions also occur among the references: then they are not compared.
    copying: Sequence[str]
    # Whether both gaps are shown to differ by less than the margin; None where no margin was given, or where the
    # systems wrote different numbers of captions or differ in a share.
    within_margin: bool | None

    @property
    def kind(self) -> str:
        """What is said: "copies", "alike", or what differs: "shares", or "gaps" where no share is shown to."""
        if self.copying:
            return "copies"
        if self.adjusted_p_value > LEVEL:
            return "alike"
        return "shares" if any(share.better for share in self.shares) else "gaps"

    @property
    def faults(self) -> ShareTest | None:
        """The test of the share of faults; None where no shares are tested."""
        return next((share for share in self.shares if share.key in FAULTS), None)

    def more_like_people(self, name: str) -> list[ShareTest]:
        """Return the shares of likeness in which a system is nearer to people."""
        return [share for share in self.shares if share.better == name and share.key not in FAULTS]

    def to_dict(self) -> dict[str, Any]:
        """Return every number."""
        return {
            **{key: value for key, value in self._asdict().items() if key != "detectable"},
            "shares": [share._asdict() for share in self.shares],
            "gaps": [gap._asdict() for gap in self.gaps],
            "copying": list(self.copying),
            "detectable_gap": self.detectable.gap,
            "detectable_wrong_captions": self.detectable.wrong_captions,
            "detectable_wrong_rows": self.detectable.wrong_rows,
            "least_rows": self.detectable.least_rows,
            "kind": self.kind,
            "fewer_faults": self.faults and self.faults.better,
            "more_like_people": {
                name: [share.key for share in self.more_like_people(name)] for name in (self.first, self.second)
            },
        }


def are_within(gaps: Sequence[tuple[np.ndarray, float]], clusters: Sequence[Hashable] | None, margin: float) -> bool:
    """Whether all gaps are shown to lie within a margin: two one-sided tests of each at 5 % (Schuirmann 1987).

    Each of `gaps` is a float64 array of shape (n_rows,), NaN where a row has none, and the variance of its sum under
    random splits; `margin` is above 0, in the unit of the distance. False with a single cluster.
    """
    means = [_gap_mean(rows, null_variance, clusters) for rows, null_variance in gaps]
    return all(mean.n_clusters > 1 and _upper(mean, -1) < margin > _upper(mean, 1) for mean in means)


def _gap_mean(rows: np.ndarray, null_variance: float, clusters: Sequence[Hashable] | None) -> ClusteredMean:
    """Mean of a gap; its standard error is at least that of random splits, as few rows may look alike by chance."""
    known = ~np.isnan(rows)
    mean = mean_of_rows(rows[known], _chosen_labels(clusters, known))
    least = math.sqrt(null_variance) / int(np.count_nonzero(known))
    return mean._replace(standard_error=max(mean.standard_error, least))


def _chosen_labels(clusters: Sequence[Hashable] | None, chosen: np.ndarray) -> list[Hashable] | None:
    return None if clusters is None else list(itertools.compress(clusters, chosen))


def _upper(mean: ClusteredMean, sign: int) -> float:
    """Upper end of a one-sided 95 % interval of a mean, or of its negative.

    The farther one of Student's and of that for skewed rows: a few gross faults move both the mean and its error.
    """
    student = mean.mean + sign * float(scipy.special.stdtrit(mean.n_clusters - 1, 1 - LEVEL)) * mean.standard_error
    of_skewed = mean_interval(mean, 1 - 2 * LEVEL)[sign == 1]
    return max(sign * student, sign * of_skewed)


def compared_pairs(
    systems: "Sequence[SystemParity]",
    clusters: Sequence[Hashable] | None,
    *,
    rounding: float,
    margin: float | None,
    n_resamples: int,
    seed: int,
    wrong: WrongCaptions | None = None,
) -> list[ParityPair]:
    """Compare every system with every one before it; two gaps that differ by no more than `rounding` are equal.

    `wrong` says what wrong captions are like, for the share of them that would be detected.
    """
    chosen = [(later, earlier) for later in range(len(systems)) for earlier in range(later)]
    if not chosen:
        return []
    differences = [_gap_differences(systems[i].rows.columns, systems[j].rows.columns, rounding) for i, j in chosen]
    labels = list(range(len(differences[0]))) if clusters is None else clusters
    n_draws = enough_resamples(n_resamples, len(chosen))
    has_meaning = systems[0].has_meaning
    of_gaps = [math.nan] * len(chosen)
    if has_meaning:
        of_gaps = joint_sign_flip_tests([sums_of_clusters(of_pair, labels) for of_pair in differences], n_draws, seed)
    resampling = {"n_resamples": n_resamples, "seed": seed}
    are_tested = [not has_meaning or bool(systems[i].tails.tested and systems[j].tails.tested) for i, j in chosen]
    shares = [
        _compared_shares(systems[i], systems[j], clusters, resampling) if is_tested else []
        for (i, j), is_tested in zip(chosen, are_tested, strict=True)
    ]
    of_wording = [_wording_p_value(systems[i], systems[j], clusters, resampling) for i, j in chosen]
    of_shares = [_share_p_value(of_pair) for of_pair in shares]
    tests_of_pairs = zip(of_gaps, of_shares, of_wording, strict=True)
    p_values = [joint_p_value(*p) if has_meaning else min(1.0, 2 * min(p[1:])) for p in tests_of_pairs]
    adjusted = holm_p_values(np.array(p_values)).tolist()
    results = _adjusted_tests(
        [share for of_pair, p in zip(shares, adjusted, strict=True) if p <= LEVEL for share in of_pair]
    )
    pairs = []
    for k, (i, j) in enumerate(chosen):
        first, second = systems[i], systems[j]
        share_tests = _credited([results[share] for share in shares[k] if share in results], (first, second))
        detectable = Detectable(math.nan, 0)
        if has_meaning:
            tests = _tests_of_pair(shares[k], not math.isnan(of_wording[k]), len(chosen), n_draws)
            detectable = detectable_differences(differences[k], clusters, tests, (first, second), wrong)
        pairs.append(
            ParityPair(
                first.name,
                second.name,
                p_values[k],
                adjusted[k],
                share_tests,
                _differences(first, second, clusters),
                detectable,
                [side.name for side in (first, second) if side.copies],
                _pair_within(first, second, differences[k], share_tests, clusters, margin),
            )
        )
    return pairs


def _tests_of_pair(shares: "Sequence[_ComparedShare]", with_wording: bool, n_pairs: int, n_resamples: int) -> PairTests:
    """The levels of the tests of a pair, the first of all by Holm's rule."""
    of_gaps = level_of_gaps(bool(shares), with_wording) / n_pairs
    of_shares = level_of_distances(with_wording) * WEIGHT_OF_TAILS / n_pairs / max(1, len(shares))
    return PairTests(of_gaps, of_shares, shares[0].key if shares else None, n_resamples)


def _credited(tests: list[ShareTest], systems: "tuple[SystemParity, SystemParity]") -> list[ShareTest]:
    """Give a system with more faults no credit for fewer ordinary captions that its faults explain.

    Wrong captions are seldom ordinary. Half of its captions or more must be no faults, and at least half of the
    difference must remain if ordinary captions are counted among these alone.
    """
    names = [system.name for system in systems]
    faults = next((test for test in tests if test.key in FAULTS and test.better), None)
    credited = []
    for test in tests:
        if faults and test.key == "ordinary_share" and test.better not in (None, faults.better):
            side = names.index(str(test.better))
            good = 1 - (faults.first, faults.second)[side]
            ordinary, others = (test.first, test.second)[side], (test.first, test.second)[1 - side]
            if good < 0.5 or others - ordinary / good < (others - ordinary) / 2:
                test = test._replace(better=None)
        credited.append(test)
    return credited


def faults_of(systems: Sequence[Mapping[str, Any]]) -> str:
    """Return the first of `FAULTS` that all systems have among their shares."""
    return next(key for key in FAULTS if all(key in shares for shares in systems))


def _differences(
    first: "SystemParity", second: "SystemParity", clusters: Sequence[Hashable] | None
) -> list[GapDifference]:
    """The gaps of two systems; one that either of them has in no row is left out."""
    compared = []
    others = second.gaps
    for gap, rows in first.gaps.items():
        if gap in others and not (np.isnan(rows).all() or np.isnan(others[gap]).all()):
            mean = mean_of_rows(np.nan_to_num(rows - others[gap]), clusters)
            ends = mean_interval(mean, 1 - LEVEL)
            compared.append(GapDifference(gap, first.result[gap], second.result[gap], mean.mean, *ends))
    return compared


def _gap_differences(first: Mapping[str, np.ndarray], second: Mapping[str, np.ndarray], rounding: float) -> np.ndarray:
    """Differences of the rows' gaps, shape (n_rows, 2); 0 for the diversity of a row that has none in one of them."""
    if GAPS[0] not in first:
        return np.zeros((1, len(GAPS)))
    differences = np.nan_to_num(np.stack([first[gap] - second[gap] for gap in GAPS], axis=1))
    differences[np.abs(differences) <= rounding] = 0.0
    return differences


def joint_sign_flip_tests(sums: Sequence[np.ndarray], n_resamples: int, seed: int) -> list[float]:
    """Test whether the mean differences of both gaps are 0, by one statistic and random signs of clusters.

    T = s' M^-1 s of the sums s of the clusters' differences and M = sum d d', which no change of signs alters, so that
    T orders the patterns as Hotelling's T2 does (Hotelling 1931, https://doi.org/10.1214/aoms/1177732979). If the two
    systems are exchangeable in every cluster, all sign patterns are equally likely, so that the level is exact.

    `sums` has for each pair of systems a float64 array of shape (n_clusters, 2). With few clusters all patterns are
    enumerated, else `n_resamples` are drawn with `seed`, once for all pairs. One p-value for each pair; ties count, so
    that systems with equal gaps have 1.

    >>> joint_sign_flip_tests([np.ones((5, 2)), np.zeros((5, 2))], 99, seed=0)
    [0.0625, 1.0]
    """
    columns = np.stack(sums, axis=1)  # (n_clusters, n_pairs, 2)
    moments = np.einsum("cki,ckj->kij", columns, columns)
    inverses = np.linalg.pinv(moments, rcond=1e-9, hermitian=True)
    total = columns.sum(axis=0)
    observed = np.einsum("ki,kij,kj->k", total, inverses, total)
    reached, n_patterns = np.zeros(len(sums)), 0
    for signs in _sign_patterns(len(columns), n_resamples, seed):
        n_patterns += len(signs)
        flipped = (signs @ columns.reshape(len(columns), -1)).reshape(len(signs), -1, 2)
        statistics = ((flipped[:, :, None] @ inverses)[:, :, 0] * flipped).sum(axis=2)  # (n_patterns, n_pairs)
        reached += np.count_nonzero(statistics >= observed * (1 - 1e-9) - 1e-12, axis=0)
    return (reached / n_patterns).tolist()


def _sign_patterns(n_clusters: int, n_resamples: int, seed: int) -> Iterator[np.ndarray]:
    """Blocks of signs, float64 arrays of shape (n_patterns, n_clusters), the observed pattern among them."""
    if n_clusters <= MOST_ENUMERATED:
        # The pattern with all signs exchanged has the same statistic: the first sign can stay.
        patterns = np.arange(2 ** (n_clusters - 1))[:, None] >> np.arange(n_clusters - 1) & 1
        yield np.concatenate([np.ones((len(patterns), 1)), 1.0 - 2.0 * patterns], axis=1)
        return
    yield np.ones((1, n_clusters))
    yield from (1.0 - 2.0 * negative for negative in drawn_patterns(n_clusters, n_resamples, seed))


def _students(rows: np.ndarray, labels: Sequence[Hashable] | None) -> float:
    """Two-sided p-value of a mean over rows by Student's distribution; 1 where the rows do not vary."""
    mean = mean_of_rows(rows, labels)
    if not mean.standard_error > 0:
        return 1.0
    return 2 * float(scipy.special.stdtr(mean.n_clusters - 1, -abs(mean.mean) / mean.standard_error))


def _resolved(by_draws: float, by_formula: float, n_clusters: int, resampling: Mapping[str, Any]) -> float:
    """The p-value by random signs; where none of them reaches the observed mean, Student's if it is smaller.

    Holm's rule over many systems needs smaller ones than draws can give.
    """
    is_least = n_clusters > MOST_EXACT_CLUSTERS and by_draws <= 1 / (resampling["n_resamples"] + 1)
    return min(by_draws, by_formula) if is_least else by_draws


def _wording_p_value(
    first: "SystemParity", second: "SystemParity", clusters: Sequence[Hashable] | None, resampling: Mapping[str, Any]
) -> float:
    """Do the wording gaps of two systems differ? NaN where they are not measured.

    The model is counted in the references, which both share: where the systems are exchangeable, so are their gaps.
    """
    gaps = [system.gaps.get("wording_gap") for system in (first, second)]
    if gaps[0] is None or gaps[1] is None:
        return math.nan
    columns = gaps[0][:, None], gaps[1][:, None]
    test = paired_tests(*columns, clusters, confidence_level=None, **resampling)[0]
    n_clusters = len(gaps[0]) if clusters is None else len(set(clusters))
    return _resolved(test.p_value, _students(gaps[0] - gaps[1], clusters), n_clusters, resampling)


class _ComparedShare:
    """Paired tests of a share of two systems, over the rows that both have it in."""

    def __init__(
        self,
        key: str,
        systems: "tuple[SystemParity, SystemParity]",
        known: np.ndarray,
        clusters: Sequence[Hashable] | None,
        resampling: Mapping[str, Any],
    ) -> None:
        shares = [system.shares[key] for system in systems]
        excesses = [share.rows - share.people_rows for share in shares]
        self.key, self.names = key, [system.name for system in systems]
        self.values = [share.value for share in shares]
        self.distances = [abs(float(np.nanmean(excess))) for excess in excesses]
        # Shares of the rows that both have them in, minus those of the rows' own references.
        self.excesses = [excess[known] for excess in excesses]
        self._labels, self._resampling = _chosen_labels(clusters, known), resampling
        columns = shares[0].rows[known, None], shares[1].rows[known, None]
        difference = paired_tests(*columns, self._labels, confidence_level=None, **resampling)[0]
        self._by_draws = difference.p_value
        self._by_formula = _students(columns[0][:, 0] - columns[1][:, 0], self._labels)
        self.p_value = self._resolved(self._by_draws, self._by_formula)

    def _resolved(self, by_draws: float, by_formula: float) -> float:
        n_clusters = len(self.excesses[0]) if self._labels is None else len(set(self._labels))
        return _resolved(by_draws, by_formula, n_clusters, self._resampling)

    def better_p_value(self) -> float:
        """Has one fewer faults, or is it nearer to people's share?"""
        if self.key in FAULTS:
            return self.p_value
        first, second = self.excesses
        p_value, columns = np.array([self._by_draws]), (first[:, None], second[:, None])
        by_draws = float(nearer_p_values(p_value, *columns, self._labels, **self._resampling)[0])
        return self._resolved(by_draws, max(self._by_formula, _students(first + second, self._labels)))

    def result(self, p_value: float, better_p_value: float) -> ShareTest:
        """Return the test of the share with p-values that are adjusted."""
        mine, other = self.values if self.key in FAULTS else self.distances
        better = self.names[0 if mine < other else 1] if max(p_value, better_p_value) <= LEVEL else None
        first, second = self.values
        return ShareTest(self.key, first, second, p_value, better_p_value, better)


def _compared_shares(
    first: "SystemParity", second: "SystemParity", clusters: Sequence[Hashable] | None, resampling: Mapping[str, Any]
) -> list[_ComparedShare]:
    """Compare the shares that both systems have in two rows or more."""
    compared = []
    for key in (faults_of([first.shares, second.shares]), *LIKENESS):
        rows = [system.shares[key].rows for system in (first, second) if key in system.shares]
        if len(rows) < 2:
            continue
        known: np.ndarray = ~(np.isnan(rows[0]) | np.isnan(rows[1]))
        if np.count_nonzero(known) > 1:
            compared.append(_ComparedShare(key, (first, second), known, clusters, resampling))
    return compared


def _share_p_value(shares: Sequence[_ComparedShare]) -> float:
    """Do two systems differ in a share? Bonferroni; NaN where shares are not tested."""
    p_values = [share.p_value for share in shares]
    return min(1.0, len(p_values) * min(p_values)) if p_values else math.nan


def _adjusted_tests(shares: Sequence[_ComparedShare]) -> dict[_ComparedShare, ShareTest]:
    """Adjust the p-values of all shares of the pairs that differ, by Holm's rule."""
    p_values = holm_p_values(np.array([share.p_value for share in shares]))
    better = holm_p_values(np.array([share.better_p_value() for share in shares]))
    return {share: share.result(float(p), float(q)) for share, p, q in zip(shares, p_values, better, strict=True)}


def _pair_within(
    first: "SystemParity",
    second: "SystemParity",
    differences: np.ndarray,
    shares: Sequence[ShareTest],
    clusters: Sequence[Hashable] | None,
    margin: float | None,
) -> bool | None:
    """Whether both gaps differ by less than the margin; None where that is no equivalence."""
    has_share = any(share.better or share.p_value <= LEVEL for share in shares)
    sizes = first.tails.sizes
    if margin is None or not first.has_meaning or has_share or sizes != second.tails.sizes:
        return None
    # With the same references, the variance of a difference is n / (m + n) of the sum of both.
    kept = max(n / (m + n) for m, n in sizes)
    other = second.rows.null_variances()
    gaps = [
        (differences[:, GAPS.index(gap)], kept * (variance + other[gap]))
        for gap, variance in first.rows.null_variances().items()
    ]
    return are_within(gaps, clusters, margin)
