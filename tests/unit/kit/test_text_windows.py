"""Sentences, windows of them, and what a caption of several windows is."""

import numpy as np
import pytest

from manycaps.kit.text_windows import mean_direction, sentence_windows, sentences
from tests.each_case import each_case


@each_case(
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
    ids=["one", "two", "quotes", "numbers", "lines", "no_blank", "empty", "mark"],
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
    ids=["whole", "two", "no_sentence", "long_sentence"],
)
def test_windows_hold_whole_sentences_in_order(caption, windows):
    assert sentence_windows(caption, fits) == windows


def test_no_word_is_lost():
    caption = ". ".join(" ".join("abcdefgh"[: n % 5 + 1]) for n in range(40))
    assert " ".join(sentence_windows(caption, fits)).split() == caption.split()


def test_a_window_counts_by_its_direction():
    assert mean_direction(np.array([[3.0, 0.0], [0.0, 0.5]])).tolist() == [0.5, 0.5]
    assert mean_direction(np.array([[3.0, 4.0]])).tolist() == [3.0, 4.0]
    with pytest.raises(ValueError, match="^long_captions: expected windows of a caption with a mean, got "):
        mean_direction(np.array([[1.0, 0.0], [-2.0, 0.0]]))
