"""Hand cases, limits and messages of the kernels of the general MMD."""

import math

import numpy as np
import pytest

from manycaps.kit.vectors_kernels import (
    check_kernel_values,
    gaussian_kernel,
    kernel_values,
    laplace_kernel,
    polynomial_kernel,
    without_own,
)
from tests.refusals import assert_refused

ROW = np.array([[[0.0, 0.0], [3.0, 4.0], [1.0, 0.0]]])


def test_the_bandwidth_of_laplace_is_half_an_average_of_its_own_distances():
    # Distances 7, 1 and 6: the median is 6, the mean 14/3.
    for rule, sigma in (("median", 3.0), ("mean", 14 / 6)):
        assert laplace_kernel(ROW, rule).tolist() == pytest.approx(laplace_kernel(ROW, sigma), rel=1e-15)
    # Of an even number the lower middle one is the median.
    row = np.array([[[0.0], [1.0], [3.0], [7.0]]])  # distances 1, 2, 3, 4, 6, 7
    assert laplace_kernel(row, "median").tolist() == laplace_kernel(row, 1.5).tolist()


def test_equal_vectors_have_the_limit_of_a_small_bandwidth():
    same = np.ones((1, 3, 2))
    assert laplace_kernel(same, "median").tolist() == np.ones((1, 3, 3)).tolist()
    mostly = np.array([[[0.0], [0.0], [0.0], [1.0]]])  # the median distance is 0
    assert laplace_kernel(mostly, "median")[0, 3].tolist() == [0.0, 0.0, 0.0, 1.0]
    # Far beyond the bandwidth it is 0, without a warning.
    assert laplace_kernel(np.array([[[0.0], [1e300]]]), 1e-90)[0, 0, 1] == 0


@pytest.mark.parametrize(
    ("options", "expected"), [((3, None, 1.0), 1.0), ((1, 1.0, 0.0), 0.0), ((2, 0.5, 1.0), 1.0), ((1, None, 2.0), 2.0)]
)
def test_a_vector_of_zeros_has_the_constant_of_the_polynomial(options, expected):
    kernel = polynomial_kernel(ROW, *options)
    assert kernel[0, 0].tolist() == [expected] * 3
    assert kernel.tolist() == kernel.swapaxes(1, 2).tolist()


def test_several_bandwidths_add_their_kernels():
    parts = [gaussian_kernel(ROW, sigma) for sigma in (0.5, "median", 2.0)]
    assert kernel_values(ROW, "rbf", (0.5, "median", 2.0), 3, None, 1.0).tolist() == sum(parts).tolist()
    assert kernel_values(ROW, "laplace", (1.0, 1.0), 3, None, 1.0).tolist() == (2 * laplace_kernel(ROW, 1.0)).tolist()


def test_a_diagonal_is_taken_away_from_a_copy():
    kernel = np.full((2, 2, 2), 5.0)
    assert without_own(kernel).tolist() == [[[0.0, 5.0], [5.0, 0.0]]] * 2
    assert kernel.min() == 5


@pytest.mark.parametrize("value", [math.inf, math.nan, 1e281, -math.inf])
def test_kernel_values_beyond_the_range_are_named(value):
    message = "kernel='polynomial': expected kernel values within the range of float64, "
    assert_refused(ValueError, message, check_kernel_values, np.array([[[1.0, value], [value, 1.0]]]), "polynomial")
    check_kernel_values(np.array([[[1.0, -1e279]]]), "polynomial")
