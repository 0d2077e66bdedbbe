# Vendored from manycaps/shared_ngrams.py. Edit it there, then run `make format`.
"""N-grams of many captions as whole numbers: no tuple of strings is made for an n-gram that is only counted."""

import itertools
from collections.abc import Iterable, Sequence

import numpy as np


def word_ids(captions: Iterable[Sequence[str]], vocabulary: dict[str, int]) -> tuple[np.ndarray, np.ndarray]:
    """Number the tokens of all captions; new words are added to `vocabulary`.

    Args:
        captions: n_captions token lists.
        vocabulary: word to number, 0 to len - 1; grows.

    Returns:
        int64 array, shape (n_tokens,), the word numbers of all captions in one line; and int64 array, shape
        (n_captions,), the number of tokens of each caption.

    >>> words, lengths = word_ids([["a", "dog"], [], ["a"]], {})
    >>> words.tolist(), lengths.tolist()
    ([0, 1, 0], [2, 0, 1])
    """
    captions = list(captions)
    words = list(itertools.chain.from_iterable(captions))
    for word in dict.fromkeys(words):
        vocabulary.setdefault(word, len(vocabulary))
    numbers = np.fromiter(map(vocabulary.__getitem__, words), dtype=np.int64, count=len(words))
    return numbers, np.array([len(tokens) for tokens in captions], dtype=np.int64)


def ngram_ids(words: np.ndarray, lengths: np.ndarray, max_order: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Number the n-grams of all captions, order by order; none crosses from one caption into the next.

    An n-gram is numbered by the pair (number of its first n - 1 words, last word), so equal n-grams have equal numbers
    and a number stays below the number of tokens.

    Args:
        words: int64 array, shape (n_tokens,), as from `word_ids`.
        lengths: int64 array, shape (n_captions,).
        max_order: largest n, at least 1.

    Returns:
        For n = 1 ... max_order the pair (ids, last): int64 arrays, shape (n_ngrams,), in the order of the text. `last`
        is the position in `words` of an n-gram's last word.

    >>> words, lengths = word_ids([["a", "dog", "a", "dog"]], {})
    >>> [(ids.tolist(), last.tolist()) for ids, last in ngram_ids(words, lengths, 2)]
    [([0, 1, 0, 1], [0, 1, 2, 3]), ([0, 1, 0], [1, 2, 3])]
    """
    place = np.arange(len(words)) - np.repeat(np.cumsum(lengths) - lengths, lengths)  # place in the caption, from 0
    n_words = int(words.max(initial=-1)) + 1
    ids = np.unique(words, return_inverse=True)[1].astype(np.int64)  # (n_tokens,)
    last = np.arange(len(words))
    orders = [(ids, last)]
    for order in range(2, max_order + 1):
        longer = np.flatnonzero(place[last] >= order - 1)  # n-grams with one word more to their left
        # The (n-1)-gram that ends one word earlier stands one place earlier in the list: it is of the same caption.
        pairs = ids[longer - 1] * n_words + words[last[longer]]
        ids, last = np.unique(pairs, return_inverse=True)[1].astype(np.int64), last[longer]
        orders.append((ids, last))
    return orders
