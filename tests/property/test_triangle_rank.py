"""Invariants of the triangle-rank statistic and its p-values, on distances that hypothesis makes up."""

import hypothesis.extra.numpy as arrays
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from manycaps.kit.sets_tests import exact_splits, random_splits, split_p_values
from manycaps.kit.triangle_rank import STATISTICS, null_statistics, rank_statistic, triangle_rank_counts
from tests.oracles import triangle_rank_loop

# Few distinct values, so that ties are common; some differ by less than the tolerance.
EDGES = st.sampled_from([0.0, 0.25, 0.5, 0.5 + 5e-11, 1.0, 1.0 - 5e-11])


# The largest value of each statistic.
LARGEST = {"pooled": 4 / 3, "per_side": 8 / 3}


@st.composite
def rows(draw, least=1):
    n, m = draw(st.integers(least, 4)), draw(st.integers(least, 4))
    if n + m < 3:
        m = 2
    distance = draw(arrays.arrays(np.float64, (n + m, n + m), elements=EDGES))
    np.fill_diagonal(distance, 0.0)
    return distance, n


def statistic(distance, n, kind="pooled"):
    return rank_statistic(triangle_rank_counts(distance[None], n), kind)[0]


@given(rows())
def test_counts_equal_the_loop(row):
    distance, n = row
    texts = range(len(distance))
    expected = triangle_rank_loop.rank_counts(distance, texts[:n], texts[n:])
    assert triangle_rank_counts(distance[None], n)[0].tolist() == expected


@pytest.mark.parametrize("kind", STATISTICS)
@given(rows())
@settings(max_examples=40)
def test_exact_p_values_equal_the_loop(kind, row):
    distance, n = row
    nulls = null_statistics(distance[None], exact_splits(n, len(distance) - n, 10**6), kind)
    p_value = split_p_values(np.array([statistic(distance, n, kind)]), nulls)[0]
    assert p_value == pytest.approx(triangle_rank_loop.exact_p_value(distance, n, kind), abs=1e-12)


@given(rows(least=2), st.sampled_from(STATISTICS))
def test_the_observed_split_comes_first_in_the_null_distribution(row, kind):
    distance, n = row
    for partitions in (exact_splits(n, len(distance) - n, 10**6), random_splits(n, len(distance) - n, 5, seed=1)):
        first = next(iter(null_statistics(distance[None], partitions, kind)))
        assert first[0, 0] == pytest.approx(statistic(distance, n, kind), abs=1e-12)


@given(rows(least=2), st.randoms(use_true_random=False))
def test_ranges_and_orders_within_and_of_the_sets(row, random):
    distance, n = row
    candidates, references = list(range(n)), list(range(n, len(distance)))
    random.shuffle(candidates)
    random.shuffle(references)
    order = candidates + references
    swapped = references + candidates
    for kind, largest in LARGEST.items():
        value = statistic(distance, n, kind)
        assert 0 <= value <= largest + 1e-12
        assert statistic(distance[np.ix_(order, order)], n, kind) == pytest.approx(value, abs=1e-12)
        assert statistic(distance[np.ix_(swapped, swapped)], len(distance) - n, kind) == pytest.approx(value, abs=1e-12)


@given(rows(), st.sampled_from([1e-3, 7.0, 1e3]))
def test_only_the_ranks_of_the_edges_count(row, scale):
    distance, n = row
    distance = np.round(distance, 3)  # a factor would move near-ties over the tolerance
    assert statistic(scale * distance, n) == pytest.approx(statistic(distance, n), abs=1e-12)


def test_crossing_edges_are_read_from_x_to_y():
    # The reference is far from both candidates, and they are near it: only d(x, y), the last row, is a crossing edge.
    distance = np.array([[0.0, 1.0, 0.5], [1.0, 0.0, 0.5], [9.0, 9.0, 0.0]])
    assert triangle_rank_counts(distance[None], 2)[0, 0].tolist() == [2, 0, 0]
    assert triangle_rank_counts(distance.T[None], 2)[0, 0].tolist() == [0, 0, 2]


def test_two_tight_groups_far_apart_reach_the_maximum():
    place = np.array([0.0, 0.1, 0.25, 10.0, 10.3, 10.7])
    distance = np.abs(place[:, None] - place[None, :])
    for kind, largest in LARGEST.items():
        assert statistic(distance, 3, kind) == pytest.approx(largest)


@pytest.mark.parametrize("kind", STATISTICS)
def test_blocks_of_any_size_give_the_same_counts(kind, monkeypatch):
    rng = np.random.default_rng(1)
    distances = rng.integers(0, 5, size=(3, 8, 8)).astype(float)
    partitions = exact_splits(5, 3, 100)
    whole = np.concatenate(list(null_statistics(distances, partitions, kind)), axis=1)
    counts = triangle_rank_counts(distances, 5)
    monkeypatch.setattr("manycaps.kit.triangle_rank.MAX_TRIANGLES", 64)
    monkeypatch.setattr("manycaps.kit.triangle_rank.MAX_PRODUCTS", 500)
    pieces = list(null_statistics(distances, partitions, kind))
    assert len(pieces) > 1
    assert np.concatenate(pieces, axis=1).tolist() == whole.tolist()
    assert triangle_rank_counts(distances, 5).tolist() == counts.tolist()
