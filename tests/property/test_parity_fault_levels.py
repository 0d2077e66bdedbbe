"""Levels and coverage of faults by sentence: systems of people have more faults, and fewer, in 5% at most."""

import math

import numpy as np
import pytest

from manycaps.kit.parity_faults import (
    CorpusFaults,
    SplitFaults,
    counted_fault,
    more_faults_than,
    quantile_fault,
    support_groups,
)
from manycaps.kit.parity_sentences import BothSides, SideValues, SupportBlock, compared_values

# Draws of a cell, and standard errors around what is stated.
N_DRAWS, N_ERRORS = 400, 4

# Rows, candidates, references, most sentences of a text.
CELLS = [(10, 1, 3, 1), (20, 1, 2, 3), (20, 10, 3, 2), (60, 2, 4, 8), (200, 1, 4, 3), (200, 5, 5, 2)]


def drawn_block(rng, n_rows, m, n, most, wrong=0.0):
    """Sentences are points around the topic of a row; support is the nearest one, and `wrong` ones are far."""
    topics = 2 * rng.normal(size=(n_rows, 1, 1, 3))
    points = topics + rng.normal(size=(n_rows, m + n, most, 3))
    points[:, :m] += 20 * (rng.random((n_rows, m, most, 1)) < wrong)
    counts = rng.integers(1, most + 1, size=(n_rows, m + n))
    is_sentence = np.arange(most) < counts[..., None]
    distances = np.linalg.norm(points[:, :, :, None, None] - points[:, None, None], axis=-1)
    distances[~np.broadcast_to(is_sentence[:, None, None], distances.shape)] = math.inf
    support = distances.min(axis=4)
    support[~is_sentence] = 0.0
    return SupportBlock(np.arange(n_rows), m, counts, support)


def fault_of(block, seed, *, is_omitted=False):
    block = block.left_out() if is_omitted else block
    fault = quantile_fault(compared_values([block]), 1, len(block.rows), None, 0.95)
    splits = SplitFaults(support_groups([block]), 1, None)
    return fault._replace(p_value=splits.p_value(seed) if splits.are_few else fault.share.student_p_value)


@pytest.mark.slow
@pytest.mark.parametrize("cell", CELLS, ids=str)
@pytest.mark.parametrize("is_omitted", [False, True])
def test_people_have_more_than_people_in_five_percent(cell, is_omitted):
    rng = np.random.default_rng(0)
    faults = [fault_of(drawn_block(rng, *cell), seed, is_omitted=is_omitted) for seed in range(N_DRAWS)]
    found = np.mean([fault.p_value <= 0.05 for fault in faults])
    assert found <= 0.05 + N_ERRORS * math.sqrt(0.05 * 0.95 / N_DRAWS)
    if cell[0] >= 20:
        covered = np.mean([fault.low <= 0 <= fault.high for fault in faults])
        assert covered >= 0.93 - N_ERRORS * math.sqrt(0.07 * 0.93 / N_DRAWS)


@pytest.mark.slow
@pytest.mark.parametrize("cell", CELLS[1:], ids=str)
def test_the_interval_holds_the_share_of_wrong_sentences(cell):
    rng = np.random.default_rng(1)
    faults = [fault_of(drawn_block(rng, *cell, wrong=0.2), seed) for seed in range(N_DRAWS // 4)]
    mean = np.mean([fault.share.value for fault in faults])
    covered = np.mean([fault.share.low <= mean <= fault.share.high for fault in faults])
    assert covered >= 0.93 - N_ERRORS * math.sqrt(0.07 * 0.93 / len(faults))


@pytest.mark.slow
@pytest.mark.parametrize("wrong", [0.0, 0.15])
def test_equal_systems_have_more_faults_than_each_other_in_five_percent(wrong):
    rng = np.random.default_rng(2)
    found = []
    for seed in range(N_DRAWS):
        both = drawn_block(rng, 60, 2, 4, 3, wrong=wrong)
        systems = []
        for own in (0, 1):
            texts = [own, *range(2, 6)]
            block = SupportBlock(both.rows, 1, both.n_sentences[:, texts], both.support[:, texts][..., texts])
            systems.append(CorpusFaults({"unsupported_share": fault_of(block, seed)}, 60))
        found.append(more_faults_than(*systems, None) <= 0.05)
    assert np.mean(found) <= 0.05 + N_ERRORS * math.sqrt(0.05 * 0.95 / N_DRAWS)


@pytest.mark.slow
@pytest.mark.parametrize(("n_rows", "m", "n"), [(20, 1, 4), (20, 5, 5), (60, 1, 4), (200, 5, 5)])
@pytest.mark.parametrize("share", [0.03, 0.08, 0.6])
def test_the_intervals_of_counted_faults_hold_their_shares(n_rows, m, n, share):
    """Repetitions, of people 3%: where none is found, the interval is no point."""
    rng, of_people = np.random.default_rng(3), 0.03
    faults = []
    for _ in range(N_DRAWS):
        sides = []
        for count, rate in ((m, share), (n, of_people)):
            rows, texts = np.repeat(np.arange(n_rows), count), np.tile(np.arange(count), n_rows)
            values = (rng.random(n_rows * count) < rate).astype(float)
            sides.append(SideValues(values, np.full(len(rows), 1 / count), rows, texts, np.zeros_like(rows)))
        faults.append(counted_fault(BothSides(*sides), n_rows, None, 0.95))
    least = 0.93 - N_ERRORS * math.sqrt(0.07 * 0.93 / N_DRAWS)
    assert np.mean([fault.share.low <= share <= fault.share.high for fault in faults]) >= least
    assert np.mean([fault.low <= share - of_people <= fault.high for fault in faults]) >= least
