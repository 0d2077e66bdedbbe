"""Scores of CLIP features: PAC-S and RefPAC-S by hand, matching of tokens and frames by loops, and sets."""

import math

import numpy as np
import pytest

import manycaps
from manycaps.kit import clip_emscore
from manycaps.kit.clip_emscore import (
    Match,
    Text,
    closest_reference,
    count_tokens,
    inverse_document_frequency,
    match_reference,
    match_video,
)
from manycaps.kit.clip_pac import PAC_PROMPT, PAC_WEIGHT, pac_s, ref_pac_s, retrieval_ranks
from manycaps.kit.clip_sets import as_image_sets
from manycaps.kit.vectors_sentences import PAIRS_AT_ONCE, paired_cosines
from tests.oracles.emscore_loop import reference_values, video_values, weights_by_document_frequency
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


def test_paired_cosines_equal_a_loop(monkeypatch):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(5, 8)), rng.normal(size=(4, 8)) * 1e-150
    x_rows, y_rows = rng.integers(0, 5, 30), rng.integers(0, 4, 30)
    slow = [
        float(x[i] @ (y[j] * 1e150) / np.linalg.norm(x[i]) / np.linalg.norm(y[j] * 1e150))
        for i, j in zip(x_rows, y_rows, strict=True)
    ]
    assert paired_cosines(x, y, x_rows, y_rows) == pytest.approx(slow, rel=1e-12)
    monkeypatch.setattr("manycaps.kit.vectors_sentences.PAIRS_AT_ONCE", 7)
    assert paired_cosines(x, y, x_rows, y_rows) == pytest.approx(slow, rel=1e-12)
    assert PAIRS_AT_ONCE > 7


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


# Coarse and fine values of captions against the slow loop, and the cases that have no loop.

RNG = np.random.default_rng(0)
# Two sums of a few dozen float64 terms in another order.
TOLERANCE = 1e-12


def text(n_tokens, d=6, rng=RNG):
    return Text(rng.standard_normal((n_tokens, d)), rng.random(n_tokens))


@pytest.mark.parametrize("n_frames", [1, 2, 9, 40])
@pytest.mark.parametrize("n_tokens", [2, 3, 77])
def test_video_values_are_those_of_a_slow_loop(n_tokens, n_frames, monkeypatch):
    monkeypatch.setattr(clip_emscore, "FRAMES_AT_ONCE", 8)
    caption, frames = text(n_tokens), RNG.standard_normal((n_frames, 6)).astype(np.float32)
    expected = video_values(caption.tokens.tolist(), caption.weights.tolist(), frames.tolist())
    assert tuple(match_video(caption, frames)) == pytest.approx(expected, abs=TOLERANCE)


@pytest.mark.parametrize(("n_tokens", "n_reference"), [(2, 2), (3, 9), (20, 4)])
def test_reference_values_are_those_of_a_slow_loop(n_tokens, n_reference):
    caption, reference = text(n_tokens), text(n_reference)
    columns = [part.tolist() for own in (caption, reference) for part in (own.tokens, own.weights)]
    assert tuple(match_reference(caption, reference)) == pytest.approx(reference_values(*columns), abs=TOLERANCE)


def test_what_is_undefined_is_nan():
    caption = Text(np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([1.0, 1.0]))
    cancelling = match_video(caption, np.array([[1.0, 0.0], [-1.0, 0.0]]))
    assert np.isnan(cancelling.coarse)
    assert cancelling.fine_recall == 0.5
    orthogonal = match_video(Text(np.array([[1.0, 0.0]]), np.ones(1)), np.array([[0.0, 1.0]]))
    assert np.isnan(orthogonal.fine_f)
    assert np.isnan(orthogonal.values()["emscore_pac"])
    assert (orthogonal.coarse, orthogonal.fine_precision, orthogonal.fine_recall) == (0.0, 0.0, 0.0)


def test_the_closest_reference_has_the_largest_whole_score():
    """(coarse + F) / 2, and neither of them alone."""
    matches = [Match(0.6, 0.1, 0.1, 0.1), Match(0.5, 0.5, 0.5, 0.5), Match(0.1, 0.6, 0.6, 0.6)]
    assert closest_reference(matches, "equation_8") == matches[1]


START, END = 49406, 49407


def documents(n, rng):
    return [(START, *rng.integers(1, 30, rng.integers(0, 12)).tolist(), END) for _ in range(n)]


@pytest.mark.parametrize("n", [1, 2, 12, 200])
def test_weights_are_the_authors(n):
    rng = np.random.default_rng(n)
    texts = [*documents(n, rng), (START, 3, END)]
    expected = weights_by_document_frequency(texts)
    weights = inverse_document_frequency(count_tokens(texts), START, END)
    for ids in (*texts, (START, 9999, 0, END)):
        assert weights.token_weights(ids).tolist() == pytest.approx([expected[i] for i in ids], abs=1e-12)


# Columns of images and captions as sets: rows, places for messages.


def test_a_generator_is_not_read_before_its_images_are_needed():
    seen = []

    def images():
        for name in "abc":
            seen.append(name)
            yield name

    sets = as_image_sets(images(), "prediction_images")
    assert (seen, sets.sizes) == (["a"], None)
    assert list(sets.images) == ["a", "b", "c"]
    assert as_image_sets((list(row) for row in ("ab", "c")), "prediction_images").sizes == [2, 1]
