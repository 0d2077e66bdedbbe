"""What does the human-parity test find, beside the other tests of sets of captions? And do its intervals hold?

python -m scripts.studies.human_parity_power [--data FOLDER --corpus MSVD] [--output FOLDER]

Eight kinds of damage, and human captions, by five distances. Rows are drawn as in `parity_pools.py`, some of each
image; a trial takes different images, and one row of each; all rows of human captions are drawn again. Four kinds of
cells:

"power": share of trials with p <= 0.05, and the range that 99.9% of such shares lie in if it is 5%. "T2" is the test of
both gaps, "f" and "v" of each gap, all in closed form; with 499 random splits of every row of the trial, the same for
all: "energy", the energy distance 2 f - v; "TRM", triangle ranks per side; "plain", the mean distance of candidates
from references alone (of METEOR, the mean METEOR), both tails; and of embeddings "MMD" (unbiased) and, of MiniLM,
"Frechet". They are drawn from all splits of a row, or from 199 random ones where there are more than 1,000.
"joint": the same of the tests of `human_parity`: "distances", of gaps and tails; "wording"; and "joint", of all three;
also of one candidate and four references whose wording alone is damaged (`REWORDED`).
"needed": share of trials found by "distances" with as many rows as `rows_to_detect` says for the rows of all images.
"coverage": share of the 95% intervals that hold the value of the rows of all images; rows are drawn with replacement.
Without a corpus also on made points: texts are points in four dimensions around their row's, and distances Euclidean.

CIDEr-D counts its documents in the human captions of all images. Written: human_parity_power.csv, the picture, and
human_parity_power_below.csv: cells in which another test finds more than T2 by over 0.05, or "joint" less than
"distances" by over 0.02.
"""

import functools
import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import scipy.stats

from manycaps.kit.frechet import null_frechet_squared
from manycaps.kit.mmd_rows import gaussian_kernel, null_mmd
from manycaps.kit.parity_corpus import row_columns
from manycaps.kit.parity_gaps import gaps_test_of_sums, joint_p_value, null_gaps, row_gaps
from manycaps.kit.parity_tails import corpus_tails
from manycaps.kit.sets_tests import TIE_TOLERANCE, SplitsOfRow, exact_splits, random_splits, split_forms, split_values
from manycaps.kit.triangle_rank import null_statistics
from manycaps.kit.words_tests import wording_test
from scripts.studies.parity_pools import (
    CONFIDENCE_LEVEL,
    DAMAGES,
    REWORDED,
    REWORDINGS,
    ParityCorpus,
    PoolRows,
    keep_distances,
    parity_of,
    read_pool,
)
from scripts.studies.parity_speakers import draw_points
from scripts.studies.split_tests import LEVEL, two_sided
from scripts.studies.study_frame import Line, StudyTable, distinct, matching_lines, numbers, study_settings, write_lines
from scripts.studies.study_options import EMBEDDINGS, Options, add_parity_options, study_parser
from scripts.studies.study_pictures import BLACK, BLUE, GREEN, ORANGE, PURPLE, SKY, label_axes, new_picture

parser = study_parser(__doc__)
add_parity_options(parser)
parser.add_argument("--simulations", type=int, default=500, metavar="N", help="trials of a cell, default 500")
parser.add_argument("--joint", type=int, default=200, metavar="N", help='trials of a cell of "joint", default 200')
parse = parser.parse_args

NAME = "human_parity_power"
KEY = ("kind", "n_candidates", "n_references", "n_rows", "distance", "damage")
COLUMNS = ("measure", "n_trials", "share", "low", "high", "value")

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

# Rows of a trial of damaged wording, and the part of the trials that are made of them.
REWORDED_ROWS: Mapping[str | None, Mapping[int, float]] = {
    None: {14: 1.0},
    "MSVD": {},
    "Flickr8k": {60: 1.0, 200: 0.5, 1000: 0.2},
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
POINTS = ("human", "20% other", "half repeated", "blandest")

# Values whose intervals are looked at.
VALUES = (
    *("unlike_people_share", "generic_share", "near_duplicate_share", "spread_share"),
    *("fidelity_gap", "diversity_gap", "energy_distance", "rows_to_detect"),
)

# Tests in closed form, by the field of their p-value.
TESTS = {"T2": "p_value", "f": "fidelity_p_value", "v": "diversity_p_value"}

# Tests with one degree of freedom for one half of what T2 looks at.
PARTS = ("f", "v", "energy")
COLORS = {"joint": "#999999", "T2": BLUE, "TRM": ORANGE, "MMD": GREEN, "Frechet": PURPLE, "plain": BLACK, "energy": SKY}


def splits_of_rows(m: int, n: int) -> SplitsOfRow:
    """Return the splits of a row, the observed one first."""
    exact = exact_splits(m, n, 1_000_000)
    is_few = m + n <= 10 and sum(map(len, exact(N_RANDOM_SPLITS))) <= MAX_EXACT_SPLITS
    return exact if is_few else random_splits(m, n, N_RANDOM_SPLITS, 0)


def null_values(
    distances: np.ndarray, vectors: np.ndarray | None, m: int, *, with_frechet: bool
) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the tests, and the statistic of every row under every split, the observed one first: (n_rows, n_splits)."""
    n = distances.shape[1] - m
    splits = splits_of_rows(m, n)
    yield "TRM", np.concatenate(list(null_statistics(distances, splits)), axis=1)
    yield "plain", np.concatenate(list(split_values(*split_forms(distances, 0.0, 0.0, 1 / (m * n)), splits)), axis=1)
    if m > 1:
        yield "energy", np.concatenate([2 * f - v for f, v in null_gaps(distances, m, splits)], axis=1)
    if m > 1 and vectors is not None:
        yield "MMD", np.concatenate(list(null_mmd(gaussian_kernel(vectors, "median"), m, splits, "unbiased")), axis=1)
        if with_frechet:
            yield "Frechet", np.concatenate(list(null_frechet_squared(vectors, m, splits)), axis=1)


def nulls_in_batches(rows: PoolRows, m: int, vectors: np.ndarray | None, distance: str) -> dict[str, np.ndarray]:
    """Return what `null_values` gives, of all rows; `vectors` are the pool's."""
    parts: dict[str, list[np.ndarray]] = {}
    for start in range(0, len(rows.images), BATCH_ROWS):
        distances, images, places = (values[start : start + BATCH_ROWS] for values in rows)
        mine = None if vectors is None else vectors[images[:, None], places]
        for name, nulls in null_values(distances, mine, m, with_frechet=distance == "MiniLM"):
            parts.setdefault(name, []).append(nulls)
    return {name: np.concatenate(batches) for name, batches in parts.items()}


def drawn_p_values(nulls: np.ndarray, trials: np.ndarray, seed: Sequence[int]) -> np.ndarray:
    """Return p-values of the sum over the rows of trials, (n_trials, n_rows), upper and lower tail: (2, n_trials)."""
    counts = []
    for trial, rows in enumerate(trials):
        drawn = np.random.default_rng((*seed, trial)).integers(nulls.shape[1], size=(N_DRAWS, len(rows)))
        sums, observed = nulls[rows, drawn].sum(axis=1), nulls[rows, 0].sum()
        tolerance = TIE_TOLERANCE * max(1.0, abs(observed))
        counts.append([1 + (sums >= observed - tolerance).sum(), 1 + (sums <= observed + tolerance).sum()])
    return np.array(counts).T / (1 + N_DRAWS)


def range_of(share: float, n_trials: int) -> list[float]:
    """Return the ends of the range of a share."""
    return [end / n_trials for end in scipy.stats.binom.interval(RANGE, n_trials, share)]


def power_lines(
    rows: PoolRows, m: int, nulls: Mapping[str, np.ndarray], trials: np.ndarray, seed: Sequence[int]
) -> Iterator[list[Any]]:
    """Yield a line for every test."""
    gaps = row_gaps(rows.distances, m)
    both = np.stack([gaps.fidelity, gaps.diversity], axis=1)
    tests = [gaps_test_of_sums(both[of].sum(axis=0), gaps.covariance[of].sum(axis=0)) for of in trials]
    closed = {name: np.array([getattr(test, field) for test in tests]) for name, field in TESTS.items()}
    p_values_by_test = {name: p_values for name, p_values in closed.items() if m > 1 or name != "v"}
    for name, values in nulls.items():
        upper, lower = drawn_p_values(values, trials, seed)
        p_values_by_test[name] = two_sided(upper, lower) if name == "plain" else upper
    for name, p_values in p_values_by_test.items():
        yield [name, len(trials), (p_values <= LEVEL).mean(), *range_of(LEVEL, len(trials)), np.median(p_values)]


def gaps_and_tails(distances: np.ndarray, m: int, trials: np.ndarray) -> Iterator[tuple[float, float]]:
    """Yield the p-values of gaps and tails of every trial; tails have 1 where the gaps alone are enough."""
    gaps = row_gaps(distances, m)
    both = np.stack([gaps.fidelity, gaps.diversity], axis=1)
    for of in trials:
        gaps_p = gaps_test_of_sums(both[of].sum(axis=0), gaps.covariance[of].sum(axis=0)).p_value
        is_clear = joint_p_value(gaps_p, 1.0, 1.0) <= LEVEL
        yield gaps_p, 1.0 if is_clear else corpus_tails(keep_distances(distances[of], m), None, None).p_value


def joint_lines(corpus: ParityCorpus, rows: PoolRows, m: int, trials: np.ndarray) -> Iterator[list[Any]]:
    """Yield what gaps and tails find, the wording, and all together."""
    rejections = Counter[str]()
    for of, (gaps_p, tails_p) in zip(trials, gaps_and_tails(rows.distances, m, trials), strict=True):
        wording_p = wording_test(corpus.wording(rows.images[of], rows.places[of], m)).p_value
        distances, joint = joint_p_value(gaps_p, tails_p), joint_p_value(gaps_p, tails_p, wording_p)
        rejections.update({"distances": distances <= LEVEL, "joint": joint <= LEVEL, "wording": wording_p <= LEVEL})
    for name, count in rejections.items():
        yield [name, len(trials), count / len(trials), *range_of(LEVEL, len(trials)), np.nan]


def draw_results(
    distances: np.ndarray, m: int, columns: Mapping[str, np.ndarray], shape: tuple[int, int], seed: Sequence[int]
) -> list[dict[str, Any]]:
    """Return the module's results of trials whose rows are drawn with replacement; shape: (n_trials, n_rows)."""
    return [
        parity_of(distances[of], m, {name: values[of] for name, values in columns.items()}, p_value="none")
        for of in with_replacement(len(distances), shape, seed)
    ]


def with_replacement(n_rows: int, shape: tuple[int, int], seed: Sequence[int]) -> np.ndarray:
    """Draw the rows of every trial."""
    return np.random.default_rng(seed).integers(n_rows, size=shape)


def needed_lines(distances: np.ndarray, m: int, n_trials: int, seed: Sequence[int]) -> Iterator[list[Any]]:
    """Yield the power at the rows that are needed, if these are not too many."""
    needed, share = parity_of(distances, m, p_value="none")["rows_to_detect"], np.nan
    if needed <= MOST_NEEDED:
        trials = with_replacement(len(distances), (n_trials, int(needed)), seed)
        share = np.mean([joint_p_value(*tested) <= LEVEL for tested in gaps_and_tails(distances, m, trials)])
    yield ["power", n_trials, share, np.nan, np.nan, needed]


def coverage_lines(
    distances: np.ndarray, m: int, n_rows: int, n_trials: int, seed: Sequence[int]
) -> Iterator[list[Any]]:
    """Yield for every value the share of intervals that hold it."""
    columns = row_columns(distances, m)
    results = draw_results(distances, m, columns, (n_trials, n_rows), seed)
    true = parity_of(distances, m, columns, p_value="none")
    for name in VALUES:
        if not np.isnan(value := true[name]):
            lows, highs = (np.array([result[f"{name}_ci_{end}"] for result in results]) for end in ("low", "high"))
            held = (lows <= value + ROUNDING) & (value - ROUNDING <= highs)
            yield [name, n_trials, np.mean(held), *range_of(CONFIDENCE_LEVEL, n_trials), value]


def cells(options: Options) -> Iterator[tuple[str, int, int, int, str, str]]:
    """Yield what is counted."""
    looked_at = [distance for distance in LOOKED_AT if distance in options.distances]
    for (m, n), n_rows in SIZES[options.corpus].items():
        yield from (("power", m, n, n_rows, distance, damage) for distance in options.distances for damage in DAMAGES)
        for distance in looked_at:
            yield from (("joint", m, n, n_rows, distance, damage) for damage in DAMAGES)
            yield from (("needed", m, n, n_rows, distance, damage) for damage in DAMAGES if damage != "human")
            yield from (("coverage", m, n, n_rows, distance, damage) for damage in DAMAGES)
    for n_rows, distance in itertools.product(REWORDED_ROWS[options.corpus], looked_at):
        yield from (("joint", 1, 4, n_rows, distance, damage) for damage in REWORDED)
    if not options.corpus:
        yield from (("coverage", 5, 5, n_rows, "points", damage) for n_rows in POINT_ROWS for damage in POINTS)


def below(lines: Sequence[Line]) -> Iterator[list[str]]:
    """Yield the cells, and the tests that find over 0.05 more than T2, or over 0.02 less than the tests of distances.

    f, v and energy are parts of T2.
    """
    for line in (*matching_lines(lines, kind="power"), *matching_lines(lines, kind="joint", measure="joint")):
        other = "distances" if line["kind"] == "joint" else "T2"
        own = matching_lines(lines, **{column: line[column] for column in KEY}, measure=other)[0]
        more = round(float(line["share"]) - float(own["share"]), 6)
        if more < -0.02 if line["kind"] == "joint" else line["measure"] not in PARTS and more > 0.05:
            yield [*(line[column] for column in KEY[1:]), line["measure"], line["share"], own["share"]]


def draw_picture(lines: Sequence[Line], title: str, output: Any) -> None:
    """Draw what each test finds, a panel for each size and distance."""
    power = matching_lines(lines, kind="power")
    sizes, distances = distinct(power, "n_candidates", "n_references", "n_rows"), distinct(power, "distance")
    with new_picture(output, NAME, 2.4 * len(distances) + 2.6, 2.6 * len(sizes) + 1) as figure:
        panels = figure.subplots(len(sizes), len(distances), sharex=True, sharey=True, squeeze=False)
        for (row, column), axes in np.ndenumerate(panels):
            m, n, n_rows = sizes[row]
            mine = matching_lines(lines, n_candidates=m, n_references=n, n_rows=n_rows, distance=distances[column])
            mine = [line for line in mine if line["kind"] in ("power", "joint") and line["damage"] in DAMAGES]
            for name, color in COLORS.items():
                test_lines = matching_lines(mine, measure=name)
                places = [list(DAMAGES).index(line["damage"]) for line in test_lines]
                style = {"s": 60, "marker": "D"} if name == "T2" else {"s": 22, "marker": "o"}
                axes.scatter(numbers(test_lines, "share"), places, color=color, alpha=0.8, label=name, **style)
            axes.axvline(LEVEL, color="#888888", lw=0.8)
            axes.set_yticks(range(len(DAMAGES)), DAMAGES)
            axes.set_xlim(-0.04, 1.04)
            label_axes(axes, "share found at 5%" if row == len(sizes) - 1 else "", "")
            axes.set_title(f"{distances[column]}, {m} + {n}, {n_rows} rows")
        panels[0, 0].invert_yaxis()
        figure.suptitle(f"{title}: what each test finds")
        figure.legend(*panels[-1, -1].get_legend_handles_labels(), loc="outside right center")


def main(options: Options) -> None:
    """Count what the table does not have yet, then draw it."""
    rewordings = REWORDINGS if REWORDED_ROWS[options.corpus] else ()
    corpus = functools.cache(lambda: read_pool(options, rewordings))
    points = functools.cache(lambda damage: draw_points(DAMAGES[damage], (5, 5), N_POINTS, options.seed))

    def study(kind: str, m: int, n: int, n_rows: int, distance: str, damage: str) -> Iterator[list[Any]]:
        n_trials, seed = options.joint if kind == "joint" else options.simulations, (options.seed, m, n, n_rows)
        if damage in REWORDED:
            n_trials = max(1, round(n_trials * REWORDED_ROWS[options.corpus][n_rows]))
        if distance == "points":
            return coverage_lines(points(damage), m, n_rows, n_trials, seed)
        change = (DAMAGES | REWORDED)[damage]
        if kind in ("power", "joint") and damage == "human":  # no row comes twice, so that trials are independent
            rows = corpus().corpora(distance, (m, n), change, n_trials, n_rows)
            trials = np.arange(len(rows.images)).reshape(n_trials, -1)
        else:
            rows = corpus().rows(distance, (m, n), change)
            trials = corpus().trials(n_trials, n_rows, len(rows.images), seed)
        if kind == "joint":
            return joint_lines(corpus(), rows, m, trials)
        if kind == "coverage":
            return coverage_lines(rows.distances, m, n_rows, n_trials, seed)
        if kind == "needed":
            return needed_lines(rows.distances, m, options.joint, seed)
        vectors = corpus().vectors(distance) if distance in EMBEDDINGS else None
        return power_lines(rows, m, nulls_in_batches(rows, m, vectors, distance), trials, seed)

    lines = StudyTable(options.output, NAME, KEY, COLUMNS, study_settings(options)).fill(cells(options), study)
    columns = [*KEY[1:], "test", "found", "found_by_other"]
    write_lines(options.output / f"{NAME}_below.csv", columns, below(lines))
    draw_picture(lines, options.corpus or "bundled scenes", options.output)


if __name__ == "__main__":
    main(parse())
