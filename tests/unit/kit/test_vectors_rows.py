"""Ready embeddings and embedded captions: numbering, stacking, and messages."""

import numpy as np
import pytest

from manycaps.kit.vector_rows import as_embedding_rows, embed_caption_rows, joint_vectors
from tests.refusals import assert_refused

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


SHAPE = "expected an array of shape (n, d) with n and d at least 1, got shape"
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
