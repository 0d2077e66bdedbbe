"""What the distribution metrics find, and what they miss: the tables of damaged captions on their cards.

python -m scripts.studies.damage_study --data FOLDER [--output damage.csv] [--modules trm_meteor ...] [--rows 6000]

FOLDER holds Flickr8k.token.txt.gz and msvd_val_references.txt (`image#number<TAB>caption`, `clip<TAB>caption`).

Rows. 6,000 rows for each number of captions: six of each of 1,000 random images of Flickr8k, 60 of each of the 100
clips of MSVD. The captions of a row are drawn without replacement from those of its image and split at random into
n candidates and m references. "human" leaves the candidates as they are; "w" replaces each of them, independently with
probability w, by a random caption of another image; "repeated" puts the first candidate in place of all. References are
always human, and the rows of all kinds of candidates are the same but for the damage. CIDEr-D counts its documents in
the references of all 6,000 rows.

Tests. Each row gets its null values once: all splits where there are at most 1,000, else 999 random ones, with the
modules' default options. A trial draws 60 different images, one of the rows of each, and makes the module's corpus test
(`RowSplits`, 999 resamples) of those rows' null values; 500 trials, seeded. Trials share rows, so the shares carry a
standard error of up to 2.5 percentage points.

Columns of the file: value and excess, means over all rows, with the standard error of the excess; value_pooled, the
mean of statistic="pooled" (trm modules); found, the share of trials with a corpus p-value of at most 0.05, and
found_by_harmonic_mean, with that of `combined_p_value`, for the sizes of the first table; rows_needed, with how many
rows nine of ten trials would find the damage: ((1.645 s0 + 1.282 s) / excess)^2, with s0^2 the mean variance of the
rows' null values and s the standard deviation of the rows' excesses; "nan" where the excess is within three standard
errors of 0, "inf" where it is further below. Lines that the file has already are not computed again. The tables for the
cards are printed at the end. Needs scripts/requirements.txt and metrics/trm_bert/requirements.txt.
"""

import argparse
import csv
import itertools
import math
import pathlib
import sys
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from scripts.command_line import start_tool
from scripts.studies.study_options import DAMAGES, MODULES, TRIANGLE_RANK_MODULES

# Rows for each number of captions and damage.
N_ROWS = 6_000


def parsed(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse a command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=pathlib.Path, required=True, metavar="FOLDER")
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("damage.csv"), metavar="FILE")
    parser.add_argument("--modules", nargs="+", choices=MODULES, default=MODULES, metavar="MODULE")
    parser.add_argument("--rows", type=int, default=N_ROWS, metavar="N", help="rows of each kind, at least 60")
    return parser.parse_args(arguments)


start_tool(__name__, parsed, "scripts/requirements.txt", "metrics/trm_bert/requirements.txt", needs_wordnet=True)

import numpy as np
import scipy.stats
from tqdm import tqdm

from manycaps.kit.sets_corpus import RowSplits, combined_p_value
from manycaps.kit.sets_module import DISTRIBUTION_DEFAULTS
from scripts.studies.caption_rows import CaptionMeasures, Captions, draw_rows, read_images
from scripts.studies.study_frame import write_lines

# Numbers of candidates and references: those of the tables of values, and those of the table of rows needed.
SIZES = {(2, 3): "Flickr8k", (5, 5): "MSVD", (10, 10): "MSVD"}
DESIGNS = dict.fromkeys([(1, 5), (2, 3), (3, 2), (5, 5), (10, 5), (20, 5)], "MSVD")

# Rows of a trial, and trials.
N_TRIAL_ROWS = 60
N_TRIALS = 500

# Splits of a row up to which all are used; random ones beyond, and draws of the corpus test.
MAX_EXACT_SPLITS = 1_000
N_RESAMPLES = 999

LEVEL = 0.05

# Share of trials that `rows_needed` is to reach.
POWER = 0.9

# Numbers of needed rows below this one are not shown: the normal distribution behind them does not hold for so few.
LEAST_ROWS = 10

# Rows compared at once.
BATCH = 100

COLUMNS = [
    *("module", "data", "n_candidates", "n_references", "captions", "n_rows"),
    *("value", "value_pooled", "excess", "excess_error", "found", "found_by_harmonic_mean", "rows_needed"),
]
# What a line is about.
N_KEY_COLUMNS = 6

Line = Mapping[str, str]


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


def corpus_options(size: tuple[int, int], seed: int) -> dict:
    """Return the options of the corpus test of rows of a size."""
    exact = math.comb(sum(size), size[0]) <= MAX_EXACT_SPLITS
    method = {"p_value": "exact" if exact else "permutation", "n_resamples": N_RESAMPLES, "seed": seed}
    return {**DISTRIBUTION_DEFAULTS, **method}


def rows_with_nulls(
    measures: CaptionMeasures, module: str, predictions: Captions, references: Captions
) -> RowsWithNulls:
    """Compute the statistic of every row, and its null values; rows of one size."""
    size = len(predictions[0]), len(references[0])
    splits = RowSplits([size], corpus_options(size, 0)).splits[size]
    values, units, nulls = [], [], []
    rows = measures.rows(module, "per_side", predictions, references)
    for part in batches(len(predictions)):
        compared = rows.compare(part)
        values.append(compared.statistic)
        units.append(np.ones(len(compared.statistic)) if compared.units is None else compared.units)
        nulls.append(np.concatenate(list(compared.null_values(slice(None), splits)), axis=1))
    return RowsWithNulls(*map(np.concatenate, (values, units, nulls)))


def batches(n_rows: int) -> list[range]:
    """Return the rows in parts that fit into memory."""
    return [range(n_rows)[start : start + BATCH] for start in range(0, n_rows, BATCH)]


def found_shares(rows: RowsWithNulls, size: tuple[int, int], n_images: int) -> tuple[float, float]:
    """Return the shares of trials that the corpus test and the harmonic mean reject; row i is of image i % n_images."""
    found = found_by_harmonic_mean = 0
    for trial in range(N_TRIALS):
        rng = np.random.default_rng((*size, trial))
        chosen = rng.choice(n_images, N_TRIAL_ROWS, replace=False)
        chosen += n_images * rng.integers(len(rows.values) // n_images, size=N_TRIAL_ROWS)
        splits = RowSplits([size] * N_TRIAL_ROWS, corpus_options(size, trial))
        observed, nulls = rows.values[chosen] / rows.units[chosen], rows.nulls[chosen]
        splits.add(
            size,
            range(N_TRIAL_ROWS),
            lambda i, chosen=chosen: int(chosen[i]).to_bytes(4, "big"),
            observed,
            lambda part, _, nulls=nulls: [nulls[part]],
            rows.units[chosen],
        )
        tests = splits.test(rows.values[chosen])
        found += tests.corpus_p_value <= LEVEL
        found_by_harmonic_mean += combined_p_value(tests.p_values) <= LEVEL
    return found / N_TRIALS, found_by_harmonic_mean / N_TRIALS


def rows_needed(rows: RowsWithNulls) -> float:
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


def study(
    measures: CaptionMeasures,
    images: Captions,
    module: str,
    size: tuple[int, int],
    damage: str,
    n_rows: int,
    has_trials: bool,
) -> dict[str, float]:
    """Return the last columns of a line; the shares are NaN without trials."""
    n_images = min(len(images), n_rows)
    chosen = np.arange(n_rows) % n_images
    predictions, references = draw_rows(images, chosen, size, damage, np.random.default_rng(size))
    rows = rows_with_nulls(measures, module, predictions, references)
    found = found_shares(rows, size, n_images) if has_trials else (math.nan, math.nan)
    pooled = math.nan
    if module in TRIANGLE_RANK_MODULES:
        of_pooled = measures.rows(module, "pooled", predictions, references)
        pooled = np.concatenate([of_pooled.compare(part).statistic for part in batches(n_rows)]).mean()
    excesses = rows.excesses()
    return {
        "value": rows.values.mean(),
        "value_pooled": pooled,
        "excess": excesses.mean(),
        "excess_error": excesses.std(ddof=1) / math.sqrt(n_rows),
        "found": found[0],
        "found_by_harmonic_mean": found[1],
        "rows_needed": rows_needed(rows),
    }


def cells(modules: Sequence[str]) -> list[tuple[str, str, tuple[int, int], str]]:
    """Return module, data, size and damage of every line; a set of one caption has no pair, so no embedding metric."""
    sizes = dict.fromkeys((data, size) for size, data in [*SIZES.items(), *DESIGNS.items()])
    return [
        (module, data, size, damage)
        for module, (data, size), damage in itertools.product(modules, sizes, DAMAGES)
        if size[0] > 1 or (module in TRIANGLE_RANK_MODULES and damage != "repeated")
    ]


def find(lines: list[Line], module: str, data: str, size: tuple[int, int], damage: str) -> Line | None:
    """Return the line of a cell, or None."""
    key = {"module": module, "data": data, "n_candidates": str(size[0]), "n_references": str(size[1])}
    matching = [line for line in lines if line["captions"] == damage and key.items() <= line.items()]
    return matching[-1] if matching else None


def print_tables(lines: list[Line], module: str) -> None:
    """Print both tables of a module's card in Markdown."""
    print(f"\n{module}\n\n| n + m | mean over rows | {' | '.join(DAMAGES)} |\n|---|---|{'---|' * len(DAMAGES)}")
    for size, data in SIZES.items():
        of_size = [find(lines, module, data, size, damage) for damage in DAMAGES]
        shown = {"value": "value", "excess": "excess", "found": "found at 5 % in 60 rows"}
        shown |= {"found_by_harmonic_mean": "same, by the harmonic mean"}
        shown |= {"value_pooled": "value, pooled"} if module in TRIANGLE_RANK_MODULES else {}
        for i, (column, title) in enumerate(shown.items()):
            numbers = ["" if line is None else as_shown(column, line[column]) for line in of_size]
            print(f"| {f'{size[0]} + {size[1]}, {data}' if i == 0 else ''} | {title} | {' | '.join(numbers)} |")
    damages = [damage for damage in DAMAGES if damage != "human"]
    print(f"\n| n + m | {' | '.join(damages)} |\n|---|{'---|' * len(damages)}")
    for size, data in DESIGNS.items():
        of_size = [find(lines, module, data, size, damage) for damage in damages]
        if any(of_size):
            numbers = ["" if line is None else as_shown("rows_needed", line["rows_needed"]) for line in of_size]
            print(f"| {size[0]} + {size[1]} | {' | '.join(numbers)} |")


def as_shown(column: str, cell: str) -> str:
    """Format a number of the file for a card."""
    if math.isnan(number := float(cell)):
        return "-"
    if column.startswith("found"):
        return f"{number:.0%}".replace("%", " %")
    if column == "rows_needed":
        if math.isinf(number):
            return "never"
        return f"{math.ceil(number):,}" if number > LEAST_ROWS else f"< {LEAST_ROWS}"
    return f"{number:.3f}"


def main(folder: pathlib.Path, output: pathlib.Path, modules: Sequence[str], n_rows: int) -> int:
    """Compute what the file does not have yet, then print the tables."""
    lines: list[Line] = []
    if output.exists():
        with output.open(newline="", encoding="utf-8") as file:
            lines = list(csv.DictReader(file))
    done = {tuple(line[column] for column in COLUMNS[:N_KEY_COLUMNS]) for line in lines}
    keys = {cell: (*cell[:2], *map(str, cell[2]), cell[3], str(n_rows)) for cell in cells(modules)}
    missing = [cell for cell, key in keys.items() if key not in done]
    if missing:
        images = {data: read_images(folder, data) for data in dict.fromkeys(SIZES.values())}
        measures = CaptionMeasures(caption for data in images.values() for image in data for caption in image)
        for module, data, size, damage in tqdm(missing, desc="damaged captions", unit="cell"):
            numbers = study(measures, images[data], module, size, damage, n_rows, SIZES.get(size) == data)
            key = dict(zip(COLUMNS, keys[module, data, size, damage], strict=False))
            lines.append(key | {column: f"{number:.6g}" for column, number in numbers.items()})
            write_lines(output, COLUMNS, ([line[column] for column in COLUMNS] for line in lines))
    for module in modules:
        print_tables([line for line in lines if line["n_rows"] == str(n_rows)], module)
    return 0


if __name__ == "__main__":
    options = parsed()
    sys.exit(main(options.data, options.output, options.modules, options.rows))
