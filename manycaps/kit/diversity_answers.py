"""Different answers: how many classes of equivalent texts a set has, after NoveltyBench.

Zhang et al. (2025), https://arxiv.org/abs/2504.05228, section 3. distinct_k is the number of classes among k texts, and
utility_k = (1 - p) / (1 - p^k) sum over i = 1..k of p^(i - 1) [text i is of a class that has not come before], with the
patience p = 0.8 and every text worth 1. Of m texts, with s_c in class c, the mean over all choices of k and all orders
is exact: text i is of a new class with probability sum over c of s_c / m C(m - s_c, i - 1) / C(m - 1, i - 1). Classes
are connected components: texts that are equivalent to the same text are of one class. `tests/oracles` enumerates.
"""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse.csgraph

from .base_messages import shown_value
from .base_module import check_is_number
from .base_types import Floats

# Probability of asking for another text, in utility_k.
PATIENCE = 0.8

# Two distances this near are equal.
TIE_TOLERANCE = 1e-9

# Whether two texts say the same.
Equivalence = Callable[[str, str], object]


def answer_values(class_sizes: Sequence[int], k: int) -> tuple[float, float]:
    """Return distinct_k, 1 to k, and utility_k, above 0 to 1, of a set with classes of these sizes, together k or more.

    >>> [round(value, 4) for value in answer_values([2, 1], 2)]
    [1.6667, 0.8519]
    """
    m = sum(class_sizes)
    are_new = [
        math.fsum(size / m * math.comb(m - size, i) / math.comb(m - 1, i) for size in class_sizes) for i in range(k)
    ]
    weights = [PATIENCE**i for i in range(k)]
    return math.fsum(are_new), math.fsum(map(float.__mul__, weights, are_new)) / math.fsum(weights)


def class_sizes(are_equivalent: np.ndarray) -> list[int]:
    """Return the sizes of the connected components of a symmetric boolean array, shape (n, n).

    >>> class_sizes(np.array([[1, 1, 0], [1, 1, 0], [0, 0, 1]], dtype=bool))
    [2, 1]
    """
    _, labels = scipy.sparse.csgraph.connected_components(are_equivalent, directed=False)
    return np.bincount(labels).tolist()


def near_texts(texts: Sequence[str], vectors: Mapping[str, Floats], threshold: float) -> np.ndarray:
    """Say which texts are at a cosine distance of at most `threshold`, ties within 1e-9 included: bool, shape (n, n).

    `vectors` are of length 1. Equal texts are near.
    """
    unit = np.stack([vectors[text] for text in texts])
    return np.asarray((1 - unit @ unit.T <= threshold + TIE_TOLERANCE) | _are_equal(texts))


def judged_texts(texts: Sequence[str], equivalent: Equivalence) -> np.ndarray:
    """Ask a function about every two different texts, in the order of the alphabet, once. Bool, shape (n, n)."""
    distinct = sorted(set(texts))
    place = {text: i for i, text in enumerate(distinct)}
    answers = np.eye(len(distinct), dtype=bool)
    for i, j in itertools.combinations(range(len(distinct)), 2):
        answer = equivalent(distinct[i], distinct[j])
        if not isinstance(answer, bool | np.bool_):
            raise TypeError(
                f"equivalent: expected True or False of two texts, got {shown_value(answer)} for "
                f"{shown_value(distinct[i])} and {shown_value(distinct[j])}. Return a bool."
            )
        answers[i, j] = answers[j, i] = answer
    of_texts = [place[text] for text in texts]
    return answers[np.ix_(of_texts, of_texts)]


def _are_equal(texts: Sequence[str]) -> np.ndarray:
    array = np.array(texts, dtype=object)
    return np.asarray(array[:, None] == array[None, :])


def chosen_k(k: int | None, sides: Mapping[str, Sequence[Sequence[str]]]) -> int:
    """Return k, or without it the smallest number of texts of any set; raise for the first set that has fewer."""
    if k is None:
        return min(len(row) for rows in sides.values() for row in rows)
    for name, rows in sides.items():
        for i, row in enumerate(rows):
            if len(row) < k:
                raise ValueError(
                    f"{name}[{i}]: expected at least k={k} texts, got {len(row)}. Give a smaller k, or leave it out "
                    "for the smallest number of all rows."
                )
    return k


def check_equivalent(equivalent: Any) -> None:
    """Raise unless `equivalent` is None, a cosine distance from 0 to below 2, or a function of two texts."""
    if equivalent is None or callable(equivalent):
        return
    check_is_number("equivalent", equivalent, "Give a cosine distance such as 0.2, or a function of two texts.")
    if not 0 <= equivalent < 2:
        raise ValueError(
            f"equivalent: expected a cosine distance from 0 to below 2, got {shown_value(equivalent)}. Texts at most "
            "so far apart say the same, for example 0.2."
        )
