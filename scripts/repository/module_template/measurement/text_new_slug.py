"""Length of captions in words: the maths of this module, for you to replace."""

from collections.abc import Sequence


def mean_caption_length(captions: Sequence[str]) -> float:
    """Return the mean number of words of a row of captions.

    Args:
        captions: captions of one image, at least one.

    Returns:
        0 or more; words are what spaces separate.

    >>> mean_caption_length(["a dog", "two dogs run"])
    2.5
    """
    return sum(len(caption.split()) for caption in captions) / len(captions)
