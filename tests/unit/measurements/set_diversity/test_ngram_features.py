"""Hand cases of n-grams of sets: Div-n, the unique share, and weights."""

import math

import pytest

from measurements.set_diversity.ngram_features import SetNgrams, div_n, unique_share
from measurements.set_diversity.shared_document_frequency import DocumentFrequency


@pytest.mark.parametrize(
    ("captions", "div_1", "div_2", "unique"),
    [
        ([["a", "dog", "runs"], ["a", "cat", "runs"]], 4 / 6, 4 / 6, 1.0),
        ([["a", "dog"], ["a", "dog"]], 2 / 4, 1 / 4, 0.5),
        ([["dog"]], 1.0, 0.0, 1.0),
        ([[], []], math.nan, math.nan, 0.5),
    ],
    ids=["two", "repeated", "one_word", "no_word"],
)
def test_div_n_and_unique_share(captions, div_1, div_2, unique):
    assert (div_n(captions, 1), div_n(captions, 2)) == pytest.approx((div_1, div_2), nan_ok=True)
    assert unique_share(captions) == unique


def test_weights_of_a_table_and_counted_ones_agree():
    sets = [[["a", "dog"], ["a", "cat"]], [["a", "dog", "runs"]], [["a", "dog"]]]
    ngrams = SetNgrams(sets)
    table = DocumentFrequency({"a": 2, "dog": 2, "a dog": 2}, 2)
    counted, looked_up = ngrams.counted_weights(range(1, 3)), ngrams.table_weights(table)
    assert [weights.tolist() for weights in counted] == [weights.tolist() for weights in looked_up]
