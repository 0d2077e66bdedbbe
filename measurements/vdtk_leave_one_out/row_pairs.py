"""Numbers of all pairs of texts of every row, and those that a draw needs of them."""

import math
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from .shared_row_texts import Ints, Masks, RowTexts

# Pairs of texts that are gathered at once, 8 bytes each in a few arrays.
MAX_PAIRS = 4_000_000

Floats = npt.NDArray[np.float64]
Statistics = npt.NDArray[Any]


class ScoredTexts(Protocol):
    """A metric that scores any text of a row against any others of it.

    `statistics` gives numbers for each hypothesis, `each` turns these into its score, and `corpus` into the values that
    are reported.
    """

    # Whether the statistics of a hypothesis depend on its own references alone.
    is_own: bool

    # Whether all hypotheses of a row are compared at once: they come as an array of shape (n, n_hypotheses).
    is_set: bool

    def statistics(self, hypotheses: Ints, references: Masks) -> Statistics:
        """Return the numbers of some texts, shape (n,) or (n, n_numbers)."""

    def each(self, statistics: Statistics) -> dict[str, Floats]:
        """Return the score that each line of numbers has by itself, shape (n,)."""

    def corpus(self, statistics: Statistics) -> dict[str, float]:
        """Return the values of a corpus, one of whose hypotheses each line of numbers stands for."""


class MeanScores:
    """A metric whose corpus has the mean of its hypotheses: the statistics are the scores themselves."""

    is_own = True
    is_set = False
    # Key of the result.
    name: str

    def each(self, statistics: Statistics) -> dict[str, Floats]:
        """The scores."""
        return {self.name: statistics}

    def corpus(self, statistics: Statistics) -> dict[str, float]:
        """The mean."""
        return {self.name: math.fsum(statistics.tolist()) / len(statistics)}


class RowPairs:
    """Where the pairs [first, second] of the texts of every row stand: in a square for each row, row after row."""

    def __init__(self, texts: RowTexts) -> None:
        """Take the places of the texts."""
        self.texts = texts
        self.first_pair: Ints = np.cumsum(texts.sizes**2) - texts.sizes**2

    def pairs(self) -> tuple[Ints, Ints]:
        """Numbers of candidate and reference of all pairs, each text with itself included."""
        size = self.texts.sizes[self.texts.row]
        candidate = np.repeat(np.arange(len(size)), size)
        place = np.arange(len(candidate)) - np.repeat(np.cumsum(size) - size, size)
        return candidate, self.texts.first[self.texts.row[candidate]] + place

    def chosen(self, hypotheses: Ints, references: Masks) -> tuple[Ints, Ints]:
        """Numbers of the pairs of each hypothesis with its references, and where each hypothesis begins."""
        row = self.texts.row[hypotheses]
        position, other = self.texts.members(row, references)
        line = self.first_pair[row] + self.texts.place[hypotheses] * self.texts.sizes[row]
        return line[position] + self.texts.place[other], np.searchsorted(position, np.arange(len(hypotheses)))

    def squares(self, texts: Ints) -> Ints:
        """Numbers of the pairs of some texts of a row with each other: shape (n, n_texts, n_texts).

        Args:
            texts: int64 array, shape (n, n_texts): numbers of texts, those of a line of one row.
        """
        row, place = self.texts.row[texts[:, :1]], self.texts.place[texts]
        line = self.first_pair[row] + place * self.texts.sizes[row]
        return line[:, :, None] + place[:, None, :]
