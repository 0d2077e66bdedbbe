"""The choice of a setting: rows needed, halves, tests of pairs, and the level of what is reported."""

import re
from dataclasses import replace

import numpy as np
import pytest
import scipy.stats

from manycaps.comparison.parity import systems_against_people
from manycaps.comparison.parity_pairs import compare_pairs
from manycaps.comparison.read import ParityRows, SystemRow
from manycaps.kit.parity_corpus import row_columns
from manycaps.sampling.decoding.nearest import (
    Half,
    NearestSetting,
    check_enough_rows,
    check_two_captions,
    choose_and_test,
    halves_of,
    most_like_people,
    nearest_setting,
    p_values_against_best,
    part_of,
)
from manycaps.sampling.decoding.run import ComparedSettings, within_budget
from manycaps.sampling.decoding.text import decoding_screen, decoding_sentences
from tests.refusals import assert_refused
from tests.simulated_people import distances_of, kept_distances

N_CANDIDATES, N_REFERENCES = 4, 5

TESTS = {"rounding": 1e-9, "n_resamples": 999}


def settings_of(nearest):
    return ComparedSettings(nearest=nearest, settings={}, plain={}, distance="cider", note="", signature="")


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
    nearest = nearest_setting(rows, None, **TESTS, seed=0)
    assert (nearest.best, nearest.alike) == ("1#1", [])
    assert nearest.p_values["1#1"] == 1
    assert max(nearest.p_values["0.3#0"], nearest.p_values["2#2"]) < 0.01
    assert [half.setting for half in nearest.halves] == ["1#1", "1#1"]
    assert nearest.p_value > 0.05
    assert nearest.results["2#2"]["human_parity_p_value"] < 0.01
    assert [half.n_chosen + half.result["n_rows"] for half in nearest.halves] == [80, 80]
    assert nearest.to_dict()["best"] == "1#1"


def test_a_search_whose_energy_is_below_zero_is_not_the_best():
    # Captions of a beam search differ by construction: here each one has its opposite among them.
    rng = np.random.default_rng(2)
    people, drawn = rng.normal(size=(80, N_REFERENCES, 3)), rng.normal(size=(80, 2, 2, 3))
    settings = {"people": drawn.reshape(80, 4, 3), "beams10": np.concatenate([drawn[:, 0], -drawn[:, 0]], axis=1)}
    rows = {name: parity_rows(np.concatenate([candidates, people], axis=1)) for name, candidates in settings.items()}
    nearest = nearest_setting(rows, None, **TESTS, seed=0)
    assert nearest.results["beams10"]["energy_distance"] < min(-0.1, nearest.results["people"]["energy_distance"])
    assert (nearest.best, {half.setting for half in nearest.halves}) == ("people", {"people"})


def n_below(p_values):
    return np.count_nonzero(np.array(p_values) <= 0.05)


def damaged_people(rng, n_rows):
    """Rows of people, of 10 and 20% captions of other rows, and of bland captions."""
    centres = 1.5 * rng.normal(size=(n_rows, 1, 8))
    people, candidates = (centres + rng.normal(size=(n_rows, 5, 8)) for _ in range(2))
    settings = {"people": candidates, "bland": centres + 0.8 * rng.normal(size=(n_rows, 5, 8))}
    for share in (0.1, 0.2):
        own = centres + rng.normal(size=(n_rows, 5, 8))
        wrong = rng.permutation(centres) + rng.normal(size=(n_rows, 5, 8))
        settings[f"{share:.0%} wrong"] = np.where(rng.random((n_rows, 5, 1)) < share, wrong, own)
    return {name: parity_rows(np.concatenate([texts, people], axis=1), 5) for name, texts in settings.items()}


@pytest.mark.slow
def test_people_are_chosen_beside_wrong_and_bland_captions():
    rng, n_trials, n_named, alike, p_values = np.random.default_rng(26), 40, 0, [], []
    for trial in range(n_trials):
        nearest = nearest_setting(damaged_people(rng, 60), None, rounding=1e-9, n_resamples=499, seed=trial)
        if nearest.best == "people":
            n_named, alike = n_named + 1, alike + nearest.alike
        p_values += [half.result["human_parity_p_value"] for half in nearest.halves if half.setting == "people"]
    assert n_named >= 0.95 * n_trials
    assert all(alike.count(name) <= 0.05 * n_named for name in ("bland", "10% wrong", "20% wrong"))
    assert n_below(p_values) <= 0.1 * len(p_values)


def test_halves_that_choose_different_settings_are_named_with_a_p_value_each():
    rows = speakers(np.random.default_rng(3), (1.0, 1.0))
    nearest = nearest_setting(rows, None, **TESTS, seed=0)
    results = [{**half.result, "human_parity_p_value": p} for half, p in zip(nearest.halves, (0.4, 1e-5), strict=True)]
    halves = [Half(setting=name, n_chosen=30, result=result) for name, result in zip(rows, results, strict=True)]
    text = " ".join(decoding_sentences(settings_of(replace(nearest, halves=halves))))
    assert "The halves choose different settings, 1#0 and 1#1: each p is for its own alone." in text
    # 30 rows: the closed form does not hold so far down.
    assert "On 30 others it has p = 0.4, " in text and "On 30 others it has p < 0.001, " in text  # noqa: PT018
    assert "Both ways round" not in text
    assert np.isnan(replace(nearest, halves=halves).p_value)


def test_a_setting_that_copies_references_is_never_the_best():
    points = drawn_points(np.random.default_rng(4), (1.0, 0.3), 60)
    copied = points["1#0"].copy()
    copied[:, 0] = copied[:, N_CANDIDATES]
    rows = {"copying": parity_rows(copied), "cold": parity_rows(points["0.3#1"])}
    nearest = nearest_setting(rows, None, **TESTS, seed=0)
    assert nearest.results["copying"]["rows_to_detect"] > nearest.results["cold"]["rows_to_detect"]
    assert (nearest.best, nearest.alike) == ("cold", [])
    assert {half.setting for half in nearest.halves} == {"cold"}
    assert nearest.to_dict()["copying"] == ["copying"]
    screen = decoding_screen(settings_of(nearest))
    assert "of the captions of copying also occur among the references" in " ".join(screen.split())
    assert "All others" not in screen  # copies are not compared


@pytest.mark.parametrize("name", ["t=1", "temperature=1.25, top_p=0.95, top_k=40"])
def test_the_screen_is_at_most_100_columns_wide(name):
    drawn = speakers(np.random.default_rng(1), (1.0, 2.0))
    nearest = nearest_setting({name: drawn["1#0"], "hot": drawn["2#1"]}, None, **TESTS, seed=0)
    ends = {"rows_to_detect": 1234.0, "rows_to_detect_ci_low": 987.0, "rows_to_detect_ci_high": 12345.0}
    system = nearest.systems[name]
    systems = {**nearest.systems, name: replace(system, result={**system.result, **ends})}
    screen = decoding_screen(settings_of(replace(nearest, systems=systems)))
    assert max(map(len, screen.splitlines())) <= 100
    # No words, no wording.
    upper, lower, *lines = screen.splitlines()
    assert re.split("  +", upper.strip()) == ["rows to", "near-", "to the"]
    assert re.split("  +", lower) == [*("setting", "p", "detect", "faults", "generic", "duplicates", "energy", "best")]
    assert "1,234 [987, 12,345]" in screen
    assert [line.split()[0] for line in lines[:3]].count("people") == 1


def test_no_difference_of_equal_settings_is_detected():
    rows = speakers(np.random.default_rng(1), (1.0, 1.0, 1.0))
    nearest = nearest_setting(rows, None, **TESTS, seed=0)
    assert len(nearest.alike) == 2


@pytest.mark.slow
def test_the_p_value_of_the_other_half_is_right():
    # Eight settings that are all people's: whichever is chosen, 5% of the tests on other rows are below 0.05.
    rng, n_trials, single, both = np.random.default_rng(21), 40, [], []
    for trial in range(n_trials):
        rows = speakers(rng, (1.0,) * 8)
        halves = [choose_and_test(rows, half, None, trial) for half in halves_of(60, None, trial)]
        single += [half.result["human_parity_p_value"] for half in halves]
        same = [halves[0], replace(halves[1], setting=halves[0].setting)]
        both.append(NearestSetting(systems={}, p_values={}, halves=same).p_value)
    low, high = scipy.stats.binom.interval(0.99, 2 * n_trials, 0.05)
    assert low <= n_below(single) <= high
    assert n_below(both) <= scipy.stats.binom.interval(0.99, n_trials, 0.05)[1]


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
        self._samples, self.tests = samples, {**TESTS, "seed": seed}

    def parity(self, rows):
        chosen = {name: [int(row.id) for row in setting_rows] for name, setting_rows in rows.items()}
        return {name: parity_rows(self._samples.points[name][numbers]) for name, numbers in chosen.items()}


@pytest.mark.slow
def test_within_a_budget_the_p_value_is_right_and_the_nearest_is_seldom_dropped():
    # Four settings, all people's: two rounds of 24 rows each, and 66 rows that test.
    rng, n_trials, p_values, n_dropped = np.random.default_rng(24), 50, [], 0
    for seed in range(n_trials):
        samples = PointSamples(rng, (1.0,) * 4, 200)
        nearest, _ = within_budget(samples, 266, PointJudge(samples, seed))
        p_values.append(nearest.p_value)
        n_dropped += len(nearest.p_values) < 4
    low, high = scipy.stats.binom.interval(0.99, n_trials, 0.05)
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
    packed = zip(part.distances.pack(), alone.distances.pack(), strict=True)
    assert all((mine == other).all() for mine, other in packed)


def test_p_values_are_those_of_pairs_of_compare():
    systems = systems_against_people(speakers(np.random.default_rng(5), (1.0, 0.8, 1.0)), None, 0)
    pairs = compare_pairs(systems, None, margin=None, **TESTS, seed=0)
    best, (first, second, last) = most_like_people(systems), pairs
    expected = {
        "1#0": {"0.8#1": first.adjusted_p_value, "1#2": second.adjusted_p_value},
        "1#2": {"1#0": second.adjusted_p_value, "0.8#1": last.adjusted_p_value},
    }
    assert p_values_against_best(systems, pairs) == {best: 1.0, **expected[best]}


def test_messages():
    points = np.random.default_rng(0).normal(size=(19, 6, 2))
    rows = {name: parity_rows(points, 3) for name in "ab"}
    message = "rows: expected 20 or more with references, half of them to choose and "
    assert_refused(ValueError, message, nearest_setting, rows, None, **TESTS, seed=0)
    single = {name: parity_rows(points, 1) for name in "ab"}
    message = "a: expected two captions or more of every row, got one in row 0. Sample"
    assert_refused(ValueError, message, check_two_captions, single)


def test_rows_of_few_images_are_named_as_such():
    message = "rows: expected 20 or more with references, .*, got 24 in 3 clusters, which stay together. Give more."
    assert_refused(ValueError, message, check_enough_rows, 2, 24, 3)
