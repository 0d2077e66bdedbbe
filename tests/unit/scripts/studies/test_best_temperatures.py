"""Where a curve is best, and how many scenes a test needs."""

import math

import numpy as np
import pytest

from scripts.studies.best_temperatures import best_temperature, interval, scenes_needed

PLACES = np.array([0.0, 0.5, 1.0, 1.25, 2.0])


@pytest.mark.parametrize("centre", [0.6, 0.9, 1.1, 1.3])
def test_the_top_of_a_parabola_is_found_exactly(centre):
    assert best_temperature(PLACES, (PLACES - centre) ** 2, "lowest") == pytest.approx(centre)
    assert best_temperature(PLACES, 3 - 2 * (PLACES - centre) ** 2, "highest") == pytest.approx(centre)


def test_a_curve_that_is_best_at_an_end_is_best_there():
    assert best_temperature(PLACES, -PLACES, "highest") == 0.0
    assert best_temperature(PLACES, -PLACES, "lowest") == 2.0


def test_equal_neighbours_put_the_best_between_them():
    assert best_temperature(np.array([0.0, 1.0, 2.0, 3.0]), np.array([4.0, 1.0, 1.0, 4.0]), "lowest") == 1.5


def test_zero_is_between_the_points_around_it():
    assert best_temperature(PLACES, PLACES - 0.8, "zero") == pytest.approx(0.8)
    assert best_temperature(PLACES, PLACES + 1, "zero") == 0.0


def test_intervals_and_scenes():
    assert interval([0.9, 1.0, 1.1]) == pytest.approx(
        (1.0, 1 - 4.3027 * 0.1 / 3**0.5, 1 + 4.3027 * 0.1 / 3**0.5), abs=1e-4
    )
    mean, low, high = interval([2.0])
    assert mean == 2.0
    assert math.isnan(low)
    assert math.isnan(high)
    # ((1.960 + 0.842) 2 / 0.1)^2.
    assert scenes_needed([-0.1, -0.1], [2.0, 2.0]) == pytest.approx(3139.6, abs=0.5)
    assert math.isnan(scenes_needed([-0.1, 0.1], [2.0, 2.0]))
