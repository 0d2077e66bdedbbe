"""The words that METEOR 1.5 compares, in its five languages: as it splits them, their stems, and how they are related.

Denkowski and Lavie (2014), https://aclanthology.org/W14-3348. The steps of its option -norm are the Java program's, in
its order, with its notion of a letter. Stemmers are Snowball's as they were in 2006, whatever release of a stemming
library is installed: the nearest one that is maintained does the work, and what it does otherwise is made good here,
NLTK's for English and German, the package snowballstemmer for Spanish and Russian. French has changed in more than a
few rules, so its algorithm is written out (https://snowballstem.org/algorithms/french/stemmer.html, as it was before
2007). Measured over 300,000 to 700,000 words of each language against the Java program's own stemmers: no stem differs.
Words, synonyms and paraphrases of some texts are arrays, made before any alignment is searched.
"""

import functools
import importlib
import importlib.metadata
import itertools
import re
import struct
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .arrays import Ints
from .errors import check_installed
from .ngrams import WordNumbers, number_words

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


# A character that no alphabet holds stands for one that a newer rule must not see.
HIDDEN = "\ue000"

# NLTK turns these into apostrophes, which the program's stemmer does not know; they pass as private characters.
_HIDDEN_QUOTES = str.maketrans("‘’‛", "\ue000\ue001\ue002")

_SHOWN_QUOTES = str.maketrans("\ue000\ue001\ue002", "‘’‛")

# Suffixes whose replacement NLTK loses from the region in which a final "e" goes (NLTK 3.9 to 3.10, EnglishStemmer,
# steps 2 and 3: `r2 = ""`), by the ending of the stem.
_LOST_ENDINGS = {"ize": ("izer", "ization"), "ate": ("ational",)}


@functools.cache
def _nltk_stemmer(language: str) -> Any:
    """Return NLTK's stemmer, imported when it is needed: NLTK is an optional package."""
    from nltk.stem.snowball import SnowballStemmer

    return SnowballStemmer(language)


def english_stem(word: str) -> str:
    """Return the stem of a lower-case English word: Porter2 as it was in 2006.

    >>> english_stem("running"), english_stem("added"), english_stem("ionization")
    ('run', 'ad', 'ioniz')
    """
    stem = _nltk_stemmer("english").stem(word.translate(_HIDDEN_QUOTES)).translate(_SHOWN_QUOTES)
    suffixes = _LOST_ENDINGS.get(stem[-3:], ())
    return stem[:-1] if any(suffix in word for suffix in suffixes) else stem


def load_stemmer(language: str) -> Callable[[str], str]:
    """Return the function from a lower-case word of a language to its stem.

    >>> load_stemmer("de")("verhältnisse"), load_stemmer("fr")("joueuses"), load_stemmer("cs")("psi")
    ('verhaltniss', 'joueux', 'psi')
    """
    if language == "en":
        return english_stem
    if language == "de":
        german = _nltk_stemmer("german")
        # Newer: "niss" loses an s before a suffix.
        return lambda word: german.stem(word.replace("niss", f"ni{HIDDEN}s")).replace(HIDDEN, "s")
    if language == "fr":
        return french_stem
    if language == "es":
        spanish = _snowball("spanish")
        # Newer: "acion" and "ucion" are suffixes without an accent, too.
        return lambda word: spanish(re.sub("(?<=[au]cio)n$", HIDDEN, word)).replace(HIDDEN, "n")
    if language == "ru":
        russian = _snowball("russian")
        # Newer: the letter is read as the one without dots.
        return lambda word: russian(word.replace("ё", HIDDEN)).replace(HIDDEN, "ё")
    return str


def stemmer_version(language: str) -> str | None:
    """Return the library that stems the words of a language, with its version, for a signature; None for none."""
    library = {"en": "nltk", "de": "nltk", "es": "snowballstemmer", "ru": "snowballstemmer"}.get(language)
    return f"{library}-{importlib.metadata.version(library)}" if library else None


def _snowball(name: str) -> Callable[[str], str]:
    check_installed(["snowballstemmer"], f"{name.capitalize()} stems", "Run `pip install 'snowballstemmer>=3.0.1'`.")
    library: Any = importlib.import_module("snowballstemmer")
    stem_word: Callable[[str], str] = library.stemmer(name).stemWord
    return stem_word


# ---- French ----
_VOWELS = "aeiouyâàëéêèïîôûù"

_FIRST_VOWELS = re.compile(f"[{_VOWELS}]{{2}}.|par|col|tap|.[^{_VOWELS}]*[{_VOWELS}]", re.DOTALL)

_VOWELS_THEN_OTHER = re.compile(f"[^{_VOWELS}]*[{_VOWELS}]+[^{_VOWELS}]")

_ACCENT = re.compile(f"[éè]([^{_VOWELS}]+)$")

# Suffixes of the first step, by what happens to them.
_DELETED = "ance iqUe isme able iste eux ances iqUes ismes ables istes".split()

_ATION = "atrice ateur ation atrices ateurs ations".split()

_REPLACED = {
    **dict.fromkeys(("logie", "logies"), "log"),
    **dict.fromkeys(("usion", "ution", "usions", "utions"), "u"),
    **dict.fromkeys(("ence", "ences"), "ent"),
}

_EMENT, _ITE, _IVE = ("ement", "ements"), ("ité", "ités"), ("if", "ive", "ifs", "ives")

_EUSE, _ISSEMENT, _MENT = ("euse", "euses"), ("issement", "issements"), ("ment", "ments")

_ADVERBS = {"amment": "ant", "emment": "ent"}

_STANDARD = (
    *(*_DELETED, *_ATION, *_REPLACED, *_EMENT, *_ITE, *_IVE, *_EUSE, *_ISSEMENT, *_MENT, *_ADVERBS),
    *("eaux", "aux"),
)

_I_VERB = (
    "îmes ît îtes i ie ies ir ira irai iraIent irais irait iras irent irez iriez irions irons iront is issaIent issais "
    "issait issant issante issantes issants isse issent isses issez issiez issions issons it"
).split()

_E_VERB = ("é ée ées és èrent er era erai eraIent erais erait eras erez eriez erions erons eront ez iez").split()

_A_VERB = "âmes ât âtes a ai aIent ais ait ant ante antes ants as asse assent asses assiez assions".split()


def french_stem(word: str) -> str:
    """Return the stem of a lower-case French word.

    >>> [french_stem(word) for word in "continuellement majestueuse yeux françaises".split()]
    ['continuel', 'majestu', 'yeux', 'français']
    """
    word = _with_consonants(word)
    start = _FIRST_VOWELS.match(word)
    verb_region = start.end() if start else len(word)
    first = _VOWELS_THEN_OTHER.match(word)
    second = _VOWELS_THEN_OTHER.match(word, first.end()) if first else None
    regions = first.end() if first else len(word), second.end() if second else len(word)
    stem, is_found = _without_standard_suffix(word, verb_region, *regions)
    if not is_found:
        stem, is_found = _without_verb_suffix(stem, verb_region, regions[1])
    if is_found:
        stem = re.sub("ç$", "c", re.sub("Y$", "i", stem))
    else:
        stem = _without_residual_suffix(stem, verb_region, regions[1])
    if stem.endswith(("enn", "onn", "ett", "ell", "eill")):
        stem = stem[:-1]
    return _ACCENT.sub(r"e\1", stem).replace("I", "i").replace("U", "u").replace("Y", "y")


def _with_consonants(word: str) -> str:
    """Make capitals of letters that count as consonants: u and i between vowels, y beside a vowel, u behind q."""
    letters = [*word, " "]
    for i, letter in enumerate(word[:-1]):
        following = letters[i + 1]
        if letters[i] in _VOWELS and (following == "y" or (following in "ui" and letters[i + 2] in _VOWELS)):
            letters[i + 1] = following.upper()
        elif letters[i] == "y" and following in _VOWELS:
            letters[i] = "Y"
        elif letter == "q" and following == "u":
            letters[i + 1] = "U"
    return "".join(letters[:-1])


def _longest(word: str, suffixes: Iterable[str], begin: int = 0) -> str:
    """The longest suffix of a word among some that begin at `begin` or later; empty for none."""
    return max((suffix for suffix in suffixes if word.endswith(suffix, begin)), key=len, default="")


def _less(word: str, ending: str, region: int) -> str:
    """The word without an ending that lies in a region."""
    is_there = word.endswith(ending) and len(word) - len(ending) >= region
    return word.removesuffix(ending) if is_there else word


def _less_or(word: str, ending: str, region: int, instead: str) -> str:
    """The same; where the ending begins before the region, it is replaced."""
    shorter = _less(word, ending, region)
    return word[: -len(ending)] + instead if shorter == word and word.endswith(ending) else shorter


def _without_standard_suffix(word: str, rv: int, r1: int, r2: int) -> tuple[str, bool]:
    """Step 1: the word without its suffix, and whether the steps for verbs are left out."""
    suffix = _longest(word, _STANDARD)
    stem = word.removesuffix(suffix)
    suffix_start = len(stem)
    if suffix in _ADVERBS:
        return (stem + _ADVERBS[suffix], False) if suffix_start >= rv else (word, False)
    if suffix in _MENT:
        return (stem, False) if suffix_start > rv and stem[-1] in _VOWELS else (word, False)
    if suffix == "eaux":
        return word[:-1], True
    if suffix == "aux":
        return (stem + "al", True) if suffix_start >= r1 else (word, False)
    if suffix in _EUSE and r1 <= suffix_start < r2:
        return stem + "eux", True
    if suffix in _ISSEMENT:
        is_removed = suffix_start >= r1 and stem[-1:] not in _VOWELS
        return (stem, True) if is_removed else (word, False)
    if not suffix or suffix_start < (rv if suffix in _EMENT else r2):
        return word, False
    return _without_inner_suffix(stem, suffix, rv, r1, r2), True


def _without_inner_suffix(stem: str, suffix: str, rv: int, r1: int, r2: int) -> str:
    """What is left of a word in front of a suffix that was removed, without the suffix before it."""
    if suffix in _REPLACED:
        return stem + _REPLACED[suffix]
    if suffix in _ATION:
        return _less_or(stem, "ic", r2, "iqU")
    if suffix in _IVE:
        shorter = _less(stem, "at", r2)
        return shorter if shorter == stem else _less_or(shorter, "ic", r2, "iqU")
    if suffix in _ITE:
        inner = _longest(stem, ("abil", "ic", "iv"))
        return (
            _less(stem, "iv", r2)
            if inner in ("iv", "")
            else _less_or(stem, inner, r2, "abl" if inner == "abil" else "iqU")
        )
    if suffix not in _EMENT:
        return stem
    if stem.endswith("iv"):
        shorter = _less(stem, "iv", r2)
        return shorter if shorter == stem else _less(shorter, "at", r2)
    if stem.endswith("eus"):
        return stem[:-1] + "x" if r1 <= len(stem) - 3 < r2 else _less(stem, "eus", r2)
    for ending in ("ièr", "Ièr"):
        if stem.endswith(ending) and len(stem) - 3 >= rv:
            return stem[:-3] + "i"
    return _less(_less(stem, "abl", r2), "iqU", r2)


def _without_verb_suffix(word: str, rv: int, r2: int) -> tuple[str, bool]:
    """Step 2: the word without the suffix of a verb, and whether it had one."""
    suffix = _longest(word, _I_VERB, rv)
    suffix_start = len(word) - len(suffix)
    if suffix and suffix_start > rv and word[suffix_start - 1] not in _VOWELS:
        return word[:suffix_start], True
    suffix = _longest(word, ("ions", *_E_VERB, *_A_VERB), rv)
    suffix_start = len(word) - len(suffix)
    if not suffix or (suffix == "ions" and suffix_start < r2):
        return word, False
    return _less(word[:suffix_start], "e", rv) if suffix in _A_VERB else word[:suffix_start], True


def _without_residual_suffix(word: str, rv: int, r2: int) -> str:
    """Step 4, for words that kept all of their letters."""
    if len(word) > 1 and word[-1] == "s" and word[-2] not in "aiouès":
        word = word[:-1]
    suffix = _longest(word, ("ion", "ier", "ière", "Ier", "Ière", "e", "ë"), rv)
    stem = word.removesuffix(suffix)
    if suffix == "ion":
        return stem if len(stem) >= r2 and len(stem) > rv and stem[-1] in "st" else word
    if suffix == "ë":
        return stem if stem.endswith("gu", rv) else word
    return stem + "i" * (len(suffix) > 1)


# How a reference's unit and a hypothesis's unit may match: bits of a relation, in the order of the search.
EXACT, STEM, SYNONYM, OF_REFERENCE, OF_HYPOTHESIS = 1, 2, 4, 8, 16

# From the ending of an inflected form to its base form's, in the order in which METEOR 1.5 tries them (rules of
# WordNet's Morphy, https://wordnet.princeton.edu/documentation/morphy7wn, nouns, verbs and adjectives).
ENDINGS = [
    *(("s", ""), ("ses", "s"), ("xes", "x"), ("zes", "z"), ("ches", "ch"), ("shes", "sh"), ("men", "man")),
    *(("ies", "y"), ("s", ""), ("ies", "y"), ("es", "e"), ("es", ""), ("ed", "e"), ("ed", ""), ("ing", "e")),
    *(("ing", ""), ("er", ""), ("est", ""), ("er", "e"), ("est", "e")),
]

# Bits of a word's number in the key of a phrase.
WORD_BITS = 32


class PhraseTable(NamedTuple):
    """Paraphrases of phrases, which are the nodes of a tree of words; node 0 is the empty phrase."""

    # Number of each word that occurs in a phrase.
    words: Mapping[str, int]
    # Sorted int64: node of the phrase without its last word, and that word, for nodes 1, 2, ...
    keys: Ints
    # Where the paraphrases of each node begin in `targets`; one more at the end.
    first_target: npt.NDArray[np.int32]
    # Nodes, in rank order.
    targets: npt.NDArray[np.int32]


class Meteor15Data(NamedTuple):
    """All data of a language."""

    function_words: frozenset[str]
    prefixes: Prefixes
    # From a word to the numbers of its synsets, separated by spaces.
    synsets: Mapping[str, str]
    # From an inflected form to its base forms.
    base_forms: Mapping[str, list[str]]
    paraphrases: PhraseTable
    # First digits of the hash of the table of paraphrases, for signatures; empty without one.
    version: str
    # Its code, and its parameters.
    code: str = "en"
    language: Language = ENGLISH


class EncodedTexts(NamedTuple):
    """Some texts as arrays. A unit is a distinct word, or a phrase with a paraphrase among the texts."""

    # Where the words of each text begin among all words; one more at the end.
    first_word: Ints
    # Number of function words before each word, and before the end.
    n_function: Ints
    # Number of each text among those with other words: equal for texts of equal hashes.
    content: Ints
    # Where the units of each text begin among all units; one more at the end.
    first_unit: Ints
    # For each unit of each text its number, its first word in the text, and its length in words.
    unit: Ints
    start: Ints
    length: Ints
    # uint8 array (n_units, n_units): [r, h] has the bits of the ways in which unit r of a reference matches unit h of a
    # hypothesis.
    relation: npt.NDArray[np.uint8]
    # Sorted source unit * n_units + target unit of every paraphrase among the units, and its rank among the source's.
    paraphrase_keys: Ints
    paraphrase_ranks: Ints


class WordForm(NamedTuple):
    """Properties of a word form by itself."""

    hash: int
    stem_hash: int
    is_function: bool
    synsets: tuple[int, ...]
    # Number in the table of paraphrases, or -1.
    phrase_word: int


class Meteor15Lexicon:
    """Properties of words, cached by form: about 0.5 kB each."""

    def __init__(self, data: Meteor15Data) -> None:
        self.data = data
        self._stem = load_stemmer(data.code)
        self._forms: dict[str, WordForm] = {}

    def words(self, text: str) -> list[str]:
        """Split a text into the words that are compared."""
        return meteor15_words(text, self.data.prefixes, self.data.code)

    def form(self, word: str) -> WordForm:
        """Return what is known about a word."""
        form = self._forms.get(word)
        if form is None:
            form = self._forms[word] = WordForm(
                java_hash(word),
                java_hash(self._stem(word)),
                word in self.data.function_words,
                self._synsets(word),
                self.data.paraphrases.words.get(word, -1),
            )
        return form

    def _synsets(self, word: str) -> tuple[int, ...]:
        """Synsets of a word, and of its base forms."""
        synsets, bases = self.data.synsets, self.data.base_forms.get(word)
        words = {word, *([base_form(word, synsets)] if bases is None else bases)}
        return tuple({int(number) for form in words for number in synsets.get(form, "").split()})


def base_form(word: str, known: Container[str]) -> str:
    """Return the base form of a regular inflected form: the first result of a rule that is known, else the word.

    >>> base_form("dogs", {"dog"}), base_form("grass", {"gras"}), base_form("making", {"make"})
    ('dog', 'grass', 'make')
    """
    if len(word) <= 2 or word.endswith("ss"):
        return word
    results = (word.removesuffix(ending) + base for ending, base in ENDINGS if word.endswith(ending))
    return next((result for result in results if result in known), word)


def encode(texts: Sequence[Sequence[str]], lexicon: Meteor15Lexicon) -> EncodedTexts:
    """Turn the words of some texts into arrays; the largest grows with the square of the number of distinct words."""
    numbers = WordNumbers()
    flat = number_words(list(itertools.chain.from_iterable(texts)), numbers)
    first_word = np.cumsum([0, *map(len, texts)])
    forms = [lexicon.form(word) for word in numbers]
    hashes = np.array([form.hash for form in forms], np.int64)
    is_function = np.array([form.is_function for form in forms], np.int64)
    nodes, places, lengths = _phrases(first_word, flat, forms, lexicon.data.paraphrases)
    sources, targets, ranks, unit_of = _paraphrases(nodes, lengths, flat, places, len(forms), lexicon.data.paraphrases)

    # Every word is a unit, and so is every longer phrase that has a paraphrase here.
    kept = (lengths > 1) & (unit_of[nodes] >= 0)
    position = np.append(np.arange(len(flat)), places[kept])
    unit = np.append(flat, unit_of[nodes[kept]])
    length = np.append(np.ones(len(flat), np.int64), lengths[kept])
    text = np.searchsorted(first_word, position, side="right") - 1
    by_text = np.argsort(text, kind="stable")
    n_units = max(len(forms), int(unit_of.max(initial=-1)) + 1)
    relation = _word_relations(forms, hashes, n_units)
    relation[sources, targets] |= OF_REFERENCE
    relation[targets, sources] |= OF_HYPOTHESIS
    keys = sources * n_units + targets
    by_key = np.argsort(keys)
    return EncodedTexts(
        first_word,
        np.append(0, np.cumsum(is_function[flat])) if len(flat) else np.zeros(1, np.int64),
        _content(hashes[flat] if len(flat) else flat, first_word),
        np.append(0, np.cumsum(np.bincount(text, minlength=len(texts)))),
        unit[by_text],
        (position - first_word[text])[by_text],
        length[by_text],
        relation,
        keys[by_key],
        ranks[by_key],
    )


def _content(hashes: Ints, first_word: Ints) -> Ints:
    """Number the texts so that equal hashes have one number."""
    numbers: dict[bytes, int] = {}
    contents = (hashes[begin:end].tobytes() for begin, end in itertools.pairwise(first_word))
    return np.array([numbers.setdefault(content, len(numbers)) for content in contents], np.int64)


def _word_relations(forms: Sequence[WordForm], hashes: Ints, n_units: int) -> npt.NDArray[np.uint8]:
    """Relations of words: equal, of equal stems, of a common synset."""
    relation = np.zeros((n_units, n_units), np.uint8)
    word = np.arange(len(forms))
    relation[_pairs_of_equal(word, hashes)] = EXACT
    n_synsets = np.array([len(form.synsets) for form in forms], np.int64)
    synsets = np.array([number for form in forms for number in form.synsets], np.int64)
    stems = np.array([form.stem_hash for form in forms], np.int64)
    for bit, words, labels in ((STEM, word, stems), (SYNONYM, np.repeat(word, n_synsets), synsets)):
        left, right = _pairs_of_equal(words, labels)
        different = hashes[left] != hashes[right]
        relation[left[different], right[different]] |= bit
    return relation


def _pairs_of_equal(items: Ints, labels: Ints) -> tuple[Ints, Ints]:
    """All ordered pairs of items with equal labels, each with itself too."""
    order = np.argsort(labels, kind="stable")
    if not len(order):
        return order, order
    ordered = labels[order]
    first = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    size = np.diff(first, append=len(order))
    n_partners = np.repeat(size, size)
    left = np.repeat(order, n_partners)
    within = np.arange(len(left)) - np.repeat(np.cumsum(n_partners) - n_partners, n_partners)
    right = order[np.repeat(np.repeat(first, size), n_partners) + within]
    return items[left], items[right]


def _phrases(first_word: Ints, flat: Ints, forms: Sequence[WordForm], table: PhraseTable) -> tuple[Ints, Ints, Ints]:
    """All beginnings of phrases of the table in the texts: nodes, indices of their first words, and lengths."""
    number = np.array([form.phrase_word for form in forms], np.int64)[flat] if len(flat) else flat
    end = np.repeat(first_word[1:], np.diff(first_word))
    position, node = np.arange(len(flat)), np.zeros(len(flat), np.int64)
    phrases: list[tuple[Ints, Ints, Ints]] = []
    length = 0
    while len(position):
        inside = position + length < end[position]
        position, node = position[inside], node[inside]
        word = number[position + length]
        position, node, word = position[word >= 0], node[word >= 0], word[word >= 0]
        keys, key_of = np.unique(node << WORD_BITS | word, return_inverse=True)
        at = np.minimum(np.searchsorted(table.keys, keys), len(table.keys) - 1)
        node_of_key = np.where(table.keys[at] == keys, at + 1, 0)
        node = node_of_key[key_of]
        position, node = position[node > 0], node[node > 0]
        length += 1
        phrases.append((node, position, np.full(len(position), length)))
    if not phrases:
        return flat, flat, flat
    nodes, places, lengths = map(np.concatenate, zip(*phrases, strict=True))
    return nodes, places, lengths


def _paraphrases(
    nodes: Ints, lengths: Ints, flat: Ints, places: Ints, n_words: int, table: PhraseTable
) -> tuple[Ints, Ints, Ints, npt.NDArray[np.int64]]:
    """Paraphrases among the nodes: source units, target units, ranks; and the unit of each node, -1 for none."""
    own = np.unique(nodes)
    first = table.first_target[own].astype(np.int64)
    n_targets = table.first_target[own + 1] - first
    source = np.repeat(own, n_targets)
    rank = np.arange(len(source)) - np.repeat(np.cumsum(n_targets) - n_targets, n_targets)
    target = table.targets[np.repeat(first, n_targets) + rank].astype(np.int64)
    at = np.minimum(np.searchsorted(own, target), max(len(own) - 1, 0))
    here = own[at] == target if len(own) else np.zeros(0, bool)
    source, target, rank = source[here], target[here], rank[here]
    unit_of = np.full(int(own.max(initial=0)) + 1, -1)
    single = lengths == 1
    is_phrase = np.zeros(len(unit_of), bool)
    is_phrase[source] = is_phrase[target] = True
    unit_of[nodes[single]] = flat[places[single]]
    longer = np.flatnonzero(is_phrase & (unit_of < 0))
    unit_of[longer] = n_words + np.arange(len(longer))
    return unit_of[source], unit_of[target], rank, unit_of
