"""Cosines, PAC-S and RefPAC-S by hand, and the pairing of candidates with references."""

import math

import numpy as np
import pytest

from manycaps.kit.clip_cosines import PAIRS_AT_ONCE, paired_cosines
from manycaps.kit.clip_pac_scores import (
    PAC_PROMPT,
    PAC_WEIGHT,
    check_weight,
    largest_by_caption,
    pac_s,
    ref_pac_s,
    text_places,
)
from tests.each_case import each_case
from tests.refusals import assert_refused


def test_pac_s_by_hand():
    assert (PAC_WEIGHT, PAC_PROMPT) == (2.0, "A photo depicts"), "those of the paper"
    cosines, scores = [1.0, 0.25, 0.0, -0.3, 1 + 1e-12], [2.0, 0.5, 0.0, 0.0, 2.0]
    assert pac_s(np.array(cosines), 2.0).tolist() == scores  # clipped before any mean


@each_case(
    ("pac", "cosine", "score"),
    [
        (1.0, 1.0, 1.0),
        (2.0, 1.0, 4 / 3),
        (0.5, 0.25, 1 / 3),
        (0.0, 0.8, 0.0),
        (1.2, 0.0, 0.0),
        (1.2, -0.4, 0.0),
        (0.0, 0.0, 0.0),
        (5e-324, 1e-300, 0.0),
    ],
)
def test_ref_pac_s_by_hand(pac, cosine, score):
    result = ref_pac_s(np.array([pac]), np.array([cosine]))[0]
    assert math.isfinite(result)
    assert result == pytest.approx(score, rel=1e-15, abs=1e-300)


def test_every_candidate_meets_every_reference_of_its_row_and_no_other():
    rng = np.random.default_rng(0)
    n_candidates, n_references = rng.integers(1, 5, 20), rng.integers(1, 6, 20)
    places = text_places(n_candidates.tolist(), n_references.tolist())
    slow, candidate, first = [], 0, int(n_candidates.sum())
    for n, m in zip(n_candidates, n_references, strict=True):
        for _ in range(n):
            slow += [(candidate, first + k) for k in range(m)]
            candidate += 1
        first += int(m)
    assert list(zip(places.captions.tolist(), places.references.tolist(), strict=True)) == slow
    assert places.rows.tolist() == np.repeat(np.arange(20), n_candidates).tolist()
    assert places.n_references.tolist() == np.repeat(n_references, n_candidates).tolist()


def test_the_largest_of_each_run():
    values = np.array([0.1, 0.3, 0.2, -1.0, 0.5])
    assert largest_by_caption(values, np.array([3, 1, 1])).tolist() == [0.3, -1.0, 0.5]


@each_case(
    ("weight", "error", "message"),
    [
        ("2", TypeError, "weight: expected a number, got str."),
        (True, TypeError, "weight: expected a number, got bool."),
        (0, ValueError, "weight: expected a positive finite number, got 0."),
        (math.nan, ValueError, "weight: expected a positive finite number, got nan."),
        (math.inf, ValueError, "weight: expected a positive finite number, got inf."),
    ],
)
def test_the_weight_is_checked(weight, error, message):
    assert_refused(error, message, check_weight, weight)


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
