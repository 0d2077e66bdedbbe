"""CIDEr, CIDEr-D, BLEU and ROUGE-L, and the counts of n-grams and documents that they rest on."""

import itertools
import math
import os
import warnings
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse

from .base import Floats, Ints, Masks, TokenList, TokenRows, check_count_table, path_state, read_count_table
from .tokenization import RowTexts, ngram_ids, ngram_tokens, numbered, same_tokens, word_ids

# --------------------------------------------------------------------------------------------------------------------
# N-grams that candidates share with their own references: statistics of BLEU and CIDEr, as the COCO caption code
# sums.
#
# Sums run over the n-grams of a text in the order of their first use, as in that code (pycocoevalcap 1.2): every
# score is the same to the last bit, whatever the other rows are. Of large data one order of n-grams is in memory at a
# time.

# N-gram orders 1 to 4, equally weighted, the standard deviation of CIDEr-D's length penalty, in bigrams, and its scale
# (Vedantam et al. 2015, section 4, https://arxiv.org/abs/1411.5726; pycocoevalcap 1.2, cider.py).
MAX_ORDER, LENGTH_SIGMA, CIDER_D_MAXIMUM = 4, 6.0, 10.0

# Words of all texts up to which the n-grams of all orders are kept for the next score: 0.3 kB each.
MOST_KEPT_WORDS = 1 << 20

# Bits of a key that is sorted as one number.
KEY_BITS = 63

# Number of documents with an n-gram, from its tokens: for frequencies that were counted elsewhere.
Frequency = Callable[[tuple[str, ...]], float]


class NgramOrder(NamedTuple):
    """N-grams of one order. An entry is an n-gram of a text."""

    # Of each entry: number of its text, of its n-gram, index of the last word of its first use, and term frequency.
    text: Ints
    ngram: Ints
    position: Ints
    frequency: Ints
    # Entries of candidates and of references of the same row and n-gram: in the order of the candidate's text.
    of_candidate: Ints
    of_reference: Ints
    # Number of rows in whose references each n-gram occurs.
    documents: Ints


def document_ngrams(captions: Sequence[Sequence[str]]) -> dict[str, None]:
    """Return the n-grams of 1 to 4 tokens of a document, joined by blanks, each once, in the order of their end.

    >>> list(document_ngrams([["a", "dog"], ["a"]]))
    ['a', 'dog', 'a dog']
    """
    return {
        " ".join(tokens[end - order : end]): None
        for tokens in captions
        for end in range(1, len(tokens) + 1)
        for order in range(1, min(MAX_ORDER, end) + 1)
    }


def are_equal_documents(documents: Iterable[Sequence[Sequence[str]]]) -> bool:
    """Return whether several documents have the same n-grams, all of which then weigh log(1) = 0.

    >>> are_equal_documents([[["a", "dog"]], [["a", "dog"], ["a"]]]), are_equal_documents([[["a"]]])
    (True, False)
    """
    ngrams = (document_ngrams(captions).keys() for captions in documents)
    first, second = next(ngrams, None), next(ngrams, None)
    return bool(first) and first == second and all(first == other for other in ngrams)


def warn_of_equal_documents(documents: Sequence[Sequence[Sequence[str]]], column: str = "references") -> None:
    """Warn where document frequencies are counted in rows with the same n-grams, and CIDEr is 0 for every caption."""
    warn_of_no_weight(len(documents) if are_equal_documents(documents) else 0, column)


def warn_of_no_weight(n_equal: int, column: str = "references") -> None:
    """Warn where all rows in which document frequencies are counted, `n_equal` of them, have the same n-grams."""
    if n_equal:
        warnings.warn(
            f"{column}: expected rows with different captions to count document frequencies in, got {n_equal} with the "
            "same n-grams: each of these is in every row, its weight is log(1) = 0, and so is CIDEr, whatever "
            "the captions. Count in more rows, or give a table of document frequencies.",
            stacklevel=3,
        )


class ReferenceNgrams:
    """N-grams of the candidates and the references of every row."""

    def __init__(self, words: Sequence[str], lengths: Ints, n_candidates: Ints, n_references: Ints) -> None:
        """Number the words of the texts of all rows: row after row, candidates first.

        `lengths` is int64, shape (n_texts,): number of words of each text; `n_candidates` and `n_references` are int64,
        shape (n_rows,), at least one.
        """
        self.n_candidates, self.n_references, self.lengths = n_candidates, n_references, lengths
        sizes = n_candidates + n_references
        self.row = np.repeat(np.arange(len(sizes)), sizes)
        self.place = np.arange(len(lengths)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        self.is_candidate = self.place < n_candidates[self.row]
        self.candidates = np.flatnonzero(self.is_candidate)
        self.vocabulary: dict[str, int] = {}
        self.words: Ints = numbered(words, self.vocabulary)
        self.text_of_word = np.repeat(np.arange(len(lengths)), lengths)
        self._kept: list[NgramOrder] = []

    @classmethod
    def of_rows(cls, candidates: TokenRows, references: TokenRows) -> "ReferenceNgrams":
        """Take n_rows lists of at least one token list, and as many of the references."""
        texts = [text for pair in zip(candidates, references, strict=True) for row in pair for text in row]
        counts = [np.array([len(row) for row in side], np.int64) for side in (candidates, references)]
        lengths = np.array([len(text) for text in texts], np.int64)
        return cls(list(itertools.chain.from_iterable(texts)), lengths, *counts)

    def orders(self, max_order: int) -> Iterable[NgramOrder]:
        """Give the n-grams of 1 to `max_order` words, order after order."""
        if len(self.words) > MOST_KEPT_WORDS:
            return self._orders(max_order)
        if len(self._kept) < max_order:
            self._kept = list(self._orders(max_order))
        return self._kept[:max_order]

    def _orders(self, max_order: int) -> Iterator[NgramOrder]:
        start = np.cumsum(self.lengths) - self.lengths
        of_word = np.arange(len(self.words)) - start[self.text_of_word]
        ids = np.zeros(len(self.words), np.int64)  # of the n-gram of the order before that ends at each word
        for order in range(max_order):
            last = np.flatnonzero(of_word >= order)
            by_ngram, is_new = _runs(ids[last - 1] if order else ids[last], self.words[last])
            position = last[by_ngram]
            number = np.cumsum(is_new) - 1
            ids[position] = number
            yield self._order(position, number)

    def _order(self, position: Ints, number: Ints) -> NgramOrder:
        """Entries and matches out of the uses of n-grams: those of one n-gram follow each other, as in the texts."""
        text = self.text_of_word[position]
        first = np.flatnonzero(_changes(number, text))
        text, ngram = text[first], number[first]
        frequency = np.diff(first, append=len(position))
        is_new = _changes(ngram, self.row[text])
        cell = np.cumsum(is_new) - 1  # the n-gram in a row
        is_candidate = self.is_candidate[text]
        end = np.append(np.flatnonzero(is_new)[1:], len(text)) if len(text) else first
        n_references = np.bincount(cell, ~is_candidate, len(end)).astype(np.int64)
        matched = np.flatnonzero(is_candidate & (n_references[cell] > 0))
        matched = matched[np.argsort(position[first[matched]])]
        size = n_references[cell[matched]]
        of_candidate = np.repeat(matched, size)
        within = np.arange(len(of_candidate)) - np.repeat(np.cumsum(size) - size, size)
        of_reference = np.repeat(end[cell[matched]] - size, size) + within
        n_ngrams = int(ngram[-1]) + 1 if len(ngram) else 0
        documents = np.bincount(ngram[is_new][n_references > 0], minlength=n_ngrams)
        return NgramOrder(text, ngram, position[first], frequency, of_candidate, of_reference, documents)

    def bleu_statistics(self, max_order: int = MAX_ORDER) -> Ints:
        """Count the statistics of BLEU of every candidate, row after row.

        An n-gram of a candidate matches as often as it occurs in the reference that has it most often; of two
        references equally near in length the shorter one counts.

        Returns:
            int64 array, shape (n_candidates in all, 2 max_order + 2), columns as `text_bleu.STATISTICS`.

        >>> texts = ReferenceNgrams.of_rows([[["a", "a", "dog"]]], [[["a", "dog"], ["a", "red", "dog", "runs"]]])
        >>> texts.bleu_statistics()[0].tolist()
        [2, 1, 0, 0, 3, 2, 1, 0, 3, 2]
        """
        matches = [self._clipped(order) for order in self.orders(max_order)]
        lengths = self.lengths[self.candidates]
        numbers = [np.maximum(lengths - order, 0) for order in range(max_order)]
        return np.stack([*matches, *numbers, lengths, self._nearest_lengths()], axis=1)

    def _clipped(self, order: NgramOrder) -> Ints:
        """Matches of each candidate: an n-gram as often as in the reference that has it most often."""
        if not len(order.of_candidate):
            return np.zeros(len(self.candidates), np.int64)
        first = np.flatnonzero(_changes(order.of_candidate))
        most = np.maximum.reduceat(order.frequency[order.of_reference], first)
        entry = order.of_candidate[first]
        counts = np.bincount(order.text[entry], np.minimum(order.frequency[entry], most), len(self.lengths))
        return counts[self.candidates].astype(np.int64)

    def pairs(self) -> tuple[Ints, Ints]:
        """Every candidate with every reference of its row: number of the candidate, and text of the reference."""
        row = self.row[self.candidates]
        candidate = np.repeat(np.arange(len(row)), self.n_references[row])
        first = np.flatnonzero(~self.is_candidate & (self.place == self.n_candidates[self.row]))
        within = np.arange(len(candidate)) - self.first_pair()[candidate]
        return candidate, first[row[candidate]] + within

    def first_pair(self) -> Ints:
        """Number of the first pair of each candidate."""
        size = self.n_references[self.row[self.candidates]]
        return np.cumsum(size) - size

    def _nearest_lengths(self) -> Ints:
        """Length of the reference nearest in length to each candidate, the shorter one of two."""
        candidate, reference = self.pairs()
        lengths = self.lengths[reference]
        width = int(self.lengths.max(initial=0)) + 1
        keys = np.abs(lengths - self.lengths[self.candidates][candidate]) * width + lengths
        return np.minimum.reduceat(keys, self.first_pair()) % width

    def ciders(
        self,
        max_order: int = MAX_ORDER,
        *,
        sigma: float = LENGTH_SIGMA,
        is_clipped: bool = True,
        frequency: Frequency | None = None,
        n_documents: float = 0,
    ) -> Floats:
        """Score every candidate by CIDEr-D, or by CIDEr, row after row.

        CIDEr-D(c, r) = 10 exp(-(l_c - l_r)^2 / (2 sigma^2)) mean over n of
        sum over w of min(g_w(c), g_w(r)) g_w(r) / (|g(c)| |g(r)|), g_w = tf_w log(n_documents / max(1, df_w)), mean
        over the references r; l is a number of bigrams (Vedantam et al. 2015, section 4, as `text_cider`). CIDEr
        (section 3) is the cosine alone: no minimum, and no penalty.

        Args:
            max_order: largest n.
            sigma: standard deviation of the penalty.
            is_clipped: whether the score is CIDEr-D.
            frequency: document frequencies; None counts in the references, where every row is a document.
            n_documents: number of documents behind `frequency`.

        Returns:
            float64 array, shape (n_candidates in all,), 0 (worst) to 10 (best).

        >>> rows = [[["a", "red", "dog"]], [["a", "cat"]]]
        >>> ReferenceNgrams.of_rows(rows, rows).ciders().round(4).tolist()
        [7.5, 5.0]
        """
        candidate, reference = self.pairs()
        log_documents = np.log(float(n_documents if frequency else len(self.n_candidates)))
        factor = self._penalties(candidate, reference, sigma) if is_clipped and max_order > 1 else 1.0
        scores = np.zeros((len(self.candidates), max_order))
        for n, order in enumerate(self.orders(max_order)):
            documents = order.documents if frequency is None else self._counted(order, n, frequency)
            weights = log_documents - np.log(np.maximum(1.0, documents))
            cosines = self._cosines(order, weights, candidate, reference, is_clipped=is_clipped)
            scores[:, n] = _sums(candidate, cosines * factor, len(scores))
        return scores.mean(axis=1) / self.n_references[self.row[self.candidates]] * CIDER_D_MAXIMUM

    def _cosines(
        self, order: NgramOrder, weights: Floats, candidate: Ints, reference: Ints, *, is_clipped: bool
    ) -> Floats:
        """Cosine of every pair, with clipping if so."""
        values = order.frequency * weights[order.ngram]
        squares = np.zeros(len(self.words))
        squares[order.position] = values**2  # at the first use, so that they are added in the order of the text
        norms = np.sqrt(_sums(self.text_of_word, squares, len(self.lengths)))
        mine, other = values[order.of_candidate], values[order.of_reference]
        number = np.zeros(len(self.lengths), np.int64)
        number[self.candidates] = self.first_pair() - self.n_candidates[self.row[self.candidates]]
        pair = number[order.text[order.of_candidate]] + self.place[order.text[order.of_reference]]
        terms = (np.minimum(mine, other) if is_clipped else mine) * other
        products = _sums(pair, terms, len(candidate))
        scale = norms[self.candidates][candidate] * norms[reference]
        # A text of n-grams that are in every document has the norm 0, and scores 0.
        return np.divide(products, scale, out=products, where=scale != 0)

    def _penalties(self, candidate: Ints, reference: Ints, sigma: float) -> Floats:
        """Penalty of every pair, by Python's power: NumPy's differs in the last digit."""
        n_bigrams = np.maximum(self.lengths - 1, 0)
        difference = n_bigrams[self.candidates][candidate] - n_bigrams[reference]
        distinct, which = np.unique(difference, return_inverse=True)
        values = [np.e ** (-(float(value) ** 2) / (2 * sigma**2)) for value in distinct.tolist()]
        return np.array(values)[which]

    def _counted(self, order: NgramOrder, n: int, frequency: Frequency) -> Floats:
        """Number of documents with each n-gram, from a table."""
        tokens = np.array(list(self.vocabulary), dtype=object)
        first_use = np.zeros(len(order.documents), np.int64)
        first_use[order.ngram] = order.position
        ngrams = tokens[self.words[first_use[:, None] + np.arange(-n, 1)]]
        return np.array([frequency(tuple(ngram)) for ngram in ngrams.tolist()], np.float64)


def _sums(group: Ints, terms: Floats, n_groups: int) -> Floats:
    """Sum of the terms of each group, added in their order."""
    return np.bincount(group, terms, n_groups).astype(np.float64, copy=False)  # of no terms at all whole numbers


def _changes(*keys: Ints) -> np.ndarray:
    """Where a run of equal keys begins."""
    is_new = np.ones(len(keys[0]), bool)
    is_new[1:] = False
    for key in keys:
        is_new[1:] |= key[1:] != key[:-1]
    return is_new


def _runs(first: Ints, second: Ints) -> tuple[Ints, np.ndarray]:
    """Stable order by two keys of at least 0, and where a run of equal pairs begins in it."""
    bits, own = (int(key.max(initial=0)).bit_length() for key in (second, np.arange(len(first))))
    if int(first.max(initial=0)).bit_length() + bits + own <= KEY_BITS:
        # A plain sort of keys that hold their index is several times faster than an argument sort.
        packed = (first << bits | second) << own | np.arange(len(first))
        packed.sort()
        return packed & ((1 << own) - 1), _changes(packed >> own)
    order = np.lexsort((second, first))
    return order, _changes(first[order], second[order])


# --------------------------------------------------------------------------------------------------------------------
# Document frequencies from a table that was counted elsewhere: a JSON file or a mapping, never a pickle.

# Layout of a table, for messages about a bad one.
TABLE_LAYOUT = '{"n_documents": 8092, "document_frequency": {"a dog": 312, ...}}'

# How to make a table, for the messages too.
HOW_TO_MAKE_A_TABLE = "Make one with `manycaps count-document-frequency`."


class DocumentFrequency(NamedTuple):
    """Number of documents with each n-gram (1 to 4 tokens, joined by blanks), and the number of all documents."""

    counts: Mapping[str, int]
    n_documents: int


class LoadedTable(NamedTuple):
    """A table that stays loaded until its source changes."""

    frequency: DocumentFrequency
    # What changes with the source.
    state: tuple[Hashable, ...]
    # Held, so that no other mapping takes the place of this one in memory.
    source: Any


def check_document_frequency(source: object) -> None:
    """Raise unless `source` is None, a mapping, or the path of a file that exists; the table itself is not read."""
    if source is not None:
        check_count_table(source, "document_frequency", "", HOW_TO_MAKE_A_TABLE)


def load_document_frequency(source: str | os.PathLike[str] | Mapping[str, Any]) -> DocumentFrequency:
    """Read and check a table: the path of a JSON file, or a mapping, of the layout `TABLE_LAYOUT`.

    Every count is a whole number from 1 to n_documents, which is at least 2 (a single document gives no inverse
    document frequency) and at most 2**53.

    >>> load_document_frequency({"n_documents": 2, "document_frequency": {"a dog": 1}})
    DocumentFrequency(counts={'a dog': 1}, n_documents=2)
    """
    layout = f"{TABLE_LAYOUT} with 2 to 2**53 documents"
    return DocumentFrequency(*read_count_table(source, "document_frequency", 2, layout, HOW_TO_MAKE_A_TABLE))


def reloaded_table(source: str | os.PathLike[str] | Mapping[str, Any], last: LoadedTable | None) -> LoadedTable:
    """Return the table that was loaded last, or load it where the source is another one or has changed since."""
    if isinstance(source, Mapping):  # whose counts are read where they stand
        state: tuple[Hashable, ...] = id(source), source.get("n_documents"), id(source.get("document_frequency"))
    else:
        state = path_state(source)
    if last is not None and last.state == state:
        return last
    return LoadedTable(load_document_frequency(source), state, source)


def check_enough_documents(n_rows: int) -> None:
    """Raise if document frequencies cannot be counted in the references, because there is only one row of them."""
    if n_rows < 2:
        raise ValueError(
            "references: expected at least 2 rows to count document frequencies in, got 1. Add rows, or give "
            f"document_frequency= a table. {HOW_TO_MAKE_A_TABLE}"
        )


# --------------------------------------------------------------------------------------------------------------------
# CIDEr-D of Vedantam et al. (2015), https://arxiv.org/abs/1411.5726, between all texts of many rows at once.
#
# Follows the COCO caption code, which defines the published numbers, where it differs from the paper.


def document_frequencies(documents: Iterable[Sequence[Sequence[str]]]) -> dict[str, int]:
    """Count the documents in which each n-gram of 1 to 4 tokens, joined by blanks, occurs.

    >>> document_frequencies([[["a", "dog"], ["a", "cat"]], [["a"]]])
    {'a': 2, 'dog': 1, 'a dog': 1, 'cat': 1, 'a cat': 1}
    """
    counts: dict[str, int] = {}
    for captions in documents:
        for ngram in document_ngrams(captions):
            counts[ngram] = counts.get(ngram, 0) + 1
    return counts


def shared_document_frequencies(documents: Iterable[Sequence[Sequence[str]]]) -> dict[str, int]:
    """Count as `document_frequencies` the n-grams that several documents have, in a sixth of the memory of all n-grams.

    `cider_d_scores` needs no others: what is not in its table counts as an n-gram of one document.

    >>> shared_document_frequencies([[["a", "dog"], ["a", "cat"]], [["a", "cat"]]])
    {'a': 2, 'cat': 2, 'a cat': 2}
    """
    vocabulary: dict[str, int] = {}
    numbered_documents = [word_ids(captions, vocabulary) for captions in documents]
    words, lengths = (
        np.concatenate([document_words[side] for document_words in numbered_documents]) for side in (0, 1)
    )
    document = np.repeat(
        np.arange(len(numbered_documents)), [len(document_words[0]) for document_words in numbered_documents]
    )
    tokens, counts = list(vocabulary), dict[str, int]()
    for order, (ids, last) in enumerate(ngram_ids(words, lengths, MAX_ORDER), start=1):
        pairs = np.sort(ids * len(numbered_documents) + document[last])
        is_new = np.diff(pairs, prepend=-1) > 0
        n_documents = np.bincount(pairs[is_new] // len(numbered_documents))
        use = np.zeros(len(n_documents), np.int64)
        use[ids] = last
        for ngram in np.flatnonzero(n_documents > 1).tolist():
            parts = words[use[ngram] - order + 1 : use[ngram] + 1].tolist()
            counts[" ".join(tokens[word] for word in parts)] = int(n_documents[ngram])
    return counts


def cider_d_scores(
    rows: Sequence[Sequence[Sequence[str]]], frequencies: Mapping[str, int], n_documents: int
) -> list[np.ndarray]:
    """Score every text of a row as a candidate against every text of the row as its only reference.

    CIDEr-D(c, r) = 10 exp(-(l_c - l_r)^2 / (2 sigma^2)) mean over n of
    sum over w of min(g_w(c), g_w(r)) g_w(r) / (|g(c)| |g(r)|), w running over the n-grams of order n, with
    g_w = tf_w log(n_documents / max(1, df_w)). As in the COCO caption code, a length l is the number of bigrams, tf is
    a count, and an order without n-grams scores 0, so that texts of 1, 2 and 3 tokens score at most 2.5, 5 and 7.5. The
    score against several references is the mean of the scores against each.

    Args:
        rows: n_rows rows of token lists.
        frequencies: number of documents with each n-gram, as from `document_frequencies`; an n-gram that is not in it
            counts as one of a single document.
        n_documents: number of documents behind `frequencies`.

    Returns:
        For each row a float64 array, shape (n_texts, n_texts), 0 (nothing in common) to 10; [i, j] has text i as the
        candidate and text j as the reference.

    >>> rows = [[["a", "red", "dog"], ["a", "red", "dog"]], [["a", "cat"], ["the", "cat"]]]
    >>> [scores[0, 1].round(4).tolist() for scores in cider_d_scores(rows, {"a": 2, "red": 1, "dog": 1, "cat": 1}, 2)]
    [7.5, 1.7678]
    """
    # Numbered by the alphabet, so that the sums over n-grams of a row have one order, whatever the other rows are.
    distinct = sorted({word for row in rows for tokens in row for word in tokens})
    vocabulary = {word: number for number, word in enumerate(distinct)}
    total = summed_cosines(rows, vocabulary, frequencies, n_documents, _clipped_cosines)
    n_bigrams = np.array([max(len(tokens) - 1, 0) for row in rows for tokens in row])
    difference = n_bigrams[total.row] - n_bigrams[total.col]
    values = total.data * np.exp(-(difference**2) / (2 * LENGTH_SIGMA**2)) * (CIDER_D_MAXIMUM / MAX_ORDER)
    return as_row_matrices(total.row, total.col, values, np.array([len(row) for row in rows]))


def summed_cosines(
    rows: Sequence[Sequence[Sequence[str]]],
    vocabulary: dict[str, int],
    frequencies: Mapping[str, int],
    n_documents: int,
    cosines: Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray], scipy.sparse.csr_array],
) -> scipy.sparse.coo_array:
    """Add up over the orders of n-grams what `cosines` returns for all pairs of texts: shape (n_texts, n_texts).

    `cosines` gets n-gram and text of every occurrence, the weight of each n-gram, and the row of each text; words that
    are new to `vocabulary` are added to it.
    """
    words, lengths = word_ids((tokens for row in rows for tokens in row), vocabulary)
    text_of_word = np.repeat(np.arange(len(lengths)), lengths)
    row_of_text = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
    line = [token for row in rows for tokens in row for token in tokens]
    total = scipy.sparse.csr_array((len(lengths), len(lengths)))
    for order, (ids, last) in enumerate(ngram_ids(words, lengths, MAX_ORDER), start=1):
        weights = _inverse_document_frequencies(ids, last, order, line, frequencies, n_documents)
        total += cosines(ids, text_of_word[last], weights, row_of_text)
    return total.tocoo()


def cider_distances(rows: Sequence[Sequence[Sequence[str]]], scores: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Turn CIDEr-D scores into distances: d(x, y) = 10 - CIDEr-D(candidate x, reference y).

    Equal token sequences have distance 0 by definition, since a short text scores below 10 against itself and the
    triangle-rank statistic needs d(x, x) = 0.

    `rows` are token lists, and `scores`, float64 of shape (n_texts, n_texts) for each row, those of `cider_d_scores`.
    The distances have that shape: 0 to 10, not symmetric.

    >>> cider_distances([[["a"], ["b"]]], [np.array([[2.5, 1.0], [2.0, 2.5]])])[0].tolist()
    [[0.0, 9.0], [8.0, 0.0]]
    """
    return [
        np.where(same_tokens(row), 0.0, CIDER_D_MAXIMUM - row_scores)
        for row, row_scores in zip(rows, scores, strict=True)
    ]


def multi_reference_cider_d(scores: np.ndarray, n_candidates: int) -> np.ndarray:
    """Mean over the candidates of CIDEr-D against all references, which is the mean over the references.

    Chan et al. (2022), equation 1, https://arxiv.org/abs/2209.07518, with the CIDEr-D of the COCO caption code.

    `scores`, float64 of shape (n_rows, n_texts, n_texts), are those of `cider_d_scores`, candidates first. Shape
    (n_rows,), 0 (worst) to 10 (best).

    >>> multi_reference_cider_d(np.array([[[9.0, 1.0, 2.0], [0.0, 9.0, 0.0], [0.0, 0.0, 9.0]]]), 1).tolist()
    [1.5]
    """
    return scores[:, :n_candidates, n_candidates:].mean(axis=(1, 2))


def _inverse_document_frequencies(
    ids: np.ndarray,
    last: np.ndarray,
    order: int,
    tokens: Sequence[str],
    frequencies: Mapping[str, int],
    n_documents: int,
) -> np.ndarray:
    """Weight of each n-gram number: (n_distinct,). `last` is the index in `tokens` of an n-gram's last word."""
    first_use = np.unique(ids, return_index=True)[1]
    ngrams = [" ".join(tokens[end - order + 1 : end + 1]) for end in last[first_use].tolist()]
    counts = np.array([frequencies.get(ngram, 1) for ngram in ngrams], dtype=np.float64)
    return np.log(n_documents) - np.log(np.maximum(counts, 1))


def _clipped_cosines(
    ids: np.ndarray, text: np.ndarray, weights: np.ndarray, row_of_text: np.ndarray
) -> scipy.sparse.csr_array:
    """Sum over w of min(g_w(i), g_w(j)) g_w(j) / (|g(i)| |g(j)|) for all pairs of texts of the same row.

    min(a, b) is the sum over k >= 1 of [a >= k] [b >= k], so the sum over n-grams of min(tf_i, tf_j) tf_j is a product
    of two sparse matrices with one column for each n-gram of a row and each k up to its term frequency.
    """
    n_all = len(row_of_text)
    keys, frequency = np.unique(text * len(weights) + ids, return_counts=True)  # each (text, n-gram) pair once
    text, ids = np.divmod(keys, len(weights)) if len(keys) else (keys, keys)
    norms = np.sqrt(np.bincount(text, (frequency * weights[ids]) ** 2, minlength=n_all))
    # An n-gram that is in every document has weight 0; a text of such n-grams alone scores 0 (the COCO caption code).
    unit = np.divide(weights[ids], norms[text], out=np.zeros(len(ids)), where=norms[text] > 0)
    level = np.arange(frequency.sum()) - np.repeat(np.cumsum(frequency) - frequency, frequency)  # k - 1
    n_levels = int(frequency.max(initial=0))
    column_keys = (row_of_text[text] * len(weights) + ids).repeat(frequency) * n_levels + level
    columns, column = np.unique(column_keys, return_inverse=True)
    shape = (n_all, len(columns))
    text, unit = text.repeat(frequency), unit.repeat(frequency)
    candidate_side = scipy.sparse.csr_array((unit, (text, column)), shape=shape)
    reference_side = scipy.sparse.csr_array((unit * frequency.repeat(frequency), (text, column)), shape=shape)
    return candidate_side @ reference_side.T


def as_row_matrices(i: np.ndarray, j: np.ndarray, values: np.ndarray, n_texts: np.ndarray) -> list[np.ndarray]:
    """Sort the values at text numbers (i, j) into one square matrix per row."""
    ends = np.cumsum(n_texts**2)
    width = np.repeat(n_texts, n_texts)
    first_text = np.repeat(np.cumsum(n_texts) - n_texts, n_texts)
    first_cell = np.repeat(ends - n_texts**2, n_texts)
    cells = np.zeros(int(ends[-1]))
    cells[first_cell[i] + (i - first_text[i]) * width[i] + (j - first_text[i])] = values
    return [part.reshape(n, n) for part, n in zip(np.split(cells, ends[:-1]), n_texts, strict=True)]


# --------------------------------------------------------------------------------------------------------------------
# CIDEr-D of one text of every row against others of it, with the document frequencies of exactly these references.
#
# Vedantam et al. (2015), section 4, https://arxiv.org/abs/1411.5726, as the COCO caption code computes it. Each draw
# of hypotheses has references, and therefore document frequencies and weights, of its own: everything else is counted
# once.

# Pairs of an n-gram of a candidate and a text with it that are looked at once, 8 bytes each in some ten arrays.
MAX_TERMS = 2_000_000


class CiderTable:
    """The n-grams of the texts of every row, counted once.

    An entry is an n-gram of a text with its term frequency, a cell the n-gram in a row: the entries of the texts of the
    row that have it.
    """

    def __init__(self, rows: Sequence[Sequence[Sequence[str]]]) -> None:
        self.texts = RowTexts(len(row) for row in rows)
        # Numbered by the alphabet, so that sums have one order, whatever the order of the rows is.
        vocabulary = {word: i for i, word in enumerate(sorted({word for row in rows for text in row for word in text}))}
        words, lengths = word_ids((tokens for row in rows for tokens in row), vocabulary)
        self.n_bigrams = np.maximum(lengths - 1, 0)
        text, ngram, order = self._occurrences(words, lengths)
        self.n_ngrams = int(ngram.max(initial=-1)) + 1
        keys, self.frequency = np.unique(text * self.n_ngrams + ngram, return_counts=True)
        self.text, self.ngram = np.divmod(keys, self.n_ngrams) if len(keys) else (keys, keys)
        self.order = np.zeros(self.n_ngrams, np.int64)
        self.order[ngram] = order
        self._find_cells()
        # Squared norms are the product of this matrix with the squared weights: a line for each text and order.
        lines = self.text * MAX_ORDER + self.order[self.ngram]
        self.squares = scipy.sparse.csr_array(
            (self.frequency.astype(np.float64) ** 2, (lines, self.ngram)),
            shape=(len(lengths) * MAX_ORDER, self.n_ngrams),
        )

    def document_frequencies(self, references: Masks) -> Ints:
        """Number of rows in whose references each n-gram occurs: masks (n_rows, n_blocks) to int64, (n_ngrams,)."""
        is_there = (self.cell_mask & references[self.cell_row]).any(axis=1)
        return np.bincount(self.cell_ngram[is_there], minlength=self.n_ngrams)

    def scores(self, hypotheses: Ints, references: Masks) -> Floats:
        """Score a text of each row, with document frequencies counted in the references of all rows.

        `hypotheses` is int64, shape (n_rows,): number of the text of row i that is scored; `references` is uint64,
        shape (n_rows, n_blocks): masks of the texts that it is compared with. Returns a float64 array, shape (n_rows,),
        0 (worst) to 10 (best): what the COCO caption code gives for this data set.
        """
        position, text = self.texts.members(np.arange(len(hypotheses)), references)
        is_reference = np.zeros(len(self.texts.row), bool)
        is_reference[text] = True
        totals = np.zeros(len(hypotheses))
        for candidate, other, value in self._terms(hypotheses, self.document_frequencies(references)):
            chosen = is_reference[other]
            totals += np.bincount(candidate[chosen], value[chosen], len(totals))
        return totals / np.bincount(position, minlength=len(totals))

    def _terms(self, candidates: Ints, document_frequency: Ints) -> Iterator[tuple[Ints, Ints, Floats]]:
        """What each n-gram of each candidate adds to CIDEr-D against each text with it, in parts."""
        n_documents = len(self.texts.sizes)
        squared = (np.log(n_documents) - np.log(np.maximum(document_frequency, 1))) ** 2
        norms = np.sqrt(self.squares @ squared)
        # An n-gram in every document has weight 0, and a text of such n-grams alone the norm 0: it scores 0.
        inverse = np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0).reshape(-1, MAX_ORDER)
        number = self.first_shared[candidates + 1] - self.first_shared[candidates]
        position = np.repeat(np.arange(len(candidates)), number)
        entry = self.shared[
            np.arange(len(position)) + np.repeat(self.first_shared[candidates] - _starts(number), number)
        ]
        size = self.cell_size[self.cell[entry]]
        for begin, end in _parts(size):
            yield self._part(position[begin:end], entry[begin:end], size[begin:end], squared, inverse)

    def _part(
        self, position: Ints, entry: Ints, size: Ints, squared: Floats, inverse: Floats
    ) -> tuple[Ints, Ints, Floats]:
        """Terms of some entries: each with every entry of its cell."""
        position, entry = position.repeat(size), entry.repeat(size)
        offset = np.arange(len(entry)) - _starts(size).repeat(size)
        other = self.by_cell[self.first_of_cell[self.cell[entry]] + offset]
        text, partner, ngram = self.text[entry], self.text[other], self.ngram[entry]
        order = self.order[ngram]
        clipped = np.minimum(self.frequency[entry], self.frequency[other]) * self.frequency[other]
        difference = self.n_bigrams[text] - self.n_bigrams[partner]
        value = clipped * squared[ngram] * inverse[text, order] * inverse[partner, order]
        value *= np.exp(-(difference**2) / (2 * LENGTH_SIGMA**2)) * (CIDER_D_MAXIMUM / MAX_ORDER)
        return position, partner, value

    def _occurrences(self, words: Ints, lengths: Ints) -> tuple[Ints, Ints, Ints]:
        """Text, number and order (counted from 0) of all n-grams; numbers go on from one order to the next."""
        text_of_word = np.repeat(np.arange(len(lengths)), lengths)
        parts, n_before = [], 0
        for order, (ids, last) in enumerate(ngram_ids(words, lengths, MAX_ORDER)):
            parts.append((text_of_word[last], ids + n_before, np.full(len(ids), order)))
            n_before += int(ids.max(initial=-1)) + 1
        text, ngram, number = (np.concatenate(column) for column in zip(*parts, strict=True))
        return text, ngram, number

    def _find_cells(self) -> None:
        """Group the entries by row and n-gram."""
        keys = self.texts.row[self.text] * self.n_ngrams + self.ngram
        cells, self.cell = np.unique(keys, return_inverse=True)
        self.cell_row, self.cell_ngram = np.divmod(cells, self.n_ngrams) if len(cells) else (cells, cells)
        self.cell_mask = self.texts.masks(self.cell, self.texts.place[self.text], len(cells))
        self.cell_size = np.bincount(self.cell, minlength=len(cells))
        self.first_of_cell = _starts(self.cell_size)
        self.by_cell = np.argsort(self.cell, kind="stable")
        # Entries with an n-gram that another text of the row has too, text by text: the others add nothing to a pair.
        self.shared = np.flatnonzero(self.cell_size[self.cell] > 1)
        counts = np.bincount(self.text[self.shared], minlength=len(self.texts.row))
        self.first_shared = np.append(0, np.cumsum(counts))


def _starts(sizes: Ints) -> Ints:
    """Where each of consecutive ranges of these sizes begins."""
    return np.cumsum(sizes) - sizes


def _parts(sizes: Ints) -> Iterator[tuple[int, int]]:
    """Ranges of consecutive numbers whose sizes add up to at most `MAX_TERMS`, at least one number each."""
    ends, begin = np.cumsum(sizes), 0
    while begin < len(sizes):
        before = ends[begin - 1] if begin else 0
        end = max(begin + 1, int(np.searchsorted(ends, before + MAX_TERMS, side="right")))
        yield begin, end
        begin = end


# --------------------------------------------------------------------------------------------------------------------
# Document frequencies of a module's call: counted in its references, or out of a table that stays loaded.


class CountsDocuments:
    """What a module with the options `document_frequency` and `tokenizer` has besides."""

    CACHED: ClassVar[frozenset[str]] = frozenset({"table"})
    table: LoadedTable | None = None

    def document_frequency(self, references: Sequence[Sequence[str]], options: Mapping[str, Any]) -> DocumentFrequency:
        """Return the frequencies that the options ask for, by default those of n_rows lists of references."""
        source = options["document_frequency"]
        if source is None:
            check_enough_documents(len(references))
            tokens = ngram_tokens(references, options["tokenizer"])
            warn_of_equal_documents(tokens)
            return DocumentFrequency(document_frequencies(tokens), len(references))
        self.table = reloaded_table(source, self.table)
        return self.table.frequency


def frequency_settings(frequency: DocumentFrequency, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return what decides the frequencies, for a signature."""
    source = "references" if options["document_frequency"] is None else "table"
    return {"document_frequency": source, "n_documents": frequency.n_documents}


# --------------------------------------------------------------------------------------------------------------------
# BLEU as the COCO caption code computes it, on arrays: of candidates, of a corpus, and self-BLEU.

# What the COCO caption code (pycocoevalcap 1.2, bleu_scorer.py, compute_score) adds to matches and to totals, so that
# nothing is divided by 0. They belong to the published numbers: BLEU-4 of a caption without a common 4-gram is about
# 0.0001, and of three equal words 0.0316, and not 0.
TINY, SMALL = 1e-15, 1e-9

# Columns of the statistics of a candidate: matches and numbers of its 1- to 4-grams, and lengths.
STATISTICS = (
    *(f"matches_{order}" for order in range(1, MAX_ORDER + 1)),
    *(f"ngrams_{order}" for order in range(1, MAX_ORDER + 1)),
    *("candidate_length", "reference_length"),
)


def bleu_scores(statistics: npt.NDArray[np.number]) -> Floats:
    """Turn the statistics of candidates, or their sums, into BLEU-1 to BLEU-4.

    BLEU-N = B (p_1 ... p_N)^(1/N), p_n = (matches_n + 1e-15) / (ngrams_n + 1e-9). With q = (c + 1e-15) / (r + 1e-9),
    c the length of the candidate and r that of the reference of the nearest length, the brevity penalty B is
    exp(1 - 1/q) where q < 1, else 1.

    Powers are those of the C library, which NumPy's differ from in the last digit.

    Args:
        statistics: array, shape (n, 10), columns as `STATISTICS`; for BLEU-1 to BLEU-N shape (n, 2 N + 2).

    Returns:
        float64 array, shape (n, 4), or (n, N), 0 (worst) to 1 (best).

    >>> bleu_scores(np.array([[2, 1, 0, 0, 2, 1, 0, 0, 2, 4]]))[0, :2].round(4).tolist()
    [0.3679, 0.3679]
    """
    numbers = np.asarray(statistics, np.float64)
    n = numbers.shape[1] // 2 - 1
    precisions: Floats = (numbers[:, :n] + TINY) / (numbers[:, n : 2 * n] + SMALL)
    scores: Floats = np.multiply.accumulate(precisions, axis=1)  # (n_texts, n)
    for k in range(1, n):
        exponent = 1.0 / (k + 1)
        scores[:, k] = [product**exponent for product in scores[:, k].tolist()]
    ratio = (numbers[:, -2] + TINY) / (numbers[:, -1] + SMALL)
    is_short = ratio < 1
    scores[is_short] *= np.array([math.exp(1 - 1 / value) for value in ratio[is_short].tolist()])[:, None]
    return scores


def corpus_bleu(statistics: npt.NDArray[np.number]) -> Floats:
    """BLEU-1 to BLEU-4 of a corpus, float64, (4,), 0 (worst) to 1 (best): of the summed statistics, not a mean."""
    return bleu_scores(statistics.sum(axis=0)[None])[0]


class BleuTable:
    """N-grams of the texts of every row, counted once: any text is then scored against any others.

    For the k-th occurrence of an n-gram in a text a mask says which texts of the row have the n-gram at least k times.
    So the clipped matches against some references are the occurrences whose mask meets that of the references.
    """

    def __init__(self, rows: TokenRows) -> None:
        self.texts = RowTexts(len(row) for row in rows)
        words, self.lengths = word_ids((tokens for row in rows for tokens in row), {})
        text_of_word = np.repeat(np.arange(len(self.lengths)), self.lengths)
        self.orders = [
            self._occurrences(ids, text_of_word[last]) for ids, last in ngram_ids(words, self.lengths, MAX_ORDER)
        ]

    def statistics(self, candidates: Ints, references: Masks) -> Ints:
        """Count the statistics of BLEU for some texts: int64 array, shape (n, 10), columns as `STATISTICS`.

        `candidates` is int64, shape (n,): numbers of the texts that are scored; `references` is uint64, shape (n,
        n_blocks): masks of the texts of the same row that each is compared with, at least one.
        """
        result = np.zeros((len(candidates), len(STATISTICS)), np.int64)
        lengths = self.lengths[candidates]
        for order, (first, masks) in enumerate(self.orders):
            number = first[candidates + 1] - first[candidates]
            position = np.repeat(np.arange(len(candidates)), number)
            which = np.arange(len(position)) + np.repeat(first[candidates] - np.cumsum(number) + number, number)
            is_match = (masks[which] & references[position]).any(axis=1)
            result[:, order] = np.bincount(position, is_match, len(candidates))
            result[:, MAX_ORDER + order] = np.maximum(lengths - order, 0)
        result[:, 8], result[:, 9] = lengths, self._nearest_lengths(candidates, references)
        return result

    def _occurrences(self, ids: Ints, text: Ints) -> tuple[Ints, Masks]:
        """Number of the first occurrence of each text, and the mask of every occurrence."""
        n_ids = int(ids.max(initial=-1)) + 1
        keys, frequency = np.unique(text * n_ids + ids, return_counts=True)
        text, ids = np.divmod(keys, n_ids) if len(keys) else (keys, keys)
        level = np.arange(frequency.sum()) - np.repeat(np.cumsum(frequency) - frequency, frequency)
        text, ids = text.repeat(frequency), ids.repeat(frequency)
        # Occurrences with the same row, n-gram and level have one mask.
        pairs = np.unique(self.texts.row[text] * n_ids + ids, return_inverse=True)[1]
        shared, group = np.unique(pairs * (int(level.max(initial=0)) + 1) + level, return_inverse=True)
        masks = self.texts.masks(group, self.texts.place[text], len(shared))
        return np.append(0, np.cumsum(np.bincount(text, minlength=len(self.lengths)))), masks[group]

    def _nearest_lengths(self, candidates: Ints, references: Masks) -> Ints:
        """Length of the reference nearest in length to each candidate, the shorter one of two."""
        position, text = self.texts.members(self.texts.row[candidates], references)
        lengths = self.lengths[text]
        distance = np.abs(lengths - self.lengths[candidates][position])
        width = int(self.lengths.max(initial=0)) + 1
        starts = np.searchsorted(position, np.arange(len(candidates)))
        if not len(starts):
            return np.zeros(0, np.int64)
        return np.minimum.reduceat(distance * width + lengths, starts) % width


# Matches that an order without one counts as: method 1 of Chen and Cherry (2014), https://aclanthology.org/W14-3346,
# with NLTK's epsilon.
EPSILON = 0.1


def smoothed_bleu(statistics: np.ndarray) -> np.ndarray:
    """BLEU-4 of single captions as NLTK's `sentence_bleu` with smoothing method 1 computes it.

    Self-BLEU is made of it (Zhu et al., 2018, section 2.3, https://arxiv.org/abs/1802.01886). It differs from the BLEU
    of the COCO caption code where an order has no match: that counts 0.1 matches here, and 1e-15 there.

    Args:
        statistics: array, shape (n, 10): matches and numbers of the 1- to 4-grams, length, nearest reference's length.

    Returns:
        float64 array, shape (n,), 0 to 1; 0 where no word matches.

    >>> smoothed_bleu(np.array([[4, 3, 2, 1, 4, 3, 2, 1, 4, 4], [0, 0, 0, 0, 1, 0, 0, 0, 1, 1]])).tolist()
    [1.0, 0.0]
    """
    numbers = np.asarray(statistics, dtype=np.float64)
    matches, totals = numbers[:, :MAX_ORDER], np.maximum(numbers[:, MAX_ORDER : 2 * MAX_ORDER], 1.0)
    precisions = np.where(matches > 0, matches, EPSILON) / totals
    length, reference = numbers[:, -2], numbers[:, -1]
    # Where no word matches the score is 0, whatever the length.
    penalty = np.exp(np.minimum(0.0, 1.0 - reference / np.maximum(length, 1.0)))
    scores: np.ndarray = np.where(matches[:, 0] > 0, penalty * np.exp(np.log(precisions).mean(axis=1)), 0.0)
    return scores


def self_statistics(sets: Sequence[Sequence[Sequence[str]]]) -> list[np.ndarray]:
    """Count the statistics of BLEU, as `STATISTICS`, for each caption of a set against all others of it.

    For each set an int64 array, shape (n_captions, 10); shape (0, 10) for one caption.

    >>> self_statistics([[["a", "dog"], ["a", "cat"]], [["a"]]])[0][:, [0, 4]].tolist()
    [[1, 2], [1, 2]]
    """
    larger = [i for i, texts in enumerate(sets) if len(texts) > 1]
    statistics_of_sets = [np.zeros((0, 2 * MAX_ORDER + 2), dtype=np.int64) for _ in sets]
    if not larger:
        return statistics_of_sets
    table = BleuTable([sets[i] for i in larger])
    everyone = np.arange(sum(len(sets[i]) for i in larger))
    statistics = table.statistics(everyone, table.texts.others(everyone))
    for i, rows in zip(larger, np.split(statistics, table.texts.first[1:-1]), strict=True):
        statistics_of_sets[i] = rows
    return statistics_of_sets


def self_bleu_values(statistics: Sequence[np.ndarray]) -> dict[str, list[float]]:
    """Return mBLEU-4 and self-BLEU-4 of each set.

    mBLEU-4 is the mean over a set's captions of the COCO caption code's BLEU-4 against the others (Shetty et al., 2017,
    section 5.1, https://arxiv.org/abs/1703.10476); self-BLEU-4 the same with `smoothed_bleu`.

    Returns:
        `mbleu_4` and `self_bleu_4`: lists of n_sets floats, 0 (nothing in common) to 1; NaN for one caption.
    """
    scorers = {"mbleu_4": lambda counts: bleu_scores(counts)[:, -1], "self_bleu_4": smoothed_bleu}
    return {
        name: [math.fsum(scores(counts)) / len(counts) if len(counts) else math.nan for counts in statistics]
        for name, scores in scorers.items()
    }


def corpus_mbleu_4(statistics: Sequence[np.ndarray]) -> float:
    """mBLEU-4 of a corpus: the first captions of all sets are one corpus, the second ones another, and so on.

    The mean over places of the COCO caption code's corpus BLEU-4, 0 to 1: what programs for several captions per image
    print. Unlike all other values it depends on the order of the captions in a set. NaN where no set has two captions.
    """
    n_places = max((len(counts) for counts in statistics), default=0)
    corpora = [
        np.stack([counts[position] for counts in statistics if len(counts) > position]) for position in range(n_places)
    ]
    return math.fsum(corpus_bleu(corpus)[-1] for corpus in corpora) / n_places if n_places else math.nan


# --------------------------------------------------------------------------------------------------------------------
# Sentence BLEU of many candidates against the references of many rows, each with each.
#
# Papineni et al. (2002), https://aclanthology.org/P02-1040, as the COCO caption code computes it for a single
# caption.


class CrossBleu:
    """The n-grams of candidates and of rows of references, counted once.

    The matches of an order are a product of two matrices of zeros and ones, with a column for each n-gram and each k:
    whether a candidate has the n-gram at least k times, and whether a reference of the row does.
    """

    def __init__(self, candidates: Sequence[TokenList], rows: TokenRows, order: int = MAX_ORDER) -> None:
        """Count the n-grams of candidates, token lists, and of rows of references, for BLEU of an order from 1 to 4."""
        self.n_orders = order
        references = [tokens for row in rows for tokens in row]
        row_of_reference = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
        words, lengths = word_ids([*candidates, *references], {})
        self.lengths = lengths[: len(candidates)]
        text_of_word = np.repeat(np.arange(len(lengths)), lengths)
        self.products = []
        for ids, last in ngram_ids(words, lengths, order):
            text, column = _levels(text_of_word[last], ids)
            is_candidate = text < len(candidates)
            row = row_of_reference[text[~is_candidate] - len(candidates)]
            self.products.append(
                _shared_columns(
                    (text[is_candidate], column[is_candidate], len(candidates)), (row, column[~is_candidate], len(rows))
                )
            )
        self.penalties = _penalties(self.lengths, lengths[len(candidates) :], row_of_reference, len(rows))

    def scores(self, begin: int, end: int) -> Floats:
        """Score some candidates against every row: float64, shape (end - begin, n_rows), 0 (worst) to 1 (best)."""
        lengths = self.lengths[begin:end]
        product: Floats = np.ones((end - begin, self.products[0][1].shape[1]))
        for order, (of_candidates, of_rows) in enumerate(self.products):
            matches = (of_candidates[begin:end] @ of_rows).toarray()
            matches += TINY
            matches /= (np.maximum(lengths - order, 0) + SMALL)[:, None]
            product *= matches
        if self.n_orders == MAX_ORDER:
            np.sqrt(np.sqrt(product, out=product), out=product)
        else:
            product **= 1 / self.n_orders
        first = np.searchsorted(self.penalties[0], lengths)
        product *= self.penalties[1][first]
        return product


def _levels(text: Ints, ids: Ints) -> tuple[Ints, Ints]:
    """For each text and n-gram the numbers k = 1 ... of its occurrences: text, and a number of (n-gram, k)."""
    n_ids = int(ids.max(initial=-1)) + 1
    keys, frequency = np.unique(text * n_ids + ids, return_counts=True)
    text, ids = np.divmod(keys, n_ids) if len(keys) else (keys, keys)
    level = np.arange(frequency.sum()) - np.repeat(np.cumsum(frequency) - frequency, frequency)
    return text.repeat(frequency), ids.repeat(frequency) * (int(level.max(initial=0)) + 1) + level


def _shared_columns(
    candidates: tuple[Ints, Ints, int], rows: tuple[Ints, Ints, int]
) -> tuple[scipy.sparse.csr_array, scipy.sparse.csr_array]:
    """Matrices of zeros and ones, (n_candidates, n_columns) and (n_columns, n_rows), of the columns that both have."""
    columns = np.intersect1d(candidates[1], rows[1])
    matrices = []
    for line, column, n_lines in (candidates, rows):
        number = np.minimum(np.searchsorted(columns, column), max(len(columns) - 1, 0))
        is_shared = columns[number] == column if len(columns) else np.zeros(len(column), bool)
        # References of a row share columns: one of them is enough.
        keys = np.unique(line[is_shared] * max(len(columns), 1) + number[is_shared])
        line, number = np.divmod(keys, max(len(columns), 1)) if len(keys) else (keys, keys)
        matrices.append(scipy.sparse.csr_array((np.ones(len(keys)), (line, number)), shape=(n_lines, len(columns))))
    return matrices[0], matrices[1].T.tocsr()


def _penalties(candidate: Ints, reference: Ints, row: Ints, n_rows: int) -> tuple[Ints, Floats]:
    """Distinct lengths of candidates, and the brevity penalty of each with every row: (n_lengths, n_rows)."""
    lengths = np.unique(candidate)
    width = int(reference.max(initial=0)) + 1
    starts = np.searchsorted(row, np.arange(n_rows))
    nearest = (
        np.stack(
            [np.minimum.reduceat(np.abs(reference - length) * width + reference, starts) % width for length in lengths]
        )
        if len(lengths)
        else np.zeros((0, n_rows), np.int64)
    )
    ratio = (lengths[:, None] + TINY) / (nearest + SMALL)
    return lengths, np.exp(np.minimum(1 - 1 / ratio, 0))


# --------------------------------------------------------------------------------------------------------------------
# ROUGE-L of many candidates at once, as the COCO caption code computes it, and both scores of every candidate.

# Weight of recall over precision (pycocoevalcap 1.2, rouge.py; Chen et al. 2015, section 4.3).
BETA = 1.2

# Words of a text that are bits of one number.
N_BITS = 64

# Cells of the tables of common subsequences that are filled at once, 4 bytes each in a few arrays.
MAX_CELLS = 2_000_000


def f_measure(precision: Floats, recall: Floats, beta: float = BETA) -> Floats:
    """ROUGE-L = (1 + beta^2) P R / (R + beta^2 P); 0 where P or R is 0.

    Args:
        precision: float64 array: the largest share of the candidate in a common subsequence with a reference.
        recall: float64 array of that shape: the largest share of a reference; not always the same reference.
        beta: weight of recall over precision.

    Returns:
        float64 array of that shape, 0 (worst) to 1 (best).

    >>> f_measure(np.array([1.0, 0.5]), np.array([1.0, 0.0])).tolist()
    [1.0, 0.0]
    """
    weighted = (1 + beta**2) * precision * recall
    total = recall + beta**2 * precision
    return np.divide(weighted, total, out=np.zeros_like(total), where=(precision > 0) & (recall > 0))


def rouge_l_of_ngrams(texts: ReferenceNgrams, beta: float = BETA) -> Floats:
    """Score every candidate against the references of its row by ROUGE-L: float64, shape (n_candidates,), 0 to 1.

    Precision and recall are the best of all references, each for itself, as in the COCO caption code; Lin (2004) takes
    the best score of a single reference. The score of a corpus is the mean. A text without tokens counts as one empty
    token, as there.

    >>> texts = ReferenceNgrams.of_rows([[["a", "red", "dog"]]], [[["a", "dog"], ["cat"]]])
    >>> rouge_l_of_ngrams(texts).round(4).tolist()
    [0.8299]
    """
    candidate, reference = texts.pairs()
    text = texts.candidates[candidate]
    if not len(text):
        return np.zeros(0)
    common = common_lengths(texts.words, texts.lengths, text, reference)
    filled = np.maximum(texts.lengths, 1)
    common[(texts.lengths[text] == 0) & (texts.lengths[reference] == 0)] = 1
    first = texts.first_pair()
    precision, recall = (np.maximum.reduceat(common / filled[side], first) for side in (text, reference))
    return f_measure(precision, recall, beta)


def precisions_and_recalls(texts: Sequence[TokenList], candidate: Ints, reference: Ints) -> tuple[Floats, Floats]:
    """Share of the candidate, and of the reference, in the longest common subsequence of each pair of texts.

    `candidate` and `reference` are int64, shape (n_pairs,): numbers of texts. Returns two float64 arrays of that shape,
    0 to 1.

    >>> precisions_and_recalls([["a", "red", "dog"], ["a", "dog"]], np.array([0]), np.array([1]))[1].tolist()
    [1.0]
    """
    filled = [tokens or [""] for tokens in texts]
    words, lengths = word_ids(filled, {})
    common = common_lengths(words, lengths, candidate, reference)
    return common / lengths[candidate], common / lengths[reference]


def common_lengths(words: Ints, lengths: Ints, first: Ints, second: Ints) -> Ints:
    """Length of the longest common subsequence of each pair of texts: int64, shape (n_pairs,).

    Words and lengths are as from `word_ids`; `first` and `second` are int64, shape (n_pairs,): numbers of texts.

    >>> texts = word_ids([["a", "red", "dog", "runs"], ["red", "a", "dog"]], {})
    >>> common_lengths(*texts, np.array([0]), np.array([1])).tolist()
    [2]
    """
    start = np.cumsum(lengths) - lengths
    # The table of a pair has a line for each word of the shorter text, whichever text that is.
    swap = lengths[first] > lengths[second]
    first, second = np.where(swap, second, first), np.where(swap, first, second)
    order = np.lexsort((lengths[second], lengths[first]))
    result = np.zeros(len(first), np.int64)
    begin = 0
    while begin < len(order):
        end = _batch_end(lengths[second[order]], begin)
        these = order[begin:end]
        fits = lengths[second[these]].max() <= N_BITS
        counted = _common_lengths_by_bits if fits else _common_lengths
        result[these] = counted(words, start, lengths, first[these], second[these])
        begin = end
    return result


def _batch_end(widths: Ints, begin: int) -> int:
    """End of the pairs whose tables of one line have at most `MAX_CELLS` cells; at least one pair."""
    widest = np.maximum.accumulate(widths[begin : begin + MAX_CELLS]) + 1
    return begin + max(1, int(np.searchsorted(widest * np.arange(1, len(widest) + 1), MAX_CELLS, side="right")))


def _common_lengths(words: Ints, start: Ints, lengths: Ints, first: Ints, second: Ints) -> Ints:
    """Common subsequences of a batch of pairs, line by line of all tables at once.

    Cell (i, j) is max(cell (i - 1, j), cell (i, j - 1), cell (i - 1, j - 1) + 1 if the words are equal), which is the
    running maximum along the line of the first and the last.
    """
    width = int(lengths[second].max(initial=0))
    position = np.arange(width)
    inside = position < lengths[second][:, None]  # (n_pairs, width)
    other = np.where(inside, _words_at(words, start[second][:, None] + position), -1)
    line = np.zeros((len(first), width + 1), np.int32)
    for i in range(int(lengths[first].max(initial=0))):
        word = np.where(i < lengths[first], _words_at(words, start[first] + i), -2)  # equal to no word
        extended = np.maximum(line[:, 1:], line[:, :-1] + (other == word[:, None]))
        np.maximum.accumulate(extended, axis=1, out=line[:, 1:])
    return line[:, -1].astype(np.int64)


def _common_lengths_by_bits(words: Ints, start: Ints, lengths: Ints, first: Ints, second: Ints) -> Ints:
    """Common subsequences of a batch of pairs of short texts: a line of a table is the bits of a number.

    Bit j is 0 where the line grows at word j of the second text (Hyyrö 2004, "Bit-parallel LCS-length computation
    revisited", section 2).
    """
    position = np.arange(int(lengths[second].max(initial=0)))[:, None]
    inside = position < lengths[second]  # (width, n_pairs)
    other = np.where(inside, _words_at(words, start[second] + position), -1)
    bits = np.left_shift(np.uint64(1), position.astype(np.uint64))
    line = np.full(len(first), ~np.uint64(0))
    for i in range(int(lengths[first].max(initial=0))):
        word = np.where(i < lengths[first], _words_at(words, start[first] + i), -2)  # equal to no word
        matches = line & np.bitwise_or.reduce(np.where(other == word, bits, np.uint64(0)), axis=0)
        line = (line + matches) | (line - matches)
    return np.unpackbits((~line).view(np.uint8).reshape(-1, 8), axis=1).sum(axis=1, dtype=np.int64)


def _words_at(words: Ints, position: Ints) -> Ints:
    """Words at these indices; any word where an index is out of range."""
    return words[np.minimum(position, len(words) - 1)]


def candidate_scores(
    candidates: TokenRows, references: TokenRows
) -> tuple[dict[str, np.ndarray], npt.NDArray[np.int64]]:
    """Score every candidate, and return the statistics for BLEU of the corpus.

    Returns:
        Float64 arrays, shape (n_candidates,), row after row, by key: "bleu_1" to "bleu_4" and "rouge_l", 0 (worst) to 1
        (best); and an int64 array, shape (n_candidates, 10), as `text_bleu.STATISTICS`.

    >>> scores, _ = candidate_scores([[["a", "red", "dog"]]], [[["a", "red", "dog"], ["a", "cat"]]])
    >>> {key: round(float(values[0]), 4) for key, values in scores.items() if key != "bleu_4"}
    {'bleu_1': 1.0, 'bleu_2': 1.0, 'bleu_3': 1.0, 'rouge_l': 1.0}
    """
    texts = ReferenceNgrams.of_rows(candidates, references)
    statistics = texts.bleu_statistics()
    scores = {f"bleu_{n}": values for n, values in enumerate(bleu_scores(statistics).T, start=1)}
    return scores | {"rouge_l": rouge_l_of_ngrams(texts)}, statistics
