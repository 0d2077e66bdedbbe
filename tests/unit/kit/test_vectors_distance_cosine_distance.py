"""Cosines of all pairs, by hand and at the ends of the range of float64."""

import numpy as np
import pytest

from manycaps.kit.vectors_distance import (
    check_nonzero,
    cosine_distances,
    cosine_similarities,
    multi_reference_cosine,
)
from manycaps.kit.vectors_rows import ARRAY_COLUMNS, as_embedding_rows


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
    assert distances.min() >= 0
    assert distances.max() <= 2
    assert distances[:, 0, 2] == pytest.approx(0, abs=1e-15)


def test_the_nearest_reference_counts_for_each_candidate():
    cosines = np.zeros((1, 4, 4))
    cosines[0, :2, 2:] = [[0.1, 0.5], [0.3, 0.2]]
    assert multi_reference_cosine(cosines, 2) == pytest.approx([0.4])


def test_a_zero_vector_has_no_cosine():
    fine, zero = np.eye(2), np.array([[0.0, 1.0], [0.0, 0.0]])
    check_nonzero(as_embedding_rows([fine], [fine]), ARRAY_COLUMNS)
    with pytest.raises(ValueError) as error:
        check_nonzero(as_embedding_rows([fine, fine, fine], [fine, zero, zero]), ARRAY_COLUMNS)
    assert str(error.value).startswith(
        "reference_embeddings[1][1]: expected an embedding that is not all zeros, which has no cosine (2 such texts in"
    )
