"""Numbers 0, 1, 2, ... for 64-bit keys, in the order of their batches: a hash table made of NumPy arrays."""

import numpy as np

# Multiplier of Knuth's multiplicative hashing: 2^64 divided by the golden ratio, made odd (The Art of Computer
# Programming, volume 3, section 6.4).
MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)

# Slots of an empty table, and the share of slots that may be taken before the table doubles.
FEWEST_SLOTS = 1024
LARGEST_LOAD = 0.6

# Keys that are entered again at once when the table doubles: bounds the temporary arrays.
BLOCK = 1_000_000


class NumberTable:
    """A growing map from keys to numbers, with linear probing, all keys of a batch at once.

    A key costs 8 bytes, its slots 4 bytes each (7 to 14 bytes a key), and both arrays have room to grow. Time is linear
    in the keys.

    >>> table = NumberTable()
    >>> table.numbers(np.array([30, 10, 30], dtype=np.uint64)).tolist(), len(table)
    ([1, 0, 1], 2)
    >>> table.find(np.array([10, 20], dtype=np.uint64)).tolist(), len(table)
    ([0, -1], 2)
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

    @property
    def n_bytes(self) -> int:
        """Bytes of the arrays, the room to grow included."""
        return self._keys.nbytes + self._slots.nbytes

    def numbers(self, keys: np.ndarray) -> np.ndarray:
        """Return the numbers of keys; new keys are entered.

        Args:
            keys: uint64 array, shape (n,), repetitions allowed.

        Returns:
            int64 array, shape (n,), each 0 to len - 1.
        """
        self._make_room(len(keys))
        slots = self._first_slots(keys)
        found = self._claimed(slots, keys)
        pending = np.flatnonzero(self._keys[found] != keys)
        slots, keys = slots[pending], keys[pending]
        while pending.size:
            slots = self._next_slots(slots)
            numbers = self._claimed(slots, keys)
            found[pending] = numbers
            other = self._keys[numbers] != keys
            pending, slots, keys = pending[other], slots[other], keys[other]
        return found

    def find(self, keys: np.ndarray) -> np.ndarray:
        """Return the numbers of keys and enter nothing.

        Args:
            keys: uint64 array, shape (n,).

        Returns:
            int64 array, shape (n,), -1 where a key is not in the table.
        """
        found = np.full(len(keys), -1, dtype=np.int64)
        pending, slots = np.arange(len(keys)), self._first_slots(keys)
        while pending.size:
            number = self._slots[slots]
            taken = number >= 0
            pending, slots, number = pending[taken], slots[taken], number[taken]
            same = self._keys[number] == keys[pending]
            found[pending[same]] = number[same]
            pending, slots = pending[~same], self._next_slots(slots[~same])
        return found

    def _first_slots(self, keys: np.ndarray) -> np.ndarray:
        n_bits = len(self._slots).bit_length() - 1
        return ((keys * MULTIPLIER) >> np.uint64(64 - n_bits)).astype(np.int64)

    def _next_slots(self, slots: np.ndarray) -> np.ndarray:
        return (slots + 1) & (len(self._slots) - 1)

    def _claimed(self, slots: np.ndarray, keys: np.ndarray) -> np.ndarray:
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
            self._keys = grown(self._keys, n_wanted)
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
    """Add values, or 1, at places of an array; a place that comes several times gets them all.

    Args:
        array: shape (size,), changed.
        numbers: int64 array, shape (n,), each 0 to size - 1.
        values: array, shape (n,), or None for ones.

    >>> counts = np.array([0, 5])
    >>> add_at(counts, np.array([1, 1]), None)
    >>> counts.tolist()
    [0, 7]
    """
    if len(array) <= 2 * len(numbers):  # a pass over a short array is cheaper than many single additions
        array += np.bincount(numbers, values, minlength=len(array)).astype(array.dtype, copy=False)
    else:
        np.add.at(array, numbers, 1 if values is None else values)


def grown(array: np.ndarray, length: int) -> np.ndarray:
    """Return the array with room for `length` values, and for half as many again as it has; new values are 0.

    >>> grown(np.array([7, 8]), 3).tolist()
    [7, 8, 0]
    """
    larger = np.zeros(max(length, len(array) * 3 // 2), dtype=array.dtype)
    larger[: len(array)] = array
    return larger
