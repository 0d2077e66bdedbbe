"""Captions as whole numbers: every word is a number, a chunk of rows is three arrays."""

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

# Number of a word that no caption has had; one more still fits into 32 bits.
UNKNOWN_WORD = 2**32 - 2


class WordNumbers(dict[str, int]):
    """Numbers of words in the order of their arrival; asking for a new word by `[]` numbers it.

    >>> numbers = WordNumbers()
    >>> numbers["dog"], numbers["cat"], numbers["dog"]
    (0, 1, 0)
    """

    def __missing__(self, word: str) -> int:
        number = self[word] = len(self)
        return number


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
        """Which caption each word is of: int64 array, shape (n_words,)."""
        return np.repeat(np.arange(len(self.n_tokens)), self.n_tokens)

    @property
    def row_of_caption(self) -> np.ndarray:
        """Which row each caption is of: int64 array, shape (n_captions,)."""
        return np.repeat(np.arange(len(self.n_captions)), self.n_captions)


def coded_captions(rows: Iterable[Sequence[Sequence[str]]], number_of: Callable[[str], int]) -> CodedCaptions:
    """Number the words of some rows.

    Args:
        rows: n_rows lists of token lists.
        number_of: number of a word, below 2^32 - 2: `WordNumbers().__getitem__`, which numbers new words, or
            `known_number`, which does not.

    Returns:
        The rows as numbers.

    >>> coded = coded_captions([[["a", "dog"], []], [["a"]]], WordNumbers().__getitem__)
    >>> coded.words.tolist(), coded.n_tokens.tolist(), coded.n_captions.tolist()
    ([0, 1, 0], [2, 0, 1], [2, 1])
    """
    rows = list(rows)
    captions = list(itertools.chain.from_iterable(rows))
    n_tokens = np.fromiter(map(len, captions), dtype=np.int64, count=len(captions))
    words = map(number_of, itertools.chain.from_iterable(captions))
    return CodedCaptions(
        np.fromiter(words, dtype=np.int64, count=int(n_tokens.sum())),
        n_tokens,
        np.fromiter(map(len, rows), dtype=np.int64, count=len(rows)),
    )


def known_number(numbers: WordNumbers) -> Callable[[str], int]:
    """Return the function from a word to its number that gives `UNKNOWN_WORD` for a new word and numbers nothing.

    >>> known_number(WordNumbers())("dog") == UNKNOWN_WORD
    True
    """
    return lambda word: numbers.get(word, UNKNOWN_WORD)


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
