"""Compare three captioning systems on the bundled sample: plain metrics beside distribution metrics with p-values.

python scripts/quickstart.py                     results in quickstart-output/
python scripts/quickstart.py --output FOLDER     results elsewhere
python scripts/quickstart.py --captions FILE     captions of your own
python scripts/quickstart.py --no-images         without the second part, which needs torch

Prints one table and writes it as table.csv, with a picture, null_distributions.png: for every system the mean over
scenes that chance alone would give, and the observed one. Then the image and video metrics on scenes of a made world,
with checkpoints/tiny-pac, a toy that knows nothing else: a second table, made_world.csv and made_world.png.

FILE is JSON, laid out as scripts/quickstart_captions.json: for each image the captions of people and of every system.

    {"scenes": [{"scene": "beach",
                 "references": ["a dog runs on the beach", "a wet dog near the water"],
                 "systems": {"mine": ["a dog in the sand", "a dog runs"], "other": ["a dog", "an animal"]}},
                {"scene": "kitchen",
                 "references": ["a man cooks pancakes", "somebody makes breakfast"],
                 "systems": {"mine": ["a man at the stove", "a cook"], "other": ["a man", "a room"]}}]}

Two or more scenes, the same systems in each; "scene" is a name for messages and may be left out. Needs
scripts/requirements.txt; the second part needs scripts/requirements-images.txt.
"""

import argparse
import csv
import functools
import importlib.util
import os
import pathlib
import sys
from collections.abc import Sequence

# The modules are loaded from this checkout; evaluate need not ask the Hub for them.
os.environ.setdefault("HF_EVALUATE_OFFLINE", "1")

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from scripts.command_line import start_tool


def parsed(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse a command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--captions",
        type=pathlib.Path,
        default=ROOT / "scripts" / "quickstart_captions.json",
        metavar="FILE",
        help="JSON in the layout above (default: the bundled sample)",
    )
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("quickstart-output"), metavar="FOLDER")
    parser.add_argument("--no-images", action="store_true", help="leave out the metrics that need torch")
    return parser.parse_args(arguments)


start_tool(__name__, parsed, "scripts/requirements.txt")

import evaluate
import matplotlib
import numpy as np
from tqdm import tqdm

from manycaps.shared_verdict import verdict
from scripts.quickstart_scenes import read_scenes

matplotlib.use("Agg")
import matplotlib.pyplot as plt

# Which excess is best: human captions have none.
nearest_to_zero = functools.partial(min, key=abs)

# Columns of the table: title, module, result key, and which value is best (None: no mark).
COLUMNS = [
    ("METEOR", "trm_meteor", "meteor", max),
    ("TRM-METEOR", "trm_meteor", "trm_meteor", min),
    ("excess", "trm_meteor", "trm_meteor_excess", nearest_to_zero),
    ("p", "trm_meteor", "trm_meteor_corpus_p_value", None),
    ("CIDEr-D", "trm_cider", "cider_d", max),
    ("TRM-CIDEr", "trm_cider", "trm_cider", min),
    ("excess", "trm_cider", "trm_cider_excess", nearest_to_zero),
    ("p", "trm_cider", "trm_cider_corpus_p_value", None),
]

# Modules, and what they are called in a sentence.
TITLES = {"trm_meteor": "TRM-METEOR", "trm_cider": "TRM-CIDEr"}

# How the modules test, and draw the interval of an excess.
TEST = {"p_value": "exact", "confidence_level": 0.95, "details": True}

# Draws of the mean over scenes in the picture.
N_DRAWN_MEANS = 20_000

# Scenes of the made world, and their seed: the checkpoint has seen none of them.
N_TOY_SCENES = 60
TOY_SEED = 2_000_000

# What the image and video metrics need beside the rest.
IMAGE_PACKAGES = ("torch", "open_clip", "av")


def score_systems(scenes: list[dict]) -> dict[str, dict[str, dict]]:
    """Return the result of every module for every system: results[system][module]."""
    evaluate.utils.logging.disable_progress_bar()  # one bar over all the work instead
    systems, names = list(scenes[0]["systems"]), list(TITLES)
    references = [scene["references"] for scene in scenes]
    results: dict[str, dict[str, dict]] = {system: {} for system in systems}
    with tqdm(total=len(systems) * len(names), desc="systems x metrics", unit="result") as bar:
        for name in names:
            module = evaluate.load(str(ROOT / "metrics" / name), **TEST)
            for system in systems:
                predictions = [scene["systems"][system] for scene in scenes]
                results[system][name] = module.compute(predictions=predictions, references=references)
                bar.update()
    return results


def table_rows(results: dict[str, dict[str, dict]]) -> list[list[str]]:
    """Return the table as text, header first; the best value of a column has a star."""
    best = {
        i: choose(results[system][module][key] for system in results)
        for i, (_, module, key, choose) in enumerate(COLUMNS)
        if choose
    }
    rows = [["system", *(title for title, *_ in COLUMNS)]]
    for system in results:
        values = [results[system][module][key] for _, module, key, _ in COLUMNS]
        cells = [
            f"{value:.2g}" if COLUMNS[i][3] is None else f"{value:.3f}" + ("*" if best[i] == value else " ")
            for i, value in enumerate(values)
        ]
        rows.append([system, *cells])
    return rows


def print_table(rows: list[list[str]]) -> None:
    """Print the table in aligned columns."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        print("  ".join([row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))]))


def write_csv(path: pathlib.Path, results: dict[str, dict[str, dict]]) -> None:
    """Write the table's values, unrounded, under their result keys."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["system", *(key for _, _, key, _ in COLUMNS)])
        for system, by_module in results.items():
            writer.writerow([system, *(by_module[module][key] for _, module, key, _ in COLUMNS)])


def null_means(scenes: list[dict], system: str) -> np.ndarray:
    """Return TRM-METEOR's mean over scenes with the captions of every scene split at random: `N_DRAWN_MEANS` draws."""
    rows = {
        "predictions": [scene["systems"][system] for scene in scenes],
        "references": [s["references"] for s in scenes],
    }
    module, rng = evaluate.load(str(ROOT / "metrics" / "trm_meteor"), **TEST), np.random.default_rng(0)
    nulls = (module.examine(**rows, row=i).null_statistics for i in range(len(scenes)))
    return np.mean([rng.choice(values, N_DRAWN_MEANS) for values in nulls], axis=0)


def draw_null_distributions(path: pathlib.Path, scenes: list[dict], results: dict[str, dict[str, dict]]) -> None:
    """Draw, for every system, the mean over scenes under random splits of their captions, and the observed mean."""
    figure, axes = plt.subplots(len(results), 1, figsize=(8, 2.3 * len(results)), sharex=True, layout="constrained")
    for axis, (system, by_module) in zip(np.atleast_1d(axes), results.items(), strict=True):
        result = by_module["trm_meteor"]
        axis.hist(null_means(scenes, system), 60, density=True, color="#b8c4d6", label="captions split at random")
        axis.axvline(result["trm_meteor"], color="#c2410c", lw=2, label="candidates and references")
        axis.set_title(
            f"{system}: TRM-METEOR {result['trm_meteor']:.3f}, excess {result['trm_meteor_excess']:.3f}, "
            f"p = {result['trm_meteor_corpus_p_value']:.2g}",
            loc="left",
            fontsize=11,
        )
        axis.set_yticks([])
        axis.spines[["top", "left", "right"]].set_visible(False)
    np.atleast_1d(axes)[0].legend(frameon=False, loc="upper right")
    np.atleast_1d(axes)[-1].set_xlabel("triangle-rank statistic, mean over scenes (lower: more alike)")
    figure.savefig(path, dpi=150)
    plt.close(figure)


def reading(results: dict[str, dict[str, dict]]) -> str:
    """Say in words what the table shows: a sentence for each metric and system, since each is a test of its own."""
    lines = [
        verdict(by_module[name], name, title, f"the captions of '{system}'")
        for name, title in TITLES.items()
        for system, by_module in results.items()
    ]
    highest = max(results, key=lambda system: results[system]["trm_meteor"]["meteor"])
    return "\n".join([*lines, f"Plain METEOR puts '{highest}' first."])


def show_images(output: pathlib.Path) -> None:
    """Score scenes of the made world, print and write; say so where a package is missing."""
    missing = [name for name in IMAGE_PACKAGES if importlib.util.find_spec(name) is None]
    if missing:
        print(
            f"\nLeft out the image metrics: {', '.join(missing)} not installed. Run `pip install -r "
            "scripts/requirements-images.txt`, or give --no-images."
        )
        return
    from scripts.made_world.toy_scores import (
        draw_toy_scene,
        draw_toy_scenes,
        score_toy_scenes,
        toy_table,
        write_toy_csv,
    )

    scenes = [draw_toy_scene(TOY_SEED, i) for i in tqdm(range(N_TOY_SCENES), desc="made scenes", unit="scene")]
    scores = score_toy_scenes(scenes)
    print(f"\n{N_TOY_SCENES} scenes of a made world with tiny-pac, a toy that knows only this world\n")
    print_table(toy_table(scores))
    write_toy_csv(output / "made_world.csv", scenes, scores)
    draw_toy_scenes(output / "made_world.png", scenes, scores)
    print(f"\nWrote {output / 'made_world.csv'} and {output / 'made_world.png'}.")


def main(captions: pathlib.Path, output: pathlib.Path, images: bool = True) -> int:
    """Score, print and write everything; 1 with one line on standard error if something is wrong."""
    try:
        scenes = read_scenes(captions)
        output.mkdir(parents=True, exist_ok=True)
        results = score_systems(scenes)
    except (ValueError, TypeError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    n_candidates = len(next(iter(scenes[0]["systems"].values())))
    print(
        f"\n{len(scenes)} scenes, {n_candidates} candidates per scene and system; * best\n"
        "excess: above the mean of all splits, 0 for human captions; p: the test over all scenes\n"
    )
    print_table(table_rows(results))
    print(f"\n{reading(results)}\n")
    write_csv(output / "table.csv", results)
    draw_null_distributions(output / "null_distributions.png", scenes, results)
    print(f"Wrote {output / 'table.csv'} and {output / 'null_distributions.png'}.")
    if images:
        show_images(output)
    return 0


if __name__ == "__main__":
    given = parsed()
    sys.exit(main(given.captions, given.output, not given.no_images))
