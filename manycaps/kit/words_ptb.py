"""Tokens of the COCO caption code without Java: Stanford's Penn Treebank tokenizer, standard library only.

Reference: PTBTokenizer of Stanford CoreNLP 3.4.1 called with `-preserveLines -lowerCase`, as wrapped by
pycocoevalcap (https://github.com/salaniz/pycocoevalcap, `tokenizer/ptbtokenizer.py`). The rules below describe what
that program prints for a caption on a line of its own; they were measured, not taken from its source.

At each position of a caption every shape of `SHAPES` is tried and the longest match is the token; a character that
no shape takes is dropped. Almost every word gets the same tokens wherever it stands, so words are looked up in a
bounded memory and only new ones are scanned.

Known differences, none of them in Flickr8k, COCO or MSVD: Java dropped characters newer than Unicode 6 and reads a
blank inside "http:// x" or " .com" if it is a no-break space; `LONGEST_SHAPE`; "c'ests", "more'n's", "ol'dr",
an "o" before a curly quote and "RE"; "no." behind a sign at the end of a caption; "Miss.b.,".
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

from .arrays import as_list
from .errors import InputTypeError

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
