"""ROUGE-L and both scores of candidates: the COCO caption code, batches, parts, and long texts."""

import numpy as np
import pytest
from pycocoevalcap.bleu.bleu import Bleu
from pycocoevalcap.rouge.rouge import Rouge

import manycaps
from manycaps import functional
from manycaps.kit import ngrams, ngrams_rouge
from manycaps.kit.ngrams import NgramIndex
from manycaps.kit.ngrams_rouge import common_lengths
from tests.modules.sample_inputs import CAPTION_ROWS
from tests.oracles import bleu_rouge_loop

# Longest common subsequences of ROUGE-L, by a loop.


def test_batches_do_not_matter(monkeypatch):
    texts = [list("abcabcabc"[:n]) for n in range(10)] + [["b", "a"] * 30]
    pairs = np.array([(i, j) for i in range(1, 11) for j in range(1, 11)])
    index = NgramIndex.of_sets([texts])
    whole = common_lengths(index, *pairs.T)
    monkeypatch.setattr(ngrams_rouge, "MAX_CELLS", 64)
    assert common_lengths(index, *pairs.T).tolist() == whole.tolist()
    assert whole.tolist() == [bleu_rouge_loop.common_length(texts[i], texts[j]) for i, j in pairs.tolist()]


def test_parts_of_pairs_do_not_matter(monkeypatch):
    rows = [[list("abcabc"[:n]) for n in (1, 4, 6)], [], [list("cab")]], [[list("bca"), list("ab")], [["a"]], [["c"]]]
    whole, statistics = ngrams_rouge.candidate_scores(*rows)
    monkeypatch.setattr(ngrams, "MAX_PAIRS", 3)
    scores, statistics_of_parts = ngrams_rouge.candidate_scores(*rows)
    assert len(list(NgramIndex.of_rows(*rows).pair_parts())) == 3
    assert {key: values.tolist() for key, values in scores.items()} == {key: whole[key].tolist() for key in whole}
    assert statistics_of_parts.tolist() == statistics.tolist()


def test_texts_of_more_words_than_a_number_has_bits(monkeypatch):
    generator = np.random.default_rng(0)
    texts = [generator.choice(list("abc"), n).tolist() for n in (1, 62, 63, 64, 65, 130)]
    pairs = np.array([(i, j) for i in range(6) for j in range(6)])
    expected = [bleu_rouge_loop.common_length(texts[i], texts[j]) for i, j in pairs.tolist()]
    index = NgramIndex.of_sets([texts])
    # A call by itself for each pair, so that short ones meet no long one; then all by Python's numbers.
    assert [common_lengths(index, pair[:1], pair[1:]).tolist()[0] for pair in pairs] == expected
    assert common_lengths(index, *pairs.T).tolist() == expected
    monkeypatch.setattr(ngrams_rouge, "N_BITS", 0)
    assert common_lengths(index, *pairs.T).tolist() == expected


def test_the_corpus_equals_the_coco_caption_code():
    candidates = [row[0] for row in CAPTION_ROWS["predictions"]]
    result = manycaps.load("bleu_rouge").compute(predictions=candidates, references=CAPTION_ROWS["references"])
    columns = ([[caption] for caption in candidates], CAPTION_ROWS["references"])
    own, theirs = (
        {i: [" ".join(t) for t in functional.ptb_tokenize(row)] for i, row in enumerate(column)} for column in columns
    )
    bleu, each = Bleu(4).compute_score(theirs, own, verbose=0)
    assert [result[f"bleu_{n}_corpus"] for n in (1, 2, 3, 4)] == pytest.approx(bleu, abs=1e-12)
    assert [result[f"bleu_{n}"] for n in (1, 2, 3, 4)] == pytest.approx([sum(x) / len(x) for x in each], abs=1e-12)
    assert result["rouge_l"] == pytest.approx(Rouge().compute_score(theirs, own)[0], abs=1e-12)


def test_rows_are_means_over_candidates():
    result = manycaps.load("bleu_rouge", details=True).compute(**CAPTION_ROWS)
    for key in ("bleu_1", "bleu_4", "rouge_l"):
        each = result[f"{key}_per_candidate"]
        assert [len(row) for row in each] == [len(row) for row in CAPTION_ROWS["predictions"]]
        assert result[f"{key}_per_row"] == pytest.approx([sum(row) / len(row) for row in each], abs=1e-15)
