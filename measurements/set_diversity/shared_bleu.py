# Vendored from manycaps/shared_bleu.py. Edit it there, then run `make format`.
"""BLEU-1 to BLEU-4 of many candidates at once, as the COCO caption code computes them, from statistics on arrays.

Papineni et al. (2002), https://aclanthology.org/P02-1040. The published numbers of captioning are those of the COCO
caption code (Chen et al. 2015, section 4.2, https://arxiv.org/abs/1504.00325), whose conventions are kept.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from .shared_ngrams import ngram_ids, word_ids

# N-gram orders 1 to 4 (Papineni et al. 2002, section 2.3).
MAX_ORDER = 4

# What the COCO caption code (pycocoevalcap 1.2, bleu_scorer.py, compute_score) adds to matches and to totals, so that
# nothing is divided by 0. They belong to the published numbers: BLEU-4 of a caption without a common 4-gram is about
# 0.0001 and not 0.
TINY, SMALL = 1e-15, 1e-9

# The statistics of a candidate, in the order of the columns: matches and numbers of its 1- to 4-grams, and lengths.
STATISTICS = (
    *(f"matches_{order}" for order in range(1, MAX_ORDER + 1)),
    *(f"ngrams_{order}" for order in range(1, MAX_ORDER + 1)),
    *("candidate_length", "reference_length"),
)

# Texts of a row that one number of a mask can name.
BITS = 64

Ints = npt.NDArray[np.int64]
Masks = npt.NDArray[np.uint64]
Floats = npt.NDArray[np.float64]
Tokens = Sequence[str]


def bleu_scores(statistics: npt.NDArray[np.number]) -> Floats:
    """Turn the statistics of candidates, or their sums, into BLEU-1 to BLEU-4.

    BLEU-N = B (p_1 ... p_N)^(1/N), p_n = (matches_n + 1e-15) / (ngrams_n + 1e-9). With q = (c + 1e-15) / (r + 1e-9),
    c the length of the candidate and r that of the reference of the nearest length, the brevity penalty B is
    exp(1 - 1/q) where q < 1, else 1.

    Args:
        statistics: array, shape (n, 10), columns as `STATISTICS`.

    Returns:
        float64 array, shape (n, 4), 0 (worst) to 1 (best).

    >>> bleu_scores(np.array([[2, 1, 0, 0, 2, 1, 0, 0, 2, 4]]))[0, :2].round(4).tolist()
    [0.3679, 0.3679]
    """
    numbers = np.asarray(statistics, np.float64)
    precisions = (numbers[:, :MAX_ORDER] + TINY) / (numbers[:, MAX_ORDER : 2 * MAX_ORDER] + SMALL)  # (n, 4)
    means = np.cumprod(precisions, axis=1) ** (1.0 / np.arange(1, MAX_ORDER + 1))
    ratio = (numbers[:, 8] + TINY) / (numbers[:, 9] + SMALL)
    return means * np.exp(np.minimum(1 - 1 / ratio, 0))[:, None]


def corpus_bleu(statistics: npt.NDArray[np.number]) -> Floats:
    """BLEU-1 to BLEU-4 of a corpus: those of the summed statistics, not the mean over the candidates.

    Args:
        statistics: array, shape (n, 10), columns as `STATISTICS`.

    Returns:
        float64 array, shape (4,), 0 (worst) to 1 (best).

    >>> corpus_bleu(np.array([[1, 0, 0, 0, 1, 0, 0, 0, 1, 1], [0, 0, 0, 0, 1, 0, 0, 0, 1, 1]])).round(4).tolist()[0]
    0.5
    """
    return bleu_scores(statistics.sum(axis=0)[None])[0]


def bleu_statistics(candidates: Sequence[Tokens], references: Sequence[Sequence[Tokens]]) -> Ints:
    """Count what BLEU counts, for each candidate against its own references.

    Args:
        candidates: n token lists.
        references: n lists of at least one token list.

    Returns:
        int64 array, shape (n, 10), columns as `STATISTICS`. An n-gram of a candidate matches as often as it occurs in
        the reference that has it most often; of two references equally near in length the shorter one counts.

    >>> bleu_statistics([["a", "a", "dog"]], [[["a", "dog"], ["a", "red", "dog", "runs"]]])[0].tolist()
    [2, 1, 0, 0, 3, 2, 1, 0, 3, 2]
    """
    rows = [[candidate, *own] for candidate, own in zip(candidates, references, strict=True)]
    if not rows:
        return np.zeros((0, len(STATISTICS)), np.int64)
    table = BleuTable(rows)
    masks = table.all_texts()
    masks[:, 0] &= ~np.uint64(1)
    return table.statistics(np.array(table.first_text[:-1]), masks)


class BleuTable:
    """What the captions of every row have in common, counted once: any of them is then scored against any others.

    For the k-th occurrence of an n-gram in a text it is kept, as the bits of a mask, which texts of the row have the
    n-gram at least k times. So the clipped matches against a set of references are the occurrences whose mask meets
    that of the set.
    """

    def __init__(self, rows: Sequence[Sequence[Tokens]]) -> None:
        """Count n-grams.

        Args:
            rows: n_rows rows of at least one token list.
        """
        sizes = np.array([len(row) for row in rows], np.int64)
        # Number of the first text of every row; texts are counted through all rows.
        self.first_text: Ints = np.append(0, np.cumsum(sizes))
        self.row_of_text = np.repeat(np.arange(len(sizes)), sizes)
        self.place = np.arange(len(self.row_of_text)) - self.first_text[self.row_of_text]
        self.n_blocks = -(-int(sizes.max(initial=1)) // BITS)
        words, self.lengths = word_ids((tokens for row in rows for tokens in row), {})
        text_of_word = np.repeat(np.arange(len(self.lengths)), self.lengths)
        self.orders = [
            self._occurrences(ids, text_of_word[last]) for ids, last in ngram_ids(words, self.lengths, MAX_ORDER)
        ]

    def all_texts(self) -> Masks:
        """Masks of all texts of each row: uint64 array, shape (n_rows, n_blocks); bit t of a row is its text t."""
        return self._masks(self.row_of_text, self.place, len(self.first_text) - 1)

    def only(self, texts: Ints) -> Masks:
        """Masks of some texts, by their numbers: uint64 array, shape (n_rows, n_blocks)."""
        return self._masks(self.row_of_text[texts], self.place[texts], len(self.first_text) - 1)

    def statistics(self, candidates: Ints, references: Masks) -> Ints:
        """Count what BLEU counts for one text of each row.

        Args:
            candidates: int64 array, shape (n_rows,): number of the text of row i that is scored.
            references: uint64 array, shape (n_rows, n_blocks): masks of the texts of row i that it is compared with, at
                least one of each row.

        Returns:
            int64 array, shape (n_rows, 10), columns as `STATISTICS`.
        """
        result = np.zeros((len(candidates), len(STATISTICS)), np.int64)
        lengths = self.lengths[candidates]
        for order, (first, masks) in enumerate(self.orders):
            number = first[candidates + 1] - first[candidates]
            row = np.repeat(np.arange(len(candidates)), number)
            which = np.arange(len(row)) + np.repeat(first[candidates] - np.cumsum(number) + number, number)
            is_match = (masks[which] & references[row]).any(axis=1)
            result[:, order] = np.bincount(row, is_match, len(candidates))
            result[:, MAX_ORDER + order] = np.maximum(lengths - order, 0)
        result[:, 8], result[:, 9] = lengths, self._nearest_lengths(lengths, references)
        return result

    def _occurrences(self, ids: Ints, text: Ints) -> tuple[Ints, Masks]:
        """Number of the first occurrence of each text, and the mask of every occurrence."""
        n_ids = int(ids.max(initial=-1)) + 1
        keys, frequency = np.unique(text * n_ids + ids, return_counts=True)
        text, ids = np.divmod(keys, n_ids) if len(keys) else (keys, keys)
        level = np.arange(frequency.sum()) - np.repeat(np.cumsum(frequency) - frequency, frequency)
        text, ids = text.repeat(frequency), ids.repeat(frequency)
        # Occurrences with the same row, n-gram and level stand for each other.
        pairs = np.unique(self.row_of_text[text] * n_ids + ids, return_inverse=True)[1]
        shared, group = np.unique(pairs * (int(level.max(initial=0)) + 1) + level, return_inverse=True)
        masks = self._masks(group, self.place[text], len(shared))
        first = np.append(0, np.cumsum(np.bincount(text, minlength=len(self.lengths))))
        return first, masks[group]

    def _masks(self, group: Ints, place: Ints, n_groups: int) -> Masks:
        """Masks of the places of each group; no place stands twice in a group, so that bits can be added."""
        masks = np.zeros((n_groups, self.n_blocks), np.uint64)
        block, bit = np.divmod(place, BITS)
        np.bitwise_or.at(masks, (group, block), np.left_shift(np.uint64(1), bit.astype(np.uint64)))
        return masks

    def _nearest_lengths(self, lengths: Ints, references: Masks) -> Ints:
        """Length of the reference nearest in length to each row's candidate, the shorter one of two."""
        is_reference = self.chosen(references)
        row = self.row_of_text[is_reference]
        own = self.lengths[is_reference]
        distance = np.abs(own - lengths[row])
        width = int(self.lengths.max(initial=0)) + 1
        least = np.full(len(lengths), width * width, np.int64)
        np.minimum.at(least, row, distance * width + own)
        return least % width

    def chosen(self, masks: Masks) -> npt.NDArray[np.bool_]:
        """Whether each text is in the mask of its row: bool array, shape (n_texts,)."""
        block, bit = np.divmod(self.place, BITS)
        return (masks[self.row_of_text, block] >> bit.astype(np.uint64)) & np.uint64(1) > 0
