"""What `temperature` and `search` have in common: the table of every speaker, setting and trial, and its panels."""

import argparse
import functools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import matplotlib.axes
import numpy as np

from scripts.studies.caption_rows import CaptionMeasures
from scripts.studies.caption_sources import SpokenRows, read_sources
from scripts.studies.decoding import Setting
from scripts.studies.set_scores import LARGER_IS_BETTER, SCORE_COLUMNS, TITLES, set_scores
from scripts.studies.study_frame import Line, StudyTable, matching, numbers, study_settings
from scripts.studies.study_pictures import label_axes

KEY = ("speaker", "setting", "trial")


class Curve(NamedTuple):
    """Values of a measure over temperatures: medians over trials, and the ends of the trials' intervals."""

    temperatures: list[float]
    middle: list[float]
    low: list[float]
    high: list[float]


def decoding_lines(options: argparse.Namespace, name: str) -> tuple[str, list[Line]]:
    """Compute what the table does not have yet; return what the captions are, and the lines."""
    title, sources = read_sources(options)
    table = StudyTable(options.output, name, KEY, SCORE_COLUMNS, study_settings(options))
    cells = [
        (speaker, str(setting), trial)
        for speaker, source in sources.items()
        for setting in (source.settings() or options.settings)
        for trial in range(options.trials)
    ]

    @functools.cache
    def spoken(speaker: str, setting: str, trial: int) -> SpokenRows:
        return sources[speaker].rows(Setting.of(setting), (options.seed, trial))

    @functools.cache
    def measures() -> CaptionMeasures:
        sides = [side for cell in cells for side in spoken(*cell)]
        return CaptionMeasures(caption for side in sides for row in side for caption in row)

    def study(speaker: str, setting: str, trial: int) -> Iterator[list[Any]]:
        return set_scores(measures(), *spoken(speaker, setting, trial))

    return title, table.fill(cells, study)


def curve(lines: Sequence[Line], strategy: str, **where: str) -> Curve:
    """Return the curve of a strategy's settings; `where` names the speaker and the measure."""
    mine = matching(lines, **where)
    settings = sorted({Setting.of(line["setting"]) for line in mine}, key=lambda setting: setting.temperature)
    found = Curve([], [], [], [])
    for setting in settings:
        if setting.strategy == strategy:
            found.temperatures.append(setting.temperature)
            found.middle.append(float(np.median(numbers(mine, "shown", setting=setting))))
            found.low.append(min(numbers(mine, "ci_low", setting=setting)))
            found.high.append(max(numbers(mine, "ci_high", setting=setting)))
    return found


def best_settings(lines: Sequence[Line]) -> list[list[Any]]:
    """Return, for each speaker and measure, the best setting by the median trial, and those of all trials.

    Largest is best for a plain score; for a set metric the excess is, that is nearest to 0 from either side: below it
    candidates are less alike than human captions are.
    """
    found = []
    for speaker in dict.fromkeys(line["speaker"] for line in lines):
        for measure in TITLES:
            mine = matching(lines, speaker=speaker, measure=measure)
            loss = -1.0 if measure in LARGER_IS_BETTER else 1.0
            by_setting = {
                setting: np.array([loss * v if loss < 0 else abs(v) for v in numbers(mine, "shown", setting=setting)])
                for setting in dict.fromkeys(line["setting"] for line in mine)
            }
            if by_setting:
                names, values = list(by_setting), np.stack(list(by_setting.values()))
                of_trials = dict.fromkeys(names[i] for i in values.argmin(axis=0))
                found.append([speaker, measure, names[int(np.median(values, axis=1).argmin())], " ".join(of_trials)])
    return found


def label_panel(axes: matplotlib.axes.Axes, measure: str, *, first: bool) -> None:
    """Name the axes of a panel; a set metric has a line where the excess is 0."""
    better = "higher is better" if measure in LARGER_IS_BETTER else "nearer to 0 is better"
    label_axes(axes, "temperature", TITLES[measure], better=better)
    if measure not in LARGER_IS_BETTER:
        axes.axhline(0, color="#888888", lw=0.8)
    if first:
        axes.legend(fontsize=8)
