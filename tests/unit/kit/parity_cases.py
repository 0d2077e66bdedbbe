"""Corpora of people and of a system, of which a share lies elsewhere."""

import numpy as np

from tests.simulated_people import distances_of


def wrong(share):
    def damage(rng, texts):
        is_wrong = rng.random(texts.shape[:2]) < share
        return np.where(is_wrong[..., None], texts + 8 * rng.choice([-1, 1], size=texts.shape), texts)

    return damage


def corpus(seed, n_rows=30, m=5, n=5, wrong=0.0):
    """Points of people and of a system of which a share lies elsewhere, as vectors of both columns."""
    rng = np.random.default_rng(seed)
    people, system = rng.normal(size=(n_rows, n, 4)), rng.normal(size=(n_rows, m, 4))
    system[rng.random((n_rows, m)) < wrong] += 5.0
    return {"prediction_embeddings": system, "reference_embeddings": people}


def as_distances(columns):
    return distances_of(np.concatenate([columns["prediction_embeddings"], columns["reference_embeddings"]], axis=1))
