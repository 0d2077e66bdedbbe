"""Scores per candidate, per row and over rows."""

import numpy as np

from manycaps.kit.base_scores import row_means, scored_result, split_rows


def test_rows_are_split_and_averaged():
    assert split_rows([1, 2, 3], [2, 1]) == [[1, 2], [3]]
    assert row_means(np.array([1.0, 2.0, 3.0]), [2, 1]) == [1.5, 3.0]


def test_details_add_lists_and_change_nothing():
    scores = {"a": np.array([0.0, 1.0, 5.0]), "b": np.array([3.0, 1.0, 2.0])}
    plain = scored_result(scores, [2, 1], details=False)
    assert plain == {"a": 2.75, "b": 2.0, "n_rows": 2}
    detailed = scored_result(scores, [2, 1], details=True)
    assert plain.items() <= detailed.items()
    assert detailed["b_per_row"] == [2.0, 2.0]
    assert detailed["a_per_candidate"] == [[0.0, 1.0], [5.0]]
