"""Under the null hypothesis p-values are uniform: all five distribution modules keep the level of their test.

Of rows: Gaussian points through the maths. Of corpora: Gaussian points and made captions through the modules. The
rejections must lie in the binomial interval that holds 99.9% of such counts; the draws are seeded. And power: points
that lie elsewhere are recognised. scripts/studies/level_study.py does the same for 1,000 corpora of human captions.
"""

import functools
import itertools

import numpy as np
import pytest
import scipy.stats

import manycaps
from manycaps.functional import frechet_p_values, mmd_p_values, triangle_rank_p_values
from manycaps.kit.mmd_rows import ESTIMATORS
from manycaps.kit.vectors_rows import cosine_similarities, distances_from_cosines

LEVEL = 0.05

# 6 + 5 texts have 462 splits: an exact test without ties rejects 23/462 = 4.98% at the level of 5%.
N_CANDIDATES, N_REFERENCES = 6, 5


def assert_level_is_kept(p_values, level):
    low, high = scipy.stats.binom.interval(0.999, len(p_values), level)
    rejected = np.count_nonzero(p_values <= level + 1e-12)
    assert low <= rejected <= high, f"{rejected} of {len(p_values)} rejected at {level}"


def euclidean(points):
    return np.sqrt(((points[:, :, None] - points[:, None]) ** 2).sum(axis=-1))


def sides(points):
    return points[:, :N_CANDIDATES], points[:, N_CANDIDATES:]


OF_POINTS = {
    # METEOR and CIDEr-D distances differ from these in the distance alone, which the test leaves open.
    "trm_meteor and trm_cider, pooled": lambda points: triangle_rank_p_values(
        euclidean(points), N_CANDIDATES, "pooled"
    ),
    "trm_meteor and trm_cider, per_side": lambda points: triangle_rank_p_values(euclidean(points), N_CANDIDATES),
    "trm_bert": lambda points: triangle_rank_p_values(
        distances_from_cosines(cosine_similarities(points)), N_CANDIDATES, "pooled"
    ),
    **{
        f"mmd_bert, {estimator}": lambda points, estimator=estimator: mmd_p_values(*sides(points), estimator=estimator)
        for estimator in ESTIMATORS
    },
    "fid_bert": lambda points: frechet_p_values(*sides(points)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", OF_POINTS)
def test_gaussian_points_keep_the_level(name):
    points = np.random.default_rng(20).normal(size=(1000, N_CANDIDATES + N_REFERENCES, 8))
    p_values = OF_POINTS[name](points)
    for level in (LEVEL, 0.25, 0.5, 0.75):
        assert_level_is_kept(p_values, level)


@pytest.mark.parametrize("name", OF_POINTS)
def test_other_points_are_recognised(name):
    rng = np.random.default_rng(21)
    points = rng.normal(size=(100, N_CANDIDATES + N_REFERENCES, 8))
    points[:, :N_CANDIDATES] += 2
    assert np.mean(OF_POINTS[name](points) <= LEVEL) > 0.8


# Corpora for each test, and their rows. With 99 draws p is a multiple of 1/100, so that both levels can be met exactly.
N_CORPORA, N_ROWS = 200, 20
CORPUS_OPTIONS = {"p_value": "permutation", "n_resamples": 99}
CORPUS_LEVELS = (0.01, 0.05)

WORDS = "a the dog cat man woman runs sits red small beach park on in with two".split()


@functools.cache
def module(name):
    return manycaps.load(name, **CORPUS_OPTIONS)


def corpus_of_vectors(name, rng, size, seed):
    points = rng.normal(size=(N_ROWS, sum(size), 8))
    sides = {"prediction_embeddings": points[:, : size[0]], "reference_embeddings": points[:, size[0] :]}
    return module(name).compute(**sides, seed=seed)[f"{name}_corpus_p_value"]


def corpus_of_captions(name, rng, size, seed):
    vocabularies = [rng.choice(WORDS, 8, replace=False) for _ in range(N_ROWS)]
    made = [[" ".join(rng.choice(words, rng.integers(4, 9))) for _ in range(sum(size))] for words in vocabularies]
    sides = {"predictions": [row[: size[0]] for row in made], "references": [row[size[0] :] for row in made]}
    return module(name).compute(**sides, seed=seed)[f"{name}_corpus_p_value"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "size"),
    [
        *itertools.product(("trm_bert", "mmd_bert", "fid_bert"), [(2, 3), (3, 3), (10, 5)]),
        # Slower, and the same test as in trm_bert; CIDEr-D weighs n-grams by the references alone.
        ("trm_meteor", (3, 3)),
        ("trm_cider", (3, 3)),
    ],
    ids=str,
)
def test_corpora_keep_the_level(name, size):
    draw = corpus_of_captions if name in ("trm_meteor", "trm_cider") else corpus_of_vectors
    p_values = np.array([draw(name, np.random.default_rng((*size, i)), size, i) for i in range(N_CORPORA)])
    for level in CORPUS_LEVELS:
        assert_level_is_kept(p_values, level)
