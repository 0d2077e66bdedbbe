"""How well a set of captions can be compressed: text that repeats itself takes fewer bytes."""

import gzip
from collections.abc import Sequence

# gzip's best compression.
LEVEL = 9


def compression_ratio(captions: Sequence[str]) -> float:
    """Bytes of the captions as text, divided by their bytes after gzip.

    Shaib et al. (2024), section 3, https://arxiv.org/abs/2403.00553. The captions stand in alphabetical order, one a
    line, so that the order in which they come changes nothing. gzip's own 18 bytes weigh much in a set of few captions:
    compare sets of the same number of captions.

    Args:
        captions: the texts of a set.

    Returns:
        Above 0 and below 1033, which is deflate's limit; larger for more repetition. NaN where there is no byte.

    >>> compression_ratio(["a dog"] * 50) > compression_ratio(["a dog"])
    True
    """
    text = "\n".join(sorted(captions)).encode("utf-8")
    return len(text) / len(gzip.compress(text, compresslevel=LEVEL, mtime=0)) if text else float("nan")
