"""What `temperature` and `search` have in common: settings of simulated speakers beside people, and their panels."""

import argparse
import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import matplotlib.axes
import numpy as np

from manycaps.comparison.systems import SystemRow
from manycaps.decoding import DecodingOptions
from manycaps.decoding.nearest import numbers_of
from manycaps.decoding.run import Judge
from manycaps.sampling.decoding_setting import Setting
from scripts.studies.caption_rows import CaptionMeasures
from scripts.studies.set_scores import CONFIDENCE_LEVEL, LARGER_IS_BETTER, SCORE_COLUMNS, TITLES, set_scores
from scripts.studies.simulated_speakers import MISTAKES, SimulatedSpeaker, SpokenRows
from scripts.studies.study_frame import Line, StudyTable, matching, numbers, study_settings, write_lines
from scripts.studies.study_inputs import read_captions
from scripts.studies.study_pictures import label_axes

KEY = ("speaker", "setting", "trial")

# Numbers of human_parity, by METEOR's distance, and what people have.
PEOPLE: Mapping[str, float] = {
    "energy_distance": 0.0,
    "unlike_people_share": 0.05,
    "ordinary_share": 0.05,
    "near_duplicate_share": 0.05,
}
PARITY_TITLES = {
    "energy_distance": "energy distance (METEOR)",
    "unlike_people_share": "unlike people",
    "ordinary_share": "most ordinary",
    "near_duplicate_share": "near-duplicates",
}


class Curve(NamedTuple):
    """Values of a measure over temperatures: medians over trials, and the ends of the trials' intervals."""

    temperatures: list[float]
    middle: list[float]
    low: list[float]
    high: list[float]


def decoding_lines(options: argparse.Namespace, name: str, settings: Sequence[Setting]) -> tuple[str, list[Line]]:
    """Compute what the tables do not have yet, and write them."""
    captions = read_captions(options)
    by_name = {setting.name: setting for setting in settings}
    judge = Judge(DecodingOptions((), options.output, settings=settings, distance="meteor"))
    speakers = {
        speaker: SimulatedSpeaker(captions.images, share, captions.size, options.rows)
        for speaker, share in MISTAKES.items()
    }
    table = StudyTable(options.output, name, KEY, SCORE_COLUMNS, study_settings(options))
    cells = [(speaker, setting, k) for speaker in speakers for setting in by_name for k in range(options.trials)]

    @functools.cache
    def spoken(speaker: str, setting: str, trial: int) -> SpokenRows:
        return speakers[speaker].rows(by_name[setting], (options.seed, trial))

    @functools.cache
    def measures() -> CaptionMeasures:
        sides = [side for cell in cells for side in spoken(*cell)]
        return CaptionMeasures(caption for side in sides for row in side for caption in row)

    def study(speaker: str, setting: str, trial: int) -> Iterator[list[Any]]:
        rows = spoken(speaker, setting, trial)
        yield from parity_scores(judge, setting, rows)
        yield from set_scores(measures(), *rows)

    lines = table.fill(cells, study)
    columns = ("speaker", "measure", "best_setting", "of_all_trials")
    write_lines(options.output / f"{name}_best.csv", columns, best_settings(lines))
    return captions.name, lines


def parity_scores(judge: Judge, setting: str, rows: SpokenRows) -> Iterator[list[Any]]:
    """Yield the values of `SCORE_COLUMNS` for the numbers of human_parity, as `manycaps decoding` computes them."""
    pairs = zip(*rows, strict=True)
    of_setting = [SystemRow(str(i), {setting: own}, people) for i, (own, people) in enumerate(pairs)]
    result = numbers_of(judge.parity({setting: of_setting})[setting], None, CONFIDENCE_LEVEL)
    for measure in PEOPLE:
        value, low, high = (float(result[f"{measure}{end}"]) for end in ("", "_ci_low", "_ci_high"))
        yield [measure, len(of_setting), value, value - PEOPLE[measure], value, low, high]


def curve(lines: Sequence[Line], settings: Sequence[Setting], **where: str) -> Curve:
    """Return the curve of settings that differ in temperature; `where` names the speaker and the measure."""
    values = Curve([], [], [], [])
    for setting in settings:
        of_setting = matching(lines, setting=setting.name, **where)
        if of_setting:
            values.temperatures.append(setting.temperature)
            values.middle.append(float(np.median(numbers(of_setting, "shown"))))
            values.low.append(min(numbers(of_setting, "ci_low")))
            values.high.append(max(numbers(of_setting, "ci_high")))
    return values


def loss(measure: str, value: float) -> float:
    """How far a value is from the best one.

    Largest is best for a plain score. An excess and a share are best at people's value. The energy distance, whose
    estimate may be below 0, is best where it is lowest, as in `manycaps decoding`.
    """
    if measure in LARGER_IS_BETTER:
        return -value
    return value if measure == "energy_distance" else abs(value - PEOPLE.get(measure, 0.0))


def best_settings(lines: Sequence[Line]) -> list[list[Any]]:
    """Return, for each speaker and measure, the best setting by the median trial, and those of all trials."""
    best = []
    for speaker in dict.fromkeys(line["speaker"] for line in lines):
        for measure in (*PEOPLE, *TITLES):
            of_measure = matching(lines, speaker=speaker, measure=measure)
            if not of_measure:
                continue
            by_setting = {
                setting: [loss(measure, value) for value in numbers(of_measure, "shown", setting=setting)]
                for setting in dict.fromkeys(line["setting"] for line in of_measure)
            }
            names, losses = list(by_setting), np.array(list(by_setting.values()))
            of_trials = dict.fromkeys(names[i] for i in losses.argmin(axis=0))
            best.append([speaker, measure, names[int(np.median(losses, axis=1).argmin())], " ".join(of_trials)])
    return best


def label_panel(axes: matplotlib.axes.Axes, measure: str, *, legend: bool = False) -> None:
    """Name the axes of a panel, and draw people's value as a line."""
    better = "higher is better" if measure in LARGER_IS_BETTER else f"people: {PEOPLE.get(measure, 0.0):g}"
    label_axes(axes, "temperature", PARITY_TITLES.get(measure) or TITLES[measure], better=better)
    if measure not in LARGER_IS_BETTER:
        axes.axhline(PEOPLE.get(measure, 0.0), color="#888888", lw=0.8)
    if legend:
        axes.legend(fontsize=8)
