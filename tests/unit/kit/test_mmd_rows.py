"""Kernels of a row: bandwidths, their limit for equal vectors, and diagonals."""

import numpy as np
import pytest

from manycaps.kit.mmd_rows import laplace_kernel, without_own

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
    assert laplace_kernel(np.array([[[0.0], [1e99]]]), 1e-90)[0, 0, 1] == 0


def test_a_diagonal_is_taken_away_from_a_copy():
    kernel = np.full((2, 2, 2), 5.0)
    assert without_own(kernel).tolist() == [[[0.0, 5.0], [5.0, 0.0]]] * 2
    assert kernel.min() == 5
