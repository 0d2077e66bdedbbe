"""PAC-S and RefPAC-S from cosines (Sarto et al., 2023, https://arxiv.org/abs/2303.12112): NumPy only."""

import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .base_messages import shown_value
from .base_module import check_is_number
from .base_types import Floats, Ints
from .clip_cosines import unit_vectors

# w of equation 1, which stretches the usual cosines towards [0, 1]; CLIP-S (Hessel et al., 2021) has 2.5.
PAC_WEIGHT = 2.0

# Words before every caption in the authors' program, and in CLIP-S.
PAC_PROMPT = "A photo depicts"


# Two cosines this near are equal, and cosines that are held at once, 8 bytes each.
TIE_TOLERANCE, COSINES_AT_ONCE = 1e-9, 1 << 22


def pac_s(cosines: np.ndarray, weight: float) -> np.ndarray:
    """Score captions by their cosines with their images.

    PAC-S(t, v) = w max(cos(t, v), 0). Clipped pair by pair: a mean of scores is not the score of a mean.

    Args:
        cosines: float64 array, any shape, image and caption.
        weight: w > 0.

    Returns:
        float64 array of that shape, 0 (worst) to w (best), no unit.

    >>> pac_s(np.array([0.5, -0.5]), 2.0).tolist()
    [1.0, 0.0]
    """
    return weight * np.clip(cosines, 0.0, 1.0)


class RetrievalRanks(NamedTuple):
    """Place of the own image of every caption among all images, the most similar first."""

    # int64, shape (n_captions,): images that are more similar than the own one, and images that are as similar, the own
    # one included.
    n_larger: Ints
    n_equal: Ints
    n_images: int

    def ranks(self) -> Floats:
        """Ranks from 1 (best), the mean one of images that are equally similar: float64, shape (n_captions,)."""
        return self.n_larger + (self.n_equal + 1) / 2

    def recalls(self, k: int) -> Floats:
        """Whether the own image is among the first `k`, 0 or 1; of equally similar ones the share that has room."""
        return np.clip((k - self.n_larger) / self.n_equal, 0.0, 1.0)


def retrieval_ranks(texts: np.ndarray, images: np.ndarray, rows: np.ndarray) -> RetrievalRanks:
    """Rank all images by their cosine with every caption; equal images count once, cosines within 1e-9 are equal.

    Args:
        texts: floating-point array, shape (n_captions, d), no zero rows.
        images: floating-point array, shape (n_rows, d), no zero rows.
        rows: integers, shape (n_captions,): the row whose image is the caption's own.

    >>> found = retrieval_ranks(np.eye(2), np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 0.0]]), np.array([0, 1]))
    >>> found.ranks().tolist(), found.recalls(1).tolist(), found.n_images
    ([1.0, 1.0], [1.0, 1.0], 2)
    """
    distinct, of_rows = np.unique(images, axis=0, return_inverse=True)
    pool, own = unit_vectors(distinct), of_rows.reshape(-1)[rows]
    n_larger, n_equal = np.empty((2, len(texts)), dtype=np.int64)
    step = max(1, COSINES_AT_ONCE // len(pool))
    for start in range(0, len(texts), step):
        part = slice(start, start + step)
        cosines = unit_vectors(texts[part]) @ pool.T  # (captions of the part, n_images)
        differences = cosines - cosines[np.arange(len(cosines)), own[part], None]
        n_larger[part] = np.count_nonzero(differences > TIE_TOLERANCE, axis=1)
        n_equal[part] = np.count_nonzero(np.abs(differences) <= TIE_TOLERANCE, axis=1)
    return RetrievalRanks(n_larger, n_equal, len(pool))


def check_weight(weight: Any) -> None:
    """Raise unless `weight` is a positive number."""
    check_is_number("weight", weight, "Give a float such as 2.0.")
    if not 0 < weight <= sys.float_info.max:
        raise ValueError(
            f"weight: expected a positive finite number, got {shown_value(weight)}. PAC-S has 2.0, CLIP-S 2.5."
        )


class TextPlaces(NamedTuple):
    """Pairs of texts and images, in a list of all candidates followed by all references."""

    # Row of each candidate, shape (n_candidates,).
    rows: np.ndarray
    # References of each candidate, shape (n_candidates,).
    n_references: np.ndarray
    # Indices in the list of each pair of a candidate and a reference of its row, shape (n_pairs,) each.
    captions: np.ndarray
    references: np.ndarray


def text_places(n_candidates: Sequence[int], n_references: Sequence[int]) -> TextPlaces:
    """Pair every candidate with every reference of its row, those of one candidate after those of the other.

    >>> places = text_places([2, 1], [1, 2])
    >>> list(zip(places.captions.tolist(), places.references.tolist()))
    [(0, 3), (1, 3), (2, 4), (2, 5)]
    """
    rows = np.repeat(np.arange(len(n_candidates)), n_candidates)
    starts = len(rows) + np.cumsum(n_references) - n_references
    counts = np.asarray(n_references)[rows]
    captions = np.repeat(np.arange(len(rows)), counts)
    nth = np.arange(len(captions)) - np.repeat(np.cumsum(counts) - counts, counts)
    return TextPlaces(rows, counts, captions, starts[rows][captions] + nth)


def ref_pac_s(pac_scores: np.ndarray, reference_cosines: np.ndarray) -> np.ndarray:
    """Harmonic mean of PAC-S and of the cosine with the closest reference.

    RefPAC-S = 2 a b / (a + b), a = PAC-S, b = max(0, largest cosine with a reference). 0 where a or b is 0: the limit
    of the formula. The authors' program divides 0 by 0 there, and does not clip negative cosines as equation 6 does.

    Args:
        pac_scores: float64 array, shape (n,), at least 0.
        reference_cosines: float64 array, shape (n,), largest cosine of each caption with its references.

    Returns:
        float64 array, shape (n,), 0 (worst) to 2 w / (w + 1) (best; 4/3 for w = 2), no unit.

    >>> ref_pac_s(np.array([1.0, 2.0, 0.0]), np.array([1.0, -0.5, 0.0])).tolist()
    [1.0, 0.0, 0.0]
    """
    likeness = np.clip(reference_cosines, 0.0, 1.0)
    both = (pac_scores > 0) & (likeness > 0)
    total = np.where(both, pac_scores + likeness, 1.0)  # 1: any number but 0, its row is 0 anyway
    return np.where(both, 2 * pac_scores * (likeness / total), 0.0)  # quotient first: a product could underflow


def largest_by_caption(cosines: np.ndarray, n_references: np.ndarray) -> np.ndarray:
    """Largest of each run of cosines, float64, of these lengths, shape (n,), all at least 1: float64, shape (n,).

    >>> largest_by_caption(np.array([0.1, 0.5, 0.2]), np.array([2, 1])).tolist()
    [0.5, 0.2]
    """
    starts = np.concatenate(([0], np.cumsum(n_references)[:-1]))
    return np.maximum.reduceat(cosines, starts)
