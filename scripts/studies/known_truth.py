"""Which metrics are best where a speaker is the people themselves? The made world, whose captions have a known source.

python -m scripts.studies.known_truth [--scenes 500] [--seeds 5] [--output FOLDER]

People of the made world choose among wordings by Zipf's law; a speaker makes the same choices, sharpened or flattened
by a temperature (`scripts/toy/speakers.py`): 1 is the people exactly, 0 says the likeliest caption every time.
A metric that measures the distance to people is best at 1. Candidates of two temperatures come from the same random
numbers, so that a curve is smooth; each seed has scenes, people and pictures of its own. "wrong": people who get a
share of the attributes wrong. `speaker_measures.py` defines the measures, and z.

Written: known_truth.csv, a line for each speaker, number of candidates, seed and measure; known_truth_best.csv, where
each measure is best, with the 95% interval over seeds (Student's t), and how far from people it is there and at 0;
known_truth_needed.csv, scenes that a paired test at 5% needs to tell temperature 0.9 from 1 with a power of 80%, by
the number of candidates; and the picture.
"""

import functools
import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from scripts.studies.best_temperatures import best_temperature, interval, scenes_needed
from scripts.studies.speaker_measures import LINE_COLUMNS, MEASURES, SpokenWorld, draw_world, say
from scripts.studies.study_frame import Line, StudyTable, matching_lines, numbers, study_settings, write_lines
from scripts.studies.study_options import Options, add_world_options, study_parser
from scripts.studies.study_pictures import label_axes, new_picture
from scripts.toy.speakers import Speaker

parser = study_parser(__doc__)
add_world_options(parser, 500, (0.0, 0.5, 0.8, 0.9, 1.0, 1.1, 1.25, 2.0))
parser.add_argument("--wrong", nargs="+", type=float, default=(0.1,), help="shares, default: %(default)s")
parser.add_argument("--fewer", nargs="*", type=int, default=(5,), help="candidates, default: %(default)s")
parse = parser.parse_args

NAME = "known_truth"
KEY = ("speaker", "setting", "n_candidates", "seed")
# The temperature that is to be distinguished from 1.
NEAR = 0.9

BETTER = {"lowest": "lower is better", "highest": "higher is better", "zero": "0 is as diverse as people"}


def speaker_of(kind: str, setting: str) -> Speaker:
    """Return the speaker of a line."""
    return Speaker(temperature=float(setting)) if kind == "temperature" else Speaker(wrong=float(setting))


def best(lines: Sequence[Line], temperatures: Sequence[float]) -> Iterator[list[Any]]:
    """Yield for every measure where it is best, and its distance from people there and at the lowest temperature."""
    for name, measure in MEASURES.items():
        curves, distances = (curves_by_seed(lines, name, column, temperatures) for column in ("value", "z"))
        places = [best_temperature(np.array(temperatures), curve, measure.best) for curve in curves]
        at_best = [np.interp(place, temperatures, curve) for place, curve in zip(places, distances, strict=True)]
        centre, low, high = interval(places)
        yield [name, measure.best, centre, low, high, low <= 1 <= high, np.mean(at_best), distances[:, 0].mean()]


def curves_by_seed(lines: Sequence[Line], measure: str, column: str, temperatures: Sequence[float]) -> np.ndarray:
    """Return a column of the largest number of candidates, shape (n_seeds, n_temperatures)."""
    mine = matching_lines(lines, speaker="temperature", measure=measure)
    mine = matching_lines(mine, n_candidates=max(int(line["n_candidates"]) for line in mine))
    by_setting = [numbers(mine, column, setting=f"{temperature:g}") for temperature in temperatures]
    return np.array(by_setting).T


def list_needed(lines: Sequence[Line]) -> Iterator[list[Any]]:
    """Yield for every measure and number of candidates the scenes that tell a near temperature from people."""
    near = matching_lines(lines, speaker="temperature", setting=NEAR)
    counts = sorted({int(line["n_candidates"]) for line in near})
    for name, n in itertools.product(MEASURES, counts):
        mine = matching_lines(near, measure=name, n_candidates=n)
        effects = [float(line["value"]) - float(line["people"]) for line in mine]
        scenes = scenes_needed(effects, numbers(mine, "difference_deviation"))
        yield [name, n, *interval(effects), "-" if math.isnan(scenes) else math.ceil(scenes)]


def draw_picture(lines: Sequence[Line], temperatures: Sequence[float], output: Any) -> None:
    """Draw z against the temperature: set metrics, their excess, plain scores, diversity."""
    panels = list(dict.fromkeys(measure.panel for measure in MEASURES.values()))
    with new_picture(output, NAME, 10.5, 7.5) as figure:
        for axes, panel in zip(figure.subplots(2, 2, sharex=True).flat, panels, strict=True):
            measures = {name: measure for name, measure in MEASURES.items() if measure.panel == panel}
            for name, measure in measures.items():
                curves = curves_by_seed(lines, name, "z", temperatures)
                middle = curves.mean(axis=0)
                axes.plot(temperatures, middle, measure.style, color=measure.colour, marker=".", label=measure.title)
                if len(curves) > 1:
                    ends = np.array([interval(column)[1:] for column in curves.T])
                    axes.fill_between(temperatures, *ends.T, color=measure.colour, alpha=0.15, lw=0)
            axes.axvline(1, color="#888888", lw=0.8)
            axes.set_yscale("symlog", linthresh=3)
            axes.set_title(panel)
            y = "z: distance from people,\nnull standard deviations"
            label_axes(axes, "temperature of the speaker; 1 is the people", y, better=BETTER[measure.best])
            axes.legend(fontsize=8)
        figure.suptitle("Speakers of the made world, from the likeliest caption (0) over people (1) to flat choices")


def main(options: Options) -> None:
    """Compute what the table does not have yet, then draw it."""
    n, m = options.sizes
    speakers = [("temperature", f"{temperature:g}", n) for temperature in options.temperatures]
    speakers += [("wrong", f"{share:g}", n) for share in options.wrong]
    speakers += [("temperature", f"{NEAR:g}", fewer) for fewer in options.fewer]
    cells = [(*speaker, seed) for seed in range(options.seed, options.seed + options.seeds) for speaker in speakers]

    @functools.lru_cache(maxsize=1)
    def world(seed: int) -> SpokenWorld:
        drawn = draw_world(seed, options.scenes, n, m)
        rows = (row for kind, setting, _ in speakers for row in say(drawn, speaker_of(kind, setting), drawn.draws))
        return SpokenWorld(drawn, options.splits, itertools.chain.from_iterable(rows))

    def study(kind: str, setting: str, n: int, seed: int) -> list[list[Any]]:
        spoken, speaker = world(seed), speaker_of(kind, setting)
        candidates = say(spoken.world, speaker, spoken.world.draws[:, :n])
        return spoken.lines(spoken.people(n)[0] if speaker == Speaker() else spoken.values(candidates), n)

    lines = StudyTable(options.output, NAME, KEY, LINE_COLUMNS, study_settings(options)).fill(cells, study)
    columns = ["measure", "best", "best_temperature", "low", "high", "people_are_best", "z_at_best", "z_at_lowest"]
    write_lines(options.output / f"{NAME}_best.csv", columns, best(lines, options.temperatures))
    columns = ["measure", "n_candidates", "effect", "low", "high", "scenes_needed"]
    write_lines(options.output / f"{NAME}_needed.csv", columns, list_needed(lines))
    draw_picture(lines, options.temperatures, options.output)


if __name__ == "__main__":
    main(parse())
