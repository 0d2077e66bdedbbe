"""Invariants of the tokenizer, its memory and its time; the Java program's tokens: tests/parity/test_ptb_tokens.py."""

import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manycaps.kit import tokenization
from manycaps.kit.tokenization import REMOVED_TOKENS, tokenize, tokenize_captions
from tests.refusals import assert_refused

# Pieces whose order and neighbours matter: random text alone would rarely put two of them together.
PIECES = (
    "a dog St. Mr etc. no. U.S. 5 10 1,000 1/2 ' 's n't ’ “ ” - -- – . ... … , : ! ? ( ) [ ] < > & &amp; @ # $ % * / _ "
    "\" ` é 中 ½ £ ❤ 🐶 com http:// www. gonna cannot '90s o'clock \u0301 \xad \u200b \ud800 \x00 \x85 \u2028"
).split(" ")
CAPTIONS = st.one_of(
    st.text(st.characters()), st.lists(st.sampled_from([*PIECES, " ", "\t", "\xa0"]), max_size=12).map("".join)
)


def test_what_breaks_a_line_or_cannot_be_seen_parts_words():
    """Java prints the same of each such caption alone; with others it begins a new line."""
    caption = "soft\xadhyphen zero\u200bwidth a\xa0b a\u2028b a\x85b a\x00b"
    assert tokenize(caption) == "softhyphen zero width a b a b a b a b".split()


@given(CAPTIONS)
def test_tokens_are_clean_for_any_text(caption):
    tokens = tokenize(caption)
    assert all(token and not re.search(r"\s", token) for token in tokens)
    assert REMOVED_TOKENS.isdisjoint(tokens)
    assert not any("\ud800" <= character <= "\udfff" for token in tokens for character in token)


@given(st.lists(CAPTIONS, max_size=6), st.randoms(use_true_random=False))
def test_neither_memory_nor_order_changes_the_tokens(captions, order):
    tokenization._remembered.clear()
    fresh = [tokenize(caption) for caption in captions]
    assert tokenize_captions(captions) == fresh
    rows = list(range(len(captions)))
    order.shuffle(rows)
    assert tokenize_captions(captions[row] for row in rows) == [fresh[row] for row in rows]


@given(st.lists(st.sampled_from(PIECES), max_size=8).map(" ".join))
def test_words_looked_up_one_by_one_equal_the_whole_caption_scanned(caption):
    assert tokenize(caption) == tokenization._scan(caption)


def test_the_memory_is_bounded(monkeypatch):
    monkeypatch.setattr(tokenization, "N_REMEMBERED_WORDS", 10)
    monkeypatch.setattr(tokenization, "_remembered", {})
    captions = [f"word{chr(97 + i % 26)}x{'y' * (i // 26)}" for i in range(100)]
    assert tokenize_captions(captions) == [[caption] for caption in captions]
    assert len(tokenization._remembered) <= 10
    tokenize("z" * (tokenization.LONGEST_REMEMBERED_WORD + 1))
    assert all(len(word) <= tokenization.LONGEST_REMEMBERED_WORD for word in tokenization._remembered)


def test_threads_agree(monkeypatch):
    monkeypatch.setattr(tokenization, "N_REMEMBERED_WORDS", 20)  # emptied again and again
    captions = [f"{piece} dog{i % 97} ran" for i, piece in enumerate(PIECES * 5)]
    expected = tokenize_captions(captions)
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(tokenize_captions, [captions] * 4)) == [expected] * 4


# Repeated, each of these makes some shape look far ahead and fail.
@pytest.mark.parametrize(
    "unit", ["a", "a.", "a,", "a-", "a@", "%.", "<a ", '<a b="', "(555) ", "no. ", "n't", "www.", "!", "'", "é", "🐶"]
)
def test_time_grows_with_the_length_and_no_faster(unit, monkeypatch):
    """Counts characters looked at, not seconds: every shape sees at most `LONGEST_SHAPE` characters per token."""
    n_scanned = 0
    scan = tokenization._shape_at

    def counted(text, start):
        nonlocal n_scanned
        n_scanned += 1
        return scan(text, start)

    monkeypatch.setattr(tokenization, "_shape_at", counted)
    n_places = []
    for n in (500, 5_000):
        n_scanned = 0
        tokenize((unit * n)[:n])
        n_places.append(max(n_scanned, 1))
    assert n_places[1] <= 11 * n_places[0]
    assert n_places[1] <= 5_000


def test_a_long_word_stays_whole():
    for word in ("x" * 100_000, "a-" * 1_000 + "a"):
        assert tokenize(word) == [word]


def test_the_error_names_the_caption():
    assert_refused(TypeError, "caption: expected a string, got NoneType", tokenize, None)
    assert_refused(TypeError, "captions[1]: expected a string, got int", tokenize_captions, ["a", 5])
    message = "captions: expected an iterable of strings, got one string"
    assert_refused(TypeError, message, tokenize_captions, "a dog")
