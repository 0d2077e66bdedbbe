"""Splits of a row, p-values by counting, and what the draws of a row depend on."""

import itertools
import math

import numpy as np
import pytest

from manycaps.kit.caption_sets import exact_splits, random_splits, row_keys, split_p_values


@pytest.mark.parametrize(("n", "m"), [(1, 2), (3, 2), (4, 4)])
@pytest.mark.parametrize("block", [1, 7, 1000])
def test_every_split_once_the_observed_one_first(n, m, block):
    labels = np.concatenate(list(exact_splits(n, m, 100)(block)))
    chosen = [tuple(np.flatnonzero(row)) for row in labels]
    assert sorted(chosen) == sorted(itertools.combinations(range(n + m), n))
    assert chosen[0] == tuple(range(n))


def test_mirror_images_may_be_left_out():
    splits = np.concatenate(list(exact_splits(3, 3, 20, mirrored=False)(7)))
    every = np.concatenate([splits, ~splits])
    assert len(np.unique(every, axis=0)) == 20
    assert splits[0].tolist() == [True] * 3 + [False] * 3
    # Sets of different sizes have no mirror images.
    assert sum(len(block) for block in exact_splits(3, 2, 10, mirrored=False)(7)) == 10


@pytest.mark.parametrize("block", [1, 100, 5000])
def test_random_splits_depend_on_seed_and_sizes_alone(block):
    drawn = np.concatenate(list(random_splits(4, 3, 2500, seed=1)(block)))
    assert drawn.shape == (2501, 7)
    assert drawn.sum(axis=1).tolist() == [4] * 2501
    assert drawn[0].tolist() == [True] * 4 + [False] * 3
    assert drawn.tolist() == np.concatenate(list(random_splits(4, 3, 2500, seed=1)(64))).tolist()
    assert drawn.tolist() != np.concatenate(list(random_splits(4, 3, 2500, seed=2)(64))).tolist()


def test_random_splits_are_uniform():
    labels = np.concatenate(list(random_splits(2, 2, 60_000, seed=0)(4096)))[1:]
    counts = np.unique(labels @ [1, 2, 4, 8], return_counts=True)[1]
    assert len(counts) == 6
    assert abs(counts - 10_000).max() < 4 * math.sqrt(60_000 * 5 / 36)  # four standard deviations


def test_ties_count_as_reached():
    values = [np.array([[1.0, 1.0 - 5e-10, 0.5]])]
    assert split_p_values(np.array([1.0]), values).tolist() == [2 / 3]


def test_keys_tell_contents_apart():
    array = np.array([[1.0, 2.0]])
    keys = row_keys([["a"], ["a"], ("a",), [], array, array.T], [["b"], ["c"], ("b",), ["a", "b"], array, array])
    found = [keys(i) for i in range(6)]
    assert found[0] == found[2]
    assert len(set(found)) == 5
