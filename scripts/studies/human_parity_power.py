"""What does the human-parity test find, beside the other tests of sets of captions? And do its intervals hold?

python -m scripts.studies.human_parity_power [--data FOLDER --corpus MSVD] [--output FOLDER]

Eight kinds of damage, and human captions, by five distances. Rows are drawn as in `parity_pools.py`, some of each
image; a trial takes different images, and one row of each; all rows of human captions are drawn again. Three kinds of
cells:

"power": share of trials with p <= 0.05, and the range that 99.9 % of such shares lie in if it is 5 %. "joint" is the
test of `human_parity`, of gaps and tails; "T2" that of both gaps, "f" and "v" of each gap, all in closed form; with 499
random splits of every row of the trial, the same for all: "energy", the energy distance 2 f - v; "TRM", triangle ranks
per side; "plain", the mean distance of candidates from references alone (of METEOR, the mean METEOR), both tails; and
of embeddings "MMD" (unbiased) and, of MiniLM, "Frechet". They are drawn from all splits of a row, or from 199 random
ones where there are more than 1,000.
"needed": share of trials that "joint" finds if they have as many rows as `rows_needed` is for the rows of all images.
"coverage": share of the 95 % intervals that hold the value of the rows of all images; rows are drawn with replacement.
Without a corpus also on made points: texts are points in four dimensions around their row's, and distances Euclidean.

CIDEr-D counts its documents in the human captions of all images. Written: human_parity_power.csv, the picture, and
human_parity_power_below.csv: cells in which another test finds more than T2 by over 0.05, or the joint test less by
over 0.02. Needs scripts/requirements.txt, metrics/trm_bert/requirements.txt, metrics/meteor15/requirements.txt and
metrics/pac_score/requirements.txt.
"""

import argparse
import functools
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from scripts.command_line import start_tool
from scripts.studies.study_frame import Line, StudyTable, add_frame_options, matching, study_settings, write_lines
from scripts.studies.study_options import EMBEDDINGS, add_parity_options


def parsed(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse a command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_frame_options(parser)
    add_parity_options(parser)
    parser.add_argument("--simulations", type=int, default=500, metavar="N", help="trials of a cell, default 500")
    return parser.parse_args(arguments)


start_tool(
    __name__,
    parsed,
    "scripts/requirements.txt",
    "metrics/trm_bert/requirements.txt",
    "metrics/meteor15/requirements.txt",
    "metrics/pac_score/requirements.txt",
    needs_wordnet=True,
)

import numpy as np
import scipy.stats

from manycaps.kit.sets_gaps import gaps_test_of_sums, null_gaps, row_gaps
from manycaps.kit.sets_parity import row_columns
from manycaps.kit.sets_parity_power import joint_p_value
from manycaps.kit.sets_splits import TIE_TOLERANCE, SplitsOfRow, exact_splits, random_splits, split_forms, split_values
from manycaps.kit.sets_tails import corpus_tails
from manycaps.kit.sets_triangle_rank import null_statistics
from manycaps.kit.vectors_frechet import null_frechet_squared
from manycaps.kit.vectors_kernels import gaussian_kernel
from manycaps.kit.vectors_mmd import null_mmd
from scripts.studies.aggregated_scores import two_sided
from scripts.studies.parity_pools import (
    CONFIDENCE_LEVEL,
    DAMAGES,
    Damage,
    ParityCorpus,
    PoolRows,
    draw_points,
    kept_distances,
    parity_of,
    read_pool,
)
from scripts.studies.study_pictures import BLACK, BLUE, GREEN, ORANGE, PURPLE, SKY, label_axes, new_picture

NAME = "human_parity_power"
KEY = ("kind", "n_candidates", "n_references", "n_rows", "distance", "damage")
COLUMNS = ("measure", "n_trials", "share", "low", "high", "value")

# Options of the test run.
SMALL = ("--simulations", "10", "--drawn", "140", "--distances", "meteor", "MiniLM")

LEVEL = 0.05

# Chance that a share lies in its range where the test holds its level.
RANGE = 0.999

# Random splits of a trial; splits of a row up to which all are used, and how many are drawn beyond.
N_DRAWS = 499
MAX_EXACT_SPLITS, N_RANDOM_SPLITS = 1_000, 199

# Rows of a trial by the numbers of candidates and references.
SIZES: Mapping[str | None, Mapping[tuple[int, int], int]] = {
    None: {(5, 5): 14},
    "MSVD": {(5, 5): 60, (10, 5): 20, (10, 10): 20},
    "Flickr8k": {(1, 4): 200, (2, 3): 200},
}

# Of a value that is the same in all rows: what its mean over them may miss it by.
ROUNDING = 1e-9

# Rows whose splits are looked at together: their vectors take 120 MB.
BATCH_ROWS = 2_000

# Distances of which intervals and needed rows are looked at.
LOOKED_AT = ("meteor", "MiniLM")
MOST_NEEDED = 600

# Rows of made points of all images, and of a trial.
N_POINTS = 6_000
POINT_ROWS = (5, 10, 20, 60, 200)
POINTS: Mapping[str, Damage] = {name: DAMAGES[name] for name in ("human", "20 % other", "half repeated", "blandest")}

# Values whose intervals are looked at.
VALUES = (
    *("unlike_people_share", "ordinary_share", "near_duplicate_share", "spread_share"),
    *("fidelity_gap", "diversity_gap", "energy_distance", "rows_needed"),
)

# Tests in closed form.
TESTS = ("T2", "f", "v")

# Tests with one degree of freedom for one half of what T2 looks at.
PARTS = ("f", "v", "energy")
COLORS = {"joint": "#999999", "T2": BLUE, "TRM": ORANGE, "MMD": GREEN, "Frechet": PURPLE, "plain": BLACK, "energy": SKY}


class Trials(NamedTuple):
    """What the trials of a cell draw."""

    # Whole numbers, shape (n_trials, n_rows): rows of the pool.
    rows: np.ndarray
    seed: tuple[int, ...]


def splits_of_rows(size: tuple[int, int]) -> SplitsOfRow:
    """Return the splits of a row, the observed one first."""
    m, n = size
    exact = exact_splits(m, n, 1_000_000)
    n_splits = sum(len(block) for block in exact(N_RANDOM_SPLITS)) if m + n <= 10 else MAX_EXACT_SPLITS + 1
    return exact if n_splits <= MAX_EXACT_SPLITS else random_splits(m, n, N_RANDOM_SPLITS, 0)


def null_values(
    distances: np.ndarray, vectors: np.ndarray | None, m: int, *, with_frechet: bool
) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the tests, and the statistic of every row under every split, the observed one first: (n_rows, n_splits)."""
    n = distances.shape[1] - m
    splits = splits_of_rows((m, n))
    yield "TRM", np.concatenate(list(null_statistics(distances, splits)), axis=1)
    yield "plain", np.concatenate(list(split_values(*split_forms(distances, 0.0, 0.0, 1 / (m * n)), splits)), axis=1)
    if m > 1:
        yield "energy", np.concatenate([2 * f - v for f, v in null_gaps(distances, m, splits)], axis=1)
    if m > 1 and vectors is not None:
        yield "MMD", np.concatenate(list(null_mmd(gaussian_kernel(vectors, "median"), m, splits, "unbiased")), axis=1)
        if with_frechet:
            yield "Frechet", np.concatenate(list(null_frechet_squared(vectors, m, splits)), axis=1)


def nulls_in_batches(rows: PoolRows, m: int, vectors: np.ndarray | None, distance: str) -> dict[str, np.ndarray]:
    """Return what `null_values` gives, of all rows; `vectors` are those of the pool."""
    parts: dict[str, list[np.ndarray]] = {}
    for start in range(0, len(rows.images), BATCH_ROWS):
        distances, images, places = (values[start : start + BATCH_ROWS] for values in rows)
        mine = None if vectors is None else vectors[images[:, None], places]
        for name, nulls in null_values(distances, mine, m, with_frechet=distance == "MiniLM"):
            parts.setdefault(name, []).append(nulls)
    return {name: np.concatenate(batches) for name, batches in parts.items()}


def drawn_p_values(nulls: np.ndarray, trials: Trials) -> np.ndarray:
    """p-values of the sum over the rows of every trial, upper and lower tail: (2, n_trials)."""
    found = []
    for trial, rows in enumerate(trials.rows):
        drawn = np.random.default_rng((*trials.seed, trial)).integers(nulls.shape[1], size=(N_DRAWS, len(rows)))
        sums, observed = nulls[rows, drawn].sum(axis=1), nulls[rows, 0].sum()
        tolerance = TIE_TOLERANCE * max(1.0, abs(observed))
        found.append([1 + (sums >= observed - tolerance).sum(), 1 + (sums <= observed + tolerance).sum()])
    return np.array(found).T / (1 + N_DRAWS)


def power_lines(rows: PoolRows, m: int, nulls: Mapping[str, np.ndarray], trials: Trials) -> Iterator[list[Any]]:
    """Yield a line for every test."""
    n_trials = len(trials.rows)
    ends = [end / n_trials for end in scipy.stats.binom.interval(RANGE, n_trials, LEVEL)]
    gaps = row_gaps(rows.distances, m)
    both = np.stack([gaps.fidelity, gaps.diversity], axis=1)
    tests = [gaps_test_of_sums(both[of].sum(axis=0), gaps.covariance[of].sum(axis=0)) for of in trials.rows]
    fields = ("p_value", "fidelity_p_value", "diversity_p_value")[: 3 if m > 1 else 2]
    found = {
        name: np.array([getattr(test, field) for test in tests]) for name, field in zip(TESTS, fields, strict=False)
    }
    tails = [corpus_tails(kept_distances(rows.distances[of], m), None, None).p_value for of in trials.rows]
    found = {"joint": np.array(list(map(joint_p_value, found["T2"].tolist(), tails)))} | found
    for name, values in nulls.items():
        upper, lower = drawn_p_values(values, trials)
        found[name] = two_sided(upper, lower) if name == "plain" else upper
    for name, p_values in found.items():
        yield [name, n_trials, (p_values <= LEVEL).mean(), *ends, np.median(p_values)]


def needed_lines(rows: PoolRows, m: int, n_trials: int, seed: Sequence[int]) -> Iterator[list[Any]]:
    """Yield the power at the rows that are needed, if these are not too many."""
    columns = row_columns(rows.distances, m)
    needed = parity_of(rows.distances, m, columns)["rows_needed"]
    share = np.nan
    if needed <= MOST_NEEDED:
        drawn = np.random.default_rng(seed).integers(len(rows.distances), size=(n_trials, int(needed)))
        results = [result_of(rows.distances, columns, m, of) for of in drawn]
        share = np.mean([result["human_parity_p_value"] <= LEVEL for result in results])
    yield ["power", n_trials, share, np.nan, np.nan, needed]


def result_of(distances: np.ndarray, columns: Mapping[str, np.ndarray], m: int, of: np.ndarray) -> dict[str, Any]:
    """Result of the module for some of the rows."""
    return parity_of(distances[of], m, {name: values[of] for name, values in columns.items()})


def coverage_lines(
    distances: np.ndarray, m: int, n_rows: int, n_trials: int, seed: Sequence[int]
) -> Iterator[list[Any]]:
    """Yield for every value the share of intervals that hold it."""
    columns = row_columns(distances, m)
    drawn = np.random.default_rng(seed).integers(len(distances), size=(n_trials, n_rows))
    results = [result_of(distances, columns, m, of) for of in drawn]
    true = parity_of(distances, m, columns)
    ends = [end / n_trials for end in scipy.stats.binom.interval(RANGE, n_trials, CONFIDENCE_LEVEL)]
    for name in VALUES:
        if not np.isnan(value := true[name]):
            lows, highs = (np.array([result[f"{name}_ci_{end}"] for result in results]) for end in ("low", "high"))
            held = (lows <= value + ROUNDING) & (value - ROUNDING <= highs)
            yield [name, n_trials, np.mean(held), *ends, value]


def cells(options: argparse.Namespace) -> Iterator[tuple[str, int, int, int, str, str]]:
    """Yield what is counted."""
    looked_at = [distance for distance in LOOKED_AT if distance in options.distances]
    for (m, n), n_rows in SIZES[options.corpus].items():
        yield from (("power", m, n, n_rows, distance, damage) for distance in options.distances for damage in DAMAGES)
        for distance in looked_at:
            yield from (("needed", m, n, n_rows, distance, damage) for damage in DAMAGES if damage != "human")
            yield from (("coverage", m, n, n_rows, distance, damage) for damage in DAMAGES)
    if not options.corpus:
        yield from (("coverage", 5, 5, n_rows, "points", damage) for n_rows in POINT_ROWS for damage in POINTS)


class Study:
    """Draws rows once, and counts."""

    def __init__(self, options: argparse.Namespace):
        """Take the options; captions are read when a cell first needs them."""
        self._options = options
        self._corpus = functools.cache(lambda: read_pool(options))
        self._points = functools.cache(lambda damage: draw_points(POINTS[damage], (5, 5), N_POINTS, options.seed))

    def lines(self, kind: str, m: int, n: int, n_rows: int, distance: str, damage: str) -> list[list[Any]]:
        """Return the lines of a cell."""
        n_trials, seed = self._options.simulations, (self._options.seed, m, n, n_rows)
        if distance == "points":
            return list(coverage_lines(self._points(damage), m, n_rows, n_trials, seed))
        corpus: ParityCorpus = self._corpus()
        if kind == "power":
            vectors = corpus.vectors(distance) if distance in EMBEDDINGS else None
            if damage == "human":  # no row comes twice, so that the share is that of independent trials
                rows = corpus.corpora(distance, (m, n), DAMAGES[damage], n_trials, n_rows)
                drawn = np.arange(len(rows.images)).reshape(n_trials, -1)
            else:
                rows = corpus.rows(distance, (m, n), DAMAGES[damage])
                drawn = corpus.trials(n_trials, n_rows, len(rows.images), seed)
            return list(power_lines(rows, m, nulls_in_batches(rows, m, vectors, distance), Trials(drawn, seed)))
        rows = corpus.rows(distance, (m, n), DAMAGES[damage])
        if kind == "coverage":
            return list(coverage_lines(rows.distances, m, n_rows, n_trials, seed))
        return list(needed_lines(rows, m, n_trials, seed))


def below(lines: Sequence[Line]) -> list[list[str]]:
    """Return the cells, and the tests that find more there than T2 by over 0.05, or the joint one less by over 0.02.

    f, v and energy are parts of T2.
    """
    found = []
    for line in matching(lines, kind="power"):
        own = matching(lines, **{column: line[column] for column in KEY}, measure="T2")[0]
        more = round(float(line["share"]) - float(own["share"]), 6)
        if more < -0.02 if line["measure"] == "joint" else line["measure"] not in PARTS and more > 0.05:
            found.append([*(line[column] for column in KEY[1:]), line["measure"], line["share"], own["share"]])
    return found


def draw_picture(lines: Sequence[Line], title: str, output: Any) -> None:
    """Draw what each test finds, a panel for each size and distance."""
    power = matching(lines, kind="power")
    sizes = list(dict.fromkeys((line["n_candidates"], line["n_references"], line["n_rows"]) for line in power))
    distances = list(dict.fromkeys(line["distance"] for line in power))
    with new_picture(output, NAME, 2.4 * len(distances) + 2.6, 2.6 * len(sizes) + 1) as figure:
        panels = figure.subplots(len(sizes), len(distances), sharex=True, sharey=True, squeeze=False)
        for (row, column), axes in np.ndenumerate(panels):
            m, n, n_rows = sizes[row]
            mine = matching(power, n_candidates=m, n_references=n, n_rows=n_rows, distance=distances[column])
            for name, color in COLORS.items():
                of_test = matching(mine, measure=name)
                places = [list(DAMAGES).index(line["damage"]) for line in of_test]
                style = {"s": 60, "marker": "D"} if name == "T2" else {"s": 22, "marker": "o"}
                axes.scatter(
                    [float(line["share"]) for line in of_test], places, color=color, alpha=0.8, label=name, **style
                )
            axes.axvline(LEVEL, color="#888888", lw=0.8)
            axes.set_yticks(range(len(DAMAGES)), DAMAGES)
            axes.set_xlim(-0.04, 1.04)
            label_axes(axes, "share found at 5 %" if row == len(sizes) - 1 else "", "")
            axes.set_title(f"{distances[column]}, {m} + {n}, {n_rows} rows")
        panels[0, 0].invert_yaxis()
        figure.suptitle(f"{title}: what each test finds")
        figure.legend(*panels[-1, -1].get_legend_handles_labels(), loc="outside right center")


def main(options: argparse.Namespace) -> int:
    """Count what the table does not have yet, then draw it."""
    table = StudyTable(options.output, NAME, KEY, COLUMNS, study_settings(options))
    lines = table.fill(cells(options), Study(options).lines)
    columns = [*KEY[1:], "test", "found", "found_by_T2"]
    write_lines(options.output / f"{NAME}_below.csv", columns, below(lines))
    draw_picture(lines, options.corpus or "bundled scenes", options.output)
    return 0


if __name__ == "__main__":
    sys.exit(main(parsed()))
