"""When do generated positives help? Tunings of tiny-pac on other data, with and without positives, as one table.

python -m scripts.toy.positives_study [--output FOLDER] [--settings NAME ...] [--seeds N ...]

Each setting says how many pairs of a picture and a caption of a person there are, which share of these captions is of
another picture ("wrong") or says little ("vague"), and in which share of the generated captions, or pictures, there is
a mistake ("captioner errs", "painter errs"). In each the projections of tiny-pac before tuning are tuned with every
pair of `LAMBDAS` on the same tuples, and measured on the same held-out scenes. A seed has tuples of its own, and all
seeds start from the same checkpoint: what the seeds differ in is the data and their order.

Written: positives.csv, a line for each setting, seed and pair of lambdas; what an interrupted study has computed is not
computed again. And the picture: the gain in tau_b over the same tuning without positives, with two standard errors.
Needs scripts/requirements.txt and metrics/pac_score/requirements.txt.
"""

import argparse
import dataclasses
import functools
import itertools
import pathlib
import sys
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from scripts.command_line import start_tool

# What the data of each setting are, as `recipe_of` takes it.
SETTINGS: dict[str, dict[str, Any]] = {
    "50 pairs": {"n_pairs": 50},
    "500 pairs": {"n_pairs": 500},
    "5000 pairs": {"n_pairs": 5000},
    "30 % wrong": {"wrong": 0.3},
    "all vague": {"vague": 1.0},
    "captioner errs in 50 %": {"caption_errors": 0.5},
    "painter errs in 50 %": {"picture_errors": 0.5},
}
SEEDS = (0, 1, 2, 3, 4)


def parsed(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse a command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("studies-output"), metavar="FOLDER")
    listed = "; ".join(SETTINGS).replace("%", "%%")
    parser.add_argument("--settings", nargs="+", choices=SETTINGS, default=[*SETTINGS], metavar="NAME", help=listed)
    parser.add_argument("--seeds", type=int, nargs="+", default=SEEDS, help="default: %(default)s")
    return parser.parse_args(arguments)


start_tool(__name__, parsed, "scripts/requirements.txt", "metrics/pac_score/requirements.txt")

import numpy as np
import torch
import tqdm
from safetensors.torch import load_file

from manycaps.installed_modules import data_folder
from manycaps.kit.clip_variants import WEIGHTS_NAME
from manycaps.kit.clip_weights import read_weights
from scripts.studies.study_frame import Line, StudyTable
from scripts.studies.study_pictures import BLUE, GREEN, ORANGE, new_picture
from scripts.toy.small_clip import UNTUNED_NAME, SmallClip
from scripts.toy.tables import LAMBDAS, STUDY_NAME, gain
from scripts.toy.trials import Trials, draw_trials, encode, measure
from scripts.toy.tuning import TuningRecipe, TupleMake, tune_variants

KEY = ("setting", "seed")
MEASURED = ("tau_b", "foil accuracy", "foil relation", "pairs mean", "image_to_caption_recall@1")
COLUMNS = ("lambda_v", "lambda_t", "iterations", *MEASURED)

# Held-out scenes of every measurement, and pairs that decide when to stop, which are made as those learnt from.
N_TRIALS = 500
N_VALIDATION = 300

# Generated captions and pictures in all, and most for one picture.
N_GENERATED = 2000
MOST_POSITIVES = 10


def recipe_of(n_pairs: int = 500, **make: float) -> TuningRecipe:
    """Return how the projections are tuned on the data of a setting: as tiny-pac, but for the data."""
    n_positives = int(np.clip(N_GENERATED // n_pairs, 1, MOST_POSITIVES))
    return TuningRecipe(
        make=TupleMake(**make, n_positives=n_positives), n_scenes=n_pairs, n_validation_scenes=N_VALIDATION
    )


class Start(NamedTuple):
    """What every cell begins with."""

    clip: SmallClip
    trials: Trials
    # Features of the trials before the projections.
    images: np.ndarray
    texts: np.ndarray


def load_start(n_trials: int = N_TRIALS) -> Start:
    """Return tiny-pac before tuning, and the held-out scenes."""
    folder = data_folder("checkpoints/tiny-pac")
    clip = SmallClip.of_weights(read_weights(folder / WEIGHTS_NAME) | load_file(folder / UNTUNED_NAME))
    trials = draw_trials(n_trials)
    return Start(clip, trials, *encode(clip, trials.pixels, trials.texts))


def tuned_lines(start: Start, recipe: TuningRecipe, seed: int) -> Iterator[list[float]]:
    """Tune with all `LAMBDAS` on the same tuples, and yield the values of `COLUMNS` for each."""
    variants = {str(lambdas): lambdas for lambdas in LAMBDAS}
    silent = functools.partial(tqdm.tqdm, disable=True)
    every = tune_variants(start.clip, seed, dataclasses.replace(recipe, variants=variants), silent)
    for name, tuned in every.items():
        found = measure(start.trials, start.images @ tuned.visual_projection, start.texts @ tuned.text_projection)
        yield [*variants[name], tuned.best_iteration, *(found[key] for key in MEASURED)]


def draw(folder: pathlib.Path, lines: Sequence[Line], names: Sequence[str]) -> None:
    """Draw what positives add in each setting, by their weights."""
    with new_picture(folder, STUDY_NAME, 9, 0.42 * len(names) + 1.6) as figure:
        axes = figure.add_subplot()
        for k, (lambdas, colour) in enumerate(zip(LAMBDAS[1:], (BLUE, GREEN, ORANGE), strict=True)):
            means, errors = zip(*(gain(lines, name, lambdas, "tau_b") for name in names), strict=True)
            places = np.arange(len(names)) + 0.2 * (k - 1)
            label = f"lambda_v {lambdas.v:g}, lambda_t {lambdas.t:g}"
            axes.errorbar(means, places, xerr=2 * np.array(errors), fmt="osD"[k], color=colour, label=label, capsize=3)
        axes.axvline(0, color="black", lw=1)
        axes.set_yticks(np.arange(len(names)), names)
        axes.invert_yaxis()
        axes.set_xlabel(
            "tau_b of PAC-S x 100 with positives minus without, two standard errors (right: positives help)"
        )
        axes.legend(loc="best")


def main(options: argparse.Namespace) -> int:
    """Fill the table and draw it."""
    torch.set_num_threads(1)
    table = StudyTable(options.output, STUDY_NAME, KEY, COLUMNS, {"trials": N_TRIALS, "validation": N_VALIDATION})
    start = load_start()

    def study(name: str, seed: int) -> list[list[float]]:
        return list(tuned_lines(start, recipe_of(**SETTINGS[name]), seed))

    lines = table.fill(itertools.product(options.settings, options.seeds), study)
    if len(options.seeds) > 1:
        draw(options.output, lines, options.settings)
    return 0


if __name__ == "__main__":
    sys.exit(main(parsed()))
