"""Sentence BLEU of many candidates against the references of many rows, each with each.

Papineni et al. (2002), https://aclanthology.org/P02-1040, as the COCO caption code computes it for a single caption.
"""

from collections.abc import Sequence

import numpy as np
import scipy.sparse

from .base_types import Floats, Ints, TokenList, TokenRows
from .text_bleu import SMALL, TINY
from .text_ngrams import ngram_ids, word_ids
from .text_reference_ngrams import MAX_ORDER


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
