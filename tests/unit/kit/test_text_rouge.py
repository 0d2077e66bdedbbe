"""Longest common subsequences of ROUGE-L, by a loop."""

import numpy as np

from manycaps.kit import ngram_scores
from manycaps.kit.ngram_scores import common_lengths
from manycaps.kit.tokenization import word_ids
from tests.oracles import bleu_rouge_loop


def test_batches_do_not_matter(monkeypatch):
    texts = [list("abcabcabc"[:n]) for n in range(10)] + [["b", "a"] * 30]
    pairs = np.array([(i, j) for i in range(1, 11) for j in range(1, 11)])
    numbered = word_ids(texts, {})
    whole = common_lengths(*numbered, *pairs.T)
    monkeypatch.setattr(ngram_scores, "MAX_CELLS", 64)
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
    monkeypatch.setattr(ngram_scores, "N_BITS", 0)
    assert common_lengths(*numbered, *pairs.T).tolist() == expected
