"""Sentences: how texts are divided, in any script, and the spans of sentences that are compared."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from manycaps.kit import parity_sentences
from manycaps.kit.parity_sentences import (
    are_single_sentences,
    nearest_span,
    row_spans,
    sentence_pieces,
    sentence_rules,
    split_sentences,
    text_spans,
)
from tests.refusals import refusals


@pytest.mark.parametrize("text", ["a dog runs", "A dog (wet) runs.", "Dr. Li runs.", "", "狗在跑。"])
def test_captions_of_one_sentence_are_not_divided(text):
    assert are_single_sentences([text, "a cat"], "en")
    assert not are_single_sentences(["a cat", f"{text} A cat sleeps. It rains."], "en")


def test_the_nearest_span_is_named():
    rows = row_spans([["A dog. A cow runs."]], [["A cat. A cow."]], "en")
    distances = np.array([[0, 9, 9, 2, 1, 3], [9, 0, 9, 5, 4, 0.5]], dtype=float)
    assert nearest_span(rows[0], distances, 0) == "A cow."
    assert nearest_span(rows[0], distances, 1) == "A cat. A cow."


def test_a_text_of_three_sentences_has_six_spans():
    assert len(text_spans("A dog. A cat. It rains.").texts) == 6
    assert text_spans(" A dog. ").texts == [" A dog. "]


def call(language):
    return lambda: split_sentences(["a dog runs"], language)


CASES = [
    ("a dog runs on the beach", ["a dog runs on the beach"]),
    ("a dog runs .", ["a dog runs ."]),
    ("A dog runs. It is wet!", ["A dog runs.", "It is wet!"]),
    ("a dog runs . it is wet .", ["a dog runs .", "it is wet ."]),
    ("A dog runs.It is wet.", ["A dog runs.", "It is wet."]),
    ("Mr. Smith met Dr. J. R. Jones. He left.", ["Mr. Smith met Dr. J. R. Jones.", "He left."]),
    ("A pub near no. 5, e.g. a cheap one.", ["A pub near no. 5, e.g. a cheap one."]),
    ("It costs $3.50 or 1.000,5. It rains.", ["It costs $3.50 or 1.000,5.", "It rains."]),
    ('He said "I am here. Go away!" and left.', ['He said "I am here. Go away!" and left.']),
    ("'A dog runs. It is wet.'", ["'A dog runs.", "It is wet.'"]),
    ("“A dog.”", ["“A dog.”"]),
    ('"Stop!" he said. "Go."', ['"Stop!" he said.', '"Go."']),
    ("The dog (a poodle. Really.) runs. It barks.", ["The dog (a poodle. Really.) runs.", "It barks."]),
    ("a dog... runs away... fast", ["a dog... runs away... fast"]),
    ("A dog runs! ! ! It is happy.", ["A dog runs! ! !", "It is happy."]),
    ("A man sits. .", ["A man sits. ."]),
    ("- A dog\n- A cat", ["- A dog", "- A cat"]),
    ("1. A dog runs. 2. A cat sits.", ["1. A dog runs.", "2. A cat sits."]),
    ("A dog.\n\nA cat", ["A dog.", "A cat"]),
    ("...", ["..."]),
    ("", [""]),
    ("  \n", [""]),
]


SCRIPTS = [
    ("zh", "一只狗在跑。它很湿！两个人在看。", ["一只狗在跑。", "它很湿！", "两个人在看。"]),
    ("ja", "犬が走る。猫が寝る。", ["犬が走る。", "猫が寝る。"]),
    ("hi", "कुत्ता दौड़ता है। वह गीला है।", ["कुत्ता दौड़ता है।", "वह गीला है।"]),
    ("ar", "كلب يركض. هو مبلل؟ نعم!", ["كلب يركض.", "هو مبلل؟", "نعم!"]),
    ("ru", "Собака бежит. Г. Иванов смотрит.", ["Собака бежит.", "Г. Иванов смотрит."]),
    ("es-MX", "El Sr. García corre. ¿Y tú? ¡Sí!", ["El Sr. García corre.", "¿Y tú?", "¡Sí!"]),
    ("xx", "A dog runs. It is wet.", ["A dog runs.", "It is wet."]),
]


@pytest.mark.parametrize(("text", "expected"), CASES)
def test_english(text, expected):
    assert split_sentences([text]) == [expected]


@pytest.mark.parametrize(("language", "text", "expected"), SCRIPTS)
def test_other_languages(language, text, expected):
    assert split_sentences([text], language) == [expected]


def test_an_initial_ends_a_sentence_only_without_the_rules_of_its_language():
    text = "Собака бежит. Г. Иванов смотрит."
    assert len(split_sentences([text], "en")[0]) == 3
    assert len(split_sentences([text], "ru")[0]) == 2


@given(st.text(alphabet=st.sampled_from("ab .!?。\n\"'(1é犬"), max_size=40))
def test_pieces_are_the_text_and_each_has_a_letter(text):
    pieces = sentence_pieces(text)
    assert "".join(pieces) == text
    assert pieces
    assert len(pieces) == 1 or all(any(character.isalpha() for character in piece) for piece in pieces)


test_refusals = refusals(
    {
        ValueError: [
            ("language: expected a language code of two or three letters, got 'english'", call("english")),
            ("language: expected a language code of two or three letters, got ''", call("")),
        ],
        TypeError: [("language: expected a language code, got 3", call(3))],
    }
)


def test_rules_are_named_with_their_version():
    assert sentence_rules("de").startswith("sentencex-1.")
    assert sentence_rules("de").endswith("/de")


@pytest.mark.parametrize("language", ["en", "de", "zh", "th", "hi", "hy", "el"])
def test_a_text_without_marks_inside_is_one_sentence_by_the_rules_as_well(language, monkeypatch):
    """The shortcut for plain captions changes no division."""
    rng = np.random.default_rng(0)
    signs = [*"aB1.,!? ", "狗", "。", "ไทย", "Mr", "No.", " I ", "ß", "कि", ", "]
    texts = ["".join(rng.choice(signs, size=n)) for n in rng.integers(0, 12, size=2_000)]
    plain = [text for text in texts if parity_sentences.PLAIN.fullmatch(text)]
    assert len(plain) > 100
    monkeypatch.setattr(parity_sentences, "PLAIN", re.compile("(?!)"))
    assert [parity_sentences.sentence_pieces(text, language) for text in plain] == [[text] for text in plain]
