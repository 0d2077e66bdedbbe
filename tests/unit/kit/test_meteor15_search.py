"""The search of METEOR 1.5 for an alignment: pairs of texts by hand, and texts that are too long."""

import numpy as np
import pytest

from manycaps.kit.meteor15_search import Matches, Starts, search, take_matches
from tests.refusals import assert_refused


def matches_of(pairs):
    """Exact matches of all equal words of (hypothesis, reference) pairs, as the search takes them."""
    found = [
        (number, i, 1, j, 1, 0, (reference + hypothesis).count(word) == 2)
        for number, (hypothesis, reference) in enumerate(pairs)
        for i, word in enumerate(reference)
        for j, other in enumerate(hypothesis)
        if word == other
    ]
    *columns, is_fixed = np.array(found, np.int64).reshape(-1, 7).T
    # A path may change at any word of a reference.
    words = [
        (number, i, reference[i], hypothesis)
        for number, (hypothesis, reference) in enumerate(pairs)
        for i in range(len(reference))
    ]
    pair, place = np.array([word[:2] for word in words], np.int64).reshape(-1, 2).T
    n_matches = np.array([hypothesis.count(word) for *_, word, hypothesis in words], np.int64)
    starts = Starts(pair, place, np.cumsum(n_matches) - n_matches, n_matches)
    return Matches(*columns, is_fixed.astype(bool)), starts


def alignments(*texts):
    """Words of hypothesis and reference that are aligned, in the reference's order, and the chunks of each pair."""
    pairs = [(hypothesis.split(), reference.split()) for hypothesis, reference in texts]
    matches, starts = matches_of(pairs)
    chosen, chunks = search(matches, starts, len(pairs))
    kept = take_matches(matches, np.sort(chosen))
    found = [[] for _ in pairs]
    for number, i, j in zip(kept.pair, kept.reference_start, kept.hypothesis_start, strict=True):
        found[number].append((int(j), int(i)))
    return found, chunks.tolist()


def test_words_in_order_are_one_chunk_and_others_one_each():
    assert alignments(("a b c", "a b c"), ("c b a", "a b c"), ("a b", "b a")) == (
        [[(0, 0), (1, 1), (2, 2)], [(2, 0), (1, 1), (0, 2)], [(1, 0), (0, 1)]],
        [1, 3, 2],
    )


def test_a_word_between_ends_a_chunk_on_either_side():
    assert alignments(("a x b", "a b"), ("a b", "a x b")) == ([[(0, 0), (2, 1)], [(0, 0), (1, 2)]], [2, 2])


def test_of_equal_words_those_are_taken_that_make_fewer_chunks():
    # The second "a" stands before "b", as in the reference.
    assert alignments(("a x a b", "a b")) == ([[(2, 0), (3, 1)]], [1])
    assert alignments(("a b", "a x a b")) == ([[(0, 2), (1, 3)]], [1])


def test_more_words_count_before_fewer_chunks():
    # "b c" alone would be one chunk; "a", at the end, is another.
    assert alignments(("b c a", "a b c")) == ([[(2, 0), (0, 1), (1, 2)]], [2])


def test_a_pair_without_matches_has_no_chunk():
    assert alignments(("a", "a"), ("x", "y"), ("b", "b")) == ([[(0, 0)], [], [(0, 0)]], [1, 0, 1])


@pytest.mark.parametrize("n_others", [0, 1, 50])
def test_pairs_beside_it_change_no_alignment(n_others):
    pair, other = ("a x a b", "a b"), ("b c a", "a b c")
    found, chunks = alignments(*[other] * n_others, pair)
    assert (found[-1], chunks[-1]) == ([(2, 0), (3, 1)], 1)


def test_words_beyond_one_machine_word():
    words = " ".join(f"w{i}" for i in range(150))
    found, chunks = alignments((words, words))
    assert (found[0], chunks) == ([(i, i) for i in range(150)], [1])


def test_texts_whose_paths_need_too_many_bits_are_refused():
    ends = np.array([0, 2**40])
    ones = np.ones(2, np.int64)
    matches = Matches(0 * ones, ends, ones, ends[::-1].copy(), ones, 0 * ones, ones.astype(bool))
    starts = Starts(0 * ones, ends, np.arange(2), ones)
    message = "texts: expected two that METEOR 1.5 can align, got .* words each. Shorten texts of thousands of words."
    assert_refused(ValueError, message, search, matches, starts, 1)
