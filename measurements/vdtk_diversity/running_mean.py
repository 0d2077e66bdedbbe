"""The mean of a stream of values, with or without the values themselves."""

import math

import numpy as np


class RunningMean:
    """Mean over all rows or captions for which a value is defined; NaN stands for "not defined" and is left out.

    >>> mean = RunningMean(keep=True)
    >>> mean.update(np.array([1.0, np.nan]))
    >>> mean.update(np.array([2.0]))
    >>> mean.value, mean.n_defined, mean.values.tolist()
    (1.5, 2, [1.0, nan, 2.0])
    """

    def __init__(self, keep: bool = False) -> None:
        self._total = [0.0, 0.0]  # the sum, and what rounding took from it
        self._kept: list[np.ndarray] | None = [] if keep else None
        self.n_defined = 0

    def update(self, values: np.ndarray) -> None:
        """Take in values: float64 array, shape (n,), NaN where not defined."""
        defined = values[~np.isnan(values)].tolist()
        # Twice the digits of a float, so that neither the order nor the chunks can change the last digit of the mean.
        total = math.fsum([*self._total, *defined])
        self._total = [total, math.fsum([*self._total, *defined, -total])]
        self.n_defined += len(defined)
        if self._kept is not None:
            self._kept.append(values)

    @property
    def value(self) -> float:
        """The mean; NaN if no value was defined."""
        return math.fsum(self._total) / self.n_defined if self.n_defined else math.nan

    @property
    def values(self) -> np.ndarray:
        """All values in the order of their arrival, shape (n,); empty without `keep`."""
        return np.concatenate([np.empty(0), *(self._kept or [])])
