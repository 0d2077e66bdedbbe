"""Sentences, windows of them, and what a caption of several windows is."""

import pytest

from manycaps.kit.embeddings import sentence_windows, sentences


@pytest.mark.parametrize(
    ("caption", "expected"),
    [
        ("A dog", ["A dog"]),
        ("A dog.  Two cats?", ["A dog.", "Two cats?"]),
        ('He says "stop." A dog (wet!) runs', ['He says "stop."', "A dog (wet!)", "runs"]),
        ("at 3.5 m. Mr. Dog", ["at 3.5 m.", "Mr.", "Dog"]),
        ("one\n\n two \n", ["one", "two"]),
        ("\u72d7\u3002\u732b\u3002", ["\u72d7\u3002", "\u732b\u3002"]),
        ("", []),
        (" . ", [" ."]),
    ],
)
def test_sentences(caption, expected):
    assert sentences(caption) == expected


def fits(text):
    return len(text.split()) <= 4


@pytest.mark.parametrize(
    ("caption", "windows"),
    [
        ("a b. c d.", ["a b. c d."]),
        ("a b. c. d e f. g.", ["a b. c.", "d e f. g."]),
        ("a b c d e f g", ["a b c d e f g"]),
        ("a. b c d e f. g", ["a.", "b c d e f.", "g"]),
    ],
)
def test_windows_hold_whole_sentences_in_order(caption, windows):
    assert sentence_windows(caption, fits) == windows
