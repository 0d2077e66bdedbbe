"""What `temperature` and `search` have in common: settings of simulated speakers beside people, and their picture.

Two simulated speakers choose human captions: of each image the first caption with a weight of 1, the second of 1/2, the
third of 1/3 (people as well), and with a probability of 2 or 20 percent a caption of another image.
"""

import functools
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

import manycaps
from manycaps.kit.sets_module import DISTRIBUTION_DEFAULTS, compare_rows
from manycaps.kit.sets_tests import TIE_TOLERANCE
from manycaps.sampling.decoding_setting import Setting
from scripts.studies.caption_rows import (
    CONFIDENCE_LEVEL,
    PLAIN,
    CaptionMeasures,
    Captions,
    bootstrap_interval,
    read_captions,
)
from scripts.studies.study_frame import Line, StudyTable, matching_lines, numbers, study_settings
from scripts.studies.study_options import MODULES, Options
from scripts.studies.study_pictures import label_axes, new_picture
from scripts.toy.speakers import zipf_probabilities

KEY = ("speaker", "setting", "trial")
COLUMNS = ("measure", "n_rows", "value", "excess", "shown", "ci_low", "ci_high")

# Share of the two speakers' captions that belong to another image, and how many such captions there are.
MISTAKES: Mapping[str, float] = {"few mistakes": 0.02, "many mistakes": 0.2}
N_OTHERS = 50

# Random splits of a row, for its excess.
N_SPLITS = 199

# Numbers of human_parity, by METEOR's distance, and what people have.
PEOPLE: Mapping[str, float] = {
    "energy_distance": 0.0,
    "unlike_people_share": 0.05,
    "generic_share": 0.05,
    "near_duplicate_share": 0.05,
}

# Titles of what is drawn; the set metrics are shown by their excess.
TITLES = {
    "energy_distance": "energy distance (METEOR)",
    "unlike_people_share": "unlike people",
    "generic_share": "most generic",
    "near_duplicate_share": "near-duplicates",
    "trm_meteor": "TRM-METEOR, excess",
    "mmd_bert": "MMD, excess",
    "meteor": "METEOR",
    "cider_d": "CIDEr-D",
}


class Curve(NamedTuple):
    """Settings that differ in temperature, or a single one, and how they are drawn."""

    label: str
    speaker: str
    settings: Sequence[Setting]
    color: str
    style: str


def run_decoding_study(options: Options, name: str, curves: Sequence[Curve], panels: Sequence[str], title: str) -> None:
    """Compute what the tables do not have yet, of all settings of the curves by both speakers, and draw the curves."""
    captions = read_captions(options)
    by_name = {setting.name: setting for curve in curves for setting in curve.settings}
    cells = list(itertools.product(MISTAKES, by_name, range(options.trials)))

    @functools.cache
    def rows(speaker: str, setting: str, trial: int) -> tuple[Captions, Captions]:
        seed = (options.seed, trial)
        return draw_sides(captions.images, MISTAKES[speaker], captions.size, options.rows, by_name[setting], seed)

    @functools.cache
    def measures() -> CaptionMeasures:
        return CaptionMeasures(*(side for cell in cells for side in rows(*cell)))

    def study(*cell: Any) -> Iterator[list[Any]]:
        yield from parity_scores(*rows(*cell))
        yield from set_scores(measures(), *rows(*cell))

    lines = StudyTable(options.output, name, KEY, COLUMNS, study_settings(options)).fill(cells, study)
    draw_curves(lines, options.output, name, curves, panels, f"{captions.name}: {title}")


def draw_sides(
    images: Captions, mistakes: float, size: tuple[int, int], n_rows: int, setting: Setting, trial: Sequence[int]
) -> tuple[Captions, Captions]:
    """Return candidates and references of images that are drawn; they are the same for every setting of a trial.

    References are drawn with the same weights and without mistakes.
    """
    candidates, references = [], []
    for i in np.sort(np.random.default_rng(trial).choice(len(images), min(n_rows, len(images)), replace=False)):
        rng = np.random.default_rng((*trial, int(i)))
        right = [images[i][k] for k in rng.permutation(len(images[i]))]
        others = (i + rng.integers(1, len(images), size=N_OTHERS)) % len(images)
        wrong = [images[k][rng.integers(len(images[k]))] for k in others]
        weights = zipf_probabilities(len(right), 1)
        references.append([right[k] for k in rng.choice(len(right), size[1], p=weights)])
        probabilities = np.concatenate(((1 - mistakes) * weights, np.full(N_OTHERS, mistakes / N_OTHERS)))
        candidates.append([[*right, *wrong][k] for k in decode(probabilities, setting, size[0], rng)])
    return candidates, references


def decode(probabilities: np.ndarray, setting: Setting, n: int, rng: np.random.Generator) -> list[int]:
    """Choose n whole captions as `manycaps sample` chooses tokens: temperature first, then top-k, then top-p.

    Greedy search gives the likeliest caption n times, a beam search the n likeliest ones.

    >>> decode(np.array([0.2, 0.5, 0.3]), Setting(num_beams=2), 2, np.random.default_rng(0))
    [1, 2]
    """
    order = np.argsort(-probabilities, kind="stable")
    if setting.greedy:
        return [int(order[0])] * n
    if setting.num_beams is not None:
        return [int(k) for k in np.resize(order, n)]
    weights = (probabilities[order] / probabilities.max()) ** (1 / setting.temperature)
    if setting.top_k:
        weights[setting.top_k :] = 0
    weights /= weights.sum()
    if setting.top_p < 1:
        weights[np.cumsum(weights) - weights >= setting.top_p - TIE_TOLERANCE] = 0  # the one that reaches it is kept
        weights /= weights.sum()
    return [int(order[k]) for k in rng.choice(len(order), n, p=weights)]


def parity_scores(predictions: Captions, references: Captions) -> Iterator[list[Any]]:
    """Yield the values of `COLUMNS` for the numbers of human_parity."""
    module = manycaps.load("human_parity", distance="meteor", confidence_level=CONFIDENCE_LEVEL)
    result = module.compute(predictions=predictions, references=references)
    for measure, human_value in PEOPLE.items():
        value, low, high = (result[f"{measure}{end}"] for end in ("", "_ci_low", "_ci_high"))
        yield [measure, len(predictions), value, value - human_value, value, low, high]


def set_scores(measures: CaptionMeasures, predictions: Captions, references: Captions) -> Iterator[list[Any]]:
    """Yield the values of `COLUMNS` for every module and plain score.

    "shown" is the excess of a set metric, the value minus its mean over random splits of the same captions, so that it
    is about 0 where candidates have the human distribution; and the value of a plain score. The interval belongs
    to "shown", a percentile bootstrap over rows.
    """
    options = {**DISTRIBUTION_DEFAULTS, "statistic": "per_side", "p_value": "permutation", "n_resamples": N_SPLITS}
    for module in MODULES:
        rows = measures.rows(module, predictions, references)
        compared = compare_rows(rows, options, lambda batches, **_: batches)
        excesses = np.asarray(compared.tests.excesses)
        yield [
            *(module, len(predictions), compared.statistic.mean(), excesses.mean(), excesses.mean()),
            *bootstrap_interval(excesses),
        ]
        if module in PLAIN:
            mean = compared.plain.mean()
            yield [PLAIN[module], len(predictions), mean, np.nan, mean, *bootstrap_interval(compared.plain)]


def draw_curves(
    lines: Sequence[Line], output: Any, name: str, curves: Sequence[Curve], panels: Sequence[str], title: str
) -> None:
    """Draw measures against the temperature: medians over trials, and bands around the trials' intervals.

    A setting without a temperature is a horizontal line, and so is the value of people.
    """
    n_columns = len(panels) // 2
    with new_picture(output, name, 3.5 * n_columns + 1.5, 6.8) as figure:
        grid = figure.subplots(2, n_columns)
        for axes, measure in zip(grid.flat, panels, strict=True):
            for label, speaker, settings, color, style in curves:
                mine = [matching_lines(lines, speaker=speaker, measure=measure, setting=each.name) for each in settings]
                middle = [np.median(numbers(setting_lines, "shown")) for setting_lines in mine]
                if len(settings) == 1 and "o" not in style:
                    axes.axhline(middle[0], color=color, ls=style, lw=1.2, label=label)
                    continue
                temperatures = [setting.temperature for setting in settings]
                low = [min(numbers(setting_lines, "ci_low")) for setting_lines in mine]
                high = [max(numbers(setting_lines, "ci_high")) for setting_lines in mine]
                axes.plot(temperatures, middle, style, color=color, ms=4, label=label)
                axes.fill_between(temperatures, low, high, color=color, alpha=0.12, lw=0)
            better = f"people: {PEOPLE.get(measure, 0.0):g}"
            if measure in PLAIN.values():
                better = "higher is better"
            else:
                axes.axhline(PEOPLE.get(measure, 0.0), color="#888888", lw=0.8)
            label_axes(axes, "temperature", TITLES[measure], better=better)
        figure.legend(*grid[0, 0].get_legend_handles_labels(), loc="outside right center")
        figure.suptitle(f"{title}; bands: 95% intervals over images, all trials")
