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
import itertools
import json
import multiprocessing
import pathlib
import platform
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
import tqdm
from safetensors.torch import load_file, save_file

from manycaps.files.saved_files import write_atomically, write_text_atomically
from manycaps.kit.clip_checkpoints import CONFIG_NAME, WEIGHTS_NAME
from manycaps.kit.clip_model import ClipModel, Weights, read_weights, write_safetensors
from manycaps.kit.files import file_sha256
from manycaps.pac_training.checkpoint_conversion import open_clip_config
from manycaps.pac_training.projections import TEXT_PROJECTION, VISUAL_PROJECTION
from scripts.toy.base_training import BaseRecipe, train_base
from scripts.toy.small_clip import TREATMENT, UNTUNED_NAME, SmallClip
from scripts.toy.tables import Measurements, as_markdown, foil_table, kinds_learned, verdict, write_csv
from scripts.toy.trials import draw_trials, encode, measure
from scripts.toy.tuning import PAC, PLAIN, TuningRecipe, tune_variants

SEEDS = (0, 1, 2, 3, 4)


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse a command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=pathlib.Path, required=True, metavar="FOLDER", help="for every seed's results")
    parser.add_argument("--seeds", type=int, nargs="+", default=list(SEEDS), help="default: %(default)s")
    parser.add_argument("--jobs", type=int, default=2, help="seeds trained at once (default %(default)s)")
    parser.add_argument("--publish", type=pathlib.Path, metavar="FOLDER", help="for the first seed's checkpoint")
    parser.add_argument("--quick", action="store_true", help="a minute of training that learns nothing")
    return parser.parse_args(arguments)


# Held-out scenes of the trials.
N_TRIALS = 1000

# Files of a seed: what is known of it, and the projections of all variants; and of the checkpoint before tuning.
FACTS_NAME, PROJECTIONS_NAME = "facts.json", "projections.safetensors"
BASE_FACTS_NAME, BASE_NAME = "base.json", "base.safetensors"

# Published beside the weights.
TRIALS_NAME = "trials.csv"

CARD = (pathlib.Path(__file__).parent / "card.md").read_text(encoding="utf-8")


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
    """Train, tune and measure one seed, and write what came of it; the facts last: they say that the rest exists."""
    torch.set_num_threads(1)
    clip, minutes_before = load_or_train_base(folder, seed, recipe.base)
    start = time.process_time()
    tuned = tune_variants(clip, seed, recipe.tuning, tqdm.tqdm)
    trials = draw_trials(recipe.n_trials)
    images, texts = encode(clip, trials.pixels, trials.texts)
    projections = {PLAIN: clip.projections()}
    for name, training in tuned.items():
        best = training.best_weights
        projections[name] = best[VISUAL_PROJECTION].numpy(), best[TEXT_PROJECTION].numpy()
    measured = {name: measure(trials, images @ visual, texts @ text) for name, (visual, text) in projections.items()}
    facts = {
        "seed": seed,
        "recipe": dataclasses.asdict(recipe),
        "processor_minutes": minutes_before + (time.process_time() - start) / 60,
        "best_iterations": {name: int(training.best["iteration"]) for name, training in tuned.items()},
        "measured": measured,
    }
    named = {name: projection_weights(*pair) for name, pair in projections.items()}
    # One entry only: safetensors writes several in any order, and the file would not be the same each time.
    about = {"manycaps": json.dumps({**TREATMENT._asdict(), "source": "made world"})}
    weights = clip.weights() | named[PAC]
    write_atomically(folder / WEIGHTS_NAME, lambda path: write_safetensors(weights, path, about))
    flat = {f"{name}/{key}": weight for name, pair in named.items() for key, weight in pair.items()}
    write_atomically(folder / PROJECTIONS_NAME, lambda path: save_file(flat, path))
    write_text_atomically(folder / FACTS_NAME, json.dumps(facts, indent=1))


def load_or_train_base(folder: pathlib.Path, seed: int, recipe: BaseRecipe) -> tuple[SmallClip, float]:
    """Return the checkpoint before tuning and the processor minutes that it took, trained now unless it exists."""
    facts = read_facts(folder / BASE_FACTS_NAME, recipe)
    if facts is not None:
        return SmallClip.of_weights(load_file(folder / BASE_NAME)), facts["processor_minutes"]
    start = time.process_time()
    clip = train_base(seed, recipe, tqdm.tqdm)
    facts = {"recipe": dataclasses.asdict(recipe), "processor_minutes": (time.process_time() - start) / 60}
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(folder / BASE_NAME, lambda path: save_file(clip.weights(), path))
    write_text_atomically(folder / BASE_FACTS_NAME, json.dumps(facts, indent=1))
    return clip, facts["processor_minutes"]


def read_facts(path: pathlib.Path, recipe: Recipe | BaseRecipe) -> dict[str, Any] | None:
    """Return what is known of something that was made by a recipe; None if it does not exist."""
    if not path.is_file():
        return None
    facts: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    # As JSON has it: a list for a tuple.
    if facts["recipe"] != json.loads(json.dumps(dataclasses.asdict(recipe))):
        raise ValueError(
            f"--output: expected a folder for this recipe, got {path.parent} of another. Choose a new folder."
        )
    return facts


def projection_weights(visual: np.ndarray, text: np.ndarray) -> Weights:
    """Return projections under their names in a CLIP's state dict."""
    arrays = {VISUAL_PROJECTION: visual, TEXT_PROJECTION: text}
    return {name: torch.tensor(array).contiguous() for name, array in arrays.items()}


def train_seeds(output: pathlib.Path, seeds: Sequence[int], recipe: Recipe, n_jobs: int) -> list[dict[str, Any]]:
    """Train the seeds that are missing, each in a process, and return the facts of all."""
    folders = [output / f"seed-{seed}" for seed in seeds]
    missing = [i for i, folder in enumerate(folders) if read_facts(folder / FACTS_NAME, recipe) is None]
    with concurrent.futures.ProcessPoolExecutor(n_jobs, multiprocessing.get_context("spawn")) as pool:
        work = ([folders[i] for i in missing], [seeds[i] for i in missing], itertools.repeat(recipe))
        list(pool.map(train_seed, *work))
    return [facts for folder in folders if (facts := read_facts(folder / FACTS_NAME, recipe))]


def publish(
    folder: pathlib.Path, first: pathlib.Path, measurements: Measurements, facts: Sequence[Mapping[str, Any]]
) -> None:
    """Write the published folder from the first seed's: weights, configuration, trials and a card."""
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(folder / WEIGHTS_NAME, lambda path: shutil.copyfile(first / WEIGHTS_NAME, path))
    model = ClipModel(read_weights(folder / WEIGHTS_NAME), **TREATMENT._asdict(), device="cpu")
    write_text_atomically(folder / CONFIG_NAME, json.dumps(open_clip_config(model, TREATMENT), indent=2) + "\n")
    named = load_file(first / PROJECTIONS_NAME)
    untuned = {key.partition("/")[2]: weight for key, weight in named.items() if key.startswith(f"{PLAIN}/")}
    write_atomically(folder / UNTUNED_NAME, lambda path: save_file(untuned, path))
    write_csv(folder / TRIALS_NAME, measurements, [seed_facts["seed"] for seed_facts in facts])
    write_text_atomically(folder / "README.md", card(folder, facts, measurements))


def card(folder: pathlib.Path, facts: Sequence[Mapping[str, Any]], measurements: Measurements) -> str:
    """Return the model card."""
    files = [
        f"| `{name}` | {(folder / name).stat().st_size:,} | `{file_sha256(folder / name)}` |"
        for name in (WEIGHTS_NAME, UNTUNED_NAME)
    ]
    minutes = sorted(seed_facts["processor_minutes"] for seed_facts in facts)
    seeds, recipe = [seed_facts["seed"] for seed_facts in facts], facts[0]["recipe"]
    return CARD.format(
        untuned=UNTUNED_NAME,
        seed=seeds[0],
        seeds=" ".join(map(str, seeds)),
        n_seeds=len(seeds),
        n_trials=f"{recipe['n_trials']:,}",
        n_pairs=f"{recipe['tuning']['n_scenes']:,}",
        n_positives=recipe["tuning"]["n_positives"],
        most_steps=f"{recipe['tuning']['max_iterations']:,}",
        files="\n".join(files),
        minutes=f"{minutes[0]:.1f} to {minutes[-1]:.1f}",
        machine=f"{platform.machine()}, {platform.system()}, torch {torch.__version__}",
        tables=as_markdown(measurements, PLAIN),
        verdict=verdict(measurements),
        foils=foil_table(measurements),
        learned=kinds_learned(measurements[PAC]),
    )


def main(arguments: argparse.Namespace) -> int:
    """Train, write the tables, print them, and publish if asked to."""
    try:
        check(arguments)
        facts = train_seeds(arguments.output, arguments.seeds, QUICK if arguments.quick else Recipe(), arguments.jobs)
    except (ValueError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    measurements = {name: [seed_facts["measured"][name] for seed_facts in facts] for name in facts[0]["measured"]}
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
    sys.exit(main(parse()))
