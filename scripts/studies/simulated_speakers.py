"""Speakers who choose whole human captions with known probabilities, and so can be decoded by any setting."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from manycaps.kit.sets_splits import TIE_TOLERANCE
from manycaps.sampling.decoding_setting import Setting
from scripts.studies.study_inputs import Captions

# Weight of the k-th caption of an image: 1/k, as in Zipf's law.
ZIPF_EXPONENT = 1.0

# Share of the two speakers' captions that belong to another image, and how many such captions there are.
MISTAKES: Mapping[str, float] = {"few mistakes": 0.02, "many mistakes": 0.2}
N_OTHERS = 50


class SpokenRows(NamedTuple):
    """Candidates and references of some images."""

    candidates: Captions
    references: Captions


class SimulatedSpeaker:
    """Describes an image in captions of people, with Zipf's weights, and in a share of captions of other images.

    References are drawn with the same weights and without mistakes.
    """

    def __init__(self, images: Captions, mistakes: float, size: tuple[int, int], n_rows: int):
        self._images, self._mistakes, self._size, self._n_rows = images, mistakes, size, n_rows

    def rows(self, setting: Setting, trial: Sequence[int]) -> SpokenRows:
        """Draw images, references, and candidates; images and references are the same for every setting of a trial."""
        n_images = len(self._images)
        chosen = np.random.default_rng(trial).choice(n_images, min(self._n_rows, n_images), replace=False)
        rows = SpokenRows([], [])
        for i in np.sort(chosen):
            rng = np.random.default_rng((*trial, int(i)))
            right = [self._images[i][k] for k in rng.permutation(len(self._images[i]))]
            others = (i + rng.integers(1, n_images, size=N_OTHERS)) % n_images
            wrong = [self._images[k][rng.integers(len(self._images[k]))] for k in others]
            weights = zipf(len(right))
            rows.references.append([right[k] for k in rng.choice(len(right), self._size[1], p=weights)])
            of_all = np.concatenate(((1 - self._mistakes) * weights, np.full(N_OTHERS, self._mistakes / N_OTHERS)))
            rows.candidates.append([[*right, *wrong][k] for k in decoded(of_all, setting, self._size[0], rng)])
        return rows


def zipf(n: int) -> np.ndarray:
    """Probabilities in proportion to 1, 1/2, 1/3 and so on.

    >>> zipf(2).round(4).tolist()
    [0.6667, 0.3333]
    """
    weights = np.arange(1, n + 1) ** -ZIPF_EXPONENT
    return weights / weights.sum()


def decoded(probabilities: np.ndarray, setting: Setting, n: int, rng: np.random.Generator) -> list[int]:
    """Choose whole captions as `manycaps sample` chooses tokens: temperature first, then top-k, then top-p.

    Args:
        probabilities: float64 array, shape (n_captions,), of a speaker.
        setting: greedy search gives the likeliest caption n times, a beam search the n likeliest ones.
        n: captions to choose.
        rng: random numbers.

    Returns:
        n indices of `probabilities`.

    >>> decoded(np.array([0.2, 0.5, 0.3]), Setting(num_beams=2), 2, np.random.default_rng(0))
    [1, 2]
    """
    order = np.argsort(-probabilities, kind="stable")
    if setting.greedy:
        return [int(order[0])] * n
    if setting.num_beams is not None:
        return [int(k) for k in np.resize(order, n)]
    weights = (probabilities[order] / probabilities.max()) ** (1 / setting.temperature)
    if setting.top_k:
        weights[setting.top_k :] = 0
    weights /= weights.sum()
    if setting.top_p < 1:
        weights[np.cumsum(weights) - weights >= setting.top_p - TIE_TOLERANCE] = 0  # the one that reaches it is kept
        weights /= weights.sum()
    return [int(order[k]) for k in rng.choice(len(order), n, p=weights)]
