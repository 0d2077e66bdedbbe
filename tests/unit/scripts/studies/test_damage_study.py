"""The studies behind the cards: rows differ in their damage alone, and needed rows are told where there are any."""

import math

import numpy as np
import pytest

from scripts.studies.caption_rows import draw_rows
from scripts.studies.damage_study import RowsWithNulls, as_shown, rows_needed
from scripts.studies.study_options import DAMAGES

IMAGES = [[f"{image}{caption}" for caption in range(8)] for image in "abcd"]


def drawn(damage):
    return draw_rows(IMAGES, [0, 1, 2, 3, 0], (5, 3), damage, np.random.default_rng(0))


def test_rows_differ_in_the_damage_alone():
    human, references = drawn("human")
    assert [{caption[0] for caption in row} for row in human] == [{image} for image in "abcda"]
    assert all(len(set(p + r)) == 8 for p, r in zip(human, references, strict=True))
    replaced = {}
    for damage in DAMAGES:
        predictions, same_references = drawn(damage)
        assert same_references == references
        replaced[damage] = {
            (i, k): caption
            for i, row in enumerate(predictions)
            for k, caption in enumerate(row)
            if caption[0] != human[i][0][0]
        }
    assert not replaced["human"]
    assert not replaced["repeated"]
    assert len(replaced["w = 1"]) == 25
    # What is replaced at one probability is replaced by the same caption at all larger ones.
    assert replaced["w = 0.1"].items() <= replaced["w = 0.2"].items() <= replaced["w = 0.5"].items()
    assert 0 < len(replaced["w = 0.2"]) < len(replaced["w = 0.5"]) < 25
    assert drawn("repeated")[0] == [row[:1] * 5 for row in human]


def rows_with_excess(excess):
    nulls = np.tile([-1.0, 1.0], (400, 1))
    return RowsWithNulls(np.tile([excess - 1, excess + 1], 200), np.ones(400), nulls)


def test_rows_needed_by_hand():
    # Both deviations are 1: ((1.645 + 1.282) / 0.5)^2 = 34.26.
    assert rows_needed(rows_with_excess(0.5)) == pytest.approx(34.26, abs=0.05)
    assert math.isnan(rows_needed(rows_with_excess(0.1)))  # two standard errors
    assert math.isnan(rows_needed(rows_with_excess(-0.1)))
    assert rows_needed(rows_with_excess(-0.5)) == math.inf


@pytest.mark.parametrize(("cell", "shown"), [("nan", "-"), ("inf", "never"), ("3.2", "< 10"), ("1299.2", "1,300")])
def test_rows_needed_as_shown(cell, shown):
    assert as_shown("rows_needed", cell) == shown
