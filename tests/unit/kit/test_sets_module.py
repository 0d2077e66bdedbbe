"""Modules of two sets a row: excess without a test by hand, results with intervals, and sizes that are refused."""

import math

import numpy as np
import pytest

from manycaps.kit.sets_module import (
    DISTRIBUTION_DEFAULTS,
    INTERVAL,
    MAX_UNTESTED_SPLITS,
    PAIRS_PER_BATCH,
    caption_rows,
    check_three_texts,
    compare_rows,
    distribution_result,
    null_means,
    pairs_batch,
    signature_settings,
    text_counts,
)
from manycaps.kit.sets_tests import Comparison
from tests.refusals import assert_refused


def gap_of_lengths(rows, n_candidates):
    """Compare rows by how far the mean lengths of their sets lie apart."""
    lengths = np.array([[len(text) for text in row] for row in rows], dtype=np.float64)

    def null_values(part, splits):
        for labels in splits(1000):
            n = labels.sum(axis=1)
            first = lengths[part] @ labels.T / n
            second = lengths[part] @ ~labels.T / (labels.shape[1] - n)
            yield np.abs(first - second)

    observed = np.abs(lengths[:, :n_candidates].mean(axis=1) - lengths[:, n_candidates:].mean(axis=1))
    return Comparison(observed, np.abs(lengths[:, :, None] - lengths[:, None]), null_values)


def no_bar(steps, **_):
    return steps


def compared(predictions, references, **options):
    rows = caption_rows(predictions, references, gap_of_lengths)
    return compare_rows(rows, DISTRIBUTION_DEFAULTS | options, no_bar, has_excess=True)


def test_the_excess_is_over_the_mean_of_all_splits():
    # Lengths 0 | 3, 6: |0 - 4.5|, |3 - 3|, |6 - 1.5| are 4.5, 0, 4.5 with the mean 3.
    found = compared([[""]], [["aaa", "aaaaaa"]])
    assert found.statistic.tolist() == [4.5]
    assert found.untested_excesses.tolist() == [1.5]


def test_a_row_does_not_depend_on_the_others():
    predictions, references = [["a"], ["aa", ""], ["aaaa"]], [["", "aaa"], ["a"], ["a", "aa"]]
    together = compared(predictions, references)
    for i in range(3):
        alone = compared(predictions[i : i + 1], references[i : i + 1])
        assert alone.statistic[0] == together.statistic[i]
        assert alone.untested_excesses[0] == together.untested_excesses[i]


def test_more_splits_than_a_few_are_drawn_and_the_observed_one_is_no_draw():
    # 6 + 6 texts have 924 splits. All lengths but one are 1: with k of it on one side the gap is 1 in each of them.
    texts = ["aaaaaaa", *["a"] * 11]
    assert math.comb(12, 6) > MAX_UNTESTED_SPLITS
    row = gap_of_lengths([texts], 6)
    assert null_means(row, (6, 6)) == pytest.approx([1.0], abs=1e-12)
    assert null_means(row._replace(units=np.array([2.0])), (6, 6)) == pytest.approx([2.0], abs=1e-12)


def test_intervals_do_not_leave_the_range_of_values():
    options = DISTRIBUTION_DEFAULTS | {"confidence_level": 0.95}
    result = distribution_result({"a": [0.0, 0.0, 1.0]}, None, options, (0.0, 1.0), [-1.0, 0.0, 1.0])
    assert (result["a"], result["a_excess"], result["n_rows"]) == (pytest.approx(1 / 3), 0.0, 3)
    assert (result["a_ci_low"], result["a_ci_high"]) == (0.0, 1.0)
    # The excess is a value minus another one: its range is twice as wide, and Student's interval wider still.
    assert (result["a_excess_ci_low"], result["a_excess_ci_high"]) == (-1.0, 1.0)


def test_details_list_every_column_as_floats():
    options = DISTRIBUTION_DEFAULTS | {"details": True}
    result = distribution_result({"a": np.array([1, 3]), "b": [2.0, 2.0]}, None, options, untested_excesses=[0.5, 0.5])
    assert result == {
        "a": 2.0,
        "b": 2.0,
        "n_rows": 2,
        "a_excess": 0.5,
        "a_per_row": [1.0, 3.0],
        "b_per_row": [2.0, 2.0],
        "a_excess_per_row": [0.5, 0.5],
    }


def test_signatures_name_what_decides_a_number_alone():
    options = DISTRIBUTION_DEFAULTS | {"n_resamples": 99, "seed": 7, "clusters": ["x", "x", "y"]}
    unused = dict.fromkeys(("n_resamples", "confidence_level", "interval", "clusters", "seed"))
    assert signature_settings(options) == unused | {"p_value": "none"}
    assert signature_settings(options | {"p_value": "exact"}) == unused | {
        "p_value": "exact",
        "n_resamples": 99,
        "clusters": 2,
        "seed": 7,
    }
    assert signature_settings(options | {"confidence_level": 0.9}) == unused | {
        "p_value": "none",
        "confidence_level": 0.9,
        "interval": INTERVAL,
        "clusters": 2,
    }


def test_sizes():
    assert text_counts([["a"], ["a", "b"]], [["c", "d"], ["e"]]) == [(1, 2), (2, 1)]
    assert [pairs_batch(n) for n in (1, 10, 10**6)] == [PAIRS_PER_BATCH, PAIRS_PER_BATCH // 100, 1]
    check_three_texts([(1, 2), (2, 1)], ("predictions", "references"))
    message = (
        "predictions[1], references[1]: expected at least 3 captions in all, got 1 candidate and 1 reference (2 such"
    )
    assert_refused(ValueError, message, check_three_texts, [(1, 2), (1, 1), (1, 1)], ("predictions", "references"))
