"""Which cosine distance makes classes of answers as NoveltyBench's published partitions have them.

python -m scripts.studies.class_calibration --data FOLDER [--halves 200] [--output FOLDER]

FOLDER holds real_systems/noveltybench.json.gz: 100 prompts with ten answers and their published partition (Zhang et al.
2025, https://arxiv.org/abs/2504.05228). Answers are embedded by MiniLM. For both rules of `CLASS_RULES` and every
distance of a grid, answers become classes. On one half of the prompts the distance is chosen by the agreement of pairs,
"same class or not", over all prompts together, corrected for chance (Cohen 1960; the adjusted Rand index of one prompt
is the same of its pairs). The mean adjusted Rand index of prompts would choose one class for all: six in ten prompts
have a single class.

Written: class_calibration.csv, for the prompts at odd places (chosen on those at even ones) and as a mean over random
halves: the distance, and on the other half the agreement of pairs, the mean adjusted Rand index, and the share of
prompts with the published number of classes; each beside the same of a distance of 0.2.
"""

import gzip
import json
import pathlib
import sys

import numpy as np

from manycaps.kit.arrays import Floats
from manycaps.kit.sets_distinct import CLASS_RULES, class_labels
from scripts.studies.parity_pools import embed_texts, vector_distances
from scripts.studies.study_frame import StudyTable
from scripts.studies.study_options import Options, add_output, tool_parser

parser = tool_parser(__doc__)
parser.add_argument("--data", type=pathlib.Path, required=True, metavar="FOLDER")
add_output(parser)
parser.add_argument("--halves", type=int, default=200, metavar="N", help="random halves, default 200")
parse = parser.parse_args

KEY = ("rule", "halves")
QUALITIES = ("pairs", "adjusted_rand", "same_number")
COLUMNS = ("distance", *(f"{name}{at}" for at in ("", "_at_0.2") for name in QUALITIES))

# Distances that are tried, and the one beside which they are shown.
GRID = np.round(np.arange(0.01, 0.61, 0.01), 2)
BESIDE = 0.2

TOLERANCE = 1e-9


def adjusted_rand(first: np.ndarray, second: np.ndarray) -> float:
    """Return the agreement of bools, corrected for chance: Cohen's kappa; 1 where both are constant and equal.

    Of the pairs of one set, "in one class or not", it is the adjusted Rand index of Hubert and Arabie (1985).

    >>> adjusted_rand(np.array([True, False, False]), np.array([True, False, False]))
    1.0
    """
    agreed = float((first == second).mean())
    expected = float(first.mean() * second.mean() + (1 - first.mean()) * (1 - second.mean()))
    return 1.0 if expected == 1 else (agreed - expected) / (1 - expected)


class Partitions:
    """Classes of all prompts by every distance of the grid, beside the published ones."""

    def __init__(self, distances: Floats, published: np.ndarray, rule: str):
        """Take distances, (n_prompts, n, n), and the numbers of published classes, (n_prompts, n)."""
        pairs = np.triu_indices(distances.shape[1], 1)
        self._published = (published[:, :, None] == published[:, None])[:, pairs[0], pairs[1]]
        numbers = np.array([len(set(row)) for row in published.tolist()])
        same, rand, number = [], [], []
        for threshold in GRID:
            labels = np.stack([class_labels(row <= threshold + TOLERANCE, rule) for row in distances])
            same.append((labels[:, :, None] == labels[:, None])[:, pairs[0], pairs[1]])
            rand.append([adjusted_rand(*both) for both in zip(same[-1], self._published, strict=True)])
            number.append(labels.max(axis=1) + 1 == numbers)
        self._same, self._rand, self._number = np.array(same), np.array(rand), np.array(number)

    def best(self, prompts: np.ndarray) -> int:
        """Return the place of the distance with the best agreement of pairs."""
        return int(np.argmax([self.qualities(place, prompts)[0] for place in range(len(GRID))]))

    def qualities(self, place: int, prompts: np.ndarray) -> tuple[float, float, float]:
        """Return the values of `QUALITIES` at a distance of the grid, of some prompts."""
        pairs = adjusted_rand(self._same[place, prompts].ravel(), self._published[prompts].ravel())
        return pairs, float(self._rand[place, prompts].mean()), float(self._number[place, prompts].mean())

    def held_out(self, chosen: np.ndarray, shown: np.ndarray) -> list[float]:
        """Choose the distance on some prompts, and return it with its qualities on others, and those at `BESIDE`."""
        place, beside = self.best(chosen), int(np.argmin(np.abs(GRID - BESIDE)))
        return [float(GRID[place]), *self.qualities(place, shown), *self.qualities(beside, shown)]


def read_partitions(folder: pathlib.Path) -> tuple[list[list[str]], np.ndarray]:
    """Return the answers of all prompts, and their published classes, shape (n_prompts, n)."""
    with gzip.open(folder / "real_systems" / "noveltybench.json.gz", "rt", encoding="utf-8") as file:
        rows = json.load(file)["rows"]
    return [row["generations"] for row in rows], np.array([row["partition"] for row in rows])


def main(options: Options) -> None:
    """Fill the table, and print it."""
    answers, published = read_partitions(options.data)
    distances, places = vector_distances(embed_texts(answers, "MiniLM")), np.arange(len(answers))

    def study(rule: str, halves: str) -> list[list[float]]:
        partitions = Partitions(distances, published, rule)
        if halves == "even, odd":
            return [partitions.held_out(places[::2], places[1::2])]
        rng, found = np.random.default_rng(0), []
        for _ in range(options.halves):
            order = rng.permutation(places)
            found.append(partitions.held_out(order[::2], order[1::2]))
        return [np.mean(found, axis=0).tolist()]

    cells = [(rule, halves) for rule in CLASS_RULES for halves in ("even, odd", f"{options.halves} random")]
    for line in StudyTable(options.output, "class_calibration", KEY, COLUMNS, {}).fill(cells, study):
        print("  ".join(line.values()))


if __name__ == "__main__":
    sys.exit(main(parse()))
