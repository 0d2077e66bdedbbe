"""N-grams of many captions as whole numbers, and the texts of many rows in one flat list."""

import itertools
from collections.abc import Iterable, Sequence

import numpy as np

from .base_types import Ints, Masks

# Texts of a row that one number of a mask can name.
BITS = 64


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

    def masks(self, group: Ints, position: Ints, n_groups: int) -> Masks:
        """Masks of the positions of each group: uint64, shape (n_groups, n_blocks).

        `group` and `position` are int64, shape (n,): numbers of sets, and places in them.
        """
        masks = np.zeros((n_groups, self.n_blocks), np.uint64)
        block, bit = np.divmod(position, BITS)
        np.bitwise_or.at(masks, (group, block), np.left_shift(np.uint64(1), bit.astype(np.uint64)))
        return masks

    def others(self, texts: Ints) -> Masks:
        """Masks of all texts of the row but the one, for each of some texts: uint64 array, shape (n, n_blocks).

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


def word_ids(captions: Iterable[Sequence[str]], vocabulary: dict[str, int]) -> tuple[np.ndarray, np.ndarray]:
    """Number the tokens of all captions; new words are added to `vocabulary`.

    Returns:
        int64 array, shape (n_tokens,), the word numbers of all captions in one line; and int64 array, shape
        (n_captions,), the number of tokens of each caption.

    >>> words, lengths = word_ids([["a", "dog"], [], ["a"]], {})
    >>> words.tolist(), lengths.tolist()
    ([0, 1, 0], [2, 0, 1])
    """
    captions = list(captions)
    words = list(itertools.chain.from_iterable(captions))
    return numbered(words, vocabulary), np.array([len(tokens) for tokens in captions], dtype=np.int64)


def numbered(words: Sequence[str], vocabulary: dict[str, int]) -> np.ndarray:
    """Number words; new ones are added to `vocabulary`.

    >>> numbered(["a", "dog", "a"], {}).tolist()
    [0, 1, 0]
    """
    for word in dict.fromkeys(words):
        vocabulary.setdefault(word, len(vocabulary))
    return np.fromiter(map(vocabulary.__getitem__, words), dtype=np.int64, count=len(words))


def ngram_ids(words: np.ndarray, lengths: np.ndarray, max_order: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Number the n-grams of all captions, order by order; none crosses from one caption into the next.

    An n-gram is numbered by the pair (number of its first n - 1 words, last word), so equal n-grams have equal numbers
    and a number stays below the number of tokens. `words` and `lengths` are as from `word_ids`.

    Returns for n = 1 ... max_order the pair (ids, last): int64 arrays, shape (n_ngrams,), in the order of the text.
    `last` is the position in `words` of an n-gram's last word.

    >>> words, lengths = word_ids([["a", "dog", "a", "dog"]], {})
    >>> [(ids.tolist(), last.tolist()) for ids, last in ngram_ids(words, lengths, 2)]
    [([0, 1, 0, 1], [0, 1, 2, 3]), ([0, 1, 0], [1, 2, 3])]
    """
    position = np.arange(len(words)) - np.repeat(np.cumsum(lengths) - lengths, lengths)  # place in the caption, from 0
    n_words = int(words.max(initial=-1)) + 1
    ids = np.unique(words, return_inverse=True)[1].astype(np.int64)  # (n_tokens,)
    last = np.arange(len(words))
    orders = [(ids, last)]
    for order in range(2, max_order + 1):
        longer = np.flatnonzero(position[last] >= order - 1)  # n-grams with one word more to their left
        # The (n-1)-gram that ends one word earlier is the previous one in the list: it is of the same caption.
        pairs = ids[longer - 1] * n_words + words[last[longer]]
        ids, last = np.unique(pairs, return_inverse=True)[1].astype(np.int64), last[longer]
        orders.append((ids, last))
    return orders
