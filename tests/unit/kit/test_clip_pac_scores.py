"""Cosines, PAC-S and RefPAC-S by hand, and the pairing of candidates with references."""

import math

import numpy as np
import pytest

from manycaps.kit.clip_cosines import PAIRS_AT_ONCE, paired_cosines
from manycaps.kit.clip_pac_scores import PAC_PROMPT, PAC_WEIGHT, pac_s, ref_pac_s
from tests.each_case import each_case


def test_pac_s_by_hand():
    assert (PAC_WEIGHT, PAC_PROMPT) == (2.0, "A photo depicts"), "those of the paper"
    cosines, scores = [1.0, 0.25, 0.0, -0.3, 1 + 1e-12], [2.0, 0.5, 0.0, 0.0, 2.0]
    assert pac_s(np.array(cosines), 2.0).tolist() == scores  # clipped before any mean


@each_case(
    ("pac", "cosine", "score"),
    [(1.0, 1.0, 1.0), (2.0, 1.0, 4 / 3), (0.0, 0.8, 0.0), (1.2, -0.4, 0.0), (0.0, 0.0, 0.0), (5e-324, 1e-300, 0.0)],
)
def test_ref_pac_s_by_hand(pac, cosine, score):
    result = ref_pac_s(np.array([pac]), np.array([cosine]))[0]
    assert math.isfinite(result)
    assert result == pytest.approx(score, rel=1e-15, abs=1e-300)


def test_paired_cosines_equal_a_loop(monkeypatch):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(5, 8)), rng.normal(size=(4, 8)) * 1e-150
    x_rows, y_rows = rng.integers(0, 5, 30), rng.integers(0, 4, 30)
    slow = [
        float(x[i] @ (y[j] * 1e150) / np.linalg.norm(x[i]) / np.linalg.norm(y[j] * 1e150))
        for i, j in zip(x_rows, y_rows, strict=True)
    ]
    assert paired_cosines(x, y, x_rows, y_rows) == pytest.approx(slow, rel=1e-12)
    monkeypatch.setattr("manycaps.kit.clip_cosines.PAIRS_AT_ONCE", 7)
    assert paired_cosines(x, y, x_rows, y_rows) == pytest.approx(slow, rel=1e-12)
    assert PAIRS_AT_ONCE > 7
