"""Two systems beside people on the same rows: whether they differ, by one test of both gaps, and how."""

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from manycaps.comparison.mean_intervals import LEVEL, POWER
from manycaps.comparison.paired_tests import CONFIDENCE_LEVEL, holm_p_values, paired_tests
from manycaps.kit.sets_gaps import sums_of_clusters
from manycaps.kit.sets_intervals import interval_of_rows, mean_of_rows
from manycaps.kit.sets_parity import GAPS
from manycaps.kit.sets_parity_power import noncentrality

# Shares that say how two systems differ: more than people's is worse.
SHARES = ("unlike_people_share", "central_share", "repeat_share")

# Clusters whose sign patterns are all enumerated: at most as many as are drawn by default.
MOST_ENUMERATED = 14

# Signs held at once, 8 bytes each.
MAX_SIGNS = 4_000_000


class Side(NamedTuple):
    """A system of a pair."""

    name: str
    # Values of its rows, and its numbers with their intervals; see `SystemParity`.
    columns: Mapping[str, np.ndarray]
    result: Mapping[str, Any]
    # Whether its captions stand among the references.
    copies: bool


class ShareTest(NamedTuple):
    """A share of two systems."""

    # One of `SHARES`, and its mean in both systems.
    key: str
    first: float
    second: float
    # Paired test, after Holm's rule over all shares and pairs that are tested.
    p_value: float
    # The system with less of it, where the test holds and the other one has more than people; else None.
    better: str | None


class ParityPair(NamedTuple):
    """Two systems."""

    first: str
    second: str
    # Joint paired test of the rows' gaps, before and after Holm's rule over all pairs.
    p_value: float
    adjusted_p_value: float
    # Where the joint test holds, how they differ.
    shares: Sequence[ShareTest]
    # Difference of the fidelity gaps that the joint test finds 80 % of the time, after Holm's rule as well.
    detectable_gap: float
    # Names of the systems whose captions stand among the references: then they are not ranked.
    copying: Sequence[str]
    # Fidelity and diversity gap of both systems.
    gaps: tuple[tuple[float, float], tuple[float, float]]
    # Whether both gaps are shown to differ by less than the margin; None where no margin was given.
    within_margin: bool | None

    @property
    def kind(self) -> str:
        """What is said: "copies", "alike", "dominates", "trade-off", or "gaps" where no share says how they differ."""
        if self.copying:
            return "copies"
        if self.adjusted_p_value > LEVEL:
            return "alike"
        better = {share.better for share in self.shares} - {None}
        return ("gaps", "dominates", "trade-off")[len(better)]

    @property
    def better(self) -> str | None:
        """The system that is better in one share and worse in none, if there is one."""
        return next(share.better for share in self.shares if share.better) if self.kind == "dominates" else None

    def to_dict(self) -> dict[str, Any]:
        """Return every number."""
        return {
            **self._asdict(),
            "shares": [share._asdict() for share in self.shares],
            "copying": list(self.copying),
            "kind": self.kind,
            "better": self.better,
        }


def compared_pairs(
    systems: Sequence[Side],
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
    p_values = joint_sign_flip_tests([sums_of_clusters(each, labels) for each in differences], n_resamples, seed)
    adjusted = holm_p_values(np.array(p_values))
    shares = _share_tests(systems, [pair for pair, p in zip(chosen, adjusted, strict=True) if p <= LEVEL], clusters)
    return [
        ParityPair(
            systems[i].name,
            systems[j].name,
            p_value,
            float(p_adjusted),
            shares.get((i, j), []),
            _detectable(each, clusters, len(chosen)),
            [systems[side].name for side in (i, j) if systems[side].copies],
            (_gaps(systems[i].result), _gaps(systems[j].result)),
            None if margin is None else _is_within(each, clusters, margin),
        )
        for (i, j), each, p_value, p_adjusted in zip(chosen, differences, p_values, adjusted, strict=True)
    ]


def _gaps(result: Mapping[str, Any]) -> tuple[float, float]:
    return result[GAPS[0]], result[GAPS[1]]


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
    inverses = [np.linalg.pinv(each.T @ each, rcond=1e-9, hermitian=True) for each in sums]
    observed = [
        float(each.sum(axis=0) @ inverse @ each.sum(axis=0)) for each, inverse in zip(sums, inverses, strict=True)
    ]
    reached, n_patterns = np.zeros(len(sums)), 0
    for signs in _sign_patterns(len(sums[0]), n_resamples, seed):
        n_patterns += len(signs)
        for i, (each, inverse) in enumerate(zip(sums, inverses, strict=True)):
            flipped = signs @ each  # (n_patterns, 2)
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


def _share_tests(
    systems: Sequence[Side], pairs: Sequence[tuple[int, int]], clusters: Sequence[Hashable] | None
) -> dict[tuple[int, int], list[ShareTest]]:
    """Paired tests of the shares of the pairs that differ, by Holm's rule over all of them."""
    tests = []
    for i, j in pairs:
        for key in SHARES:
            first, second = systems[i].columns[key], systems[j].columns[key]
            known = ~(np.isnan(first) | np.isnan(second))
            if known.sum() > 1:
                labels = (
                    None if clusters is None else [c for c, is_known in zip(clusters, known, strict=True) if is_known]
                )
                tests.append(((i, j), key, paired_tests(first[known, None], second[known, None], labels)[0]))
    adjusted = holm_p_values(np.array([test.p_value for _, _, test in tests]))
    found: dict[tuple[int, int], list[ShareTest]] = {}
    for ((i, j), key, test), p_value in zip(tests, adjusted.tolist(), strict=True):
        worse, other = (systems[i], systems[j]) if test.difference > 0 else (systems[j], systems[i])
        is_found = p_value <= LEVEL and is_above_people(worse.result, key)
        values = (systems[i].result[key], systems[j].result[key])
        found.setdefault((i, j), []).append(ShareTest(key, *values, p_value, other.name if is_found else None))
    return found


def is_above_people(result: Mapping[str, Any], key: str) -> bool:
    """Whether a share's interval lies above what people give."""
    return bool(result.get(f"{key}_ci_low", math.nan) > result.get(f"{key}_of_people", 0.0))


def _detectable(differences: np.ndarray, clusters: Sequence[Hashable] | None, n_pairs: int) -> float:
    """Difference of the fidelity gaps that the joint test finds, whatever that of the diversity gaps is."""
    error = mean_of_rows(differences[:, 0], clusters).standard_error
    degrees = max(1, int(np.count_nonzero(differences.any(axis=0))))
    return math.sqrt(noncentrality(degrees, LEVEL / n_pairs, POWER)) * error if error > 0 else math.nan


def _is_within(differences: np.ndarray, clusters: Sequence[Hashable] | None, margin: float) -> bool:
    """Whether both gaps are shown to differ by less than the margin: two one-sided tests of each at 5 %."""
    if len(differences) < 2:
        return False
    level = 2 * CONFIDENCE_LEVEL - 1
    ends = [end for column in differences.T for end in interval_of_rows(column, level, clusters)]
    return all(-margin < end < margin for end in ends)
