"""N-grams of many captions as whole numbers, and the texts of many rows in one flat list."""

import itertools
from collections.abc import Iterable, Sequence

import numpy as np

from .arrays import Floats, Ints, Masks

# Texts of a row that one number of a mask can name.
BITS = 64

# Bits of a key, the sign left out; keys below so many times their number are counted, not sorted.
KEY_BITS = 63

SMALL_KEYS = 8


class RowTexts:
    """Layout of the texts of all rows in one flat list.

    >>> texts = RowTexts([2, 3])
    >>> texts.row.tolist(), texts.place.tolist()
    ([0, 0, 1, 1, 1], [0, 1, 0, 1, 2])
    """

    def __init__(self, sizes: Iterable[int]) -> None:
        self.sizes: Ints = np.fromiter(sizes, np.int64)
        # Number of the first text of each row; one more at the end.
        self.first: Ints = np.append(0, np.cumsum(self.sizes))
        # Row of each text, and its index in the row.
        self.row: Ints = np.repeat(np.arange(len(self.sizes)), self.sizes)
        self.place: Ints = np.arange(len(self.row)) - self.first[self.row]
        self.n_blocks = max(1, -(-int(self.sizes.max(initial=1)) // BITS))

    def centre(self, values: Floats) -> Floats:
        """Return values of texts less their mean over the row, in rows of at least one text.

        >>> RowTexts([2, 1]).centre(np.array([1.0, 3.0, 5.0])).tolist()
        [-1.0, 1.0, 0.0]
        """
        differences: Floats = values - (np.add.reduceat(values, self.first[:-1]) / self.sizes)[self.row]
        return differences

    def masks(self, group: Ints, position: Ints, n_groups: int) -> Masks:
        """Return the masks of the positions of each group: uint64, shape (n_groups, n_blocks).

        `group` and `position` are int64, shape (n,): numbers of sets, and places in them.
        """
        masks = np.zeros((n_groups, self.n_blocks), np.uint64)
        block, bit = np.divmod(position, BITS)
        np.bitwise_or.at(masks, (group, block), np.left_shift(np.uint64(1), bit.astype(np.uint64)))
        return masks

    def others(self, texts: Ints) -> Masks:
        """Return masks of all texts of the row but the one, for each of some texts: uint64 array, shape (n, n_blocks).

        >>> RowTexts([2, 3]).others(np.array([1, 3])).tolist()
        [[1], [5]]
        """
        whole = self.masks(self.row, self.place, len(self.sizes))[self.row[texts]]
        return whole & ~self.masks(np.arange(len(texts)), self.place[texts], len(texts))

    def members(self, rows: Ints, masks: Masks) -> tuple[Ints, Ints]:
        """Write out the texts that masks, uint64, shape (n, n_blocks), name; `rows`, int64, (n,), has their rows.

        Returns two int64 arrays, shape (n_members,): number of the mask, ascending, and number of the text.

        >>> [part.tolist() for part in RowTexts([2, 3]).members(np.array([1]), np.array([[5]], np.uint64))]
        [[0, 0], [2, 4]]
        """
        number = self.sizes[rows]
        position = np.repeat(np.arange(len(rows)), number)
        offset = np.arange(len(position)) - np.repeat(np.cumsum(number) - number, number)
        block, bit = np.divmod(offset, BITS)
        is_member = (masks[position, block] >> bit.astype(np.uint64)) & np.uint64(1) > 0
        position, offset = position[is_member], offset[is_member]
        return position, self.first[rows[position]] + offset


class WordNumbers(dict[str, int]):
    """Numbers of words in the order of their arrival; looking up a new word by `[]` numbers it.

    >>> numbers = WordNumbers()
    >>> [numbers[word] for word in ("a", "dog", "a")]
    [0, 1, 0]
    """

    def __missing__(self, word: str) -> int:
        number = self[word] = len(self)
        return number


def word_ids(captions: Iterable[Sequence[str]], vocabulary: WordNumbers) -> tuple[np.ndarray, np.ndarray]:
    """Number the tokens of all captions; new words are added to `vocabulary`.

    Returns:
        int64 array, shape (n_tokens,), the word numbers of all captions in one line; and int64 array, shape
        (n_captions,), the number of tokens of each caption.

    >>> words, lengths = word_ids([["a", "dog"], [], ["a"]], WordNumbers())
    >>> words.tolist(), lengths.tolist()
    ([0, 1, 0], [2, 0, 1])
    """
    captions = list(captions)
    words = list(itertools.chain.from_iterable(captions))
    return number_words(words, vocabulary), np.array([len(tokens) for tokens in captions], dtype=np.int64)


def number_words(words: Sequence[str], vocabulary: WordNumbers) -> np.ndarray:
    """Number words; new ones are added to `vocabulary`.

    >>> number_words(["a", "dog", "a"], WordNumbers()).tolist()
    [0, 1, 0]
    """
    return np.fromiter(map(vocabulary.__getitem__, words), dtype=np.int64, count=len(words))


def number_keys(keys: Ints) -> tuple[Ints, Ints]:
    """Return the distinct keys in ascending order, and the place of each key among them.

    What `np.unique` returns, in half its time; keys are int64, shape (n,), at least 0.

    >>> [part.tolist() for part in number_keys(np.array([7, 2, 7]))]
    [[2, 7], [1, 0, 1]]
    """
    largest = int(keys.max(initial=0))
    if largest < SMALL_KEYS * max(1, len(keys)):  # without sorting
        is_used = np.zeros(largest + 1, bool)
        is_used[keys] = True
        return np.flatnonzero(is_used), (np.cumsum(is_used) - 1)[keys]
    order, is_new = runs_of_keys(keys)
    number = np.empty(len(keys), np.int64)
    number[order] = np.cumsum(is_new) - 1
    return keys[order[is_new]], number


def runs_of_keys(keys: Ints) -> tuple[Ints, np.ndarray]:
    """Return a stable order of keys, int64, shape (n,), of at least 0, and where a run of equal keys begins in it.

    >>> [part.tolist() for part in runs_of_keys(np.array([7, 2, 7]))]
    [[1, 0, 2], [True, True, False]]
    """
    own = max(0, len(keys) - 1).bit_length()
    if int(keys.max(initial=0)).bit_length() + own <= KEY_BITS:
        # A plain sort of keys that hold their index is several times faster than an argument sort.
        packed = keys << own | np.arange(len(keys))
        packed.sort()
        return packed & ((1 << own) - 1), run_begins(packed >> own)
    order = np.argsort(keys, kind="stable")
    return order, run_begins(keys[order])


def run_begins(*keys: Ints) -> np.ndarray:
    """Return where a run of equal keys begins: boolean, shape (n,).

    >>> run_begins(np.array([1, 1, 2]), np.array([5, 6, 6])).tolist()
    [True, True, True]
    """
    is_new = np.ones(len(keys[0]), bool)
    is_new[1:] = False
    for key in keys:
        is_new[1:] |= key[1:] != key[:-1]
    return is_new
