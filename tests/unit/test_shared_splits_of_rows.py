"""Tests over rows and corpora: hand values, a slow oracle, the order of the rows, the smallest p-values."""

import itertools
import math

import numpy as np
import pytest

from manycaps.shared_distribution import DISTRIBUTION_DEFAULTS
from manycaps.shared_splits import RowGenerators, RowSplits, row_keys

EXACT = {**DISTRIBUTION_DEFAULTS, "p_value": "exact"}
DRAWN = {**DISTRIBUTION_DEFAULTS, "p_value": "permutation"}

# Values of the three splits of three rows of 2 + 1 texts, the observed split first.
NULLS = np.array([[3.0, 1.0, 2.0], [5.0, 5.0, 2.0], [0.0, 1.0, 5.0]])


def corpus_test(nulls, options=EXACT, order=None, units=None, keys=None):
    order = range(len(nulls)) if order is None else order
    rows = RowSplits([(2, 1)] * len(nulls), options)
    keys = keys or [bytes([i]) for i in order]
    placed = nulls[list(order)]
    rows.add(
        (2, 1),
        list(range(len(nulls))),
        keys.__getitem__,
        placed[:, 0],
        lambda part, partitions: [placed[part, :1], placed[part, 1:]],
        units,
    )
    return rows.test(placed[:, 0] * (1 if units is None else units))


def test_by_hand():
    result = corpus_test(NULLS)
    assert result.p_values.tolist() == pytest.approx([1 / 3, 2 / 3, 1])
    assert result.excesses.tolist() == pytest.approx([1, 1, -2])
    assert result.z == pytest.approx(0)
    assert result.smallest_p == pytest.approx(1 / 3)
    assert result.smallest_corpus_p == pytest.approx(1 / 27)


def test_corpus_p_value_is_the_share_of_all_combinations_of_splits():
    sums = [sum(values) for values in itertools.product(*NULLS)]
    share = np.mean([value >= NULLS[:, 0].sum() - 1e-9 for value in sums])
    # Five standard errors of 99,999 draws.
    expected = pytest.approx(share, abs=5 * math.sqrt(share * (1 - share) / 99_999))
    assert corpus_test(NULLS, EXACT | {"n_resamples": 99_999}).corpus_p_value == expected


def test_z_counts_standard_deviations_of_the_mean():
    larger = NULLS + np.array([[1.0, 0.0, 0.0]])
    assert corpus_test(larger).z == pytest.approx(
        (larger[:, 0] - larger.mean(axis=1)).sum() / math.sqrt(larger.var(1).sum())
    )


def test_order_of_rows_changes_nothing():
    first = corpus_test(NULLS, EXACT | {"n_resamples": 99})
    for order in itertools.permutations(range(3)):
        other = corpus_test(NULLS, EXACT | {"n_resamples": 99}, order)
        assert (other.corpus_p_value, other.z) == (first.corpus_p_value, first.z)
        assert other.p_values[np.argsort(order)].tolist() == first.p_values.tolist()


def test_equal_rows_draw_independently():
    nulls = np.tile(np.array([[1.0, 0.0, 0.0]]), (400, 1))
    result = corpus_test(nulls, EXACT | {"n_resamples": 999}, keys=[b"alike"] * 400)
    # Drawn together, a third of the resamples would reach the observed mean.
    assert result.corpus_p_value == 1 / 1000
    assert result.z == pytest.approx(400 * (2 / 3) / math.sqrt(400 * 2 / 9))


def test_units_weigh_the_rows_and_the_tolerance():
    units = np.array([1.0, 1e-6, 1e3])
    scaled = corpus_test(NULLS, units=units)
    assert scaled.excesses.tolist() == pytest.approx([1, 1e-6, -2e3])
    # Rounding of a large unit is within its tolerance.
    noisy = np.array([[1.0, 1.0 - 1e-12, 1.0 - 1e-12]])
    assert corpus_test(noisy, units=np.array([1e9])).corpus_p_value == 1


def test_values_that_differ_by_rounding_alone_have_no_z():
    result = corpus_test(np.array([[0.1, 0.1 + 1e-15, 0.1 - 1e-15]]))
    assert math.isnan(result.z)
    assert result.corpus_p_value == result.p_values[0] == 1


def test_memory_bound_changes_nothing(monkeypatch):
    whole = corpus_test(NULLS)
    monkeypatch.setattr("manycaps.shared_splits.MAX_NULL_VALUES", 1)
    assert str(corpus_test(NULLS)) == str(whole)


@pytest.mark.parametrize(("size", "expected"), [((2, 1), 1 / 3), ((3, 2), 1 / 10), ((3, 3), 2 / 20), ((1, 1), 1)])
def test_smallest_p_value(size, expected):
    rows = RowSplits([size], EXACT)
    assert rows._smallest == pytest.approx([expected])
    drawn = RowSplits([size], DRAWN)
    # Splits drawn twice count twice.
    assert drawn._smallest == pytest.approx([expected], abs=0.02)
    assert RowSplits([(8, 8)], {**DRAWN, "n_resamples": 3})._smallest == [1 / 4]


def test_sets_of_equal_sizes_are_enumerated_without_mirror_images():
    rows = RowSplits([(3, 3), (3, 2)], EXACT)
    assert rows.n_splits == {(3, 3): 10, (3, 2): 10}
    assert all(rows.n_splits[size] == sum(map(len, splits(4))) for size, splits in rows.splits.items())


def test_too_many_splits_are_refused_before_any_work():
    with pytest.raises(ValueError, match=r"^p_value='exact': expected at most max_partitions=5 splits per row"):
        RowSplits([(1, 2), (5, 5)], EXACT | {"max_partitions": 5})


def test_keys_tell_contents_apart():
    array = np.array([[1.0, 2.0]])
    keys = row_keys([["a"], ["a"], ("a",), [], array, array.T], [["b"], ["c"], ("b",), ["a", "b"], array, array])
    found = [keys(i) for i in range(6)]
    assert found[0] == found[2]
    assert len(set(found)) == 5


def test_generators_depend_on_seed_key_and_earlier_rows():
    def draw(seed, keys):
        generators = RowGenerators([seed])
        return [generators.of(key).random() for key in keys]

    assert draw(0, [b"a", b"b", b"a"]) == [draw(0, [b"a"])[0], draw(0, [b"b"])[0], draw(0, [b"b", b"a", b"a"])[2]]
    assert len({*draw(0, [b"a", b"b", b"a"]), *draw(1, [b"a"])}) == 4
