"""What `trm` and `mmd` find with distances and kernels of several kinds: the tables of damaged captions on their cards.

python -m scripts.studies.general_damage [--modules trm mmd] [--trials 40]

Captions come from the bundled scenes, 16 or more of each. A trial draws 5 + 5 of each scene as the rows of
`damage_study` are drawn, one row a scene, and is one call of the module with p_value="exact" and 999 draws for the
corpus. The tables give the mean value and the mean excess over the rows of all trials, and the share of trials with a
corpus p-value of at most 0.05, which has a standard error of up to 8 percentage points with 40 trials. Embeddings are
from the modules' default encoder. Two minutes on one core.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

import manycaps
from scripts.studies.caption_rows import Captions, bundled_images, caption_vectors, distinct_captions, draw_rows
from scripts.studies.study_frame import print_table
from scripts.studies.study_options import DAMAGES, Options, tool_parser

MODULES = ("trm", "mmd")

parser = tool_parser(__doc__)
parser.add_argument("--modules", nargs="+", choices=MODULES, default=MODULES, metavar="MODULE")
parser.add_argument("--trials", type=int, default=40, metavar="N", help="calls for each cell, at least 1")
parse = parser.parse_args

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


def means(module: Any, images: Captions, damage: str, n_trials: int, options: dict[str, Any]) -> np.ndarray:
    """Return mean value, mean excess, and share of trials found, of one kind of damage."""
    values = []
    for trial in range(n_trials):
        predictions, references = draw_rows(images, range(len(images)), SIZE, damage, np.random.default_rng(trial))
        test = {"p_value": "exact", "n_resamples": N_RESAMPLES, "seed": trial}
        result = module.compute(predictions=predictions, references=references, **test, **options)
        value, excess, p_value = (result[f"{module.name}{end}"] for end in ("", "_excess", "_corpus_p_value"))
        values.append([value, excess, p_value <= LEVEL])
    return np.array(values).mean(axis=0)


def rows(module: Any, images: Captions, n_trials: int) -> Iterator[list[str]]:
    """Yield the rows of the table of a module's card."""
    for title, options in LINES[module.name].items():
        cells = [means(module, images, damage, n_trials, options) for damage in DAMAGES]
        for i, (row, form) in enumerate((("value", "{:.4g}"), ("excess", "{:.4f}"), ("found", "{:.0%}"))):
            shown = [form.format(numbers[i] + 0.0) for numbers in cells]
            yield [title if i == 0 else "", row, *shown]


def main(options: Options) -> None:
    """Print the tables."""
    images = bundled_images()
    vectors = caption_vectors(distinct_captions(images))
    for name in options.modules:
        module = manycaps.load(name, encoder=lambda texts: np.stack([vectors[text] for text in texts]))
        print(f"\n{name}\n")
        print_table(["", "", *DAMAGES], rows(module, images, options.trials))


if __name__ == "__main__":
    main(parse())
