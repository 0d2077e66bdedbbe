"""The index: n-grams of the texts of many rows, counted once for all scores.

Sums run over the n-grams of a text in the order of their first use, as in the COCO caption code (pycocoevalcap 1.2):
a score is the same to the last bit, whatever the other rows are. Of large data one order of n-grams is in memory at
a time.
"""

import functools
import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

from .arrays import Floats, Ints, Masks, TokenList, TokenRows
from .words_numbers import KEY_BITS, RowTexts, run_begins, runs_of_keys

# N-gram orders 1 to 4, equally weighted, the standard deviation of CIDEr-D's length penalty, in bigrams, and its scale
# (Vedantam et al. 2015, section 4, https://arxiv.org/abs/1411.5726; pycocoevalcap 1.2, cider.py).
MAX_ORDER, LENGTH_SIGMA, CIDER_D_MAXIMUM = 4, 6.0, 10.0

# Words of all texts up to which the n-grams of all orders are kept for the next score: 0.3 kB each.
MOST_KEPT_WORDS = 1 << 20

# Pairs of a candidate's n-gram and a reference with it that are looked at once, 8 bytes each in some ten arrays: so
# many stay in the cache of a processor.
MAX_TERMS = 100_000

# Pairs of a candidate and a reference whose lengths and common words are looked at once, 8 bytes each in some arrays.
MAX_PAIRS = 2_000_000


class NgramOrder(NamedTuple):
    """N-grams of one order. An entry is an n-gram of a text, a cell an n-gram of a row.

    Entries are in the order of their n-grams, then of the texts: cell by cell, the references' last.
    """

    # Of each entry: number of its text, of its n-gram and of its cell, index of the last word of its first use, and how
    # often the text has it.
    text: Ints
    ngram: Ints
    cell: Ints
    position: Ints
    frequency: Ints
    # Entries of candidates that references of their row share, in the order of the texts and of first uses.
    matched: Ints
    # Of each cell: the end of its entries, and how many references have it.
    cell_end: Ints
    n_references: Ints
    # Number of rows in whose references each n-gram occurs.
    documents: Ints


class DrawnOrder(NamedTuple):
    """N-grams of one order of sets of texts, whose references are drawn again and again."""

    # Of the entries that match, those with an n-gram that other texts of the row have, too.
    order: NgramOrder
    # Squared frequencies, shape (n_texts, n_ngrams).
    squares: scipy.sparse.csr_array
    # Of each cell: its row, its n-gram, and the mask of the texts that have it.
    row: Ints
    ngram: Ints
    masks: Masks


class Pairs(NamedTuple):
    """Some candidates, each with every reference of its row."""

    # Number of the pair's candidate among these, ascending; texts of the candidate and of the reference.
    number: Ints
    candidate: Ints
    reference: Ints
    # First pair of each candidate, and number of its pairs.
    first: Ints
    size: Ints
    # The candidates that were chosen, or None for all.
    some: Ints | None


class NgramIndex:
    """Numbered n-grams of the candidates and the references of every row, with their frequencies in each text."""

    def __init__(
        self, words: Sequence[str], lengths: Ints, n_candidates: Ints, n_references: Ints | None, *, keeps: bool = False
    ) -> None:
        """Number the words of the texts of all rows: row after row, candidates first.

        Args:
            words: of all texts, one text after the other.
            lengths: int64, shape (n_texts,): number of words of each text.
            n_candidates: int64, shape (n_rows,).
            n_references: the same for references; None: the candidates of a row are its references, too.
            keeps: whether all n-grams are kept, however many there are.
        """
        self.lengths = lengths
        self.texts = RowTexts(n_candidates if n_references is None else n_candidates + n_references)
        row, place = self.texts.row, self.texts.place
        self.is_candidate = place < n_candidates[row]
        self.is_reference = np.ones(len(row), bool) if n_references is None else ~self.is_candidate
        self.candidates = np.flatnonzero(self.is_candidate)
        self.n_references = n_candidates if n_references is None else n_references
        # Numbered by the alphabet, so that the numbers of n-grams have one order, whatever the order of the rows is.
        self.tokens = tuple(words)
        number = {word: i for i, word in enumerate(sorted(set(words)))}
        self.words: Ints = np.fromiter(map(number.__getitem__, words), np.int64, len(words))
        self.text_of_word = np.repeat(np.arange(len(lengths)), lengths)
        self._kept: list[NgramOrder] = []
        self._keeps = keeps or len(words) <= MOST_KEPT_WORDS

    @classmethod
    def of_rows(cls, candidates: TokenRows, references: TokenRows, *, keeps: bool = False) -> "NgramIndex":
        """Take n_rows lists of token lists, and as many of the references."""
        texts = [text for pair in zip(candidates, references, strict=True) for row in pair for text in row]
        return cls(*_words_and_lengths(texts), _sizes(candidates), _sizes(references), keeps=keeps)

    @classmethod
    def of_sets(cls, rows: TokenRows, *, keeps: bool = False) -> "NgramIndex":
        """Take n_rows lists of token lists, each of which is a candidate and a reference."""
        return cls(*_words_and_lengths([text for row in rows for text in row]), _sizes(rows), None, keeps=keeps)

    def orders(self, max_order: int = MAX_ORDER) -> Iterable[NgramOrder]:
        """Give the n-grams of 1 to `max_order` words, order after order."""
        if not self._keeps:
            return self._orders(max_order)
        if len(self._kept) < max_order:
            self._kept = list(self._orders(max_order))
        return self._kept[:max_order]

    def _orders(self, max_order: int) -> Iterator[NgramOrder]:
        start = np.cumsum(self.lengths) - self.lengths
        place = np.arange(len(self.words)) - start[self.text_of_word]
        ids = np.zeros(len(self.words), np.int64)  # of the n-gram of the order before that ends at each word
        for order in range(max_order):
            last = np.flatnonzero(place >= order)
            by_ngram, is_new = _runs(ids[last - 1] if order else ids[last], self.words[last])
            position = last[by_ngram]
            number = np.cumsum(is_new) - 1
            ids[position] = number
            yield self._order(position, number)

    def _order(self, position: Ints, number: Ints) -> NgramOrder:
        """Entries and cells out of the uses of n-grams: one n-gram's follow each other, as in the texts."""
        text = self.text_of_word[position]
        first = np.flatnonzero(run_begins(number, text))
        frequency = np.diff(first, append=len(position))
        text, ngram, position = text[first], number[first], position[first]
        row = self.texts.row[text]
        is_new = run_begins(ngram, row)
        cell, begin = np.cumsum(is_new) - 1, np.flatnonzero(is_new)
        n_references = np.bincount(cell, self.is_reference[text], len(begin)).astype(np.int64)
        n_ngrams = int(ngram[-1]) + 1 if len(ngram) else 0
        documents = np.bincount(ngram[begin][n_references > 0], minlength=n_ngrams)
        matched = self._in_text(position, np.flatnonzero(self.is_candidate[text] & (n_references > 0)[cell]))
        end = np.append(begin[1:], len(text))[: len(begin)]
        return NgramOrder(text, ngram, cell, position, frequency, matched, end, n_references, documents)

    def ngrams(self, order: NgramOrder, n: int, numbers: Ints | None = None) -> Iterator[tuple[str, ...]]:
        """Write out the n-grams of `n` words with some numbers, or all of an order."""
        first_use = np.zeros(len(order.documents), np.int64)
        first_use[order.ngram] = order.position
        ends = (first_use if numbers is None else first_use[numbers]) + 1
        return map(self.tokens.__getitem__, map(slice, (ends - n).tolist(), ends.tolist()))

    def pairs(self, candidates: Ints | None = None) -> Pairs:
        """Pair every candidate, or some, shape (n,), with every reference of its row."""
        some, candidates = candidates, self.candidates if candidates is None else candidates
        row = self.texts.row[candidates]
        size = self.n_references[row]
        first = _starts(size)
        number = np.repeat(np.arange(len(candidates)), size)
        first_reference = self.texts.first[row + 1] - size
        reference = np.arange(len(number)) + np.repeat(first_reference - first, size)
        return Pairs(number, candidates[number], reference, first, size, some)

    def pair_parts(self) -> Iterator[Pairs]:
        """Pair every candidate with every reference of its row, in parts of whole candidates."""
        sizes = self.n_references[self.texts.row[self.candidates]]
        for begin, end in _parts(sizes, self.candidates, MAX_PAIRS):
            yield self.pairs(self.candidates[begin:end])

    def matches(self, order: NgramOrder, candidates: Ints | None = None) -> Iterator[tuple[Ints, Ints, Ints]]:
        """Join the entries of all or some candidates with the references' in their cells, in parts of whole texts.

        Yields the entries, in the order of the texts, how many references each meets, and the entries of all these.
        """
        entry = order.matched
        if candidates is not None:
            is_chosen = np.zeros(len(self.lengths), bool)
            is_chosen[candidates] = True
            entry = entry[is_chosen[order.text[entry]]]
        size = order.n_references[order.cell[entry]]
        start = order.cell_end[order.cell[entry]] - size
        for begin, end in _parts(size, order.text[entry]):
            own = size[begin:end]
            other = np.arange(own.sum()) + np.repeat(start[begin:end] - _starts(own), own)
            yield entry[begin:end], own, other

    def _in_text(self, position: Ints, entries: Ints) -> Ints:
        """Sort entries by their text, and by their first use in it."""
        entry_of_word = np.full(len(self.words), -1)
        entry_of_word[position[entries]] = entries
        return entry_of_word[entry_of_word >= 0]

    @functools.cached_property
    def by_text(self) -> list[tuple[Ints, Ints]]:
        """For each order the first entry of each text, one more at the end, in the entries text by text."""
        return [
            (
                np.append(0, np.cumsum(np.bincount(order.text, minlength=len(self.lengths)))),
                self._in_text(order.position, np.arange(len(order.text))),
            )
            for order in self.orders()
        ]

    @functools.cached_property
    def drawn(self) -> list[DrawnOrder]:
        """For each order what draws of references from the same texts share."""
        orders = []
        for order in self.orders():
            masks = self.texts.masks(order.cell, self.texts.place[order.text], len(order.cell_end))
            last = order.cell_end - 1
            shape = len(self.lengths), len(order.documents)
            squares = scipy.sparse.csr_array((order.frequency**2.0, (order.text, order.ngram)), shape)
            is_shared = order.n_references[order.cell[order.matched]] > 1
            shared = order._replace(matched=order.matched[is_shared])
            orders.append(DrawnOrder(shared, squares, self.texts.row[order.text[last]], order.ngram[last], masks))
        return orders

    @functools.cached_property
    def use_masks(self) -> list[tuple[Ints, Masks]]:
        """For each order the first use of each text, and for every use the texts with as many uses of that n-gram.

        For the k-th use of an n-gram in a text the mask says which texts of the row have the n-gram at least k times.
        """
        uses = []
        for order in self.orders():
            entries = self._in_text(order.position, np.arange(len(order.text)))
            frequency = order.frequency[entries]
            level, n_levels = _levels(frequency)
            text = order.text[entries].repeat(frequency)
            shared, group = np.unique(order.cell[entries].repeat(frequency) * n_levels + level, return_inverse=True)
            masks = self.texts.masks(group, self.texts.place[text], len(shared))
            uses.append((np.append(0, np.cumsum(np.bincount(text, minlength=len(self.lengths)))), masks[group]))
        return uses


def _words_and_lengths(texts: Sequence[TokenList]) -> tuple[list[str], Ints]:
    """Tokens of all texts in one line, and the number of tokens of each text."""
    return list(itertools.chain.from_iterable(texts)), _sizes(texts)


def _sizes(rows: Sequence[Sequence[Any]]) -> Ints:
    return np.fromiter(map(len, rows), np.int64, len(rows))


def _starts(sizes: Ints) -> Ints:
    """Where each of consecutive ranges of these sizes begins."""
    return np.cumsum(sizes) - sizes


def _levels(frequency: Ints) -> tuple[Ints, int]:
    """Write out the numbers k - 1 = 0, 1 ... of the uses of each entry, and how many there are at most."""
    return np.arange(frequency.sum()) - np.repeat(_starts(frequency), frequency), int(frequency.max(initial=1))


def _sums(group: Ints, terms: Floats, n_groups: int) -> Floats:
    """Sum of the terms of each group, added in their order."""
    return np.bincount(group, terms, n_groups).astype(np.float64, copy=False)  # of no terms at all whole numbers


def _parts(sizes: Ints, texts: Ints, most: int = MAX_TERMS) -> Iterator[tuple[int, int]]:
    """Ranges of consecutive numbers whose sizes add up to at most `most`, at least a whole text each."""
    bounds = np.append(np.flatnonzero(run_begins(texts)), len(texts))  # of the texts
    ends, begin = np.append(0, np.cumsum(sizes))[bounds], 0
    while begin < len(bounds) - 1:
        end = max(begin + 1, int(np.searchsorted(ends, ends[begin] + most, side="right")) - 1)
        yield int(bounds[begin]), int(bounds[end])
        begin = end


def _runs(first: Ints, second: Ints) -> tuple[Ints, np.ndarray]:
    """Stable order by two keys of at least 0, and where a run of equal pairs begins in it."""
    bits = int(second.max(initial=0)).bit_length()
    if int(first.max(initial=0)).bit_length() + bits <= KEY_BITS:
        return runs_of_keys(first << bits | second)
    order = np.lexsort((second, first))
    return order, run_begins(first[order], second[order])
