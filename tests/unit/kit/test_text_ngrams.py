"""N-grams as numbers against n-grams as tuples, masks of texts, and n-grams of candidates and their references."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from manycaps.kit import ngram_scores
from manycaps.kit.ngram_scores import ReferenceNgrams, document_frequencies
from manycaps.kit.tokenization import RowTexts, ngram_ids, word_ids


@pytest.mark.parametrize("sizes", [[1], [3, 1, 2], [64, 65, 1], [130, 2]], ids=lambda sizes: "_".join(map(str, sizes)))
def test_members_are_those_of_the_masks(sizes):
    texts, rng = RowTexts(sizes), np.random.default_rng(0)
    sets = [np.flatnonzero(rng.random(size) < 0.5) for size in sizes]
    group = np.repeat(np.arange(len(sizes)), [len(own) for own in sets])
    masks = texts.masks(group, np.concatenate(sets), len(sizes))
    position, text = texts.members(np.arange(len(sizes)), masks)
    assert [(text[position == i] - texts.first[i]).tolist() for i in range(len(sizes))] == [s.tolist() for s in sets]


CAPTIONS = st.lists(st.lists(st.sampled_from("abcd"), max_size=7), max_size=6)


@given(CAPTIONS)
def test_numbers_are_equal_exactly_where_the_ngrams_are(captions):
    words, lengths = word_ids(captions, {})
    for order, (ids, last) in enumerate(ngram_ids(words, lengths, 4), start=1):
        tuples = [tuple(c[i : i + order]) for c in captions for i in range(len(c) - order + 1)]
        assert len(ids) == len(last) == len(tuples)
        assert len(set(zip(ids.tolist(), tuples, strict=True))) == len(set(tuples)) == len(set(ids.tolist()))
        flat = [token for caption in captions for token in caption]
        assert [tuple(flat[end - order + 1 : end + 1]) for end in last.tolist()] == tuples


TEXT = st.lists(st.sampled_from("a the dog cat runs".split()), max_size=9)
ROWS = st.lists(
    st.tuples(st.lists(TEXT, min_size=1, max_size=3), st.lists(TEXT, min_size=1, max_size=4)), min_size=2, max_size=4
)


def of_rows(rows):
    return ReferenceNgrams.of_rows(*zip(*rows, strict=True))


@given(ROWS)
def test_rows_by_themselves_have_the_same_bits(rows):
    """Neither the other rows nor what is kept changes a digit."""
    counts = document_frequencies([own for _, own in rows])
    given = {"frequency": lambda ngram: counts.get(" ".join(ngram), 0), "n_documents": len(rows)}
    counted = of_rows(rows).ciders().tolist()
    assert of_rows(rows).ciders(**given).tolist() == counted
    alone = [value for row in rows for value in of_rows([row]).ciders(**given).tolist()]
    assert alone == counted


def test_nothing_kept_and_every_way_to_sort(monkeypatch):
    rows = [([["a", "dog", "a", "dog"], []], [["a", "dog"], ["dog", "a", "dog"]]), ([["a"]], [["a", "cat", "runs"]])]
    texts = of_rows(rows)
    expected = texts.bleu_statistics(), texts.ciders()
    assert texts.orders(4) is not texts.orders(4)
    monkeypatch.setattr(ngram_scores, "MOST_KEPT_WORDS", 0)
    monkeypatch.setattr(ngram_scores, "KEY_BITS", 1)
    texts = of_rows(rows)
    for first, second in zip(expected, (texts.bleu_statistics(), texts.ciders()), strict=True):
        assert first.tolist() == second.tolist()
    assert texts._kept == []
