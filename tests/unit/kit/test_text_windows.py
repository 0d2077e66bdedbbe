"""Sentences, windows of them, and what a caption of several windows is."""

import numpy as np

from manycaps.kit.text_windows import mean_direction, sentence_windows, sentences
from tests.each_case import each_case
from tests.refusals import assert_refused


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
)
def test_sentences(caption, expected):
    assert sentences(caption) == expected


def fits(text):
    return len(text.split()) <= 4


@each_case(
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


def test_no_word_is_lost():
    caption = ". ".join(" ".join("abcdefgh"[: n % 5 + 1]) for n in range(40))
    assert " ".join(sentence_windows(caption, fits)).split() == caption.split()


def test_a_window_counts_by_its_direction():
    assert mean_direction(np.array([[3.0, 0.0], [0.0, 0.5]])).tolist() == [0.5, 0.5]
    assert mean_direction(np.array([[3.0, 4.0]])).tolist() == [3.0, 4.0]
    message = "long_captions: expected windows of a caption with a mean, got "
    assert_refused(ValueError, message, mean_direction, np.array([[1.0, 0.0], [-2.0, 0.0]]))
