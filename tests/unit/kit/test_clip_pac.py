"""PAC-S and RefPAC-S by hand, and ranks of retrieval by a loop."""

import math

import numpy as np
import pytest

import manycaps
from manycaps.kit.clip_pac import PAC_PROMPT, PAC_WEIGHT, pac_s, ref_pac_s, retrieval_ranks
from tests.refusals import assert_refused


def test_pac_s_by_hand():
    assert (PAC_WEIGHT, PAC_PROMPT) == (2.0, "A photo depicts"), "as in the paper"
    cosines, scores = [1.0, 0.25, 0.0, -0.3, 1 + 1e-12], [2.0, 0.5, 0.0, 0.0, 2.0]
    assert pac_s(np.array(cosines), 2.0).tolist() == scores  # clipped before any mean


@pytest.mark.parametrize(
    ("pac", "cosine", "score"),
    [(1.0, 1.0, 1.0), (2.0, 1.0, 4 / 3), (0.0, 0.8, 0.0), (1.2, -0.4, 0.0), (0.0, 0.0, 0.0), (5e-324, 1e-300, 0.0)],
)
def test_ref_pac_s_by_hand(pac, cosine, score):
    result = ref_pac_s(np.array([pac]), np.array([cosine]))[0]
    assert math.isfinite(result)
    assert result == pytest.approx(score, rel=1e-15, abs=1e-300)


@pytest.mark.parametrize("n_rows", [1, 2, 13])
def test_retrieval_ranks_are_those_of_a_loop_with_ties(n_rows):
    rng = np.random.default_rng(n_rows)
    images = rng.integers(0, 3, (n_rows, 2)).astype(np.float32) + 1  # few different ones
    texts = rng.integers(0, 3, (3 * n_rows, 2)).astype(np.float32) + 1
    rows = rng.integers(0, n_rows, 3 * n_rows)
    found = retrieval_ranks(texts, images, rows)
    pool = [np.array(image) for image in {tuple(image) for image in images.tolist()}]
    for text, row, rank, recall in zip(texts, rows, found.ranks(), found.recalls(2), strict=True):
        cosines = [round(float(text @ image / np.linalg.norm(text) / np.linalg.norm(image)), 9) for image in pool]
        own = next(c for c, image in zip(cosines, pool, strict=True) if (image == images[row]).all())
        n_larger, n_equal = sum(c > own for c in cosines), cosines.count(own)
        places = [*range(n_larger + 1, n_larger + n_equal + 1)]
        assert rank == sum(places) / n_equal
        assert recall == pytest.approx(sum(place <= 2 for place in places) / n_equal, abs=1e-15)
    assert found.n_images == len(pool)


def test_retrieval_in_blocks_is_that_of_all_at_once(monkeypatch):
    rng = np.random.default_rng(0)
    texts, images, rows = rng.normal(size=(50, 4)), rng.normal(size=(20, 4)), rng.integers(0, 20, 50)
    whole = retrieval_ranks(texts, images, rows)
    monkeypatch.setattr("manycaps.kit.clip_pac.COSINES_AT_ONCE", 40)
    assert retrieval_ranks(texts, images, rows).ranks().tolist() == whole.ranks().tolist()


def test_pac_score_ranks_the_images_of_all_rows():
    texts = [np.eye(3)[[0, 1]], np.eye(3)[[1]]]
    images = [np.array([1.0, 0.5, 0.0]), np.array([0.0, 1.0, 0.0])]
    module = manycaps.load("pac_score", retrieval=True, details=True)
    result = module.compute(prediction_embeddings=texts, images=images)
    assert result["retrieval_rank_per_candidate"] == [[1.0, 2.0], [1.0]]
    assert (result["recall_at_1"], result["recall_at_5"]) == (0.75, 1.0)
    assert (result["median_rank"], result["n_images"]) == (1.0, 2)
    plain = module.compute(prediction_embeddings=texts, images=images, retrieval=False)
    assert {key: result[key] for key in plain} == plain
    assert_refused(TypeError, ".*retrieval: expected True or False, got 1", manycaps.load, "pac_score", retrieval=1)
