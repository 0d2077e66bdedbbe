"""Diversity of sets: options and their messages, values by hand, and the keys of a result."""

import math

import numpy as np
import pytest

from manycaps.kit.diversity_sets import (
    MOST_CAPTIONS,
    check_kernels,
    check_orders,
    check_set_sizes,
    compression_ratio,
    measured_rows,
    pairwise_distance,
    row_result,
    set_result,
)
from tests.each_case import each_case


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


@each_case(
    ("kernels", "error", "message"),
    [
        ("ngram", TypeError, "kernels: expected a list, got 'ngram'."),
        (("bigram",), ValueError, "kernels: expected 'ngram', 'embedding' or a function, got 'bigram'."),
        ((3,), ValueError, "kernels: expected 'ngram', 'embedding' or a function, got 3."),
        (("ngram", "ngram"), ValueError, "kernels: expected each kernel once and at most one function, got ['ngram', "),
        ((len, abs), ValueError, "kernels: expected each kernel once and at most one function, got ['kernel', "),
    ],
    ids=["text", "name", "number", "twice", "two_functions"],
)
def test_bad_kernels(kernels, error, message):
    with pytest.raises(error) as caught:
        check_kernels(kernels)
    assert str(caught.value).startswith(message)


@each_case(
    ("orders", "error", "message"),
    [
        (1, TypeError, "vendi_orders: expected a list of numbers, got 1."),
        (("1",), TypeError, "vendi_orders: expected a number, got str. Write math.inf"),
        ((True,), TypeError, "vendi_orders: expected a number, got bool. Write math.inf"),
        ((0,), ValueError, "vendi_orders: expected numbers from 1 to 1000, or infinity, got 0."),
        ((0.5,), ValueError, "vendi_orders: expected numbers from 1 to 1000, or infinity, got 0.5."),
        ((math.nan,), ValueError, "vendi_orders: expected numbers from 1 to 1000, or infinity, got nan."),
        ((10**400,), ValueError, "vendi_orders: expected numbers from 1 to 1000, or infinity, got 1000"),
        ((), ValueError, "vendi_orders: expected at least one order, and each once, got ()."),
        ((1, 1.0), ValueError, "vendi_orders: expected at least one order, and each once, got (1, 1.0)."),
    ],
    ids=["number", "text", "bool", "zero", "half", "nan", "huge", "none", "twice"],
)
def test_bad_orders(orders, error, message):
    with pytest.raises(error) as caught:
        check_orders(orders)
    assert str(caught.value).startswith(message)


def test_a_set_that_is_too_large_is_named():
    with pytest.raises(ValueError, match=r"^references\[1\]: expected at most 2,000 captions in a set, got 2,001 "):
        check_set_sizes([["a"], ["a"] * (MOST_CAPTIONS + 1)], "references")


@pytest.mark.parametrize(
    ("vectors", "expected"),
    [([[1.0, 0.0]] * 3, 0.0), ([[1.0, 0.0], [-1.0, 0.0]], 2.0), ([[1.0, 0.0], [0.0, 1.0]], 1.0), ([[1.0]], math.nan)],
    ids=["same", "opposite", "orthogonal", "one"],
)
def test_pairwise_distance(vectors, expected):
    assert pairwise_distance(np.array(vectors)) == pytest.approx(expected, nan_ok=True)


def test_the_rounding_of_equal_vectors_is_no_distance():
    vector = np.random.default_rng(0).normal(size=384)
    vector /= np.linalg.norm(vector)
    assert pairwise_distance(np.array([vector] * 7)) == 0.0
    near = np.array([[math.cos(angle), math.sin(angle)] for angle in (0.0, 1e-5)])
    assert pairwise_distance(near) == pytest.approx(5e-11, rel=1e-4)
