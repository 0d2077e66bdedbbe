"""What holds of mmd for any features: the ranges of its card, orders that do not matter, equal sets."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from manycaps import functional
from manycaps.kit.mmd_rows import kernel_values

# Whole numbers: equal vectors occur, and sums have no rounding.
VECTORS = (
    st.integers(2, 5)
    .flatmap(lambda d: st.lists(st.lists(st.integers(-3, 3), min_size=d, max_size=d), min_size=4, max_size=9))
    .map(lambda rows: np.array(rows, dtype=np.float64))
)

# Options of the kernels by name, and the largest MMD of those that are bounded.
KERNELS = {
    "rbf": ({"sigmas": ("median",)}, 2.0),
    "rbf_sum": ({"sigmas": (0.5, 1.0, "mean")}, 6.0),
    "laplace": ({"sigmas": ("mean",)}, 2.0),
    "laplace_sum": ({"sigmas": (0.5, 2.0)}, 4.0),
    "polynomial": ({}, math.inf),
    "linear": ({}, math.inf),
}

few = settings(deadline=None, max_examples=30)


def kernels_of(name, vectors):
    options = {"sigmas": (), "degree": 3, "gamma": None, "coef0": 1.0} | KERNELS[name][0]
    return kernel_values(vectors[None], name.split("_")[0], **options)


def biased_mmd(name, vectors, n):
    return functional.kernel_mmd_squared(kernels_of(name, vectors), n, "biased")[0]


def scale(name, vectors):
    """Rounding of sums of kernel values of this size."""
    return 1e-12 * max(1.0, np.abs(kernels_of(name, vectors)).max())


@pytest.mark.parametrize("name", KERNELS)
@few
@given(VECTORS, st.randoms(use_true_random=False))
def test_the_biased_value_has_the_range_of_the_card_a_zero_and_no_order(name, vectors, random):
    expected, tolerance = biased_mmd(name, vectors, 2), scale(name, vectors)
    assert -tolerance <= expected <= KERNELS[name][1] + 1e-12
    # Orders within the sets, and the sides.
    first, second = vectors[:2], vectors[2:]
    shuffled = np.concatenate([side[random.sample(range(len(side)), len(side))] for side in (first, second)])
    assert biased_mmd(name, shuffled, 2) == pytest.approx(expected, abs=tolerance)
    assert biased_mmd(name, np.concatenate((second, first)), len(second)) == pytest.approx(expected, abs=tolerance)
    # A set against itself, and against its double.
    for times in (1, 2):
        joint = np.concatenate((vectors, *[vectors] * times))
        assert biased_mmd(name, joint, len(vectors)) == pytest.approx(0, abs=20 * scale(name, joint))


@few
@given(VECTORS)
def test_cmmd_is_in_the_range_of_the_card(vectors):
    assert -1e-9 <= functional.cmmd(100 * vectors[:2], 100 * vectors[2:]) <= 2000
    lengths = np.linalg.norm(vectors, axis=1)
    units = np.where(lengths[:, None] > 0, vectors, 1.0)
    units /= np.linalg.norm(units, axis=1, keepdims=True)
    assert -1e-9 <= functional.cmmd(units[:2], units[2:]) <= 39.61
    assert functional.cmmd(vectors, np.repeat(vectors, 2, axis=0)) == pytest.approx(0, abs=1e-9)
