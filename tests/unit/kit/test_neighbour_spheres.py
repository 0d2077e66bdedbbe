"""Spheres that reach to nearest neighbours: hand cases, ties, blocks, and people's own values."""

import numpy as np
import pytest

from manycaps import functional
from manycaps.kit import neighbour_spheres
from manycaps.kit.neighbour_spheres import VALUES, people_excesses, squared_radii
from tests.oracles.neighbour_loop import density_coverage_loop
from tests.unit.kit.vectors_cases import rows_of


def no_bar(steps, **_):
    return steps


@pytest.mark.parametrize("seed", range(6))
def test_values_equal_a_loop_with_ties(seed):
    rng = np.random.default_rng(seed)
    candidates, references = rng.integers(0, 4, size=(25, 2)) * 0.1, rng.integers(0, 4, size=(20, 2)) * 0.1
    for k in (1, 4, 9):
        found = functional.density_coverage(candidates, references, k)._asdict()
        assert found == pytest.approx(density_coverage_loop(candidates.tolist(), references.tolist(), k))


def test_blocks_change_nothing(monkeypatch):
    rng = np.random.default_rng(0)
    sets = rng.normal(size=(50, 3)), rng.normal(size=(70, 3))
    whole = functional.density_coverage(*sets, 5)
    monkeypatch.setattr(neighbour_spheres, "DISTANCES_AT_ONCE", 130)
    assert functional.density_coverage(*sets, 5) == whole


def test_repeated_references_have_spheres_without_content():
    assert squared_radii(np.array([[0.1], [0.1], [0.1], [2.0]]), 2).tolist()[:3] == [0.0] * 3
    found = functional.density_coverage([[0.1], [0.1], [0.1]], [[0.1], [0.1], [0.1]], 2)
    assert found == (0.0, 0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("sets", "k", "message"),
    [
        (([[0.0]], [[1.0], [2.0]]), 1, r"candidates: expected an array of shape \(n, d\), n at least 2, got \(1, 1\)"),
        (([[0.0], [1.0]], [[1.0, 2.0], [2.0, 3.0]]), 1, "references: expected 1 dimensions, like candidates, got 2"),
        (([[0.0], [1.0]], [[1.0], [2.0]]), 2, "k: expected a whole number of at most 1, got 2"),
        (([[0.0], [1.0]], [[1.0], [np.nan]]), 1, r"references\[1\]\[0\]: expected a finite number"),
    ],
)
def test_what_is_refused(sets, k, message):
    with pytest.raises(ValueError, match=message):
        functional.density_coverage(*sets, k)


def test_order_of_rows_changes_no_excess():
    rows = rows_of(1)
    turned = rows._replace(
        predictions=rows.predictions[::-1],
        references=rows.references[::-1],
        row_key=lambda row: rows.row_key(len(rows.references) - 1 - row),
    )
    first, second = (people_excesses(each, 5, 3, 0, no_bar) for each in (rows, turned))
    for name in VALUES:
        assert first[name][:2] == pytest.approx(second[name][:2], abs=1e-12)


def test_people_have_no_excess_and_narrow_candidates_have_one():
    draws = [people_excesses(rows_of(seed), 5, 2, seed, no_bar) for seed in range(30)]
    for name in VALUES:
        excesses = np.array([draw[name].excess for draw in draws])
        assert abs(excesses.mean()) < 4 * excesses.std(ddof=1) / np.sqrt(len(draws))
    narrow = people_excesses(rows_of(0, n_rows=200, spread=0.2), 5, 5, 0, no_bar)
    assert narrow["density"].excess > 0.1
    assert narrow["recall"].excess < -0.05
    assert narrow["coverage"].excess < -0.02
    far = people_excesses(rows_of(0, n_rows=200, shift=3.0), 5, 5, 0, no_bar)
    assert far["precision"].excess < -0.2


def test_too_few_held_out_texts_have_no_value():
    found = people_excesses(rows_of(0, n_rows=2), 6, 1, 0, no_bar)
    assert np.isnan(list(found.values())).all()
