"""Level and power of the paired test of two systems: how often does it find a difference where there is none, or one?

python -m scripts.studies.paired_test_study --data FOLDER [--output FOLDER] [--pairs 1000]
python -m scripts.studies.paired_test_study --data FOLDER --pairs 3000 --level 5 20 2

FOLDER of --data holds msvd_val_references.txt (`clip<TAB>caption`, 25 to 62 captions for each of 100 clips).
docs/compare.md describes the simulated systems, their damage, and the results. Of a clip's captions in random order the
first 5 are references, the next 5 or 10 the first system's and the next 5 or 10 the second's; where several rows are of
one clip, each system has three captions of it, of which every row's candidates are drawn with replacement. The values
of `trm_meteor`, the statistic and plain METEOR of every row, go through the functions that `manycaps compare` calls,
with the number of the pair as the seed. `rejected_unclustered` is what the test says of rows of one clip without
clusters; beside it stands the paired t-test (`scipy.stats.ttest_rel`).

Written: paired_test_study.csv. `--level` with a number of candidates, of rows and of rows of a clip computes this level
alone, with as many pairs as `--pairs` says. Standard output gets the tables. Exits with 1 if a level is outside the
interval in which all 16 lie together with a probability of 99.9%.
"""

import functools
import pathlib
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.stats

import manycaps
from manycaps.kit.paired_tests import paired_tests
from manycaps.kit.sets_module import DISTRIBUTION_DEFAULTS, compare_rows
from manycaps.kit.words_ptb import ptb_tokenize
from scripts.studies.caption_rows import Captions, distinct_captions, read_images
from scripts.studies.study_frame import Line, StudyTable, print_table
from scripts.studies.study_options import Options, add_output, tool_parser

parser = tool_parser(__doc__)
parser.add_argument("--data", type=pathlib.Path, required=True, metavar="FOLDER")
add_output(parser)
parser.add_argument("--pairs", type=int, default=1000, metavar="N", help="pairs of systems of a setting")
parser.add_argument("--level", type=int, nargs=3, metavar="N", help="candidates, rows and rows of a clip")
parse = parser.parse_args

KEY = ("n_candidates", "n_references", "n_rows", "rows_a_cluster", "damage", "share", "n_pairs")
COLUMNS = ("metric", "rejected", "rejected_unclustered", "rejected_by_t_test")

LEVEL = 0.05

# Chance that the counts of all lines of a level are inside their intervals.
INTERVAL = 0.999

# Pairs of systems with a damage, at most.
N_DAMAGED_PAIRS = 500

# Values of a row that are compared.
METRICS = ("trm_meteor", "meteor")

OPTIONS = {**DISTRIBUTION_DEFAULTS, "statistic": "per_side"}


class Setting(NamedTuple):
    """How pairs of systems are simulated."""

    n_candidates: int
    n_rows: int
    rows_a_cluster: int = 1
    damage: str = "none"
    share: float = 0.0


LEVEL_SETTINGS = [
    Setting(n_candidates, n_rows, rows_a_cluster)
    for n_rows, most in ((20, 2), (200, 4))
    for n_candidates in (5, 10)
    for rows_a_cluster in (1, most)
]
POWER_SETTINGS = [
    Setting(5, 60, damage=damage, share=share)
    for damage, shares in (("repetition", (0.05, 0.1)), ("wrong captions", (0.1, 0.2)), ("other image", (0.05, 0.1)))
    for share in shares
]

# Counts of a level: of every setting and metric.
N_LEVELS = len(LEVEL_SETTINGS) * len(METRICS)

N_REFERENCES = 5

# Captions of a system and a clip, where rows are clustered.
N_POOLED = 3


def draw_pair(images: Captions, setting: Setting, rng: np.random.Generator) -> tuple[Captions, Captions, Captions]:
    """Simulate two systems that do not differ but for the damage of the second: their candidates, and references."""
    n, rows = setting.n_candidates, []
    for _ in range(setting.n_rows // setting.rows_a_cluster):
        captions = images[rng.integers(len(images))]
        drawn = [captions[k] for k in rng.permutation(len(captions))]
        references, first, second = drawn[:N_REFERENCES], drawn[N_REFERENCES:][:n], drawn[N_REFERENCES + n :][:n]
        for _ in range(setting.rows_a_cluster):
            pools = (first, second)
            if setting.rows_a_cluster > 1:
                pools = tuple([pool[k] for k in rng.integers(N_POOLED, size=n)] for pool in pools)
            rows.append((pools[0], damage_row(pools[1], images, setting, rng), references))
    first, second, references = map(list, zip(*rows, strict=True))
    return first, second, references


def damage_row(candidates: Sequence[str], images: Captions, setting: Setting, rng: np.random.Generator) -> list[str]:
    """Damage the candidates of a row, or leave them."""
    other = images[rng.integers(len(images))]
    others = [other[k] for k in rng.permutation(len(other))[: len(candidates)]]
    if setting.damage == "wrong captions":
        replaced = rng.random(len(candidates)) < setting.share
        return [theirs if swap else mine for mine, theirs, swap in zip(candidates, others, replaced, strict=True)]
    if rng.random() < setting.share:
        return list(candidates[:1]) * len(candidates) if setting.damage == "repetition" else others
    return list(candidates)


class Study:
    """Counts rejections; captions are read and tokenized when the first cell needs them."""

    def __init__(self, folder: pathlib.Path):
        self._images = functools.cache(lambda: read_images(folder, "MSVD"))

    @functools.cached_property
    def _module(self) -> Any:
        captions = distinct_captions(self._images())
        tokens = dict(zip(captions, ptb_tokenize(captions), strict=True))
        return manycaps.load("trm_meteor", tokenizer=tokens.__getitem__)

    def _values(self, predictions: Captions, references: Captions) -> np.ndarray:
        """Return the values of every row, shape (n_rows, len(METRICS))."""
        options = {**self._module.load_options, **OPTIONS}
        rows = self._module.rows_of(predictions, references, options)
        compared = compare_rows(rows, options, lambda batches, **_: batches)
        return np.stack([compared.statistic, compared.plain], axis=1)

    def lines(self, *cell: Any) -> list[list[Any]]:
        """Return the line of each metric."""
        n_candidates, _, *others, n_pairs = cell
        setting = Setting(n_candidates, *others)
        counts = np.zeros((len(METRICS), 3), dtype=int)
        for pair in range(n_pairs):
            rng = np.random.default_rng((pair, *setting[:3], int(1000 * setting.share), len(setting.damage)))
            *systems, references = draw_pair(self._images(), setting, rng)
            first, second = (self._values(candidates, references) for candidates in systems)
            clusters = (np.arange(setting.n_rows) // setting.rows_a_cluster).tolist()
            clustered, single = (
                [test.p_value for test in paired_tests(first, second, each, n_resamples=999, seed=pair)]
                for each in (clusters, None)
            )
            t_tests = scipy.stats.ttest_rel(first, second).pvalue
            counts += np.stack([clustered, single, t_tests], axis=1) <= LEVEL
        return [[metric, *metric_counts] for metric, metric_counts in zip(METRICS, counts.tolist(), strict=True)]


def is_level(line: Line) -> bool:
    """Say whether a line is of systems that do not differ."""
    return line["damage"] == "none"


def is_inside(line: Line) -> bool:
    """Say whether the level of a line is where all levels lie together with the probability `INTERVAL`."""
    low, high = scipy.stats.binom.interval(1 - (1 - INTERVAL) / N_LEVELS, int(line["n_pairs"]), LEVEL)
    return bool(low <= int(line["rejected"]) <= high)


def print_tables(lines: Sequence[Line]) -> None:
    """Print the tables of the levels and of the power, in percent of the pairs."""
    levels, powers = [], []
    for line in lines:
        metric, pairs = f"`{line['metric']}`", f"{int(line['n_pairs']):,}"
        test, unclustered, t_test = (f"{100 * int(line[column]) / int(line['n_pairs']):.1f}" for column in COLUMNS[1:])
        if is_level(line):
            size, ignored = f"{line['n_candidates']} + {line['n_references']}", line["rows_a_cluster"] != "1"
            design = [size, line["n_rows"], line["rows_a_cluster"], pairs]
            levels.append([metric, *design, test, unclustered if ignored else "", t_test])
        else:
            powers.append([metric, line["damage"], line["share"], pairs, test, t_test])
    print_table(["metric", "captions", "rows", "of a clip", "pairs", "test", "clusters ignored", "t-test"], levels)
    print()
    print_table(["metric", "damage of the second system", "share", "pairs", "test", "t-test"], powers)


def main(options: Options) -> int:
    """Compute what the table does not have yet, then print it."""
    settings = [Setting(*options.level)] if options.level else [*LEVEL_SETTINGS, *POWER_SETTINGS]
    cells = []
    for setting in settings:
        n_pairs = options.pairs if setting.damage == "none" else min(options.pairs, N_DAMAGED_PAIRS)
        cells.append((setting.n_candidates, N_REFERENCES, *setting[1:], n_pairs))
    lines = StudyTable(options.output, "paired_test_study", KEY, COLUMNS, {}).fill(cells, Study(options.data).lines)
    print_tables(lines)
    outside = [line for line in lines if is_level(line) and not is_inside(line)]
    for line in outside:
        named = " ".join(line[column] for column in ("metric", *KEY))
        print(f"outside of the binomial interval: {named}", file=sys.stderr)
    return 1 if outside else 0


if __name__ == "__main__":
    sys.exit(main(parse()))
