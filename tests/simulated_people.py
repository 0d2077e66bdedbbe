"""Simulated rows: texts of people are points in four dimensions around the row's own, and systems damage them."""

import numpy as np

from manycaps.kit.parity_tails import KeptDistances


def distances_of(texts):
    """Euclidean distances of the texts of each row, shape (n_rows, n_texts, n_dimensions)."""
    return np.linalg.norm(texts[:, :, None] - texts[:, None], axis=-1)


def drawn_distances(rng, n_rows, m, n, damage=None):
    """Distances of m candidates, people's or damaged ones, and n references."""
    texts = rng.normal(size=(n_rows, m + n, 4))
    if damage:
        texts[:, :m] = damage(rng, texts[:, :m])
    return distances_of(texts)


def kept_distances(*batches):
    """What tails are computed from: batches of rows, each its distances and its number of candidates."""
    kept, start = KeptDistances(sum(len(distances) for distances, _ in batches)), 0
    for distances, m in batches:
        kept.add(distances, m, range(start, start + len(distances)))
        start += len(distances)
    return kept
