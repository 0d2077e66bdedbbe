"""Words and stems of METEOR 1.5 in its languages, and hashes of Java."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from manycaps.kit.meteor15_words import Prefixes, java_hash, load_stemmer, meteor15_words
from tests.meteor15_data import small_lexicon
from tests.oracles import meteor15_loop
from tests.refusals import assert_refused

PREFIXES = Prefixes(frozenset({"Mr", "St"}), frozenset({"No", "pp"}))


# The expected words come from the Java program's Normalizer.
@pytest.mark.parametrize(
    ("language", "text", "words"),
    [
        ("en", "", ""),
        ("en", "A dog.", "a dog ."),
        ("en", "A dog. runs", "a dog. runs"),
        ("en", "a--b --c", "a b -c"),
        ("en", "It's 5's t-shirt", "it 's 5 's t shirt"),
        ("en", "the dogs' 'tis", "the dogs ' ' tis"),
        ("en", "wait... what.. 3.5 .5", "wait ... what .. 3.5 .5"),
        ("en", "p.m. Mr. No. 5 No. x", "pm mr. no. 5 no. x"),
        ("en", "1,000,a, b,c ,2", "1,000 , a , b , c , 2"),
        ("en", "“a” ''b'' ‘c’ `d`", "\" a \" \" b \" ' c ' ' d '"),
        ("en", "x–y a/b #1", "x - y a / b # 1"),
        ("en", "Ž İ 😀 a\u2003b\u00a0c", "ž i̇ 😀 a b c"),
        ("fr", "L'eau d’un 'x' 5's aujourd'hui", "l' eau d' un ' x ' 5 ' s aujourd' hui"),
        ("de", "wie's 5's ‚x‘ „so“", "wie ' s 5 ' s ‚ x ' „ so \""),
        ("cs", "d'Artagnan", "d ' artagnan"),
        ("ru", "т.е. «Дом» No. 5", "те « дом » no. 5"),
        ("es", "¿Qué? ¡Sí, 1.000!", "¿ qué ? ¡ sí , 1.000 !"),
    ],
)
def test_words(language, text, words):
    assert meteor15_words(text, PREFIXES, language) == words.split(" ") * bool(words)


@given(st.text(st.sampled_from("ab1 .'-,’‘`\"–—“”sZéЖ\t\x0b\n\x1f\u2003\u00a0İΣ😀!"), max_size=16))
@settings(max_examples=300)
def test_any_text_as_in_the_slow_version(text):
    slow = meteor15_loop.normalize(text, small_lexicon())
    assert meteor15_words(text, PREFIXES) == meteor15_loop.words_of(slow)


def test_hashes_are_those_of_java():
    # Values of "".hashCode(), "a", "dog", "film-maker" and "😀" in Java.
    expected = {"": 0, "a": 97, "dog": 99644, "😀": 1772899}
    assert {word: java_hash(word) for word in expected} == expected
    assert java_hash("60s") == java_hash("625")
    assert java_hash("a" * 40) == meteor15_loop.java_hash("a" * 40)


# Stems of the program's own stemmers: where the libraries have others, and one of each rule of the French algorithm.
STEMS = {
    "en": (
        "added ad running run skies sky generally general ionization ioniz sensationally sensat organizer organ "
        "sizer sizer prize prize realizers realiz t-shirt’ t-shirt’ ‘and ‘and"
    ),
    "de": "verhältnisse verhaltniss ergebnissen ergebniss häuser haus läuft lauft straßen strass kniss kniss",
    "fr": (
        "jouaient jou continuellement continuel majestueuse majestu yeux yeux françaises français indicatrice indiqu "
        "aiguë aiguë éd ed yuri yur yayi yai seiya seii chevaux cheval constamment const finissaient fin nation nation"
    ),
    "es": "informacion informacion constitucion constitucion informaciones inform jugaban jug poseíamos pos",
    "ru": "её её ребёнка ребёнк следующая след воюющие воюющ собаки собак",
    "cs": "psi psi",
}


@pytest.mark.parametrize("language", STEMS)
def test_stems(language):
    words = STEMS[language].split()
    stem = load_stemmer(language)
    assert {word: stem(word) for word in words[::2]} == dict(zip(words[::2], words[1::2], strict=True))


def test_a_missing_stemmer_is_named(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    message = "Russian stems: expected the package snowballstemmer, got none. Run `pip in"
    assert_refused(ImportError, message, load_stemmer, "ru")
    assert load_stemmer("fr")("jouaient") == "jou"
