"""Homogeneity of models: exact moments, tests, matrices, distances and messages."""

import math

import numpy as np
import pytest
import scipy.stats

from manycaps.functional import homogeneity_matrix, homogeneity_test
from manycaps.kit.sets_homogeneity import (
    PEOPLE,
    as_other_models,
    check_two_answers,
    class_distances,
    compare_models,
    distances_of_units,
    homogeneity_result,
    ngram_distances,
    pair_rows,
    warn_of_few_prompts,
)
from manycaps.kit.sets_tests import mean_of_rows, one_sided_p_value
from tests.oracles import homogeneity_splits
from tests.refusals import assert_refused


def draw(n_rows, n_texts, seed=0, n_first=0, shift=0.0):
    """Distances of points in rows; the first ones are shifted."""
    points = np.random.default_rng(seed).normal(size=(n_rows, n_texts, 2))
    points[:, :n_first] += shift
    return np.linalg.norm(points[:, :, None] - points[:, None], axis=-1)


@pytest.mark.parametrize(("m", "n"), [(2, 2), (2, 3), (4, 3)])
def test_values_and_statistic_are_those_of_all_splits(m, n):
    rows = draw(6, m + n, n_first=m, shift=0.7)
    test = homogeneity_test(rows, m)
    first, second = range(m), range(m, m + n)
    within = [np.mean([homogeneity_splits.mean_pairs(row, own) for row in rows]) for own in (first, second)]
    between = np.mean([homogeneity_splits.mean_pairs(row, first, second) for row in rows])
    assert (test.within_first, test.within_second, test.between) == pytest.approx((*within, between))
    assert test.homogeneity == pytest.approx(sum(within) / (2 * between))
    assert test.energy_distance == pytest.approx(2 * between - sum(within))
    assert test.diversity_difference == pytest.approx(within[0] - within[1])
    statistic = homogeneity_splits.statistic(rows, m)
    assert test.p_value == pytest.approx(scipy.stats.chi2.sf(statistic, 2))
    found = pair_rows(rows, m).gaps
    for i, row in enumerate(rows):
        mean, covariance = homogeneity_splits.moments(row, m)
        assert mean == pytest.approx([0, 0], abs=1e-12)
        assert found.covariance[i] == pytest.approx(covariance, abs=1e-12)


def test_drawn_p_values_are_near_those_in_closed_form():
    rows = draw(8, 8, 3, n_first=4, shift=0.35)
    texts = {name: [[f"{name} {i} {k}" for k in range(4)] for i in range(8)] for name in "ab"}
    closed, drawn = (
        compare_models(texts, lambda row: rows[row], p_value=name, n_resamples=4_999).tests[0, 1]
        for name in ("chi-squared", "permutation")
    )
    assert drawn.p_value == pytest.approx(closed.p_value, abs=0.03)
    assert drawn.diversity_p_value == pytest.approx(closed.diversity_p_value, abs=0.03)
    plain = homogeneity_splits.sampled_p_value(rows, 4, 100, np.random.default_rng(0))
    assert drawn.p_value == pytest.approx(plain, abs=0.15)


def test_the_order_of_models_changes_a_sign_alone():
    rows = draw(10, 7, n_first=3, shift=0.5)
    order = [3, 4, 5, 6, 0, 1, 2]
    there, back = homogeneity_test(rows, 3), homogeneity_test(rows[:, order][:, :, order], 4)
    assert back.p_value == pytest.approx(there.p_value)
    assert back.diversity_difference == pytest.approx(-there.diversity_difference)
    assert (back.energy_distance, back.rows_to_detect) == pytest.approx((there.energy_distance, there.rows_to_detect))


def test_equal_rows_have_no_p_value_and_are_homogeneous():
    test = homogeneity_test(np.zeros((5, 4, 4)), 2)
    assert test.homogeneity == 1.0
    assert math.isnan(test.p_value)
    assert math.isnan(test.diversity_p_value)


def test_clusters_count_once():
    rows = draw(30, 8, n_first=4, shift=0.4)
    repeated, labels = np.repeat(rows, 4, axis=0), np.repeat(np.arange(30), 4).tolist()
    alone, together = homogeneity_test(repeated, 4), homogeneity_test(repeated, 4, labels)
    once = homogeneity_test(rows, 4, list(range(30)))
    assert together.p_value == pytest.approx(once.p_value)
    assert alone.p_value < together.p_value
    assert together.rows_to_detect == pytest.approx(4 * once.rows_to_detect, rel=0.2)


def test_clusters_have_half_of_the_level_each():
    rows = draw(30, 8, n_first=4, shift=0.4)
    test, found = homogeneity_test(rows, 4, list(range(30))), pair_rows(rows, 4)
    energy = one_sided_p_value(mean_of_rows(found.energy))
    assert test.p_value == pytest.approx(2 * min(energy, test.diversity_p_value))
    # Without skewness, Student's tests of both means.
    diversity = scipy.stats.ttest_1samp(found.gaps.diversity, 0).pvalue
    assert test.diversity_p_value == pytest.approx(diversity)
    texts = {name: [[f"{name}{k}" for k in range(4)]] * 30 for name in "ab"}
    options = {"p_value": "permutation", "clusters": list(range(30))}
    message = "p_value: expected 'chi-squared' with clusters, got 'permutation'"
    assert_refused(ValueError, message, compare_models, texts, lambda row: rows[row], **options)


def test_a_matrix_is_that_of_its_pairs():
    rows = draw(9, 7)
    matrix = homogeneity_matrix(rows, [2, 3, 2])
    places = [range(2), range(2, 5), range(5, 7)]
    for i, j in ((0, 1), (0, 2), (1, 2)):
        own = [*places[i], *places[j]]
        expected = homogeneity_test(rows[:, own][:, :, own], len(places[i])).homogeneity
        assert matrix[i, j] == matrix[j, i] == pytest.approx(expected)
    assert np.diagonal(matrix).tolist() == [1, 1, 1]


def test_rows_of_unequal_sizes_and_people():
    sizes = {"a": [2, 3, 2, 4], "b": [3, 3, 2, 2], PEOPLE: [2, 2, 2, 2]}
    texts = {name: [[f"{name}{k}" for k in range(n)] for n in numbers] for name, numbers in sizes.items()}
    distances = [draw(1, sum(row), seed)[0] for seed, row in enumerate(zip(*sizes.values(), strict=True))]
    compared = compare_models(texts, lambda row: distances[row])
    assert list(compared.adjusted) == [(0, 1)]  # people's pairs are not tested among the models
    result = homogeneity_result(compared, details=True, confidence_level=0.9)
    expected = [
        homogeneity_splits.mean_pairs(row, range(m + n, m + n + 2))
        for row, m, n in zip(distances, sizes["a"], sizes["b"], strict=True)
    ]
    assert result["within_distance_of_people"] == pytest.approx(np.mean(expected))
    assert result["distance_matrix"][2][2] == pytest.approx(np.mean(expected))
    beside = [compared.tests[i, 2].homogeneity for i in (0, 1)]
    assert result["homogeneity_with_people"] == pytest.approx(np.mean(beside))
    assert result["energy_distance_ci_low"] < result["energy_distance"] < result["energy_distance_ci_high"]


def test_holm_s_rule_is_over_pairs_of_models():
    texts = {name: [[f"{name}{k}" for k in range(3)]] * 8 for name in "abc"}
    rows = draw(8, 9, n_first=3, shift=1.0)
    compared = compare_models(texts, lambda row: rows[row])
    raw = [compared.tests[pair].p_value for pair in compared.adjusted]
    smallest = min(range(3), key=raw.__getitem__)
    assert list(compared.adjusted.values())[smallest][0] == pytest.approx(min(1, 3 * raw[smallest]))
    assert homogeneity_result(compared)["homogeneity_p_value"] == pytest.approx(min(1, 3 * raw[smallest]))


def test_classes_do_not_depend_on_whose_a_text_is():
    texts = ["one", "two", "three", "four"]
    chain = np.abs(np.subtract.outer(range(4), range(4))) <= 1
    order = [2, 0, 3, 1]
    for rule in ("first", "connected"):
        here = class_distances(texts, chain, rule)
        there = class_distances([texts[i] for i in order], chain[np.ix_(order, order)], rule)
        assert (there == here[np.ix_(order, order)]).all()


def test_distances_of_classes_count_expected_classes():
    labels = np.array([0, 0, 1, 2])
    distances = (labels[:, None] != labels).astype(float)
    # Two of the first model's answers are of one class, two of the second's of two.
    test = homogeneity_test([distances] * 5, 2)
    assert (test.within_first + 1, test.within_second + 1, test.between + 1) == (1.0, 2.0, 2.0)


def test_ngram_distances():
    distances = ngram_distances([[["a", "dog"], ["a", "dog"], ["two", "cats"]], [[], ["a"]]])
    assert distances(0).tolist() == pytest.approx(np.array([[0, 0, 1], [0, 0, 1], [1, 1, 0]]))
    assert distances(1).tolist() == [[0, 1], [1, 0]]
    unit = np.array([[1.0, 0.0], [0.6, 0.8]])
    assert distances_of_units(unit)[0].tolist() == pytest.approx([0, 0.4])


@pytest.mark.parametrize(
    ("error", "message", "call"),
    [
        (ValueError, "n_first: expected a whole number of at least 2", lambda: homogeneity_test(draw(3, 5), 1)),
        (ValueError, "n_first: expected a whole number of at most 3", lambda: homogeneity_test(draw(3, 5), 4)),
        (ValueError, "distances[0]: expected symmetric", lambda: homogeneity_test(np.arange(16.0).reshape(1, 4, 4), 2)),
        (ValueError, "clusters: expected one label for each of", lambda: homogeneity_test(draw(3, 5), 2, ["a"])),
        (ValueError, "sizes: expected numbers that add up to 5", lambda: homogeneity_matrix(draw(3, 5), [2, 2])),
        (ValueError, "sizes[1]: expected a whole number of at least 2", lambda: homogeneity_matrix(draw(3, 5), [2, 1])),
        (TypeError, "others: expected a dict of models", lambda: as_other_models([["a"]], 1)),
        (ValueError, "others['b']: expected one row for each of the 2", lambda: as_other_models({"b": [["a"]]}, 2)),
        (ValueError, "others: expected other names", lambda: as_other_models({"people": [["a"]]}, 1)),
        (ValueError, "b[0]: expected at least two answers", lambda: check_two_answers({"b": [["a"]]})),
    ],
)
def test_refuses(error, message, call):
    assert_refused(error, message, call)


def test_few_rows_are_warned_of():
    with pytest.warns(UserWarning, match="right from 5 rows on, got 3"):
        warn_of_few_prompts(3, "chi-squared")
