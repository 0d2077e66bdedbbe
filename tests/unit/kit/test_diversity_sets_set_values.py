"""Hand cases of the pairwise distance."""

import math

import numpy as np
import pytest

from manycaps.kit.diversity_sets import pairwise_distance


@pytest.mark.parametrize(
    ("vectors", "expected"),
    [([[1.0, 0.0]] * 3, 0.0), ([[1.0, 0.0], [-1.0, 0.0]], 2.0), ([[1.0, 0.0], [0.0, 1.0]], 1.0), ([[1.0]], math.nan)],
    ids=["same", "opposite", "orthogonal", "one"],
)
def test_pairwise_distance(vectors, expected):
    assert pairwise_distance(np.array(vectors)) == pytest.approx(expected, nan_ok=True)
