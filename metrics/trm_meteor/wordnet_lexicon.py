"""Porter stems and WordNet 3.0 synonyms, each word form looked up once."""

import threading
import warnings

import nltk
from nltk.corpus.reader.wordnet import WordNetCorpusReader
from nltk.stem.porter import PorterStemmer

# Longest word, in characters, that is stemmed and looked up: NLTK's stemmer is quadratic in a word's length and
# recursive in runs of "y", and no English word is near this long. A longer one is its own stem, without synonyms.
MAX_WORD_LENGTH = 100

# The release that the published METEOR numbers of NLTK rest on.
WORDNET_VERSION = "3.0"

# What to do on a machine without WordNet; the error lists all of it.
HOW_TO_GET_WORDNET = (
    "Either (1) put NLTK's 'wordnet' corpus into a folder that NLTK searches (variable NLTK_DATA); or (2) with "
    "internet, run `python -m nltk.downloader wordnet`; or (3) on Debian or Ubuntu, run "
    "`apt-get install wordnet-base wordnet-sense-index` and then `manycaps install-wordnet` of the package manycaps."
)


class WordNetLexicon:
    """Stems and synonyms as NLTK's METEOR uses them, remembered for every word form asked for.

    The memory grows with the number of distinct word forms, about 1 kB each. Safe to share between threads.
    """

    def __init__(self) -> None:
        self._stemmer = PorterStemmer()
        self._wordnet = _open_corpus(_corpus_root())
        self._stems: dict[str, str] = {}
        self._synonyms: dict[str, frozenset[str]] = {}
        # NLTK's reader moves the positions of files that it keeps open.
        self._reading = threading.Lock()

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
        found = self._synonyms.get(stem)
        if found is None:
            found = self._look_up(stem) if len(stem) <= MAX_WORD_LENGTH else frozenset()
            self._synonyms[stem] = found
        return found

    def _look_up(self, stem: str) -> frozenset[str]:
        with self._reading:
            names = {name for synset in self._wordnet.synsets(stem) for name in synset.lemma_names()}
        return frozenset(name for name in names if "_" not in name)


class _EnglishWordNet(WordNetCorpusReader):  # type: ignore[misc]  # NLTK has no types
    """WordNet without the tables for other languages, which take most of NLTK's loading time."""

    def map_wn(self, version: str = "wordnet") -> None:
        """Map no synsets from other WordNet releases: only wordnets of other languages need it."""


# The lexicon of each place where the corpus was found: opening one takes more than a second.
_OPENED: dict[str, WordNetLexicon] = {}


def wordnet_lexicon() -> WordNetLexicon:
    """Return the lexicon of this process, opened when it is asked for first.

    Raises:
        LookupError: WordNet 3.0 is not installed; the message names the ways to get it.
    """
    place = str(_corpus_root())
    if place not in _OPENED:
        _OPENED[place] = WordNetLexicon()
    return _OPENED[place]


def _corpus_root() -> nltk.data.PathPointer:
    """The place of the corpus in NLTK's data path, downloaded if need be; LookupError names the ways to get it."""
    try:
        return _find_corpus()
    except LookupError:
        nltk.download("wordnet", quiet=True, raise_on_error=False)
    try:
        return _find_corpus()
    except LookupError:
        message = f"METEOR needs WordNet {WORDNET_VERSION}, got no such corpus from NLTK. {HOW_TO_GET_WORDNET}"
        raise LookupError(message) from None


def _open_corpus(root: nltk.data.PathPointer) -> WordNetCorpusReader:
    """Open the corpus, if it is of the release that the scores rest on."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The multilingual functions are not available")
        reader = _EnglishWordNet(root, None)
    if reader.get_version() != WORDNET_VERSION:
        raise LookupError(
            f"METEOR needs WordNet {WORDNET_VERSION}, got {reader.get_version()} in {root}. {HOW_TO_GET_WORDNET}"
        )
    return reader


def _find_corpus() -> nltk.data.PathPointer:
    """The unpacked corpus, or the archive that `nltk.download` leaves."""
    try:
        return nltk.data.find("corpora/wordnet")
    except LookupError:
        return nltk.data.find("corpora/wordnet.zip/wordnet/")
