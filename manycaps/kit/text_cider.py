"""CIDEr-D of Vedantam et al. (2015), https://arxiv.org/abs/1411.5726, between all texts of many rows at once.

Follows the COCO caption code, which defines the published numbers, where it differs from the paper.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
import scipy.sparse

from .text_ngrams import ngram_ids, word_ids
from .text_reference_ngrams import CIDER_D_MAXIMUM, LENGTH_SIGMA, MAX_ORDER, document_ngrams
from .text_tokens import same_tokens


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
