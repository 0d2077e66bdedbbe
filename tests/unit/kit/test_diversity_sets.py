"""Diversity of sets: options and their messages, values by hand, and the keys of a result."""

import math

import numpy as np
import pytest

from manycaps.kit.diversity_sets import (
    MOST_CAPTIONS,
    check_set_sizes,
    compression_ratio,
    measured_rows,
    pairwise_distance,
    row_result,
    set_result,
)
from tests.refusals import assert_refused


def test_a_row_without_a_value_is_left_out():
    result = row_result({"x": [math.nan, 1.0]}, {"x": [0.5, 0.25]}, details=True)
    assert (result["x"], result["x_references"], result["x_difference"]) == (1.0, 0.375, 0.75)
    assert result["x_references_per_row"] == [0.5, 0.25]
    assert math.isnan(row_result({"x": [math.nan]}, {"x": [1.0]}, details=False)["x_difference"])
    assert set_result({"x": 1.0}, {"x": 0.5})["corpus_x_difference"] == 0.5


def test_compression_ratio_has_one_order():
    assert compression_ratio(["b", "a"]) == compression_ratio(["a", "b"]) == 3 / 23
    assert math.isnan(compression_ratio([""]))


def test_equal_sizes_take_the_first_captions():
    assert measured_rows([["a", "b", "c"], ["d"]], [["e", "f"], ["g", "h"]], "equal") == (
        [["a", "b"], ["d"]],
        [["e", "f"], ["g"]],
    )


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
