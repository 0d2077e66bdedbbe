"""Cosines of CLIP features."""

import numpy as np
import pytest

from manycaps.kit.clip_cosines import PAIRS_AT_ONCE, paired_cosines

RNG = np.random.default_rng(0)


def test_paired_cosines_equal_a_loop(monkeypatch):
    x, y = RNG.normal(size=(5, 8)), RNG.normal(size=(4, 8)) * 1e-150
    x_rows, y_rows = RNG.integers(0, 5, 30), RNG.integers(0, 4, 30)
    slow = [
        float(x[i] @ (y[j] * 1e150) / np.linalg.norm(x[i]) / np.linalg.norm(y[j] * 1e150))
        for i, j in zip(x_rows, y_rows, strict=True)
    ]
    assert paired_cosines(x, y, x_rows, y_rows) == pytest.approx(slow, rel=1e-12)
    monkeypatch.setattr("manycaps.kit.clip_cosines.PAIRS_AT_ONCE", 7)
    assert paired_cosines(x, y, x_rows, y_rows) == pytest.approx(slow, rel=1e-12)
    assert PAIRS_AT_ONCE > 7
