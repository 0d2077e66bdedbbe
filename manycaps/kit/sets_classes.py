"""Classes of equivalent texts of a set: the rules that make them, their number, and semantic entropy."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from .arrays import Floats, Ints, as_list, as_numbers, plain_arguments
from .errors import InputError, InputTypeError
from .options import Option, check_choice, one_of

# --------------------------------------------------------------------------------------------------------------------
# Which texts of a set are of one class, given which pairs of them are equivalent.
#
# Equivalence by a threshold or by a judge is not transitive, so that a rule is needed. "connected": texts that are
# equivalent to the same text are of one class (connected components), whatever their order. "first": the texts in
# their order, each of the first class whose first text it is equivalent to, else of a new one, as NoveltyBench does
# (Zhang et al. 2025, https://arxiv.org/abs/2504.05228, section 3.1): no chain of small steps joins different texts.

# Rules by name, the default first.
CLASS_RULES = ("connected", "first")

# Cosine distance of MiniLM embeddings up to which two answers say the same, by the rule "first": what agrees best with
# NoveltyBench's published partitions, 0.29 on half of its prompts; `scripts.studies.class_calibration`.
EQUIVALENT_DISTANCE = 0.3

CLASSES: dict[str, Option] = {
    "classes": Option(
        "connected",
        one_of(CLASS_RULES),
        'Which texts are of one class: `"connected"`, those that are equivalent to the same text; or `"first"`, '
        "NoveltyBench's rule: in the order given, those that are equivalent to the first text of a class.",
    )
}


def class_labels(are_equivalent: np.ndarray, rule: str) -> Ints:
    """Return the number of the class of every text, by a rule of `CLASS_RULES`: int64, shape (n,), in order of first.

    `are_equivalent` is a symmetric boolean array, shape (n, n), True on its diagonal.

    >>> chain = np.array([[1, 1, 0], [1, 1, 1], [0, 1, 1]], dtype=bool)
    >>> class_labels(chain, "connected").tolist(), class_labels(chain, "first").tolist()
    ([0, 0, 0], [0, 0, 1])
    """
    if rule == "connected":
        import scipy.sparse.csgraph  # not where a command line only names the rules

        _, found = scipy.sparse.csgraph.connected_components(are_equivalent, directed=False)
        _, first, numbers = np.unique(found, return_index=True, return_inverse=True)
        return np.argsort(np.argsort(first))[numbers].astype(np.int64)
    labels, firsts = np.zeros(len(are_equivalent), dtype=np.int64), list[int]()
    for i, row in enumerate(are_equivalent):
        labels[i] = next((label for label, first in enumerate(firsts) if row[first]), len(firsts))
        if labels[i] == len(firsts):
            firsts.append(i)
    return labels


def entropy_of_sizes(sizes: Sequence[int]) -> float:
    """Return the entropy of a share of texts in each class, in nats, 0 to log n; `sizes` are at least 1.

    >>> entropy_of_sizes([4]), round(entropy_of_sizes([2, 2]), 4)
    (0.0, 0.6931)
    """
    n = sum(sizes)
    return max(0.0, -math.fsum(size / n * math.log(size / n) for size in sizes))


def class_values(sizes: Sequence[int]) -> dict[str, float]:
    """Return the number of classes of these sizes, and their entropy, by the keys of a result."""
    return {"n_classes": float(len(sizes)), "semantic_entropy": entropy_of_sizes(sizes)}


def check_equivalence(equivalent: Sequence[npt.ArrayLike]) -> list[np.ndarray]:
    """Return the arrays of all sets, or raise for the first that is no symmetric one of bools."""
    advice = "Compare distances: distances <= 0.2."
    rows = as_list(equivalent, "equivalent", "an array of bools for each set of texts")
    arrays = [as_numbers(row, f"equivalent[{i}]", "an array of bools", advice) for i, row in enumerate(rows)]
    for i, array in enumerate(arrays):
        if array.dtype != bool:
            raise InputTypeError(f"equivalent[{i}]", "bools", array.dtype, advice)
        if array.ndim != 2 or array.shape != array.T.shape or not array.size or (array != array.T).any():
            raise InputError(
                f"equivalent[{i}]",
                "a symmetric array of shape (n, n)",
                f"shape {array.shape}",
                "Give one array for each set of texts.",
            )
    return [array | np.eye(len(array), dtype=bool) for array in arrays]


@plain_arguments
def answer_classes(equivalent: Sequence[npt.ArrayLike], rule: str = "connected") -> list[list[int]]:
    """Put the texts of each set into classes of equivalent ones.

    Args:
        equivalent: n_sets symmetric boolean arrays, shape (n, n), which may differ in n: whether two texts say the
            same, for example `distances <= 0.2`. A text is equivalent to itself.
        rule: "connected", texts that are equivalent to the same text are of one class; or "first", in the order
            given each text is of the first class whose first text it is equivalent to (Zhang et al. 2025, section
            3.1, https://arxiv.org/abs/2504.05228).

    Returns:
        n_sets lists of n numbers of classes, counted from 0 in the order of their first texts.

    Raises:
        TypeError: an array does not hold bools.
        ValueError: another shape or rule.

    >>> answer_classes([np.eye(3, dtype=bool), np.ones((2, 2), dtype=bool)])
    [[0, 1, 2], [0, 0]]
    """
    arrays = check_equivalence(equivalent)
    check_choice("rule", rule, CLASS_RULES)
    return [class_labels(array, rule).tolist() for array in arrays]


@plain_arguments
def semantic_entropy(equivalent: Sequence[npt.ArrayLike], rule: str = "connected") -> Floats:
    """Return the discrete semantic entropy of each set: - sum of p log p of the shares p of its classes, in nats.

    Farquhar et al. (2024), https://doi.org/10.1038/s41586-024-07421-0, whose classes are of answers that entail each
    other.

    Args:
        equivalent: as `answer_classes`.
        rule: as `answer_classes`.

    Returns:
        float64 array, shape (n_sets,), 0 (one class) to log n (all different).

    Raises:
        TypeError, ValueError: as `answer_classes`.

    >>> semantic_entropy([np.eye(2, dtype=bool), np.ones((2, 2), dtype=bool)]).round(4).tolist()
    [0.6931, 0.0]
    """
    return np.array([entropy_of_sizes(np.bincount(labels).tolist()) for labels in answer_classes(equivalent, rule)])


def mean_class_values(sizes_of_rows: Sequence[Sequence[int]]) -> Mapping[str, list[float]]:
    """Return `class_values` of every row, by key."""
    values = [class_values(sizes) for sizes in sizes_of_rows]
    return {name: [row[name] for row in values] for name in values[0]}
