"""EMScore: values of videos and of references by a slow loop, and weights of tokens."""

import numpy as np
import pytest

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
from tests.oracles.emscore_loop import reference_values, video_values, weights_by_document_frequency

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
