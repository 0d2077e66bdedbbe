"""CIDEr-D of one text of every row against others of it, with the document frequencies of exactly these references.

Vedantam et al. (2015), section 4, https://arxiv.org/abs/1411.5726, as the COCO caption code computes it. Each draw of
hypotheses has references, and therefore document frequencies and weights, of its own: everything else is counted
once.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import scipy.sparse

from .base_types import Floats, Ints, Masks
from .text_ngrams import RowTexts, ngram_ids, word_ids
from .text_reference_ngrams import CIDER_D_MAXIMUM, LENGTH_SIGMA, MAX_ORDER

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
