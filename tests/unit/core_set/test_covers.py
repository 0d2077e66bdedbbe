"""CIDEr-D of each candidate with each row is that of the plain function; the lazy greedy cover is exhaustive."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from manycaps import functional
from manycaps.core_set.covers import greedy_cover, reached_rows
from manycaps.core_set.cross_cider import CrossCider

TEXTS = st.lists(st.sampled_from("a the dog cat runs red".split()), max_size=9)
ROWS = st.lists(st.lists(TEXTS, min_size=1, max_size=4), min_size=2, max_size=5)
SETS = st.lists(st.sets(st.integers(0, 9)), min_size=1, max_size=12)


def exhaustive(sets):
    """Count every candidate again at every step; of equal ones the first."""
    covered, chosen, n_new = set(), [], []
    while True:
        gains = [len(own - covered) for own in sets]
        if not max(gains):
            return chosen, n_new
        best = gains.index(max(gains))
        chosen.append(best)
        n_new.append(gains[best])
        covered |= sets[best]


def loop(candidates, rows):
    """Score each candidate in every row by the plain function; the references alone are the documents."""
    return np.array([functional.cider_d([[tokens]] * len(rows), rows) for tokens in candidates])


def by_candidate(candidates, rows):
    cross = CrossCider(candidates, rows)
    found = np.empty((len(candidates), len(rows)))
    middle = len(candidates) // 2
    found[cross.order] = np.concatenate([cross.scores(0, middle), cross.scores(middle, len(candidates))])
    return found


@settings(max_examples=40, deadline=None)
@given(st.lists(TEXTS, min_size=1, max_size=8), ROWS)
def test_scores_are_those_of_single_candidates(candidates, rows):
    expected = loop(candidates, rows)
    assert by_candidate(candidates, rows) == pytest.approx(expected, abs=1e-12)


@settings(max_examples=20, deadline=None)
@given(st.lists(TEXTS, min_size=2, max_size=12), ROWS, st.sampled_from([0.5, 1.0, 3.0]))
def test_the_cover_is_the_exhaustive_one(candidates, rows, threshold):
    cross = CrossCider(candidates, rows)
    sizes = len(candidates), len(rows)
    reached = reached_rows(cross.scores, *sizes, [threshold], lambda steps, **_: steps).reordered(cross.order)
    scores = loop(candidates, rows)
    # A score that is the threshold but for rounding could fall on either side.
    assume(not (abs(scores - threshold) < 1e-7).any())
    sets = [set(np.flatnonzero(line >= threshold).tolist()) for line in scores]
    assert greedy_cover(*reached.at(0), len(rows)) == exhaustive(sets)


def test_by_hand():
    # "dog runs" and its copy share orders 1 and 2 of four, each with cosine 1: half of 10. "a" and "a cat" differ by a
    # bigram and share one of two equal weights, "a" and "a" are equal: order 1 alone, mean over both references.
    scores = by_candidate([["dog", "runs"], ["a"]], [[["dog", "runs"]], [["a", "cat"], ["a"]]])
    assert scores[0].tolist() == pytest.approx([5, 0], abs=1e-12)
    assert scores[1].tolist() == pytest.approx([0, 2.5 * (np.exp(-1 / 72) / np.sqrt(2) + 1) / 2], abs=1e-12)


def greedy(sets, n_rows):
    first = np.append(0, np.cumsum([len(own) for own in sets]))
    return greedy_cover(first, np.array([row for own in sets for row in sorted(own)], np.int32), n_rows)


@settings(max_examples=100, deadline=None)
@given(SETS)
def test_the_choice_is_that_of_the_exhaustive_search(sets):
    assert greedy(sets, 10) == exhaustive(sets)
