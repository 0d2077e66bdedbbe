"""Porter stems and WordNet 3.0 synonyms, cached by word form."""

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # it imports scikit-learn, where that is installed: half a second
    import nltk

# Longest word, in characters, that is stemmed and looked up: NLTK's stemmer is quadratic in a word's length and
# recursive in runs of "y", and no English word comes close. A longer one is its own stem, without synonyms.
MAX_WORD_LENGTH = 100

# The release that the published METEOR numbers of NLTK rest on.
WORDNET_VERSION = "3.0"

# Advice for a machine without WordNet, in the error.
HOW_TO_GET_WORDNET = (
    "Either (1) put NLTK's 'wordnet' corpus into a folder that NLTK searches (variable NLTK_DATA); or (2) with "
    "internet, run `python -m nltk.downloader wordnet`; or (3) on Debian or Ubuntu, run "
    "`apt-get install wordnet-base wordnet-sense-index` and then `manycaps install-wordnet` of the package manycaps."
)

# Endings of a word form and what stands in their place in a base form, by part of speech (WordNet, morphy(7WN)).
ENDINGS = {
    "noun": (
        ("s", ""),
        ("ses", "s"),
        ("ves", "f"),
        ("xes", "x"),
        ("zes", "z"),
        ("ches", "ch"),
        ("shes", "sh"),
        ("men", "man"),
        ("ies", "y"),
    ),
    "verb": (("s", ""), ("ies", "y"), ("es", "e"), ("es", ""), ("ed", "e"), ("ed", ""), ("ing", "e"), ("ing", "")),
    "adj": (("er", ""), ("est", ""), ("er", "e"), ("est", "e")),
    "adv": (),
}

# What may stand behind an adjective: whether it is predicative, attributive or comes after the noun.
MARKER = re.compile(r"\([^()]*\)$")


class WordNetLexicon:
    """Stems and synonyms as NLTK's METEOR uses them, cached by word form.

    The memory grows with the number of distinct word forms, about 1 kB each. Safe to share between threads.
    """

    def __init__(self) -> None:
        from nltk.stem.porter import PorterStemmer

        self._stemmer = PorterStemmer()
        self._wordnet = _open_corpus(_corpus_root())
        self._stems: dict[str, str] = {}
        self._synonyms: dict[str, frozenset[str]] = {}

    def stem(self, word: str) -> str:
        """Return the Porter stem (NLTK's extended algorithm) of a lower-case word.

        Args:
            word: any string; longer than `MAX_WORD_LENGTH`, it is returned as it is.

        Returns:
            The stem.
        """
        stem = self._stems.get(word)
        if stem is None:
            stem = self._stemmer.stem(word) if len(word) <= MAX_WORD_LENGTH else word
            self._stems[word] = stem
        return stem

    def synonyms(self, stem: str) -> frozenset[str]:
        """Return the one-word lemmas of all synsets that WordNet finds for `stem`.

        NLTK's METEOR looks up words that the stem stage has left over, so already stemmed ones: "couch" finds "sofa",
        while "movi" finds nothing and "movie" never meets "film".

        Args:
            stem: any string.

        Returns:
            Lemmas as WordNet writes them, without those of several words.
        """
        words = self._synonyms.get(stem)
        if words is None:
            words = self._look_up(stem) if len(stem) <= MAX_WORD_LENGTH else frozenset()
            self._synonyms[stem] = words
        return words

    def _look_up(self, stem: str) -> frozenset[str]:
        return frozenset(name for part in self._wordnet for name in part.lemma_names(stem.lower()) if "_" not in name)


class _PartOfSpeech:
    """WordNet's files of one part of speech, read as NLTK's `synsets` does, which takes seconds to open all of them."""

    def __init__(self, root: "nltk.data.PathPointer", name: str) -> None:
        self.endings = ENDINGS[name]
        self.data = _content(root, f"data.{name}")
        lines = _content(root, f"index.{name}").decode().splitlines()
        # What the index says of each lemma; the lines of the licence begin with a blank.
        self.index = dict(line.split(" ", 1) for line in lines if not line.startswith(" "))
        lists = (line.split() for line in _content(root, f"{name}.exc").decode().splitlines())
        self.exceptions = {form: bases for form, *bases in lists}

    def lemma_names(self, form: str) -> list[str]:
        """Return the lemmas of all synsets of a word form."""
        return [name for base in self._bases(form) for offset in self._offsets(base) for name in self._names(offset)]

    def _bases(self, form: str) -> list[str]:
        """The form and its base forms, as far as WordNet has them."""
        bases = self.exceptions.get(form)
        if bases is None:
            bases = [form[: -len(old)] + new for old, new in self.endings if form.endswith(old)]
        return [base for base in dict.fromkeys([form, *bases]) if base in self.index]

    def _offsets(self, lemma: str) -> list[int]:
        """Where the synsets of a lemma begin: the last fields of its line, whose second says how many."""
        fields = self.index[lemma].split()
        return [int(offset) for offset in fields[-int(fields[1]) :]]

    def _names(self, offset: int) -> list[str]:
        """The lemmas of a synset: after four fields, whose last is their number in hexadecimal, every second one."""
        fields = self.data[offset : self.data.index(b"|", offset)].decode().split()
        return [MARKER.sub("", name) for name in fields[4 : 4 + 2 * int(fields[3], 16) : 2]]


# The lexicon by path of the corpus: opening one takes more than a second.
_OPENED: dict[str, WordNetLexicon] = {}


def wordnet_lexicon() -> WordNetLexicon:
    """Return the lexicon of this process, opened at the first use.

    Raises:
        LookupError: WordNet 3.0 is not installed; the message names the ways to get it.
    """
    root = str(_corpus_root())
    if root not in _OPENED:
        _OPENED[root] = WordNetLexicon()
    return _OPENED[root]


def _corpus_root() -> "nltk.data.PathPointer":
    """Path of the corpus in NLTK's data path, downloaded if needed; LookupError names the ways to get it."""
    import nltk

    try:
        return _find_corpus()
    except LookupError:
        nltk.download("wordnet", quiet=True, raise_on_error=False)
    try:
        return _find_corpus()
    except LookupError:
        message = f"METEOR needs WordNet {WORDNET_VERSION}, got no such corpus from NLTK. {HOW_TO_GET_WORDNET}"
        raise LookupError(message) from None


def _open_corpus(root: "nltk.data.PathPointer") -> list[_PartOfSpeech]:
    """Open the corpus, if it is of the release that the scores rest on."""
    parts = [_PartOfSpeech(root, name) for name in ENDINGS]
    version_line = re.search(rb"Word[nN]et (\S+) Copyright", parts[0].data)
    version = version_line.group(1).decode() if version_line else "another"
    if version != WORDNET_VERSION:
        raise LookupError(f"METEOR needs WordNet {WORDNET_VERSION}, got {version} in {root}. {HOW_TO_GET_WORDNET}")
    return parts


def _content(root: "nltk.data.PathPointer", name: str) -> bytes:
    """The content of a file of the corpus, unpacked or in an archive."""
    with root.join(name).open() as file:
        content: bytes = file.read()
    return content


def _find_corpus() -> "nltk.data.PathPointer":
    """The unpacked corpus, or the archive that `nltk.download` leaves."""
    import nltk

    try:
        return nltk.data.find("corpora/wordnet")
    except LookupError:
        return nltk.data.find("corpora/wordnet.zip/wordnet/")
