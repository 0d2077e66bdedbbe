"""The choice of a setting: energies, halves, paired tests, and the level of what is reported."""

import numpy as np
import pytest
import scipy.stats

from manycaps.comparison.parity import ParityRows
from manycaps.comparison.systems import SystemRow
from manycaps.decoding.nearest import (
    NearestSetting,
    chosen_and_tested,
    energies_of,
    halves_of,
    nearest_of,
    nearest_setting,
    numbers_of,
    paired_with_best,
    part_of,
)
from manycaps.decoding.run import ComparedSettings, within_budget
from manycaps.decoding.text import decoding_sentences
from manycaps.kit.sets_parity import row_columns
from tests.refusals import assert_refused
from tests.simulated_people import distances_of, kept_distances

N_CANDIDATES, N_REFERENCES = 4, 5


def parity_rows(points, n_candidates=N_CANDIDATES):
    """Rows of texts that are points: shape (n_rows, n_texts, n_dimensions), candidates first."""
    distances = distances_of(points)
    return ParityRows(row_columns(distances, n_candidates), kept_distances((distances, n_candidates)))


def drawn_points(rng, spreads, n_rows):
    """Texts of settings whose samples spread so many times as people's captions do, beside the same people."""
    people = rng.normal(size=(n_rows, N_REFERENCES, 3))
    return {
        f"{spread:g}#{k}": np.concatenate([spread * rng.normal(size=(n_rows, N_CANDIDATES, 3)), people], axis=1)
        for k, spread in enumerate(spreads)
    }


def speakers(rng, spreads, n_rows=60):
    """Rows of these settings."""
    return {name: parity_rows(points) for name, points in drawn_points(rng, spreads, n_rows).items()}


def test_the_nearest_setting_is_that_of_people():
    rows = speakers(np.random.default_rng(0), (0.3, 1.0, 2.0), n_rows=80)
    nearest = nearest_setting(rows, None, n_resamples=999, seed=0)
    assert (nearest.best, nearest.alike) == ("1#1", [])
    assert nearest.p_values["1#1"] == 1
    assert max(nearest.p_values["0.3#0"], nearest.p_values["2#2"]) < 0.01
    assert [half.setting for half in nearest.halves] == ["1#1", "1#1"]
    assert nearest.p_value > 0.05
    assert nearest.results["2#2"]["human_parity_p_value"] < 0.01
    assert [half.n_chosen + half.result["n_rows"] for half in nearest.halves] == [80, 80]
    assert nearest.to_dict()["best"] == "1#1"


def test_a_search_below_zero_is_not_the_nearest_one():
    # Captions of a beam search differ by construction: here each one has its opposite among them.
    rng = np.random.default_rng(2)
    people, drawn = rng.normal(size=(80, N_REFERENCES, 3)), rng.normal(size=(80, 2, 2, 3))
    settings = {"people": drawn.reshape(80, 4, 3), "beams10": np.concatenate([drawn[:, 0], -drawn[:, 0]], axis=1)}
    rows = {name: parity_rows(np.concatenate([candidates, people], axis=1)) for name, candidates in settings.items()}
    energies = {name: values.mean() for name, values in energies_of(rows).items()}
    assert energies["beams10"] < min(-0.1, energies["people"])
    assert nearest_setting(rows, None, n_resamples=999, seed=0).best == "beams10"
    nearest = nearest_setting(rows, None, ["beams10"], n_resamples=999, seed=0)
    assert (nearest.best, {half.setting for half in nearest.halves}) == ("people", {"people"})
    compared = ComparedSettings(nearest, {}, {}, "cider", "", "")
    sentence = "people (energy distance; that of beams10, a search, counts by how far it is from 0). "
    assert decoding_sentences(compared)[0].startswith(f"Nearest to people: {sentence}")


def test_settings_that_are_equal_cannot_be_distinguished():
    rows = speakers(np.random.default_rng(1), (1.0, 1.0, 1.0))
    nearest = nearest_setting(rows, None, n_resamples=999, seed=0)
    assert len(nearest.alike) == 2


def n_below(p_values):
    return np.count_nonzero(np.array(p_values) <= 0.05)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [21, 22, 23])
def test_the_p_value_of_the_other_half_is_right_and_that_of_the_same_rows_is_not(seed):
    # Eight settings that are all people's: whichever is chosen, 5 % of honest tests are below 0.05. 1,000 trials:
    # with 200 the two cannot be distinguished in every seed.
    rng, honest, naive, both = np.random.default_rng(seed), [], [], []
    for trial in range(1_000):
        rows = speakers(rng, (1.0,) * 8)
        halves = [chosen_and_tested(rows, half, None, (), None) for half in halves_of(60, None, trial)]
        honest.append(halves[0].result["human_parity_p_value"])
        both.append(NearestSetting({}, {}, halves).p_value)
        best = nearest_of({name: values.mean() for name, values in energies_of(rows).items()}, ())
        naive.append(numbers_of(rows[best], None, None)["human_parity_p_value"])
    low, high = scipy.stats.binom.interval(0.99, 1_000, 0.05)
    assert low <= n_below(honest) <= high
    assert n_below(both) <= high
    assert n_below(naive) > high


class PointSamples:
    """In the place of `Samples`: settings whose samples are points."""

    def __init__(self, rng, spreads, n_items):
        self.points, self.items = drawn_points(rng, spreads, n_items), range(n_items)
        self.names, self.settings = list(self.points), dict.fromkeys(self.points)

    def rows(self, names, chosen, suffix):
        return {name: [SystemRow(str(i), {name: ()}) for i in chosen] for name in names}


class PointJudge:
    """In the place of `Judge`, of points."""

    def __init__(self, samples, seed):
        self._samples, self.resampling = samples, {"n_resamples": 999, "seed": seed}

    def parity(self, rows):
        chosen = {name: [int(row.id) for row in of_setting] for name, of_setting in rows.items()}
        return {name: parity_rows(self._samples.points[name][numbers]) for name, numbers in chosen.items()}


@pytest.mark.slow
def test_within_a_budget_the_p_value_is_right_and_the_nearest_is_seldom_dropped():
    # Four settings, all people's: two rounds of 24 rows each, and 66 rows that test.
    rng, p_values, n_dropped = np.random.default_rng(24), [], 0
    for seed in range(1_000):
        samples = PointSamples(rng, (1.0,) * 4, 200)
        nearest, _ = within_budget(samples, 266, PointJudge(samples, seed))
        p_values.append(nearest.p_value)
        n_dropped += len(nearest.p_values) < 4
    low, high = scipy.stats.binom.interval(0.99, 1_000, 0.05)
    assert low <= n_below(p_values) <= high
    assert n_dropped <= high


def test_a_budget_drops_what_is_clearly_farther():
    samples = PointSamples(np.random.default_rng(25), (0.3, 1.0, 3.0, 1.0), 200)
    nearest, rows = within_budget(samples, 320, PointJudge(samples, 0))
    assert set(nearest.p_values) == {"1#1", "1#3"}
    assert len(rows["1#1"]) > len(rows["3#2"])


def test_halves_are_of_whole_clusters():
    labels = [i // 3 for i in range(30)]
    first, second = halves_of(30, labels, 0)
    assert sorted(first + second) == list(range(30))
    assert {labels[i] for i in first}.isdisjoint(labels[i] for i in second)
    assert halves_of(30, None, 0) != halves_of(30, None, 1)


def test_a_part_is_what_its_rows_alone_would_be():
    points = np.random.default_rng(0).normal(size=(20, 6, 2))
    chosen = [7, 2, 11, 19]
    part, alone = part_of(parity_rows(points, 3), chosen), parity_rows(points[chosen], 3)
    assert {name: values.tolist() for name, values in part.columns.items()} == {
        name: values.tolist() for name, values in alone.columns.items()
    }
    packed = zip(part.distances.packed(), alone.distances.packed(), strict=True)
    assert all((mine == other).all() for mine, other in packed)


def test_p_values_are_those_of_all_pairs_after_holm():
    energies = {"a": np.zeros(12), "b": np.full(12, 1.0), "c": np.full(12, 1.0)}
    # Of three pairs two differ in all 12 rows: 2 of 4096 sign patterns each; the third never.
    p_values = paired_with_best(energies, None, (), n_resamples=9_999, seed=0)
    assert p_values == {"a": 1.0, "b": pytest.approx(3 * 2 / 4096), "c": pytest.approx(3 * 2 / 4096)}


def test_messages():
    points = np.random.default_rng(0).normal(size=(19, 6, 2))
    rows = {name: parity_rows(points, 3) for name in "ab"}
    message = "rows: expected 20 or more with references, half of them to choose and "
    assert_refused(ValueError, message, nearest_setting, rows, None, n_resamples=9, seed=0)
    single = {name: parity_rows(points, 1) for name in "ab"}
    message = "a: expected two captions or more of every row, got one in row 0. Sample"
    assert_refused(ValueError, message, energies_of, single)
