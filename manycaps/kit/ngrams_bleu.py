"""BLEU as the COCO caption code computes it, on arrays: of candidates, of a corpus, and self-BLEU."""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import scipy.sparse

from .arrays import Floats, Ints, Masks, TokenList, TokenRows, exact_mean
from .ngrams import CIDER_D_MAXIMUM, LENGTH_SIGMA, MAX_ORDER, NgramIndex, NgramOrder, _levels, _starts
from .ngrams_cider import ngram_weights, weigh_ngrams

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
    c the length of the candidate and r the nearest length of a reference, the brevity penalty B is
    exp(1 - 1/q) where q < 1, else 1.

    Powers are the C library's, which NumPy's differ from in the last digit.

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


def bleu_of_sums(statistics: npt.NDArray[np.number]) -> Floats:
    """Compute BLEU-1 to BLEU-4 of a corpus, float64, (4,), 0 (worst) to 1 (best): of summed statistics, not a mean."""
    return bleu_scores(statistics.sum(axis=0)[None])[0]


def bleu_statistics(index: NgramIndex, max_order: int = MAX_ORDER) -> Ints:
    """Count the statistics of BLEU of every candidate against the references of its row, row after row.

    An n-gram of a candidate matches as often as it occurs in the reference that has it most often; of two
    references equally near in length the shorter one counts.

    Returns:
        int64 array, shape (n_candidates in all, 2 max_order + 2), columns as `STATISTICS`.

    >>> texts = NgramIndex.of_rows([[["a", "a", "dog"]]], [[["a", "dog"], ["a", "red", "dog", "runs"]]])
    >>> bleu_statistics(texts)[0].tolist()
    [2, 1, 0, 0, 3, 2, 1, 0, 3, 2]
    """
    n_texts, matches = len(index.lengths), []
    for order in index.orders(max_order):
        entry = np.sort(order.matched)  # cell by cell, so that ranges of references follow each other
        end = order.cell_end[order.cell[entry]]
        bounds = np.stack([end - order.n_references[order.cell[entry]], end], axis=1).ravel()
        most = np.maximum.reduceat(np.append(order.frequency, 0), bounds)[::2] if len(bounds) else end
        clipped = np.minimum(order.frequency[entry], most)
        matches.append(np.bincount(order.text[entry], clipped, n_texts)[index.candidates].astype(np.int64))
    nearest = [np.zeros(0, np.int64)]
    for pairs in index.pair_parts():
        nearest.append(_nearest_lengths(index.lengths[pairs.candidate], index.lengths[pairs.reference], pairs.first))
    return _statistics(index, index.candidates, matches, np.concatenate(nearest))


def drawn_bleu_statistics(index: NgramIndex, candidates: Ints, references: Masks) -> Ints:
    """Count the statistics of BLEU of some texts, each against others of its row: as `bleu_statistics`.

    `index` has sets of texts. `candidates` is int64, shape (n,): numbers of the texts that are scored; `references` is
    uint64, shape (n, n_blocks): masks of the texts of the same row that each is compared with, at least one.
    """
    matches = []
    for first, masks in index.use_masks:
        number = first[candidates + 1] - first[candidates]
        position = np.repeat(np.arange(len(candidates)), number)
        use = np.arange(len(position)) + np.repeat(first[candidates] - _starts(number), number)
        is_match = (masks[use] & references[position]).any(axis=1)
        matches.append(np.bincount(position, is_match, len(candidates)).astype(np.int64))
    position, text = index.texts.members(index.texts.row[candidates], references)
    first = np.searchsorted(position, np.arange(len(candidates)))
    nearest = _nearest_lengths(index.lengths[candidates[position]], index.lengths[text], first)
    return _statistics(index, candidates, matches, nearest)


def _statistics(index: NgramIndex, candidates: Ints, matches: Sequence[Ints], nearest: Ints) -> Ints:
    """Columns as `STATISTICS`."""
    lengths = index.lengths[candidates]
    numbers = [np.maximum(lengths - order, 0) for order in range(len(matches))]
    return np.stack([*matches, *numbers, lengths, nearest], axis=1)


def _nearest_lengths(candidate: Ints, reference: Ints, first: Ints) -> Ints:
    """Length of the reference nearest in length to each candidate, the shorter one of two, of pairs from `first`."""
    width = int(reference.max(initial=0)) + 1
    keys = np.abs(reference - candidate) * width + reference
    nearest: Ints = np.minimum.reduceat(keys, first) % width if len(first) else first
    return nearest


# Matches that an order without one counts as: method 1 of Chen and Cherry (2014), https://aclanthology.org/W14-3346,
# with NLTK's epsilon.
EPSILON = 0.1


def smoothed_bleu(statistics: np.ndarray) -> np.ndarray:
    """Return BLEU-4 of single captions as NLTK's `sentence_bleu` with smoothing method 1 computes it.

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
    index = NgramIndex.of_sets([sets[i] for i in larger])
    statistics = drawn_bleu_statistics(index, index.candidates, index.texts.others(index.candidates))
    for i, rows in zip(larger, np.split(statistics, index.texts.first[1:-1]), strict=True):
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
        name: [exact_mean(scores(counts)) if len(counts) else math.nan for counts in statistics]
        for name, scores in scorers.items()
    }


def corpus_mbleu_4(statistics: Sequence[np.ndarray]) -> float:
    """Return mBLEU-4 of a corpus: the first captions of all sets are one corpus, the second ones another, and so on.

    The mean over places of the COCO caption code's corpus BLEU-4, 0 to 1: what programs for several captions per image
    print. Unlike all other values it depends on the order of the captions in a set. NaN where no set has two captions.
    """
    n_places = max((len(counts) for counts in statistics), default=0)
    corpora = [
        np.stack([counts[position] for counts in statistics if len(counts) > position]) for position in range(n_places)
    ]
    return exact_mean([bleu_of_sums(corpus)[-1] for corpus in corpora])


class CrossBleu:
    """BLEU of order 1 to 4, Papineni et al. (2002), https://aclanthology.org/P02-1040: n-grams counted once.

    The matrices hold zeros and ones: whether a candidate, or a reference of a row, has an n-gram at least k times.
    """

    def __init__(self, candidates: Sequence[TokenList], rows: TokenRows, order: int = MAX_ORDER) -> None:
        """Count the n-grams of candidates, token lists, and of rows of references."""
        self.n_orders = order
        index = _cross_index(candidates, rows)
        self.lengths, row = index.lengths[: len(candidates)], index.texts.row[len(candidates) :] - 1
        self.products = []
        for ngrams in index.orders(order):
            own, reference_levels = _level_matrices(ngrams, np.ones(len(ngrams.text)), len(candidates), len(row))
            row_levels = scipy.sparse.csr_array((np.ones(len(row)), (row, np.arange(len(row)))), (len(rows), len(row)))
            row_levels = row_levels @ reference_levels
            row_levels.data[:] = 1  # references of a row share columns: one of them is enough
            self.products.append((own, row_levels.T.tocsr()))
        self.penalties = _brevity_penalties(self.lengths, index.lengths[len(candidates) :], row, len(rows))

    def scores(self, begin: int, end: int) -> Floats:
        """Score some candidates against every row: float64, shape (end - begin, n_rows), 0 (worst) to 1 (best)."""
        lengths = self.lengths[begin:end]
        product: Floats = np.ones((end - begin, self.products[0][1].shape[1]))
        for order, (candidate_levels, row_levels) in enumerate(self.products):
            matches = (candidate_levels[begin:end] @ row_levels).toarray()
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


class CrossCider:
    """CIDEr-D (`cider_scores`): n-grams counted once; document frequencies count the rows of references.

    The matrices hold weights: the candidate's, and the reference's times its frequency, both divided by their lengths.
    The penalty depends on both lengths, so the references of every row are added up for all candidates of one length.
    """

    def __init__(self, candidates: Sequence[TokenList], rows: TokenRows) -> None:
        """Count the n-grams of candidates, and of rows of references, which are the documents: token lists of each."""
        index, n = _cross_index(candidates, rows), len(candidates)
        sides = []
        for order in index.orders():
            values, norms = weigh_ngrams(index, order, ngram_weights(order.documents, len(rows)))
            units = np.divide(values, norms[order.text], out=np.zeros(len(values)), where=norms[order.text] > 0)
            # Of a candidate once for each k, of a reference with all of its frequency.
            units[order.text < n] /= order.frequency[order.text < n]
            sides.append(_level_matrices(order, units, n, len(index.lengths) - n))
        self.candidate_weights, self.reference_weights = (
            scipy.sparse.hstack(parts, format="csr") for parts in zip(*sides, strict=True)
        )
        n_bigrams, row = np.maximum(index.lengths - 1, 0), index.texts.row[n:] - 1
        self.lengths, self.reference_lengths = n_bigrams[:n], n_bigrams[n:]
        self.membership = row, CIDER_D_MAXIMUM / MAX_ORDER / index.texts.sizes[row + 1]
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
            result[is_here] = (self.candidate_weights[chosen[is_here]] @ self._rows(length)).toarray()
        return result

    def _rows(self, length: int) -> scipy.sparse.csr_array:
        """References of every row, added up with their penalties for candidates of a length: (n_columns, n_rows)."""
        if self.added_up is None or self.added_up[0] != length:
            row, weight = self.membership
            penalty = np.exp(-((length - self.reference_lengths) ** 2) / (2 * LENGTH_SIGMA**2))
            adding = scipy.sparse.csr_array(
                (weight * penalty, (row, np.arange(len(row)))), shape=(self.n_rows, len(row))
            )
            self.added_up = length, (adding @ self.reference_weights).T.tocsr()
        return self.added_up[1]


def _cross_index(candidates: Sequence[TokenList], rows: TokenRows) -> NgramIndex:
    """N-grams of all candidates, as a row of their own, and of rows of references."""
    return NgramIndex.of_rows([candidates, *([[]] * len(rows))], [[], *rows])


def _level_matrices(
    order: NgramOrder, values: Floats, n_candidates: int, n_references: int
) -> tuple[scipy.sparse.csr_array, scipy.sparse.csr_array]:
    """Write the values of entries into matrices (n_candidates, n_columns) and (n_references, n_columns).

    The columns are the pairs of an n-gram and k = 1 ... that both sides have.
    """
    level, n_levels = _levels(order.frequency)
    text, value = order.text.repeat(order.frequency), values.repeat(order.frequency)
    column = order.ngram.repeat(order.frequency) * n_levels + level
    is_candidate = text < n_candidates
    shared = np.intersect1d(column[is_candidate], column[~is_candidate])
    number = np.searchsorted(shared, column)
    is_used = np.append(shared, -1)[number] == column
    own, theirs = (
        scipy.sparse.csr_array((value[side], (text[side] - first, number[side])), shape=(n, len(shared)))
        for side, first, n in (
            (is_used & is_candidate, 0, n_candidates),
            (is_used & ~is_candidate, n_candidates, n_references),
        )
    )
    return own, theirs


def _brevity_penalties(candidate: Ints, reference: Ints, row: Ints, n_rows: int) -> tuple[Ints, Floats]:
    """Distinct lengths of candidates, and the brevity penalty of each with every row: (n_lengths, n_rows)."""
    lengths = np.unique(candidate)
    first = np.searchsorted(row, np.arange(n_rows))
    nearest = np.array([_nearest_lengths(length, reference, first) for length in lengths]).reshape(-1, n_rows)
    ratio = (lengths[:, None] + TINY) / (nearest + SMALL)
    return lengths, np.exp(np.minimum(1 - 1 / ratio, 0))
