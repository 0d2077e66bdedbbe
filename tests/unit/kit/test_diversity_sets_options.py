"""Which captions are measured, and every message about an option."""

import math

import pytest

from manycaps.kit.diversity_sets import MOST_CAPTIONS, check_kernels, check_orders, check_set_sizes, measured_rows
from tests.each_case import each_case


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
