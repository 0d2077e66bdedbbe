"""N-grams as numbers, against n-grams as tuples."""

from hypothesis import given
from hypothesis import strategies as st

from manycaps.kit.text_ngrams import ngram_ids, word_ids

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


def test_a_vocabulary_grows():
    vocabulary = {"a": 0}
    assert word_ids([["b", "a"]], vocabulary)[0].tolist() == [1, 0]
    assert vocabulary == {"a": 0, "b": 1}
