"""How many wrong captions a comparison detects: the shares at which its tests have the power asked for."""

import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import scipy.special

from manycaps.comparison.wrong_captions import WrongCaptions
from manycaps.kit.arrays import Floats, Ints
from manycaps.kit.paired_tests import MOST_ENUMERATED, attainable_level
from manycaps.kit.parity_corpus import GAPS
from manycaps.kit.parity_gaps import POWER, noncentrality_of_f, sums_of_clusters
from manycaps.kit.parity_tails import TAIL, TailDistances
from manycaps.kit.sets_tests import cluster_numbers, mean_of_rows

if TYPE_CHECKING:
    from manycaps.comparison.system_parity import SystemParity


# Quantiles of a normal distribution that stand for it.
N_POINTS = 32


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
