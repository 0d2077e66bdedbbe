"""Hand cases of set_diversity's maths, edge cases, and every message."""

import math

import numpy as np
import pytest

from measurements.set_diversity.compression_ratio import compression_ratio
from measurements.set_diversity.effective_number import (
    feature_eigenvalues,
    kernel_eigenvalues,
    self_cider,
    unit_rows,
    vendi_scores,
)
from measurements.set_diversity.ngram_features import SetNgrams, div_n, unique_share
from measurements.set_diversity.self_bleu import corpus_mbleu_4, self_bleu_values, self_statistics, smoothed_bleu
from measurements.set_diversity.set_options import (
    LARGEST_ORDER,
    MOST_CAPTIONS,
    check_kernels,
    check_orders,
    check_set_sizes,
    measured_rows,
)
from measurements.set_diversity.set_result import corpus_result, row_result
from measurements.set_diversity.set_values import pairwise_distance
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


@pytest.mark.parametrize(
    ("eigenvalues", "expected"),
    [
        ([3.0, 0.0, 0.0], (1.0, 1.0, 1.0)),
        ([1.0, 1.0, 1.0], (3.0, 3.0, 3.0)),
        ([1.5, 0.5], (math.exp(-0.75 * math.log(0.75) - 0.25 * math.log(0.25)), 1 / (0.75**2 + 0.25**2), 1 / 0.75)),
        ([1.0, -1e-17], (1.0, 1.0, 1.0)),
    ],
    ids=["one", "three", "between", "rounding"],
)
def test_vendi_scores(eigenvalues, expected):
    assert vendi_scores(np.array(eigenvalues), (1, 2, math.inf)) == pytest.approx(expected, abs=1e-12)


def test_a_large_order_is_close_to_infinity():
    first, second = vendi_scores(np.array([1.5, 0.5]), (LARGEST_ORDER, math.inf))
    assert first == pytest.approx(second, rel=2e-3)


def test_self_cider_of_two_captions_that_share_half():
    # K = [[1, 1/2], [1/2, 1]]: eigenvalues 3/2 and 1/2, so r = sqrt 3 / (1 + sqrt 3).
    features = np.array([[1.0, 0.0], [0.5, math.sqrt(0.75)]])
    assert self_cider(features) == pytest.approx(-math.log2(math.sqrt(3) / (1 + math.sqrt(3))))


def test_self_cider_without_a_value():
    assert math.isnan(self_cider(np.ones((1, 3))))
    assert math.isnan(self_cider(np.zeros((2, 3))))
    assert math.isnan(self_cider(np.zeros((2, 0))))


def test_one_caption_repeated_is_0_and_not_minus_0():
    value = self_cider(SetNgrams([[["a", "red", "dog", "runs"]] * 5]).features(0, None))
    assert value == pytest.approx(0, abs=1e-12)
    assert not str(value).startswith("-")


def test_captions_without_words_are_one_kind_of_caption():
    ngrams = SetNgrams([[[], [], ["a", "dog"]]])
    eigenvalues = feature_eigenvalues(unit_rows(ngrams.features(0, None)))
    assert eigenvalues.tolist() == pytest.approx([0.0, 1.0, 2.0], abs=1e-12)


def test_weights_of_a_table_and_counted_ones_agree():
    sets = [[["a", "dog"], ["a", "cat"]], [["a", "dog", "runs"]], [["a", "dog"]]]
    ngrams = SetNgrams(sets)
    table = DocumentFrequency({"a": 2, "dog": 2, "a dog": 2}, 2)
    counted, looked_up = ngrams.counted_weights(range(1, 3)), ngrams.table_weights(table)
    assert [weights.tolist() for weights in counted] == [weights.tolist() for weights in looked_up]


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


@pytest.mark.parametrize(
    ("vectors", "expected"),
    [([[1.0, 0.0]] * 3, 0.0), ([[1.0, 0.0], [-1.0, 0.0]], 2.0), ([[1.0, 0.0], [0.0, 1.0]], 1.0), ([[1.0]], math.nan)],
    ids=["same", "opposite", "orthogonal", "one"],
)
def test_pairwise_distance(vectors, expected):
    assert pairwise_distance(np.array(vectors)) == pytest.approx(expected, nan_ok=True)


def test_compression_ratio_has_one_order():
    assert compression_ratio(["b", "a"]) == compression_ratio(["a", "b"]) == 3 / 23
    assert math.isnan(compression_ratio([""]))


def test_equal_sizes_take_the_first_captions():
    assert measured_rows([["a", "b", "c"], ["d"]], [["e", "f"], ["g", "h"]], "equal") == (
        [["a", "b"], ["d"]],
        [["e", "f"], ["g"]],
    )


def test_a_row_without_a_value_is_left_out():
    result = row_result({"x": [math.nan, 1.0]}, {"x": [0.5, 0.25]}, details=True)
    assert (result["x"], result["x_references"], result["x_difference"]) == (1.0, 0.375, 0.75)
    assert result["x_references_per_row"] == [0.5, 0.25]
    assert math.isnan(row_result({"x": [math.nan]}, {"x": [1.0]}, details=False)["x_difference"])
    assert corpus_result({"x": 1.0}, {"x": 0.5})["corpus_x_difference"] == 0.5


@pytest.mark.parametrize(
    ("kernels", "error", "message"),
    [
        ("ngram", TypeError, "kernels: expected a list, got 'ngram'."),
        (("bigram",), ValueError, "kernels: expected 'ngram', 'embedding' or a function, got 'bigram'."),
        ((3,), ValueError, "kernels: expected 'ngram', 'embedding' or a function, got 3."),
        (("ngram", "ngram"), ValueError, "kernels: expected each kernel once and at most one function, got ['ngram', "),
        ((len, abs), ValueError, "kernels: expected each kernel once and at most one function, got ['kernel', "),
    ],
    ids=["text", "name", "number", "twice", "two_functions"],
)
def test_bad_kernels(kernels, error, message):
    with pytest.raises(error) as caught:
        check_kernels(kernels)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("orders", "error", "message"),
    [
        (1, TypeError, "vendi_orders: expected a list of numbers, got 1."),
        (("1",), TypeError, "vendi_orders: expected a number, got str. Write math.inf"),
        ((True,), TypeError, "vendi_orders: expected a number, got bool. Write math.inf"),
        ((0,), ValueError, "vendi_orders: expected numbers from 1 to 1000, or infinity, got 0."),
        ((0.5,), ValueError, "vendi_orders: expected numbers from 1 to 1000, or infinity, got 0.5."),
        ((math.nan,), ValueError, "vendi_orders: expected numbers from 1 to 1000, or infinity, got nan."),
        ((10**400,), ValueError, "vendi_orders: expected numbers from 1 to 1000, or infinity, got 1000"),
        ((), ValueError, "vendi_orders: expected at least one order, and each once, got ()."),
        ((1, 1.0), ValueError, "vendi_orders: expected at least one order, and each once, got (1, 1.0)."),
    ],
    ids=["number", "text", "bool", "zero", "half", "nan", "huge", "none", "twice"],
)
def test_bad_orders(orders, error, message):
    with pytest.raises(error) as caught:
        check_orders(orders)
    assert str(caught.value).startswith(message)


class Unreadable:
    """What no array can be made of."""

    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("not on this machine")


@pytest.mark.parametrize(
    ("kernel", "error", "message"),
    [
        (np.ones((2, 3)), ValueError, "got shape (2, 3)."),
        (np.array([[1.0, math.nan], [math.nan, 1.0]]), ValueError, "got nan in it."),
        (np.array([[1.0, 0.0], [0.0, 2.0]]), ValueError, "got 2 on its diagonal."),
        (np.array([[1.0, 0.5], [0.4, 1.0]]), ValueError, "got numbers that differ by 0.1 across it."),
        (np.array([[1.0, 2.0], [2.0, 1.0]]), ValueError, "kernels: expected a kernel without negative eigenvalues"),
        ("a dog", TypeError, "kernels: expected a matrix for the captions of predictions[3], got str"),
        (Unreadable(), TypeError, "got Unreadable (not on this machine)."),
        (None, ValueError, "got shape ()."),
    ],
    ids=["shape", "nan", "diagonal", "asymmetric", "negative", "text", "unreadable", "none"],
)
def test_bad_outputs_of_a_kernel(kernel, error, message):
    with pytest.raises(error) as caught:
        kernel_eigenvalues(kernel, 2, "predictions[3]")
    assert message in str(caught.value)
    assert "predictions[3]" in str(caught.value)


def test_a_set_that_is_too_large_is_named():
    with pytest.raises(ValueError, match=r"^references\[1\]: expected at most 2,000 captions in a set, got 2,001 "):
        check_set_sizes([["a"], ["a"] * (MOST_CAPTIONS + 1)], "references")
