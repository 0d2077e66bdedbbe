"""Level and power of the paired test of two systems: how often does it find a difference where there is none, or one?

python -m scripts.studies.paired_test_study --data FOLDER [--output paired.csv] [--pairs 1000]
python -m scripts.studies.paired_test_study --data FOLDER --pairs 3000 --level 5 20 2

FOLDER holds msvd_val_references.txt (`clip<TAB>caption`, 25 to 62 captions for each of 100 clips). Two simulated
systems get human captions, and so do the references: for each row a clip is drawn at random, and of its captions in
random order the first 5 are references, the next 5 or 10 the first system's and the next 5 or 10 the second's. Their
values of `trm_meteor`, the statistic and plain METEOR of every row, go through the functions that `manycaps compare`
calls, with the number of the pair as the seed.

Level. 20 and 200 rows of 5 + 5 and 10 + 5 captions. Clustered: several rows are of one clip, two in 20 rows and four in
200, with the same references, and each system has three captions of the clip, of which every row's candidates are drawn
with replacement; the test is told which rows belong together, and `rejected_unclustered` is what it says if it is not.
The 16 counts are inside their binomial intervals all together with a probability of 99.9 %.

Power. 60 rows of 5 + 5 captions, 500 pairs at most; the second system is damaged. "repetition": in a share of the rows
the first candidate stands in place of all; "wrong captions": each candidate is one of another clip with that
probability; "other image": in a share of the rows all candidates are those of another clip. Beside the test stands the
paired t-test (`scipy.stats.ttest_rel`).

The file gets one line for each metric and setting; lines that it has already are not computed again. `--level` with a
number of candidates, of rows and of rows of a clip computes this level alone, with as many pairs as `--pairs` says.
Standard output gets the tables of the whole file. Exits with 1 if a level is outside its interval. Needs
scripts/requirements.txt.
"""

import argparse
import csv
import pathlib
import sys
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from scripts.command_line import start_tool


def parsed(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse a command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=pathlib.Path, required=True, metavar="FOLDER")
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("paired.csv"), metavar="FILE")
    parser.add_argument("--pairs", type=int, default=1000, metavar="N", help="pairs of systems of a setting")
    parser.add_argument("--level", type=int, nargs=3, metavar="N", help="candidates, rows and rows of a clip")
    return parser.parse_args(arguments)


start_tool(__name__, parsed, "scripts/requirements.txt", needs_wordnet=True)

import numpy as np
import scipy.stats
from tqdm import tqdm

import manycaps
from manycaps.comparison.paired_tests import paired_tests
from manycaps.kit.sets_module import DISTRIBUTION_DEFAULTS, compare_rows
from manycaps.kit.text_ptb_tokenizer import tokenize_captions
from scripts.studies.caption_rows import Captions, read_images
from scripts.studies.study_frame import write_lines

LEVEL = 0.05

# Chance that the counts of all lines of a level are inside their intervals.
INTERVAL = 0.999

# Pairs of systems with a damage, at most.
N_DAMAGED_PAIRS = 500

# Values of a row that are compared.
METRICS = ("trm_meteor", "meteor")

OPTIONS = {**DISTRIBUTION_DEFAULTS, "statistic": "per_side"}

COLUMNS = [
    *("metric", "n_candidates", "n_references", "n_rows", "rows_a_cluster", "damage", "share", "n_pairs"),
    *("rejected", "rejected_unclustered", "rejected_by_t_test"),
]
N_KEY_COLUMNS = COLUMNS.index("rejected")


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


class Systems(NamedTuple):
    """Candidates of two systems, and references, of all rows."""

    first: list[list[str]]
    second: list[list[str]]
    references: list[list[str]]


def draw_systems(images: Captions, setting: Setting, rng: np.random.Generator) -> Systems:
    """Simulate two systems that do not differ but for the damage of the second."""
    n, systems = setting.n_candidates, Systems([], [], [])
    for _ in range(setting.n_rows // setting.rows_a_cluster):
        captions = images[rng.integers(len(images))]
        drawn = [captions[k] for k in rng.permutation(len(captions))]
        references, first, second = drawn[:N_REFERENCES], drawn[N_REFERENCES:][:n], drawn[N_REFERENCES + n :][:n]
        for _ in range(setting.rows_a_cluster):
            pools = (first, second)
            if setting.rows_a_cluster > 1:
                pools = tuple([pool[k] for k in rng.integers(N_POOLED, size=n)] for pool in pools)
            systems.first.append(pools[0])
            systems.second.append(damaged(pools[1], images, setting, rng))
            systems.references.append(references)
    return systems


def damaged(candidates: Sequence[str], images: Captions, setting: Setting, rng: np.random.Generator) -> list[str]:
    """Damage the candidates of a row, or leave them."""
    other = images[rng.integers(len(images))]
    others = [other[k] for k in rng.permutation(len(other))[: len(candidates)]]
    if setting.damage == "wrong captions":
        replaced = rng.random(len(candidates)) < setting.share
        return [theirs if swap else mine for mine, theirs, swap in zip(candidates, others, replaced, strict=True)]
    if rng.random() < setting.share:
        return list(candidates[:1]) * len(candidates) if setting.damage == "repetition" else others
    return list(candidates)


class MeteorValues:
    """Values of rows of captions by `trm_meteor`; each caption is tokenized once."""

    def __init__(self, images: Captions):
        """Prepare the captions of all images."""
        distinct = list(dict.fromkeys(caption for image in images for caption in image))
        tokens = dict(zip(distinct, tokenize_captions(distinct), strict=True))
        self._module = manycaps.load("trm_meteor", tokenizer=tokens.__getitem__)

    def of(self, predictions: Captions, references: Captions) -> np.ndarray:
        """Return the values of every row, shape (n_rows, len(METRICS))."""
        options = {**self._module.load_options, **OPTIONS}
        compared = compare_rows(self._module.rows_of(predictions, references, options), options, _no_bar)
        return np.stack([compared.statistic, compared.plain], axis=1)


def _no_bar(steps: Iterable[Any], **_: Any) -> Iterable[Any]:
    return steps


def count_rejections(values: MeteorValues, images: Captions, setting: Setting, n_pairs: int) -> list[list[int]]:
    """Return the last columns of the lines of each metric."""
    counts = np.zeros((len(METRICS), 3), dtype=int)
    for pair in tqdm(range(n_pairs), desc=" ".join(map(str, setting)), unit="pair"):
        rng = np.random.default_rng((pair, *setting[:3], int(1000 * setting.share), len(setting.damage)))
        systems = draw_systems(images, setting, rng)
        first, second = (values.of(candidates, systems.references) for candidates in systems[:2])
        clusters = np.arange(setting.n_rows) // setting.rows_a_cluster
        clustered = paired_tests(first, second, clusters.tolist(), n_resamples=999, seed=pair)
        single = clustered
        if setting.rows_a_cluster > 1:
            single = paired_tests(first, second, None, n_resamples=999, seed=pair)
        t_tests = scipy.stats.ttest_rel(first, second).pvalue
        counts += [
            [one.p_value <= LEVEL, other.p_value <= LEVEL, t_test <= LEVEL]
            for one, other, t_test in zip(clustered, single, t_tests, strict=True)
        ]
    return counts.tolist()


def key_of(metric: str, setting: Setting, n_pairs: int) -> list[str]:
    """Return the first columns of a line."""
    n_candidates, *others = map(str, setting)
    return [metric, n_candidates, str(N_REFERENCES), *others, str(n_pairs)]


def interval(n_pairs: int) -> tuple[float, float]:
    """Return the counts between which all levels lie together with the probability `INTERVAL`."""
    low, high = scipy.stats.binom.interval(1 - (1 - INTERVAL) / N_LEVELS, n_pairs, LEVEL)
    return float(low), float(high)


def is_level(line: Sequence[str]) -> bool:
    """Whether a line is of systems that do not differ."""
    return line[COLUMNS.index("damage")] == "none"


def is_inside(line: Sequence[str]) -> bool:
    """Whether the level of a line is inside its interval."""
    low, high = interval(int(line[COLUMNS.index("n_pairs")]))
    return low <= int(line[N_KEY_COLUMNS]) <= high


def as_tables(lines: Sequence[Sequence[str]]) -> str:
    """Write the lines of a file as two Markdown tables, of the levels and of the power, in percent of the pairs."""
    levels = ["metric", "captions", "rows", "of a clip", "pairs", "test", "clusters ignored", "t-test", "bootstrap"]
    powers = ["metric", "damage of the second system", "share", "pairs", "test", "t-test", "bootstrap"]
    rows: dict[bool, list[list[str]]] = {True: [levels], False: [powers]}
    for line in lines:
        metric, n_candidates, n_references, n_rows, rows_a_cluster, damage, share, n_pairs = line[:N_KEY_COLUMNS]
        test, unclustered, *others = (f"{100 * int(n) / int(n_pairs):.1f}" for n in line[N_KEY_COLUMNS:])
        pairs = f"{int(n_pairs):,}"
        if is_level(line):
            design = [f"{n_candidates} + {n_references}", n_rows, rows_a_cluster]
            ignored = unclustered if int(rows_a_cluster) > 1 else ""
            rows[True].append([f"`{metric}`", *design, pairs, test, ignored, *others])
        else:
            rows[False].append([f"`{metric}`", damage, share, pairs, test, *others])
    return "\n\n".join("\n".join(_table_lines(table)) for table in rows.values())


def _table_lines(rows: Sequence[Sequence[str]]) -> list[str]:
    head, *others = (f"| {' | '.join(row)} |" for row in rows)
    return [head, "|---" * len(rows[0]) + "|", *others]


def chosen_settings(n_pairs: int, level: Sequence[int] | None) -> dict[Setting, int]:
    """Return the settings to compute, with their numbers of pairs: all of them, or one level."""
    if level:
        return {Setting(*level): n_pairs}
    counts = dict.fromkeys(LEVEL_SETTINGS, n_pairs)
    return counts | {setting: min(n_pairs, N_DAMAGED_PAIRS) for setting in POWER_SETTINGS}


def main(folder: pathlib.Path, output: pathlib.Path, n_pairs: int, level: Sequence[int] | None = None) -> int:
    """Compute what the file does not have yet, then print the file."""
    lines = list(csv.reader(output.read_text(encoding="utf-8").splitlines()))[1:] if output.exists() else []
    done = [line[:N_KEY_COLUMNS] for line in lines]
    counts = chosen_settings(n_pairs, level)
    missing = [setting for setting, n in counts.items() if key_of(METRICS[0], setting, n) not in done]
    if missing:
        images = read_images(folder, "MSVD")
        values = MeteorValues(images)
        for setting in missing:
            rejected = count_rejections(values, images, setting, counts[setting])
            for metric, numbers in zip(METRICS, rejected, strict=True):
                lines.append([*key_of(metric, setting, counts[setting]), *map(str, numbers)])
            write_lines(output, COLUMNS, lines)
    print(as_tables(lines))
    outside = [line for line in lines if is_level(line) and not is_inside(line)]
    for line in outside:
        print(f"outside of the binomial interval: {' '.join(line[:N_KEY_COLUMNS])}", file=sys.stderr)
    return 1 if outside else 0


if __name__ == "__main__":
    options = parsed()
    sys.exit(main(options.data, options.output, options.pairs, options.level))
