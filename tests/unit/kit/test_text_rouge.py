"""ROUGE-L by hand and by a loop."""

import numpy as np
from hypothesis import strategies as st

from manycaps.kit import text_rouge
from manycaps.kit.text_ngrams import word_ids
from manycaps.kit.text_reference_ngrams import ReferenceNgrams
from manycaps.kit.text_rouge import common_lengths, rouge_l_of_ngrams
from tests.oracles import bleu_rouge_loop

TEXT = st.lists(st.sampled_from("abcd"), max_size=9)


def test_precision_and_recall_come_from_different_references():
    # P = 1 from the long reference, R = 1 from the short one; no single reference has both.
    texts = ReferenceNgrams.of_rows([[["a", "b"]]], [[["a"], ["a", "b", "c", "d"]]])
    assert rouge_l_of_ngrams(texts).tolist() == [1.0]


def test_texts_without_tokens_count_as_one_empty_token():
    texts = ReferenceNgrams.of_rows([[[]], [[]], [["a"]]], [[[]], [["a"]], [[]]])
    assert rouge_l_of_ngrams(texts).tolist() == [1.0, 0.0, 0.0]
    assert rouge_l_of_ngrams(ReferenceNgrams.of_rows([], [])).shape == (0,)


def test_batches_do_not_matter(monkeypatch):
    texts = [list("abcabcabc"[:n]) for n in range(10)] + [["b", "a"] * 30]
    pairs = np.array([(i, j) for i in range(1, 11) for j in range(1, 11)])
    numbered = word_ids(texts, {})
    whole = common_lengths(*numbered, *pairs.T)
    monkeypatch.setattr(text_rouge, "MAX_CELLS", 64)
    assert common_lengths(*numbered, *pairs.T).tolist() == whole.tolist()
    assert whole.tolist() == [bleu_rouge_loop.common_length(texts[i], texts[j]) for i, j in pairs.tolist()]


def test_texts_of_more_words_than_a_number_has_bits(monkeypatch):
    generator = np.random.default_rng(0)
    texts = [generator.choice(list("abc"), n).tolist() for n in (1, 62, 63, 64, 65, 130)]
    pairs = np.array([(i, j) for i in range(6) for j in range(6)])
    expected = [bleu_rouge_loop.common_length(texts[i], texts[j]) for i, j in pairs.tolist()]
    numbered = word_ids(texts, {})
    # A call by itself for each pair, so that short ones meet no long one; then all by lines.
    assert [common_lengths(*numbered, pair[:1], pair[1:]).tolist()[0] for pair in pairs] == expected
    assert common_lengths(*numbered, *pairs.T).tolist() == expected
    monkeypatch.setattr(text_rouge, "N_BITS", 0)
    assert common_lengths(*numbered, *pairs.T).tolist() == expected
