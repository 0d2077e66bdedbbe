"""BLEU as the COCO caption code computes it, on arrays: of candidates, of a corpus, and self-BLEU."""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from .base_types import Floats, Ints, Masks, TokenRows
from .text_ngrams import RowTexts, ngram_ids, word_ids
from .text_reference_ngrams import MAX_ORDER

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
