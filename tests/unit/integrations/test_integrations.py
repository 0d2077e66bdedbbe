"""What of a result is logged: numbers, and rows."""

import json
import math

import evaluate
import numpy as np
import pytest

from manycaps.integrations import as_json, as_log, decode_candidates, fold_candidates
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


class WordTokenizer:
    """One word a token; the first one is padding."""

    words = ("", "dog", "cat", "end")

    def __init__(self, pad_token_id=0, eos_token_id=3):
        self.pad_token_id, self.eos_token_id = pad_token_id, eos_token_id

    def batch_decode(self, tokens, skip_special_tokens):
        special = {self.pad_token_id, self.eos_token_id} if skip_special_tokens else set()
        return [" ".join(self.words[token] for token in row if token not in special) for row in tokens]


def test_texts_of_one_image_stand_next_to_each_other():
    assert fold_candidates(list("abcdef"), 3) == [["a", "b", "c"], ["d", "e", "f"]]
    assert fold_candidates(list("ab"), 1) == [["a"], ["b"]]
    assert fold_candidates([], 2) == []


@pytest.mark.parametrize(
    ("texts", "n", "message"), [("abcde", 3, "texts: expected 3 for each image"), ("ab", 0, "n_c")]
)
def test_a_number_that_does_not_fit_is_refused(texts, n, message):
    assert_refused(ValueError, message, fold_candidates, list(texts), n)


def test_tokens_of_both_shapes_are_decoded():
    tokens = np.array([[[1, 2], [3, 2], [-100, 3]], [[2, 1], [2, 3], [3, -100]]])  # (2 images, 3 tokens, 2 candidates)
    assert decode_candidates(tokens, WordTokenizer()) == [["dog", "cat cat"], ["cat cat", "dog"]]
    assert decode_candidates(tokens[..., 0], WordTokenizer()) == [["dog"], ["cat cat"]]
    assert decode_candidates(tokens[..., 0], WordTokenizer(pad_token_id=None)) == [["dog"], ["cat cat"]]


def test_what_no_trainer_gives_is_refused():
    message = "predictions: expected tokens of shape .*, got float64 of shape (2, 3). Set predict_with_generate=True"
    assert_refused(ValueError, message, decode_candidates, np.zeros((2, 3)), WordTokenizer())
    message = "tokenizer: expected one with a padding token, got none"
    assert_refused(ValueError, message, decode_candidates, [[1]], WordTokenizer(None, None))
