"""CIDEr and CIDEr-D of Vedantam et al. (2015), https://arxiv.org/abs/1411.5726.

Follows the COCO caption code, which defines the published numbers, where it differs from the paper: a length is the
number of bigrams, a term frequency is a count, and an order without n-grams scores 0, so that texts of 1, 2 and 3
tokens score at most 2.5, 5 and 7.5. The score against several references is the mean of the scores against each.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from .arrays import Floats, Ints, Masks, TokenRows
from .ngrams import (
    CIDER_D_MAXIMUM,
    LENGTH_SIGMA,
    MAX_ORDER,
    DocumentFrequency,
    Frequency,
    NgramIndex,
    NgramOrder,
    Pairs,
    _sums,
    joined_frequency,
)
from .words_tokenizers import same_tokens

# Number of documents with each n-gram of an order, from its length and the order.
Documents = Callable[[int, NgramOrder], npt.NDArray[np.number]]


def cider_scores(
    index: NgramIndex,
    max_order: int = MAX_ORDER,
    *,
    sigma: float = LENGTH_SIGMA,
    is_clipped: bool = True,
    frequency: Frequency | None = None,
    n_documents: float = 0,
) -> Floats:
    """Score every candidate by CIDEr-D, or by CIDEr, against the references of its row.

    CIDEr-D(c, r) = 10 exp(-(l_c - l_r)^2 / (2 sigma^2)) mean over n of
    sum over w of min(g_w(c), g_w(r)) g_w(r) / (|g(c)| |g(r)|), w running over the n-grams of order n, with
    g_w = tf_w log(n_documents / max(1, df_w)), mean over the references r (section 4). CIDEr (section 3, equation 2) is
    the cosine alone: no minimum, and no penalty.

    Args:
        index: candidates and references.
        max_order: largest n.
        sigma: standard deviation of the penalty.
        is_clipped: whether the score is CIDEr-D.
        frequency: document frequencies; None counts in the references, where every row is a document.
        n_documents: number of documents behind `frequency`.

    Returns:
        float64 array, shape (n_candidates in all,), 0 (worst) to 10 (best), row after row.

    >>> rows = [[["a", "red", "dog"]], [["a", "cat"]]]
    >>> cider_scores(NgramIndex.of_rows(rows, rows)).round(4).tolist()
    [7.5, 5.0]
    """
    documents = _own_documents if frequency is None else _in_table(index, frequency)
    n_documents = len(index.texts.sizes) if frequency is None else n_documents
    pairs = index.pairs()
    orders = _pair_scores(index, pairs, documents, n_documents, max_order, sigma, is_clipped=is_clipped)
    scores = np.stack([_sums(pairs.number, values, len(pairs.size)) for values in orders], axis=1)
    return scores.mean(axis=1) / pairs.size * CIDER_D_MAXIMUM


def drawn_cider_d(index: NgramIndex, hypotheses: Ints, references: Masks) -> Floats:
    """Score a text of each row by CIDEr-D, with document frequencies counted in the references drawn for all rows.

    Args:
        index: sets of texts.
        hypotheses: int64, shape (n_rows,): number of the text of row i that is scored.
        references: uint64, shape (n_rows, n_blocks): masks of the texts that it is compared with.

    Returns:
        float64 array, shape (n_rows,), as `cider_scores` of these candidates and references.
    """
    pairs, n_rows = index.pairs(hypotheses), len(hypotheses)
    _, text = index.texts.members(np.arange(n_rows), references)
    is_reference = np.zeros(len(index.lengths))
    is_reference[text] = 1.0
    is_drawn = is_reference[pairs.reference]

    factor, total = _penalties(index, pairs, LENGTH_SIGMA), np.zeros(len(pairs.number))
    for order, squares, row, ngram, masks in index.drawn:
        is_counted = np.bitwise_or.reduce(masks & references[row], axis=1) > 0
        documents = np.bincount(ngram[is_counted], minlength=len(order.documents))
        weights = ngram_weights(documents, n_rows)
        total += _cosines(index, order, weights, np.sqrt(squares @ weights**2), pairs, is_clipped=True) * factor
    sums, number = (_sums(pairs.number, values, n_rows) for values in (total * is_drawn, is_drawn))
    return sums / number * (CIDER_D_MAXIMUM / MAX_ORDER)


def cider_d_scores(rows: TokenRows, frequencies: Mapping[str, int], n_documents: int) -> list[Floats]:
    """Score every text of a row by CIDEr-D against every text of the row as its only reference.

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
    return [values * CIDER_D_MAXIMUM for values in _row_matrices(rows, frequencies, n_documents, is_clipped=True)]


def ngram_cosines(rows: TokenRows, frequencies: Mapping[str, int], n_documents: int) -> list[Floats]:
    """Return the mean over n of the cosines of a row's pairs of texts, CIDEr / 10, as `cider_d_scores`; symmetric."""
    matrices = _row_matrices(rows, frequencies, n_documents, is_clipped=False)
    return [(values + values.T) / 2 for values in matrices]


def _row_matrices(
    rows: TokenRows, frequencies: Mapping[str, int], n_documents: int, *, is_clipped: bool
) -> list[Floats]:
    """Scores of all pairs of texts of each row, 0 to 1: shape (n_texts, n_texts)."""
    index = NgramIndex.of_sets(rows)
    documents = _in_table(index, joined_frequency(frequencies))
    total = sum(_pair_scores(index, index.pairs(), documents, n_documents, is_clipped=is_clipped)) / MAX_ORDER
    sizes = index.texts.sizes
    return [part.reshape(n, n) for part, n in zip(np.split(total, np.cumsum(sizes**2)), sizes, strict=False)]


def cider_distances(rows: TokenRows, scores: Sequence[Floats]) -> list[Floats]:
    """Turn CIDEr-D scores into distances: d(x, y) = 10 - CIDEr-D(candidate x, reference y).

    Equal token sequences have distance 0 by definition, since a short text scores below 10 against itself and the
    triangle-rank statistic needs d(x, x) = 0.

    `rows` are token lists, and `scores`, float64 of shape (n_texts, n_texts) for each row, come from `cider_d_scores`.
    The distances have that shape: 0 to 10, not symmetric.

    >>> cider_distances([[["a"], ["b"]]], [np.array([[2.5, 1.0], [2.0, 2.5]])])[0].tolist()
    [[0.0, 9.0], [8.0, 0.0]]
    """
    return [
        np.where(same_tokens(row), 0.0, CIDER_D_MAXIMUM - row_scores)
        for row, row_scores in zip(rows, scores, strict=True)
    ]


def multi_reference_cider_d(scores: Floats, n_candidates: int) -> Floats:
    """Return the mean over the candidates of CIDEr-D against all references, which is the mean over the references.

    Chan et al. (2022), equation 1, https://arxiv.org/abs/2209.07518, with the CIDEr-D of the COCO caption code.

    `scores`, float64 of shape (n_rows, n_texts, n_texts), come from `cider_d_scores`, candidates first. Shape
    (n_rows,), 0 (worst) to 10 (best).

    >>> multi_reference_cider_d(np.array([[[9.0, 1.0, 2.0], [0.0, 9.0, 0.0], [0.0, 0.0, 9.0]]]), 1).tolist()
    [1.5]
    """
    means: Floats = scores[:, :n_candidates, n_candidates:].mean(axis=(1, 2))
    return means


def ngram_weights(documents: npt.NDArray[np.number], n_documents: float) -> Floats:
    """Return the inverse document frequency of each n-gram: log(n_documents / max(1, documents))."""
    weights: Floats = np.log(float(n_documents)) - np.log(np.maximum(1.0, documents))
    return weights


def document_weights(index: NgramIndex, documents: DocumentFrequency | int) -> list[Floats]:
    """Return the weights of the n-grams of each order, by a table, or as counted in so many rows of references."""
    if isinstance(documents, int):
        return [ngram_weights(order.documents, documents) for order in index.orders()]
    table_counts = _in_table(index, joined_frequency(documents.counts))
    return [ngram_weights(table_counts(n, order), documents.n_documents) for n, order in enumerate(index.orders(), 1)]


def weigh_ngrams(index: NgramIndex, order: NgramOrder, weights: Floats) -> tuple[Floats, Floats]:
    """Return the weighted frequency of each entry, and the length of each text's vector of them.

    A text of n-grams that are in every document, which weigh 0, has the length 0; it scores 0.
    """
    values = order.frequency * weights[order.ngram]
    squares = np.zeros(len(index.words))
    squares[order.position] = values**2  # at the first use, so that they are added in the order of the text
    return values, np.sqrt(_sums(index.text_of_word, squares, len(index.lengths)))


def _own_documents(_n: int, order: NgramOrder) -> Ints:
    """Documents counted in the references, each row of them one."""
    return order.documents


def _in_table(index: NgramIndex, frequency: Frequency) -> Documents:
    """Documents out of a table."""
    return lambda n, order: np.fromiter(frequency(index.ngrams(order, n)), np.float64, len(order.documents))


def _pair_scores(
    index: NgramIndex,
    pairs: Pairs,
    documents: Documents,
    n_documents: float,
    max_order: int = MAX_ORDER,
    sigma: float = LENGTH_SIGMA,
    *,
    is_clipped: bool = True,
) -> Iterator[Floats]:
    """For each order the score of every pair, 0 to 1: its cosine, clipped and with the penalty if so."""
    factor = _penalties(index, pairs, sigma) if is_clipped and max_order > 1 else 1.0
    for n, order in enumerate(index.orders(max_order), start=1):
        weights = ngram_weights(documents(n, order), n_documents)
        norms = weigh_ngrams(index, order, weights)[1]
        yield _cosines(index, order, weights, norms, pairs, is_clipped=is_clipped) * factor


def _cosines(
    index: NgramIndex, order: NgramOrder, weights: Floats, norms: Floats, pairs: Pairs, *, is_clipped: bool
) -> Floats:
    """Cosine of every pair, with clipping if so."""
    # The number of a pair is its reference's, plus one that depends on the candidate.
    offset = np.zeros(len(norms), np.int64)
    offset[pairs.candidate[pairs.first]] = pairs.first - pairs.reference[pairs.first]
    products = np.zeros(len(pairs.number))
    for entry, size, other in index.matches(order, pairs.some):
        own = weights[order.ngram[entry]]
        mine, theirs = (own * order.frequency[entry]).repeat(size), own.repeat(size) * order.frequency[other]
        terms = (np.minimum(mine, theirs) if is_clipped else mine) * theirs
        pair = offset[order.text[entry]].repeat(size) + order.text[other]
        first = int(pair.min())
        sums = np.bincount(pair - first, terms)
        products[first : first + len(sums)] += sums
    scale = norms[pairs.candidate] * norms[pairs.reference]
    return np.divide(products, scale, out=products, where=scale != 0)


def _penalties(index: NgramIndex, pairs: Pairs, sigma: float) -> Floats:
    """Penalty of every pair, by Python's power: NumPy's differs in the last digit."""
    n_bigrams = np.maximum(index.lengths - 1, 0)
    difference = np.abs(n_bigrams[pairs.candidate] - n_bigrams[pairs.reference])
    values = np.zeros(int(difference.max(initial=0)) + 1)
    distinct = np.flatnonzero(np.bincount(difference, minlength=1))
    values[distinct] = [np.e ** (-(float(value) ** 2) / (2 * sigma**2)) for value in distinct.tolist()]
    return values[difference]
