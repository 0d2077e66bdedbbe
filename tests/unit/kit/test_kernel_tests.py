"""Kernels, MMD of pooled sets, blocks of pairs, and the moments of the Frechet distance."""

from fractions import Fraction

import numpy as np
import pytest

from manycaps.kit import mmd_pooled
from manycaps.kit.frechet import Moments
from manycaps.kit.mmd_pooled import map_blocks, n_threads
from manycaps.kit.mmd_rows import joint_mmd_squared, laplace_kernel, squared_distances, without_own

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


# Blocks of pairs: nothing goes on after an error.


def differences(first, second):
    return first - (first if second is None else second).T


def test_an_error_ends_the_work():
    done = []

    def work(*part):
        done.append(part)
        raise ValueError("of the user's")

    with pytest.raises(ValueError, match="of the user's"):
        list(map_blocks(work, np.zeros((500, 1)), differences, lambda steps, **_: steps, "", 1))
    assert len(done) <= 4 * n_threads() + 2


# The pooled value beside the value of one large row: samples, brackets, and the number of cores.

N_VECTORS = 300


@pytest.fixture(autouse=True)
def sample_early(monkeypatch):
    """A few hundred vectors are enough to be sampled."""
    monkeypatch.setattr(mmd_pooled, "MAX_SORTED", 10_000)


def corpus(seed=0, most=1):
    """Vectors around a few centres, and how often each is a candidate and a reference."""
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(N_VECTORS, 12)) + 2 * rng.normal(size=(5, 12))[rng.integers(0, 5, N_VECTORS)]
    if most == 1:
        candidates = (np.arange(N_VECTORS) % 3 == 0).astype(int)
        return vectors, candidates, 1 - candidates
    return vectors, *rng.integers(0, most + 1, size=(2, N_VECTORS))


def as_one_row(vectors, candidates, references, sigma, estimator="unbiased"):
    row = np.concatenate([np.repeat(vectors, counts, axis=0) for counts in (candidates, references)])
    return joint_mmd_squared(row[None], int(candidates.sum()), sigma, estimator)[0]


def n_visits(monkeypatch):
    """What the passes over all pairs are called, as they begin."""
    visits, map_blocks = [], mmd_pooled.map_blocks

    def count_visits(work, vectors, pair_values, progress, what, block_size):
        visits.append(what)
        return map_blocks(work, vectors, pair_values, progress, what, block_size)

    monkeypatch.setattr(mmd_pooled, "map_blocks", count_visits)
    return visits


@pytest.mark.parametrize("estimator", ["unbiased", "biased", "authors"])
@pytest.mark.parametrize("rule", ["median", "mean"])
@pytest.mark.parametrize("most", [1, 3])
def test_one_visit_gives_the_value_of_one_row(monkeypatch, most, rule, estimator):
    monkeypatch.setattr(mmd_pooled, "SERIES_TOLERANCE", 1e-4)  # a sample of 300 vectors is a poor one
    monkeypatch.setattr(mmd_pooled, "N_TERMS", 14)
    visits, (vectors, *counts) = n_visits(monkeypatch), corpus(most=most)
    value = float(mmd_pooled.pooled_mmd_squared(vectors, *counts, rule, estimator, block_size=64))
    assert value == pytest.approx(as_one_row(vectors, *counts, rule, estimator), abs=1e-12)
    assert visits == [f"pooled {rule}"]


def test_a_poor_sample_costs_a_second_visit_and_no_accuracy(monkeypatch):
    visits, (vectors, *counts) = n_visits(monkeypatch), corpus()
    monkeypatch.setattr(mmd_pooled, "SERIES_TOLERANCE", 0.0)
    value = float(mmd_pooled.pooled_mmd_squared(vectors, *counts, block_size=64))
    assert value == pytest.approx(as_one_row(vectors, *counts, "median"), abs=1e-13)
    assert visits == ["pooled median", "pooled median", "pooled kernel"]


@pytest.mark.parametrize("bracket", [(0.0, 1e-6), (1e6, 1e7), (1e-6, 1e6)])
def test_a_bracket_without_the_median_or_with_too_much_is_noticed(monkeypatch, bracket):
    vectors, *counts = corpus()
    monkeypatch.setattr(mmd_pooled, "_sample_bracket", lambda *_: bracket)
    monkeypatch.setattr(mmd_pooled, "MAX_BRACKETED", 1000)
    value = float(mmd_pooled.pooled_mmd_squared(vectors, *counts, block_size=64))
    assert value == pytest.approx(as_one_row(vectors, *counts, "median"), abs=1e-13)


def test_mostly_equal_texts_have_a_bandwidth_of_zero():
    vectors, *_ = corpus()
    counts = np.ones((2, N_VECTORS), dtype=int)
    counts[:, 0] = 800
    value = float(mmd_pooled.pooled_mmd_squared(vectors, *counts, block_size=64))
    assert value == pytest.approx(as_one_row(vectors, *counts, 1e-9), abs=1e-13)


def test_the_number_of_cores_changes_no_bit(monkeypatch):
    values = set()
    for n_cores in (1, 2, 5):
        monkeypatch.setattr("manycaps.kit.mmd_pooled.n_threads", lambda n=n_cores: n)
        values.add(float(mmd_pooled.pooled_mmd_squared(*corpus(), block_size=32)))
    assert len(values) == 1


def test_the_p_value_takes_its_bandwidth_from_one_visit(monkeypatch):
    visits, (vectors, *counts) = n_visits(monkeypatch), corpus()
    draws = np.random.default_rng(2).permuted(np.tile(counts[0], (20, 1)), axis=1).T.astype(float)
    p_value = mmd_pooled.pooled_mmd_p_value(vectors, *counts, [draws])
    assert visits == ["pooled median", "pooled kernel"]
    sigma = np.sqrt(np.sort(squared_distances(vectors[None])[0][np.triu_indices(N_VECTORS, 1)])[44_849 // 2]) / 2
    values = [as_one_row(vectors, draw.astype(int), 1 - draw.astype(int), sigma) for draw in draws.T]
    n_reached = sum(value >= as_one_row(vectors, *counts, sigma) - 1e-9 for value in values)
    assert p_value == (1 + n_reached) / 21


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
