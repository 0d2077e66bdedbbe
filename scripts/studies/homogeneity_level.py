"""Level and power of the homogeneity test: made speakers of Zipf's distribution, one of them sharpened.

python -m scripts.studies.homogeneity_level [--trials 400] [--power-trials 100] [--samples 5 10 20 50]
    [--rows 20 100 500] [--output FOLDER]

Every prompt has 50 possible answers, vectors around a place of its own, and a speaker gives the k-th of an order of its
own with a weight of 1 / k. A sharpened speaker has these weights to a power: at a power of 1 both speakers are one.
Distances are 1 for different answers ("classes") or cosines ("vectors"). Kinds: "same": all prompts are independent;
"clusters": five prompts have the same order, and a speaker's answers to them are drawn out of one pool, twice as large
as what a prompt takes, so that prompts depend on each other.

Written: homogeneity_level.csv, for each cell the share of trials with p <= 0.05 of both tests, with the clusters where
there are any, and of the joint test without them; and the median rows to detect. Printed beside it is the interval in
which 95% of such shares lie if they are 5%; exits with 1 if the share of a cell with equal speakers is above the
interval that holds 99.9%.
"""

import sys
from collections.abc import Sequence

import numpy as np
import scipy.stats

from manycaps.kit.sets_homogeneity import compare_pair, pair_rows
from scripts.studies.study_frame import StudyTable
from scripts.studies.study_options import Options, add_output, tool_parser
from scripts.toy.speakers import zipf_probabilities

parser = tool_parser(__doc__)
add_output(parser)
parser.add_argument("--trials", type=int, default=400, metavar="N", help="of a cell with equal speakers, default 400")
parser.add_argument("--power-trials", type=int, default=100, metavar="N", help="of another cell, default 100")
parser.add_argument("--samples", type=int, nargs="+", default=[5, 10, 20, 50], metavar="N", help="answers of a speaker")
parser.add_argument("--rows", type=int, nargs="+", default=[20, 100, 500], metavar="N", help="prompts")
parse = parser.parse_args

KEY = ("kind", "distance", "sharpness", "n_samples", "n_rows", "n_trials")
COLUMNS = ("found", "found_diversity", "found_without_clusters", "rows_to_detect")

# Answers of a prompt, dimensions of their vectors, how far prompts lie apart, and prompts of a cluster.
N_ANSWERS, N_DIMENSIONS, FAR, PER_CLUSTER = 50, 8, 1.0, 5

# Powers of a sharpened speaker's weights.
SHARPNESS = (1.1, 1.25, 1.5)

# Largest number of answers, or of prompts, of a cell by vectors; and most answers of a speaker in a cell of power.
MOST_OF_VECTORS, MOST_ANSWERS = 100, 5_000

# Share of binomial counts inside an interval, for one cell and for all.
OF_ONE, OF_ALL = 0.95, 0.999


def draw_distances(
    kind: str, distance: str, sharpness: float, n_samples: int, n_rows: int, rng: np.random.Generator
) -> np.ndarray:
    """Draw the answers of both speakers, and return their distances: (n_rows, n_texts, n_texts)."""
    per_order = PER_CLUSTER if kind == "clusters" else 1
    weights = zipf_probabilities(N_ANSWERS, 1)
    chosen = []
    for power in (1.0, sharpness):
        shares = weights**power / (weights**power).sum()
        if kind == "clusters":
            pools = rng.choice(N_ANSWERS, size=(n_rows // per_order, 1, 2 * n_samples), p=shares)
            drawn = rng.permuted(np.repeat(pools, per_order, axis=1), axis=2)[:, :, :n_samples]
            chosen.append(drawn.reshape(n_rows, n_samples))
        else:
            chosen.append(rng.choice(N_ANSWERS, size=(n_rows, n_samples), p=shares))
    answers = np.concatenate(chosen, axis=1)
    if distance == "classes":
        return (answers[:, :, None] != answers[:, None]).astype(np.float64)
    points = rng.normal(size=(n_rows // per_order, N_ANSWERS, N_DIMENSIONS))
    points += FAR * rng.normal(size=(n_rows // per_order, 1, N_DIMENSIONS))
    points /= np.linalg.norm(points, axis=2, keepdims=True)
    vectors = np.repeat(points, per_order, axis=0)[np.arange(n_rows)[:, None], answers]
    distances = np.clip(1 - vectors @ vectors.swapaxes(1, 2), 0, None)
    distances[:, np.arange(2 * n_samples), np.arange(2 * n_samples)] = 0
    return (distances + distances.swapaxes(1, 2)) / 2


def binomial_interval(n_trials: int, share: float) -> tuple[float, float]:
    """Return the interval that holds such a share of shares of 5%.

    >>> binomial_interval(400, 0.95)
    (0.03, 0.0725)
    """
    low, high = scipy.stats.binom.interval(share, n_trials, 0.05)
    return float(low / n_trials), float(high / n_trials)


def main(options: Options) -> int:
    """Fill the table, print it, and return 1 if a level is wrong."""

    def study(kind: str, distance: str, sharpness: str, n_samples: int, n_rows: int, n_trials: int) -> Sequence[object]:
        found = []
        clusters = [row // PER_CLUSTER for row in range(n_rows)] if kind == "clusters" else None
        for trial in range(n_trials):
            power = float(sharpness)
            rng = np.random.default_rng((trial, n_samples, n_rows, round(1000 * power), len(kind), len(distance)))
            rows = pair_rows(draw_distances(kind, distance, power, n_samples, n_rows, rng), n_samples)
            test, plain = compare_pair(rows, clusters), compare_pair(rows)
            p_values = (test.p_value, test.diversity_p_value, plain.p_value)
            found.append([*(p_value <= 0.05 for p_value in p_values), test.rows_to_detect])
        columns = np.array(found, dtype=np.float64)
        return [(*columns[:, :3].mean(axis=0), np.median(columns[:, 3]))]

    sizes = [(n_samples, n_rows) for n_samples in options.samples for n_rows in options.rows]
    cells = [("same", "classes", "1", *size, options.trials) for size in sizes]
    cells += [("same", "vectors", "1", *size, options.trials) for size in sizes if max(size) <= MOST_OF_VECTORS]
    clustered = [(n_samples, n_rows) for n_samples, n_rows in sizes if n_samples <= 10 and n_rows >= 100]
    cells += [("clusters", "classes", "1", *size, options.trials) for size in clustered]
    # Of what is surely found with more answers or prompts.
    smaller = [(n_samples, n_rows) for n_samples, n_rows in sizes if n_samples * n_rows <= MOST_ANSWERS]
    for power in SHARPNESS:
        cells += [("same", "classes", f"{power:g}", *size, options.power_trials) for size in smaller]
        cells += [("clusters", "classes", f"{power:g}", *size, options.power_trials) for size in clustered]
    lines = StudyTable(options.output, "homogeneity_level", KEY, COLUMNS, {}).fill(cells, study)
    low, high = binomial_interval(options.trials, OF_ONE)
    print(f"shares of 5% lie in {low:.3f} to {high:.3f}")
    for line in lines:
        print("  ".join(line.values()))
    largest = binomial_interval(options.trials, OF_ALL)[1]
    equal = [line for line in lines if line["sharpness"] == "1"]
    return int(any(float(line[name]) > largest for line in equal for name in ("found", "found_diversity")))


if __name__ == "__main__":
    sys.exit(main(parse()))
