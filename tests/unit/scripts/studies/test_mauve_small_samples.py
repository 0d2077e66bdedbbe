"""MAUVE of histograms and of few vectors, by hand."""

import itertools

import numpy as np
import pytest

from scripts.studies.mauve_small_samples import divergence_area, one_minus_mauve


def test_mauve_of_disjoint_histograms():
    # KL of each to the mixture of both halves is log 2: the curve passes through (2^-5, 2^-5).
    area = divergence_area(np.array([1.0, 0.0]), np.array([0.0, 1.0]))
    shares = np.linspace(1e-6, 1 - 1e-6, 25)
    points = sorted([(0.0, 1.0), (1.0, 0.0), *((x**5, (1 - x) ** 5) for x in shares)])
    expected = sum((b[0] - a[0]) * (a[1] + b[1]) / 2 for a, b in itertools.pairwise(points))
    assert area == pytest.approx(expected, abs=1e-6)
    assert divergence_area(np.array([0.3, 0.7]), np.array([0.3, 0.7])) == 1.0


def test_mauve_of_few_vectors():
    vectors = np.array([[[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 0.9]]])
    assert one_minus_mauve(vectors, 2)[0] > 0.9
    assert one_minus_mauve(vectors[:, [0, 2, 1, 3]], 2)[0] == pytest.approx(0)
    # All texts alike: one cluster.
    assert one_minus_mauve(np.ones((1, 4, 2)), 2).tolist() == [0.0]
