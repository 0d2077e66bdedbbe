"""Stemmers of METEOR 1.5: Snowball's as they were in 2006, whatever release of a stemming library is installed.

The nearest stemmer that is maintained does the work, and what it does otherwise is made good here: NLTK's for
English and German, the package snowballstemmer for Spanish and Russian. French has changed in more than a few
rules, so its algorithm is written out (https://snowballstem.org/algorithms/french/stemmer.html, as it was before
2007). Measured over 300,000 to 700,000 words of each language against the Java program's own stemmers: no stem
differs.
"""

import functools
import importlib
import importlib.metadata
import re
from collections.abc import Callable, Iterable
from typing import Any

from .errors import check_installed

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
