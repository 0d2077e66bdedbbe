"""MMD of pooled sets: one visit to all pairs, poor samples, medians in blocks, threads and p-values."""

import numpy as np
import pytest

from manycaps.kit import mmd_pooled
from manycaps.kit.mmd_pooled import map_blocks, n_threads
from manycaps.kit.mmd_rows import joint_mmd_squared, squared_distances

# Blocks of pairs: nothing goes on after an error.


def differences(first, second):
    return first - (first if second is None else second).T


def test_an_error_ends_the_work():
    done = []

    def work(*part):
        done.append(part)
        raise ValueError("of the user's")

    with pytest.raises(ValueError, match="of the user's"):
        list(map_blocks(work, np.zeros((500, 1)), differences, lambda steps, **_: steps, "", 1))
    assert len(done) <= 4 * n_threads() + 2


# The pooled value beside the value of one large row: samples, brackets, and the number of cores.

N_VECTORS = 300


@pytest.fixture(autouse=True)
def sample_early(monkeypatch):
    """A few hundred vectors are enough to be sampled."""
    monkeypatch.setattr(mmd_pooled, "MAX_SORTED", 10_000)


def corpus(seed=0, most=1):
    """Vectors around a few centres, and how often each is a candidate and a reference."""
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(N_VECTORS, 12)) + 2 * rng.normal(size=(5, 12))[rng.integers(0, 5, N_VECTORS)]
    if most == 1:
        candidates = (np.arange(N_VECTORS) % 3 == 0).astype(int)
        return vectors, candidates, 1 - candidates
    return vectors, *rng.integers(0, most + 1, size=(2, N_VECTORS))


def as_one_row(vectors, candidates, references, sigma, estimator="unbiased"):
    row = np.concatenate([np.repeat(vectors, counts, axis=0) for counts in (candidates, references)])
    return joint_mmd_squared(row[None], int(candidates.sum()), sigma, estimator)[0]


def n_visits(monkeypatch):
    """What the passes over all pairs are called, as they begin."""
    visits, map_blocks = [], mmd_pooled.map_blocks

    def count_visits(work, vectors, pair_values, progress, what, block_size):
        visits.append(what)
        return map_blocks(work, vectors, pair_values, progress, what, block_size)

    monkeypatch.setattr(mmd_pooled, "map_blocks", count_visits)
    return visits


@pytest.mark.parametrize("estimator", ["unbiased", "biased", "authors"])
@pytest.mark.parametrize("rule", ["median", "mean"])
@pytest.mark.parametrize("most", [1, 3])
def test_one_visit_gives_the_value_of_one_row(monkeypatch, most, rule, estimator):
    monkeypatch.setattr(mmd_pooled, "SERIES_TOLERANCE", 1e-4)  # a sample of 300 vectors is a poor one
    monkeypatch.setattr(mmd_pooled, "N_TERMS", 14)
    visits, (vectors, *counts) = n_visits(monkeypatch), corpus(most=most)
    value = float(mmd_pooled.pooled_mmd_squared(vectors, *counts, rule, estimator, block_size=64))
    assert value == pytest.approx(as_one_row(vectors, *counts, rule, estimator), abs=1e-12)
    assert visits == [f"pooled {rule}"]


def test_a_poor_sample_costs_a_second_visit_and_no_accuracy(monkeypatch):
    visits, (vectors, *counts) = n_visits(monkeypatch), corpus()
    monkeypatch.setattr(mmd_pooled, "SERIES_TOLERANCE", 0.0)
    value = float(mmd_pooled.pooled_mmd_squared(vectors, *counts, block_size=64))
    assert value == pytest.approx(as_one_row(vectors, *counts, "median"), abs=1e-13)
    assert visits == ["pooled median", "pooled median", "pooled kernel"]


@pytest.mark.parametrize("bracket", [(0.0, 1e-6), (1e6, 1e7), (1e-6, 1e6)])
def test_a_bracket_without_the_median_or_with_too_much_is_noticed(monkeypatch, bracket):
    vectors, *counts = corpus()
    monkeypatch.setattr(mmd_pooled, "_sample_bracket", lambda *_: bracket)
    monkeypatch.setattr(mmd_pooled, "MAX_BRACKETED", 1000)
    value = float(mmd_pooled.pooled_mmd_squared(vectors, *counts, block_size=64))
    assert value == pytest.approx(as_one_row(vectors, *counts, "median"), abs=1e-13)


def test_mostly_equal_texts_have_a_bandwidth_of_zero():
    vectors, *_ = corpus()
    counts = np.ones((2, N_VECTORS), dtype=int)
    counts[:, 0] = 800
    value = float(mmd_pooled.pooled_mmd_squared(vectors, *counts, block_size=64))
    assert value == pytest.approx(as_one_row(vectors, *counts, 1e-9), abs=1e-13)


def test_the_number_of_cores_changes_no_bit(monkeypatch):
    values = set()
    for n_cores in (1, 2, 5):
        monkeypatch.setattr("manycaps.kit.mmd_pooled.n_threads", lambda n=n_cores: n)
        values.add(float(mmd_pooled.pooled_mmd_squared(*corpus(), block_size=32)))
    assert len(values) == 1


def test_the_p_value_takes_its_bandwidth_from_one_visit(monkeypatch):
    visits, (vectors, *counts) = n_visits(monkeypatch), corpus()
    draws = np.random.default_rng(2).permuted(np.tile(counts[0], (20, 1)), axis=1).T.astype(float)
    p_value = mmd_pooled.pooled_mmd_p_value(vectors, *counts, [draws])
    assert visits == ["pooled median", "pooled kernel"]
    sigma = np.sqrt(np.sort(squared_distances(vectors[None])[0][np.triu_indices(N_VECTORS, 1)])[44_849 // 2]) / 2
    values = [as_one_row(vectors, draw.astype(int), 1 - draw.astype(int), sigma) for draw in draws.T]
    n_reached = sum(value >= as_one_row(vectors, *counts, sigma) - 1e-9 for value in values)
    assert p_value == (1 + n_reached) / 21
