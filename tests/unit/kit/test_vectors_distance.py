"""The named distances of vectors beside scipy, and cosines beside a loop: ranges, and what changes nothing."""

import numpy as np
import pytest
import scipy.spatial.distance

from manycaps.kit.vector_rows import (
    DISTANCE_NAMES,
    cosine_distances,
    cosine_similarities,
    multi_reference_cosine,
    nearest_reference_distance,
    vector_distances,
)

ROW = np.array([[[1.0, 2.0, 2.0], [4.0, 0.0, 3.0], [2.0, 4.0, 4.0]]])


@pytest.mark.parametrize("name", DISTANCE_NAMES)
def test_every_name_is_one_of_scipy(name):
    distances = vector_distances(ROW, name)
    expected = getattr(scipy.spatial.distance, name)(*ROW[0, :2])
    assert distances[0, 0, 1] == pytest.approx(expected, rel=1e-12)
    assert distances.tolist() == distances.swapaxes(1, 2).tolist()


def test_the_nearest_reference_counts_for_each_candidate():
    # Two candidates, two references; the reference comes first in a pair.
    distances = np.array([[[0, 9, 9, 9], [9, 0, 9, 9], [1, 5, 0, 9], [3, 2, 9, 0]]], dtype=float)
    assert nearest_reference_distance(distances, 2).tolist() == [1.5]
    assert nearest_reference_distance(distances, 3).tolist() == [(3 + 2 + 9) / 3]
    cosines = np.zeros((1, 4, 4))
    cosines[0, :2, 2:] = [[0.1, 0.5], [0.3, 0.2]]
    assert multi_reference_cosine(cosines, 2) == pytest.approx([0.4])


def test_cosines_equal_the_loop():
    vectors = np.random.default_rng(0).normal(size=(4, 5, 7))
    cosines = cosine_similarities(vectors)
    for row, of_row in zip(vectors, cosines, strict=True):
        for x, line in zip(row, of_row, strict=True):
            expected = [x @ y / np.sqrt((x @ x) * (y @ y)) for y in row]
            assert line == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize("scale", [1e-300, 1e-20, 1.0, 1e150])
def test_the_length_of_a_vector_is_irrelevant(scale):
    vectors = scale * np.array([[[3.0, 4.0], [4.0, 3.0], [-3.0, -4.0]]])
    assert cosine_similarities(vectors)[0, 0] == pytest.approx([1, 24 / 25, -1], abs=1e-15)


def test_a_text_is_at_distance_zero_from_itself_and_all_distances_lie_in_the_range():
    vectors = np.random.default_rng(1).normal(size=(50, 2, 384))
    distances = cosine_distances(cosine_similarities(np.concatenate((vectors, vectors, -vectors), axis=1)))
    assert (np.diagonal(distances, axis1=1, axis2=2) == 0).all()
    assert 0 <= distances.min() <= distances.max() <= 2


@pytest.mark.parametrize("name", DISTANCE_NAMES)
@pytest.mark.parametrize("d", [2, 3, 384, 768])
def test_equal_vectors_have_no_distance(name, d):
    vectors = np.random.default_rng(d).uniform(0.1, 1, size=(100, 1, d))
    assert (vector_distances(np.concatenate((vectors, vectors, vectors), axis=1), name) == 0).all()
