# Vendored from manycaps/shared_row_texts.py. Edit it there, then run `make format`.
"""Texts of many rows counted in one line, and sets of texts of a row as the bits of masks."""

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

# Texts of a row that one number of a mask can name.
BITS = 64

Ints = npt.NDArray[np.int64]
Masks = npt.NDArray[np.uint64]


class RowTexts:
    """Where the texts of every row stand when all rows are written in one line.

    >>> texts = RowTexts([2, 3])
    >>> texts.row.tolist(), texts.place.tolist()
    ([0, 0, 1, 1, 1], [0, 1, 0, 1, 2])
    """

    def __init__(self, sizes: Iterable[int]) -> None:
        """Take the number of texts of each row, at least one."""
        self.sizes: Ints = np.fromiter(sizes, np.int64)
        # Number of the first text of each row; one more at the end.
        self.first: Ints = np.append(0, np.cumsum(self.sizes))
        # Row of each text, and its place in the row.
        self.row: Ints = np.repeat(np.arange(len(self.sizes)), self.sizes)
        self.place: Ints = np.arange(len(self.row)) - self.first[self.row]
        self.n_blocks = max(1, -(-int(self.sizes.max(initial=1)) // BITS))

    def masks(self, group: Ints, place: Ints, n_groups: int) -> Masks:
        """Masks of the places of each group: uint64 array, shape (n_groups, n_blocks).

        Args:
            group: int64 array, shape (n,): number of a set.
            place: int64 array, shape (n,): a place in it.
            n_groups: number of sets.
        """
        masks = np.zeros((n_groups, self.n_blocks), np.uint64)
        block, bit = np.divmod(place, BITS)
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
        """Write out the texts that masks name.

        Args:
            rows: int64 array, shape (n,): the row of each mask.
            masks: uint64 array, shape (n, n_blocks).

        Returns:
            Two int64 arrays, shape (n_members,): number of the mask, ascending, and number of the text.

        >>> [part.tolist() for part in RowTexts([2, 3]).members(np.array([1]), np.array([[5]], np.uint64))]
        [[0, 0], [2, 4]]
        """
        number = self.sizes[rows]
        position = np.repeat(np.arange(len(rows)), number)
        place = np.arange(len(position)) - np.repeat(np.cumsum(number) - number, number)
        block, bit = np.divmod(place, BITS)
        is_member = (masks[position, block] >> bit.astype(np.uint64)) & np.uint64(1) > 0
        position, place = position[is_member], place[is_member]
        return position, self.first[rows[position]] + place
