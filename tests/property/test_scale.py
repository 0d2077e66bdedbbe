"""Ties belong to the unit of their row: multiplied input has the same ranks, p-values and z, and scaled values."""

import numpy as np
import pytest

import manycaps
from manycaps.functional import (
    frechet_p_values,
    frechet_squared,
    kernel_mmd_p_values,
    kernel_mmd_squared,
    mmd_p_values,
    mmd_squared,
    paired_test,
    polynomial_kernel,
    triangle_rank_p_values,
    triangle_rank_statistic,
)

UNITS = [1e-12, 1e-6, 1e6, 1e12, 2.0**-60, 2.0**60, 2.0**-220, 2.0**200]

RNG = np.random.default_rng(0)
# Whole numbers, so that distances and kernels have ties.
VECTORS = RNG.integers(0, 4, size=(4, 6, 3)).astype(np.float64)
DISTANCES = np.abs(VECTORS[:, :, None] - VECTORS[:, None]).sum(axis=-1)
KERNELS = np.einsum("rid,rjd->rij", VECTORS, VECTORS)
VALUES = RNG.integers(0, 9, size=(2, 12)).astype(np.float64)


def assert_scaled(found, expected, unit, factor):
    """Compare with `factor` times the expected values: to the last digit where the unit is a power of 2."""
    found, expected = np.asarray(found, dtype=float), np.asarray(expected, dtype=float) * factor
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-12 * np.abs(expected).max(), nan_ok=True)
    if np.log2(unit).is_integer():
        assert np.array_equal(found, expected, equal_nan=True)


@pytest.mark.parametrize("unit", UNITS)
def test_functions(unit):
    for statistic in ("per_side", "pooled"):
        options = {"n_candidates": 3, "statistic": statistic}
        for function in (triangle_rank_statistic, triangle_rank_p_values):
            assert_scaled(function(DISTANCES * unit, **options), function(DISTANCES, **options), unit, 1)
    for estimator in ("unbiased", "biased"):
        assert_scaled(
            kernel_mmd_squared(KERNELS * unit, 3, estimator), kernel_mmd_squared(KERNELS, 3, estimator), unit, unit
        )
        p_values = kernel_mmd_p_values(KERNELS, 3, estimator)
        assert_scaled(kernel_mmd_p_values(KERNELS * unit, 3, estimator), p_values, unit, 1)
        assert len(set(p_values)) > 1
    sides = VECTORS[:, :3], VECTORS[:, 3:]
    for function, power in ((mmd_squared, 0), (mmd_p_values, 0), (frechet_squared, 2), (frechet_p_values, 0)):
        assert_scaled(function(*(side * unit for side in sides)), function(*sides), unit, unit**power)
    mine, scaled = paired_test(*VALUES), paired_test(*(VALUES * unit))
    for i, name in enumerate(mine._fields):
        in_unit = name in ("difference", "ci_low", "ci_high", "minimum_detectable_difference")
        assert_scaled(scaled[i], mine[i], unit, unit if in_unit else 1)


@pytest.mark.parametrize("unit", UNITS[::2])
@pytest.mark.parametrize(
    ("name", "options", "power"),
    [
        ("mmd", {"kernel": "linear"}, 2),
        ("mmd", {"kernel": "rbf"}, 0),
        ("trm", {"distance": "sqeuclidean"}, 0),
        ("trm", {"distance": "euclidean"}, 0),
    ],
)
def test_modules(name, options, power, unit):
    module = manycaps.load(name, **options)
    candidates, references = VECTORS[:, :3], VECTORS[:, 3:] + 1.0
    tested = {"p_value": "exact", "confidence_level": 0.95, "n_resamples": 99}
    plain = module.compute(prediction_embeddings=candidates, reference_embeddings=references, **tested)
    scaled = module.compute(prediction_embeddings=candidates * unit, reference_embeddings=references * unit, **tested)
    for key, value in plain.items():
        if key == f"{name}_corpus_p_value":  # its draws depend on the content of the rows
            continue
        is_value = key in (name, f"{name}_excess", "nearest_distance") or "_ci_" in key
        own = {"sqeuclidean": 2, "euclidean": 1}.get(options.get("distance"), 0) if key == "nearest_distance" else power
        assert_scaled(scaled[key], value, unit, unit**own if is_value else 1)


def test_polynomial_kernels_of_whole_numbers_have_no_p_value_below_the_smallest():
    """Ten splits of three and three: an absolute tolerance misses the observed one among values of 10^12."""
    rows = np.random.default_rng(0).integers(0, 256, size=(4_000, 6, 128)).astype(np.float64)
    p_values = kernel_mmd_p_values(polynomial_kernel(rows), 3)
    assert p_values.min() == pytest.approx(0.1, rel=1e-12)
    # Level: 0.1 within four standard errors.
    assert np.mean(p_values <= 0.1 + 1e-12) == pytest.approx(0.1, abs=4 * np.sqrt(0.09 / 4_000))


def test_a_linear_kernel_of_large_numbers_is_tested():
    rng = np.random.default_rng(0)
    result = manycaps.load("mmd", kernel="linear").compute(
        prediction_embeddings=1e4 * (4 + rng.normal(size=(20, 4, 5))),
        reference_embeddings=1e4 * rng.normal(size=(20, 4, 5)),
        p_value="exact",
        n_resamples=999,
    )
    assert result["mmd_harmonic_mean_p"] == pytest.approx(1 / 35, rel=1e-9)
    assert result["mmd_corpus_p_value"] == 1 / 1_000
