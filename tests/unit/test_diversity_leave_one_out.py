"""People against people on a sample of rows: against the plain functions, row by row."""

import numpy as np
import pytest

from manycaps import functional
from manycaps.diversity.leave_one_out import FEWEST_ROWS, RowSample, reference_curves, variance_curve

WORDS = "a the red small dog cat child man runs sleeps plays eats on in near grass beach house".split()


def rows_of(n_rows, n_captions, seed=0):
    rng = np.random.default_rng(seed)
    return [[" ".join(rng.choice(WORDS[:8], 7)) for _ in range(n_captions)] for _ in range(n_rows)]


def test_a_sample_is_uniform_and_the_same_again():
    counts = np.zeros(6)
    for seed in range(300):
        sample = RowSample(2)
        sample._rng = np.random.default_rng(seed)
        sample.update([[str(i)] for i in range(6)])
        counts[[int(row[0]) for row in sample.rows]] += 1
    assert abs(counts - 100).max() < 30
    first, second = RowSample(3), RowSample(3)
    first.update(rows := [[str(i)] for i in range(9)])
    second.update(rows[:4])
    second.update(rows[4:])
    assert first.rows == second.rows


def test_equal_captions_score_fully_whatever_the_references():
    curves = reference_curves([[f"a dog runs on the sand {i}"] * 4 for i in range(10)])
    assert curves.n_references == [1, 2, 3]
    assert curves.n_rows == 10
    assert curves.values["BLEU-4"] == pytest.approx([1] * 3)
    assert curves.values["ROUGE-L"] == pytest.approx([1] * 3)
    assert curves.values["CIDEr-D"] == pytest.approx([10] * 3)


def test_more_references_score_higher_and_small_rows_are_left_out():
    rows = [*rows_of(30, 5), *rows_of(4, 3), ["alone"]]
    curves = reference_curves(rows)
    assert (curves.n_references, curves.n_rows) == ([1, 2, 3, 4], 30)
    for metric in ("BLEU-4", "ROUGE-L"):
        assert curves.values[metric] == sorted(curves.values[metric])
    assert curves == reference_curves(rows)
    assert reference_curves(rows_of(FEWEST_ROWS - 1, 5)) is None
    assert reference_curves(rows_of(20, 2)) is None


def test_rows_of_rising_variance_with_the_score_of_each():
    rows, rng = rows_of(40, 3), np.random.default_rng(1)
    vectors = [rng.normal(size=(3, 4)) for _ in rows]
    points = variance_curve(rows, vectors)
    found = []
    for row, own in zip(rows, vectors, strict=True):
        units = own / np.linalg.norm(own, axis=1, keepdims=True)
        distances = [1 - units[i] @ units[j] for i in range(3) for j in range(i)]
        tokens = functional.ptb_tokenize(row)
        scores = [functional.bleu([[tokens[i]]], [[t for j, t in enumerate(tokens) if j != i]])[0, 3] for i in range(3)]
        found.append((np.var(distances), np.mean(scores)))
    found.sort()
    expected = [np.mean(found[i : i + 5], axis=0) for i in range(0, 40, 5)]
    np.testing.assert_allclose(points, expected, rtol=1e-9)
    assert variance_curve(rows[:39], vectors[:39]) == []
