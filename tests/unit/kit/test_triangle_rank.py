"""Triangle ranks by hand: counts with ties, both statistics, null values, and rows that are too large."""

import itertools

import numpy as np
import pytest

from manycaps.kit.sets_tests import exact_splits
from manycaps.kit.triangle_rank import (
    MAX_PER_SIDE_TEXTS,
    check_statistic_sizes,
    null_statistics,
    rank_statistic,
    statistic_range,
    triangle_rank_counts,
)
from tests.refusals import assert_refused

# Points on a line: candidates 0 and 1, references 5 and 7.
LINE = np.abs(np.subtract.outer([0.0, 1.0, 5.0, 7.0], [0.0, 1.0, 5.0, 7.0]))[None]

COLUMNS = ("predictions", "references")


def test_counts_of_four_points_on_a_line():
    # 1 between candidates is the shortest edge beside 4, 5, 6 and 7; so is 2 between references.
    assert triangle_rank_counts(LINE, 2).tolist() == [[[4, 0, 0], [4, 0, 0]]]
    # With candidates 0 and 7 their edge of 7 is the longest of each triangle, and 4 between 1 and 5 the middle one
    # of 1, 4, 5 and of 2, 4, 6.
    order = [0, 3, 1, 2]
    assert triangle_rank_counts(LINE[:, order][:, :, order], 2).tolist() == [[[0, 0, 4], [0, 4, 0]]]


def test_equal_edges_count_under_every_rank():
    equal = 1.0 - np.eye(3)[None]
    counts = triangle_rank_counts(equal, 2)
    assert counts.tolist() == [[[2, 2, 2], [0, 0, 0]]]
    assert rank_statistic(counts).tolist() == [0.0]


def test_edges_that_differ_by_rounding_are_equal_in_any_unit():
    near = LINE + 1e-13 * np.arange(16).reshape(4, 4) * (LINE > 0)
    for unit in (1e-30, 1.0, 1e30):
        assert (triangle_rank_counts(near * unit, 2) == triangle_rank_counts(LINE, 2)).all()


def test_opposite_deviations_cancel_in_the_pooled_statistic_alone():
    # |1 - 1/3| + 1/3 + 1/3 = 4/3 of a side on which one rank takes all.
    counts = np.array([[[4, 0, 0], [0, 4, 0]], [[3, 0, 0], [3, 0, 0]], [[2, 2, 2], [1, 1, 1]], [[0, 0, 6], [0, 0, 0]]])
    assert rank_statistic(counts) == pytest.approx([8 / 3, 8 / 3, 0, 4 / 3])
    assert rank_statistic(counts, "pooled") == pytest.approx([1 / 6 + 1 / 6 + 1 / 3, 4 / 3, 0, 4 / 3])
    for name in ("per_side", "pooled"):
        assert rank_statistic(counts, name).max() == pytest.approx(statistic_range({"statistic": name})[1])


@pytest.mark.parametrize("statistic", ["per_side", "pooled"])
def test_null_values_are_the_statistics_of_texts_in_another_order(statistic):
    splits = exact_splits(2, 2, 100, mirrored=True)
    found = np.concatenate(list(null_statistics(LINE, splits, statistic)), axis=1)[0]
    labels = np.concatenate(list(splits(100)))
    assert {tuple(np.flatnonzero(row)) for row in labels} == set(itertools.combinations(range(4), 2))
    for value, row in zip(found, labels, strict=True):
        order = [*np.flatnonzero(row), *np.flatnonzero(~row)]
        again = rank_statistic(triangle_rank_counts(LINE[:, order][:, :, order], 2), statistic)
        assert value == pytest.approx(again[0], abs=1e-12)


def test_rows_that_are_too_large_for_a_p_value_are_named():
    options = {"statistic": "per_side", "p_value": "exact"}
    sizes = [(2, 2), (MAX_PER_SIDE_TEXTS, 1)]
    check_statistic_sizes(sizes, COLUMNS, options | {"statistic": "pooled"})
    message = f"predictions[1], references[1]: expected at most {MAX_PER_SIDE_TEXTS} captions in all"
    assert_refused(ValueError, message, check_statistic_sizes, sizes, COLUMNS, options)


def test_sets_of_one_are_warned_of_if_all_rows_have_them(recwarn):
    options = {"statistic": "per_side", "p_value": "none"}
    check_statistic_sizes([(1, 3), (2, 3)], COLUMNS, options)
    assert not recwarn
    with pytest.warns(UserWarning, match=r"^predictions: expected two items or more per row"):
        check_statistic_sizes([(1, 3), (1, 2)], COLUMNS, options)
