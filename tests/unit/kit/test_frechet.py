"""Moments of the Frechet distance against exact fractions, and singular covariances."""

from fractions import Fraction

import numpy as np
import pytest

from manycaps.kit.frechet import Moments

# Moments: equal to exact fractions, in blocks of any size; small directions keep their digits.


def moments_of(vectors, counts=None, **options):
    moments = Moments()
    moments.add(vectors, np.ones(len(vectors), dtype=np.int64) if counts is None else counts, **options)
    return moments


def exact_mean(vectors, counts):
    return [
        sum(Fraction(float(x)) * int(n) for x, n in zip(column, counts, strict=True)) / int(counts.sum())
        for column in vectors.T
    ]


def exact_covariance(vectors, counts):
    mean = exact_mean(vectors, counts)
    centred = [[Fraction(float(x)) - m for x, m in zip(row, mean, strict=True)] for row in vectors]
    return [
        [
            sum(row[i] * row[j] * int(n) for row, n in zip(centred, counts, strict=True)) / (int(counts.sum()) - 1)
            for j in range(len(mean))
        ]
        for i in range(len(mean))
    ]


CASES = {
    "normal": np.random.default_rng(0).normal(size=(9, 3)),
    "single precision": np.random.default_rng(1).normal(size=(9, 3)).astype(np.float32),
    "of many sizes": np.random.default_rng(2).normal(size=(9, 3)) * 10.0 ** np.arange(-12, 15, 3)[:, None],
    "far from 0": 1e8 + np.random.default_rng(3).normal(size=(9, 3)),
    "large": np.random.default_rng(4).normal(size=(9, 3)) * 1e69,
    "small": np.random.default_rng(5).normal(size=(9, 3)) * 1e-69,
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("block_size", [2, 100])
def test_moments_are_those_of_fractions(case, block_size):
    vectors, counts = CASES[case], np.array([1, 0, 2, 1, 3, 1, 1, 0, 2])
    moments = moments_of(vectors, counts, block_size=block_size)
    assert moments.n == 11
    mean = np.array([float(x) for x in exact_mean(vectors, counts)])
    np.testing.assert_allclose(moments.mean, mean, rtol=0, atol=1e-15 * np.abs(vectors).max())
    expected = np.array([[float(x) for x in row] for row in exact_covariance(vectors, counts)])
    scale = np.sqrt(np.outer(np.diagonal(expected), np.diagonal(expected))).max()
    # A mean is rounded to 1e-16 of its size, which moves vectors far from 0 by 1e-8 of their spread.
    rounding = 1e-16 * np.abs(vectors).max() / np.sqrt(scale)
    assert np.abs(moments.factor().T @ moments.factor() - expected).max() <= (3e-15 + 10 * rounding) * scale


@pytest.mark.parametrize("rank", [1, 4, 12])
def test_the_factor_of_a_singular_covariance_keeps_small_directions(rank):
    """A covariance in float64 would lose those below 1e-8 of the largest."""
    rng = np.random.default_rng(rank)
    directions = np.linalg.qr(rng.normal(size=(12, 12)))[0][:rank]
    lengths = 10.0 ** -np.linspace(0, 6, rank)
    vectors = (rng.normal(size=(60, rank)) * lengths) @ directions
    values = np.linalg.svd(moments_of(vectors, block_size=11).factor(), compute_uv=False)
    expected = np.linalg.svd((vectors - vectors.mean(axis=0)) / np.sqrt(59), compute_uv=False)
    np.testing.assert_allclose(values[:rank], expected[:rank], rtol=1e-8, atol=1e-15)
    np.testing.assert_allclose(values[rank:], 0, atol=3e-14)


def test_equal_vectors_have_no_covariance():
    assert not moments_of(np.full((3, 2), 0.1), block_size=2).factor().any()
