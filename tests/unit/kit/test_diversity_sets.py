"""Diversity of sets: the largest one, and pairwise distances by hand."""

import math

import numpy as np
import pytest

from manycaps.kit.diversity_sets import MOST_CAPTIONS, check_set_sizes, pairwise_distance
from tests.refusals import assert_refused


def test_a_set_that_is_too_large_is_named():
    message = "references[1]: expected at most 2,000 captions in a set, got 2,001 "
    assert_refused(ValueError, message, check_set_sizes, [["a"], ["a"] * (MOST_CAPTIONS + 1)], "references")


def test_pairwise_distance():
    for vectors, expected in (
        ([[1.0, 0.0]] * 3, 0.0),
        ([[1.0, 0.0], [-1.0, 0.0]], 2.0),
        ([[1.0, 0.0], [0.0, 1.0]], 1.0),
        ([[1.0]], math.nan),
    ):
        assert pairwise_distance(np.array(vectors)) == pytest.approx(expected, nan_ok=True)
    # The rounding of equal vectors is no distance.
    vector = np.random.default_rng(0).normal(size=384)
    vector /= np.linalg.norm(vector)
    assert pairwise_distance(np.array([vector] * 7)) == 0.0
    near = np.array([[math.cos(angle), math.sin(angle)] for angle in (0.0, 1e-5)])
    assert pairwise_distance(near) == pytest.approx(5e-11, rel=1e-4)
