"""Different answers: how many classes of equivalent texts a set has, after NoveltyBench.

Zhang et al. (2025), https://arxiv.org/abs/2504.05228, section 3. distinct_k is the number of classes among k texts,
and utility_k = (1 - p) / (1 - p^k) sum over i = 1..k of p^(i - 1) q_i [text i is of a class that has not come
before], with the patience p = 0.8 and the quality q_i of text i, which is 1 where none is given. Of m texts, with s_c
in class c, the mean over all choices of k and all orders is exact: text i is of a new class with probability sum over
c of s_c / m C(m - s_c, i - 1) / C(m - 1, i - 1), and is each text of c with the same one. `sets_classes` makes the
classes. `tests/oracles` enumerates.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .arrays import Floats, as_list, as_numbers, plain_arguments
from .errors import InputError, InputTypeError, check_n_rows, quote_value
from .options import check_choice, check_is_number, check_whole_number
from .rows import NOT_ROWS, check_no_table
from .sets_classes import class_labels

# Probability of asking for another text, in utility_k.
PATIENCE = 0.8

# Orders in which texts are read: all of them, whose mean is taken, or the one in which they are given.
ANSWER_ORDERS = ("any", "given")

# Two distances this near are equal.
TIE_TOLERANCE = 1e-9

# Whether two texts say the same.
Equivalence = Callable[[str, str], object]


def answer_values(
    labels: npt.ArrayLike, k: int, order: str = "any", quality: Floats | None = None
) -> tuple[float, float]:
    """Return distinct_k, 1 to k, and utility_k of a set of k or more texts.

    `labels` are the classes of its texts, whole numbers from 0, and `quality` float64 numbers of at least 0; shape (m,)
    both. `order` is one of `ANSWER_ORDERS`.

    >>> [round(value, 4) for value in answer_values([0, 0, 1], 2)]
    [1.6667, 0.8519]
    """
    classes = np.asarray(labels, np.intp)
    are_new = _new_worths(classes, np.ones(len(classes)), k, order)
    worths = are_new if quality is None else _new_worths(classes, quality, k, order)
    weights = PATIENCE ** np.arange(k, dtype=np.float64)
    return math.fsum(are_new), math.fsum(weights / math.fsum(weights) * worths)


def _new_worths(labels: np.ndarray, worth: Floats, k: int, order: str) -> Floats:
    """What each of k texts is expected to be worth, 0 where an earlier one is of its class: float64, shape (k,)."""
    if order == "given":
        is_new = np.zeros(len(labels), bool)
        is_new[np.unique(labels, return_index=True)[1]] = True
        return (is_new * worth)[:k]
    m, sizes = len(labels), np.bincount(labels)
    shares = np.bincount(labels, worth / m)
    # C(m - s, i) / C(m - 1, i), a product: the binomials of 2,000 texts are no floats.
    has_none_before, expected = np.ones(len(sizes)), []
    for i in range(k):
        expected.append(math.fsum(shares * has_none_before))
        has_none_before *= np.maximum(m - sizes - i, 0) / max(m - 1 - i, 1)
    return np.array(expected)


@plain_arguments
def distinct_k(equivalent: Sequence[npt.ArrayLike], k: int) -> Floats:
    """Return distinct_k of each set: the expected number of different answers among k of its texts (Zhang et al. 2025).

    The mean, over all choices of k of the n texts, of their number of classes (https://arxiv.org/abs/2504.05228,
    section 3). Texts that are equivalent to the same text are of one class.

    Args:
        equivalent: n_sets symmetric boolean arrays, shape (n, n), which may differ in n: whether two texts say the
            same, for example `distances <= 0.2`.
        k: number of texts, 1 to the smallest n.

    Returns:
        float64 array, shape (n_sets,), 1 (all the same) to k (all different).

    Raises:
        TypeError: k is not a whole number, or an array does not hold bools.
        ValueError: another shape, or a k out of range.

    >>> distinct_k([np.eye(3, dtype=bool), np.ones((3, 3), dtype=bool)], 2).tolist()
    [2.0, 1.0]
    """
    return np.array([answer_values(row, k)[0] for row in _as_class_labels(equivalent, k)])


@plain_arguments
def utility_k(
    equivalent: Sequence[npt.ArrayLike], k: int, quality: Sequence[npt.ArrayLike] | None = None, order: str = "any"
) -> Floats:
    """Return utility_k of each set: what k of its texts give to a reader whom repetition tires (Zhang et al. 2025).

    (1 - p) / (1 - p^k) sum over i = 1..k of p^(i - 1) q_i [text i says something new] with the patience p = 0.8
    (https://arxiv.org/abs/2504.05228, section 3). Without `quality` every q_i is 1, which NoveltyBench's utility is
    not. Its program reads the texts in the order given.

    Args:
        equivalent: as `distinct_k`.
        k: as `distinct_k`.
        quality: n_sets arrays of n numbers of at least 0, the q of each text; NoveltyBench's go from 1 to 10.
        order: "any" for the mean over all ordered choices of k texts, "given" for the first k as they stand.

    Returns:
        float64 array, shape (n_sets,). Without quality above 0 (all the same) to 1 (all different); with it 0 to the
        largest quality.

    Raises:
        TypeError, ValueError: as `distinct_k`; a quality that is no such array, or an unknown order.

    >>> utility_k([np.eye(3, dtype=bool), np.ones((3, 3), dtype=bool)], 2).round(4).tolist()
    [1.0, 0.5556]
    >>> utility_k([np.eye(3, dtype=bool)], 2, [[9, 4.5, 9]], "given").round(4).tolist()
    [7.0]
    """
    check_choice("order", order, ANSWER_ORDERS)
    labels = _as_class_labels(equivalent, k)
    worths = [None] * len(labels) if quality is None else as_quality(quality, list(map(len, labels)))
    return np.array([answer_values(row, k, order, worth)[1] for row, worth in zip(labels, worths, strict=True)])


def as_quality(quality: Any, sizes: Sequence[int]) -> list[Floats]:
    """Return the quality of every text of n_rows sets with these sizes as float64 arrays, or raise for the first bad.

    >>> as_quality([[1, 0.5], [2]], [2, 1])
    [array([1. , 0.5]), array([2.])]
    """
    expected, advice = "numbers of at least 0, one for each text", "Give a list of numbers for each row of texts."
    check_no_table(quality, "quality", f"n_rows lists of {expected}")
    if isinstance(quality, NOT_ROWS):
        raise InputTypeError("quality", f"n_rows lists of {expected}", quote_value(quality), advice)
    rows = as_list(quality, "quality", f"n_rows lists of {expected}")
    check_n_rows("quality", len(rows), "texts", len(sizes), "list of numbers")
    arrays = []
    for i, (row, size) in enumerate(zip(rows, sizes, strict=True)):
        array = as_numbers(row, f"quality[{i}]", expected, advice, "iuf", np.float64)
        if array.shape != (size,):
            raise InputError(f"quality[{i}]", f"{size} numbers, one for each text", f"shape {array.shape}", advice)
        bad = np.flatnonzero(~((array >= 0) & np.isfinite(array)))
        if len(bad):
            got = quote_value(float(array[bad[0]]))
            raise InputError(f"quality[{i}][{bad[0]}]", "a finite number of at least 0", got, "Rescale all of them.")
        arrays.append(array)
    return arrays


def _as_class_labels(equivalent: Sequence[npt.ArrayLike], k: int) -> list[np.ndarray]:
    """Classes of the texts of each set, whose arrays are checked."""
    check_whole_number("k", k, 1)
    advice = "Compare distances: distances <= 0.2."
    rows = as_list(equivalent, "equivalent", "an array of bools for each set of texts")
    arrays = [as_numbers(row, f"equivalent[{i}]", "an array of bools", advice) for i, row in enumerate(rows)]
    for i, array in enumerate(arrays):
        if array.dtype != bool:
            raise InputTypeError(f"equivalent[{i}]", "bools", array.dtype, advice)
        if array.ndim != 2 or array.shape != array.T.shape or len(array) < k or (array != array.T).any():
            raise InputError(
                f"equivalent[{i}]",
                f"a symmetric array of shape (n, n), n at least k={k}",
                f"shape {array.shape}",
                "Give one array for each set of texts.",
            )
    return [class_labels(array, "connected") for array in arrays]


def near_texts(texts: Sequence[str], vectors: Mapping[str, Floats], threshold: float) -> np.ndarray:
    """Say which texts are at a cosine distance of at most `threshold`, ties within 1e-9 included: bool, shape (n, n).

    `vectors` are of length 1. Equal texts are near.
    """
    unit = np.stack([vectors[text] for text in texts])
    return np.asarray((1 - unit @ unit.T <= threshold + TIE_TOLERANCE) | _are_equal(texts))


def pairs_to_judge(sets: Iterable[Sequence[str]]) -> list[tuple[str, str]]:
    """Return every two different texts of a set, of all sets, in the order of the alphabet and each pair once.

    >>> pairs_to_judge([["b", "a", "b"], ["a", "b"]])
    [('a', 'b')]
    """
    pairs = (pair for texts in sets for pair in itertools.combinations(sorted(set(texts)), 2))
    return list(dict.fromkeys(pairs))


def judge_texts(texts: Sequence[str], equivalent: Equivalence) -> np.ndarray:
    """Ask a function about every two different texts, in the order of the alphabet, once. Bool, shape (n, n)."""
    distinct = sorted(set(texts))
    place = {text: i for i, text in enumerate(distinct)}
    answers = np.eye(len(distinct), dtype=bool)
    for i, j in itertools.combinations(range(len(distinct)), 2):
        answer = equivalent(distinct[i], distinct[j])
        if not isinstance(answer, bool | np.bool_):
            got = f"{quote_value(answer)} for {quote_value(distinct[i])} and {quote_value(distinct[j])}"
            raise InputTypeError("equivalent", "True or False of two texts", got, "Return a bool.")
        answers[i, j] = answers[j, i] = answer
    places = [place[text] for text in texts]
    return answers[np.ix_(places, places)]


def _are_equal(texts: Sequence[str]) -> np.ndarray:
    array = np.array(texts, dtype=object)
    return np.asarray(array[:, None] == array[None, :])


def choose_k(k: int | None, sides: Mapping[str, Sequence[Sequence[str]]]) -> int:
    """Return k, or without it the smallest number of texts of any set; raise for the first set that has fewer."""
    if k is None:
        return min(len(row) for rows in sides.values() for row in rows)
    for name, rows in sides.items():
        for i, row in enumerate(rows):
            if len(row) < k:
                raise InputError(
                    f"{name}[{i}]", f"at least k={k} texts", len(row), "Give a smaller k, or leave it out."
                )
    return k


def check_equivalent(equivalent: Any) -> None:
    """Raise unless `equivalent` is None, a cosine distance from 0 to below 2, or a function of two texts."""
    if equivalent is None or callable(equivalent):
        return
    check_is_number("equivalent", equivalent, "Give a cosine distance such as 0.2, or a function of two texts.")
    if not 0 <= equivalent < 2:
        raise InputError(
            "equivalent", "a cosine distance from 0 to below 2", quote_value(equivalent), "Give for example 0.2."
        )
