"""Texts that are longer than an encoder reads: truncated, or read in windows of whole sentences."""

import contextlib
import re
import warnings
from collections.abc import Callable, Iterator

import numpy as np

# Treatments of a text with more tokens than the encoder reads.
LONG_TEXTS = ("truncate", "window")

# What a warning says of texts that were not read to their end, by the treatment, behind the option's name.
UNREAD = {
    "truncate": (
        ": expected texts that the encoder reads to their end, got longer ones; n_truncated in the result says how "
        "many. Give {option}='window' to read them in windows of whole sentences."
    ),
    "window": (
        ": expected sentences that the encoder reads to their end, got longer ones; n_truncated in the result says in "
        "how many texts. Put full stops or line breaks into them."
    ),
}

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
    """Split a caption into runs of consecutive whole sentences, each as long as can be read; all of it where it fits.

    A sentence that does not fit stands alone, and will be truncated.

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


def mean_direction(features: np.ndarray, option: str = "long_captions") -> np.ndarray:
    """Mean of the unit vectors of a caption's windows; of one window its own vector, with its length.

    `features` is floating-point, shape (n_windows, d), no row of 0; the mean has its type, shape (d,), and only its
    direction counts. Raises ValueError, about the option that asked for windows, where the unit vectors cancel out.

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
            f"{option}: expected windows of a caption with a mean, got features that cancel out. Give "
            f"{option}='truncate'."
        )
    return mean


def mean_of_windows(vectors: np.ndarray) -> np.ndarray:
    """Mean of the vectors of a text's windows: of their directions, with the mean of their lengths.

    Of vectors of length 1 it is the mean, normalised. Windows whose vectors are 0 have no direction, and do not count.
    `vectors` is floating-point, shape (n_windows, d), the mean of that type, shape (d,). Raises ValueError if
    the directions cancel out.

    >>> mean_of_windows(np.array([[3.0, 0.0], [0.0, 1.0]])).round(4).tolist()
    [1.4142, 1.4142]
    """
    vectors = vectors[vectors.any(axis=1)] if vectors.any() else vectors[:1]
    if len(vectors) == 1:
        row: np.ndarray = vectors[0]
        return row
    mean = mean_direction(vectors.astype(np.float64), "long_texts")
    length = np.linalg.norm(vectors.astype(np.float64), axis=1).mean()
    scaled: np.ndarray = (mean * (length / np.linalg.norm(mean))).astype(vectors.dtype)
    return scaled


def warn_of_unread(treatment: str, is_any: bool = True, option: str = "long_texts") -> None:
    """Warn of texts that are not read to their end with this treatment, the value of an option."""
    if is_any:
        warnings.warn(option + UNREAD[treatment].format(option=option), stacklevel=3)


@contextlib.contextmanager
def without_warning_of_unread() -> Iterator[None]:
    """Context of a part of a run, which counts texts that are not read to their end; the run warns of them once."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "long_(texts|captions): expected ")
        yield
