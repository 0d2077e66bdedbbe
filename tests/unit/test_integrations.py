"""What of a result is logged: numbers, and rows."""

import math

from manycaps.integrations import as_log
from tests.refusals import assert_refused

RESULT = {"n_rows": 2, "score": math.nan, "score_per_row": [0.5, 1.0], "histogram": [1, 2, 3], "signature": "x"}


def test_numbers_and_rows_are_split():
    scalars, rows = as_log(RESULT, captions=[["a"], ["b"]])
    assert list(scalars) == ["n_rows", "score"]
    assert rows == [{"captions": ["a"], "score_per_row": 0.5}, {"captions": ["b"], "score_per_row": 1.0}]
    assert as_log({"n_rows": 2, "score": 0.5}) == ({"n_rows": 2, "score": 0.5}, [])


def test_columns_of_other_rows_are_refused():
    message = "captions: expected 2 values, one for each row, got 1. Give those that were"
    assert_refused(ValueError, message, as_log, RESULT, captions=["a"])
