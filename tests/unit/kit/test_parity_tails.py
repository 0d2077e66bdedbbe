"""Human parity by tails: shares against the slow loop, under splits as well, and p-values."""

import itertools
import math

import numpy as np
import pytest

from manycaps.kit.parity_tails import TAILS, TESTED, SplitTails, corpus_tails
from tests.oracles.tails_loop import split_share, tail_shares
from tests.simulated_people import drawn_distances, kept_distances
from tests.unit.kit.parity_cases import wrong


def with_ties(rng, n_rows, m, n):
    upper = np.triu(rng.integers(0, 4, size=(n_rows, m + n, m + n)) * 0.25, 1)
    return upper + upper.swapaxes(1, 2)


@pytest.mark.parametrize("draw", [drawn_distances, with_ties])
def test_shares_equal_the_slow_loop(draw):
    """Rows of four sizes, single candidates among them."""
    rng = np.random.default_rng(0)
    batches = [(draw(rng, n_rows, m, n), m) for n_rows, m, n in ((7, 2, 3), (6, 1, 4), (5, 5, 2), (9, 3, 5))]
    tails = corpus_tails(kept_distances(*batches), 0.95, None)
    rows = [(row, m) for distances, m in batches for row in distances]
    for name, tail in TAILS.items():
        expected = np.array(tail_shares(rows, tail.sign, compares_pairs=tail.compares_pairs))
        found = np.stack([tails.shares[name].rows, tails.shares[name].people_rows], axis=1)
        assert found[~np.isnan(found[:, 0])] == pytest.approx(expected, abs=1e-12), name
        assert tails.shares[name].value == pytest.approx(expected[:, 0].mean())


@pytest.mark.parametrize(("m", "n"), [(1, 2), (1, 4), (3, 3), (5, 2)])
def test_people_give_exactly_five_percent(m, n):
    for draw in (drawn_distances, with_ties):
        tails = corpus_tails(kept_distances((draw(np.random.default_rng(m), 30, m, n), m)), None, None)
        for share in tails.shares.values():
            known = share.people_rows[~np.isnan(share.people_rows)]
            assert known.size == 0 or known.mean() == pytest.approx(0.05, abs=1e-12)


@pytest.mark.parametrize("draw", [drawn_distances, with_ties])
@pytest.mark.parametrize("clusters", [None, [0, 1, 0, 2, 3, 1, 4, 5, 0, 6, 7]])
def test_shares_under_splits_equal_the_slow_loop(draw, clusters):
    """Rows of three sizes; of a cluster one row is taken, as often as the cluster has rows."""
    rng = np.random.default_rng(1)
    splits = SplitTails(
        kept_distances(*((draw(rng, k, m, n), m) for k, m, n in ((4, 2, 3), (3, 1, 4), (4, 4, 2)))), clusters
    )
    rows = [(row, of.n_candidates, k) for of in splits.rows for row, k in zip(of.distances, of.clusters, strict=True)]
    members = [[row for row in rows if row[2] == k] for k in range(max(k for _, _, k in rows) + 1)]
    tails = [TAILS[name] for name in TESTED]
    keys = rng.random((20, len(members), 1 + 4 + 4))
    found = splits.shares(tails, keys)
    for i, draw_keys in enumerate(keys):
        taken = [of[int(key[0] * len(of))] for key, of in zip(draw_keys, members, strict=True)]
        taken_rows = [(row.tolist(), m, len(members[k])) for row, m, k in taken]
        text_keys = [
            [*key[1 : 1 + m], *key[5 : 5 + len(row) - m]] for (row, m, _), key in zip(taken, draw_keys, strict=True)
        ]
        expected = [split_share(taken_rows, text_keys, tail.sign, compares_pairs=tail.compares_pairs) for tail in tails]
        assert found[:, i] == pytest.approx(expected, abs=1e-12)
    observed = [(row.tolist(), m, 1) for row, m, _ in rows]
    as_they_are = [range(len(row)) for row, _, _ in observed]
    expected = [split_share(observed, as_they_are, tail.sign, compares_pairs=tail.compares_pairs) for tail in tails]
    assert splits.shares(tails, None)[:, 0] == pytest.approx(expected, abs=1e-12)


def test_p_values_by_splits_are_those_of_all_splits():
    """Three rows of 2 + 2 texts have 216 splits: shares that reach the observed one, within four standard errors."""
    distances = drawn_distances(np.random.default_rng(11), 3, 2, 2, wrong(0.5))
    orders = [[*chosen, *({0, 1, 2, 3} - set(chosen))] for chosen in itertools.combinations(range(4), 2)]
    p_values = SplitTails(kept_distances((distances, 2)), None).p_values([TAILS[name] for name in TESTED], 0)
    for name, p_value in zip(TESTED, p_values, strict=True):
        tail = TAILS[name]
        shares = []
        for splits in itertools.product(orders, repeat=3):
            rows = [(distances[i][np.ix_(order, order)].tolist(), 2, 1) for i, order in enumerate(splits)]
            shares.append(split_share(rows, [range(4)] * 3, tail.sign, compares_pairs=tail.compares_pairs))
        exact = np.mean(np.array(shares) >= shares[0] - 1e-9)
        assert p_value == pytest.approx(exact, abs=4 * exact / math.sqrt(50))


def numbers_of(tails):
    shares = ((share.value, share.low, share.high, share.t) for share in tails.shares.values())
    return [*itertools.chain.from_iterable(shares), *tails.p_values.values()]


def test_order_parts_and_units_change_nothing():
    rng = np.random.default_rng(3)
    distances = drawn_distances(rng, 40, 3, 4)
    whole = corpus_tails(kept_distances((distances, 3)), 0.95, None)
    parts = corpus_tails(kept_distances((distances[:7], 3), (distances[7:], 3)), 0.95, None)
    scaled = corpus_tails(kept_distances((distances * 2.0**-40, 3)), 0.95, None)
    order = corpus_tails(kept_distances((distances[::-1], 3)), 0.95, None)
    for name, share in whole.shares.items():
        for other in (parts, scaled):
            assert other.shares[name].rows.tolist() == share.rows.tolist()
            assert other.shares[name][2:] == share[2:]
        assert order.shares[name].rows.tolist() == share.rows.tolist()[::-1]
    assert numbers_of(order) == pytest.approx(numbers_of(whole), rel=1e-12)
    assert whole.p_values == parts.p_values == scaled.p_values == order.p_values
