"""Ready embeddings and embedded captions: numbering, stacking, and messages."""

import numpy as np
import pytest

from manycaps.kit.sets_module import DISTRIBUTION_DEFAULTS, compare_rows
from manycaps.kit.sets_splits import Comparison
from manycaps.kit.vectors_rows import as_embedding_rows, embed_caption_rows, joint_vectors, vector_rows
from tests.each_case import each_case
from tests.refusals import assert_refused

PAIR = np.eye(2)


def no_bar(steps, **_):
    return steps


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


@each_case(("message", "columns"), [*VALUE_ERRORS.items(), *TYPE_ERRORS.items()])
def test_bad_arrays_are_named(message, columns):
    error = TypeError if message in TYPE_ERRORS else ValueError
    assert_refused(error, f"{message}.*.$", as_embedding_rows, *columns)


@pytest.mark.parametrize("numbers_per_batch", [1, 20, 10**6])
def test_batches_keep_the_order_of_the_rows(numbers_per_batch, monkeypatch):
    monkeypatch.setattr("manycaps.kit.vectors_rows.NUMBERS_PER_BATCH", numbers_per_batch)
    sizes = [(2, 1), (1, 1), (2, 1), (1, 2), (2, 1)]
    rows = as_embedding_rows(
        [np.full((n, 2), float(i)) for i, (n, _) in enumerate(sizes)], [np.zeros((m, 2)) for _, m in sizes]
    )
    seen = []

    def compare(vectors, n_candidates):
        seen.append((vectors.shape, n_candidates))
        # Under every split but the observed one the value is larger by the number of the split.
        return Comparison(
            vectors[:, 0, 0],
            np.zeros((len(vectors), *vectors.shape[1:])),
            lambda part, splits: [vectors[part, 0, :1] + np.arange(sum(map(len, splits(8))))],
        )

    plain = compare_rows(vector_rows(rows, compare, {}), DISTRIBUTION_DEFAULTS, no_bar)
    assert plain.statistic.tolist() == [0, 1, 2, 3, 4]
    assert plain.tests is None
    tested = compare_rows(vector_rows(rows, compare, {}), {**DISTRIBUTION_DEFAULTS, "p_value": "exact"}, no_bar)
    assert tested.tests.excesses.tolist() == [-1, 0, -1, -1, -1]
    assert tested.tests.p_values.tolist() == [1.0] * 5
    assert all(shape[1:] == (2, 2) or shape[1] == 3 for shape, _ in seen)
