"""How often are intervals, p-values and detectable differences right? Counted on simulated rows, whose truth is known.

python -m scripts.studies.inference [--simulations 2000] [--output FOLDER]

Four kinds of cells count what is as stated, beside the range in which 99.9% of such counts lie if it is:

"mean": the 95% interval of the mean of 5 to 200 rows (`interval_of_rows`) holds the true mean; `beside` counts the
percentile bootstrap. Values are normal, scores from 0 to 1 (beta), exponential, and scores that are 0 in half the rows.
"difference": the same for differences of two systems (`paired_test`); `beside` counts where interval and p-value
contradict each other.
"clusters": twenty clusters of four rows that share references, 3 + 3 texts a row, all from one distribution (points in
four dimensions, ranked by Euclidean distance): the test of `trm` against people at 5% does not reject, and the
interval of the excess holds 0, with `clusters`; `beside` the same without.
"detectable": one of 2, 3, 5 or 8 systems differs from the baseline by the least difference that 80% of comparisons are
stated to find after Holm's correction, and is found; all others equal the baseline but for noise. `beside` counts the
baseline's pairs that are found where nothing differs.

Written: inference.csv, and the picture.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import evaluate
import numpy as np
import scipy.stats

import manycaps
from manycaps.kit.paired_tests import (
    clustered_differences,
    holm_p_values,
    minimum_detectable_difference,
    sign_flip_tests,
)
from manycaps.kit.parity_gaps import CONFIDENCE_LEVEL, LEVEL, POWER
from manycaps.kit.sets_tests import interval_of_rows
from scripts.studies.caption_rows import N_RESAMPLES, bootstrap_interval
from scripts.studies.study_frame import Line, StudyTable, matching_lines, numbers, study_settings
from scripts.studies.study_options import Options, study_parser
from scripts.studies.study_pictures import BLUE, GREEN, ORANGE, PURPLE, label_axes, new_picture

parser = study_parser(__doc__)
parser.add_argument("--simulations", type=int, default=2_000, metavar="N", help="trials of a cell, default 2000")
parse = parser.parse_args

NAME = "inference"
KEY = ("kind", "setting", "n_rows")
COLUMNS = ("n_trials", "stated", "share", "low", "high", "beside")

# Chance that a count lies in its range.
RANGE = 0.999

ROWS = (5, 10, 20, 50, 200)

# Distributions of a row's value: draws, mean and colour.
DRAWS = {
    "normal": (lambda rng, shape: rng.normal(size=shape), 0.0, BLUE),
    "score from 0 to 1": (lambda rng, shape: rng.beta(4.0, 6.0, size=shape), 0.4, GREEN),
    "exponential": (lambda rng, shape: rng.exponential(size=shape), 1.0, ORANGE),
    "half zeros": (lambda rng, shape: rng.beta(4.0, 6.0, size=shape) * (rng.random(shape) < 0.5), 0.2, PURPLE),
}

# What a kind of cells counts: its share as stated, the count, and the count beside it.
Counts = tuple[float, int, int]


def mean_counts(rng: np.random.Generator, setting: str, n_rows: int, n_trials: int) -> Counts:
    """Count intervals of a mean that hold it; beside them percentile bootstrap intervals."""
    draw, mean, _ = DRAWS[setting]
    held = np.zeros(2, dtype=int)
    for values in draw(rng, (n_trials, n_rows)):
        ends = interval_of_rows(values, CONFIDENCE_LEVEL), bootstrap_interval(values)
        held += [low <= mean <= high for low, high in ends]
    return CONFIDENCE_LEVEL, *held.tolist()


def difference_counts(rng: np.random.Generator, setting: str, n_rows: int, n_trials: int) -> Counts:
    """Count intervals of a difference that hold it, 0, and those that say something else than the p-value."""
    first, second = DRAWS[setting][0](rng, (2, n_rows, n_trials))
    tests = sign_flip_tests(clustered_differences(first, second), N_RESAMPLES, seed=0)
    held = (tests.low <= 0) & (tests.high >= 0)
    return CONFIDENCE_LEVEL, int(held.sum()), int(np.count_nonzero(held != (tests.p_values > LEVEL)))


def cluster_counts(rng: np.random.Generator, setting: str, n_rows: int, n_trials: int) -> Counts:
    """Count tests against people that do not reject, or intervals of the excess that hold 0; then without clusters."""
    module = manycaps.load("trm", p_value="exact", confidence_level=CONFIDENCE_LEVEL, n_resamples=N_RESAMPLES)
    clusters = (np.arange(n_rows) // 4).tolist()
    counts = np.zeros(2, dtype=int)
    for _ in range(n_trials):
        people = np.repeat(rng.normal(size=(n_rows // 4, 3, 4)), 4, axis=0)
        texts = np.concatenate((rng.normal(size=(n_rows, 3, 4)), people), axis=1)
        distances = np.linalg.norm(texts[:, :, None] - texts[:, None], axis=-1)
        results = [module.compute(distances=distances, n_candidates=3, clusters=each) for each in (clusters, None)]
        counts += [
            result["trm_corpus_p_value"] > LEVEL
            if setting == "test against people"
            else result["trm_excess_ci_low"] <= 0 <= result["trm_excess_ci_high"]
            for result in results
        ]
    return CONFIDENCE_LEVEL, *counts.tolist()


def detectable_counts(rng: np.random.Generator, setting: str, n_rows: int, n_trials: int) -> Counts:
    """Count differences of the stated size that are found; and comparisons that find one where there is none."""
    n_systems = int(setting.partition(" ")[0])
    pairs = [(later, earlier) for later in range(n_systems) for earlier in range(later)]
    least = minimum_detectable_difference(np.sqrt(2 / n_rows), n_rows, LEVEL / len(pairs))
    counts = np.zeros(2, dtype=int)
    for _ in range(n_trials):
        values = rng.normal(size=(n_rows, n_systems))
        values[:, 1] += least
        first, second = (values[:, [pair[side] for pair in pairs]] for side in (0, 1))
        adjusted = holm_p_values(sign_flip_tests(clustered_differences(first, second), 1_999, seed=0).p_values)
        counts += [adjusted[0] <= LEVEL, any(adjusted[i] <= LEVEL for i, pair in enumerate(pairs) if 1 not in pair)]
    return POWER, *counts.tolist()


# Functions by kind of cell, and the part of the trials that they make.
KINDS = {
    "mean": (mean_counts, 1),
    "difference": (difference_counts, 1),
    "clusters": (cluster_counts, 2),
    "detectable": (detectable_counts, 2),
}

# Title, kind of cell and column of each part of the picture.
PANELS = (
    ("percentile bootstrap of a mean", "mean", "beside"),
    ("interval of a mean here", "mean", "share"),
    ("interval of a difference here", "difference", "share"),
)


def cells() -> Iterator[tuple[str, str, int]]:
    """Yield what is counted."""
    for kind in ("mean", "difference"):
        yield from ((kind, setting, n_rows) for setting in DRAWS for n_rows in ROWS)
    yield from (("clusters", setting, 80) for setting in ("test against people", "interval of the excess"))
    for n in (2, 3, 5, 8):
        # Six rows can distinguish two systems, and no more.
        yield from (("detectable", f"{n} systems", n_rows) for n_rows in (6, 12, 20, 60) if n == 2 or n_rows > 6)


def draw_picture(lines: Sequence[Line], output: Any) -> None:
    """Draw the coverage of intervals of means, beside the bootstrap's, and of differences."""
    with new_picture(output, NAME, 11, 3.8) as figure:
        for (title, kind, column), axes in zip(PANELS, figure.subplots(1, 3, sharey=True), strict=True):
            for setting, (_, _, color) in DRAWS.items():
                mine = matching_lines(lines, kind=kind, setting=setting)
                axes.plot(numbers(mine, "n_rows"), numbers(mine, column), "o-", color=color, label=setting)
            axes.axhline(CONFIDENCE_LEVEL, color="#888888", lw=0.8)
            axes.set_xscale("log")
            axes.set_xticks(ROWS, [str(n) for n in ROWS])
            axes.minorticks_off()
            label_axes(axes, "rows", "share that hold the truth", better=f"{CONFIDENCE_LEVEL:g} is stated")
            axes.set_title(title)
        axes.legend()


def main(options: Options) -> None:
    """Count what the table does not have yet, then draw it."""
    evaluate.utils.logging.disable_progress_bar()
    places = {cell: place for place, cell in enumerate(cells())}

    def study(*cell: Any) -> list[list[Any]]:
        function, part = KINDS[cell[0]]
        n_trials = -(-options.simulations // part)
        rng = np.random.default_rng((options.seed, places[cell]))
        stated, n_held, n_beside = function(rng, *cell[1:], n_trials)
        low, high = scipy.stats.binom.interval(RANGE, n_trials, stated)
        return [[n_trials, stated, n_held / n_trials, low / n_trials, high / n_trials, n_beside / n_trials]]

    lines = StudyTable(options.output, NAME, KEY, COLUMNS, study_settings(options)).fill(places, study)
    draw_picture(lines, options.output)
    for line in lines:
        print("  ".join(line.values()))


if __name__ == "__main__":
    main(parse())
