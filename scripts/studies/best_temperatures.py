"""Where a curve over the temperature is best, intervals over seeds, and the scenes that a test needs."""

import math
from collections.abc import Sequence

import numpy as np
import scipy.stats

CONFIDENCE = 0.95

# Level of a test of two sides, and its power.
LEVEL, POWER = 0.05, 0.8


def best_temperature(temperatures: np.ndarray, values: np.ndarray, best: str) -> float:
    """Return the temperature at which a curve is best.

    Between the points a parabola through the best point and its neighbours is followed, and for "zero" the line between
    the two points around the first crossing; a curve that is best at an end is best there. `best` is "lowest",
    "highest" or "zero"; temperatures rise.

    >>> best_temperature(np.array([0.0, 1.0, 2.0]), np.array([1.0, 0.0, 3.0]), "lowest")
    0.75
    >>> best_temperature(np.array([0.0, 1.0, 2.0]), np.array([-1.0, 3.0, 4.0]), "zero")
    0.25
    """
    if best == "zero":
        crossings = np.flatnonzero(np.diff(np.sign(values)))
        if not len(crossings):
            return float(temperatures[np.abs(values).argmin()])
        i = int(crossings[0])
        share = values[i] / (values[i] - values[i + 1])
        return float(temperatures[i] + share * (temperatures[i + 1] - temperatures[i]))
    lowest = values if best == "lowest" else -values
    i = int(lowest.argmin())
    if i in (0, len(values) - 1):
        return float(temperatures[i])
    # In the distance from the best point, so that the top is -b / 2a.
    near = slice(i - 1, i + 2)
    (x0, _, x2), (y0, _, y2) = temperatures[near] - temperatures[i], lowest[near] - lowest[i]
    a, b = (y0 / x0 - y2 / x2) / (x0 - x2), (y2 * x0 / x2 - y0 * x2 / x0) / (x0 - x2)
    return float(temperatures[i] - b / (2 * a)) if a > 0 else float(temperatures[i])


def interval(values: Sequence[float] | np.ndarray) -> tuple[float, float, float]:
    """Return the mean over seeds and the ends of its 95% interval, by Student's t; NaN with one seed.

    >>> [round(end, 2) for end in interval([1.0, 2.0, 3.0])]
    [2.0, -0.48, 4.48]
    """
    n = len(values)
    mean = math.fsum(values) / n
    if n < 2:
        return mean, math.nan, math.nan
    half = float(scipy.stats.t.ppf((1 + CONFIDENCE) / 2, n - 1)) * float(np.std(values, ddof=1)) / math.sqrt(n)
    return mean, mean - half, mean + half


def scenes_needed(effects: Sequence[float], deviations: Sequence[float]) -> float:
    """Return the scenes with which a paired test of two systems finds a difference; NaN where it may be chance.

    n = ((1.960 + 0.842) s / d)^2, d the mean difference of two systems and s the standard deviation of the scenes'
    differences.

    >>> round(scenes_needed([0.5, 0.5, 0.5], [1.0, 1.0, 1.0]), 1)
    31.4
    """
    effect, low, high = interval(effects)
    if not (low > 0 or high < 0):
        return math.nan
    variance = math.fsum(deviation**2 for deviation in deviations) / len(deviations)
    quantiles = scipy.stats.norm.ppf([1 - LEVEL / 2, POWER])
    return float(quantiles.sum() ** 2 * variance / effect**2)
