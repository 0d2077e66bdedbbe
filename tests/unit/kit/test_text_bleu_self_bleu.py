"""Hand cases of mBLEU and self-BLEU."""

import math

import numpy as np
import pytest

from manycaps.kit.text_bleu import corpus_mbleu_4, self_bleu_values, self_statistics, smoothed_bleu


def test_self_bleu_by_hand():
    same, other = ["a", "red", "dog", "runs"], ["two", "cats", "sleep", "here"]
    values = self_bleu_values(self_statistics([[same, same], [same, other], [same]]))
    assert values["self_bleu_4"] == pytest.approx([1.0, 0.0, math.nan], nan_ok=True)
    assert values["mbleu_4"] == pytest.approx([1.0, 0.0, math.nan], abs=1e-5, nan_ok=True)


def test_an_order_without_a_match_counts_a_tenth():
    # Words 3 of 4, pairs 1 of 3, none of 2 triples and 1 quadruple.
    statistics = np.array([[3, 1, 0, 0, 4, 3, 2, 1, 4, 5]])
    expected = math.exp(1 - 5 / 4) * (3 / 4 * 1 / 3 * 0.1 / 2 * 0.1 / 1) ** 0.25
    assert smoothed_bleu(statistics)[0] == pytest.approx(expected)


def test_corpus_mbleu_is_the_mean_over_places():
    same, other = ["a", "red", "dog", "runs"], ["two", "cats", "sleep", "here"]
    statistics = self_statistics([[same, same, other], [other, other]])
    assert [len(counts) for counts in statistics] == [3, 2]
    assert corpus_mbleu_4(statistics) == pytest.approx(2 / 3, abs=1e-4)
    assert math.isnan(corpus_mbleu_4(self_statistics([[same], [other]])))
