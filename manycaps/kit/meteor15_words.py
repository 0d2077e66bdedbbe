"""The languages of METEOR 1.5, and the words that it compares, which its option -norm makes of texts.

Denkowski and Lavie (2014), https://aclanthology.org/W14-3348. The steps are the Java program's, in its order, with
its notion of a letter.
"""

import re
import struct
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

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
    (re.compile(pattern), r"\1 ' \2")
    for pattern in (
        rf"([^{LETTERS}])'([^{LETTERS}])",
        rf"([^{LETTERS}0-9])'([{LETTERS}])",
        rf"([{LETTERS}])'([^{LETTERS}])",
    )
]

# What happens to apostrophes, in this order: English "man 's", French "l' eau", elsewhere "x ' y".
_APOSTROPHES = {
    "en": [
        *_APOSTROPHES_APART,
        (re.compile(rf"([{LETTERS}])'([{LETTERS}])"), r"\1 '\2"),
        (re.compile("([0-9])'(s)"), r"\1 '\2"),
    ],
    "fr": [
        _APOSTROPHES_APART[0],
        (re.compile(rf"([^{LETTERS}])'([{LETTERS}])"), r"\1 ' \2"),
        _APOSTROPHES_APART[2],
        (re.compile(rf"([{LETTERS}])'([{LETTERS}])"), r"\1' \2"),
    ],
}

_ANY_APOSTROPHE = [(re.compile("'"), " ' ")]

_LETTER = re.compile(f"[{LETTERS}]")

_UNICODE_SPACES = re.compile("[\u2000-\u200a\u202f\u205f\u3000\u00a0]")

_WORD = re.compile(f"[^{SEPARATORS}]+")


class Prefixes(NamedTuple):
    """Words whose full stop is a part of them: anywhere, or before a number only."""

    ordinary: Collection[str]
    numeric: Collection[str]


def meteor15_words(text: str, prefixes: Prefixes, language: str = "en") -> list[str]:
    """Split a text into the words that METEOR 1.5 compares, lower-case, with punctuation.

    >>> meteor15_words("A man's well-known dog, No. 5.", Prefixes((), ("No",)))
    ['a', 'man', "'s", 'well', 'known', 'dog', ',', 'no.', '5', '.']
    >>> meteor15_words("L'eau d'Yves", Prefixes((), ()), "fr")
    ["l'", 'eau', "d'", 'yves']
    """
    if language == "en" and text.isascii() and text.replace(" ", "").isalnum() and SEVERAL not in text:
        return text.lower().split()  # nothing below would change it
    text = _apart(f" {text.strip(TRIMMED)} ", language)
    text = " ".join(_full_stops_apart(_WORD.findall(text), prefixes))
    while MORE in text:
        text = text.replace(MORE, f"{SEVERAL}.")
    return _WORD.findall(_UNICODE_SPACES.sub(" ", text.replace(SEVERAL, ".")).strip(TRIMMED).lower())


def _apart(text: str, language: str) -> str:
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
        for apostrophe, apart in _APOSTROPHES.get(language, _ANY_APOSTROPHE):
            text = apostrophe.sub(apart, text)
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


def java_hash(word: str) -> int:
    r"""Return Java's `hashCode` of a string, from 0: METEOR 1.5 takes words with equal ones for equal.

    >>> java_hash("20s") == java_hash("225"), java_hash("\ud83d")  # half a smile
    (True, 55357)
    """
    data = word.encode("utf-16-le", "surrogatepass")
    value = 0
    for unit in struct.unpack(f"<{len(data) // 2}H", data):
        value = 31 * value + unit & 0xFFFFFFFF
    return value


class Language(NamedTuple):
    """Parameters of a language for the task "rank" (Denkowski and Lavie 2014, table 1)."""

    # Of the files with function words and abbreviations in the program, and of the table of paraphrases beside it.
    name: str
    table: str
    alpha: float
    beta: float
    gamma: float
    delta: float
    # Of exact, stem, synonym and paraphrase matches; 0 where a language has none of a kind.
    weights: tuple[float, float, float, float]


LANGUAGES = {
    "en": Language("english", "en", 0.85, 0.2, 0.6, 0.75, (1.0, 0.6, 0.8, 0.6)),
    "de": Language("german", "de", 0.95, 1.0, 0.55, 0.55, (1.0, 0.8, 0.0, 0.2)),
    "fr": Language("french", "fr", 0.90, 1.4, 0.60, 0.65, (1.0, 0.2, 0.0, 0.4)),
    "es": Language("spanish", "es", 0.65, 1.3, 0.50, 0.80, (1.0, 0.8, 0.0, 0.6)),
    "cs": Language("czech", "cz", 0.95, 0.2, 0.60, 0.80, (1.0, 0.0, 0.0, 0.4)),
    "ru": Language("russian", "ru", 0.75, 1.4, 0.70, 0.50, (1.0, 0.5, 0.0, 0.5)),
}

ENGLISH = LANGUAGES["en"]

# Whose function words count: the program, called with a language alone, takes the English ones for every language.
FUNCTION_WORDS = ("english", "language")
