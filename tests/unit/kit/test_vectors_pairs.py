"""Blocks of pairs: every pair once, in a fixed order, and nothing goes on after an error."""

import numpy as np
import pytest

from manycaps.kit.vectors_pairs import map_blocks, n_threads
from tests.each_case import each_case


def differences(first, second):
    return first - (first if second is None else second).T


def no_progress(steps, **_about):
    return steps


@each_case("block_size", [1, 2, 3, 7, 20])
def test_every_pair_is_seen_once(block_size):
    points = np.arange(7.0)[:, None]
    seen = np.full((7, 7), np.nan)
    places = []
    for rows, columns, values in map_blocks(
        lambda *part: part, points, differences, no_progress, "", block_size=block_size
    ):
        assert np.isnan(seen[rows, columns]).all()
        seen[rows, columns] = values
        places.append((rows.start, columns.start))
    upper = np.triu_indices(7)
    assert seen[upper].tolist() == (points - points.T)[upper].tolist()
    assert places == sorted(places)


def test_vectors_of_any_floating_point_type_arrive_as_float64():
    points = np.ones((3, 1), dtype=np.float16)
    types = list(map_blocks(lambda _i, _j, values: values.dtype, points, differences, no_progress, "", 2))
    assert set(types) == {np.dtype(np.float64)}


def test_an_error_ends_the_work():
    done = []

    def work(*part):
        done.append(part)
        raise ValueError("of the user's")

    with pytest.raises(ValueError, match="of the user's"):
        list(map_blocks(work, np.zeros((500, 1)), differences, no_progress, "", 1))
    assert len(done) <= 4 * n_threads() + 2
