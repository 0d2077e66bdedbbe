"""Hand cases of Vendi scores and self-CIDEr, and every message about a kernel of the user's."""

import math

import numpy as np
import pytest

from measurements.set_diversity.effective_number import (
    feature_eigenvalues,
    kernel_eigenvalues,
    self_cider,
    unit_rows,
    vendi_scores,
)
from measurements.set_diversity.ngram_features import SetNgrams
from measurements.set_diversity.set_options import (
    LARGEST_ORDER,
)


@pytest.mark.parametrize(
    ("eigenvalues", "expected"),
    [
        ([3.0, 0.0, 0.0], (1.0, 1.0, 1.0)),
        ([1.0, 1.0, 1.0], (3.0, 3.0, 3.0)),
        ([1.5, 0.5], (math.exp(-0.75 * math.log(0.75) - 0.25 * math.log(0.25)), 1 / (0.75**2 + 0.25**2), 1 / 0.75)),
        ([1.0, -1e-17], (1.0, 1.0, 1.0)),
    ],
    ids=["one", "three", "between", "rounding"],
)
def test_vendi_scores(eigenvalues, expected):
    assert vendi_scores(np.array(eigenvalues), (1, 2, math.inf)) == pytest.approx(expected, abs=1e-12)


def test_a_large_order_is_close_to_infinity():
    first, second = vendi_scores(np.array([1.5, 0.5]), (LARGEST_ORDER, math.inf))
    assert first == pytest.approx(second, rel=2e-3)


def test_self_cider_of_two_captions_that_share_half():
    # K = [[1, 1/2], [1/2, 1]]: eigenvalues 3/2 and 1/2, so r = sqrt 3 / (1 + sqrt 3).
    features = np.array([[1.0, 0.0], [0.5, math.sqrt(0.75)]])
    assert self_cider(features) == pytest.approx(-math.log2(math.sqrt(3) / (1 + math.sqrt(3))))


def test_self_cider_without_a_value():
    assert math.isnan(self_cider(np.ones((1, 3))))
    assert math.isnan(self_cider(np.zeros((2, 3))))
    assert math.isnan(self_cider(np.zeros((2, 0))))


def test_one_caption_repeated_is_0_and_not_minus_0():
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


@pytest.mark.parametrize(
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
    ids=["shape", "nan", "diagonal", "asymmetric", "negative", "text", "unreadable", "none"],
)
def test_bad_outputs_of_a_kernel(kernel, error, message):
    with pytest.raises(error) as caught:
        kernel_eigenvalues(kernel, 2, "predictions[3]")
    assert message in str(caught.value)
    assert "predictions[3]" in str(caught.value)
