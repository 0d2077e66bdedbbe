"""Wording: how predictable captions are beside people's, and the phrases that give a system away."""

import functools
import heapq
import itertools
import math
import os
import warnings
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.special

from .base import (
    Floats,
    InputError,
    Ints,
    Option,
    TokenRows,
    as_both_rows,
    by_value,
    check_count_table,
    check_number,
    is_count,
    plain_arguments,
    quote_value,
    read_json,
)
from .caption_sets import (
    TIE_TOLERANCE,
    ClusteredMean,
    check_clusters,
    cluster_numbers,
    clustered_mean,
    mean_interval,
    with_interval,
)
from .parity_tails import TAIL, PeopleDistances, TailShare, Threshold, quantile_interval, tail_share
from .row_images import clusters_of_images, repeated_texts
from .tokenization import RowTexts, Tokenizer, WordNumbers, check_same_tokenizer, number_keys, word_ids

# --------------------------------------------------------------------------------------------------------------------
# Wording: are candidates put into words as people's captions are? An n-gram model of people's captions says so.
#
# SLOR of a caption (Pauls and Klein 2012, https://aclanthology.org/P12-1101; Kann et al. 2018,
# https://aclanthology.org/K18-1031) is the mean over its words and its end of log p(word | the two words before) -
# log p(word): how well the words follow each other, whatever rare things they name. p is a trigram model with
# interpolated absolute discounting (Ney et al. 1994, https://doi.org/10.1006/csla.1994.1001), with D = 0.75 and p = 1
# / (V + 1) at its end, where V is the number of distinct words of all references and the end mark:
#
#     p(w | h) = (max(c(h w) - D, 0) + D t(h) p(w | h')) / c(h)
#
# where c(h) is the sum of c(h w), t(h) the number of w with c(h w) > 0, and h' is h without its first word; if c(h) =
# 0 it is p(w | h'). Counts are over the references of all other rows: what a row, or its cluster, adds is subtracted.
# So a reference and a candidate are scored by one model that has seen neither; if people wrote both, they are
# exchangeable.
#
# A candidate is odd if 19 of 20 human captions have a larger SLOR, and formulaic if they have a smaller one; people
# give 5% of each. The wording gap of a row is the mean SLOR of its candidates less its references' mean. Rows share the
# model: the gaps of rows with similar captions are correlated, and `wording_test` adds these covariances to the
# variance. The slow versions of all this are in tests/oracles/wording_loop.py.

# Absolute discount of every count.
DISCOUNT = 0.75

# Of sums of weights: no larger ones are 0.
ROUNDING = 1e-9

# Numbers of the marks before and after a caption; words have those after them.
BEGIN, END, N_MARKS = 0, 1, 2

# Ends of people's SLOR by the names of results.
WORDING_SHARES = {"odd_wording_share": -1, "formulaic_share": 1}

# What people's own captions have of a share, each by the model of the others' rows.
OF_PEOPLE = {name: f"{name}_of_people" for name in ("odd_wording_share", "faulty_share")}

# Captions, and pairs of captions, that are listed.
N_LISTED = 100

# Layout of the file of a language model: trigrams as three tokens joined by blanks, where an empty token is the mark
# before or after a caption; and how to make one.
LANGUAGE_MODEL_LAYOUT = '{"n_captions": 8092, "trigrams": {"  a": 312, " a dog": 40, ...}}'
HOW_TO_MAKE_A_MODEL = "Make one with `manycaps count-ngrams`."

# Rows, or clusters, from which on wording is measured: with fewer, the model knows next to nothing.
LEAST_ROWS_OF_WORDING = 10

# What is said of rows that have one reference each.
WORDING_ALONE = (
    "references: expected two per row, since people are compared with each other, got one. Wording alone is measured; "
    "all other values are NaN."
)


class LanguageModel(NamedTuple):
    """How often each trigram occurs in a corpus of captions; see `LANGUAGE_MODEL_LAYOUT`."""

    trigrams: Mapping[str, int]
    n_captions: int


def check_language_model(source: object) -> None:
    """Raise unless `source` is None, a mapping, or the path of a file that exists; the counts are not read."""
    if source is not None:
        check_count_table(source, "language_model", "", HOW_TO_MAKE_A_MODEL)


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
            raise InputError(
                f"language_model[{quote_value(trigram)}]",
                "three tokens joined by blanks and a whole number from 1 on",
                quote_value(count),
                HOW_TO_MAKE_A_MODEL,
            )
    return LanguageModel(trigrams, n_captions)


def caption_trigrams(tokens: Sequence[str]) -> list[str]:
    """Return the trigrams of a caption as a language model's file names them.

    >>> caption_trigrams(["a", "dog"])
    ['  a', ' a dog', 'a dog ']
    """
    marked = ["", "", *tokens, ""]
    return [" ".join(marked[i : i + 3]) for i in range(len(marked) - 2)]


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


class Texts(NamedTuple):
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


@dataclass(frozen=True)
class WordingRows:
    """The wording of all rows: texts row by row, candidates first."""

    # int64 array, shape (n_rows, 2): numbers of candidates and of references, at least 1.
    sizes: Ints
    # float64 arrays, shape (n_texts,): SLOR, and how much larger the sum of the gaps of all other rows is if the text
    # is among the references of its row, to first order: beside the references as they are, 0 for candidates; and
    # beside those that random splits have. 0 where the model comes from another corpus.
    slor: Floats
    influence: Floats
    split_influence: Floats

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
        influences = self.influence[chosen] * share, self.split_influence[chosen] * share
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
    counts = [others_counts(order, texts.weight) for order in texts.orders]
    words, n_texts = _n_words(texts), len(texts.length)
    starts = np.cumsum(texts.length) - texts.length
    ratios = _log_ratios(counts, words)[: int(texts.length.sum())]
    slor = np.add.reduceat(ratios, starts) / texts.length
    if not is_tested:
        return WordingRows(texts.sizes, slor, np.zeros(n_texts), np.zeros(n_texts))
    # The share of a position in the sum of gaps: its text's share, over the text's length.
    m, n = texts.sizes[RowTexts(texts.sizes.sum(axis=1)).row].T
    is_reference = are_references(texts.sizes)
    share = (np.where(is_reference, -1 / n, 1 / m) / texts.length)[texts.text]
    influence = np.add.reduceat(_influences(texts.orders, counts, words, share, 1.0), starts)
    # Under random splits every text is a reference with this chance.
    chance = n / (m + n)
    expected = [others_counts(order, chance[texts.text]) for order in texts.orders]
    split_influence = np.add.reduceat(_influences(texts.orders, expected, words, share, float(chance.mean())), starts)
    return WordingRows(texts.sizes, slor, np.where(is_reference, influence, 0.0), split_influence)


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
        n_positions = len(texts.text)
        share = (slopes / texts.length)[texts.text[:n_positions]]
        influence = _influences(texts.orders, self.counts, _n_words(texts), share, 1.0)
        starts = np.cumsum(texts.length) - texts.length
        of_sentences = np.where(are_references(texts.sizes), np.add.reduceat(influence, starts), 0.0)
        return side_sums(of_sentences, texts.sizes)[:, 1]


def sentence_scores(texts: Texts, *, is_tested: bool) -> SentenceScores:
    """Score sentences by the references of other rows; a row of `texts` has all sentences of its candidates, first.

    Without the price of a new continuation, words that nobody knows would make a sentence less odd: its term is 0
    behind an unknown word, where nothing is known of what follows. `is_tested` is False for another corpus's model.
    """
    counts = [others_counts(order, texts.weight) for order in texts.orders]
    n_positions = int(texts.length.sum())
    _, total, types = (of[:n_positions] for of in counts[1])
    is_known = (total > 0) & are_references(texts.sizes)[texts.text[:n_positions]]
    mass = np.minimum(DISCOUNT * types[is_known] / total[is_known], 1.0)
    novelty = math.exp(math.fsum(np.log(mass)) / len(mass)) if len(mass) else 1.0
    ratios = _log_ratios(counts, _n_words(texts), novelty)[:n_positions]
    scores = np.add.reduceat(ratios, np.cumsum(texts.length) - texts.length) / texts.length
    return SentenceScores(texts, scores, counts if is_tested else None)


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


def _n_words(texts: Texts) -> int:
    """Number of distinct words that count in the model, and its end mark."""
    return len(np.unique(texts.word[texts.weight > 0]))


def _log_ratios(counts: Sequence[Counts], n_words: int, novelty: float = 1.0) -> Floats:
    """Logarithm of p(word | two words before) / p(word) at every position.

    Behind a word that nobody else wrote p(word | word before) is `novelty` times p(word).
    """
    p: Floats = np.full(len(counts[0].own), 1 / (n_words + 1))
    probabilities = []
    for order, (count, total, types) in enumerate(counts):
        # The smaller one is another only of counts that are no whole numbers.
        discounted = np.maximum(count - DISCOUNT, 0) + np.minimum(DISCOUNT * types, total) * p
        p = np.divide(discounted, total, out=p * novelty if order == 1 else p.copy(), where=total > 0)
        probabilities.append(p)
    ratios: Floats = np.log(probabilities[-1]) - np.log(probabilities[0])
    return ratios


def _influences(
    orders: Sequence[Order], counts: Sequence[Counts], n_words: int, share: Floats, weight: float
) -> Floats:
    """What the sum of the gaps of other units gains if each position's trigram is in the model, not out of it.

    `share` is each position's part of the sum, and `weight` what an occurrence has in the counts: 1, or the chance that
    it is in the model. A position x changes with an occurrence y by how much of its trigram they share: the word alone,
    the word and one before, all three; or the history alone, of one word or of two, which another word follows. A sum
    over all x of a unit's others is the sum over all x less the sum over its own.
    """

    def effect(changed: Sequence[int], *, history_alone: bool = False) -> Floats:
        """Effect on positions that share the n-gram of these orders, or their history alone."""
        sides = []
        for shift in (-weight, 1 - weight):
            side = list(counts)
            for order in changed:
                side[order] = (_with_history if history_alone else _with_gram)(counts[order], order, shift, weight)
            sides.append(_log_ratios(side, n_words))
        _, total, _ = largest = counts[changed[-1]]
        is_possible = total - largest.own > ROUNDING if history_alone else largest.own > ROUNDING
        return np.where(is_possible, (sides[1] - sides[0]) * share, 0.0)

    word, pair, trigram = effect([0]), effect([0, 1]), effect([0, 1, 2])
    after_one, after_two = effect([1], history_alone=True), effect([1, 2], history_alone=True)
    sums = np.zeros_like(share)
    for values, all_of, own in (
        (word, orders[0].gram, orders[0].unit_gram),
        (after_one, orders[1].history, orders[1].unit_history),
        (pair - word - after_one, orders[1].gram, orders[1].unit_gram),
        (after_two - after_one, orders[2].history, orders[2].unit_history),
        (trigram - pair - after_two + after_one, orders[2].gram, orders[2].unit_gram),
    ):
        sums += sums_of(all_of, values)[all_of] - sums_of(own, values)[own]
    return sums


def _with_gram(counts: Counts, _order: int, shift: float, weight: float) -> Counts:
    """Counts with an occurrence of the n-gram, of some weight, taken out or put in whole."""
    is_only_one = (counts.own <= weight + ROUNDING) & (shift < 0)
    return _possible(Counts(counts.own + shift, counts.total + shift, counts.types - is_only_one))


def _with_history(counts: Counts, order: int, shift: float, _weight: float) -> Counts:
    """The same of the history before another word: after two words usually a new one, after one word a frequent one."""
    return _possible(Counts(counts.own, counts.total + shift, counts.types - (order == 2 and shift < 0)))


def _possible(counts: Counts) -> Counts:
    """Counts within their range: a history that occurs is followed by one word at least."""
    count, total = np.maximum(counts.own, 0), np.maximum(counts.total, 0)
    return Counts(count, total, np.maximum(counts.types, total > 0))


class WordingTest(NamedTuple):
    """The gap of all rows, in natural logarithms per word, positive where candidates are the more predictable ones."""

    gap: float
    # Ends of the interval, and the two-sided p-value of "people wrote the candidates"; NaN where there is none.
    low: float
    high: float
    p_value: float


def wording_test(
    rows: WordingRows, clusters: Sequence[Hashable] | None = None, confidence_level: float | None = None
) -> WordingTest:
    """Test the mean gap, and give its interval.

    If people wrote the candidates, every split of a row's N texts x into m candidates and n references is equally
    likely, and the variance of the sum of gaps is, in closed form,

        sum over rows of (1 / m + 1 / n) cov(x, x) - cov(x, k),   cov with N - 1,

    k being the influence of a text beside the references of random splits: the second term is the covariance of the
    gaps of two rows, each of which is scored by the references of the other. It is positive, and added where its
    estimate is. The sum over its root is normal.
    Rows in clusters: Student's, of the sums over clusters; the model leaves clusters out.

    The interval is the jackknife's to first order: of the row's gap and of what its references do to others. NaN below
    `LEAST_ROWS_OF_WORDING` rows or clusters; the p-value also where no split changes the gap.
    """
    gaps = rows.gaps
    numbers = np.arange(len(rows.sizes)) if clusters is None else cluster_numbers(clusters)
    sizes = np.bincount(numbers)
    if len(sizes) < LEAST_ROWS_OF_WORDING:
        return WordingTest(math.nan, math.nan, math.nan, math.nan)
    gap = math.fsum(gaps) / len(gaps)
    influence = side_sums(rows.influence, rows.sizes)[:, 1]
    low = high = math.nan
    if confidence_level is not None:
        pseudo_values = gaps + influence - influence.mean()
        pseudo_mean = clustered_mean(sums_of(numbers, pseudo_values), sizes)
        low, high = mean_interval(pseudo_mean._replace(mean=gap), confidence_level)
    if clusters is not None:
        split_influence = side_sums(rows.split_influence, rows.sizes)[:, 1]
        return WordingTest(gap, low, high, _clustered_p_value(sums_of(numbers, gaps), split_influence, numbers, sizes))
    variance = _split_variance(rows)
    p_value = 2 * float(scipy.special.ndtr(-abs(gap) * len(gaps) / math.sqrt(variance))) if variance > 0 else math.nan
    return WordingTest(gap, low, high, p_value)


def _split_variance(rows: WordingRows) -> float:
    """Variance of the sum of gaps under random splits of all rows."""
    n_texts, row = rows.sizes.sum(axis=1), rows.texts.row

    def centre(values: Floats) -> Floats:
        differences: Floats = values - (np.add.reduceat(values, rows.texts.first[:-1]) / n_texts)[row]
        return differences

    slor, influence = centre(rows.slor), centre(rows.split_influence)
    slor[np.abs(slor) <= TIE_TOLERANCE] = 0.0
    row_variances = np.add.reduceat(slor**2, rows.texts.first[:-1]) / (n_texts - 1) * (1 / rows.sizes).sum(axis=1)
    between = np.add.reduceat(slor * influence, rows.texts.first[:-1]) / (n_texts - 1)
    return math.fsum(row_variances) + max(0.0, -math.fsum(between))


def _clustered_p_value(sums: Floats, influence: Floats, numbers: Ints, sizes: Ints) -> float:
    """p-value of Student's distribution, of the sums of gaps over clusters."""
    mean_gap: ClusteredMean = clustered_mean(sums, sizes)
    if not mean_gap.standard_error > 0:
        return math.nan
    cluster_influence = sums_of(numbers, influence)
    between = math.fsum((sums - sums.mean()) * (cluster_influence - cluster_influence.mean())) / sizes.sum() ** 2
    error = math.sqrt(mean_gap.standard_error**2 + max(0.0, between))
    return 2 * float(scipy.special.stdtr(len(sizes) - 1, -abs(mean_gap.mean) / error))


class WordingShares(NamedTuple):
    """Odd and formulaic candidates."""

    # By the names of `WORDING_SHARES`.
    shares: Mapping[str, TailShare]
    # People's SLOR.
    people: PeopleDistances


def wording_shares(
    rows: WordingRows, clusters: Sequence[Hashable] | None = None, confidence_level: float | None = None
) -> WordingShares:
    """Compute the shares of candidates that are odd and formulaic, with intervals as `corpus_tails` has them."""
    people_slor, n_references = rows.slor[rows.is_reference], rows.sizes[:, 1]
    count = np.repeat(n_references, n_references)
    people = PeopleDistances({n: people_slor[count == n] for n in np.unique(n_references).tolist()})
    shares = {}
    for name, sign in WORDING_SHARES.items():
        side_shares = side_sums(people.threshold(sign, TAIL).shares(rows.slor), rows.sizes) / rows.sizes
        n_candidates = int(rows.sizes[:, 0].sum())
        share = tail_share(side_shares[:, 0], side_shares[:, 1], clusters, n_candidates)
        if confidence_level is not None and share.candidates.n_clusters > 1:
            ends = quantile_interval(share.people.standard_error, people, confidence_level)
            below, above, near = (_mean_share(rows, people.threshold(sign, end)) if end else 0.0 for end in ends[:3])
            share = share.with_interval(ends.far(below, above), near, confidence_level)
        shares[name] = share
    return WordingShares(shares, people)


def _mean_share(rows: WordingRows, threshold: Threshold) -> float:
    """Mean over rows of the candidates' share beyond a threshold."""
    sums = side_sums(threshold.shares(rows.slor), rows.sizes)[:, 0]
    return math.fsum(sums / rows.sizes[:, 0]) / len(sums)


class CorpusWording(NamedTuple):
    """Wording of the candidates of all rows beside people's."""

    rows: WordingRows
    test: WordingTest
    # By the names of a module's result.
    shares: Mapping[str, TailShare]
    # How far each candidate is unlike people's by its distances, or odd: n_rows lists; None without distances.
    faulty: Sequence[Sequence[float]] | None = None

    @property
    def is_measured(self) -> bool:
        """Whether there are enough rows."""
        return not math.isnan(self.test.gap)

    def result(self, confidence_level: float | None, *, is_tested: bool = True) -> dict[str, float]:
        """Return the values by the keys of a module's result, all NaN where there are too few rows."""
        result = with_interval("wording_gap", (self.test.gap, self.test.low, self.test.high), confidence_level)
        if is_tested:
            result["wording_p_value"] = self.test.p_value
        for name, share in self.shares.items():
            result |= with_interval(name, (share.value, share.low, share.high), confidence_level)
            if name in OF_PEOPLE:
                ends = (math.nan, math.nan)
                if confidence_level is not None:
                    ends = mean_interval(share.people, confidence_level)
                low, high = np.clip(ends, 0, 1).tolist()
                result |= with_interval(OF_PEOPLE[name], (share.people.mean, low, high), confidence_level)
        return result if self.is_measured else dict.fromkeys(result, math.nan)

    def lists(self) -> dict[str, Any]:
        """Return the values of rows and candidates, and `N_LISTED` candidates, the oddest first."""
        slor = self.rows.candidate_slor()
        scored = ((value, row, i) for row, values in enumerate(slor) for i, value in enumerate(values))
        lists = {
            "wording_gap_per_row": self.rows.gaps.tolist(),
            **{f"{name}_per_row": share.rows.tolist() for name, share in self.shares.items()},
            "wording_per_candidate": slor,
            "oddest_wording": [[row, i] for _, row, i in heapq.nsmallest(N_LISTED, scored)],
        }
        return lists if self.faulty is None else {**lists, "faulty_per_candidate": [list(row) for row in self.faulty]}

    def warn_of_few_rows(self) -> None:
        """Warn where wording is left out for want of rows."""
        if not self.is_measured:
            warnings.warn(
                f"wording: expected {LEAST_ROWS_OF_WORDING} rows or clusters for a model of how people put things, got "
                f"{len(self.rows.sizes)} rows. Its values are NaN.",
                stacklevel=2,
            )


def corpus_wording(
    rows: WordingRows, clusters: Sequence[Hashable] | None = None, confidence_level: float | None = None
) -> CorpusWording:
    """Put the test and the shares of all rows together."""
    shares = wording_shares(rows, clusters, confidence_level).shares
    return CorpusWording(rows, wording_test(rows, clusters, confidence_level), shares)


class HumanWording(NamedTuple):
    """How predictable candidates are beside human captions; NaN below ten rows, or clusters."""

    # Mean SLOR less people's, with the ends of its interval and its two-sided p-value.
    gap: float
    low: float
    high: float
    p_value: float
    # Shares of the candidates that are less, and more, predictable than 19 of 20 human captions: 0.05 each for people.
    odd_wording_share: float
    formulaic_share: float
    # SLOR of every candidate, n_rows lists.
    slor: list[list[float]]


@plain_arguments
def human_wording(
    candidates: TokenRows,
    references: TokenRows,
    confidence_level: float | None = None,
    clusters: Sequence[Hashable] | None = None,
) -> HumanWording:
    """Say how predictable the words of candidates are to an n-gram model of people's captions of all other rows.

    SLOR, the mean over words of log p(word | two before) - log p(word), of the candidates less the references' SLOR.

    Args:
        candidates: n_rows lists of token lists, at least one text per row.
        references: the same for the references.
        confidence_level: between 0 and 1, for an interval of the gap; None: none.
        clusters: n_rows labels, equal ones for rows that depend on each other; None: all rows are independent.

    Returns:
        The gap, in natural logarithms per word, its test, the shares, and the SLOR of every candidate.

    Raises:
        TypeError, ValueError: a text is not a list of tokens, the columns differ in length, a row has no text on one
            side, or labels are missing.

    >>> places = [f"street{number}" for number in range(24)]
    >>> people = [[["a", "dog", "in", place], ["the", "dog", "in", place]] for place in places]
    >>> wording = human_wording([[["in", "a", "dog", place]] for place in places], people)
    >>> wording.gap < 0, wording.p_value < 0.01, wording.odd_wording_share
    (True, True, 1.0)
    """
    candidates, references = as_both_rows(candidates, references)
    if confidence_level is not None:
        check_number("confidence_level", confidence_level, 0, 1)
    if clusters is not None:
        clusters = check_clusters(clusters, len(candidates))
    repeated_texts(references).warn()
    clusters = clusters_of_images(clusters, references, candidates)
    corpus = corpus_wording(wording_rows(candidates, references, clusters), clusters, confidence_level)
    result = corpus.result(None)
    shares = result["odd_wording_share"], result["formulaic_share"]
    return HumanWording(*corpus.test, *shares, corpus.rows.candidate_slor())


# --------------------------------------------------------------------------------------------------------------------
# Phrases that give candidates away: those that they have more often, or less often, than people's captions have.
#
# A phrase is one to three words, among them the marks of the beginning and of the end of a caption. The slow version
# is in tests/oracles/wording_loop.py.

# Phrases are named at this rate of false discoveries, are in so many texts at least, and have three words at most,
# marks included. The most that are named.
DISCOVERY_RATE = 0.05
LEAST_TEXTS = 10
MOST_PHRASES = 20

# Steps towards the best exponent of a bound.
N_NEWTON_STEPS = 8


class Phrase(NamedTuple):
    """A phrase that candidates have more often, or less often, than people's captions have."""

    # One to three words, and whether it is the beginning, or the end, of the captions that have it.
    phrase: str
    begins: bool
    ends: bool
    # Mean over rows of the shares of candidates, and of references, that have it.
    share: float
    share_of_people: float
    # Adjusted for all phrases.
    p_value: float


def telling_phrases(texts: Texts, clusters: Sequence[Hashable] | None = None) -> list[Phrase]:
    """Name the phrases that give the candidates away, the largest difference from people first.

    Under random splits of every row, the difference of both shares is a sum over rows of weighted hypergeometric
    numbers, whose tail has Chernoff's bound exp(K(t) - t x) for any t > 0, K being the logarithm of the generating
    function. Twice the bound is a p-value, however rare the phrase. Rows of a cluster may depend on each other in any
    way: by Hoelder's inequality K is at most the mean over the cluster's rows of K(c t), c being their number. False
    discoveries are controlled as by Benjamini and Hochberg (1995), https://doi.org/10.1111/j.2517-6161.1995.tb02031.x.
    Of phrases that contain each other the one with the larger difference is named.
    """
    phrase_numbers, rows, counts, names = _phrases_of_rows(texts)
    if not len(phrase_numbers):
        return []
    m, n = texts.sizes[rows].T
    n_rows, n_phrases = len(texts.sizes), len(names)
    shares = [sums_of(phrase_numbers, counts[:, side] / texts.sizes[rows, side]) / n_rows for side in (0, 1)]
    differences = shares[0] - shares[1]
    per_cluster = np.ones(len(rows), dtype=np.int64)
    if clusters is not None:
        numbers = cluster_numbers(clusters)
        per_cluster = np.bincount(numbers)[numbers][rows]
    log_bounds = _log_bounds(phrase_numbers, np.stack((m, n, counts.sum(axis=1), per_cluster)), differences * n_rows)
    p_values = np.minimum(1.0, 2 * np.exp(log_bounds))
    order = np.argsort(p_values, kind="stable")
    adjusted = np.empty(n_phrases)
    steps = p_values[order] * n_phrases / np.arange(1, n_phrases + 1)
    adjusted[order] = np.minimum(1.0, np.minimum.accumulate(steps[::-1])[::-1])
    named: list[tuple[bool, tuple[str, ...]]] = []
    phrases: list[Phrase] = []
    # Of phrases that the same captions have, the longest comes first.
    largest_first = sorted(
        np.flatnonzero(adjusted <= DISCOVERY_RATE).tolist(),
        key=lambda i: (-round(abs(float(differences[i])), 9), -len(names[i])),
    )
    for i in largest_first:
        words, is_more = names[i], bool(differences[i] > 0)
        if len(phrases) == MOST_PHRASES:
            break
        if any(is_more == sign and (_contains(words, other) or _contains(other, words)) for sign, other in named):
            continue
        named.append((is_more, words))
        text = " ".join(filter(None, words))
        share, people_share, p_value = float(shares[0][i]), float(shares[1][i]), float(adjusted[i])
        phrases.append(Phrase(text, not words[0], not words[-1], share, people_share, p_value))
    return phrases


def _contains(words: tuple[str, ...], others: tuple[str, ...]) -> bool:
    """Whether words contain others, one behind the other."""
    return any(words[i : i + len(others)] == others for i in range(len(words) - len(others) + 1))


def _phrases_of_rows(texts: Texts) -> tuple[Ints, Ints, Ints, list[tuple[str, ...]]]:
    """The phrases of every row that enough texts have: phrase, row, and how many texts of either side, (n, 2)."""
    n_texts, layout = len(texts.length), RowTexts(texts.sizes.sum(axis=1))
    is_reference = are_references(texts.sizes)
    is_row = texts.text < n_texts
    beyond_marks = texts.word != END, (texts.before != BEGIN) | (texts.word != END), texts.before != BEGIN

    def word(number: int) -> str:
        """Return the word of a number; the marks are empty."""
        return texts.vocabulary[number - N_MARKS] if number >= N_MARKS else ""

    parts, names, n_earlier = [], list[tuple[str, ...]](), 0
    for n, (order, is_phrase) in enumerate(zip(texts.orders, beyond_marks, strict=True)):
        chosen = np.flatnonzero(is_row & is_phrase)
        n_grams = len(order.history_of_gram)
        pairs = np.unique(texts.text[chosen] * n_grams + order.gram[chosen])  # each phrase of a text once
        text, gram = np.divmod(pairs, n_grams)
        frequent = np.bincount(gram, minlength=n_grams) >= LEAST_TEXTS
        text, gram = text[frequent[gram]], gram[frequent[gram]]
        position = np.zeros(n_grams, dtype=np.int64)
        position[order.gram[chosen]] = chosen
        columns = (texts.two_before, texts.before, texts.word)[2 - n :]
        names += [
            tuple(word(int(column[position[g]])) for column in columns) for g in np.flatnonzero(frequent).tolist()
        ]
        number = np.cumsum(frequent) - 1 + n_earlier
        n_earlier += int(frequent.sum())
        parts.append(np.stack((number[gram], layout.row[text], is_reference[text])))
    number, row, side = np.concatenate(parts, axis=1)
    n_rows = len(texts.sizes)
    keys, place = np.unique(number * n_rows + row, return_inverse=True)
    counts = np.bincount(place * 2 + side, minlength=2 * len(keys)).reshape(-1, 2)
    phrase_numbers, rows = np.divmod(keys, n_rows)
    return phrase_numbers, rows, counts, names


def _log_bounds(phrase_numbers: Ints, kinds: Ints, differences: Floats) -> Floats:
    """Logarithm of Chernoff's bound of the tail beyond each phrase's summed difference, on its side.

    `kinds`, shape (4, n): of each row of each phrase the numbers of candidates, of references, of texts that have the
    phrase, and of the rows of its cluster.
    """
    distinct, kind = np.unique(kinds, axis=1, return_inverse=True)
    keys, number = np.unique(phrase_numbers * distinct.shape[1] + kind.ravel(), return_counts=True)
    phrase, kind = np.divmod(keys, distinct.shape[1])
    sides, x = np.sign(differences), np.abs(differences)
    by_kind = np.argsort(kind, kind="stable")
    ends = np.searchsorted(kind[by_kind], np.arange(distinct.shape[1] + 1))
    groups = [by_kind[first:end] for first, end in itertools.pairwise(ends)]
    values = [_split_differences(*column) for column in distinct.T.tolist()]

    def cumulants(t: Floats) -> tuple[Floats, Floats, Floats]:
        """Return K(t) and its first two derivatives."""
        sums = np.zeros((3, len(x)))
        for rows, (split_difference, log_chance), size in zip(groups, values, distinct[3].tolist(), strict=True):
            at = phrase[rows]
            value = sides[at, None] * split_difference * size
            exponents = log_chance + t[at, None] * value
            largest = exponents.max(axis=1, keepdims=True)
            chances = np.exp(exponents - largest)
            total = chances.sum(axis=1, keepdims=True)
            first, second = ((chances * value**power).sum(axis=1) / total[:, 0] for power in (1, 2))
            row_cumulants = np.log(total[:, 0]) + largest[:, 0], first, second - first**2
            for i, cumulant in enumerate(row_cumulants):
                sums[i] += sums_of(at, cumulant * number[rows] / size, len(x))
        return sums[0], sums[1], sums[2]

    t, best = np.zeros(len(x)), np.zeros(len(x))
    for _ in range(N_NEWTON_STEPS):
        k, slope, curvature = cumulants(t)
        best = np.minimum(best, k - t * x)
        step = np.divide(x - slope, curvature, out=np.zeros_like(t), where=curvature > 0)
        t = np.clip(t + step, t / 4, 4 * t + 1)
    return np.minimum(best, cumulants(t)[0] - t * x)


def _split_differences(m: int, n: int, k: int, _size: int) -> tuple[Floats, Floats]:
    """The difference of both shares, and the logarithm of its chance, where k of m + n texts have a phrase."""
    i = np.arange(max(0, k - n), min(m, k) + 1)

    def log_binomial(total: int, part: Ints | int) -> Any:
        return (
            scipy.special.gammaln(total + 1)
            - scipy.special.gammaln(np.add(part, 1))
            - scipy.special.gammaln(np.subtract(total, part) + 1)
        )

    chance: Floats = log_binomial(m, i) + log_binomial(n, k - i) - log_binomial(m + n, k)
    return i / m - (k - i) / n, chance
