"""What `trm` and `mmd` find with distances and kernels of several kinds: the tables of damaged captions on their cards.

python -m scripts.studies.general_damage [--modules trm mmd] [--trials 40]

Captions are those of the bundled scenes, 16 or more of each. A trial draws 5 + 5 of each scene without replacement and
splits them at random into candidates and references: one row a scene. "human" leaves the candidates as they are; "w"
replaces each of them, independently with probability w, by a caption of another scene; "repeated" puts the first
candidate in place of all. The rows of all kinds of candidates are the same but for the damage. Each trial is one call
of the module with p_value="exact" and 999 draws for the corpus. The tables give the mean value and the mean excess over
the rows of all trials, and the share of trials with a corpus p-value of at most 0.05, which has a standard error of up
to 8 percentage points with 40 trials. Embeddings are those of the modules' default encoder. Two minutes on one core.
Needs scripts/requirements.txt, metrics/trm/requirements.txt and metrics/mmd/requirements.txt.
"""

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from scripts.command_line import start_tool
from scripts.studies.study_options import DAMAGES

MODULES = ("trm", "mmd")

# Trials of each distance or kernel, and damage.
N_TRIALS = 40


def parsed(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse a command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--modules", nargs="+", choices=MODULES, default=MODULES, metavar="MODULE")
    parser.add_argument("--trials", type=int, default=N_TRIALS, metavar="N", help="calls for each cell, at least 1")
    return parser.parse_args(arguments)


start_tool(__name__, parsed, "scripts/requirements.txt", "metrics/trm/requirements.txt", "metrics/mmd/requirements.txt")

import numpy as np
from tqdm import tqdm

import manycaps
from manycaps.kit.text_sentence_encoder import ENCODER_DEFAULTS, SentenceEncoder
from scripts.studies.caption_rows import Captions, draw_rows
from scripts.studies.study_inputs import bundled_images

# Candidates and references of a row, and draws of the corpus test.
SIZE = (5, 5)
N_RESAMPLES = 999

LEVEL = 0.05


def word_distance(first: list[str], second: list[str]) -> list[float]:
    """Return 1 minus the share of common words of each pair of texts (Jaccard's distance)."""
    pairs = [(set(x.lower().split()), set(y.lower().split())) for x, y in zip(first, second, strict=True)]
    return [1 - len(x & y) / len(x | y) for x, y in pairs]


def length_distance(first: list[str], second: list[str]) -> list[int]:
    """Return the difference of the numbers of words of each pair of texts."""
    return [abs(len(x.split()) - len(y.split())) for x, y in zip(first, second, strict=True)]


# Options of each line of a table.
LINES: dict[str, dict[str, dict[str, Any]]] = {
    "trm": {
        '`"cosine"`': {},
        '`"cityblock"`': {"distance": "cityblock"},
        '`"chebyshev"`': {"distance": "chebyshev"},
        "common words": {"distance": word_distance},
        "number of words": {"distance": length_distance},
    },
    "mmd": {
        '`"rbf"`': {},
        '`"rbf"`, σ = [0.25, 0.5, 1]': {"sigma": [0.25, 0.5, 1.0]},
        '`"laplace"`': {"kernel": "laplace"},
        '`"polynomial"`': {"kernel": "polynomial"},
        '`"polynomial"`, γ = 1': {"kernel": "polynomial", "gamma": 1.0},
        '`"linear"`': {"kernel": "linear"},
    },
}


def cell(module: Any, images: Captions, damage: str, n_trials: int, options: dict[str, Any]) -> tuple[float, ...]:
    """Return mean value, mean excess, and share of trials found, of one kind of damage."""
    name, results = module.name, []
    for trial in range(n_trials):
        columns = draw_rows(images, range(len(images)), SIZE, damage, np.random.default_rng(trial))
        predictions, references = columns
        results.append(
            module.compute(
                predictions=predictions,
                references=references,
                p_value="exact",
                n_resamples=N_RESAMPLES,
                seed=trial,
                **options,
            )
        )
    values = np.array([[r[name], r[f"{name}_excess"], r[f"{name}_corpus_p_value"] <= LEVEL] for r in results])
    return tuple(values.mean(axis=0))


def print_table(module: Any, images: Captions, n_trials: int) -> None:
    """Print the table of a module's card in Markdown."""
    print(f"\n{module.name}\n\n| | | {' | '.join(DAMAGES)} |\n|---|---|{'---|' * len(DAMAGES)}", flush=True)
    for title, options in tqdm(LINES[module.name].items(), desc=module.name):
        cells = [cell(module, images, damage, n_trials, options) for damage in DAMAGES]
        for i, (row, form) in enumerate((("value", "{:.4g}"), ("excess", "{:.4f}"), ("found", "{:.0%}"))):
            shown = [form.format(numbers[i] + 0.0).replace("%", " %") for numbers in cells]
            print(f"| {title if i == 0 else ''} | {row} | {' | '.join(shown)} |", flush=True)


def main(modules: Sequence[str], n_trials: int) -> int:
    """Print the tables."""
    images = bundled_images()
    captions = list(dict.fromkeys(caption for image in images for caption in image))
    vectors = dict(zip(captions, SentenceEncoder().embed(captions, ENCODER_DEFAULTS, tqdm), strict=True))

    def encoder(texts: list[str]) -> np.ndarray:
        return np.stack([vectors[text] for text in texts])

    for name in modules:
        print_table(manycaps.load(name, encoder=encoder), images, n_trials)
    return 0


if __name__ == "__main__":
    options = parsed()
    sys.exit(main(options.modules, options.trials))
