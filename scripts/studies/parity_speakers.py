"""Corpora of speakers whose faults are known, out of vectors of human captions: what the truth of `human_parity` is.

A speaker writes a caption that people wrote of the image, or the most ordinary ones of twenty, and in their place, with
a probability, one of another image. All texts of a pool have a vector; distances are computed corpus by corpus.
"""

import functools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from scripts.studies.parity_pools import Damage, ParityCorpus, vector_distances

# Human captions of an image among which a bland speaker has the most ordinary ones, where there are as many.
N_ORDINARY = 20

# Made points: images, texts of each, dimensions, and how much farther apart images lie than the texts of one.
N_POINT_IMAGES, N_POINT_TEXTS, N_POINT_DIMENSIONS, FAR = 1_000, 60, 4, 3.0


class KnownSpeaker(NamedTuple):
    """A speaker whose faults are known."""

    # Share of the captions that are of another image; with `whole`, of the rows whose captions are all of one other.
    wrong: float = 0.0
    # Whether the others are the most ordinary ones, or anybody's.
    is_bland: bool = False
    whole: bool = False

    @property
    def name(self) -> str:
        """What it is called in tables.

        >>> KnownSpeaker(0.2, is_bland=True).name, KnownSpeaker(0.3, whole=True).name, KnownSpeaker().name
        ('bland, 20% wrong', 'people, 30% of rows wrong', 'people')
        """
        wrong = f", {100 * self.wrong:g}% {'of rows ' if self.whole else ''}wrong" if self.wrong else ""
        return ("bland" if self.is_bland else "people") + wrong


class VectorPool:
    """Human captions of images: vectors of shape (n_images, n_people, n_dimensions).

    Distances are cosine's, of vectors of length 1, or Euclidean.
    """

    def __init__(self, vectors: np.ndarray, *, is_cosine: bool):
        self.vectors, self._is_cosine = vectors, is_cosine
        self.n_people = vectors.shape[1]

    @functools.cached_property
    def own_distances(self) -> np.ndarray:
        """Distances of the captions of each image: (n_images, n_people, n_people)."""
        return np.concatenate([self._distances_of(part) for part in np.array_split(self.vectors, 20)])

    def _distances_of(self, vectors: np.ndarray) -> np.ndarray:
        return vector_distances(vectors) if self._is_cosine else euclidean_distances(vectors)

    def distances(self, images: np.ndarray, texts: np.ndarray) -> np.ndarray:
        """Return distances of texts by their images and places, both of shape (n_rows, n_texts)."""
        return self._distances_of(self.vectors[images, texts])


def euclidean_distances(vectors: np.ndarray) -> np.ndarray:
    """Compute distances of the texts of every row: (n_rows, n_texts, d) to (n_rows, n_texts, n_texts)."""
    return np.linalg.norm(vectors[:, :, None] - vectors[:, None], axis=-1)


def draw_points(damage: Damage, size: tuple[int, int], n_rows: int, seed: int) -> np.ndarray:
    """Draw rows of made points, and return their Euclidean distances: (n_rows, n_texts, n_texts).

    Texts are points around 0; texts of other rows lie around other places, and the most ordinary text is 0.
    """
    (m, n), rng = size, np.random.default_rng(seed)
    texts = rng.normal(size=(n_rows, m + n, N_POINT_DIMENSIONS))
    other = FAR * rng.normal(size=(n_rows, m, N_POINT_DIMENSIONS))
    if damage.base == "half repeated":
        texts[:, m - m // 2 : m] = texts[:, :1]
    elif damage.base == "blandest":
        texts[:, :m] = 0
    texts[:, :m] += other * (rng.random((n_rows, m, 1)) < damage.share)
    return euclidean_distances(texts)


def vector_pool(corpus: ParityCorpus | None, seed: int) -> VectorPool:
    """Return human captions by MiniLM, or made points around the places of images where there is no corpus."""
    if corpus:
        return VectorPool(corpus.vectors("MiniLM")[:, : corpus.n_people], is_cosine=True)
    rng = np.random.default_rng(seed)
    places = FAR * rng.normal(size=(N_POINT_IMAGES, 1, N_POINT_DIMENSIONS))
    texts = rng.normal(size=(N_POINT_IMAGES, N_POINT_TEXTS, N_POINT_DIMENSIONS))
    return VectorPool(places + texts, is_cosine=False)


def draw_corpus(
    pool: VectorPool,
    images: np.ndarray,
    size: tuple[int, int],
    speakers: Sequence[KnownSpeaker],
    rng: np.random.Generator,
) -> list[np.ndarray]:
    """Draw the rows of a corpus, of images (n_rows,), for speakers that are compared with the same references.

    Bland speakers have the same captions, but wrong ones in different places; others have different ones as far as the
    captions of an image suffice. Returned are distances by speaker: (n_rows, n_texts, n_texts), candidates first.
    """
    (m, n), n_rows = size, len(images)
    shuffled = rng.random((n_rows, pool.n_people)).argsort(axis=1)
    has_bland = any(speaker.is_bland for speaker in speakers)
    if has_bland:
        shuffled = _ordinary_first(pool, images, shuffled, m, rng)
    references, others = shuffled[:, m : m + n], np.delete(shuffled, np.s_[m : m + n], axis=1)
    human_places = others[:, m if has_bland and others.shape[1] >= 2 * m else 0 :]
    rows, turn = [], 0
    for speaker in speakers:
        if speaker.is_bland:
            own = others[:, :m]
        else:
            own = np.take(human_places, range(turn, turn + m), axis=1, mode="wrap")
            turn += m
        texts = np.concatenate([own, references], axis=1)
        rows.append(_distances_with_wrong_ones(pool, images, texts, m, speaker, rng))
    return rows


def _ordinary_first(
    pool: VectorPool, images: np.ndarray, shuffled: np.ndarray, m: int, rng: np.random.Generator
) -> np.ndarray:
    """Put the m most ordinary of twenty captions first, and the others behind them at random."""
    chosen = shuffled[:, :N_ORDINARY]
    distances = pool.own_distances[images[:, None, None], chosen[:, :, None], chosen[:, None]]
    first = np.take_along_axis(chosen, distances.sum(axis=2).argsort(axis=1)[:, :m], axis=1)
    is_first = (shuffled[:, :, None] == first[:, None]).any(axis=2)
    rest = shuffled[~is_first].reshape(len(images), -1)
    return np.concatenate([first, rng.permuted(rest, axis=1)], axis=1)


def _distances_with_wrong_ones(
    pool: VectorPool, images: np.ndarray, texts: np.ndarray, m: int, speaker: KnownSpeaker, rng: np.random.Generator
) -> np.ndarray:
    """Replace captions of a speaker, the first m texts of each row, by other images'; return all distances."""
    n_rows, n_images = len(images), len(pool.vectors)
    columns = 1 if speaker.whole else m
    is_wrong = np.broadcast_to(rng.random((n_rows, columns)) < speaker.wrong, (n_rows, m))
    steps = np.broadcast_to(rng.integers(1, n_images, (n_rows, columns)), (n_rows, m))
    places = rng.random((n_rows, pool.n_people)).argsort(axis=1)[:, :m]
    text_images, text_places = np.broadcast_to(images[:, None], texts.shape).copy(), texts.copy()
    text_images[:, :m] = np.where(is_wrong, (text_images[:, :m] + steps) % n_images, text_images[:, :m])
    text_places[:, :m] = np.where(is_wrong, places, text_places[:, :m])
    return pool.distances(text_images, text_places)


def corpora(
    pool: VectorPool,
    size: tuple[int, int],
    speakers: Sequence[KnownSpeaker],
    n_rows: int,
    n_corpora: int,
    seed: Sequence[int],
) -> Iterator[list[np.ndarray]]:
    """Yield the rows of each corpus, as from `draw_corpus`; images are drawn with replacement."""
    rng = np.random.default_rng((*seed, *size, n_rows))
    for images in rng.integers(len(pool.vectors), size=(n_corpora, n_rows)):
        yield draw_corpus(pool, images, size, speakers, rng)
