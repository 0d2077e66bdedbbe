"""Hand cases of Vendi scores, self-CIDEr and n-grams of sets, and every message about a user's kernel."""

import math

import numpy as np
import pytest

from manycaps.kit.diversity_kernels import (
    SetNgrams,
    div_n,
    feature_eigenvalues,
    kernel_eigenvalues,
    self_cider,
    unique_share,
    unit_rows,
    vendi_scores,
)
from manycaps.kit.diversity_sets import LARGEST_ORDER
from manycaps.kit.text_document_frequency import DocumentFrequency
from tests.each_case import each_case
from tests.refusals import assert_refused


@pytest.mark.parametrize(
    ("eigenvalues", "expected"),
    [
        ([3.0, 0.0, 0.0], (1.0, 1.0, 1.0)),
        ([1.0, 1.0, 1.0], (3.0, 3.0, 3.0)),
        ([1.5, 0.5], (math.exp(-0.75 * math.log(0.75) - 0.25 * math.log(0.25)), 1 / (0.75**2 + 0.25**2), 1 / 0.75)),
        ([1.0, -1e-17], (1.0, 1.0, 1.0)),
    ],
)
def test_vendi_scores(eigenvalues, expected):
    assert vendi_scores(np.array(eigenvalues), (1, 2, math.inf)) == pytest.approx(expected, abs=1e-12)


def test_a_large_order_is_close_to_infinity():
    first, second = vendi_scores(np.array([1.5, 0.5]), (LARGEST_ORDER, math.inf))
    assert first == pytest.approx(second, rel=2e-3)


def test_self_cider_by_hand():
    # Two captions that share half, K = [[1, 1/2], [1/2, 1]]: eigenvalues 3/2 and 1/2, so r = sqrt 3 / (1 + sqrt 3).
    features = np.array([[1.0, 0.0], [0.5, math.sqrt(0.75)]])
    assert self_cider(features) == pytest.approx(-math.log2(math.sqrt(3) / (1 + math.sqrt(3))))
    for without in (np.ones((1, 3)), np.zeros((2, 3)), np.zeros((2, 0))):
        assert math.isnan(self_cider(without))
    # One caption repeated has 0, and not -0.
    value = self_cider(SetNgrams([[["a", "red", "dog", "runs"]] * 5]).features(0, None))
    assert value == pytest.approx(0, abs=1e-12)
    assert not str(value).startswith("-")


def test_captions_without_words_are_one_kind_of_caption():
    ngrams = SetNgrams([[[], [], ["a", "dog"]]])
    eigenvalues = feature_eigenvalues(unit_rows(ngrams.features(0, None)))
    assert eigenvalues.tolist() == pytest.approx([0.0, 1.0, 2.0], abs=1e-12)


class Unreadable:
    """What no array can be made of."""

    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("not on this machine")


@each_case(
    ("kernel", "error", "message"),
    [
        (np.ones((2, 3)), ValueError, "got shape (2, 3)."),
        (np.array([[1.0, math.nan], [math.nan, 1.0]]), ValueError, "got nan in it."),
        (np.array([[1.0, 0.0], [0.0, 2.0]]), ValueError, "got 2 on its diagonal."),
        (np.array([[1.0, 0.5], [0.4, 1.0]]), ValueError, "got numbers that differ by 0.1 across it."),
        (np.array([[1.0, 2.0], [2.0, 1.0]]), ValueError, "kernels: expected a kernel without negative eigenvalues"),
        ("a dog", TypeError, "kernels: expected a matrix for the captions of predictions[3], got str"),
        (Unreadable(), TypeError, "got Unreadable (not on this machine)."),
        (None, ValueError, "got shape ()."),
    ],
)
def test_bad_outputs_of_a_kernel(kernel, error, message):
    assert_refused(error, f".*{message}", kernel_eigenvalues, kernel, 2, "predictions[3]")
    assert_refused(error, ".*predictions[3]", kernel_eigenvalues, kernel, 2, "predictions[3]")


@pytest.mark.parametrize(
    ("captions", "div_1", "div_2", "unique"),
    [
        ([["a", "dog", "runs"], ["a", "cat", "runs"]], 4 / 6, 4 / 6, 1.0),
        ([["a", "dog"], ["a", "dog"]], 2 / 4, 1 / 4, 0.5),
        ([["dog"]], 1.0, 0.0, 1.0),
        ([[], []], math.nan, math.nan, 0.5),
    ],
)
def test_div_n_and_unique_share(captions, div_1, div_2, unique):
    assert (div_n(captions, 1), div_n(captions, 2)) == pytest.approx((div_1, div_2), nan_ok=True)
    assert unique_share(captions) == unique


def test_weights_of_a_table_and_counted_ones_agree():
    sets = [[["a", "dog"], ["a", "cat"]], [["a", "dog", "runs"]], [["a", "dog"]]]
    ngrams = SetNgrams(sets)
    table = DocumentFrequency({"a": 2, "dog": 2, "a dog": 2}, 2)
    counted, looked_up = ngrams.counted_weights(range(1, 3)), ngrams.table_weights(table)
    assert [weights.tolist() for weights in counted] == [weights.tolist() for weights in looked_up]
