"""Captions that are longer than a text encoder reads: truncated, or read in windows of whole sentences."""

import re
from collections.abc import Callable

import numpy as np

# Treatments of a caption with more tokens than the checkpoint has positions.
LONG_CAPTIONS = ("truncate", "window")

# Where a sentence ends: behind its mark, with a quote or bracket where there is one, and a blank; behind a mark of
# Chinese or Japanese, which no blank follows; at the end of a line. A run of blanks matches only from its first one:
# otherwise many blanks take quadratic time.
SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[.!?][\"'”’)\]])\s+|(?<=[。！？])|(?<!\s)\s*\n\s*")


def sentences(caption: str) -> list[str]:
    r"""Split a caption into its sentences.

    An abbreviation with a full stop ends a sentence here; a window takes both parts where there is room for them.

    >>> sentences("A dog runs. It is wet! 'Stop.' Two men\nwatch")
    ['A dog runs.', 'It is wet!', "'Stop.'", 'Two men', 'watch']
    """
    return [part for part in SENTENCE_END.split(caption) if part.strip()]


def sentence_windows(caption: str, fits: Callable[[str], bool]) -> list[str]:
    """Split a caption into runs of whole sentences, each as long as can be read.

    Args:
        caption: a text.
        fits: whether a text can be read as a whole.

    Returns:
        The caption where it fits; else runs of consecutive sentences, in order, each with as many as fit. A sentence
        that does not fit stands alone, and will be truncated.

    >>> sentence_windows("One dog. Two cats. A very long bird. End", lambda text: len(text) < 20)
    ['One dog. Two cats.', 'A very long bird.', 'End']
    """
    if fits(caption):
        return [caption]
    windows: list[str] = []
    for sentence in sentences(caption):
        longer = f"{windows[-1]} {sentence}" if windows else sentence
        if windows and fits(longer):
            windows[-1] = longer
        else:
            windows.append(sentence)
    return windows or [caption]


def mean_direction(features: np.ndarray) -> np.ndarray:
    """Mean of the unit vectors of a caption's windows; of one window its own vector, with its length.

    Args:
        features: float array, shape (n_windows, d), no row of 0.

    Returns:
        Array of the same type, shape (d,). Only its direction counts.

    Raises:
        ValueError: the unit vectors cancel out.

    >>> mean_direction(np.array([[2.0, 0.0], [0.0, 1.0]])).tolist()
    [0.5, 0.5]
    """
    if len(features) == 1:
        row: np.ndarray = features[0]
        return row
    wide = features.astype(np.float64)
    mean: np.ndarray = (wide / np.linalg.norm(wide, axis=1, keepdims=True)).mean(axis=0).astype(features.dtype)
    if not mean.any():
        raise ValueError(
            "long_captions: expected windows of a caption with a mean, got features that cancel out. Give "
            "long_captions='truncate'."
        )
    return mean
