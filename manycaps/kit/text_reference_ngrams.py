"""N-grams that candidates share with their own references: statistics of BLEU and CIDEr, as the COCO caption code sums.

Sums run over the n-grams of a text in the order of their first use, as in that code (pycocoevalcap 1.2): every score is
the same to the last bit, whatever the other rows are. Of large data one order of n-grams is in memory at a time.
"""

import itertools
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from .base_types import Floats, Ints, TokenRows
from .text_ngrams import numbered

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
