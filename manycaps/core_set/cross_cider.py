"""CIDEr-D of many candidates against the references of many rows, each with each.

Vedantam et al. (2015), section 4, https://arxiv.org/abs/1411.5726, as the COCO caption code computes it.
"""

from collections.abc import Sequence

import numpy as np
import scipy.sparse

from manycaps.kit.base import Floats, Ints
from manycaps.kit.ngram_scores import CIDER_D_MAXIMUM, LENGTH_SIGMA, MAX_ORDER
from manycaps.kit.tokenization import ngram_ids, word_ids

CaptionTokens = Sequence[str]


class CrossCider:
    """The n-grams of candidates and of rows of references, counted once; document frequencies are those of the rows.

    CIDEr-D of a candidate and a reference is a sum over pairs (n-gram, k) that both have at least k times, of a number
    of the candidate and one of the reference, times a penalty that depends on both lengths. So for all candidates of
    one length it is a product of two matrices, once the references of every row are added up with their penalties.
    """

    def __init__(self, candidates: Sequence[CaptionTokens], rows: Sequence[Sequence[CaptionTokens]]) -> None:
        """Count the n-grams of candidates, and of rows of references, which are the documents: token lists of each."""
        references = [tokens for row in rows for tokens in row]
        sizes = np.array([len(row) for row in rows], np.int64)
        row_of_reference = np.repeat(np.arange(len(rows)), sizes)
        words, lengths = word_ids([*candidates, *references], {})
        n_bigrams = np.maximum(lengths - 1, 0)
        text_of_word = np.repeat(np.arange(len(lengths)), lengths)
        orders = [
            _weights(text_of_word[last], ids, len(candidates), row_of_reference, len(rows))
            for ids, last in ngram_ids(words, lengths, MAX_ORDER)
        ]
        self.of_candidates, self.of_references = (
            scipy.sparse.hstack(sides, format="csr") for sides in zip(*orders, strict=True)
        )
        self.lengths, self.reference_lengths = n_bigrams[: len(candidates)], n_bigrams[len(candidates) :]
        self.membership = row_of_reference, CIDER_D_MAXIMUM / MAX_ORDER / sizes[row_of_reference]
        self.n_rows = len(rows)
        # Candidates of one length stand together, so that the references are added up once for each length.
        self.order: Ints = np.argsort(self.lengths, kind="stable")
        self.added_up: tuple[int, scipy.sparse.csr_array] | None = None

    def scores(self, begin: int, end: int) -> Floats:
        """Score some candidates against every row.

        Shape (end - begin, n_rows), float64 from 0 (worst) to 10 (best): line i belongs to the candidate order[begin +
        i].
        """
        chosen = self.order[begin:end]
        lengths = self.lengths[chosen]
        result = np.empty((len(chosen), self.n_rows))
        for length in np.unique(lengths).tolist():
            is_here = lengths == length
            result[is_here] = (self.of_candidates[chosen[is_here]] @ self._rows(length)).toarray()
        return result

    def _rows(self, length: int) -> scipy.sparse.csr_array:
        """References of every row, added up with their penalties for candidates of a length: (n_columns, n_rows)."""
        if self.added_up is None or self.added_up[0] != length:
            row, weight = self.membership
            penalty = np.exp(-((length - self.reference_lengths) ** 2) / (2 * LENGTH_SIGMA**2))
            adding = scipy.sparse.csr_array(
                (weight * penalty, (row, np.arange(len(row)))), shape=(self.n_rows, len(row))
            )
            self.added_up = length, (adding @ self.of_references).T.tocsr()
        return self.added_up[1]


def _weights(
    text: Ints, ids: Ints, n_candidates: int, row_of_reference: Ints, n_rows: int
) -> tuple[scipy.sparse.csr_array, scipy.sparse.csr_array]:
    """Weigh the n-grams of one order that both sides have: of candidates and of references, (n_texts, n_columns).

    `text` and `ids` are the text (candidates first) and the n-gram of each occurrence.
    """
    n_ids = max(int(ids.max(initial=0)) + 1, 1)
    keys, frequency = np.unique(text * n_ids + ids, return_counts=True)
    text, ids = np.divmod(keys, n_ids)
    is_reference = text >= n_candidates
    documents = np.unique(row_of_reference[text[is_reference] - n_candidates] * n_ids + ids[is_reference])
    n_documents = np.bincount(documents % n_ids, minlength=n_ids)
    weight = (np.log(n_rows) - np.log(np.maximum(n_documents, 1)))[ids]
    norms = np.sqrt(np.bincount(text, (frequency * weight) ** 2, n_candidates + len(row_of_reference)))[text]
    # An n-gram in every document has weight 0, and a text of such n-grams alone the norm 0: it scores 0.
    value = np.divide(weight, norms, out=np.zeros(len(text)), where=norms > 0)
    value[is_reference] *= frequency[is_reference]
    # The smaller of two frequencies is the number of k = 1 ... that neither is below.
    level = np.arange(frequency.sum()) - np.repeat(np.cumsum(frequency) - frequency, frequency)
    text, value, is_reference = text.repeat(frequency), value.repeat(frequency), is_reference.repeat(frequency)
    column = ids.repeat(frequency) * (int(level.max(initial=0)) + 1) + level
    shared = np.intersect1d(column[~is_reference], column[is_reference])
    is_used = np.isin(column, shared) & (value > 0)
    column_number = np.searchsorted(shared, column)
    mine, theirs = is_used & ~is_reference, is_used & is_reference
    sides = ((mine, 0, n_candidates), (theirs, n_candidates, len(row_of_reference)))
    of_candidates, of_references = (
        scipy.sparse.csr_array(
            (value[chosen], (text[chosen] - first, column_number[chosen])), shape=(n_texts, len(shared))
        )
        for chosen, first, n_texts in sides
    )
    return of_candidates, of_references
