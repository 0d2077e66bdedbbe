"""Classes of equivalent texts: both rules, semantic entropy, and messages."""

import math

import numpy as np
import pytest

from manycaps.functional import answer_classes, semantic_entropy
from manycaps.kit.sets_distinct import class_labels
from tests.refusals import assert_refused


def matrix(n, pairs):
    array = np.eye(n, dtype=bool)
    for i, j in pairs:
        array[i, j] = array[j, i] = True
    return array


def first_text_loop(are_equivalent):
    """NoveltyBench's rule in plain steps."""
    classes = []
    for i in range(len(are_equivalent)):
        for members in classes:
            if are_equivalent[members[0], i]:
                members.append(i)
                break
        else:
            classes.append([i])
    return [next(c for c, members in enumerate(classes) if i in members) for i in range(len(are_equivalent))]


def connected_loop(are_equivalent):
    """Chains of equivalent texts, by spreading the smallest number."""
    labels = list(range(len(are_equivalent)))
    for _ in labels:
        labels = [min(labels[j] for j in np.flatnonzero(row)) for row in are_equivalent]
    return [sorted(set(labels)).index(label) for label in labels]


@pytest.mark.parametrize("seed", range(8))
def test_rules_are_those_of_plain_loops(seed):
    upper = np.triu(np.random.default_rng(seed).random((9, 9)) < 0.2, 1)
    array = upper | upper.T | np.eye(9, dtype=bool)
    assert class_labels(array, "first").tolist() == first_text_loop(array)
    assert class_labels(array, "connected").tolist() == connected_loop(array)


def test_a_chain_is_one_class_or_not():
    chain = matrix(4, [(0, 1), (1, 2), (2, 3)])
    assert answer_classes([chain]) == [[0, 0, 0, 0]]
    assert answer_classes([chain], "first") == [[0, 0, 1, 1]]
    assert semantic_entropy([chain, chain[:2, :2]], "first").tolist() == pytest.approx([math.log(2), 0.0])


def test_entropy_by_hand():
    array = matrix(4, [(0, 1), (0, 2), (1, 2)])  # classes of 3 and 1
    expected = -(0.75 * math.log(0.75) + 0.25 * math.log(0.25))
    assert semantic_entropy([array, np.eye(4, dtype=bool)]).tolist() == pytest.approx([expected, math.log(4)])


@pytest.mark.parametrize(
    ("error", "message", "arrays", "rule"),
    [
        (TypeError, "equivalent[0]: expected bools, got float64", [np.ones((2, 2))], "first"),
        (ValueError, "equivalent[1]: expected a symmetric array", [np.eye(2, dtype=bool), matrix(2, [])[:1]], "first"),
        (ValueError, "equivalent[0]: expected a symmetric array", [np.zeros((0, 0), dtype=bool)], "first"),
        (ValueError, "rule: expected one of 'connected', 'first', got 'nearest'", [np.eye(2, dtype=bool)], "nearest"),
    ],
)
def test_refuses(error, message, arrays, rule):
    assert_refused(error, message, answer_classes, arrays, rule)
