"""Words, synonyms and paraphrases of some texts as arrays, precomputed for METEOR 1.5."""

import itertools
from collections.abc import Container, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .arrays import Ints
from .meteor15_stems import load_stemmer
from .meteor15_words import ENGLISH, Language, Prefixes, java_hash, meteor15_words
from .ngrams import WordNumbers, number_words

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
