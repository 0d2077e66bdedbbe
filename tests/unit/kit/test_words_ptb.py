"""PTB tokens: clean for any text, the same in any order and thread, in linear time."""

import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manycaps.kit import words_ptb
from manycaps.kit.words_ptb import REMOVED_TOKENS, ptb_tokenize, ptb_tokens
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
    assert ptb_tokens(caption) == "softhyphen zero width a b a b a b a b".split()


@given(CAPTIONS)
def test_tokens_are_clean_for_any_text(caption):
    tokens = ptb_tokens(caption)
    assert all(token and not re.search(r"\s", token) for token in tokens)
    assert REMOVED_TOKENS.isdisjoint(tokens)
    assert not any("\ud800" <= character <= "\udfff" for token in tokens for character in token)


@given(st.lists(CAPTIONS, max_size=6), st.randoms(use_true_random=False))
def test_neither_memory_nor_order_changes_the_tokens(captions, order):
    words_ptb._remembered.clear()
    fresh = [ptb_tokens(caption) for caption in captions]
    assert ptb_tokenize(captions) == fresh
    rows = list(range(len(captions)))
    order.shuffle(rows)
    assert ptb_tokenize(captions[row] for row in rows) == [fresh[row] for row in rows]


@given(st.lists(st.sampled_from(PIECES), max_size=8).map(" ".join))
def test_words_looked_up_one_by_one_equal_the_whole_caption_scanned(caption):
    assert ptb_tokens(caption) == words_ptb._scan(caption)


def test_the_memory_is_bounded(monkeypatch):
    monkeypatch.setattr(words_ptb, "N_REMEMBERED_WORDS", 10)
    monkeypatch.setattr(words_ptb, "_remembered", {})
    captions = [f"word{chr(97 + i % 26)}x{'y' * (i // 26)}" for i in range(100)]
    assert ptb_tokenize(captions) == [[caption] for caption in captions]
    assert len(words_ptb._remembered) <= 10
    ptb_tokens("z" * (words_ptb.LONGEST_REMEMBERED_WORD + 1))
    assert all(len(word) <= words_ptb.LONGEST_REMEMBERED_WORD for word in words_ptb._remembered)


def test_threads_agree(monkeypatch):
    monkeypatch.setattr(words_ptb, "N_REMEMBERED_WORDS", 20)  # emptied again and again
    captions = [f"{piece} dog{i % 97} ran" for i, piece in enumerate(PIECES * 5)]
    expected = ptb_tokenize(captions)
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(ptb_tokenize, [captions] * 4)) == [expected] * 4


# Repeated, each of these makes some shape look far ahead and fail.
@pytest.mark.parametrize(
    "unit", ["a", "a.", "a,", "a-", "a@", "%.", "<a ", '<a b="', "(555) ", "no. ", "n't", "www.", "!", "'", "é", "🐶"]
)
def test_time_grows_with_the_length_and_no_faster(unit, monkeypatch):
    """Counts characters looked at, not seconds: every shape sees at most `LONGEST_SHAPE` characters per token."""
    n_scanned = 0
    scan = words_ptb._shape_at

    def count_scan(text, start):
        nonlocal n_scanned
        n_scanned += 1
        return scan(text, start)

    monkeypatch.setattr(words_ptb, "_shape_at", count_scan)
    n_places = []
    for n in (500, 5_000):
        n_scanned = 0
        ptb_tokens((unit * n)[:n])
        n_places.append(max(n_scanned, 1))
    assert n_places[1] <= 11 * n_places[0]
    assert n_places[1] <= 5_000


def test_a_long_word_stays_whole():
    for word in ("x" * 100_000, "a-" * 1_000 + "a"):
        assert ptb_tokens(word) == [word]


def test_the_error_names_the_caption():
    assert_refused(TypeError, "caption: expected a string, got NoneType", ptb_tokens, None)
    assert_refused(TypeError, "captions[1]: expected a string, got int", ptb_tokenize, ["a", 5])
    message = "captions: expected an iterable of strings, got one string"
    assert_refused(TypeError, message, ptb_tokenize, "a dog")
