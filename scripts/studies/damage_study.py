"""What the distribution metrics find, and what they miss: the tables of damaged captions on their cards.

python -m scripts.studies.damage_study --data FOLDER [--output FOLDER] [--modules trm_meteor ...] [--rows 6000]
    [--trials 500]

FOLDER of --data holds Flickr8k.token.txt.gz and msvd_val_references.txt (`image#number<TAB>caption`,
`clip<TAB>caption`).

Rows. 6,000 rows for each number of captions: six of each of 1,000 random images of Flickr8k, 60 of each of the 100
clips of MSVD, drawn and damaged as by `draw_rows`: "w" replaces each candidate with probability w, "repeated" puts the
first in place of all. CIDEr-D counts its documents in the references of all 6,000 rows.

Tests. Each row gets its null values once: all splits where there are at most 1,000, else 999 random ones, with the
modules' default options. A trial draws 60 different images, one of the rows of each, and makes the module's corpus test
(999 resamples) of those rows' null values; 500 trials, seeded. Trials share rows, so the shares carry a standard error
of up to 2.5 percentage points.

Written: damage_study.csv: value and excess, means over all rows, with the standard error of the excess; value_pooled,
the mean of statistic="pooled" (trm modules); found, the share of trials with a corpus p-value of at most 0.05, and
found_by_harmonic_mean, with `combined_p_value`, for the sizes of the first table; rows_to_detect, with how many
rows nine of ten trials would find the damage: ((1.645 s0 + 1.282 s) / excess)^2, with s0^2 the mean variance of the
rows' null values and s the standard deviation of the rows' excesses; "nan" where the excess is within three standard
errors of 0, "inf" where it is further below. The tables for the cards are printed at the end.
"""

import functools
import itertools
import math
import pathlib
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.stats

from manycaps.kit.sets_module import DISTRIBUTION_DEFAULTS
from manycaps.kit.sets_tests import RowTester, combined_p_value
from scripts.studies.caption_rows import CaptionMeasures, compare_with_nulls, draw_rows, read_images
from scripts.studies.split_tests import LEVEL, Nulls
from scripts.studies.study_frame import Line, StudyTable, matching_lines, print_table
from scripts.studies.study_options import DAMAGES, MODULES, TRIANGLE_RANK_MODULES, Options, add_output, tool_parser

parser = tool_parser(__doc__)
parser.add_argument("--data", type=pathlib.Path, required=True, metavar="FOLDER")
add_output(parser)
parser.add_argument("--modules", nargs="+", choices=MODULES, default=MODULES, metavar="MODULE")
parser.add_argument("--rows", type=int, default=6_000, metavar="N", help="rows of each kind, at least 60")
parser.add_argument("--trials", type=int, default=500, metavar="N", help="corpus tests of each kind")
parse = parser.parse_args

KEY = ("module", "data", "n_candidates", "n_references", "captions", "n_rows")
COLUMNS = ("value", "value_pooled", "excess", "excess_error", "found", "found_by_harmonic_mean", "rows_to_detect")

# Numbers of candidates and references: of the tables of values, and of the table of rows needed.
SIZES = {(2, 3): "Flickr8k", (5, 5): "MSVD", (10, 10): "MSVD"}
DESIGNS = dict.fromkeys([(1, 5), (2, 3), (3, 2), (5, 5), (10, 5), (20, 5)], "MSVD")

# Rows of a trial.
N_TRIAL_ROWS = 60

# Splits of a row up to which all are used; random ones beyond, and draws of the corpus test.
MAX_EXACT_SPLITS, N_RESAMPLES = 1_000, 999

# Share of trials that `rows_to_detect` is to reach.
POWER = 0.9

# Numbers of needed rows below this one are not shown: the normal distribution behind them does not hold for so few.
LEAST_ROWS = 10

# Rows compared at once.
BATCH = 100

# Columns of the first table of a card.
SHOWN = {
    "value": "value",
    "excess": "excess",
    "found": "found at 5% in 60 rows",
    "found_by_harmonic_mean": "same, by the harmonic mean",
    "value_pooled": "value, pooled",
}


class RowsWithNulls(NamedTuple):
    """Rows of one size with their null values."""

    # float64 arrays, shape (n_rows,): the statistic, and the unit of its null values.
    values: np.ndarray
    units: np.ndarray
    # float64 array, shape (n_rows, n_splits), in units.
    nulls: np.ndarray

    def excesses(self) -> np.ndarray:
        """Return each value minus the mean of its null values: (n_rows,)."""
        return self.values - self.nulls.mean(axis=1) * self.units


def corpus_options(size: tuple[int, int], seed: int) -> dict[str, Any]:
    """Return the options of the corpus test of rows of a size."""
    exact = math.comb(sum(size), size[0]) <= MAX_EXACT_SPLITS
    return {"p_value": "exact" if exact else "permutation", "n_resamples": N_RESAMPLES, "seed": seed}


def rejection_shares(rows: RowsWithNulls, size: tuple[int, int], n_images: int, n_trials: int) -> np.ndarray:
    """Return the shares of trials that the corpus test and the harmonic mean reject; row i is of image i % n_images."""
    rejections = []
    for trial in range(n_trials):
        rng = np.random.default_rng((*size, trial))
        chosen = rng.choice(n_images, N_TRIAL_ROWS, replace=False)
        chosen += n_images * rng.integers(len(rows.values) // n_images, size=N_TRIAL_ROWS)
        tests = Nulls(size, [int(i).to_bytes(4, "big") for i in chosen], **corpus_options(size, trial))
        tests.add(range(N_TRIAL_ROWS), rows.values[chosen], rows.nulls[chosen], rows.units[chosen])
        *_, p_values, corpus_p = tests.result()
        rejections.append([corpus_p <= LEVEL, combined_p_value(p_values) <= LEVEL])
    return np.mean(rejections, axis=0)


def rows_to_detect(rows: RowsWithNulls) -> float:
    """Return with how many rows `POWER` of the trials would be rejected; NaN where the excess may be chance.

    Where the excess is below 0 and not by chance, no number of rows is enough: infinity.
    """
    excesses = rows.excesses()
    excess, deviation = excesses.mean(), excesses.std(ddof=1)
    if abs(excess) < 3 * deviation / math.sqrt(len(excesses)):
        return math.nan
    if excess < 0:
        return math.inf
    null_deviation = math.sqrt(((rows.nulls.std(axis=1) * rows.units) ** 2).mean())
    quantiles = scipy.stats.norm.ppf([1 - LEVEL, POWER])
    return ((quantiles[0] * null_deviation + quantiles[1] * deviation) / excess) ** 2


class Study:
    """Computes cells; captions are read when the first one needs them."""

    def __init__(self, folder: pathlib.Path, n_trials: int):
        self._n_trials = n_trials
        self._images = functools.cache(functools.partial(read_images, folder))
        self._measures = functools.cache(lambda: CaptionMeasures(*map(self._images, dict.fromkeys(SIZES.values()))))

    def lines(self, module: str, data: str, n: int, m: int, damage: str, n_rows: int) -> list[list[float]]:
        """Return the line of a cell."""
        images, measures, size = self._images(data), self._measures(), (n, m)
        n_images = min(len(images), n_rows)
        sides = draw_rows(images, np.arange(n_rows) % n_images, size, damage, np.random.default_rng(size))
        splits = RowTester([size], {**DISTRIBUTION_DEFAULTS, **corpus_options(size, 0)}).splits[size]
        compared = compare_with_nulls(measures.rows(module, *sides), splits, n_rows, BATCH)
        parts = [(part.statistic, units, nulls) for _, part, nulls, units in compared]
        rows = RowsWithNulls(*map(np.concatenate, zip(*parts, strict=True)))
        has_tests = SIZES.get(size) == data
        shares = rejection_shares(rows, size, n_images, self._n_trials) if has_tests else (math.nan, math.nan)
        pooled = math.nan
        if module in TRIANGLE_RANK_MODULES:
            pooled_rows, places = measures.rows(module, *sides, "pooled"), range(n_rows)
            starts = range(0, n_rows, BATCH)
            pooled = np.concatenate([pooled_rows.compare(places[i : i + BATCH]).statistic for i in starts]).mean()
        excesses = rows.excesses()
        error = excesses.std(ddof=1) / math.sqrt(n_rows)
        return [[rows.values.mean(), pooled, excesses.mean(), error, *shares, rows_to_detect(rows)]]


def cells(modules: Sequence[str], n_rows: int) -> Iterator[tuple[str, str, int, int, str, int]]:
    """Yield the key of every line; a set of one caption has no pair, so no embedding metric."""
    sizes = dict.fromkeys((data, size) for size, data in [*SIZES.items(), *DESIGNS.items()])
    for module, (data, size), damage in itertools.product(modules, sizes, DAMAGES):
        if size[0] > 1 or (module in TRIANGLE_RANK_MODULES and damage != "repeated"):
            yield module, data, *size, damage, n_rows


def print_tables(lines: Sequence[Line], module: str) -> None:
    """Print both tables of a module's card in Markdown."""

    def cell(size: tuple[int, int], data: str, column: str, damage: str) -> str:
        key = {"module": module, "data": data, "n_candidates": size[0], "n_references": size[1], "captions": damage}
        return "".join(as_shown(column, line[column]) for line in matching_lines(lines, **key))

    rows = []
    for (n, m), data in SIZES.items():
        for column, title in SHOWN.items():
            if column != "value_pooled" or module in TRIANGLE_RANK_MODULES:
                first = f"{n} + {m}, {data}" if column == "value" else ""
                rows.append([first, title, *(cell((n, m), data, column, damage) for damage in DAMAGES)])
    print(f"\n{module}\n")
    print_table(["n + m", "mean over rows", *DAMAGES], rows)
    damages = [damage for damage in DAMAGES if damage != "human"]
    needed = {
        size: [cell(size, data, "rows_to_detect", damage) for damage in damages] for size, data in DESIGNS.items()
    }
    print()
    print_table(["n + m", *damages], ([f"{n} + {m}", *row] for (n, m), row in needed.items() if any(row)))


def as_shown(column: str, cell: str) -> str:
    """Format a number of the file for a card."""
    if math.isnan(number := float(cell)):
        return "-"
    if column.startswith("found"):
        return f"{number:.0%}"
    if column == "rows_to_detect":
        if math.isinf(number):
            return "never"
        return f"{math.ceil(number):,}" if number > LEAST_ROWS else f"< {LEAST_ROWS}"
    return f"{number:.3f}"


def main(options: Options) -> None:
    """Compute what the table does not have yet, then print the tables of the cards."""
    table = StudyTable(options.output, "damage_study", KEY, COLUMNS, {})
    lines = table.fill(cells(options.modules, options.rows), Study(options.data, options.trials).lines)
    for module in options.modules:
        print_tables(lines, module)


if __name__ == "__main__":
    main(parse())
