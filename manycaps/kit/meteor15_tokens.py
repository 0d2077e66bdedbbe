"""From texts to the words of METEOR 1.5, as its option -norm makes them, with stems and hashes of single words.

Denkowski and Lavie (2014), https://aclanthology.org/W14-3348; English. The steps are those of the Java program, in its
order, with its notion of a letter.
"""

import re
import struct
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from nltk.stem.snowball import EnglishStemmer

# Letters to the program, for use in brackets.
LETTERS = "A-Za-zŠŽšžŸÀ-ÖØ-öø-žЀ-ԧꙀ-ꙮ꙾-ꚗᴀ-ᵿ"

# What ends a word, and white space to Java's regular expressions.
SEPARATORS = " \t\n\r\f"
WHITE_SPACE = SEPARATORS + "\x0b"

# What Java's `trim` removes: everything up to the space.
TRIMMED = "".join(map(chr, range(0x21)))

# Marks a full stop of several while commas and apostrophes are moved.
SEVERAL, MORE = "DOTMULTI", "DOTDOTMULTI"

_STANDS_ALONE = re.compile(rf"([^{LETTERS}0-9{WHITE_SPACE}.'`,\-‘’])")
_FULL_STOPS = re.compile(r"\.(\.+)")
_LAST_OF_SEVERAL = re.compile(rf"{SEVERAL}\.([^.])")
_COMMAS = [re.compile(pattern) for pattern in ("([^0-9]),([^0-9])", "([0-9]),([^0-9])", "([^0-9]),([0-9])")]
_SINGLE_QUOTES = str.maketrans("`‘’", "'''")
_DOUBLE_QUOTES = re.compile("“|”|''")
_HYPHEN = re.compile(rf"([{LETTERS}0-9.])-([{LETTERS}0-9])")
_APOSTROPHES_APART = [
    re.compile(pattern)
    for pattern in (
        rf"([^{LETTERS}])'([^{LETTERS}])",
        rf"([^{LETTERS}0-9])'([{LETTERS}])",
        rf"([{LETTERS}])'([^{LETTERS}])",
    )
]
_APOSTROPHES_AHEAD = [re.compile(pattern) for pattern in (rf"([{LETTERS}])'([{LETTERS}])", "([0-9])'(s)")]
_LETTER = re.compile(f"[{LETTERS}]")
_UNICODE_SPACES = re.compile("[\u2000-\u200a\u202f\u205f\u3000\u00a0]")
_WORD = re.compile(f"[^{SEPARATORS}]+")

# NLTK turns these into apostrophes, which the program's stemmer does not know; they pass as private characters.
_HIDDEN = str.maketrans("‘’‛", "\ue000\ue001\ue002")
_SHOWN = str.maketrans("\ue000\ue001\ue002", "‘’‛")

# Suffixes whose replacement NLTK loses from the region in which a final "e" goes (NLTK 3.9 to 3.10, EnglishStemmer,
# steps 2 and 3: `r2 = ""`), by the ending of the stem.
_LOST_ENDINGS = {"ize": ("izer", "ization"), "ate": ("ational",)}


class Prefixes(NamedTuple):
    """Words whose full stop is a part of them, and those of which that holds before a number only."""

    ordinary: Collection[str]
    numeric: Collection[str]


def words_of(text: str, prefixes: Prefixes) -> list[str]:
    """Split a text into the words that METEOR 1.5 compares, lower-case, with punctuation.

    Args:
        text: any text; the COCO caption code gives PTB tokens joined by spaces.
        prefixes: of the program's data.

    Returns:
        The words.

    >>> words_of("A man's well-known dog, No. 5.", Prefixes((), ("No",)))
    ['a', 'man', "'s", 'well', 'known', 'dog', ',', 'no.', '5', '.']
    """
    text = _apart(f" {text.strip(TRIMMED)} ")
    text = " ".join(_full_stops_apart(_WORD.findall(text), prefixes))
    while MORE in text:
        text = text.replace(MORE, f"{SEVERAL}.")
    return _WORD.findall(_UNICODE_SPACES.sub(" ", text.replace(SEVERAL, ".")).strip(TRIMMED).lower())


def _apart(text: str) -> str:
    """Put spaces around punctuation, except full stops at the end of words."""
    text = _STANDS_ALONE.sub(r" \1 ", text)
    if ".." in text:
        text = _FULL_STOPS.sub(rf" {SEVERAL}\1", text)
    while f"{SEVERAL}." in text:
        text = _LAST_OF_SEVERAL.sub(rf"{MORE} \1", text).replace(f"{SEVERAL}.", MORE)
    if "," in text:
        for comma in _COMMAS:
            text = comma.sub(r"\1 , \2", text)
    text = _DOUBLE_QUOTES.sub(' " ', text.translate(_SINGLE_QUOTES))
    text = _HYPHEN.sub(r"\1 \2", text.replace("–", "-").replace("--", "-"))
    if "'" in text:
        for apostrophe in _APOSTROPHES_APART:
            text = apostrophe.sub(r"\1 ' \2", text)
        for apostrophe in _APOSTROPHES_AHEAD:
            text = apostrophe.sub(r"\1 '\2", text)
    return text


def _full_stops_apart(words: Sequence[str], prefixes: Prefixes) -> Iterator[str]:
    """The words, each with its final full stop kept, removed or put behind a space."""
    for word, following in zip(words, [*words, ""][1:], strict=True):
        before = word[:-1]
        if not before or word[-1] != ".":
            yield word
        elif "." in before and _LETTER.search(before):
            yield before.replace(".", "")
        elif (
            before in prefixes.ordinary
            or "a" <= following[:1] <= "z"
            or (before in prefixes.numeric and "0" <= following[:1] <= "9")
        ):
            yield word
        else:
            yield f"{before} ."


class Stemmer:
    """The English stemmer of METEOR 1.5: Porter2 as it was in 2006.

    NLTK's is the nearest one that is maintained; what it does otherwise is made good here.

    >>> Stemmer().stem("running"), Stemmer().stem("added"), Stemmer().stem("ionization")
    ('run', 'ad', 'ioniz')
    """

    def __init__(self) -> None:
        self._stemmer = EnglishStemmer()

    def stem(self, word: str) -> str:
        """Return the stem of a lower-case word."""
        stem = self._stemmer.stem(word.translate(_HIDDEN)).translate(_SHOWN)
        suffixes = _LOST_ENDINGS.get(stem[-3:], ())
        return stem[:-1] if any(suffix in word for suffix in suffixes) else stem


def java_hash(word: str) -> int:
    """Return Java's `hashCode` of a string, from 0: METEOR 1.5 takes words with equal ones for equal.

    >>> java_hash("20s") == java_hash("225")
    True
    """
    data = word.encode("utf-16-le")
    value = 0
    for unit in struct.unpack(f"<{len(data) // 2}H", data):
        value = 31 * value + unit & 0xFFFFFFFF
    return value
