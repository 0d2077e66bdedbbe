"""Hand cases and messages of CMMD and KID; beside other programs they stand in tests/parity/test_kernel_presets.py."""

import math

import numpy as np
import pytest

from manycaps.kit.vectors_pooled_mmd import check_subset_size, cmmd, kid_values


def counts(candidates, references):
    return np.array(candidates), np.array(references)


def test_cmmd_of_two_points():
    points = np.array([[0.0, 0.0], [6.0, 8.0]])
    # Once a candidate and once a reference, 10 apart: 1,000 (1 + 1 - 2 exp(-1/2)).
    assert cmmd(points, *counts([1, 0], [0, 1])) == pytest.approx(2000 * (1 - math.exp(-0.5)), rel=1e-12)


def test_cmmd_of_equal_sets_is_0_whatever_their_sizes():
    points = np.random.default_rng(0).normal(size=(5, 3))
    assert cmmd(points, *counts([1] * 5, [1] * 5)) == pytest.approx(0, abs=1e-10)
    assert cmmd(points, *counts([2] * 5, [1] * 5)) == pytest.approx(0, abs=1e-10)


def test_opposite_vectors_of_length_1_have_the_largest_cmmd():
    points = np.array([[1.0, 0.0], [-1.0, 0.0]])
    assert cmmd(points, *counts([3, 0], [0, 2])) == pytest.approx(2000 * (1 - math.exp(-1 / 50)), rel=1e-10)


def test_kid_of_the_whole_sets_has_one_value():
    values = kid_values(np.array([[0.0], [1.0]]), np.array([[0.0], [1.0]]), 3, 2, 5)
    # Within a set only k(0, 1) = 1 counts, across 1, 1, 1 and 8: 1 + 1 - 2 (11 / 4).
    assert values.tolist() == pytest.approx([-3.5] * 3, rel=1e-15)


def test_subsets_follow_the_seed():
    candidates, references = np.random.default_rng(0).normal(size=(2, 9, 2))
    first, again, other = (kid_values(candidates, references, 4, 3, seed).tolist() for seed in (0, 0, 1))
    assert first == again
    assert first != other
    assert len(set(first)) == 4


@pytest.mark.parametrize(("n", "m"), [(3, 9), (9, 3)])
def test_a_subset_larger_than_a_set_is_refused(n, m):
    check_subset_size(3, n, m)
    with pytest.raises(ValueError, match=r"^subset_size: expected at most 3, the size of the smaller set, got 4"):
        check_subset_size(4, n, m)
