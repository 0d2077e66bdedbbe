"""Under the null hypothesis p-values are uniform: all five distribution modules keep the level of their test.

Of rows: Gaussian points through the maths, and human captions split at random through the modules' own distances. Of
corpora: Gaussian points and made captions through the modules. The rejections must lie in the binomial interval that
holds 99.9 % of such counts; the draws are seeded. Identical captions make ties, which can only lower the count. And
power: one caption repeated is recognised. scripts/studies/level_study.py does the same for 1,000 corpora of human
captions.
"""

import collections
import functools
import itertools

import numpy as np
import pytest
import scipy.stats

import manycaps
from manycaps.kit.sets_splits import exact_splits, split_p_values
from manycaps.kit.sets_triangle_rank import null_statistics, triangle_rank_counts, triangle_rank_statistic
from manycaps.kit.text_cider import cider_d_scores, cider_distances, document_frequencies
from manycaps.kit.text_meteor import meteor_distances, meteor_scores
from manycaps.kit.text_ptb_tokenizer import tokenize_captions
from manycaps.kit.text_sentence_encoder import ENCODER_DEFAULTS, SentenceEncoder
from manycaps.kit.vectors_distance import cosine_distances, cosine_similarities
from manycaps.kit.vectors_frechet import frechet_p_values
from manycaps.kit.vectors_mmd import ESTIMATORS, mmd_p_values

LEVEL = 0.05

# 6 + 5 texts have 462 splits: an exact test without ties rejects 23/462 = 4.98 % at the level of 5 %.
N_CANDIDATES, N_REFERENCES = 6, 5

SPLITS = exact_splits(N_CANDIDATES, N_REFERENCES, 1000)


def triangle_rank_p_values(distances, statistic="pooled", n_candidates=N_CANDIDATES, splits=SPLITS):
    observed = triangle_rank_statistic(triangle_rank_counts(distances, n_candidates), statistic)
    return split_p_values(observed, null_statistics(distances, splits, statistic))


def assert_level_is_kept(p_values, level=LEVEL, name=""):
    low, high = scipy.stats.binom.interval(0.999, len(p_values), level)
    rejected = np.count_nonzero(p_values <= level + 1e-12)
    assert low <= rejected <= high, f"{name}: {rejected} of {len(p_values)} rejected at {level}"


def euclidean(points):
    return np.sqrt(((points[:, :, None] - points[:, None]) ** 2).sum(axis=-1))


OF_POINTS = {
    # METEOR and CIDEr-D distances differ from these in the distance alone, which the test leaves open.
    "trm_meteor and trm_cider, pooled": lambda points: triangle_rank_p_values(euclidean(points)),
    "trm_meteor and trm_cider, per_side": lambda points: triangle_rank_p_values(euclidean(points), "per_side"),
    "trm_bert": lambda points: triangle_rank_p_values(cosine_distances(cosine_similarities(points))),
    **{
        f"mmd_bert, {estimator}": lambda points, estimator=estimator: mmd_p_values(
            points, N_CANDIDATES, SPLITS, "median", estimator
        )[1]
        for estimator in ESTIMATORS
    },
    "fid_bert": lambda points: frechet_p_values(points, N_CANDIDATES, SPLITS)[1],
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
        # Slower, and the test is that of trm_bert; CIDEr-D weighs n-grams by the references alone.
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


@pytest.fixture(scope="module")
def human_rows(data_folder):
    """Two rows of different human captions from each of the MSVD clips, in random order."""
    captions = collections.defaultdict(dict)
    for line in (data_folder / "msvd_val_references.txt").read_text(encoding="utf-8").splitlines():
        clip, caption = line.split("\t", 1)
        captions[clip][" ".join(caption.lower().split())] = None
    rng, size = np.random.default_rng(22), N_CANDIDATES + N_REFERENCES
    rows = []
    for of_clip in captions.values():
        shuffled = rng.permutation(list(of_clip)).tolist()
        rows += [shuffled[start : start + size] for start in range(0, min(len(shuffled), 2 * size) - size + 1, size)]
    assert len(rows) > 100
    return rows


def bert_vectors(rows):
    distinct = sorted({caption for row in rows for caption in row})
    vectors = SentenceEncoder().embed(distinct, {**ENCODER_DEFAULTS, "batch_size": 128}, lambda steps, **_: steps)
    numbers = {caption: i for i, caption in enumerate(distinct)}
    return vectors[np.array([[numbers[caption] for caption in row] for row in rows])].astype(float)


@pytest.fixture(scope="module")
def human_vectors(human_rows):
    return bert_vectors(human_rows)


def meteor(rows, lexicon):
    tokens = [tokenize_captions(row) for row in rows]
    return np.stack(meteor_distances(tokens, meteor_scores(tokens, lexicon)))


def cider(rows):
    tokens = [tokenize_captions(row) for row in rows]
    frequencies = document_frequencies([row[N_CANDIDATES:] for row in tokens])
    return np.stack(cider_distances(tokens, cider_d_scores(tokens, frequencies, len(tokens))))


def all_modules(rows, vectors, lexicon):
    yield "trm_meteor", triangle_rank_p_values(meteor(rows, lexicon))
    yield "trm_cider", triangle_rank_p_values(cider(rows))
    yield "trm_bert", triangle_rank_p_values(cosine_distances(cosine_similarities(vectors)))
    yield "mmd_bert", mmd_p_values(vectors, N_CANDIDATES, SPLITS, "median", "unbiased")[1]
    yield "fid_bert", frechet_p_values(vectors, N_CANDIDATES, SPLITS)[1]


@pytest.mark.slow
@pytest.mark.realdata
def test_human_captions_keep_the_level(human_rows, human_vectors, lexicon):
    for name, p_values in all_modules(human_rows, human_vectors, lexicon):
        assert_level_is_kept(p_values, name=name)


@pytest.mark.slow
@pytest.mark.realdata
def test_a_collapsed_system_is_recognised(human_rows, human_vectors, lexicon):
    # The first candidate of each row, repeated.
    rows = [[row[0]] * N_CANDIDATES + row[N_CANDIDATES:] for row in human_rows]
    vectors = human_vectors.copy()
    vectors[:, :N_CANDIDATES] = vectors[:, :1]
    for name, p_values in all_modules(rows, vectors, lexicon):
        assert np.mean(p_values <= LEVEL) > 0.95, name
