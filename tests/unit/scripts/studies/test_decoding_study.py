"""What `manycaps decoding` computes of simulated speakers, and the best setting by each measure."""

import pathlib

import pytest

from manycaps.decoding import DecodingOptions
from manycaps.decoding.run import Judge
from manycaps.installed_modules import load
from manycaps.sampling.decoding_setting import Setting
from scripts.studies.decoding_study import PEOPLE, best_settings, curve, parity_scores
from scripts.studies.simulated_speakers import SpokenRows


def line(setting, trial, shown, measure="trm_meteor"):
    values = {"shown": shown, "ci_low": shown - 1, "ci_high": shown + 1}
    key = {"speaker": "a", "setting": setting, "trial": str(trial), "measure": measure}
    return key | {name: str(value) for name, value in values.items()}


def test_the_best_setting_is_nearest_to_people_lowest_or_largest():
    lines = [line("t0.5", 0, 0.2), line("t1", 0, -0.1), line("t0.5", 1, 0.1), line("t1", 1, -0.15)]
    lines += [line("greedy", 0, 0.9, "meteor"), line("t1", 0, 0.3, "meteor")]
    lines += [line("t0.5", 0, 0.0, "unlike_people_share"), line("t1", 0, 0.06, "unlike_people_share")]
    lines += [line("t0.5", 0, -0.1, "energy_distance"), line("t1", 0, 0.0, "energy_distance")]
    assert best_settings(lines) == [
        ["a", "energy_distance", "t0.5", "t0.5"],
        ["a", "unlike_people_share", "t1", "t1"],
        ["a", "trm_meteor", "t1", "t1 t0.5"],
        ["a", "meteor", "greedy", "greedy"],
    ]
    values = curve(lines, [Setting(0.5), Setting(1.0), Setting(2.0)], speaker="a", measure="trm_meteor")
    assert values.temperatures == [0.5, 1.0]
    assert values.middle == pytest.approx([0.15, -0.125])
    assert values.low == pytest.approx([-0.9, -1.15])


def test_the_numbers_are_those_of_human_parity():
    predictions = [[f"a dog runs past {i}", "a dog", f"the brown dog {i}"] for i in range(12)]
    references = [[f"a brown dog runs {i}", "one dog on grass", f"dog number {i}"] for i in range(12)]
    options = DecodingOptions((), pathlib.Path("unused"), settings=(Setting(), Setting(0.5)), distance="meteor")
    lines = list(parity_scores(Judge(options), "t1", SpokenRows(predictions, references)))
    module = load("human_parity", distance="meteor", confidence_level=0.95)
    result = module.compute(predictions=predictions, references=references)
    assert [(name, n_rows) for name, n_rows, *_ in lines] == [(name, 12) for name in PEOPLE]
    for name, _, value, excess, shown, low, high in lines:
        assert (value, low, high) == pytest.approx([result[f"{name}{end}"] for end in ("", "_ci_low", "_ci_high")])
        assert (excess, shown) == pytest.approx((value - PEOPLE[name], value))
