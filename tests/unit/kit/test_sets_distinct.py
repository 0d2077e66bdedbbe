"""Distinct texts of a set: classes by both rules, entropy, NoveltyBench by enumeration, and Vendi scores."""

import math

import numpy as np
import pytest

from manycaps.functional import answer_classes, distinct_k, semantic_entropy, utility_k
from manycaps.kit.ngrams import NgramIndex
from manycaps.kit.sets_distinct import (
    LARGEST_ORDER,
    answer_values,
    class_labels,
    feature_eigenvalues,
    kernel_eigenvalues,
    ngram_features,
    unit_rows,
    vendi_scores,
)
from manycaps.kit.sets_diversity import MOST_CAPTIONS
from tests.oracles.answers_by_enumeration import answers, answers_in_order
from tests.refusals import assert_refused


def labels_of(classes):
    return [sorted(set(classes)).index(name) for name in classes]


def equality(classes):
    return np.equal.outer(list(classes), list(classes))


@pytest.mark.parametrize("classes", ["a", "aa", "ab", "aab", "aabbc", "abcdef", "aaaaab"])
def test_means_are_those_of_the_enumeration(classes):
    for k in range(1, len(classes) + 1):
        assert answer_values(labels_of(classes), k) == pytest.approx(answers(classes, k), abs=1e-12)
        equal = equality(classes)
        values = [function([equal, equal[::-1, ::-1]], k) for function in (distinct_k, utility_k)]
        assert np.transpose(values) == pytest.approx(np.array([answers(classes, k)] * 2), abs=1e-12)


@pytest.mark.parametrize("classes", ["a", "aa", "aba", "caabb", "abcdef", "baaaaa"])
def test_a_text_that_says_something_new_counts_with_its_quality(classes):
    quality = [float(7 * i % 5) for i in range(len(classes))]
    for k in range(1, len(classes) + 1):
        utilities = utility_k([equality(classes)] * 2, k, [quality, [2] * len(classes)])
        assert utilities[0] == pytest.approx(answers(classes, k, quality)[1], abs=1e-12)
        assert utilities[1] == pytest.approx(2 * answers(classes, k)[1], abs=1e-12)
        in_order = utility_k([equality(classes)], k, [quality], "given")
        assert in_order[0] == pytest.approx(answers_in_order(classes[:k], quality[:k])[1], abs=1e-12)


@pytest.mark.parametrize("k", [1, 3, 10])
def test_properties_of_noveltybench(k):
    weights = [0.8**i for i in range(k)]
    assert answer_values([0] * 12, k) == pytest.approx((1, 1 / sum(weights)), abs=1e-12)  # identical
    assert answer_values(range(12), k) == pytest.approx((k, 1), abs=1e-12)  # all different


@pytest.mark.parametrize("quality", [None, np.full(MOST_CAPTIONS, 1e308)])
def test_values_of_the_largest_set_are_finite(quality):
    distinct, utility = answer_values(range(MOST_CAPTIONS), MOST_CAPTIONS, "any", quality)
    assert distinct == pytest.approx(MOST_CAPTIONS)
    assert utility == pytest.approx(1 if quality is None else 1e308)


# Vendi scores of a large order, captions without words, and every message about a user's kernel.


def test_a_large_order_is_close_to_infinity():
    first, second = vendi_scores(np.array([1.5, 0.5]), (LARGEST_ORDER, math.inf))
    assert first == pytest.approx(second, rel=2e-3)


def test_captions_without_words_are_one_kind_of_caption():
    index = NgramIndex.of_sets([[[], [], ["a", "dog"]]])
    eigenvalues = feature_eigenvalues(unit_rows(ngram_features(index, 0, None)))
    assert eigenvalues.tolist() == pytest.approx([0.0, 1.0, 2.0], abs=1e-12)


class Unreadable:
    """What no array can be made of."""

    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("not on this machine")


@pytest.mark.parametrize(
    ("kernel", "error", "message"),
    [
        (np.ones((2, 3)), ValueError, "got shape (2, 3)."),
        (np.array([[1.0, math.nan], [math.nan, 1.0]]), ValueError, "got nan in it."),
        (np.array([[1.0, 0.0], [0.0, 2.0]]), ValueError, "got 2 on its diagonal."),
        (np.array([[1.0, 0.5], [0.4, 1.0]]), ValueError, "got numbers that differ by 0.1 across it."),
        (np.array([[1.0, 2.0], [2.0, 1.0]]), ValueError, "kernels: expected a kernel without negative eigenvalues"),
        ("a dog", TypeError, "kernels: expected a matrix for the captions of predictions[3], got str"),
        (Unreadable(), TypeError, "got Unreadable (not on this machine)."),
        (None, ValueError, "got shape ()."),
    ],
)
def test_bad_outputs_of_a_kernel(kernel, error, message):
    assert_refused(error, f".*{message}", kernel_eigenvalues, kernel, 2, "predictions[3]")
    assert_refused(error, ".*predictions[3]", kernel_eigenvalues, kernel, 2, "predictions[3]")


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
