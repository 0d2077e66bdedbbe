"""Overlap of the words of two sets of captions: the maths of this module, for you to replace."""

from collections.abc import Sequence


def word_overlap(candidates: Sequence[str], references: Sequence[str]) -> float:
    """Return the share of all words that both sets of captions use.

    |A and B| / |A or B| with the sets of lower-case words A and B (Jaccard, 1912).

    Args:
        candidates: candidate captions of one image.
        references: its human captions.

    Returns:
        0 (no common word) to 1 (the same words). Two sets without any word are the same: 1.

    >>> word_overlap(["a dog", "A wet dog"], ["a dog runs"])
    0.5
    """
    ours, theirs = (
        {word for caption in captions for word in caption.lower().split()} for captions in (candidates, references)
    )
    return len(ours & theirs) / len(ours | theirs) if ours | theirs else 1.0
