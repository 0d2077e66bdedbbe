"""What of a result is logged: numbers, and rows."""

import json
import math

import evaluate
import pytest

from manycaps.integrations import as_json, as_log
from tests.refusals import assert_refused

RESULT = {"n_rows": 2, "score": math.nan, "score_per_row": [0.5, 1.0], "histogram": [1, 2, 3], "signature": "x"}


def test_numbers_and_rows_are_split():
    scalars, rows = as_log(RESULT, captions=[["a"], ["b"]])
    assert scalars == {"n_rows": 2}
    assert rows == [{"captions": ["a"], "score_per_row": 0.5}, {"captions": ["b"], "score_per_row": 1.0}]
    assert as_log({"n_rows": 2, "score": 0.5}) == ({"n_rows": 2, "score": 0.5}, [])


def test_what_is_not_finite_is_left_out_of_curves_and_is_none_elsewhere(tmp_path):
    result = {
        "n_rows": 2,
        "score": -math.inf,
        "share": 0.5,
        "score_per_row": [math.nan, 1.0],
        "parts": [[math.inf], []],
    }
    scalars, rows = as_log(result)
    assert scalars == {"n_rows": 2, "share": 0.5}
    assert rows == [{"score_per_row": None}, {"score_per_row": 1.0}]
    assert as_json(result) == {**result, "score": None, "score_per_row": [None, 1.0], "parts": [[None], []]}
    path = evaluate.save(tmp_path / "saved.json", **as_json(result))
    assert json.loads(path.read_text(), parse_constant=pytest.fail)["share"] == 0.5


def test_columns_of_other_rows_are_refused():
    message = "captions: expected 2 values, one for each row, got 1. Give those that were"
    assert_refused(ValueError, message, as_log, RESULT, captions=["a"])
