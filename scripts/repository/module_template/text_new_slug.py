"""Overlap of the words of texts: the maths of this module, for you to replace."""

from collections.abc import Sequence


def word_overlap(texts: Sequence[Sequence[str]]) -> float:
    """Return the share of all words that every text uses.

    |A and B and ...| / |A or B or ...| with the sets of words A, B, ... (Jaccard, 1912).

    Args:
        texts: one or more, as lists of tokens.

    Returns:
        0 (no common word) to 1 (the same words). Texts without any word are the same: 1.

    >>> word_overlap(["a dog a wet dog".split(), "a dog runs".split()])
    0.5
    """
    words = [set(tokens) for tokens in texts]
    every_word = set.union(*words)
    return len(set.intersection(*words)) / len(every_word) if every_word else 1.0
