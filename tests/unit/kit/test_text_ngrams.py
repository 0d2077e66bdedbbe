"""N-grams as numbers against n-grams as tuples, and masks of texts, also beyond the bits of a machine word."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from manycaps.kit.text_ngrams import RowTexts, ngram_ids, word_ids


@pytest.mark.parametrize("sizes", [[1], [3, 1, 2], [64, 65, 1], [130, 2]], ids=lambda sizes: "_".join(map(str, sizes)))
def test_members_are_those_of_the_masks(sizes):
    texts, rng = RowTexts(sizes), np.random.default_rng(0)
    sets = [np.flatnonzero(rng.random(size) < 0.5) for size in sizes]
    group = np.repeat(np.arange(len(sizes)), [len(own) for own in sets])
    masks = texts.masks(group, np.concatenate(sets), len(sizes))
    position, text = texts.members(np.arange(len(sizes)), masks)
    assert [(text[position == i] - texts.first[i]).tolist() for i in range(len(sizes))] == [s.tolist() for s in sets]


def test_others_are_all_but_one():
    texts = RowTexts([2, 70])
    position, text = texts.members(np.array([0, 1]), texts.others(np.array([1, 68])))
    assert text[position == 0].tolist() == [0]
    assert text[position == 1].tolist() == [*range(2, 68), *range(69, 72)]


CAPTIONS = st.lists(st.lists(st.sampled_from("abcd"), max_size=7), max_size=6)


@given(CAPTIONS)
def test_numbers_are_equal_exactly_where_the_ngrams_are(captions):
    words, lengths = word_ids(captions, {})
    for order, (ids, last) in enumerate(ngram_ids(words, lengths, 4), start=1):
        tuples = [tuple(c[i : i + order]) for c in captions for i in range(len(c) - order + 1)]
        assert len(ids) == len(last) == len(tuples)
        assert len(set(zip(ids.tolist(), tuples, strict=True))) == len(set(tuples)) == len(set(ids.tolist()))
        flat = [token for caption in captions for token in caption]
        assert [tuple(flat[end - order + 1 : end + 1]) for end in last.tolist()] == tuples


def test_a_vocabulary_grows():
    vocabulary = {"a": 0}
    assert word_ids([["b", "a"]], vocabulary)[0].tolist() == [1, 0]
    assert vocabulary == {"a": 0, "b": 1}
