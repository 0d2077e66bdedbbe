"""Which metrics are best where a speaker is the people themselves? The made world, whose captions have a known source.

python -m scripts.studies.known_truth [--scenes 500] [--seeds 5] [--output FOLDER]

People of the made world choose among wordings by Zipf's law; a speaker makes the same choices, sharpened or flattened
by a temperature (`manycaps/made_world/speakers.py`): 1 is the people exactly, 0 says the likeliest caption every time.
A metric that measures the distance to people is best at 1. Candidates of two temperatures come from the same random
numbers, so that a curve is smooth; each seed has scenes, people and pictures of its own.

Measures: the set metrics of the collection, as they are and as the excess over the mean of random splits of a row, the
plain scores behind them, METEOR 1.5, BLEU-4, ROUGE-L, PAC-S, RefPAC-S and EMScore by tiny-pac (200 scenes of a seed at
most), and figures of vdtk_diversity and set_diversity, less those of the references (0: as diverse as people). Value,
and its distance from that of people (z): in standard deviations of the mean over scenes when other people are the
candidates. "wrong": people who get a share of the attributes wrong.

Written: known_truth.csv, a line for each speaker, number of candidates, seed and measure; known_truth_best.csv, where
each measure is best, with the 95 % interval over seeds (Student's t), and how far from people it is there and at 0;
known_truth_needed.csv, scenes that a paired test at 5 % needs to tell temperature 0.9 from 1 with a power of 80 %, by
the number of candidates; and the picture. Needs scripts/requirements.txt, metrics/trm_bert/requirements.txt,
metrics/emscore_pac/requirements.txt, metrics/meteor15/requirements.txt, metrics/bleu_rouge/requirements.txt,
measurements/vdtk_diversity/requirements.txt and measurements/set_diversity/requirements.txt.
"""

import argparse
import functools
import itertools
import sys
from collections.abc import Sequence
from typing import Any

from scripts.command_line import start_tool
from scripts.studies.study_frame import Line, StudyTable, add_frame_options, matching, study_settings, write_lines

TEMPERATURES = (0.0, 0.5, 0.8, 0.9, 1.0, 1.1, 1.25, 2.0)


def parsed(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse a command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_frame_options(parser)
    parser.add_argument("--scenes", type=int, default=500, metavar="N", help="of each seed, default %(default)s")
    parser.add_argument("--seeds", type=int, default=5, metavar="N", help="worlds, default %(default)s")
    parser.add_argument(
        "--sizes", nargs=2, type=int, default=(10, 10), metavar=("N", "M"), help="candidates, references"
    )
    parser.add_argument("--temperatures", nargs="+", type=float, default=TEMPERATURES, help="default: %(default)s")
    parser.add_argument("--wrong", nargs="+", type=float, default=(0.1,), help="shares, default: %(default)s")
    parser.add_argument("--fewer", nargs="*", type=int, default=(5,), help="candidates, default: %(default)s")
    parser.add_argument("--splits", type=int, default=99, metavar="N", help="of a row, default %(default)s")
    return parser.parse_args(arguments)


start_tool(
    __name__,
    parsed,
    "scripts/requirements.txt",
    "metrics/trm_bert/requirements.txt",
    "metrics/emscore_pac/requirements.txt",
    "metrics/meteor15/requirements.txt",
    "metrics/bleu_rouge/requirements.txt",
    "measurements/vdtk_diversity/requirements.txt",
    "measurements/set_diversity/requirements.txt",
    needs_wordnet=True,
)

import numpy as np

from manycaps.made_world.speakers import Speaker
from scripts.studies.best_temperatures import as_shown, best_temperature, interval, scenes_needed
from scripts.studies.speaker_measures import LINE_COLUMNS, MEASURES, SpokenWorld, draw_world, said
from scripts.studies.study_pictures import label_axes, new_picture

NAME = "known_truth"
KEY = ("speaker", "setting", "n_candidates", "seed")
# The temperature that is to be distinguished from 1.
NEAR = 0.9

# Options of the test run.
SMALL = (
    *("--scenes", "6", "--seeds", "2", "--sizes", "3", "3", "--temperatures", "0", "0.9", "1", "1.1"),
    *("--fewer", "2", "--splits", "19"),
)


def speaker_of(kind: str, setting: float) -> Speaker:
    """Return the speaker of a line."""
    return Speaker(temperature=setting) if kind == "temperature" else Speaker(wrong=setting)


def study(world: SpokenWorld, speaker: Speaker, n: int) -> list[list[Any]]:
    """Return the lines of a speaker."""
    return world.lines(world.people(n)[0] if speaker == Speaker() else world.values_of(speaker, n), n)


def best(lines: Sequence[Line], temperatures: Sequence[float]) -> list[list[Any]]:
    """Return for every measure where it is best, and its distance from people there and at the lowest temperature."""
    found = []
    for name, measure in MEASURES.items():
        of_measure = matching(lines, speaker="temperature", measure=name)
        curves = curves_by_seed(of_measure, "value", temperatures)
        distances = curves_by_seed(of_measure, "z", temperatures)
        places = [best_temperature(np.array(temperatures), curve, measure.best) for curve in curves]
        at_best = [np.interp(place, temperatures, curve) for place, curve in zip(places, distances, strict=True)]
        centre, low, high = interval(places)
        found.append(
            [name, measure.best, centre, low, high, low <= 1 <= high, np.mean(at_best), distances[:, 0].mean()]
        )
    return found


def curves_by_seed(lines: Sequence[Line], column: str, temperatures: Sequence[float]) -> np.ndarray:
    """Return a column of the largest number of candidates, shape (n_seeds, n_temperatures)."""
    most = max(int(line["n_candidates"]) for line in lines)
    seeds = list(dict.fromkeys(line["seed"] for line in lines))
    by_place = {
        (line["seed"], float(line["setting"])): float(line[column]) for line in matching(lines, n_candidates=most)
    }
    return np.array([[by_place[seed, temperature] for temperature in temperatures] for seed in seeds])


def needed(lines: Sequence[Line]) -> list[list[Any]]:
    """Return for every measure and number of candidates the scenes that tell a near temperature from people."""
    near = matching(lines, speaker="temperature", setting=NEAR)
    counts = sorted({int(line["n_candidates"]) for line in near})
    found = []
    for name in MEASURES:
        for n in counts:
            mine = matching(near, measure=name, n_candidates=n)
            effects = [float(line["value"]) - float(line["people"]) for line in mine]
            deviations = [float(line["difference_deviation"]) for line in mine]
            found.append([name, n, *interval(effects), as_shown(scenes_needed(effects, deviations))])
    return found


def draw_picture(lines: Sequence[Line], temperatures: Sequence[float], output: Any) -> None:
    """Draw z against the temperature: set metrics, their excess, plain scores, diversity."""
    panels = list(dict.fromkeys(measure.panel for measure in MEASURES.values()))
    with new_picture(output, NAME, 10.5, 7.5) as figure:
        for axes, panel in zip(figure.subplots(2, 2, sharex=True).flat, panels, strict=True):
            for name, measure in MEASURES.items():
                if measure.panel != panel:
                    continue
                of_measure = matching(lines, speaker="temperature", measure=name)
                curves = curves_by_seed(of_measure, "z", temperatures)
                middle = curves.mean(axis=0)
                axes.plot(temperatures, middle, measure.style, color=measure.colour, marker=".", label=measure.title)
                if len(curves) > 1:
                    ends = np.array([interval(column)[1:] for column in curves.T])
                    axes.fill_between(temperatures, *ends.T, color=measure.colour, alpha=0.15, lw=0)
            axes.axvline(1, color="#888888", lw=0.8)
            axes.set_yscale("symlog", linthresh=3)
            axes.set_title(panel)
            better = {"lowest": "lower is better", "highest": "higher is better", "zero": "0 is as diverse as people"}
            directions = {measure.best for measure in MEASURES.values() if measure.panel == panel}
            label_axes(
                axes,
                "temperature of the speaker; 1 is the people",
                "z: distance from people,\nnull standard deviations",
                better=better[directions.pop()],
            )
            axes.legend(fontsize=8)
        figure.suptitle("Speakers of the made world, from the likeliest caption (0) over people (1) to flat choices")


def main(options: argparse.Namespace) -> int:
    """Compute what the table does not have yet, then draw it."""
    n, m = options.sizes
    table = StudyTable(options.output, NAME, KEY, LINE_COLUMNS, study_settings(options))
    speakers = [("temperature", f"{temperature:g}", n) for temperature in options.temperatures]
    speakers += [("wrong", f"{share:g}", n) for share in options.wrong]
    speakers += [("temperature", f"{NEAR:g}", fewer) for fewer in options.fewer]
    cells = [(*speaker, seed) for seed in range(options.seed, options.seed + options.seeds) for speaker in speakers]

    @functools.lru_cache(maxsize=1)
    def world(seed: int) -> SpokenWorld:
        drawn = draw_world(seed, options.scenes, n, m)
        rows = (
            row for kind, setting, _ in speakers for row in said(drawn, speaker_of(kind, float(setting)), drawn.draws)
        )
        return SpokenWorld(drawn, options.splits, itertools.chain.from_iterable(rows))

    lines = table.fill(cells, lambda kind, setting, n, seed: study(world(seed), speaker_of(kind, float(setting)), n))
    columns = ["measure", "best", "best_temperature", "low", "high", "people_are_best", "z_at_best", "z_at_lowest"]
    write_lines(options.output / f"{NAME}_best.csv", columns, best(lines, options.temperatures))
    columns = ["measure", "n_candidates", "effect", "low", "high", "scenes_needed"]
    write_lines(options.output / f"{NAME}_needed.csv", columns, needed(lines))
    draw_picture(lines, options.temperatures, options.output)
    return 0


if __name__ == "__main__":
    sys.exit(main(parsed()))
