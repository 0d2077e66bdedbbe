"""Faults by sentence: shares against the slow loop, people's own rates, tests, intervals, and what is found."""

import math

import numpy as np
import pytest

from manycaps.kit.parity_faults import (
    CorpusFaults,
    Fault,
    SplitFaults,
    more_faults_than,
    quantile_fault,
    support_groups,
)
from manycaps.kit.parity_sentences import DistanceSupport, RowSpans, compared_values, sentence_support
from manycaps.kit.parity_tails import corpus_tails, tail_share
from manycaps.kit.parity_texts import corpus_faults
from tests.oracles.faults_loop import text_shares
from tests.simulated_people import drawn_distances, kept_distances

OPTIONS = {"confidence_level": 0.95, "clusters": None, "seed": 0}


def plain(steps, **_):
    return steps


class World:
    """Rows of texts whose sentences are points around one of a few topics of the row; people name some of them."""

    def __init__(self, seed, n_rows, m, n, most=3, n_wrong=0):
        rng = np.random.default_rng(seed)
        self.rows, self.points = [], {}
        for row in range(n_rows):
            topics = 3 * rng.normal(size=(4, 4))
            texts = []
            for text in range(m + n):
                named = rng.choice(4, size=rng.integers(1, most + 1), replace=False)
                points = topics[named] + 0.5 * rng.normal(size=(len(named), 4))
                if text < m:
                    points[:n_wrong] += 30
                texts.append(points)
            self.rows.append(self._spans(row, texts, m))
        self.sizes = [(m, n)] * n_rows

    def _spans(self, row, texts, m):
        names, counts, n_spans = [], [], []
        for text, points in enumerate(texts):
            pairs = [points[i : i + 2].mean(axis=0) for i in range(len(points) - 1)]
            whole = [points.mean(axis=0)] if len(points) > 2 else []
            spans = [*points, *pairs, *whole]
            for place, point in enumerate(spans):
                names.append(f"{row} {text} {place}")
                self.points[names[-1]] = point
            counts.append(len(points))
            n_spans.append(len(spans))
        return RowSpans(m, counts, n_spans, names)

    def distances(self, row):
        """Distances of the sentences of a row from its spans."""
        points = np.stack([self.points[name] for name in row.texts])
        return np.linalg.norm(points[row.sentences][:, None] - points, axis=-1)

    def support(self):
        return sentence_support(self.rows, self.distances, plain)

    def plain_rows(self):
        """The rows as the slow loop takes them."""
        rows = []
        for row in self.rows:
            texts, first = [], 0
            for n_sentences, n_spans in zip(row.n_sentences, row.n_spans, strict=True):
                spans = row.texts[first : first + n_spans]
                texts.append((spans[:n_sentences], spans))
                first += n_spans
            rows.append((texts[: row.n_candidates], texts[row.n_candidates :]))
        return rows

    def distance(self, first, second):
        return float(np.linalg.norm(self.points[first] - self.points[second]))

    def faults(self, *, level=0.95):
        """Both faults of support, with tests."""
        support = self.support()
        found = {}
        for name, is_omitted in (("unsupported_share", False), ("omitted_share", True)):
            blocks = [block.left_out() if is_omitted else block for block in support.blocks()]
            fault = quantile_fault(compared_values(blocks), 1, len(self.rows), None, level)
            splits = SplitFaults(support_groups(blocks), 1, None)
            found[name] = fault._replace(p_value=splits.p_value(0))
        return found


@pytest.mark.parametrize(("m", "n", "most"), [(1, 2, 3), (2, 4, 3), (3, 3, 4), (1, 5, 1)])
def test_shares_equal_the_slow_loop(m, n, most):
    world = World(m, 12, m, n, most, n_wrong=m % 2)
    expected = np.array(text_shares(world.plain_rows(), world.distance))
    faults = world.faults()
    for column, name in enumerate(("unsupported_share", "omitted_share")):
        assert faults[name].share.rows == pytest.approx(expected[:, column], abs=1e-12), name
        assert faults[name].share.people.mean == pytest.approx(0.05, abs=1e-12)


@pytest.mark.parametrize(("m", "n"), [(1, 2), (2, 3), (5, 2)])
def test_texts_of_one_sentence_have_the_shares_of_captions(m, n):
    kept = kept_distances((drawn_distances(np.random.default_rng(0), 40, m, n), m))
    tails = corpus_tails(kept, 0.95, None)
    fault = quantile_fault(compared_values(DistanceSupport(kept).blocks()), 1, 40, None, 0.95)
    unlike = tails.shares["unlike_people_share"]
    assert fault.share.rows == pytest.approx(unlike.rows, abs=1e-12)
    assert fault.share.high == pytest.approx(unlike.high, abs=0.03)
    assert corpus_faults(tails, None, None, [(m, n)] * 40, OPTIONS).kinds["unsupported_share"].share is unlike


@pytest.mark.slow
@pytest.mark.parametrize(("m", "n"), [(1, 2), (3, 3), (1, 6)])
def test_people_give_people_s_share_of_every_kind(m, n):
    """Four standard errors of many rows."""
    for fault in World(n, 1_500, m, n).faults().values():
        error = fault.share.candidates.standard_error + fault.share.people.standard_error
        assert fault.share.value == pytest.approx(0.05, abs=4 * error)


@pytest.mark.parametrize("n_rows", [12, 60])
def test_a_wrong_sentence_is_found_and_true_ones_are_not_named(n_rows):
    faults = World(5, n_rows, 1, 5, n_wrong=1).faults()
    fault, world = faults["unsupported_share"], World(5, n_rows, 1, 5, n_wrong=1)
    shares = np.array([1 / row.n_sentences[0] for row in world.rows])
    assert fault.share.value == pytest.approx(shares.mean(), abs=0.06)
    assert fault.p_value < 0.001
    assert fault.low > 0


def test_the_order_of_rows_changes_nothing():
    world, turned = World(2, 20, 2, 3, n_wrong=1), World(2, 20, 2, 3, n_wrong=1)
    turned.rows.reverse()
    for name, fault in world.faults().items():
        other = turned.faults()[name]
        assert other.p_value == fault.p_value
        assert other.share.rows[::-1] == pytest.approx(fault.share.rows, abs=1e-12)
        assert (other.low, other.high) == pytest.approx((fault.low, fault.high), abs=1e-9)


def test_the_observed_split_has_the_share():
    world = World(3, 15, 2, 4)
    for blocks in (list(world.support().blocks()), [block.left_out() for block in world.support().blocks()]):
        fault = quantile_fault(compared_values(blocks), 1, 15, None, None)
        assert SplitFaults(support_groups(blocks), 1, None).shares(None)[0] == pytest.approx(fault.share.value)


@pytest.mark.slow
@pytest.mark.parametrize(("m", "n", "level"), [(1, 2, 0.2), (1, 4, 0.2), (5, 3, 0.2)])
def test_the_level_of_few_rows(m, n, level):
    """Of 60 corpora of people, 20% in the lowest fifth; four standard errors."""
    p_values = [World(seed, 12, m, n, most=2).faults(level=None)["unsupported_share"].p_value for seed in range(60)]
    assert np.mean(np.array(p_values) <= level) <= level + 4 * math.sqrt(level * (1 - level) / 60)


def test_one_row_of_a_cluster_stands_for_all():
    """Copies of every row say nothing new."""
    world = World(4, 12, 1, 4, n_wrong=0)
    blocks = list(world.support().blocks())
    doubled = [block._replace(rows=block.rows + 12 * copy) for copy in (0, 1) for block in blocks]
    once = SplitFaults(support_groups(blocks), 1, None).p_value(0)
    twice = SplitFaults(support_groups(doubled), 1, [row % 12 for row in range(24)]).p_value(0)
    assert twice == pytest.approx(once, abs=0.1)


def share_of(rows, people, p_value):
    share = tail_share(np.array(rows), np.array(people), None, len(rows))
    return Fault(share, share.differences.mean - 0.1, share.differences.mean + 0.1, p_value)


def test_faults_add_up_what_lies_beyond_people():
    rows = [0.0, 0.5] * 10
    kinds = {"unsupported_share": share_of(rows, [0.05] * 20, 0.01), "repeated_share": share_of([0.0] * 20, rows, 0.9)}
    faults = CorpusFaults(kinds, 20)
    assert faults.faults == pytest.approx(0.2)
    assert faults.interval() == pytest.approx((0.2 - 0.1 * math.sqrt(2), 0.2 + 0.1 * math.sqrt(2)))
    assert faults.p_value == pytest.approx(0.02)
    result = faults.result(0.95)
    assert math.isnan(result["omitted_share"])
    assert result["repeated_share_of_people"] == 0.25


def test_more_faults_than_another_needs_more_than_people_too():
    many, few = [0.0, 1.0, 1.0, 1.0] * 10, [0.0, 0.0, 0.5, 0.0] * 10
    people = [0.05] * 40
    first, second = (
        CorpusFaults({"unsupported_share": share_of(rows, people, p)}, 40) for rows, p in ((many, 1e-9), (few, 0.1))
    )
    assert more_faults_than(first, second, None) < 0.001
    assert more_faults_than(second, first, None) > 0.9
    assert more_faults_than(first, first, None) == 1.0
    third = CorpusFaults({"unsupported_share": share_of(many, people, 0.2)}, 40)
    assert more_faults_than(third, second, None) == 0.2
