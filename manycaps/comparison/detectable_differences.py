"""What the paired test of two systems' gaps detects 80 % of the time: more wrong captions, or a shift of all rows.

Wrong captions do not move all rows alike. With w the chance that a caption of m is wrong, and k of them wrong in a row,
the fidelity gap f of the row moves by k / m (g - f), where g is the gap of a caption of another row beside these
references, and the diversity gap v by (1 - C(m - k, 2) / C(m, 2)) (g - v), as a wrong caption lies as far from another
caption as from a reference. If all captions of a row are those of one other row, with the chance w, f moves by g - f,
and v not. The moves' mean over rows and k, and their covariance with the rows' differences d, which they widen, are
finite sums; the test of n rows has the noncentrality n mean' (cov d)^-1 mean, and w is what makes it large enough. With
single captions, x = w delta, spread s0 of d, and mean delta and spread sd of the moves, that is
x^2 n = lambda (s0^2 + w (1 - w) delta^2 + w (sd^2 - s0^2)).
"""

import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import scipy.optimize
import scipy.special

from manycaps.comparison.mean_intervals import POWER
from manycaps.kit.base import Floats, Ints
from manycaps.kit.caption_sets import cluster_numbers, mean_of_rows
from manycaps.kit.parity_tails import TAIL, Distances, KeptDistances, noncentrality_of_f, tail_distances
from manycaps.kit.parity_tests import GAPS, row_gaps, sums_of_clusters

if TYPE_CHECKING:
    from manycaps.comparison.parity import SystemParity

# Clusters whose sign patterns are all enumerated: at most as many as are drawn by default.
MOST_ENUMERATED = 14

# Quantiles of a normal distribution that stand for it.
N_POINTS = 32

# Rows in which a caption of another row is compared with the references.
N_WRONG_ROWS = 200


class WrongCaptions(NamedTuple):
    """Captions of other rows beside the references of a row."""

    # Different rows, and the fidelity gap of a caption of another row in each: arrays of shape (n,).
    rows: Ints
    gaps: Floats
    # Of that caption and the references of each.
    distances: Distances

    @classmethod
    def of_distances(cls, rows: Ints, distances: Sequence[np.ndarray]) -> "WrongCaptions":
        """Take the distances of the wrong caption of each row, which is the first text, and its references."""
        gaps, kept = np.empty(len(rows)), KeptDistances(len(rows))
        for i, matrix in enumerate(distances):
            gaps[i] = row_gaps(matrix[None], 1).fidelity[0]
            kept.add(matrix[None], 1, [i])
        return cls(rows, gaps, kept)


class PairTests(NamedTuple):
    """The tests of a pair of systems."""

    # Levels of the test of the gaps, and of each of the shares.
    level_of_gaps: float
    level_of_shares: float
    # The share of faults that is tested; None where shares are not.
    share: str | None
    # Random sign patterns.
    n_resamples: int

    def attainable(self, n_clusters: int) -> float:
        """Return the largest level up to that of the gaps which sign flips can have; 0 for none."""
        if n_clusters <= MOST_ENUMERATED:
            return math.floor(self.level_of_gaps * 2 ** (n_clusters - 1)) / 2 ** (n_clusters - 1)
        return self.level_of_gaps if self.level_of_gaps >= 1 / (self.n_resamples + 1) else 0.0


class Detectable(NamedTuple):
    """Differences of two systems that are detected with a power of 80 %, after Holm's rule over all pairs as well."""

    # Of the fidelity gaps, if all rows share it, whatever that of the diversity gaps is; infinity where there are too
    # few rows to distinguish any two systems, NaN where gaps do not vary; and the least number of rows that suffices.
    gap: float
    least_rows: int
    # How many more captions are wrong, and in how many more rows all captions are those of one other row: shares, 0 to
    # 1; NaN where that is not known, infinity where all of them would not suffice.
    wrong_captions: float = math.nan
    wrong_rows: float = math.nan


def other_rows(n_rows: int, clusters: Sequence[Hashable] | None, n_chosen: int, seed: int) -> tuple[Ints, Ints]:
    """Draw different rows, n_chosen at most, and for each one another row, of another cluster; none of one cluster.

    >>> rows, others = other_rows(3, ["a", "a", "b"], 10, seed=0)
    >>> rows.tolist(), others[:2].tolist()
    ([0, 1, 2], [2, 2])
    """
    rng = np.random.default_rng(seed)
    numbers = np.arange(n_rows) if clusters is None else cluster_numbers(clusters)
    rows = np.sort(rng.permutation(n_rows)[: n_chosen if numbers.any() else 0])
    return rows, np.array([rng.choice(np.flatnonzero(numbers != numbers[row])) for row in rows], dtype=np.int64)


def detectable_differences(
    differences: Floats,
    clusters: Sequence[Hashable] | None,
    tests: PairTests,
    systems: "Sequence[SystemParity]" = (),
    wrong: WrongCaptions | None = None,
) -> Detectable:
    """Compute what is detected of two systems.

    `differences` are those of the rows' gaps, first minus second of the `systems`, shape (n_rows, 2). Of the shares of
    wrong captions in either system the larger one is returned.
    """
    numbers = np.arange(len(differences)) if clusters is None else cluster_numbers(clusters)
    n, varies = int(numbers.max()) + 1, np.flatnonzero(differences.any(axis=0))
    k = max(1, len(varies))
    least_rows = max(k + 1, math.ceil(1 - math.log2(tests.level_of_gaps)))
    level = tests.attainable(n)
    if not level or n <= k:
        return Detectable(math.inf, least_rows)
    labels = numbers.tolist()
    error = mean_of_rows(differences[:, 0], labels).standard_error
    if not error > 0:
        return Detectable(math.nan, least_rows)
    wanted = noncentrality_of_f(k, n - k, level, POWER)
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
    found = []
    for sign, system in zip((1, -1), systems, strict=True):
        for moved, chances in _moves(system, wrong, tests.share):
            mixture = _Mixture(sign * columns, labels, wrong.rows, moved[..., chosen], chances, least)
            found.append(mixture.least_share())
    return Detectable(gap, least_rows, max(found[::2]), max(found[1::2]))


# From a share of wrong captions to the chance of each number of them, (n_numbers, n_rows).
Chances = Callable[[float], Floats]


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
            unlike[block.rows] = threshold.shares(tail_distances(block.distances, 1).candidates).mean(axis=(1, 2))
        if share == "faulty_share":
            unlike += TAIL * (1 - unlike)  # of odd wording, as people's captions are
        unlike -= system.shares[share].rows[wrong.rows]
    part = np.minimum(n_wrong / m, 1)
    of_pairs = 1 - scipy.special.comb(np.maximum(m - n_wrong, 0), 2) / np.maximum(scipy.special.comb(m, 2), 1)

    def binomial(chance: float) -> Floats:
        others: Floats = (1 - chance) ** np.maximum(m - n_wrong, 0)
        return scipy.special.comb(m, n_wrong) * chance**n_wrong * others

    yield np.stack([part * steps[0], of_pairs * steps[1], part * unlike], axis=-1), binomial
    whole = np.zeros((2, len(m), 3))
    whole[1, :, 0], whole[1, :, 2] = steps[0], unlike
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
        self._of_mean, self._n_rows = sums.T @ sums * n / (n - 1) / n_rows**2, n_rows
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
        of_rows = np.einsum("ki,kia,kib->ab", weights, both, both) - np.outer(mean, mean)
        of_mean = self._of_mean + (of_rows - own.T @ own / len(own)) / self._n_rows
        # sqrt(T2) and t as means and covariances say, and how a row moves them: the mean, and the covariance.
        sizes, moves = [], []
        k = len(mean) - len(self._least) + 1
        for part in (slice(0, k), slice(k, None))[: len(self._least)]:
            direction = np.linalg.pinv(of_rows[part, part], hermitian=True) @ mean[part]
            squared, of_row = float(mean[part] @ direction), (both - mean)[..., part] @ direction
            moves.append((2 * of_row - of_row**2 + squared) / (2 * math.sqrt(squared or 1.0)))
            of_sums = mean[part] @ np.linalg.pinv(of_mean[part, part], hermitian=True) @ mean[part]
            sizes.append(math.sqrt(max(0.0, of_sums)))
        spread = np.einsum("ki,xki,yki->xy", weights, np.array(moves), np.array(moves)) + 1e-9 * np.eye(len(moves))
        lacking = (self._least - sizes) / np.sqrt(np.diagonal(spread))
        missed = float(scipy.special.ndtr(lacking[0]))
        if len(sizes) == 1:
            return 1 - missed
        correlation = spread[0, 1] / math.sqrt(spread[0, 0] * spread[1, 1])
        points = scipy.special.ndtri(missed * (np.arange(N_POINTS) + 0.5) / N_POINTS)
        residual = math.sqrt(max(1e-9, 1 - correlation**2))
        return 1 - missed * float(scipy.special.ndtr((lacking[1] - correlation * points) / residual).mean())
