"""Invariants of MMD and Fréchet distance, each beside a slow loop, on points that hypothesis makes up."""

import tracemalloc

import hypothesis.extra.numpy as arrays
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from manycaps.kit import frechet, mmd_pooled, mmd_rows
from manycaps.kit.mmd_pooled import pooled_mmd_squared
from manycaps.kit.mmd_rows import gaussian_kernel, squared_distances
from manycaps.kit.sets_tests import comparison_p_values, exact_splits
from tests.oracles import embedding_loops

# Few distinct coordinates, so that texts coincide often.
COORDINATES = st.sampled_from([0.0, 0.5, 1.0, -1.0, 2.0, 0.1])


@st.composite
def rows(draw, least=2, most=5, dimensions=3):
    """Points (n + m, d) and n."""
    n, m, d = draw(st.integers(least, most)), draw(st.integers(least, most)), draw(st.integers(1, dimensions))
    return draw(arrays.arrays(np.float64, (n + m, d), elements=COORDINATES)), n


def mmd_of(points, n, sigma="median", estimator="unbiased"):
    return mmd_rows.joint_mmd_squared(points[None], n, sigma, estimator)[0]


def mmd_comparison(points, n, estimator):
    return mmd_rows.mmd_comparison(gaussian_kernel(points[None], "median"), n, estimator)


def frechet_of(points, n):
    return frechet.joint_frechet_squared(points[None], n)[0]


def random_rotation(d, seed=0):
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(d, d)))[0]


@given(rows(), st.sampled_from(["median", "mean", 0.7]), st.sampled_from(mmd_rows.ESTIMATORS))
def test_mmd_equals_the_loop(row, sigma, estimator):
    points, n = row
    expected = embedding_loops.mmd_squared(points[:n], points[n:], sigma, estimator)
    assert mmd_of(points, n, sigma, estimator) == pytest.approx(expected, abs=1e-12)


@given(rows())
def test_frechet_equals_the_roots_of_covariances(row):
    points, n = row
    expected = embedding_loops.frechet_distance(points[:n], points[n:])
    assert frechet_of(points, n) == pytest.approx(expected, abs=1e-6)  # the oracle's roots of rounding errors


@given(rows(most=3), st.sampled_from(mmd_rows.ESTIMATORS))
@settings(max_examples=40, deadline=None)
def test_exact_mmd_p_values_equal_the_loop(row, estimator):
    points, n = row
    splits = exact_splits(n, len(points) - n, 100)
    compared = mmd_comparison(points, n, estimator)
    expected = embedding_loops.exact_p_value(
        points, n, lambda x, y: embedding_loops.mmd_squared(x, y, "median", estimator)
    )
    assert compared.statistic[0] == mmd_of(points, n, "median", estimator)
    assert comparison_p_values(compared, splits)[0] == pytest.approx(expected, abs=1e-12)


@given(rows(most=3))
@settings(max_examples=40, deadline=None)
def test_exact_frechet_p_values_equal_the_direct_formula_for_every_split(row):
    points, n = row
    splits = exact_splits(n, len(points) - n, 100)
    compared = frechet.frechet_comparison(points[None], n)
    expected = embedding_loops.exact_p_value(points, n, lambda x, y: frechet_of(np.concatenate((x, y)), n))
    assert compared.statistic[0] == pytest.approx(frechet_of(points, n), abs=1e-12)
    assert comparison_p_values(compared, splits)[0] == pytest.approx(expected, abs=1e-12)


@given(rows(), st.randoms(use_true_random=False), st.sampled_from(["median", "mean", 0.7]))
def test_the_order_within_a_set_and_of_the_sets_is_irrelevant(row, random, sigma):
    points, n = row
    candidates, references = list(range(n)), list(range(n, len(points)))
    random.shuffle(candidates)
    random.shuffle(references)
    shuffled, swapped = points[candidates + references], points[references + candidates]
    for estimator in mmd_rows.ESTIMATORS:
        value = mmd_of(points, n, sigma, estimator)
        assert mmd_of(shuffled, n, sigma, estimator) == pytest.approx(value, abs=1e-12)
        assert mmd_of(swapped, len(points) - n, sigma, estimator) == pytest.approx(value, abs=1e-12)
    assert frechet_of(shuffled, n) == pytest.approx(frechet_of(points, n), abs=1e-12)
    assert frechet_of(swapped, len(points) - n) == pytest.approx(frechet_of(points, n), abs=1e-12)


@given(rows(), st.sampled_from([0.0, 3.0, -1e4]), st.integers(0, 5))
def test_translations_and_rotations_change_nothing(row, shift, seed):
    points, n = row
    moved = points @ random_rotation(points.shape[1], seed) + shift
    # A shift of 1e4 rounds coordinates by 1e-12, and a root of a tiny product by more.
    assert frechet_of(moved, n) == pytest.approx(frechet_of(points, n), abs=1e-10)
    for estimator in mmd_rows.ESTIMATORS:
        # With a number as bandwidth: near a tie the median may pick the other of two distances.
        value = mmd_of(points, n, 0.7, estimator)
        assert mmd_of(moved, n, 0.7, estimator) == pytest.approx(value, abs=1e-10)


@given(rows())
def test_a_set_against_itself_is_zero(row):
    points, n = row
    twice = np.concatenate((points[:n], points[:n][::-1]))
    assert mmd_of(twice, n, 0.7, "biased") == pytest.approx(0, abs=1e-15)
    assert mmd_of(twice, n, "median", "biased") == pytest.approx(0, abs=1e-15)
    assert frechet_of(twice, n) == pytest.approx(0, abs=1e-13)


@given(rows(), st.integers(2, 4))
def test_repeating_both_sets_keeps_means_and_scales_covariances(row, times):
    points, n = row
    m = len(points) - n
    repeated = np.concatenate((np.repeat(points[:n], times, axis=0), np.repeat(points[n:], times, axis=0)))
    value = mmd_of(points, n, 0.7, "biased")
    assert mmd_of(repeated, times * n, 0.7, "biased") == pytest.approx(value, abs=1e-12)
    # With n - 1 in the covariances, repetition scales them; scaled points undo that where both sets have one size.
    if n == m:
        factor = (n - 1) / n * (times * n) / (times * n - 1)
        mean_term = np.sum((points[:n].mean(axis=0) - points[n:].mean(axis=0)) ** 2)
        expected = mean_term + factor * (frechet_of(points, n) - mean_term)
        assert frechet_of(repeated, times * n) == pytest.approx(expected, abs=1e-12)


@given(rows(), st.sampled_from([1e-3, 0.5, 1e5]))
def test_the_unit_of_the_vectors(row, scale):
    points, n = row
    value = frechet_of(points, n)
    assert frechet_of(scale * points, n) == pytest.approx(scale**2 * value, rel=1e-9, abs=1e-12 * scale**2)
    assert mmd_of(scale * points, n, 0.7 * scale) == pytest.approx(mmd_of(points, n, 0.7), abs=1e-12)


@given(rows())
def test_ranges_and_the_authors_normalisation(row):
    points, n = row
    assert -1e-12 <= mmd_of(points, n, "median", "biased") <= 2
    assert mmd_of(points, n) <= 2
    assert frechet_of(points, n) >= 0
    # The authors' normalisation adds a constant.
    constant = 1.00001 * (1 / (n - 1) + 1 / (len(points) - n - 1))
    difference = mmd_of(points, n, "median", "authors") - mmd_of(points, n)
    assert difference == pytest.approx(constant, abs=1e-12)


def test_estimators_and_p_values():
    rng = np.random.default_rng(3)
    points = rng.normal(size=(9, 4))
    p_values = {
        (n, estimator): comparison_p_values(mmd_comparison(points, n, estimator), exact_splits(n, 9 - n, 200))[0]
        for n in (3, 4)
        for estimator in mmd_rows.ESTIMATORS
    }
    assert all(p_values[n, "authors"] == p_values[n, "unbiased"] for n in (3, 4))
    # The biased one weighs the larger set's own pairs differently, so it is another test where the sizes differ.
    assert p_values[3, "biased"] != p_values[3, "unbiased"]
    even_comparisons = [mmd_comparison(points[:8], 4, estimator) for estimator in ("biased", "unbiased")]
    biased, unbiased = (comparison_p_values(compared, exact_splits(4, 4, 100)) for compared in even_comparisons)
    assert biased == unbiased


@given(rows(most=12, dimensions=2))
def test_frechet_with_more_texts_than_dimensions(row):
    points, n = row
    padded = np.concatenate((points, np.zeros((len(points), 30))), axis=1)  # takes the road without triangular factors
    assert frechet_of(points, n) == pytest.approx(frechet_of(padded, n), abs=1e-12)


@pytest.mark.parametrize("gap", [1e-3, 1e-6, 1e-9])
def test_nearly_equal_covariances_keep_their_digits(gap):
    rng = np.random.default_rng(1)
    one = rng.normal(size=(6, 40))
    one -= one.mean(axis=0)
    rotation = random_rotation(40, 2)
    # Stretched by 1 + gap about its mean: (1 + gap)^2 C, so the distance is gap^2 Tr C.
    points = np.concatenate((one, (1 + gap) * one)) @ rotation
    expected = gap**2 * np.trace(np.cov(one.T))
    # Four terms near Tr C = 40 cancel: rounding errors of 1e-13 are left.
    assert frechet_of(points, 6) == pytest.approx(expected, rel=1e-6, abs=3e-13)


@pytest.mark.parametrize("estimator", mmd_rows.ESTIMATORS)
def test_equal_texts_only(estimator):
    points = np.full((8, 5), 0.1)
    constant = 1.00001 * (1 / 2 + 1 / 4) if estimator == "authors" else 0
    assert mmd_of(points, 3, "median", estimator) == pytest.approx(constant, abs=1e-15)
    splits = exact_splits(3, 5, 100)
    assert comparison_p_values(mmd_comparison(points, 3, estimator), splits) == [1.0]
    assert frechet_of(points, 3) == pytest.approx(0, abs=1e-30)
    assert comparison_p_values(frechet.frechet_comparison(points[None], 3), splits) == [1.0]


def test_distances_of_close_points_are_exact_far_from_the_origin():
    points = np.array([[[1e6, 1e6], [1e6 + 1e-4, 1e6], [1e6, 1e6]]])
    squared = squared_distances(points)[0]
    assert squared[0, 2] == 0
    assert squared[0, 1] == (points[0, 1, 0] - points[0, 0, 0]) ** 2


def test_blocks_of_any_size_give_the_same_null(monkeypatch):
    rng = np.random.default_rng(2)
    vectors, partitions = rng.normal(size=(3, 8, 6)), exact_splits(5, 3, 100)
    kernel = gaussian_kernel(vectors, "median")
    whole = np.concatenate(list(mmd_rows.null_mmd(kernel, 5, partitions, "unbiased")), axis=1)
    whole_frechet = np.concatenate(list(frechet.null_frechet_squared(vectors, 5, partitions)), axis=1)
    monkeypatch.setattr("manycaps.kit.sets_tests.MAX_PAIR_VALUES", 200)
    monkeypatch.setattr(frechet, "MAX_CROSS_VALUES", 40)
    pieces = list(mmd_rows.null_mmd(kernel, 5, partitions, "unbiased"))
    assert len(pieces) > 1
    assert np.concatenate(pieces, axis=1) == pytest.approx(whole, abs=1e-14)
    pieces = list(frechet.null_frechet_squared(vectors, 5, partitions))
    assert len(pieces) > 1
    assert np.concatenate(pieces, axis=1) == pytest.approx(whole_frechet, abs=1e-13)


@st.composite
def corpora(draw):
    """Vectors (n, 2) with numbers of times they are candidates and references, at least two of each in all."""
    n = draw(st.integers(3, 12))
    vectors = draw(arrays.arrays(np.float64, (n, 2), elements=COORDINATES))
    counts = [draw(arrays.arrays(np.int64, n, elements=st.integers(0, 3))) for _ in range(2)]
    for side in counts:
        side[draw(st.integers(0, n - 1))] += 2
    return vectors, *counts


@pytest.mark.slow
@given(corpora(), st.integers(1, 13), st.sampled_from(["median", "mean", 0.7]), st.sampled_from([3, 4_000_000]))
@settings(deadline=None)
def test_pooled_values_equal_one_large_row(corpus, block_size, sigma, max_sorted):
    vectors, *counts = corpus
    row = np.concatenate([np.repeat(vectors, side, axis=0) for side in counts])
    n = int(counts[0].sum())
    kept, mmd_pooled.MAX_SORTED = mmd_pooled.MAX_SORTED, max_sorted
    try:
        for estimator in mmd_rows.ESTIMATORS:
            pooled = pooled_mmd_squared(*corpus, sigma, estimator, block_size=block_size)
            assert float(pooled) == pytest.approx(mmd_of(row, n, sigma, estimator), abs=1e-10)
    finally:
        mmd_pooled.MAX_SORTED = kept
    pooled = frechet.pooled_frechet_squared(*corpus, block_size=block_size)
    assert float(pooled) == pytest.approx(frechet_of(row, n), abs=1e-12)


def peak_megabytes(function):
    tracemalloc.start()
    try:
        function()
        return tracemalloc.get_traced_memory()[1] / 1e6
    finally:
        tracemalloc.stop()


def test_pooled_values_need_no_table_of_all_pairs(monkeypatch):
    monkeypatch.setattr(mmd_pooled, "MAX_SORTED", 20_000)
    rng = np.random.default_rng(7)
    vectors, counts = rng.normal(size=(4000, 16)), rng.integers(0, 3, size=(2, 4000))
    # All pairs would take 128 MB, and all texts' centred copies 1 MB a set.
    assert peak_megabytes(lambda: pooled_mmd_squared(vectors, *counts, block_size=256)) < 16
    assert peak_megabytes(lambda: frechet.pooled_frechet_squared(vectors, *counts, block_size=256)) < 1
