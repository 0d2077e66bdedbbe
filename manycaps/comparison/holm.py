"""Holm's correction for several tests."""

import numpy as np


def holm_p_values(p_values: np.ndarray) -> np.ndarray:
    """Adjust p-values so that the chance of one false finding among all of them stays below the level.

    The smallest is multiplied by their number n, the next by n - 1, and so on; none falls below a smaller one before
    it, and none exceeds 1 (Holm 1979, https://www.jstor.org/stable/4615733). It holds under any dependence.

    Args:
        p_values: float64 array, shape (n,), 0 to 1.

    Returns:
        float64 array, shape (n,), in the order given.

    >>> holm_p_values(np.array([0.04, 0.01, 0.03])).tolist()
    [0.06, 0.03, 0.06]
    """
    order = np.argsort(p_values, kind="stable")
    factors = len(p_values) - np.arange(len(p_values))
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.minimum(np.maximum.accumulate(factors * p_values[order]), 1.0)
    return adjusted
