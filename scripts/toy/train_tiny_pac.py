"""Train tiny-pac: a small CLIP that learns the made world from scratch, then the positive-augmented recipe.

python -m scripts.toy.train_tiny_pac --output runs/tiny                               five seeds, tables
python -m scripts.toy.train_tiny_pac --output runs/one --seeds 0                      one of them
python -m scripts.toy.train_tiny_pac --output runs/tiny --publish checkpoints/tiny-pac  and the first checkpoint

For every seed the small CLIP learns from labels such as the web has; then its two last projections are tuned on
human captions with generated positives (Sarto et al., 2023, equation 4), and again without one or both kinds of
positives. All are measured on the same held-out scenes. Seeds run side by side in --jobs processes of one thread each:
the same seed gives the same file on the same machine, however many. A seed that is finished in the folder is not
trained again, and an existing checkpoint before tuning is only tuned. --quick takes a minute and shows only that
everything works. Needs scipy and metrics/pac_score/requirements.txt.
"""

import argparse
import concurrent.futures
import dataclasses
import json
import multiprocessing
import pathlib
import sys
import time
from collections.abc import Sequence
from typing import Any

from scripts.command_line import start_tool

SEEDS = (0, 1, 2, 3, 4)


def parsed(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse a command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=pathlib.Path, required=True, metavar="FOLDER", help="for every seed's results")
    parser.add_argument("--seeds", type=int, nargs="+", default=list(SEEDS), help="default: %(default)s")
    parser.add_argument("--jobs", type=int, default=2, help="seeds trained at once (default %(default)s)")
    parser.add_argument("--publish", type=pathlib.Path, metavar="FOLDER", help="for the first seed's checkpoint")
    parser.add_argument("--quick", action="store_true", help="a minute of training that learns nothing")
    return parser.parse_args(arguments)


start_tool(__name__, parsed, "scipy", "metrics/pac_score/requirements.txt")

import torch
import tqdm

from manycaps.saved_files import write_text_atomically
from scripts.toy.base_training import BaseRecipe, train_base
from scripts.toy.publishing import FACTS_NAME, TRIALS_NAME, publish, read_base, read_facts, write_base, write_seed
from scripts.toy.small_clip import SmallClip
from scripts.toy.tables import as_markdown, write_csv
from scripts.toy.trials import draw_trials, encode, measure
from scripts.toy.tuning import PLAIN, Projections, TuningRecipe, tune_variants

# Held-out scenes of the trials.
N_TRIALS = 1000


@dataclasses.dataclass(frozen=True)
class Recipe:
    """All that decides the result beside the seed."""

    base: BaseRecipe = dataclasses.field(default_factory=BaseRecipe)
    tuning: TuningRecipe = dataclasses.field(default_factory=TuningRecipe)
    n_trials: int = N_TRIALS


QUICK = Recipe(
    BaseRecipe(n_families=40, n_families_at_once=16, n_steps=10),
    TuningRecipe(n_scenes=64, n_validation_scenes=32, batch_size=32, max_iterations=20, validate_every=10),
    n_trials=40,
)


def train_seed(folder: pathlib.Path, seed: int, recipe: Recipe) -> None:
    """Train, tune and measure one seed, and write what came of it, unless it already exists."""
    torch.set_num_threads(1)
    clip, minutes_before = trained_base(folder, seed, recipe.base)
    start = time.process_time()
    tuned = tune_variants(clip, seed, recipe.tuning, tqdm.tqdm)
    trials = draw_trials(recipe.n_trials)
    images, texts = encode(clip, trials.pixels, trials.texts)
    projections = {PLAIN: Projections(clip.visual_projection.detach().numpy(), clip.text_projection.detach().numpy())}
    projections |= {name: Projections(found.visual_projection, found.text_projection) for name, found in tuned.items()}
    measured = {name: measure(trials, images @ pair.visual, texts @ pair.text) for name, pair in projections.items()}
    facts = {
        "seed": seed,
        "recipe": dataclasses.asdict(recipe),
        "processor_minutes": minutes_before + (time.process_time() - start) / 60,
        "best_iterations": {name: found.best_iteration for name, found in tuned.items()},
        "measured": measured,
    }
    write_seed(folder, clip, projections, facts)


def trained_base(folder: pathlib.Path, seed: int, recipe: BaseRecipe) -> tuple[SmallClip, float]:
    """Return the checkpoint before tuning and the processor minutes that it took, trained now unless it is there."""
    if (found := read_base(folder)) is None:
        start = time.process_time()
        clip = train_base(seed, recipe, tqdm.tqdm)
        facts = {"recipe": dataclasses.asdict(recipe), "processor_minutes": (time.process_time() - start) / 60}
        write_base(folder, clip, facts)
        return clip, facts["processor_minutes"]
    clip, facts = found
    check_recipe(folder, facts["recipe"], dataclasses.asdict(recipe))
    return clip, facts["processor_minutes"]


def train_seeds(output: pathlib.Path, seeds: Sequence[int], recipe: Recipe, n_jobs: int) -> list[dict[str, Any]]:
    """Train the seeds that are missing, and return the facts of all."""
    folders = [output / f"seed-{seed}" for seed in seeds]
    missing = [(folder, seed) for folder, seed in zip(folders, seeds, strict=True) if not is_done(folder, recipe)]
    if min(n_jobs, len(missing)) > 1:
        context = multiprocessing.get_context("spawn")
        with concurrent.futures.ProcessPoolExecutor(n_jobs, context) as pool:
            for done in [pool.submit(train_seed, folder, seed, recipe) for folder, seed in missing]:
                done.result()
    else:
        for folder, seed in missing:
            train_seed(folder, seed, recipe)
    return [read_facts(folder) for folder in folders]


def is_done(folder: pathlib.Path, recipe: Recipe) -> bool:
    """Whether a seed is finished in this folder."""
    if not (folder / FACTS_NAME).is_file():
        return False
    check_recipe(folder, read_facts(folder)["recipe"], dataclasses.asdict(recipe))
    return True


def check_recipe(folder: pathlib.Path, found: dict[str, Any], recipe: dict[str, Any]) -> None:
    """Raise unless a folder was made by a recipe."""
    # As JSON has it: a list for a tuple.
    if found != json.loads(json.dumps(recipe)):
        raise ValueError(f"--output: expected a folder for this recipe, got {folder} of another. Choose a new folder.")


def main(arguments: argparse.Namespace) -> int:
    """Train, write the tables, print them, and publish if asked to."""
    try:
        check(arguments)
        facts = train_seeds(arguments.output, arguments.seeds, QUICK if arguments.quick else Recipe(), arguments.jobs)
    except (ValueError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    measurements = {name: [found["measured"][name] for found in facts] for name in facts[0]["measured"]}
    tables = as_markdown(measurements, PLAIN)
    write_csv(arguments.output / TRIALS_NAME, measurements, arguments.seeds)
    write_text_atomically(arguments.output / "tables.md", tables)
    print(tables)
    if arguments.publish:
        first = arguments.output / f"seed-{arguments.seeds[0]}"
        publish(arguments.publish, first, measurements, facts)
        print(f"Wrote {arguments.publish}.")
    return 0


def check(arguments: argparse.Namespace) -> None:
    """Raise unless the command line can be followed."""
    if arguments.jobs < 1:
        raise ValueError(f"--jobs: expected 1 or more, got {arguments.jobs}. Give the number of free processors.")
    if min(arguments.seeds) < 0 or len(set(arguments.seeds)) < len(arguments.seeds):
        raise ValueError(f"--seeds: expected different numbers from 0, got {arguments.seeds}. Give each seed once.")
    if arguments.quick and arguments.publish:
        raise ValueError("--publish: expected a full training, got --quick. Leave one of them out.")


if __name__ == "__main__":
    sys.exit(main(parsed()))
