"""Vendi scores of a large order, captions without words, and every message about a user's kernel."""

import math

import numpy as np
import pytest

from manycaps.kit.diversity_sets import (
    LARGEST_ORDER,
    SetNgrams,
    feature_eigenvalues,
    kernel_eigenvalues,
    unit_rows,
    vendi_scores,
)
from tests.refusals import assert_refused


def test_a_large_order_is_close_to_infinity():
    first, second = vendi_scores(np.array([1.5, 0.5]), (LARGEST_ORDER, math.inf))
    assert first == pytest.approx(second, rel=2e-3)


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
)
def test_bad_outputs_of_a_kernel(kernel, error, message):
    assert_refused(error, f".*{message}", kernel_eigenvalues, kernel, 2, "predictions[3]")
    assert_refused(error, ".*predictions[3]", kernel_eigenvalues, kernel, 2, "predictions[3]")
