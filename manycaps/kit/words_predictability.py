"""Wording: are candidates put into words as people's captions are? An n-gram model of people's captions says so.

SLOR of a caption (Pauls and Klein 2012, https://aclanthology.org/P12-1101; Kann et al. 2018,
https://aclanthology.org/K18-1031) is the mean over its words and its end of log p(word | the two words before) -
log p(word): how well the words follow each other, whatever rare things they name. p is a trigram model with
interpolated absolute discounting (Ney et al. 1994, https://doi.org/10.1006/csla.1994.1001), with D = 0.75 and p = 1
/ (V + 1) at its end, where V is the number of distinct words of all references and the end mark:

    p(w | h) = (max(c(h w) - D, 0) + D t(h) p(w | h')) / c(h)

where c(h) is the sum of c(h w), t(h) the number of w with c(h w) > 0, and h' is h without its first word; if c(h) =
0 it is p(w | h'). Counts are over the references of all other rows: what a row, or its cluster, adds is subtracted.
So a reference and a candidate are scored by one model that has seen neither; if people wrote both, they are
exchangeable.

A candidate is odd if 19 of 20 human captions have a larger SLOR, and predictable if they have a smaller one; people
give 5% of each. The wording gap of a row is the mean SLOR of its candidates less its references' mean. Rows share the
model: the gaps of rows with similar captions are correlated, and `wording_test` adds these covariances to the
variance. The slow versions of all this are in tests/oracles/wording_loop.py.

A language model of other texts, by their frequencies of n-grams, may stand in for the references.
"""

import dataclasses
import functools
import math
import os
import warnings
import zlib
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .arrays import Floats, Ints, TokenRows
from .errors import InputError, quote_value
from .files import check_count_table, is_count, read_json
from .ngrams import RowTexts, WordNumbers, number_keys, word_ids
from .options import Option, by_value
from .sets_tests import TIE_TOLERANCE, cluster_numbers
from .words_tokenizers import Tokenizer, check_same_tokenizer

# Layout of the file of a language model: trigrams as three tokens joined by blanks, where an empty token is the mark
# before or after a caption; and how to make one.
LANGUAGE_MODEL_LAYOUT = '{"n_captions": 8092, "trigrams": {"  a": 312, " a dog": 40, ...}}'

HOW_TO_MAKE_A_MODEL = "Make one with `manycaps count-ngrams`."


class LanguageModel(NamedTuple):
    """How often each trigram occurs in a corpus of captions; see `LANGUAGE_MODEL_LAYOUT`."""

    trigrams: Mapping[str, int]
    n_captions: int


def check_language_model(source: object) -> None:
    """Raise unless `source` is None, a mapping, or the path of a file that exists; the counts are not read."""
    if source is not None:
        check_count_table(source, "language_model", "", HOW_TO_MAKE_A_MODEL)


def load_language_model(
    source: str | os.PathLike[str] | Mapping[str, Any] | None, tokenizer: Tokenizer | None = None
) -> LanguageModel | None:
    """Read and check the counts of a corpus: the path of a JSON file, or a mapping; None stays None.

    Their tokenizer, where they say which, is the one given.

    >>> load_language_model({"n_captions": 1, "trigrams": {"  a": 1, " a ": 1}})
    LanguageModel(trigrams={'  a': 1, ' a ': 1}, n_captions=1)
    """
    if source is None:
        return None
    table = source if isinstance(source, Mapping) else read_json(source, "language_model", HOW_TO_MAKE_A_MODEL)
    trigrams, n_captions = (
        (table.get("trigrams"), table.get("n_captions")) if isinstance(table, Mapping) else (None, None)
    )
    if not isinstance(trigrams, Mapping) or not trigrams or not is_count(n_captions, 1, 2**53):
        raise InputError(
            "language_model", f"the layout {LANGUAGE_MODEL_LAYOUT}", quote_value(table), HOW_TO_MAKE_A_MODEL
        )
    check_same_tokenizer(table, "language_model", tokenizer)
    for trigram, count in trigrams.items():
        if not isinstance(trigram, str) or trigram.count(" ") != 2 or not is_count(count, 1, 2**53):
            expected = "three tokens joined by blanks and a whole number from 1 on"
            raise InputError(
                f"language_model[{quote_value(trigram)}]", expected, quote_value(count), HOW_TO_MAKE_A_MODEL
            )
    return LanguageModel(trigrams, n_captions)


def caption_trigrams(tokens: Sequence[str]) -> list[str]:
    """Return the trigrams of a caption as a language model's file names them.

    >>> caption_trigrams(["a", "dog"])
    ['  a', ' a dog', 'a dog ']
    """
    marked = ["", "", *tokens, ""]
    return [" ".join(marked[i : i + 3]) for i in range(len(marked) - 2)]


# Absolute discount of every count.
DISCOUNT = 0.75

# Of sums of weights: no larger ones are 0.
ROUNDING = 1e-9

# Numbers of the marks before and after a caption; words have those after them.
BEGIN, END, N_MARKS = 0, 1, 2

# Ends of people's SLOR by the names of results.
ODD_WORDING = "odd_wording_share"
WORDING_SHARES = {ODD_WORDING: -1, "predictable_share": 1}

# Captions, and pairs of captions, that are listed.
N_LISTED = 100

# Rows, or clusters, from which on wording is measured: with fewer, the model knows next to nothing.
LEAST_ROWS_OF_WORDING = 10

# What is said of rows that have one reference each.
WORDING_ALONE = (
    "references: expected two per row, since people are compared with each other, got one. Wording alone is measured; "
    "all other values are NaN."
)

LANGUAGE_MODEL = {
    "language_model": Option(
        None,
        by_value(check_language_model),
        "Of wording: path of the n-gram counts of a training corpus, which `manycaps count-ngrams` writes, or a "
        "mapping; by default counted in the references of all other rows, or clusters. The corpus must not contain the "
        "references, else people's captions alone are predictable: warned of from 95% of their trigrams on, or all "
        "trigrams of a quarter of the rows. Held-out captions of COCO, Flickr8k and MSVD have 43% to 73%, and 0% to "
        "4% of the rows, in corpora of up to 65,000 captions.",
    )
}


class Order(NamedTuple):
    """The n-grams of one order, one per position of a text; int64 arrays of numbers.

    A unit is what is left out of the model together: a row, or a cluster of rows.
    """

    # Shape (n_positions,): the n-gram, its history of n - 1 words, and either with the unit of the text.
    gram: Ints
    history: Ints
    unit_gram: Ints
    unit_history: Ints
    # The history of each n-gram, and the n-gram and the history with its unit of each `unit_gram`.
    history_of_gram: Ints
    gram_of_pair: Ints
    history_of_pair: Ints


class Counts(NamedTuple):
    """Counts in the references of other units, for every position: float64 arrays, shape (n_positions,)."""

    # Of the n-gram, of its history, and how many words follow the history.
    own: Floats
    total: Floats
    types: Floats


@dataclass(frozen=True, eq=False)
class Texts:
    """The texts of all rows, candidates first, by positions: one for every word, and one for the end of each text."""

    sizes: Ints  # (n_rows, 2): numbers of candidates and of references
    length: Ints  # (n_texts,): positions of each text
    text: Ints  # (n_positions,): the text of each; n_texts for trigrams of a language model
    weight: Floats  # (n_positions,): how often each counts in the model
    word: Ints  # (n_positions,), as are the two words before
    before: Ints
    two_before: Ints
    orders: Sequence[Order]
    vocabulary: Sequence[str]

    @functools.cached_property
    def n_words(self) -> int:
        """Number of distinct words that count in the model, and its end mark."""
        return len(np.unique(self.word[self.weight > 0]))

    @functools.cached_property
    def counts(self) -> Sequence[Counts]:
        """Counts of the three orders in the references of other units."""
        return [others_counts(order, self.weight) for order in self.orders]

    @functools.cached_property
    def changes(self) -> Sequence[Floats]:
        """What each occurrence in the references changes, see `_changes`."""
        return _changes(self.counts, self.n_words, -1)

    def random_references(self) -> np.ndarray:
        """Return which texts are references after a split that looks random, and is decided by the words of each row.

        No order of rows or texts changes it. Numbers of 64 bits run over.
        """
        layout, starts = RowTexts(self.sizes.sum(axis=1)), np.cumsum(self.length) - self.length
        codes = (zlib.crc32(word.encode("utf-8", "surrogatepass")) for word in self.vocabulary)
        code = np.array([*range(N_MARKS), *codes], dtype=np.uint64)
        n_positions = int(self.length.sum())
        text_codes = np.add.reduceat((code[self.word] * (2 * code[self.before] + 1))[:n_positions], starts)
        row_codes = np.add.reduceat(text_codes, layout.first[:-1])
        order = np.lexsort((text_codes * (2 * row_codes + 1)[layout.row], layout.row))
        is_reference = np.empty(len(order), dtype=bool)
        is_reference[order] = are_references(self.sizes)
        return is_reference

    def slor(self) -> Floats:
        """Return the SLOR of every text."""
        starts = np.cumsum(self.length) - self.length
        ratios = _log_ratios(self.counts, self.n_words)[: int(self.length.sum())]
        return np.asarray(np.add.reduceat(ratios, starts) / self.length)

    def influence(self, is_reference: np.ndarray, changes: Sequence[Floats]) -> Floats:
        """Return what the sum of other rows' gaps gains by each text in the model, if these texts are references."""
        m, n = self.sizes[RowTexts(self.sizes.sum(axis=1)).row].T
        share = np.where(is_reference, -1 / n, 1 / m) / self.length
        starts = np.cumsum(self.length) - self.length
        return np.asarray(np.add.reduceat(_influences(self.orders, changes, share[self.text]), starts))


@dataclass(frozen=True)
class WordingRows:
    """The wording of all rows: texts row by row, candidates first."""

    # int64 array, shape (n_rows, 2): numbers of candidates and of references, at least 1.
    sizes: Ints
    # float64 arrays, shape (n_texts,): SLOR; how much larger the sum of the gaps of all other rows is, to first order,
    # since the text is among the references of its row, 0 for candidates; and what the text adds to the covariances of
    # the gaps of two rows under random splits. 0 where the model comes from another corpus.
    slor: Floats
    influence: Floats
    covariance: Floats

    @functools.cached_property
    def texts(self) -> RowTexts:
        """Layout of the texts."""
        return RowTexts(self.sizes.sum(axis=1))

    @functools.cached_property
    def is_reference(self) -> np.ndarray:
        """Which texts are references, shape (n_texts,)."""
        return are_references(self.sizes)

    @property
    def gaps(self) -> Floats:
        """Gap of every row: float64 array, shape (n_rows,)."""
        means = side_sums(self.slor, self.sizes) / self.sizes
        gaps: Floats = means[:, 0] - means[:, 1]
        return np.where(np.abs(gaps) > TIE_TOLERANCE, gaps, 0.0)

    def candidate_slor(self) -> list[list[float]]:
        """Return the SLOR of every candidate, row by row."""
        ends = self.texts.first[:-1] + self.sizes[:, 0]
        return [self.slor[first:end].tolist() for first, end in zip(self.texts.first, ends, strict=False)]

    def part(self, rows: Sequence[int]) -> "WordingRows":
        """Return some of the rows; the model still counts all of them, and influences are on so many rows."""
        chosen = np.concatenate([np.arange(self.texts.first[row], self.texts.first[row + 1]) for row in rows])
        share = len(rows) / len(self.sizes)
        influences = self.influence[chosen] * share, self.covariance[chosen] * share
        return WordingRows(self.sizes[list(rows)], self.slor[chosen], *influences)


def are_references(sizes: Ints) -> np.ndarray:
    """Return which texts are references, row by row, candidates first: a mask of shape (n_texts,)."""
    rows = RowTexts(sizes.sum(axis=1))
    return np.asarray(rows.place >= sizes[rows.row, 0])


def side_sums(values: Floats, sizes: Ints) -> Floats:
    """Return the sums over the candidates and over the references of every row, float64, shape (n_rows, 2).

    >>> side_sums(np.array([1.0, 2.0, 4.0]), np.array([[1, 2]])).tolist()
    [[1.0, 6.0]]
    """
    ends = np.cumsum(sizes)
    sums: Floats = np.add.reduceat(values, np.concatenate(([0], ends[:-1]))).reshape(-1, 2)
    return sums


def wording_rows(
    candidates: TokenRows,
    references: TokenRows,
    clusters: Sequence[Hashable] | None = None,
    model: LanguageModel | None = None,
) -> WordingRows:
    """Score the texts of n_rows rows, each with at least one candidate and one reference, as lists of tokens.

    Without a `model` it is counted in the references of all other rows, or of all other clusters, whose labels
    `clusters` has for every row. Time and memory are proportional to the number of tokens: 50,000 rows of 1 + 5
    captions take half a minute and 2 GB at most.

    >>> rows = wording_rows([[["a", "cat"]], [["a", "dog"]]], [[["a", "cat"]], [["a", "dog"]]])
    >>> rows.slor.round(4).tolist(), rows.gaps.tolist()
    ([0.1052, 0.1052, 0.1052, 0.1052], [0.0, 0.0])
    """
    return wording_of(number_texts(candidates, references, clusters, model), is_tested=model is None)


def wording_of(texts: Texts, *, is_tested: bool) -> WordingRows:
    """Score texts; where the gap is not tested, or no row influences the counts, no influences are computed."""
    slor, is_reference = texts.slor(), are_references(texts.sizes)
    if not is_tested:
        return WordingRows(texts.sizes, slor, np.zeros_like(slor), np.zeros_like(slor))
    influence = np.where(is_reference, texts.influence(is_reference, texts.changes), 0.0)
    return WordingRows(texts.sizes, slor, influence, _split_covariance(texts))


def _split_covariance(texts: Texts) -> Floats:
    """What each text adds to the covariances of the gaps of two rows if every row is split at random.

    The gap of a row moves with the references of another one, and this one's with the first one's. Their covariance is
    less the sum, over all texts of a row, of SLOR times what the sum of other rows' gaps gains if the text is a
    reference, each less its mean over the row, over N - 1. That is measured in a split at random, and not as the texts
    are: a word that all candidates have would be worth much as a reference's. Nor by the counts of all splits on
    average, since a discount is not that of parts of a count.
    """
    layout, is_reference = RowTexts(texts.sizes.sum(axis=1)), texts.random_references()
    split = dataclasses.replace(texts, weight=is_reference[texts.text].astype(np.float64))
    influence = np.where(
        is_reference,
        split.influence(is_reference, split.changes),
        split.influence(is_reference, _changes(split.counts, split.n_words, 1)),
    )
    products = layout.centre(split.slor()) * layout.centre(influence)
    return -products / (layout.sizes - 1)[layout.row]


class SentenceScores(NamedTuple):
    """How predictable sentences are, each of which `texts` have as a text of its own."""

    texts: Texts
    # float64, shape (n_sentences,): SLOR, in which a word behind one that nobody else wrote costs what a new
    # continuation costs people: the geometric mean of the discounted mass D t(h) / c(h) over people's words.
    scores: Floats
    # Counts of every position; None where no row influences them.
    counts: Sequence[Counts] | None

    def row_influence(self, slopes: Floats) -> Floats:
        """Return what the sum of slope times score over other rows gains by each row's references in the model.

        `slopes` and the result are float64, of shapes (n_sentences,) and (n_rows,); 0 where no row influences scores.
        """
        texts = self.texts
        if self.counts is None:
            return np.zeros(len(texts.sizes))
        influence = _influences(texts.orders, texts.changes, (slopes / texts.length)[texts.text])
        starts = np.cumsum(texts.length) - texts.length
        of_sentences = np.where(are_references(texts.sizes), np.add.reduceat(influence, starts), 0.0)
        return side_sums(of_sentences, texts.sizes)[:, 1]


# Share of people's sentences beyond whose words that nobody else wrote a sentence has too many of them; and from how
# many sentences of people's on. Behind captions of COCO, eight words of nonsense are found in 41% at 200 images (14% by
# their log ratios alone) and in 99.6% at 1,000 (26%); of captions with shuffled words as many are found as without.
SHARE_OF_NEW_WORDS, LEAST_SENTENCES_OF_NEW_WORDS = 0.01, 400


def sentence_scores(texts: Texts, *, is_tested: bool) -> SentenceScores:
    """Score sentences by the references of other rows; a row of `texts` has all sentences of its candidates, first.

    Without the price of a new continuation, words that nobody knows would make a sentence less odd: its term is 0
    behind an unknown word, where nothing is known of what follows. Sentences with too many new words have scores below
    all others, the more of them the lower. `is_tested` is False for another corpus's model.
    """
    counts, n_positions = texts.counts, int(texts.length.sum())
    _, total, types = (of[:n_positions] for of in counts[1])
    is_known = (total > 0) & are_references(texts.sizes)[texts.text[:n_positions]]
    mass = np.minimum(DISCOUNT * types[is_known] / total[is_known], 1.0)
    novelty = math.exp(math.fsum(np.log(mass)) / len(mass)) if len(mass) else 1.0
    ratios = _log_ratios(counts, texts.n_words, novelty)[:n_positions]
    starts = np.cumsum(texts.length) - texts.length
    scores = np.add.reduceat(ratios, starts) / texts.length
    is_new = (counts[0].own[:n_positions] <= ROUNDING) & (texts.word[:n_positions] != END)
    new = np.add.reduceat(is_new, starts, dtype=np.float64) / np.maximum(texts.length - 1, 1)
    scores = np.where(has_many_new_words(new, are_references(texts.sizes)), scores.min() - 1 - new, scores)
    return SentenceScores(texts, scores, counts if is_tested else None)


def has_many_new_words(shares: Floats, is_reference: np.ndarray) -> np.ndarray:
    """Return which sentences have a larger share of words that nobody else wrote than 99 of 100 of people's.

    A log ratio says nothing of such words, since it divides by how likely they are. Of few sentences of people's no
    such quantile is known, and none has many.

    >>> shares, is_reference = np.append(np.arange(400) / 400, [0.9, 0.995]), np.arange(402) < 400
    >>> np.flatnonzero(has_many_new_words(shares, is_reference)).tolist()
    [397, 398, 399, 401]
    """
    of_people = np.sort(shares[is_reference])
    if len(of_people) < LEAST_SENTENCES_OF_NEW_WORDS:
        return np.zeros(len(shares), dtype=bool)
    place = math.ceil((1 - SHARE_OF_NEW_WORDS) * (len(of_people) + 1)) - 1
    return np.asarray(shares > of_people[place] + ROUNDING)


def number_texts(
    candidates: TokenRows,
    references: TokenRows,
    clusters: Sequence[Hashable] | None = None,
    model: LanguageModel | None = None,
) -> Texts:
    """Number the words and n-grams of all texts; arguments as for `wording_rows`."""
    rows = list(zip(candidates, references, strict=True))
    vocabulary = WordNumbers()
    words, lengths = word_ids((text for mine, people in rows for text in (*mine, *people)), vocabulary)
    sizes = np.array([(len(mine), len(people)) for mine, people in rows])
    return texts_of(sizes, words, lengths, vocabulary, clusters, model)


# A language model has seen the references if it knows so much of their trigrams, or all trigrams of so many rows, of
# those with enough for a sign. Of 825 COCO images, the captions of 5,000 others have 66%, and all of no row.
SEEN_TRIGRAMS, SEEN_ROWS, LEAST_TRIGRAMS_OF_A_ROW = 0.95, 0.25, 20


class SeenReferences(NamedTuple):
    """How much of the references a language model knows; the numbers of several rows are added."""

    # Trigrams of all references, and those that the model has.
    n_trigrams: int = 0
    n_known: int = 0
    # Rows with enough trigrams, and those of them whose trigrams the model has all.
    n_rows: int = 0
    n_seen: int = 0

    def __add__(self, other: Any) -> "SeenReferences":
        return SeenReferences(*(mine + more for mine, more in zip(self, other, strict=True)))

    @property
    def is_seen(self) -> bool:
        """Whether the model was counted in the references, or in a part of them."""
        knows_all = self.n_rows > 0 and self.n_known >= SEEN_TRIGRAMS * self.n_trigrams
        return knows_all or (self.n_rows >= LEAST_ROWS_OF_WORDING and self.n_seen >= SEEN_ROWS * self.n_rows)

    def warn(self) -> None:
        """Warn where the model was counted in the references, or in a part of them."""
        if self.is_seen:
            warnings.warn(
                f"language_model: it has {self.n_known / self.n_trigrams:.0%} of the references' trigrams, and all of "
                f"{self.n_seen:,} of {self.n_rows:,} rows, as if it had been counted in them. It then knows people's "
                "captions and not the candidates, which look like faults: count the n-grams of other captions, such "
                "as a training split, or leave it out.",
                stacklevel=3,
            )


def seen_references(texts: Texts) -> SeenReferences:
    """Count what the language model of some texts knows of their references; nothing where there is none."""
    n_texts, trigram = len(texts.length), texts.orders[2].gram
    of_model = texts.text == n_texts
    if not of_model.any():
        return SeenReferences()
    is_known = np.zeros(len(texts.orders[2].history_of_gram), dtype=bool)
    is_known[trigram[of_model]] = True
    of_people = ~of_model
    of_people[of_people] = are_references(texts.sizes)[texts.text[of_people]]
    row, known = RowTexts(texts.sizes.sum(axis=1)).row[texts.text[of_people]], is_known[trigram[of_people]]
    n_trigrams, n_known = np.bincount(row), np.bincount(row, known)
    is_judged = n_trigrams >= LEAST_TRIGRAMS_OF_A_ROW
    n_seen = int((is_judged & (n_known == n_trigrams)).sum())
    return SeenReferences(len(row), int(known.sum()), int(is_judged.sum()), n_seen)


def texts_of(
    sizes: Ints,
    words: Ints,
    lengths: Ints,
    vocabulary: WordNumbers,
    clusters: Sequence[Hashable] | None = None,
    model: LanguageModel | None = None,
) -> Texts:
    """Number the n-grams of texts as from `word_ids`, row by row; words of the model are added to the vocabulary."""
    length = lengths + 1
    ends = np.cumsum(length)
    word = np.full(int(length.sum()), END)
    is_word = np.ones(len(word), dtype=bool)
    is_word[ends - 1] = False
    word[is_word] = words + N_MARKS
    place = np.arange(len(word)) - np.repeat(ends - length, length)
    before, two_before = (np.where(place >= n, np.roll(word, n), BEGIN) for n in (1, 2))
    text = np.repeat(np.arange(len(length)), length)
    unit = np.arange(len(sizes)) if clusters is None else cluster_numbers(clusters)
    unit = unit[RowTexts(sizes.sum(axis=1)).row[text]]
    weight = are_references(sizes)[text].astype(np.float64)
    if model is not None:
        # Trigrams of the model are positions of a unit of their own; the rows' trigrams do not count.
        codes = [_number_trigram(trigram, vocabulary) for trigram in model.trigrams]
        model_words = np.array(codes, dtype=np.int64).reshape(-1, 3).T
        two_before, before, word = (
            np.concatenate(pair) for pair in zip((two_before, before, word), model_words, strict=True)
        )
        n = len(codes)
        text, unit = (np.concatenate((numbers, np.full(n, numbers.max() + 1))) for numbers in (text, unit))
        counts = np.fromiter(model.trigrams.values(), dtype=np.float64, count=n)
        weight = np.concatenate((np.zeros_like(weight), counts))
    orders = _orders(word, before, two_before, unit, len(vocabulary) + N_MARKS)
    return Texts(sizes, length, text, weight, word, before, two_before, orders, list(vocabulary))


def _number_trigram(trigram: str, vocabulary: WordNumbers) -> list[int]:
    """The numbers of three tokens; an empty one is a mark."""
    *history, word = trigram.split(" ")
    codes = [N_MARKS + vocabulary[token] if token else BEGIN for token in history]
    return [*codes, N_MARKS + vocabulary[word] if word else END]


def _orders(word: Ints, before: Ints, two_before: Ints, unit: Ints, n_words: int) -> list[Order]:
    """The orders 1 to 3."""
    pairs_before = number_keys(two_before * n_words + before)[1]
    orders = []
    for history in (np.zeros_like(word), before, pairs_before):
        gram_keys, gram = number_keys(history * n_words + word)
        pair_keys, unit_gram = number_keys(unit * len(gram_keys) + gram)
        unit_history = number_keys(unit * (history.max() + 1) + history)[1]
        history_of_pair = np.empty(len(pair_keys), dtype=np.int64)
        history_of_pair[unit_gram] = unit_history
        numbers = (gram, history, unit_gram, unit_history)
        orders.append(Order(*numbers, gram_keys // n_words, pair_keys % len(gram_keys), history_of_pair))
    return orders


def sums_of(numbers: Ints, values: Floats | np.ndarray, least: int = 0) -> Floats:
    """Return the sums of the values that have each number, at least `least` of them."""
    return np.asarray(np.bincount(numbers, values, minlength=least), dtype=np.float64)


def sum_of_products(first: Floats, second: Floats) -> float:
    """Return the sum of the products of two columns less their means.

    >>> sum_of_products(np.array([1.0, 3.0]), np.array([5.0, 6.0]))
    1.0
    """
    return math.fsum((first - first.mean()) * (second - second.mean()))


def others_counts(order: Order, weight: Floats) -> Counts:
    """Count n-grams in the references of other units: all counts less the unit's own."""
    all_counts, unit_counts = (sums_of(numbers, weight) for numbers in (order.gram, order.unit_gram))
    histories, unit_histories = (sums_of(numbers, weight) for numbers in (order.history, order.unit_history))
    types = sums_of(order.history_of_gram, all_counts > 0, len(histories))
    # Words that follow a history in this unit alone.
    is_own = (unit_counts > 0) & (unit_counts == all_counts[order.gram_of_pair])
    own_types = sums_of(order.history_of_pair, is_own, len(unit_histories))
    return Counts(
        all_counts[order.gram] - unit_counts[order.unit_gram],
        histories[order.history] - unit_histories[order.unit_history],
        types[order.history] - own_types[order.unit_history],
    )


def _log_ratios(counts: Sequence[Counts], n_words: int, novelty: float = 1.0) -> Floats:
    """Logarithm of p(word | two words before) / p(word) at every position.

    Behind a word that nobody else wrote p(word | word before) is `novelty` times p(word).
    """
    words, pairs, triples = counts
    p = _interpolated(words, 1 / (n_words + 1))
    ratios: Floats = np.log(_interpolated(triples, _interpolated(pairs, p, novelty))) - np.log(p)
    return ratios


def _interpolated(counts: Counts, lower: Floats | float, novelty: float = 1.0) -> Floats:
    """Return p of one order from that of the order below, `novelty` times which it is behind an unknown history."""
    count, total, types = counts
    mass = DISCOUNT * types
    np.minimum(mass, total, out=mass)  # the total is the smaller one only of counts that are no whole numbers
    mass *= lower
    discounted = count - DISCOUNT
    np.maximum(discounted, 0, out=discounted)
    discounted += mass
    is_known = total > 0
    np.divide(discounted, total, out=discounted, where=is_known)
    return np.where(is_known, discounted, lower * novelty)


def _changes(counts: Sequence[Counts], n_words: int, shift: int) -> list[Floats]:
    """How much larger the log ratio of each position is if another one's trigram is in the model, not out of it.

    `shift` is -1 for one that the model has, and 1 for one that it has not. A position x changes with an occurrence y
    by how much of its trigram they share: the word alone, the word and one before, all three; or the history alone, of
    one word or of two, which another word follows. Returns what is added with each: the word, one word before, both,
    two words before, and all three.
    """
    words, pairs, triples = counts
    lowest = 1 / (n_words + 1)
    p, word = _interpolated(words, lowest), _interpolated(_with_gram(words, shift), lowest)
    pair = _interpolated(_with_gram(pairs, shift), word)
    before = _interpolated(_with_history(pairs, shift, is_new=False), p)
    log_p, log_word = np.log(p), np.log(word)
    as_counted = np.log(_interpolated(triples, _interpolated(pairs, p))) - log_p
    n_known = [*(of.own for of in counts), pairs.total - pairs.own, triples.total - triples.own]
    shifted = [
        np.log(_interpolated(triples, _interpolated(pairs, word))) - log_word,
        np.log(_interpolated(triples, pair)) - log_word,
        np.log(_interpolated(_with_gram(triples, shift), pair)) - log_word,
        np.log(_interpolated(triples, before)) - log_p,
        np.log(_interpolated(_with_history(triples, shift, is_new=True), before)) - log_p,
    ]
    word, pair, trigram, after_one, after_two = (
        np.where(known + shift > -ROUNDING, shift * (ratios - as_counted), 0.0)  # nothing can be taken out of none
        for known, ratios in zip(n_known, shifted, strict=True)
    )
    return [word, after_one, pair - word - after_one, after_two - after_one, trigram - pair - after_two + after_one]


def _influences(orders: Sequence[Order], changes: Sequence[Floats], share: Floats) -> Floats:
    """What the sum of the gaps of other units gains if each position's trigram is in the model, not out of it.

    `changes` are as from `_changes`, and `share` is each position's part of the sum. A sum over all positions of a
    unit's others is the sum over all of them less the sum over its own.
    """
    sums = np.zeros_like(share)
    for change, all_of, own in zip(
        changes,
        (orders[0].gram, orders[1].history, orders[1].gram, orders[2].history, orders[2].gram),
        (orders[0].unit_gram, orders[1].unit_history, orders[1].unit_gram, orders[2].unit_history, orders[2].unit_gram),
        strict=True,
    ):
        values = change * share
        sums += sums_of(all_of, values)[all_of] - sums_of(own, values)[own]
    return sums


def _with_gram(counts: Counts, shift: int) -> Counts:
    """Counts with an occurrence of the n-gram taken out, or put in."""
    is_other_type = counts.own + min(shift, 0) <= ROUNDING
    return _possible(Counts(counts.own + shift, counts.total + shift, counts.types + shift * is_other_type))


def _with_history(counts: Counts, shift: int, *, is_new: bool) -> Counts:
    """The same of the history before another word: after two words usually a new one, after one word a frequent one."""
    return _possible(Counts(counts.own, counts.total + shift, counts.types + shift * is_new))


def _possible(counts: Counts) -> Counts:
    """Counts within their range: a history that occurs is followed by one word at least."""
    count, total = np.maximum(counts.own, 0), np.maximum(counts.total, 0)
    return Counts(count, total, np.maximum(counts.types, total > 0))
