"""Two systems compared as to people: paired tests of every gap and share, and of faults."""

import dataclasses
import itertools
import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from tqdm import tqdm

from manycaps.comparison.parity_detectable import Detectable, PairTests, detectable_differences
from manycaps.comparison.system_parity import FAULTS, are_within, labels_of
from manycaps.comparison.wrong_captions import WrongCaptions
from manycaps.kit.paired_tests import MeanTest, holm_p_values, joint_sign_flip_tests, mean_tests, nearer_tests
from manycaps.kit.parity_corpus import GAPS
from manycaps.kit.parity_faults import more_faults_than, smallest_of
from manycaps.kit.parity_gaps import (
    LEVEL,
    WEIGHT_OF_TAILS,
    joint_p_value,
    level_of_distances,
    level_of_gaps,
    sums_of_clusters,
)
from manycaps.kit.parity_tails import TailShare
from manycaps.kit.sets_tests import mean_interval, mean_of_rows

if TYPE_CHECKING:
    from manycaps.comparison.parity_detectable import KnownMoves
    from manycaps.comparison.system_parity import SystemParity


# Values of rows that are tested together.
VALUES_AT_ONCE = 1 << 22


# Pairs of 16 systems, and draws for each pair where there are more of them.
MANY_PAIRS, DRAWS_A_PAIR = 120, 40


def enough_resamples(n_resamples: int, n_pairs: int) -> int:
    """Return how many sign patterns to draw, so that a p-value after Holm's rule over many pairs can be small.

    The smallest p-value of n draws is 1 / (n + 1): 9,999 find nothing among the 780 pairs of 40 systems. Fewer than
    `MANY_PAIRS` take what was asked for.

    >>> enough_resamples(9_999, 120), enough_resamples(9_999, 780)
    (9999, 31200)
    """
    return n_resamples if n_pairs <= MANY_PAIRS else max(n_resamples, DRAWS_A_PAIR * n_pairs)


# Shares other than faults of which pairs are tested, where both systems have them.
LIKENESS = ("generic_share", "predictable_share", "near_duplicate_share")


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
                labels = labels_of(clusters, known)
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
    """Give a system with more faults no credit for fewer generic captions that its faults explain.

    Wrong captions are seldom generic. Half of its captions or more must be no faults, and at least half of the
    difference must remain if generic captions are counted among these alone.
    """
    faults = next((test for test in tests if test.key == FAULTS and test.better), None)
    credited = []
    for test in tests:
        if faults and test.key == "generic_share" and test.better not in (None, faults.better):
            side = names.index(str(test.better))
            good = 1 - (faults.first, faults.second)[side]
            generic, others = (test.first, test.second)[side], (test.first, test.second)[1 - side]
            if good < 0.5 or others - generic / good < (others - generic) / 2:
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
