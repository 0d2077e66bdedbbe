"""How values of rows become the keys of a result."""

import math

from manycaps.kit.diversity_sets import corpus_result, row_result


def test_a_row_without_a_value_is_left_out():
    result = row_result({"x": [math.nan, 1.0]}, {"x": [0.5, 0.25]}, details=True)
    assert (result["x"], result["x_references"], result["x_difference"]) == (1.0, 0.375, 0.75)
    assert result["x_references_per_row"] == [0.5, 0.25]
    assert math.isnan(row_result({"x": [math.nan]}, {"x": [1.0]}, details=False)["x_difference"])
    assert corpus_result({"x": 1.0}, {"x": 0.5})["corpus_x_difference"] == 0.5
