"""Level and power of the test of two models, on the made speakers of the study."""

import numpy as np
import pytest

from manycaps.kit.sets_homogeneity import compare_pair, pair_rows
from scripts.studies.homogeneity_level import PER_CLUSTER, binomial_interval, draw_distances


def found(kind, distance, sharpness, n_samples, n_rows, n_trials):
    """Shares of draws with p at most 0.05: of both tests."""
    clusters = [row // PER_CLUSTER for row in range(n_rows)] if kind == "clusters" else None
    p_values = []
    for trial in range(n_trials):
        rng = np.random.default_rng((7, trial, n_samples, n_rows))
        rows = pair_rows(draw_distances(kind, distance, sharpness, n_samples, n_rows, rng), n_samples)
        test = compare_pair(rows, clusters)
        p_values.append((test.p_value, test.diversity_p_value))
    return (np.array(p_values) <= 0.05).mean(axis=0).tolist()


@pytest.mark.parametrize(
    ("kind", "distance", "n_samples", "n_rows"),
    [
        ("same", "classes", 5, 20),
        ("same", "vectors", 10, 20),
        pytest.param("same", "classes", 50, 100, marks=pytest.mark.slow),
        pytest.param("same", "vectors", 5, 500, marks=pytest.mark.slow),
        pytest.param("clusters", "classes", 5, 100, marks=pytest.mark.slow),
        pytest.param("clusters", "classes", 10, 500, marks=pytest.mark.slow),
    ],
)
def test_equal_models_are_told_apart_as_often_as_the_level_says(kind, distance, n_samples, n_rows):
    low, high = binomial_interval(400, 0.999)
    joint, diversity = found(kind, distance, 1.0, n_samples, n_rows, 400)
    assert low <= joint <= high or (kind == "clusters" and joint <= high)  # half of the level for each of two tests
    assert low <= diversity <= high


@pytest.mark.parametrize(("n_samples", "n_rows", "least"), [(5, 100, 0.6), (20, 20, 0.8)])
def test_a_sharpened_model_is_found(n_samples, n_rows, least):
    joint, diversity = found("same", "classes", 1.25, n_samples, n_rows, 60)
    assert min(joint, diversity) >= least
