"""Arrays, means and work in threads: hand cases, ties, and what is refused with its place."""

import math
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pytest

from manycaps.kit.arrays import (
    LARGEST_SIZE,
    as_finite,
    as_list,
    as_numbers,
    build_result,
    exact_mean,
    first_largest,
    map_in_order,
    mean_of_defined,
    plain_arguments,
    row_means,
)
from tests.refusals import assert_refused, refusals


def test_results_keep_their_order_and_items_are_taken_a_few_ahead():
    taken = []

    def items():
        for i in range(6):
            taken.append(i)
            yield i

    with ThreadPoolExecutor(2) as pool:
        results = map_in_order(pool, lambda i: i * i, items(), n_ahead=2)
        assert next(results) == 0
        assert taken == [0, 1, 2]
        assert list(results) == [1, 4, 9, 16, 25]


def test_what_has_not_begun_never_does_after_an_error():
    begun, is_free = [], threading.Event()

    def work(i):
        begun.append(i)
        if i == 0:
            raise ValueError("item 0")
        is_free.wait(10)

    with ThreadPoolExecutor(1) as pool:
        with pytest.raises(ValueError, match="item 0"):
            list(map_in_order(pool, work, range(4), n_ahead=3))
        is_free.set()
    assert begun in ([0], [0, 1])  # the second may have begun before the error was seen


def test_a_mean_does_not_depend_on_the_order():
    values = [1e16, 1.0, -1e16]
    assert exact_mean(values) == exact_mean(sorted(values)) == exact_mean(values[::-1]) == 1 / 3
    assert row_means(np.array([1e16, 1.0, -1e16, 4.0]), [3, 1]) == [1 / 3, 4.0]
    assert mean_of_defined([math.nan, 2.0, 4.0]) == 3.0
    assert math.isnan(mean_of_defined([math.nan]))


def test_the_first_of_equal_values_is_the_largest_and_nan_counts_as_one():
    values = np.array([3.0, 3.0, 1.0, 2.0, math.nan, 5.0])
    assert first_largest(values, np.array([2, 2, 2])).tolist() == [0, 3, 4]


def test_details_add_lists_and_change_no_mean():
    scores = {"a": np.array([0.0, 1.0, 0.5])}
    plain, detailed = (build_result(scores, [2, 1], details) for details in (False, True))
    assert plain == {"a": 0.5, "n_rows": 2}
    assert detailed == plain | {"a_per_row": [0.5, 0.5], "a_per_candidate": [[0.0, 1.0], [0.5]]}


def test_columns_of_arrow_become_values_of_python():
    assert as_list(pa.array(["a", None]), "predictions", "captions") == ["a", None]
    assert as_list(("a", "b"), "predictions", "captions") == ["a", "b"]


def test_scalars_of_numpy_are_numbers_of_python():
    kinds = plain_arguments(lambda first, second, third=None: (type(first), type(second), type(third)))
    assert kinds(np.float32(0.1), [np.int64(1)], third=np.int64(3)) == (float, list, int)


def test_numbers_keep_their_type_unless_another_is_asked_for():
    assert as_numbers(np.zeros(2, np.float32), "a", "numbers", "Convert.").dtype == np.float32
    assert as_finite([[1, True]], "a").tolist() == [[1.0, 1.0]]
    assert as_finite([LARGEST_SIZE, -LARGEST_SIZE], "a").tolist() == [1e100, -1e100]


MASKED = np.ma.masked_array([1.0, 2.0], [True, False])

test_messages = refusals(
    {
        TypeError: [
            ("x: expected captions, got None. Give a list.", lambda: as_list(None, "x", "captions")),
            ("y: expected captions, got ndarray", lambda: as_list(np.array(1), "y", "captions")),
            ("d: expected numbers, got MaskedArray (a masked array).", lambda: as_numbers(MASKED, "d", "numbers", "")),
            ("e: expected numbers, got list", lambda: as_numbers([[1], [1, 2]], "e", "numbers", "")),
            ("f: expected numbers, got list (values of type <U1).", lambda: as_numbers(["a"], "f", "numbers", "", "f")),
        ],
        ValueError: [
            ("g[1][0]: expected a finite number, got NaN", lambda: as_finite([[1.0], [math.inf]], "g")),
            ("h[0]: expected a number of size at most 1e+100, got -1e+101.", lambda: as_finite([-1e101], "h")),
        ],
    }
)


def test_a_single_number_is_named_without_a_place():
    assert_refused(ValueError, "sigma: expected a finite number, got NaN", as_finite, math.nan, "sigma")
