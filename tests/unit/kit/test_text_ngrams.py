"""Masks of texts: what goes in comes out, also beyond the bits of one number."""

import numpy as np
import pytest

from manycaps.kit.text_ngrams import RowTexts


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
