"""Plain scores under every split, beside a loop over candidates and references."""

import itertools

import numpy as np

from manycaps.kit.sets_splits import exact_splits
from scripts.studies.aggregated_scores import PLAIN_SCORES, best_reference, mean_reference, tail_p_values, two_sided
from tests.each_case import each_case


def naive(scores, candidates, reduce):
    references = [j for j in range(len(scores)) if j not in candidates]
    return np.mean([reduce([scores[i, j] for j in references]) for i in candidates])


@each_case(("aggregate", "reduce"), [(best_reference, max), (mean_reference, np.mean)])
@each_case("size", [(1, 4), (3, 2), (3, 3)])
def test_every_split_is_aggregated_as_a_loop_does_it(aggregate, reduce, size):
    scores = np.random.default_rng(0).random((2, sum(size), sum(size))).round(1)  # with ties
    found = aggregate(scores, exact_splits(*size, 100))
    splits = itertools.combinations(range(sum(size)), size[0])
    expected = [[naive(row, split, reduce) for row in scores] for split in splits]
    np.testing.assert_allclose(found.T, expected, rtol=0, atol=1e-12)


def test_scores_are_of_a_candidate_against_a_reference():
    distances = np.array([[[0.0, 0.25], [0.5, 0.0]]])
    assert PLAIN_SCORES["meteor"].scores(distances)[0, 0, 1] == 0.5  # d(reference, candidate)
    assert PLAIN_SCORES["cider_d"].scores(distances)[0, 0, 1] == 9.75  # d(candidate, reference)


def test_tails():
    nulls, observed = np.array([[1.0, 2.0, 3.0, 3.0]]), np.array([3.0])
    assert tail_p_values(nulls, observed).tolist() == [0.5]
    assert two_sided(tail_p_values(nulls, observed), tail_p_values(-nulls, -observed)).tolist() == [1.0]
    assert two_sided(np.array([0.01]), np.array([1.0])).tolist() == [0.02]
