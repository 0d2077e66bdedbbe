"""Coarse and fine values of captions against the slow loop, and the cases that have no loop."""

import numpy as np
import pytest

from manycaps.kit import clip_token_matching
from manycaps.kit.clip_token_matching import (
    Match,
    Text,
    closest_reference,
    count_tokens,
    inverse_document_frequency,
    match_reference,
    match_video,
)
from tests.each_case import each_case
from tests.oracles.emscore_loop import reference_values, video_values, weights_by_document_frequency
from tests.refusals import assert_refused

RNG = np.random.default_rng(0)
# Two sums of a few dozen float64 terms in another order.
TOLERANCE = 1e-12


def text(n_tokens, d=6, rng=RNG):
    return Text(rng.standard_normal((n_tokens, d)), rng.random(n_tokens))


@each_case("n_frames", [1, 2, 9, 40])
@each_case("n_tokens", [2, 3, 77])
def test_video_values_are_those_of_a_slow_loop(n_tokens, n_frames, monkeypatch):
    monkeypatch.setattr(clip_token_matching, "FRAMES_AT_ONCE", 8)
    caption, frames = text(n_tokens), RNG.standard_normal((n_frames, 6)).astype(np.float32)
    expected = video_values(caption.tokens.tolist(), caption.weights.tolist(), frames.tolist())
    assert tuple(match_video(caption, frames)) == pytest.approx(expected, abs=TOLERANCE)


@pytest.mark.parametrize(("n_tokens", "n_reference"), [(2, 2), (3, 9), (20, 4)])
def test_reference_values_are_those_of_a_slow_loop(n_tokens, n_reference):
    caption, reference = text(n_tokens), text(n_reference)
    columns = [part.tolist() for own in (caption, reference) for part in (own.tokens, own.weights)]
    assert tuple(match_reference(caption, reference)) == pytest.approx(reference_values(*columns), abs=TOLERANCE)


def test_negative_cosines_stay_negative():
    """The authors' padding would make each of them 0."""
    caption = Text(np.array([[1.0, 0.0], [1.0, 0.0]]), np.ones(2))
    assert match_video(caption, np.array([[-1.0, 0.0]])) == Match(-1.0, -1.0, -1.0, -1.0)


def test_swapping_the_sides_swaps_precision_and_recall():
    caption, reference = text(5), text(9)
    one, other = match_reference(caption, reference), match_reference(reference, caption)
    assert one.fine_precision == pytest.approx(other.fine_recall, abs=TOLERANCE)
    assert one.fine_recall == pytest.approx(other.fine_precision, abs=TOLERANCE)
    assert one.fine_precision != pytest.approx(one.fine_recall, abs=1e-3)


def test_a_word_that_is_not_seen_lowers_precision_and_a_scene_that_is_not_said_recall():
    said, seen = np.eye(3)[:1], np.eye(3)[:1]
    both = match_video(Text(said, np.ones(1)), seen)
    assert (both.fine_precision, both.fine_recall) == (1.0, 1.0)
    unseen = match_video(Text(np.eye(3)[:2], np.ones(2)), seen)
    assert (unseen.fine_precision, unseen.fine_recall) == (0.5, 1.0)
    unsaid = match_video(Text(said, np.ones(1)), np.eye(3)[:2])
    assert (unsaid.fine_precision, unsaid.fine_recall) == (1.0, 0.5)


def test_what_is_undefined_is_nan():
    caption = Text(np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([1.0, 1.0]))
    cancelling = match_video(caption, np.array([[1.0, 0.0], [-1.0, 0.0]]))
    assert np.isnan(cancelling.coarse)
    assert cancelling.fine_recall == 0.5
    orthogonal = match_video(Text(np.array([[1.0, 0.0]]), np.ones(1)), np.array([[0.0, 1.0]]))
    assert np.isnan(orthogonal.fine_f)
    assert np.isnan(orthogonal.values()["emscore_pac"])
    assert (orthogonal.coarse, orthogonal.fine_precision, orthogonal.fine_recall) == (0.0, 0.0, 0.0)


def test_the_authors_take_each_maximum_by_itself():
    matches = [Match(0.9, 0.1, 0.2, 0.3), Match(0.1, 0.8, 0.1, 0.2), Match(0.2, 0.2, 0.7, 0.6)]
    assert closest_reference(matches, "authors") == Match(0.9, 0.8, 0.7, 0.6)
    assert closest_reference(matches, "equation_8") == matches[0]  # 1.2 is the largest coarse + F
    assert closest_reference(matches[1:], "equation_8") == matches[2]


def test_equation_8_is_never_above_the_authors():
    for _ in range(50):
        matches = [Match(*RNG.uniform(-1, 1, 4).tolist()) for _ in range(3)]
        scores = [
            closest_reference(matches, kind).values()["emscore_pac"]
            for kind in clip_token_matching.REFERENCE_AGGREGATIONS
        ]
        assert scores[0] >= scores[1]


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
        assert weights.of(ids).tolist() == pytest.approx([expected[i] for i in ids], abs=1e-12)


def test_the_end_token_has_a_large_weight():
    texts = [(START, 1, 2, 3 + i, END) for i in range(10)]
    weights = inverse_document_frequency(count_tokens(texts), START, END).of(texts[0])
    assert weights.tolist()[:3] == [0, 0, 0]
    assert 0 < weights[4] < weights[3]
    assert weights[4] > max(weights[:3])


def test_captions_without_any_difference_have_no_weights():
    message = "idf: expected captions that differ in their words, got"
    for texts in ([(START, 5, 6, END)], [(START, 5, END)] * 3, [(START, END)]):
        assert_refused(ValueError, message, inverse_document_frequency, count_tokens(texts), START, END)
