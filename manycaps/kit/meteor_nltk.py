"""METEOR as NLTK computes it, between all texts of many rows at once, with the stems and synonyms that it needs.

Banerjee and Lavie (2005), https://aclanthology.org/W05-0909, with the parameters and the matching order of NLTK's
`single_meteor_score`: exact words, then Porter stems, then WordNet synonyms, each time from the last hypothesis word to
the first, each taking the last free reference word that matches. This is not METEOR 1.5, the Java program behind the
METEOR column of captioning papers.
"""

import functools
import importlib.metadata
import re
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from .arrays import Floats, TokenRows
from .errors import InputLookupError, InputTypeError, quote_value
from .meteor15_data import load_lexicon
from .meteor15_scores import meteor15_scores
from .ngrams import WordNumbers, number_keys, number_words
from .rows import as_both_rows, as_token_rows
from .words_tokenizers import same_tokens

if TYPE_CHECKING:
    import nltk

# Weight of precision in the harmonic mean, exponent of the share of chunks in the fragmentation penalty, and
# the largest penalty (NLTK 3.8 to 3.10, meteor_score.py, defaults of `alpha`, `beta` and `gamma`).
ALPHA, BETA, GAMMA = 0.9, 3, 0.5

# Reference words in a machine word; longer texts use Python's whole numbers in the same code, which is slower.
MACHINE_WORD_BITS = 64

# Pairs of texts aligned at once: the working arrays (8 bytes a pair) stay in the processor's cache.
MAX_PAIRS = 8_192

# METEOR as NLTK computes it, which the paper's program uses, and as captioning papers have it.
METEORS = ("nltk", "1.5")

# From rows of tokens to the scores of all ordered pairs of texts of each.
PairScores = Callable[[Sequence[Sequence[Sequence[str]]]], list[np.ndarray]]

# Most scores that are remembered, 8 bytes each: 30,000 rows of 10 texts.
MAX_REMEMBERED = 3_000_000

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


@runtime_checkable
class Lexicon(Protocol):
    """Lexicon that alignment needs."""

    def stem(self, word: str) -> str:
        """Return the word's stem."""

    def synonyms(self, stem: str) -> frozenset[str]:
        """Return the words that share a synset with the stem."""


def meteor_scores(rows: Sequence[Sequence[Sequence[str]]], lexicon: Lexicon) -> list[np.ndarray]:
    """Score every text of a row as a hypothesis against every text of the row as its only reference.

    METEOR = (1 - gamma (chunks / matches)^beta) P R / (alpha P + (1 - alpha) R), P = matches / hypothesis length,
    R = matches / reference length; 0 without a match. The score against several references is the largest.

    Returns:
        For each row a float64 array, shape (n_texts, n_texts), 0 (no match) to below 1; [i, j] has text i as the
        reference and text j as the hypothesis.

    >>> class NoLexicon:
    ...     def stem(self, word):
    ...         return word.removesuffix("s")
    ...     def synonyms(self, stem):
    ...         return frozenset()
    >>> meteor_scores([[["a", "dog", "barks"], ["a", "dog", "bark"]]], NoLexicon())[0].round(4).tolist()
    [[0.9815, 0.9815], [0.9815, 0.9815]]
    """
    scores: list[np.ndarray] = [np.empty(0)] * len(rows)
    for dtype, chosen in _rows_by_width(rows):
        for i, matrix in zip(chosen, _batch_scores([rows[i] for i in chosen], lexicon, dtype), strict=True):
            scores[i] = matrix
    return scores


def distances_from_meteor(rows: Sequence[Sequence[Sequence[str]]], scores: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Turn METEOR scores into distances: d(x, y) = 1 - METEOR(reference x, hypothesis y).

    Texts with equal tokens, letter case ignored, have distance 0 by definition: METEOR of a text against itself is
    below 1 (its single chunk is penalised) and the triangle-rank statistic needs d(x, x) = 0.

    `rows` are token lists, and `scores`, float64 of shape (n_texts, n_texts) for each row, come from `meteor_scores`.
    The distances have that shape: 0 to 1, not symmetric.

    >>> distances_from_meteor([[["A"], ["a"], ["b"]]], [np.full((3, 3), 0.5)])[0].tolist()
    [[0.0, 0.0, 0.5], [0.0, 0.0, 0.5], [0.5, 0.5, 0.0]]
    """
    lowered = ([tuple(map(str.lower, tokens)) for tokens in row] for row in rows)
    return [np.where(same_tokens(row), 0.0, 1.0 - row_scores) for row, row_scores in zip(lowered, scores, strict=True)]


def multi_reference_meteor(scores: np.ndarray, n_candidates: int) -> np.ndarray:
    """Return the mean over the candidates of METEOR against all references, which is the best reference's.

    Chan et al. (2022), equation 1, https://arxiv.org/abs/2209.07518, with NLTK's `meteor_score`.

    `scores`, float64 of shape (n_rows, n_texts, n_texts), come from `meteor_scores`, candidates first. Shape (n_rows,),
    0 (worst) to below 1 (best).

    >>> multi_reference_meteor(np.array([[[0.9, 0.0, 0.0], [0.5, 0.9, 0.0], [0.7, 0.0, 0.9]]]), 1).tolist()
    [0.7]
    """
    return scores[:, n_candidates:, :n_candidates].max(axis=1).mean(axis=1)


class _Places:
    """Positions of the words of a row in each of its texts: a set of positions for each (text, word of the row).

    A set is one whole number: bit p is set for position p, counted from the end of the text. The sets of text x lie in
    a line with one slot for each distinct word of its row; a word's column c is its number among all (row, word) pairs.
    """

    def __init__(self, words: np.ndarray, text: np.ndarray, row_of_text: np.ndarray, bits: np.ndarray) -> None:
        """Collect the positions of `words` (n_words word numbers), which stand in `text` at the positions in `bits`."""
        self.n_distinct = int(words.max(initial=-1)) + 1
        # Sorted (row, word) pairs, and each word's column among them.
        self.pairs, self.column = number_keys(row_of_text[text] * self.n_distinct + words)
        self.row_of_column = self.pairs // max(self.n_distinct, 1)
        first_column = np.searchsorted(self.row_of_column, row_of_text)
        width = np.searchsorted(self.row_of_column, row_of_text, side="right") - first_column
        # Slot of (text x, column c) is slot[x] + c.
        self.slot = np.cumsum(width) - width - first_column
        self.sets = np.zeros(int(width.sum()), dtype=bits.dtype)
        # Of different positions the sum is the union, and is faster.
        np.add.at(self.sets, self.slot[text] + self.column, bits)

    def related_sets(self, related: Sequence[Sequence[int]], row_of_text: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the sets of the positions of all other words that `related` lists for a word, in the same slots.

        And which columns have any such word in their row: boolean, shape (n_columns,).
        """
        n_related = np.array([len(words) for words in related], dtype=np.int64)
        word_of_column = self.pairs - self.row_of_column * self.n_distinct
        column = np.repeat(np.arange(len(self.pairs)), n_related[word_of_column])
        other = np.array([word for c in word_of_column.tolist() for word in related[c]], dtype=np.int64)
        # Keep the related words that occur in the same row.
        wanted = self.row_of_column[column] * self.n_distinct + other
        other_column = np.minimum(np.searchsorted(self.pairs, wanted), len(self.pairs) - 1)
        present = (self.pairs[other_column] == wanted) & (other_column != column)
        column, other_column = column[present], other_column[present]
        has_related = np.zeros(len(self.pairs), bool)
        has_related[column] = True
        # Once for every text of the row.
        texts_by_row = np.searchsorted(row_of_text, np.arange(int(row_of_text[-1]) + 2))
        first, n_texts = texts_by_row[self.row_of_column[column]], np.diff(texts_by_row)[self.row_of_column[column]]
        text = np.repeat(first - np.cumsum(n_texts) + n_texts, n_texts) + np.arange(n_texts.sum())
        sets = np.zeros_like(self.sets)
        slot = self.slot[text]
        np.add.at(sets, slot + column.repeat(n_texts), self.sets[slot + other_column.repeat(n_texts)])
        return sets, has_related


class _Stage(NamedTuple):
    """A stage of the alignment: sets of the positions that a word may take, and the words that may take any.

    `is_open` is boolean, one for each word of all texts; None where all are.
    """

    places: _Places
    sets: np.ndarray
    is_open: np.ndarray | None


def _rows_by_width(rows: Sequence[Sequence[Sequence[str]]]) -> Iterator[tuple[np.dtype, list[int]]]:
    """Row numbers by the type that holds a set of positions: machine words, or Python's for long texts."""
    is_long = [max(map(len, row)) > MACHINE_WORD_BITS for row in rows]
    for long, dtype in ((False, np.dtype(np.uint64)), (True, np.dtype(object))):
        chosen = [i for i, flag in enumerate(is_long) if flag == long]
        if chosen:
            yield dtype, chosen


def _batch_scores(rows: Sequence[Sequence[Sequence[str]]], lexicon: Lexicon, dtype: np.dtype) -> list[np.ndarray]:
    """Score matrices of rows whose sets of positions are numbers of type `dtype`."""
    n_texts = np.array([len(row) for row in rows])
    lengths = np.array([len(tokens) for row in rows for tokens in row])
    row_of_text = np.repeat(np.arange(len(rows)), n_texts)
    text = np.repeat(np.arange(len(lengths)), lengths)
    first_word = np.cumsum(lengths) - lengths
    # Words are stored from the end of each text, the order of alignment: position p counts from the end.
    position = np.arange(len(text)) - first_word[text]
    bits = np.left_shift(np.ones(len(text), dtype), position.astype(dtype))
    spellings, forms, stems = WordNumbers(), WordNumbers(), WordNumbers()
    tokens = number_words([token for row in rows for caption in row for token in reversed(caption)], spellings)
    words = number_words([spelling.lower() for spelling in spellings], forms)[tokens]
    stem_of_form = number_words([lexicon.stem(form) for form in forms], stems)
    related = [[stems[word] for word in lexicon.synonyms(stem) if word in stems] for stem in stems]

    by_word = _Places(words, text, row_of_text, bits)
    by_stem = _Places(stem_of_form[words], text, row_of_text, bits)
    # A word that is not aligned as it is meets its stem only in another form, and later only stems other than its own.
    stem_of_column = np.empty(len(by_word.pairs), np.int64)
    stem_of_column[by_word.column] = by_stem.column
    has_forms = np.bincount(stem_of_column, minlength=len(by_stem.pairs)) > 1
    synonyms, has_synonyms = by_stem.related_sets(related, row_of_text)
    stages = [
        _Stage(by_word, by_word.sets, None),
        _Stage(by_stem, by_stem.sets, has_forms[by_stem.column]),
        _Stage(by_stem, synonyms, has_synonyms[by_stem.column]),
    ]

    reference, hypothesis = _pairs_in_rows(n_texts)
    matches, chunks = np.empty((2, len(reference)))
    by_length = np.argsort(-lengths[hypothesis], kind="stable")
    for start in range(0, len(by_length), MAX_PAIRS):
        part = by_length[start : start + MAX_PAIRS]
        picks = _align(reference[part], hypothesis[part], lengths, first_word, stages, dtype)
        matches[part], chunks[part] = _count_matches_and_chunks(picks)
    scores = _combine(matches, chunks, lengths[hypothesis], lengths[reference])
    cells_of_row = np.split(scores, np.cumsum(n_texts**2)[:-1])
    return [cells.reshape(n, n) for cells, n in zip(cells_of_row, n_texts, strict=True)]


def _pairs_in_rows(n_texts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Text numbers (reference, hypothesis) of all pairs within a row, row after row, reference by reference."""
    first_text = np.cumsum(n_texts) - n_texts
    cell = np.arange((n_texts**2).sum()) - np.repeat(np.cumsum(n_texts**2) - n_texts**2, n_texts**2)
    n, first = np.repeat(n_texts, n_texts**2), np.repeat(first_text, n_texts**2)
    return first + cell // n, first + cell % n


def _align(
    reference: np.ndarray,
    hypothesis: np.ndarray,
    lengths: np.ndarray,
    first_word: np.ndarray,
    stages: Sequence[_Stage],
    dtype: np.dtype,
) -> np.ndarray:
    """Align pairs of texts, hypotheses from the longest to the shortest."""
    longest = int(lengths[hypothesis[0]])
    picks = np.zeros((longest, len(hypothesis)), dtype)
    free = np.full(len(hypothesis), (1 << int(max(lengths[reference].max(), 1))) - 1, dtype)
    # Hypotheses that have a word at position p from the end come first: lengths fall along the pairs.
    n_reaching = np.searchsorted(-lengths[hypothesis], -np.arange(longest), side="left")
    first = first_word[hypothesis]
    for places, sets, is_open in stages:
        slot = places.slot[reference]
        for step, n in enumerate(n_reaching):
            word = first[:n] + step
            pairs = slice(n) if is_open is None else np.flatnonzero(is_open[word])
            matched = sets[slot[pairs] + places.column[word[pairs]]] & free[pairs]
            matched *= picks[step, pairs] == 0  # aligned in an earlier stage
            matched &= -matched  # the lowest bit: the last free reference word that matches
            free[pairs] ^= matched
            picks[step, pairs] |= matched
    return picks


def _count_matches_and_chunks(picks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Number of matches, and of runs of matches adjacent in both texts: two arrays (n_pairs,)."""
    is_match = picks != 0
    matches = np.count_nonzero(is_match, axis=0)
    # One position nearer to the beginning in both texts: the bit moves up by one.
    goes_on = is_match[1:] & (picks[1:] == picks[:-1] << 1)
    return matches, matches - np.count_nonzero(goes_on, axis=0)


def _combine(
    matches: np.ndarray, chunks: np.ndarray, hypothesis_length: np.ndarray, reference_length: np.ndarray
) -> np.ndarray:
    """The formula in the docstring of `meteor_scores`, in NLTK's order of operations: (n_pairs,)."""
    scores = np.zeros(len(matches))
    some = matches > 0
    matches, chunks = matches[some], chunks[some]
    precision, recall = matches / hypothesis_length[some], matches / reference_length[some]
    f_mean = precision * recall / (ALPHA * precision + (1 - ALPHA) * recall)
    scores[some] = (1 - GAMMA * (chunks / matches) ** BETA) * f_mean
    return scores


# Scores of rows that several metrics of a process ask for; cleared when there are too many.
REMEMBERED: dict[Hashable, np.ndarray] = {}


def meteor_scorer(version: str, meteor15_data: Any, progress: Callable[..., Any]) -> PairScores:
    """Return the METEOR of all pairs of texts of rows; one that another metric has asked for is not computed again."""
    settings = tuple(meteor_settings(version, meteor15_data, progress).items())
    if version == "1.5":
        score: PairScores = functools.partial(meteor15_scores, lexicon=load_lexicon(meteor15_data, progress))
    else:
        score = functools.partial(meteor_scores, lexicon=wordnet_lexicon())
    return functools.partial(_recall_or_score, score, settings)


def meteor_settings(version: str, meteor15_data: Any, progress: Callable[..., Any]) -> dict[str, Any]:
    """Return what decides a METEOR, for the signature; arguments as for `meteor_scorer`."""
    if version == "1.5":
        return {"meteor": "1.5", "data": load_lexicon(meteor15_data, progress).data.version}
    return {"meteor": f"nltk-{importlib.metadata.version('nltk')}", "wordnet": WORDNET_VERSION}


def _recall_or_score(
    score: PairScores, settings: tuple[Any, ...], rows: Sequence[Sequence[Sequence[str]]]
) -> list[np.ndarray]:
    keys = [(settings, tuple(map(tuple, row))) for row in rows]
    known: dict[Hashable, np.ndarray] = {key: scores for key in keys if (scores := REMEMBERED.get(key)) is not None}
    new = [key for key in dict.fromkeys(keys) if key not in known]
    if new:
        # Copies: a part of a larger array would keep all of it in memory.
        computed = score([key[1] for key in new])
        new_scores: dict[Hashable, np.ndarray] = {key: scores.copy() for key, scores in zip(new, computed, strict=True)}
        known |= new_scores
        n_new = sum(scores.size for scores in new_scores.values())
        if n_new + sum(scores.size for scores in list(REMEMBERED.values())) > MAX_REMEMBERED:
            REMEMBERED.clear()
        if n_new <= MAX_REMEMBERED:
            REMEMBERED.update(new_scores)
    return [known[key] for key in keys]


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
        """Return the Porter stem (NLTK's extended algorithm) of a lower-case word."""
        stem = self._stems.get(word)
        if stem is None:
            stem = self._stemmer.stem(word) if len(word) <= MAX_WORD_LENGTH else word
            self._stems[word] = stem
        return stem

    def synonyms(self, stem: str) -> frozenset[str]:
        """Return the one-word lemmas of all synsets that WordNet finds for `stem`.

        NLTK's METEOR looks up words that the stem stage has left over, so already stemmed ones: "couch" finds "sofa",
        while "movi" finds nothing and "movie" never meets "film".
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
    """Return the lexicon of this process, opened at the first use."""
    root = str(_corpus_root())
    if root not in _OPENED:
        _OPENED[root] = WordNetLexicon()
    return _OPENED[root]


def _corpus_root() -> "nltk.data.PathPointer":
    """Path of the corpus in NLTK's data path, downloaded if needed; LookupError names the ways to get it."""
    import huggingface_hub
    import nltk

    try:
        return _find_corpus()
    except LookupError:
        if not huggingface_hub.constants.HF_HUB_OFFLINE:  # one variable for all that modules fetch
            nltk.download("wordnet", quiet=True, raise_on_error=False)
    try:
        return _find_corpus()
    except LookupError:
        expected = f"WordNet {WORDNET_VERSION} in NLTK's data"
        raise InputLookupError("METEOR", expected, "no such corpus", HOW_TO_GET_WORDNET) from None


def _open_corpus(root: "nltk.data.PathPointer") -> list[_PartOfSpeech]:
    """Open the corpus, if it is of the release that the scores rest on."""
    parts = [_PartOfSpeech(root, name) for name in ENDINGS]
    version_line = re.search(rb"Word[nN]et (\S+) Copyright", parts[0].data)
    version = version_line.group(1).decode() if version_line else "another"
    if version != WORDNET_VERSION:
        raise InputLookupError("METEOR", f"WordNet {WORDNET_VERSION}", f"{version} in {root}", HOW_TO_GET_WORDNET)
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


def meteor(candidates: TokenRows, references: TokenRows, lexicon: Lexicon | None = None) -> Floats:
    """Score the candidates of every row against all references of the row by METEOR.

    METEOR = (1 - 0.5 (chunks / matches)^3) P R / (0.9 P + 0.1 R) against the best reference, mean over the candidates
    (Banerjee and Lavie 2005, https://aclanthology.org/W05-0909, with the parameters and the matching order of NLTK).

    Args:
        candidates: n_rows lists of token lists, at least one text per row; letter case is ignored.
        references: the same for the references.
        lexicon: stems and synonyms; None for Porter's stems and WordNet 3.0, which NLTK must find.

    Returns:
        float64 array, shape (n_rows,), 0 (worst) to below 1 (best).

    Raises:
        TypeError: a text is not a list of tokens.
        ValueError: the columns differ in length, or a row has no text on one side.
        LookupError: WordNet is needed and not installed.

    >>> class NoLexicon:
    ...     def stem(self, word):
    ...         return word.removesuffix("s")
    ...     def synonyms(self, stem):
    ...         return frozenset()
    >>> meteor([[["a", "dog", "barks"]]], [[["a", "dog", "bark"], ["a", "cat"]]], NoLexicon()).round(4).tolist()
    [0.9815]
    """
    candidates, references = as_both_rows(candidates, references)
    rows = [[*texts, *others] for texts, others in zip(candidates, references, strict=True)]
    scores = meteor_scores(rows, _as_lexicon(lexicon))
    return np.array([multi_reference_meteor(s[None], len(c))[0] for s, c in zip(scores, candidates, strict=True)])


def meteor_distances(texts: TokenRows, lexicon: Lexicon | None = None) -> list[Floats]:
    """Give the METEOR distance of all pairs of texts of a row: d(x, y) = 1 - METEOR(reference x, hypothesis y).

    Texts with equal tokens have distance 0. For `triangle_rank_statistic`, stack rows of equal sizes.

    Args:
        texts: n_rows lists of token lists, at least one text per row.
        lexicon: as for `meteor`.

    Returns:
        For each row a float64 array, shape (n_texts, n_texts), 0 to 1, not symmetric.

    Raises:
        TypeError, ValueError, LookupError: as `meteor`.

    >>> class NoLexicon:
    ...     def stem(self, word):
    ...         return word
    ...     def synonyms(self, stem):
    ...         return frozenset()
    >>> meteor_distances([[["a", "dog"], ["a", "cat"]]], NoLexicon())[0].tolist()
    [[0.0, 0.75], [0.75, 0.0]]
    """
    texts = as_token_rows(texts, "texts")
    distances: list[Floats] = distances_from_meteor(texts, meteor_scores(texts, _as_lexicon(lexicon)))
    return distances


def _as_lexicon(lexicon: object) -> Lexicon:
    """The lexicon, WordNet's for None."""
    if lexicon is not None and not isinstance(lexicon, Lexicon):
        raise InputTypeError("lexicon", "an object with stem and synonyms", quote_value(lexicon), "None is WordNet's.")
    return wordnet_lexicon() if lexicon is None else lexicon
