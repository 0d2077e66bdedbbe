"""Blocks of pairs: nothing goes on after an error."""

import numpy as np
import pytest

from manycaps.kit.kernel_tests import map_blocks, n_threads


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
