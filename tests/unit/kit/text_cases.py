"""Texts of which nobody can say who wrote which, and a distance of texts."""

import numpy as np


def exchangeable(rng, n_rows, m, n, n_words=60):
    """Rows of which nobody can say who wrote which caption."""
    chances = 1 / np.arange(1, n_words + 1)
    words = rng.choice(n_words, size=(n_rows, m + n, 8), p=chances / chances.sum()).astype(str)
    words[..., 0] = words[:, :1, 0]  # what a row is about
    return words[:, :m].tolist(), words[:, m:].tolist()


def len_distance(first, second):
    return [abs(len(one) - len(other)) for one, other in zip(first, second, strict=True)]
