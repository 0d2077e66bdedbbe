"""What is said of all rows together: the permutation test of their mean, and combined p-values.

The corpus is tested by the mean over rows, with one split of every row drawn independently (see above). So
its test grows with the evidence, where a combination of the rows' p-values cannot fall below the smallest p-value
that one row can have.
"""

import collections
import itertools
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .arrays import plain_arguments
from .sets_splits import TIE_TOLERANCE, Comparison, RowGenerators, as_p_values, split_p_values, splits_of

# Null values held at once, 8 bytes each; one row's are always held together.
MAX_NULL_VALUES = 8_000_000


class RowTests(NamedTuple):
    """Tests of every row by its splits: arrays of shape (n_rows,), or other collections of as many floats."""

    # The rows' p-values.
    p_values: Collection[float]
    # Each value minus the mean of its row's null values.
    excesses: Collection[float]
    # Variance of the null values; 0 where they differ by rounding alone.
    variances: Collection[float]
    # The unit of the null values.
    units: Collection[float]


class CorpusTest(NamedTuple):
    """Tests of every row by its splits, and of the mean over rows."""

    # As in `RowTests`.
    p_values: Collection[float]
    excesses: Collection[float]
    # p-value of the mean over rows; one row's own p-value.
    corpus_p_value: float
    # Distance of the mean over rows from its null mean, in null standard deviations; NaN where no split changes it.
    z: float
    # Smallest p-values that one of the rows, and the corpus, can have with sets of these sizes; the corpus's by all
    # splits, around whose p-value the p-value by draws scatters.
    smallest_p: float
    smallest_corpus_p: float


class RowTester:
    """Takes the null values of all rows, in batches of rows of equal sizes, and keeps what the tests need.

    Memory: a number per row and one per resample, never their product. A row's draws depend on the seed, on its content
    and on how many equal rows came before, so the order of the rows changes nothing.
    """

    def __init__(
        self,
        sizes: Sequence[tuple[int, int]],
        options: Mapping[str, Any],
        n_earlier: "collections.Counter[bytes] | None" = None,
    ):
        """Look up the splits of every size.

        Args:
            sizes: (n_candidates, n_references) of each row.
            options: p_value ("exact" or "permutation"), max_partitions, n_resamples and seed.
            n_earlier: how often keys came before, if these rows are a part of a corpus; their keys are added.

        Raises:
            ValueError: p_value is "exact" and a row has more than max_partitions splits.
        """
        self.splits = {size: splits_of(size, options, mirrored=False) for size in dict.fromkeys(sizes)}
        self.n_splits = {size: _n_splits(size, options) for size in self.splits}
        # Smallest p-values that rows can have, up to the draws, and how many rows each.
        smallest = {size: _smallest_p_value(size, self, options) for size in self.splits}
        self.smallest = collections.Counter(smallest[size] for size in sizes)
        self.n_draws, self._is_drawn = options["n_resamples"], options["p_value"] == "permutation"
        # float64 array, shape (n_draws,): sums over rows of the null value that each draw takes.
        self.drawn_sums = np.zeros(self.n_draws)
        self._generators = RowGenerators([options["seed"]], n_earlier)
        self._p_values, self._means, self._variances, self._units = np.empty((4, len(sizes)))

    def add(
        self, size: tuple[int, int], rows: Sequence[int], row_key: Callable[[int], bytes], compared: Comparison
    ) -> None:
        """Add rows of equal sizes: their numbers in the corpus, and their comparison.

        Two values within `TIE_TOLERANCE` units of their row are equal.
        """
        units = compared.row_units
        observed = compared.statistic / units
        n_rows = max(1, MAX_NULL_VALUES // self.n_splits[size])
        for start in range(0, len(rows), n_rows):
            part = slice(start, start + n_rows)
            nulls = np.concatenate(
                list(compared.null_values(part, self.splits[size])), axis=1
            )  # (rows of the part, n_splits)
            places = rows[part]
            self._p_values[places] = split_p_values(observed[part], [nulls])
            # Where splits are drawn, the first is the observed one and not a draw: with few draws it would shift the
            # mean.
            draws = nulls[:, 1:] if self._is_drawn else nulls
            self._means[places] = draws.mean(axis=1) * units[part]
            deviations = draws.std(axis=1)
            self._variances[places] = (np.where(deviations > TIE_TOLERANCE, deviations, 0.0) * units[part]) ** 2
            self._units[places] = units[part]
            for i, values, unit in zip(places, nulls, units[part], strict=True):
                drawn = self._generators.next_generator(row_key(i)).integers(len(values), size=self.n_draws)
                self.drawn_sums += unit * values[drawn]

    def row_tests(self, values: np.ndarray) -> RowTests:
        """Test every row by the observed statistics, float64, shape (n_rows,), in their own unit."""
        return RowTests(self._p_values, values - self._means, self._variances, self._units)

    def test(self, values: np.ndarray) -> CorpusTest:
        """Test every row and the mean over rows; `values` is as for `row_tests`."""
        return mean_test(values, self.row_tests(values), self.drawn_sums, self.smallest)


def mean_test(
    values: Collection[float], rows: RowTests, drawn_sums: np.ndarray, smallest: Mapping[float, int]
) -> CorpusTest:
    """Test the mean over rows.

    p = (1 + number of drawn means that reach the observed one) / (n_resamples + 1), ties within the tolerance
    counted (Phipson and Smyth 2010, https://doi.org/10.2202/1544-6115.1585). One row keeps its own p-value. The order
    of the rows changes the sums of draws by their rounding, far below the tolerance; all other sums are exact.

    `values` are the n_rows observed statistics in their own unit, `drawn_sums`, shape (n_resamples,), the sums over
    rows of a null value each, and `smallest` the smallest p-values that rows can have, with the number of rows of each.
    """
    tolerance = TIE_TOLERANCE * math.fsum(rows.units)
    n_reached = int(np.count_nonzero(drawn_sums >= math.fsum(values) - tolerance))
    one_row = len(values) == 1
    least = 0.0 if one_row else 1 / (1 + len(drawn_sums))
    deviation = math.sqrt(math.fsum(rows.variances))
    logarithms = (itertools.repeat(math.log(p_value), n_rows) for p_value, n_rows in smallest.items())
    return CorpusTest(
        rows.p_values,
        rows.excesses,
        corpus_p_value=float(next(iter(rows.p_values))) if one_row else (1 + n_reached) / (1 + len(drawn_sums)),
        z=math.fsum(rows.excesses) / deviation if deviation > 0 else math.nan,
        smallest_p=min(smallest),
        smallest_corpus_p=max(math.exp(math.fsum(itertools.chain.from_iterable(logarithms))), least),
    )


def _n_splits(size: tuple[int, int], options: Mapping[str, Any]) -> int:
    """Number of splits that `splits_of` gives without mirror images."""
    if options["p_value"] == "permutation":
        return int(options["n_resamples"]) + 1
    return math.comb(sum(size), size[0]) // (2 if size[0] == size[1] else 1)


def _smallest_p_value(size: tuple[int, int], rows: RowTester, options: Mapping[str, Any]) -> float:
    """Share of the splits that leave the two sets as they are: a lower bound of p-values of this size.

    Sets of equal sizes may also change places: no statistic of this collection can tell which is which.
    """
    if options["p_value"] == "exact":
        return 1 / rows.n_splits[size]
    observed = np.arange(sum(size)) < size[0]
    sets_alike = [observed, ~observed] if size[0] == size[1] else [observed]
    n_alike = sum(
        int(np.count_nonzero((labels == names).all(axis=1)))
        for labels in rows.splits[size](1024)
        for names in sets_alike
    )
    return n_alike / rows.n_splits[size]


@plain_arguments
def harmonic_mean_p(p_values: npt.ArrayLike) -> float:
    """Return the harmonic mean of p-values, equal weights (Wilson 2019): approximately a p-value while it is small.

    `combined_p_value` is the calibrated one.

    Args:
        p_values: as for `combined_p_value`.

    Returns:
        Float above 0 and at most 1.

    Raises:
        ValueError: as for `combined_p_value`.

    >>> round(harmonic_mean_p([0.5, 0.1]), 4)
    0.1667
    """
    values = as_p_values(p_values, at_least_one=True).tolist()
    # Exact, whatever the order of the rows; by a power of 2, whose reciprocals stay in the range of float64.
    return len(values) / math.fsum(1 / (value * 2.0**200) for value in values) / 2.0**200


@plain_arguments
def combined_p_value(p_values: npt.ArrayLike) -> float:
    """Return the p-value of "every row's candidates and references share a distribution", asymptotically exact.

    Wilson (2019, https://doi.org/10.1073/pnas.1814092116), equation 4: 1 / harmonic mean of L p-values tends
    to a Landau distribution with location log L + 1 - gamma - log(2 / pi), which is log L + 0.874, and scale pi / 2. It
    holds under any dependence between rows that is not strongly negative, and gets better as p falls.

    Args:
        p_values: shape (n_rows,), at least one, each above 0 and at most 1.

    Returns:
        Float between 0 and 1. One row: its own p-value.

    Raises:
        ValueError: no p-values, or one that is not above 0 and at most 1.

    >>> round(combined_p_value([0.5, 0.1]), 4)
    0.2316
    """
    p_values = as_p_values(p_values, at_least_one=True)
    if len(p_values) == 1:
        return float(p_values[0])
    location = math.log(len(p_values)) + 1 - np.euler_gamma - math.log(2 / math.pi)
    from scipy import stats  # takes 0.4 s

    harmonic = harmonic_mean_p(p_values)
    # The tail is the mean itself where 1 / mean leaves the range of float64.
    return float(stats.landau.sf(1 / harmonic, location, math.pi / 2)) or harmonic
