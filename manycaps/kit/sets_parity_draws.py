"""Random splits of every row for the test of human parity: p-values of a row, and of few rows."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .sets_gaps import GapsTest, row_gaps
from .sets_splits import TIE_TOLERANCE, Comparison, RowGenerators, SplitsOfRow, split_forms, split_values, splits_of

if TYPE_CHECKING:
    from .sets_parity import ParityCorpus


def parity_comparison(distances: np.ndarray, n_candidates: int) -> Comparison:
    """Compare rows of equal sizes by T2 of each row, for a row's own p-value.

    Args:
        distances: as for `row_columns`, as is the next.
        n_candidates: number of candidates of every row.

    Returns:
        The comparison; T2 is 0 where no split changes the gaps, and has no unit.
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
    scales = np.sqrt(np.diagonal(covariances, axis1=1, axis2=2))  # (n_rows, 2)
    safe = np.where(scales > 0, scales, 1.0)
    correlations = covariances / (safe[:, :, None] * safe[:, None, :])
    inverses = np.linalg.pinv(correlations, rcond=TIE_TOLERANCE, hermitian=True)
    return inverses / (safe[:, :, None] * safe[:, None, :])


def null_gaps(distances: np.ndarray, n_candidates: int, splits: SplitsOfRow) -> Iterable[np.ndarray]:
    """Give both gaps of every row under every split: float64 arrays, shape (2, n_rows, block)."""
    m, n = n_candidates, distances.shape[1] - n_candidates
    within, own = m * (m - 1), n * (n - 1)
    weights = [(0.0, -1 / own, 1 / (m * n)), (1 / within, -1 / own, 0.0)] if m > 1 else [(0.0, -1 / own, 1 / n)]
    forms = [split_forms(distances, *of_pairs) for of_pairs in weights]
    values = [split_values(form, constant, splits) for form, constant in forms]
    if m > 1:
        return (np.stack(blocks) for blocks in zip(*values, strict=True))
    return (np.stack([block, np.zeros_like(block)]) for block in values[0])


class DrawnGaps:
    """Sums over rows of the gaps of a random split of each row, for the p-values of few rows."""

    def __init__(self, options: Mapping[str, Any], n_rows: int):
        """Take p_value, max_partitions, n_resamples and seed, and the number of rows."""
        self._options = options
        # float64 array, shape (n_rows,): the rows' own p-values.
        self.p_values = np.empty(n_rows)
        self._generators = RowGenerators([options["seed"]])
        self._sums = np.zeros((2, options["n_resamples"]))

    def add(
        self, distances: np.ndarray, size: tuple[int, int], rows: Sequence[int], row_key: Callable[[int], bytes]
    ) -> None:
        """Add rows of equal sizes.

        Args:
            distances: as for `row_columns`.
            size: (n_candidates, n_references).
            rows: their numbers.
            row_key: from the number of a row to what its draws depend on, see `row_keys`.
        """
        splits = splits_of(size, self._options)
        inverses = _inverses(row_gaps(distances, size[0]).covariance)
        for i, row in enumerate(rows):
            nulls = np.concatenate(list(null_gaps(distances[i : i + 1], size[0], splits)), axis=2)[:, 0]
            drawn = self._generators.of(row_key(row)).integers(nulls.shape[1], size=self._options["n_resamples"])
            self._sums += nulls[:, drawn]
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
