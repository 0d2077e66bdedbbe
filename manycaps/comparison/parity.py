"""Systems beside people: the human parity of each, out of captions or out of scores of their rows.

Each system beside people, every two of them, by one test of both gaps and of shares, and what that test detects.

What the paired test of two systems' gaps detects 80% of the time: more wrong captions, or a shift of all rows.

Wrong captions do not move all rows alike. With w the chance that a caption of m is wrong, and k of them wrong in a row,
the fidelity gap f of the row moves by k / m (g - f), where g is the gap of a caption of another row beside these
references, and the diversity gap v by (1 - C(m - k, 2) / C(m, 2)) (g - v), as a wrong caption lies as far from another
caption as from a reference. If all captions of a row come from one other row, with the chance w, f moves by the mean
of their g less f, and v not. The moves' mean over rows and k, and their covariance with the rows' differences d, which
they widen, are finite sums; the test of n rows has the noncentrality n mean' (cov d)^-1 mean, and w is what makes it
large enough. With single captions, x = w delta, spread s0 of d, and mean delta and spread sd of the moves, that is
x^2 n = lambda (s0^2 + w (1 - w) delta^2 + w (sd^2 - s0^2)).
"""

import dataclasses
import functools
import heapq
import itertools
import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.optimize
import scipy.special
from tqdm import tqdm

from manycaps.comparison.read import PEOPLE, NoDistances, ParityRows
from manycaps.comparison.score import SharedAnswers, WrongCaptions
from manycaps.kit.arrays import Floats, Ints
from manycaps.kit.paired_tests import (
    MOST_ENUMERATED,
    MeanTest,
    attainable_level,
    holm_p_values,
    joint_sign_flip_tests,
    mean_tests,
    nearer_tests,
)
from manycaps.kit.parity_corpus import GAPS, MEANS, PEOPLES_COPIES, SMALLEST_P, TextValues, list_captions, parity_result
from manycaps.kit.parity_faults import CorpusFaults, more_faults_than, smallest_of
from manycaps.kit.parity_gaps import sums_of_clusters
from manycaps.kit.parity_power import (
    CONFIDENCE_LEVEL,
    LEVEL,
    POWER,
    WEIGHT_OF_TAILS,
    RowsNeeded,
    joint_p_value,
    level_of_distances,
    level_of_gaps,
    noncentrality_of_f,
    rows_needed_of_tails,
)
from manycaps.kit.parity_sentences import DistanceSupport
from manycaps.kit.parity_tails import TAIL, TAILS, CorpusTails, TailDistances, TailShare, corpus_tails, tail_share
from manycaps.kit.parity_texts import LengthGap, corpus_faults
from manycaps.kit.parity_words import is_above_people
from manycaps.kit.sets_intervals import ClusteredMean, cluster_numbers, mean_interval, mean_of_rows, with_interval
from manycaps.kit.words_predictability import LEAST_ROWS_OF_WORDING, N_LISTED
from manycaps.kit.words_tests import CorpusWording, corpus_wording

# Values of rows that are tested together.
VALUES_AT_ONCE = 1 << 22

# Pairs of 16 systems, and draws for each pair where there are more of them.
MANY_PAIRS, DRAWS_A_PAIR = 120, 40

# Quantiles of a normal distribution that stand for it.
N_POINTS = 32


def enough_resamples(n_resamples: int, n_pairs: int) -> int:
    """Return how many sign patterns to draw, so that a p-value after Holm's rule over many pairs can be small.

    The smallest p-value of n draws is 1 / (n + 1): 9,999 find nothing among the 780 pairs of 40 systems. Fewer than
    `MANY_PAIRS` take what was asked for.

    >>> enough_resamples(9_999, 120), enough_resamples(9_999, 780)
    (9999, 31200)
    """
    return n_resamples if n_pairs <= MANY_PAIRS else max(n_resamples, DRAWS_A_PAIR * n_pairs)


class PairTests(NamedTuple):
    """The tests of a pair of systems."""

    # Levels of the test of the gaps, and of each of the shares.
    level_of_gaps: float
    level_of_shares: float
    # The share of faults that is tested; None where shares are not.
    share: str | None
    # Random sign patterns.
    n_resamples: int


class Detectable(NamedTuple):
    """Differences of two systems that are detected with a power of 80%, after Holm's rule over all pairs as well."""

    # Of the fidelity gaps, if all rows share it, whatever the diversity gaps' is; infinity where there are too
    # few rows to distinguish any two systems, NaN where gaps do not vary; and the least number of rows that suffices, 0
    # where the random sign patterns are too few.
    gap: float
    least_rows: int
    # How many more captions are wrong, and in how many more rows all captions come from one other row: shares, 0 to
    # 1; NaN where that is not known, infinity where all of them would not suffice.
    wrong_captions: float = math.nan
    wrong_rows: float = math.nan


def detectable_differences(
    differences: Floats,
    clusters: Sequence[Hashable] | None,
    tests: PairTests,
    systems: "Sequence[SystemParity]" = (),
    wrong: WrongCaptions | None = None,
    known_moves: "KnownMoves | None" = None,
) -> Detectable:
    """Compute what is detected of two systems.

    `differences` are between the rows' gaps, first minus second of the `systems`, shape (n_rows, 2). Of the shares of
    wrong captions in either system the larger one is returned.
    """
    numbers = np.arange(len(differences)) if clusters is None else cluster_numbers(clusters)
    n, varies = int(numbers.max()) + 1, np.flatnonzero(differences.any(axis=0))
    k = max(1, len(varies))
    least_rows = max(k + 1, math.ceil(1 - math.log2(tests.level_of_gaps)))
    level = attainable_level(n, tests.level_of_gaps, tests.n_resamples, MOST_ENUMERATED)
    if not level or n <= k:
        return Detectable(math.inf, least_rows if n < least_rows else 0)
    labels = numbers.tolist()
    error = mean_of_rows(differences[:, 0], labels).standard_error
    if not error > 0:
        return Detectable(math.nan, least_rows)
    wanted = noncentrality_of_f(k, n - k, level)
    gap = math.sqrt(wanted) * error
    if wrong is None:
        return Detectable(gap, least_rows)
    columns = differences[:, varies]
    if tests.share:
        shares = [system.shares[tests.share].rows for system in systems]
        columns = np.column_stack([columns, shares[0] - shares[1]])
    chosen = [*varies, *([2] if tests.share else [])]
    least = np.array([math.sqrt(wanted) - scipy.special.ndtri(POWER)])
    if tests.share:
        least = np.append(least, -scipy.special.stdtrit(n - 1, tests.level_of_shares / 2))
    least_shares, known = [], {} if known_moves is None else known_moves
    for sign, system in zip((1, -1), systems, strict=True):
        if (system.name, tests.share) not in known:  # of one system alone, which is in many pairs
            known[system.name, tests.share] = list(_moves(system, wrong, tests.share))
        for moved, chances in known[system.name, tests.share]:
            mixture = _Mixture(sign * columns, labels, wrong.rows, moved[..., chosen], chances, least)
            least_shares.append(mixture.least_share())
    return Detectable(gap, least_rows, max(least_shares[::2]), max(least_shares[1::2]))


# From a share of wrong captions to the chance of each number of them, (n_numbers, n_rows).
Chances = Callable[[float], Floats]

# By system and share how its rows move, with each number of wrong captions and with all.
KnownMoves = dict[tuple[str, str | None], list[tuple[Floats, Chances]]]


def _moves(system: "SystemParity", wrong: WrongCaptions, share: str | None) -> Iterator[tuple[Floats, Chances]]:
    """How gaps and share of the rows move with each number of wrong captions, and with all: (n_numbers, n_rows, 3)."""
    sizes = np.empty(system.rows.distances.n_rows, dtype=np.int64)
    for block in system.rows.distances.blocks():
        sizes[block.rows] = block.n_candidates
    m, n_wrong = sizes[wrong.rows], np.arange(sizes[wrong.rows].max() + 1)[:, None]
    # A row with one caption has no diversity.
    steps = np.nan_to_num([wrong.gaps - system.rows.columns[gap][wrong.rows] for gap in GAPS])
    unlike = np.zeros(len(m))
    if share:
        threshold = system.tails.people[False].threshold(1, TAIL)
        for block in wrong.distances.blocks():
            unlike[block.rows] = threshold.shares(TailDistances(block.distances, 1).candidates).mean(axis=(1, 2))
        # Oddly worded and repeated, as people's captions are.
        others = [
            kind for name, kind in system.faults.kinds.items() if name not in ("unsupported_share", "omitted_share")
        ]
        unlike += sum(kind.share.people.mean for kind in others)
        unlike -= system.shares[share].rows[wrong.rows]
    part = np.minimum(n_wrong / m, 1)
    pair_sizes = 1 - scipy.special.comb(np.maximum(m - n_wrong, 0), 2) / np.maximum(scipy.special.comb(m, 2), 1)

    def binomial(chance: float) -> Floats:
        others: Floats = (1 - chance) ** np.maximum(m - n_wrong, 0)
        return scipy.special.comb(m, n_wrong) * chance**n_wrong * others

    yield np.stack([part * steps[0], pair_sizes * steps[1], part * unlike], axis=-1), binomial
    whole = np.zeros((2, len(m), 3))
    # m captions of one other row differ less from row to row than one of them does.
    mean_gaps = [gaps[:size].mean() for gaps, size in zip(wrong.several, m.tolist(), strict=True)]
    whole[1, :, 0], whole[1, :, 2] = steps[0] + (np.array(mean_gaps) - wrong.gaps), unlike
    yield whole, lambda chance: np.array([[1 - chance], [chance]])


class _Mixture:
    """Two systems one of which has wrong captions in some rows: the power of the test of their gaps, or of a share.

    sqrt(T2) and t are normal, with the spread that rows as different as these give to studentised numbers: if few rows
    differ much, they raise the mean and the error alike.
    """

    def __init__(
        self, differences: Floats, labels: Sequence[int], rows: Ints, moved: Floats, chances: Chances, least: Floats
    ) -> None:
        """Take the rows' differences (n_rows, k), the rows whose moves are known, and the least sqrt(T2) and t."""
        n_rows, n = len(differences), len(set(labels))
        sums = sums_of_clusters(differences - differences.mean(axis=0), labels)
        self._mean_covariance, self._n_rows = sums.T @ sums * n / (n - 1) / n_rows**2, n_rows
        self._own = differences[rows] - differences[rows].mean(axis=0)
        self._moved, self._chances, self._least = moved, chances, least

    def least_share(self) -> float:
        """Return the share that is detected; infinity where all wrong captions are not."""
        if self._power(1.0) < POWER:
            return math.inf
        return float(scipy.optimize.brentq(lambda chance: self._power(chance) - POWER, 1e-6, 1.0, xtol=1e-6))

    def _power(self, chance: float) -> float:
        """Chance that T2 of the gaps, or t of the share, is significant."""
        own, moved = self._own, self._moved
        weights, both = np.broadcast_to(self._chances(chance), moved.shape[:2]) / len(own), own + moved
        mean = np.einsum("ki,kia->a", weights, moved)
        row_covariance = np.einsum("ki,kia,kib->ab", weights, both, both) - np.outer(mean, mean)
        mean_covariance = self._mean_covariance + (row_covariance - own.T @ own / len(own)) / self._n_rows
        # sqrt(T2) and t as means and covariances say, and how a row moves them: the mean, and the covariance.
        sizes, moves = [], []
        k = len(mean) - len(self._least) + 1
        for part in (slice(0, k), slice(k, None))[: len(self._least)]:
            direction = np.linalg.pinv(row_covariance[part, part], hermitian=True) @ mean[part]
            squared, row_moves = float(mean[part] @ direction), (both - mean)[..., part] @ direction
            moves.append((2 * row_moves - row_moves**2 + squared) / (2 * math.sqrt(squared or 1.0)))
            squared_size = mean[part] @ np.linalg.pinv(mean_covariance[part, part], hermitian=True) @ mean[part]
            sizes.append(math.sqrt(max(0.0, squared_size)))
        spread = np.einsum("ki,xki,yki->xy", weights, np.array(moves), np.array(moves)) + 1e-9 * np.eye(len(moves))
        lacking = (self._least - sizes) / np.sqrt(np.diagonal(spread))
        missed = float(scipy.special.ndtr(lacking[0]))
        if len(sizes) == 1:
            return 1 - missed
        correlation = spread[0, 1] / math.sqrt(spread[0, 0] * spread[1, 1])
        points = scipy.special.ndtri(missed * (np.arange(N_POINTS) + 0.5) / N_POINTS)
        residual = math.sqrt(max(1e-9, 1 - correlation**2))
        return 1 - missed * float(scipy.special.ndtr((lacking[1] - correlation * points) / residual).mean())


# What lies beyond people's rates of the kinds of faults, and by the names of these a share each: fewer are better. Of
# all other shares people's 5% is best.
FAULTS = "faults"

# Shares other than faults of which pairs are tested, where both systems have them.
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
    # The system with fewer faults, or nearer to people's 5% in another share, where both tests hold; else None.
    better: str | None
    # Of faults the kind of which the other system has more than people and than the better one; else empty.
    kind: str = ""


class GapDifference(NamedTuple):
    """A gap of two systems: its mean in both, and their difference, first minus second, with its 95% interval."""

    key: str
    first: float
    second: float
    difference: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class ParityPair:
    """Two systems: which has more faults, and which is closer to people in what else, are two questions."""

    first: str
    second: str
    # Paired test of the rows' gaps and of the shares together, before and after Holm's rule over all pairs.
    p_value: float
    adjusted_p_value: float
    # Where that test holds, how they differ.
    shares: Sequence[ShareTest]
    # Fidelity, diversity and wording gap, as far as both systems have them.
    gaps: Sequence[GapDifference]
    # Names of the systems of which many captions also occur among the references: then they are not compared.
    copying: Sequence[str]
    # Whether both gaps are shown to differ by less than the margin; None where no margin was given, or where the
    # systems wrote different numbers of captions or differ in a share.
    within_margin: bool | None
    # As in `Detectable`.
    detectable_gap: float
    detectable_wrong_captions: float
    detectable_wrong_rows: float
    least_rows: int
    # What is said: "copies", "alike", or what differs: "shares", or "gaps" where no share is shown to.
    kind: str
    # The system with more faults than people and than the other one, where that is shown.
    more_faults: str | None
    # By system the other shares in which it is closer to people.
    closer_to_people: Mapping[str, Sequence[str]]
    # Names of the shares that the test of the pair looks at, whatever it finds; none of systems that copy.
    tested_shares: Sequence[str] = ()


def are_within(gaps: Sequence[tuple[np.ndarray, float]], clusters: Sequence[Hashable] | None, margin: float) -> bool:
    """Say whether all gaps are shown to lie within a margin: two one-sided tests of each at 5% (Schuirmann 1987).

    Each of `gaps` is a float64 array of shape (n_rows,), NaN where a row has none, and the variance of its sum under
    random splits; `margin` is above 0, in the unit of the distance. False with a single cluster.
    """
    means = [_gap_mean(rows, null_variance, clusters) for rows, null_variance in gaps]
    return all(mean.n_clusters > 1 and _upper(mean, -1) < margin > _upper(mean, 1) for mean in means)


def _gap_mean(rows: np.ndarray, null_variance: float, clusters: Sequence[Hashable] | None) -> ClusteredMean:
    """Mean of a gap; its standard error is at least as in random splits, as few rows may look alike by chance."""
    known = ~np.isnan(rows)
    mean = mean_of_rows(rows[known], _chosen_labels(clusters, known))
    least = math.sqrt(null_variance) / int(np.count_nonzero(known))
    return mean._replace(standard_error=max(mean.standard_error, least))


def _chosen_labels(clusters: Sequence[Hashable] | None, chosen: np.ndarray) -> list[Hashable] | None:
    return None if clusters is None else list(itertools.compress(clusters, chosen))


def _upper(mean: ClusteredMean, sign: int) -> float:
    """Upper end of a one-sided 95% interval of a mean, or of its negative.

    The farther one of Student's and of that for skewed rows: a few gross faults move both the mean and its error.
    """
    student = mean.mean + sign * float(scipy.special.stdtrit(mean.n_clusters - 1, 1 - LEVEL)) * mean.standard_error
    skewed_end = mean_interval(mean, 1 - 2 * LEVEL)[sign == 1]
    return max(sign * student, sign * skewed_end)


def compare_pairs(
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
    chosen = [(systems[later], systems[earlier]) for later in range(len(systems)) for earlier in range(later)]
    if not chosen:
        return []
    n_draws = enough_resamples(n_resamples, len(chosen))
    resampling: dict[str, Any] = {"n_resamples": n_resamples, "seed": seed}
    given: dict[str, Any] = {"rounding": rounding, "margin": margin, "wrong": wrong}
    given |= {"n_pairs": len(chosen), "n_draws": n_draws, "moves": {}}
    bar = tqdm(chosen, desc="pairs of systems", unit="pair", delay=1)
    untested = [_untested_pair(first, second, clusters, **given) for first, second in bar]
    gap_p_values = [math.nan] * len(chosen)
    if systems[0].has_meaning:
        labels = list(range(len(untested[0].differences))) if clusters is None else clusters
        sums = [sums_of_clusters(pair.differences, labels) for pair in untested]
        gap_p_values = joint_sign_flip_tests(sums, n_draws, seed)
    share_tests = iter(_test_shares([share for pair in untested for share in pair.shares], **resampling))
    tests = [list(itertools.islice(share_tests, len(pair.shares))) for pair in untested]
    wording_p_values = _wording_p_values(untested, clusters, **resampling)
    p_values = [
        _joint_p_value(gap, [test.p_value for test in pair_tests], wording)
        for gap, pair_tests, wording in zip(gap_p_values, tests, wording_p_values, strict=True)
    ]
    adjusted = holm_p_values(np.array(p_values)).tolist()
    # Faults by Holm's rule over all pairs, and the other shares of the pairs that differ by the rule over all of these.
    results: list[list[ShareTest]] = [[] for _ in chosen]
    with_faults = [k for k, pair in enumerate(untested) if pair.fault_test is not None]
    tested_faults = [test for pair in untested if (test := pair.fault_test) is not None]
    after_holm = holm_p_values(np.array([test.p_value for test in tested_faults])).tolist()
    for k, test, p_value in zip(with_faults, tested_faults, after_holm, strict=True):
        if adjusted[k] <= LEVEL:
            results[k].append(test.result(p_value))
    differing = [
        (k, share, test)
        for k, pair in enumerate(untested)
        for share, test in zip(pair.shares, tests[k], strict=True)
        if adjusted[k] <= LEVEL and share.key != FAULTS
    ]
    differ = holm_p_values(np.array([test.p_value for *_, test in differing])).tolist()
    nearer = _test_excesses([(share, test) for _, share, test in differing], **resampling)
    for (k, share, _), p_value, better in zip(differing, differ, holm_p_values(np.array(nearer)).tolist(), strict=True):
        results[k].append(share.result(p_value, better))
    return [
        pair.result(p_value, after_holm, _withhold_credit(shares, pair.names))
        for pair, p_value, after_holm, shares in zip(untested, p_values, adjusted, results, strict=True)
    ]


def _test_shares(shares: "Sequence[_PairShare]", **resampling: Any) -> list[MeanTest]:
    """Do the shares of two systems differ? One test for each."""
    tests: dict[int, MeanTest] = {}
    for places in _over_same_rows(shares):
        first, second = _stack(shares[i].rows for i in places)
        tests |= zip(places, mean_tests(first, second, shares[places[0]].labels, **resampling), strict=True)
    return [tests[i] for i in range(len(shares))]


def _test_excesses(tested: "Sequence[tuple[_PairShare, MeanTest]]", **resampling: Any) -> list[float]:
    """Is one of two shares nearer to people's? A p-value for each share and the test of its difference."""
    shares, p_values = [share for share, _ in tested], dict[int, float]()
    for places in _over_same_rows(shares):
        first, second = _stack(shares[i].excesses for i in places)
        differences, labels = [tested[i][1] for i in places], shares[places[0]].labels
        p_values |= zip(places, nearer_tests(differences, first, second, labels, **resampling), strict=True)
    return [p_values[i] for i in range(len(shares))]


def _wording_p_values(
    pairs: "Sequence[UntestedPair]", clusters: Sequence[Hashable] | None, **resampling: Any
) -> list[float]:
    """p-values of the differences of the wording gaps; NaN where they are not measured."""
    gaps = [pair.wording_gaps for pair in pairs if pair.wording_gaps is not None]
    p_values: list[float] = []
    for places in _some_at_once(range(len(gaps)), len(gaps[0][0]) if gaps else 0):
        p_values += [test.p_value for test in mean_tests(*_stack(gaps[i] for i in places), clusters, **resampling)]
    tested = iter(p_values)
    return [math.nan if pair.wording_gaps is None else next(tested) for pair in pairs]


def _over_same_rows(shares: "Sequence[_PairShare]") -> Iterator[Sequence[int]]:
    """Yield places of shares that are known of the same rows, whose tests can share random draws."""
    by_rows: dict[bytes, list[int]] = {}
    for i, share in enumerate(shares):
        by_rows.setdefault(share.known.tobytes(), []).append(i)
    for places in by_rows.values():
        yield from _some_at_once(places, len(shares[places[0]].known))


def _some_at_once(places: Sequence[int], n_rows: int) -> Iterator[Sequence[int]]:
    step = max(1, VALUES_AT_ONCE // max(1, n_rows))
    return (places[start : start + step] for start in range(0, len(places), step))


def _stack(sides: Iterable[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """Columns of both sides, (n_rows, n_tests) each, of the columns of each test."""
    first, second = (np.stack(columns, axis=1) for columns in zip(*sides, strict=True))
    return first, second


class _PairShare(NamedTuple):
    """A share of two systems, over the rows that both have it in."""

    key: str
    names: tuple[str, str]
    shares: tuple[TailShare, TailShare]
    # bool array of shape (n_rows,), and the clusters of these rows.
    known: np.ndarray
    labels: Sequence[Hashable] | None

    @property
    def rows(self) -> tuple[np.ndarray, np.ndarray]:
        """The rows of either system."""
        first, second = (share.rows[self.known] for share in self.shares)
        return first, second

    @property
    def excesses(self) -> tuple[np.ndarray, np.ndarray]:
        """Those minus the shares of the rows' own references."""
        first, second = ((share.rows - share.people_rows)[self.known] for share in self.shares)
        return first, second

    def result(self, p_value: float, better_p_value: float) -> ShareTest:
        """Return the test of the share with p-values that are adjusted."""
        first, second = (share.value for share in self.shares)
        mine, other = (abs(float(np.nanmean(share.rows - share.people_rows))) for share in self.shares)
        better = self.names[0 if mine < other else 1] if max(p_value, better_p_value) <= LEVEL else None
        return ShareTest(self.key, first, second, p_value, better_p_value, better)


class FaultTest(NamedTuple):
    """Does one of two systems have more faults than people, and than the other one?"""

    names: tuple[str, str]
    # What lies beyond people's rates, of each.
    faults: tuple[float, float]
    # Two-sided: twice the smaller one of both questions. The system that it is of, and the kind of fault that says so.
    p_value: float
    more: str
    kind: str

    def result(self, p_value: float) -> ShareTest:
        """Return the test with its adjusted p-value."""
        better = self.names[self.names[0] == self.more] if p_value <= LEVEL else None
        return ShareTest(FAULTS, *self.faults, p_value, p_value, better, self.kind if better else "")


def fault_test(first: "SystemParity", second: "SystemParity", clusters: Sequence[Hashable] | None) -> FaultTest | None:
    """Test every kind of fault that both systems have; None where none is tested."""
    found = []
    for one, other in ((first, second), (second, first)):
        p_values = {}
        for name in one.faults.kinds:
            its, others = (
                dataclasses.replace(each.faults, kinds=_only(each.faults.kinds, name)) for each in (one, other)
            )
            p_values[name] = more_faults_than(its, others, clusters)
        known = {name: p_value for name, p_value in p_values.items() if not math.isnan(p_value)}
        if known:
            found.append((smallest_of(known.values()), one.name, min(known, key=known.__getitem__)))
    if not found:
        return None
    p_value, more, kind = min(found)
    values = float(first.result[FAULTS]), float(second.result[FAULTS])
    return FaultTest((first.name, second.name), values, min(1.0, 2 * p_value), more, kind)


def _only(kinds: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The kind of this name, if it is measured."""
    return {name: kinds[name]} if name in kinds else {}


class UntestedPair(NamedTuple):
    """What is known of two systems before they are tested."""

    names: tuple[str, str]
    # Of the rows' gaps, shape (n_rows, 2), and the wording gaps of either system; None where they are not measured.
    differences: np.ndarray
    wording_gaps: tuple[np.ndarray, np.ndarray] | None
    shares: Sequence[_PairShare]
    gaps: Sequence[GapDifference]
    detectable: Detectable
    copying: Sequence[str]
    # As in `ParityPair`, whatever the shares are.
    within_margin: bool | None
    # None where faults are not tested.
    fault_test: FaultTest | None = None

    def result(self, p_value: float, adjusted_p_value: float, shares: Sequence[ShareTest]) -> ParityPair:
        """Return the pair with its tests; systems that differ in a share are not equivalent, whatever their gaps."""
        within = None if any(share.better or share.p_value <= LEVEL for share in shares) else self.within_margin
        kind = "shares" if any(share.better for share in shares) else "gaps"
        return ParityPair(
            first=self.names[0],
            second=self.names[1],
            p_value=p_value,
            adjusted_p_value=adjusted_p_value,
            shares=shares,
            gaps=self.gaps,
            copying=self.copying,
            within_margin=within,
            detectable_gap=self.detectable.gap,
            detectable_wrong_captions=self.detectable.wrong_captions,
            detectable_wrong_rows=self.detectable.wrong_rows,
            least_rows=self.detectable.least_rows,
            kind="copies" if self.copying else "alike" if adjusted_p_value > LEVEL else kind,
            more_faults=next(
                (self.names[self.names[0] == share.better] for share in shares if share.key == FAULTS and share.better),
                None,
            ),
            closer_to_people={
                name: [share.key for share in shares if share.better == name and share.key != FAULTS]
                for name in self.names
            },
            tested_shares=[] if self.copying else self._tested_shares(),
        )

    def _tested_shares(self) -> list[str]:
        likeness = [share.key for share in self.shares if share.key != FAULTS]
        return [*([FAULTS] if self.fault_test else []), *likeness]


def _untested_pair(
    first: "SystemParity",
    second: "SystemParity",
    clusters: Sequence[Hashable] | None,
    *,
    rounding: float,
    margin: float | None,
    wrong: WrongCaptions | None,
    n_pairs: int,
    n_draws: int,
    moves: "KnownMoves",
) -> UntestedPair:
    """Gather what is tested of two systems, and compute all that needs no test."""
    both = first, second
    differences = _gap_differences(first.rows.columns, second.rows.columns, rounding)
    is_tested = not first.has_meaning or bool(first.tails.tested and second.tails.tested)
    shares = _pair_shares(first, second, clusters) if is_tested else []
    gaps = [system.gaps.get("wording_gap") for system in both]
    wording_gaps = None if gaps[0] is None or gaps[1] is None else (gaps[0], gaps[1])
    detectable = Detectable(math.nan, 0)
    if first.has_meaning:
        # The levels of the tests, the first of all by Holm's rule.
        has_wording = wording_gaps is not None
        gap_level = level_of_gaps(bool(shares), has_wording) / n_pairs
        share_level = level_of_distances(has_wording) * WEIGHT_OF_TAILS / n_pairs / max(1, len(shares))
        tests = PairTests(gap_level, share_level, shares[0].key if shares else None, n_draws)
        detectable = detectable_differences(differences, clusters, tests, both, wrong, moves)
    return UntestedPair(
        (first.name, second.name),
        differences,
        wording_gaps,
        shares,
        _differences(first, second, clusters),
        detectable,
        [system.name for system in both if system.copies],
        _gaps_within(first, second, differences, clusters, margin),
        fault_test(first, second, clusters) if is_tested else None,
    )


def _pair_shares(
    first: "SystemParity", second: "SystemParity", clusters: Sequence[Hashable] | None
) -> list[_PairShare]:
    """Return the shares that both systems have in two rows or more; of faults the sum of the kinds."""
    pair_shares = []
    for key in (FAULTS, *LIKENESS):
        if key in first.shares and key in second.shares:
            both = first.shares[key], second.shares[key]
            known: np.ndarray = ~(np.isnan(both[0].rows) | np.isnan(both[1].rows))
            if np.count_nonzero(known) > 1:
                labels = _chosen_labels(clusters, known)
                pair_shares.append(_PairShare(key, (first.name, second.name), both, known, labels))
    return pair_shares


def _gaps_within(
    first: "SystemParity",
    second: "SystemParity",
    differences: np.ndarray,
    clusters: Sequence[Hashable] | None,
    margin: float | None,
) -> bool | None:
    """Whether both gaps differ by less than the margin; None where that is no equivalence."""
    sizes = first.tails.sizes
    if margin is None or not first.has_meaning or sizes != second.tails.sizes:
        return None
    # With the same references, the variance of a difference is n / (m + n) of the sum of both.
    kept = max(n / (m + n) for m, n in sizes)
    other = second.rows.null_variances()
    gaps = [
        (differences[:, GAPS.index(gap)], kept * (variance + other[gap]))
        for gap, variance in first.rows.null_variances().items()
    ]
    return are_within(gaps, clusters, margin)


def _joint_p_value(gaps: float, shares: Sequence[float], wording: float) -> float:
    """The p-value of a pair; NaN stands for gaps or a wording that are not tested. Bonferroni over the shares."""
    bonferroni = min(1.0, len(shares) * min(shares)) if shares else math.nan
    return min(1.0, 2 * min(bonferroni, wording)) if math.isnan(gaps) else joint_p_value(gaps, bonferroni, wording)


def _withhold_credit(tests: Sequence[ShareTest], names: Sequence[str]) -> list[ShareTest]:
    """Give a system with more faults no credit for fewer ordinary captions that its faults explain.

    Wrong captions are seldom ordinary. Half of its captions or more must be no faults, and at least half of the
    difference must remain if ordinary captions are counted among these alone.
    """
    faults = next((test for test in tests if test.key == FAULTS and test.better), None)
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


# Lists of the module that are of no row: the histogram, and the places of captions, [row, candidate, ...].
LISTS = ("distance_histogram", "most_unlike_people", "most_alike")

# Of every row: how many more words candidates have than people's texts.
LENGTH_GAP = "length_gap"

# Rows after which a system is distinguished from people.
ROWS = "rows_needed"

# Share of a system's captions that also occur among the references, beyond people's: with more it is not compared
# with other systems, as a copy is never unlike people's captions.
MOST_COPIES = 0.1

# Two values of a row are equal if they are this near: float32 of a network, and float64 of words.
ROUNDING = {"bert": 1e-6, "meteor": 1e-9, "meteor15": 1e-9, "cider": 1e-9}


@dataclass(frozen=True, kw_only=True)
class SystemParity:
    """A system beside people, with all that its pairs are tested by."""

    name: str
    rows: ParityRows
    tails: CorpusTails
    # Numbers of the module, with 95% intervals where there are two rows.
    result: Mapping[str, Any]
    # p-value of the result after Holm's rule over all systems.
    adjusted_p_value: float
    # Faults by kind, and lengths; None where only distances are known.
    faults: CorpusFaults
    length: LengthGap | None = None
    # Wording of its captions beside people's; None where only distances are known.
    wording: CorpusWording | None = None

    @property
    def has_meaning(self) -> bool:
        """Whether its captions are compared with people's by their meaning, and not by their wording alone."""
        return "unlike_people_share" in self.tails.shares

    @functools.cached_property
    def lists(self) -> Mapping[str, Any]:
        """Lists of the module: the histogram of distances, the captions most unlike people's, the pairs most alike.

        Where wording alone is compared, the oddest captions in place of those.
        """
        if not self.has_meaning:
            oddest = [] if self.wording is None else self.wording.lists()["oddest_wording"]
            return {**{key: [] for key in LISTS}, "oddest_wording": oddest}
        return list_captions(self.rows.distances, self.tails.people[False])

    def unsupported_places(self) -> list[tuple[int, int, int, int]]:
        """Return [row, candidate, sentence, nearest reference] of `N_LISTED` sentences, the farthest first."""
        support = self.rows.support or DistanceSupport(self.rows.distances)
        worst: list[tuple[float, int, int, int, int]] = []
        for block in support.blocks():
            m = block.n_candidates
            to_people = block.support[:, :m, :, m:]  # (n_rows, m, most, n)
            means = np.where(block.is_sentence[:, :m], to_people.mean(axis=3), -np.inf)
            chosen = np.argsort(-means, axis=None, kind="stable")[:N_LISTED]
            places = zip(*(each.tolist() for each in np.unravel_index(chosen, means.shape)), strict=True)
            of_block = [
                (-float(means[i, j, k]), int(block.rows[i]), j, k, int(to_people[i, j, k].argmin()))
                for i, j, k in places
            ]
            worst = heapq.nsmallest(N_LISTED, worst + [each for each in of_block if each[0] < math.inf])
        return [(row, candidate, sentence, nearest) for _, row, candidate, sentence, nearest in worst]

    @functools.cached_property
    def shares(self) -> Mapping[str, TailShare]:
        """All shares: of distances, of wording where it is measured, of every kind of fault, and their sum."""
        shares = dict(self.tails.shares)
        if self.wording and self.wording.is_measured:
            shares["formulaic_share"] = self.wording.shares["formulaic_share"]
        kinds = {name: kind.share for name, kind in self.faults.kinds.items()}
        if not kinds:
            return shares
        candidates = np.sum([kind.rows for kind in kinds.values()], axis=0)
        people = np.sum([kind.people_rows for kind in kinds.values()], axis=0)
        n_candidates = round(1 / min(kind.floor for kind in kinds.values()))
        return {FAULTS: tail_share(candidates, people, self.tails.clusters, n_candidates), **kinds, **shares}

    @property
    def gaps(self) -> dict[str, np.ndarray]:
        """The gaps of every row, shape (n_rows,)."""
        gaps = {gap: self.rows.columns[gap] for gap in GAPS if gap in self.rows.columns}
        if self.wording and self.wording.is_measured:
            gaps["wording_gap"] = self.wording.rows.gaps
        return gaps | ({} if self.length is None else {LENGTH_GAP: self.length.rows})

    @property
    def copies(self) -> bool:
        """See `copies_references`."""
        return copies_references(self.result)

    def numbers(self, clusters: Sequence[Hashable] | None, margin: float | None) -> dict[str, Any]:
        """Return every number of a system."""
        gaps = [(self.rows.columns[gap], variance) for gap, variance in self.rows.null_variances().items()]
        is_within = None if margin is None else bool(gaps) and are_within(gaps, clusters, margin)
        # Of every row: shares by meaning, then means, then the wording.
        per_row = {name: share.rows for name, share in self.tails.shares.items()}
        per_row |= {name: self.rows.columns[name] for name in MEANS if self.has_meaning}
        per_row |= {name: rows for name, rows in self.gaps.items() if name not in GAPS}
        per_row |= {name: share.rows for name, share in self.shares.items() if name != FAULTS}
        return {
            **self.result,
            "adjusted_p_value": self.adjusted_p_value,
            **{key: list(self.lists[key]) for key in LISTS},
            "phrases": [phrase._asdict() for phrase in self.rows.phrases],
            "are_too_long": self.rows.words is not None and self.rows.words.are_too_long(),
            "within_margin": is_within,
            "per_row": {name: values.tolist() for name, values in per_row.items()},
        }


def copies_references(result: Mapping[str, Any]) -> bool:
    """Say whether so many of a system's captions also occur among the references that its shares say little."""
    beyond = result["copied_share"] - result["copied_share_expected"]
    return bool(beyond > MOST_COPIES and is_above_people(result, "copied_share"))


@dataclass(frozen=True, kw_only=True)
class ComparedParity:
    """All systems beside people and beside each other: plain numbers, as the JSON has them."""

    # Distance of captions; may be empty.
    distance: str
    # Largest gap that counts as none; None where no margin was given.
    margin: float | None
    # By system, as they were given and the baseline first, the numbers of human_parity with 95% intervals where there
    # are two rows; the p-value after Holm's rule over all systems; the lists of `LISTS`; the phrases that give it away;
    # whether it lies within the margin; and its shares and gaps of every row.
    systems: Mapping[str, Mapping[str, Any]]
    # Every system with every one before it.
    pairs: Sequence[ParityPair]
    # How often every two systems, and each of them and people, say the same; empty where it is not asked.
    shared_answers: Sequence[SharedAnswers] = ()


def compare_parity(
    systems: Sequence[SystemParity],
    clusters: Sequence[Hashable] | None,
    *,
    distance: str,
    margin: float | None = None,
    n_resamples: int,
    seed: int,
    wrong: WrongCaptions | None = None,
    shared: Sequence[SharedAnswers] = (),
) -> ComparedParity:
    """Compare systems that stand beside people, the baseline first, with each other.

    Without `clusters` every row is independent. `distance` is the module's name of it. Systems whose gaps differ by at
    most `margin`, in the unit of the distance, count as equivalent; None does not ask. `n_resamples` and `seed` go
    to the tests of pairs, and `wrong` is as for `compare_pairs`.
    """
    numbers = {system.name: system.numbers(clusters, margin) for system in systems}
    within = {name: result["near_duplicate_share"] for name, result in numbers.items()} | {PEOPLE: TAIL}
    options: dict[str, Any] = {"margin": margin, "wrong": wrong, "n_resamples": n_resamples, "seed": seed}
    return ComparedParity(
        distance=distance,
        margin=margin,
        systems=numbers,
        pairs=compare_pairs(systems, clusters, rounding=ROUNDING.get(distance, 1e-9), **options),
        shared_answers=[
            pair._replace(within_first=within[pair.first], within_second=within[pair.second]) for pair in shared
        ],
    )


def beside_people(
    rows: Mapping[str, ParityRows], clusters: Sequence[Hashable] | None, seed: int = 0
) -> list[SystemParity]:
    """Compare all systems with people by what is known of their rows: by meaning and wording, or by wording alone.

    `rows` has by system what the module says of its rows, the baseline first, all of the same rows.
    """
    has_meaning = not any(isinstance(system_rows.distances, NoDistances) for system_rows in rows.values())
    return (systems_beside_people if has_meaning else wordings_beside_people)(rows, clusters, seed)


def systems_beside_people(
    rows: Mapping[str, ParityRows], clusters: Sequence[Hashable] | None, seed: int
) -> list[SystemParity]:
    """Compare all systems with people, by the p-values after Holm's rule over all of them."""
    level = CONFIDENCE_LEVEL if next(iter(rows.values())).distances.n_rows > 1 else None
    options = {"p_value": "chi-squared", "confidence_level": level, "clusters": clusters}
    tails = {
        name: corpus_tails(system_rows.distances, level, clusters, seed=seed) for name, system_rows in rows.items()
    }
    wording = {
        name: None if rows_of.wording is None else corpus_wording(rows_of.wording, clusters, level)
        for name, rows_of in rows.items()
    }
    texts = {name: _text_values(rows_of, tails[name], level, clusters, seed) for name, rows_of in rows.items()}
    results = {
        name: parity_result(rows_of.columns, tails[name], options, wording=wording[name], texts=texts[name])
        for name, rows_of in rows.items()
    }
    p_values = np.array([result["human_parity_p_value"] for result in results.values()])
    adjusted = np.full(len(p_values), np.nan)
    adjusted[~np.isnan(p_values)] = holm_p_values(p_values[~np.isnan(p_values)])
    return [
        SystemParity(
            name=name,
            rows=system_rows,
            tails=tails[name],
            result=results[name],
            adjusted_p_value=float(p_value),
            faults=texts[name].faults,
            length=texts[name].length,
            wording=wording[name],
        )
        for (name, system_rows), p_value in zip(rows.items(), adjusted, strict=True)
    ]


def _text_values(
    rows: ParityRows, tails: CorpusTails | None, level: float | None, clusters: Sequence[Hashable] | None, seed: int
) -> TextValues:
    """Measure the faults and the lengths of a system's texts; `tails` are None where wording alone is compared."""
    options = {"confidence_level": level, "clusters": clusters, "seed": seed}
    sizes = rows.sizes()
    faults = corpus_faults(tails, rows.support, rows.words, sizes, options)
    return TextValues(faults, None if rows.words is None else rows.words.length(clusters, level, np.array(sizes)))


def wordings_beside_people(
    rows: Mapping[str, ParityRows], clusters: Sequence[Hashable] | None, seed: int
) -> list[SystemParity]:
    """Compare all systems with people by their wording alone, as rows with a single reference allow."""
    results, wordings, tails, texts = {}, {}, {}, {}
    keys = ["human_parity_p_value", "gaps_p_value", "tails_p_value", *PEOPLES_COPIES, *TAILS, *MEANS]
    unknown = dict.fromkeys((f"{key}{end}" for key in keys for end in ("", "_ci_low", "_ci_high")), math.nan)
    for name, system_rows in rows.items():
        assert system_rows.wording is not None
        n_rows = len(system_rows.wording.sizes)
        n_clusters = n_rows if clusters is None else len(set(clusters))
        wordings[name] = wording = corpus_wording(system_rows.wording, clusters, CONFIDENCE_LEVEL)
        z = -float(scipy.special.ndtri(max(wording.test.p_value / 2, SMALLEST_P)))
        needed = rows_needed_of_tails([z], n_clusters, n_rows, CONFIDENCE_LEVEL, level=LEVEL / 2)
        needed = RowsNeeded(*np.maximum(needed, float(LEAST_ROWS_OF_WORDING)).tolist())
        results[name] = {**unknown, **wording.result(CONFIDENCE_LEVEL), "n_rows": n_rows}
        results[name] |= with_interval(ROWS, needed, CONFIDENCE_LEVEL)
        texts[name] = _text_values(system_rows, None, CONFIDENCE_LEVEL, clusters, seed)
        results[name] |= texts[name].result(CONFIDENCE_LEVEL, is_tested=True)
        tails[name] = CorpusTails({}, {}, n_clusters, {}, system_rows.distances, clusters, seed)
    adjusted = holm_p_values(np.array([wording.test.p_value for wording in wordings.values()])).tolist()
    return [
        SystemParity(
            name=name,
            rows=rows[name],
            tails=tails[name],
            result=result,
            adjusted_p_value=p_value,
            faults=texts[name].faults,
            length=texts[name].length,
            wording=wordings[name],
        )
        for (name, result), p_value in zip(results.items(), adjusted, strict=True)
    ]
