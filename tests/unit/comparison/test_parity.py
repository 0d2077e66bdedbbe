"""Systems beside people: which gaps of two systems are equal."""

import numpy as np
import pytest

from manycaps.comparison.parity import ROUNDING
from manycaps.comparison.parity_pairs import _gap_differences


@pytest.mark.parametrize(
    ("distance", "rounding"), [("bert", 1e-6), ("meteor", 1e-9), ("meteor15", 1e-9), ("cider", 1e-9)]
)
def test_gaps_are_equal_up_to_the_rounding_of_their_distance(distance, rounding):
    """float32 of a network is coarser than float64 of words."""
    gaps = np.array([0.9, 1.1]) * rounding
    first = {"fidelity_gap": gaps, "diversity_gap": np.zeros(2)}
    second = {"fidelity_gap": np.zeros(2), "diversity_gap": gaps}
    differences = _gap_differences(first, second, ROUNDING[distance])
    assert np.count_nonzero(differences, axis=0).tolist() == [1, 1]
    assert np.abs(differences).max() == pytest.approx(1.1 * rounding)
