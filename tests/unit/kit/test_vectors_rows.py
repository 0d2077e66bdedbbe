"""Rows of vectors and of distances: ready embeddings, embedded captions, and distances by name and by function."""

import types

import numpy as np
import pytest
import scipy.spatial.distance

from manycaps.kit.vectors_rows import (
    DISTANCE_NAMES,
    as_embedding_rows,
    cosine_similarities,
    distances_from_cosines,
    embed_caption_rows,
    evaluate_distance,
    held_out_sizes,
    joint_vectors,
    multi_reference_cosine,
    nearest_reference_distance,
    split_people,
    text_distances,
    vector_distances,
)
from tests.refusals import assert_refused
from tests.unit.kit.vectors_cases import rows_of


def test_held_out_and_kept_are_the_references_of_the_row():
    rows = rows_of(0, n_rows=5)
    drawn = split_people(rows, 0, 0)
    assert held_out_sizes(rows.sizes()).tolist() == [3] * 5
    for row, references in enumerate(rows.references):
        held_out, candidates, kept = (part[3 * row : 3 * row + 3] for part in drawn)
        assert sorted([*held_out, *kept]) == references.tolist()
        assert set(candidates) <= set(rows.predictions[row])


PAIR = np.eye(2)


def test_each_distinct_caption_is_embedded_once():
    asked = []

    def embed(captions):
        asked.append(captions)
        return np.arange(len(captions), dtype=float)[:, None]

    rows = embed_caption_rows([["a", "b", "a"], ["c"]], [["b"], ["a", "d"]], embed)
    assert asked == [["a", "b", "c", "d"]]
    assert [row.tolist() for row in rows.predictions] == [[0, 1, 0], [2]]
    assert [row.tolist() for row in rows.references] == [[1], [0, 3]]
    assert rows.sizes() == [(3, 1), (1, 2)]
    assert [counts.tolist() for counts in rows.counts()] == [[2, 1, 1, 0], [1, 1, 0, 1]]


def test_ready_arrays_lists_and_a_block_are_one():
    block = np.random.default_rng(0).normal(size=(3, 4, 2))
    expected = as_embedding_rows(block[:, :3], block[:, 3:])
    for kind in (list, lambda rows: [row.tolist() for row in rows], lambda rows: (row for row in rows)):
        rows = as_embedding_rows(kind(block[:, :3]), kind(block[:, 3:]))
        assert rows.vectors.tolist() == expected.vectors.tolist()
    stacked = joint_vectors(
        expected.vectors, [np.concatenate((expected.predictions[i], expected.references[i])) for i in (2, 0)]
    )
    assert stacked.tolist() == block[[2, 0]].tolist()


SHAPE = "expected an array of shape (n, d), n and d at least 1, got shape"


FINITE = "expected finite numbers of size at most 1e+70, got"


HUGE, UNDEFINED = np.array([[1.0, -1e160]]), np.array([[1.0, 2.0], [np.nan, 1.0], [np.inf, 0.0]])


# By message, the columns of candidates and references.
VALUE_ERRORS = {
    "reference_embeddings: expected one array for each of the 1 rows of prediction_embeddings, got 2": (
        [PAIR], [PAIR, PAIR]
    ),
    f"reference_embeddings[0]: {SHAPE} (2,)": ([PAIR], [np.ones(2)]),
    "reference_embeddings[1]: expected 2 dimensions as in prediction_embeddings[0], got 3": (
        [PAIR, PAIR], [PAIR, np.eye(3)]
    ),
    f"reference_embeddings[0][1]: {FINITE} nan (2 such vectors in all)": ([PAIR], [UNDEFINED]),
    f"prediction_embeddings[0][0]: {FINITE} -1e+160": ([HUGE], [PAIR]),
    f"prediction_embeddings[0][0]: {FINITE} inf": ([np.array([[1.0, np.inf]], dtype=np.float16)], [PAIR]),
}  # fmt: skip


TYPE_ERRORS = {
    "reference_embeddings: expected a list of arrays of shape (n, d), got None. Give prediction_embeddings and": (
        [PAIR], None
    ),
    "reference_embeddings[0]: expected a floating-point array of shape (n, d), got list (": (
        [PAIR], [[[1.0, 2.0], [1.0]]]
    ),
    "prediction_embeddings[1]: expected floating-point numbers, got int64. Convert counts or ids": (
        [PAIR, PAIR.astype(int)], [PAIR, PAIR]
    ),
}  # fmt: skip


@pytest.mark.parametrize(("message", "columns"), [*VALUE_ERRORS.items(), *TYPE_ERRORS.items()])
def test_bad_arrays_are_named(message, columns):
    error = TypeError if message in TYPE_ERRORS else ValueError
    assert_refused(error, f"{message}.*.$", as_embedding_rows, *columns)


# The named distances of vectors beside scipy, and cosines beside a loop: ranges, and what changes nothing.

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


@pytest.mark.parametrize("scale", [1e-300, 1e-20, 1.0, 1e150])
def test_the_length_of_a_vector_is_irrelevant(scale):
    vectors = scale * np.array([[[3.0, 4.0], [4.0, 3.0], [-3.0, -4.0]]])
    assert cosine_similarities(vectors)[0, 0] == pytest.approx([1, 24 / 25, -1], abs=1e-15)


def test_a_text_is_at_distance_zero_from_itself_and_all_distances_lie_in_the_range():
    vectors = np.random.default_rng(1).normal(size=(50, 2, 384))
    distances = distances_from_cosines(cosine_similarities(np.concatenate((vectors, vectors, -vectors), axis=1)))
    assert (np.diagonal(distances, axis1=1, axis2=2) == 0).all()
    assert 0 <= distances.min() <= distances.max() <= 2


@pytest.mark.parametrize("name", DISTANCE_NAMES)
@pytest.mark.parametrize("d", [2, 3, 384, 768])
def test_equal_vectors_have_no_distance(name, d):
    vectors = np.random.default_rng(d).uniform(0.1, 1, size=(100, 1, d))
    assert (vector_distances(np.concatenate((vectors, vectors, vectors), axis=1), name) == 0).all()


# Distances of texts by functions; those by metrics of evaluate: tests/modules/test_trm_modules.py.


def test_each_pair_is_asked_for_once_and_equal_texts_never():
    seen = []

    def distance(first, second):
        seen.extend(zip(first, second, strict=True))
        return [len(x) - len(y) for x, y in zip(first, second, strict=True)]

    rows = [["a", "bcd", "a"], ["bcd", "a"]]
    found = text_distances(rows, distance)
    assert seen == [("a", "bcd"), ("bcd", "a")]
    assert found[0].tolist() == [[0, -2, 0], [2, 0, 2], [0, -2, 0]]
    assert found[1].tolist() == [[0, 2], [-2, 0]]
    assert text_distances([["a", "a"]], None)[0].tolist() == [[0, 0], [0, 0]]


def test_a_metric_of_evaluate_that_fails_is_named():
    metric = types.SimpleNamespace(name="stand_in", features=None, compute=lambda **_: 1 / 0)
    failing = evaluate_distance("evaluate:stand_in", "similarity", lambda name: metric)
    message = "distance: expected a metric of pairs of texts, got 'stand_in' (ZeroDivisionError"
    assert_refused(ValueError, message, failing, ["a"], ["b"])
