"""Are the words about several systems beside people true, and is what they promise found?

python -m scripts.studies.human_parity_pairs [--data FOLDER --corpus MSVD] [--output FOLDER]

The speakers of `parity_speakers.py` on the same rows, by MiniLM, or as made points without a corpus. Five kinds of
cells:

"ten": ten systems of people; "said": something is said against one of them after Holm's rule, "raw": before it.
"pairs": how often each kind of sentence is said of two speakers, and by share of corpora what is false in them:
"dominates falsely": in a share or in the fidelity gap the other one is truly nearer to people, or has the lower gap;
"lag": by how much at most; "nearer falsely": a share is said to be nearer to people's 5 % that
is not; "excused": a share that is shown to be nearer is left out, as that of a system with more wrong captions.
"within": people, and people with 3 % of gross faults, by a margin as large as the larger gap of the faulty ones: both
"within" are false.
"detectable": people, one of them shifted by the detectable difference of the fidelity gaps (its mean over corpora), and
the diversity gap by nothing, or along the regression on the fidelity gap, where it helps least ("worst"): how often the
pair with the first one is found. "gap": the difference, infinity where there are too few rows.
"plan": corpora with as many rows as `plan_wrong_captions` asks for, planned from a pilot of 400 rows: how often wrong
captions of that share are found by either test. "rows": how many these are.

Written: human_parity_pairs.csv and the picture. Needs scripts/requirements.txt, metrics/trm_bert/requirements.txt and
metrics/pac_score/requirements.txt.
"""

import argparse
import collections
import functools
import itertools
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from scripts.command_line import start_tool
from scripts.studies.study_frame import Line, StudyTable, add_frame_options, matching, numbers, study_settings
from scripts.studies.study_options import add_parity_options


def parsed(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse a command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_frame_options(parser)
    add_parity_options(parser, ("MiniLM",))
    parser.add_argument("--simulations", type=int, default=1_000, metavar="N", help="corpora of a cell, default 1000")
    return parser.parse_args(arguments)


start_tool(
    __name__,
    parsed,
    "scripts/requirements.txt",
    "metrics/trm_bert/requirements.txt",
    "metrics/pac_score/requirements.txt",
)

import numpy as np

from manycaps.comparison.paired_tests import N_RESAMPLES, holm_p_values
from manycaps.comparison.parity import ComparedParity, ParityRows, compared_parity
from manycaps.comparison.parity_pairs import DetectableGap, ParityPair, joint_sign_flip_tests
from manycaps.functional_parity import plan_wrong_captions
from manycaps.kit.sets_parity import GAPS, row_columns
from manycaps.kit.sets_parity_power import joint_p_value
from manycaps.kit.sets_parity_words import words_of
from manycaps.kit.sets_tails import TAIL, TESTED
from scripts.studies.parity_pools import kept_distances, parity_of, read_pool
from scripts.studies.parity_speakers import KnownSpeaker, VectorPool, corpora, pilot_rows, vector_pool
from scripts.studies.study_pictures import BLACK, BLUE, GREEN, ORANGE, PURPLE, SKY, label_axes, new_picture

NAME = "human_parity_pairs"
KEY = ("kind", "n_candidates", "n_references", "n_rows", "setting")
COLUMNS = ("measure", "value", "is_false")

# Options of the test run.
SMALL = ("--simulations", "3")

LEVEL = 0.05

# Sizes of the rows of two speakers, and of ten; of single captions beside two or more references where there are five.
PAIR_SIZES: Mapping[str | None, Mapping[tuple[int, int], int]] = {
    None: {(1, 4): 200, (5, 5): 60},
    "MSVD": {(5, 5): 60},
    "Flickr8k": {(1, 3): 200},
}
TEN_SIZES: Mapping[str | None, Sequence[tuple[int, int]]] = {None: ((1, 4), (5, 5)), "MSVD": ((1, 5),), "Flickr8k": ()}
TEN_ROWS = (10, 20, 60)

# Pairs of speakers.
PEOPLE, GARBAGE = KnownSpeaker(), KnownSpeaker(1.0)
WRONG = {percent: KnownSpeaker(percent / 100) for percent in (3, 10, 20)}
BLAND = {percent: KnownSpeaker(percent / 100, is_bland=True) for percent in (0, 5, 10, 20, 30)}
PAIRS = {
    f"{one.name} / {other.name}": (one, other)
    for one, other in (
        (PEOPLE, PEOPLE),
        (PEOPLE, WRONG[10]),
        (WRONG[10], WRONG[20]),
        (PEOPLE, BLAND[0]),
        (PEOPLE, BLAND[20]),
        (WRONG[10], BLAND[0]),
        (WRONG[10], BLAND[10]),
        (WRONG[20], BLAND[5]),
        (WRONG[10], BLAND[30]),
        (BLAND[0], BLAND[10]),
        (BLAND[5], BLAND[20]),
        (GARBAGE, PEOPLE),
        (GARBAGE, BLAND[0]),
        (GARBAGE, BLAND[20]),
    )
}
KINDS = ("copies", "alike", "gaps", "better", "dominates", "trade-off")

# Random sign patterns of a pair, fewer than by default, and rows of the corpora that say what is true.
N_SIGNS, N_TRUE_ROWS = 999, 20_000

# What true shares of so many rows may be off by: three standard errors.
TRUE_ERROR = 0.005

# Rows of the equivalence tests: so few that gross faults can be missing, and many.
WITHIN_ROWS = (15, 60)

DETECTABLE_ROWS, DETECTABLE_SYSTEMS = (10, 20, 40, 100), (2, 3, 10)

# Sizes of the detectable gaps; ten systems of made points alone have captions enough.
DETECTABLE_SIZES: Mapping[str | None, Mapping[tuple[int, int], Sequence[int]]] = {
    None: {(1, 4): DETECTABLE_SYSTEMS, (5, 5): DETECTABLE_SYSTEMS},
    "MSVD": {(1, 5): DETECTABLE_SYSTEMS, (5, 5): (2, 3)},
    "Flickr8k": {(1, 2): (2, 3)},
}

# Shares of wrong captions that are planned for.
PLAN_SIZES: Mapping[str | None, Sequence[tuple[int, int]]] = {
    None: ((1, 4), (5, 5)),
    "MSVD": ((1, 5), (5, 5)),
    "Flickr8k": ((1, 2), (1, 4)),
}
PLANNED = (0.03, 0.05, 0.1, 0.2)
N_PILOT_ROWS = 400
COLORS = (BLUE, ORANGE, GREEN, PURPLE, SKY, BLACK)


def compared(
    rows: Sequence[np.ndarray], m: int, n_resamples: int = N_SIGNS, margin: float | None = None
) -> ComparedParity:
    """Compare speakers, by their rows; their names are their numbers."""
    systems = {str(i): ParityRows(row_columns(of_one, m), kept_distances(of_one, m)) for i, of_one in enumerate(rows)}
    return compared_parity(systems, None, distance="bert", margin=margin, n_resamples=n_resamples, seed=0)


class Truth(NamedTuple):
    """What is true of two speakers: their results for many rows."""

    first: Mapping[str, Any]
    second: Mapping[str, Any]

    def excess(self, key: str) -> float:
        """How much farther the first one is from people's 5 % in a share, or how much higher its fidelity gap is."""
        if key == GAPS[0]:
            return float(self.first[key] - self.second[key])
        return float(abs(self.first[key] - TAIL) - abs(self.second[key] - TAIL))

    def is_farther(self, name: str | None, key: str) -> bool:
        """Whether a system is truly farther from people than the other one."""
        return (self.excess(key) if name == "0" else -self.excess(key)) > (0 if key == GAPS[0] else TRUE_ERROR)

    def false_claims(self, pair: ParityPair) -> Iterator[str]:
        """Yield what is said of a pair and not true."""
        keys = [share.key for share in pair.shares]
        if any(share.better and self.is_farther(share.better, share.key) for share in pair.shares):
            yield "nearer falsely"
        if pair.kind == "dominates" and any(self.is_farther(pair.better, key) for key in (*keys, GAPS[0])):
            yield "dominates falsely"
        if any(not share.better and max(share.p_value, share.nearer_p_value) <= LEVEL for share in pair.shares):
            yield "excused"

    def lag(self) -> float:
        """By how much the system that is nearer in one share is farther in another: the smaller of both."""
        excesses = [self.excess(key) for key in TESTED if not np.isnan(self.excess(key))]
        return max(0.0, min(max(excesses), -min(excesses)))


def truth_of(
    pool: VectorPool, size: tuple[int, int], n_rows: int, speakers: Sequence[KnownSpeaker], seed: int
) -> Truth:
    """Return the results of two speakers for many rows."""
    drawn = corpora(pool, size, speakers, n_rows, N_TRUE_ROWS // n_rows, (seed, 1))
    return Truth(*(parity_of(np.concatenate(rows), size[0]) for rows in zip(*drawn, strict=True)))


class Study:
    """Draws corpora, and counts; captions are read when a cell first needs them."""

    def __init__(self, options: argparse.Namespace):
        """Take the options."""
        self._n_corpora, self._seed = options.simulations, options.seed
        self._pool = functools.cache(lambda: vector_pool(read_pool(options) if options.corpus else None, options.seed))

    def lines(self, kind: str, m: int, n: int, n_rows: int, setting: str) -> Iterator[list[Any]]:
        """Return the lines of a cell."""
        if kind == "ten":
            return self._ten((m, n), n_rows)
        if kind == "pairs":
            return self._pairs((m, n), n_rows, *PAIRS[setting])
        if kind == "within":
            return self._within((m, n), n_rows)
        if kind == "detectable":
            return self._detectable((m, n), n_rows, int(setting.split()[0]), is_worst=setting.endswith("worst"))
        return self._planned((m, n), float(setting))

    def _corpora(self, size: tuple[int, int], speakers: Sequence[KnownSpeaker], n_rows: int) -> Iterator[Any]:
        return corpora(self._pool(), size, speakers, n_rows, self._n_corpora, (self._seed,))

    def _ten(self, size: tuple[int, int], n_rows: int) -> Iterator[list[Any]]:
        """As in `compared_parity`, which would compare 45 pairs besides."""
        n_raw, n_said = 0, 0
        for rows in self._corpora(size, [PEOPLE] * 10, n_rows):
            results = [parity_of(of_one, size[0]) for of_one in rows]
            p_values = np.array([result["human_parity_p_value"] for result in results])
            n_raw += bool((p_values <= LEVEL).any())
            n_said += something_said(results, holm_p_values(p_values))
        yield ["raw", n_raw / self._n_corpora, ""]
        yield ["said", n_said / self._n_corpora, "yes"]

    def _pairs(
        self, size: tuple[int, int], n_rows: int, first: KnownSpeaker, second: KnownSpeaker
    ) -> Iterator[list[Any]]:
        truth = truth_of(self._pool(), size, n_rows, (first, second), self._seed)
        counts: collections.Counter[str] = collections.Counter()
        for rows in self._corpora(size, (first, second), n_rows):
            (pair,) = compared(rows, size[0]).pairs
            # Two people are not exactly alike by `truth`, so that all that is said of them is false.
            counts.update({pair.kind, *truth.false_claims(pair)})
        for kind in KINDS:
            is_false = kind in ("gaps", "better", "dominates", "trade-off") and first == second
            yield [kind, counts[kind] / self._n_corpora, "yes" if is_false else ""]
        for claim in ("nearer falsely", "dominates falsely"):
            yield [claim, counts[claim] / self._n_corpora, "yes"]
        yield ["excused", counts["excused"] / self._n_corpora, ""]
        yield ["lag", truth.lag(), ""]

    def _within(self, size: tuple[int, int], n_rows: int) -> Iterator[list[Any]]:
        truth = truth_of(self._pool(), size, n_rows, (PEOPLE, WRONG[3]), self._seed)
        margin = max(truth.second[gap] for gap in GAPS if not np.isnan(truth.second[gap]))
        counts: collections.Counter[str] = collections.Counter()
        for rows in self._corpora(size, (PEOPLE, WRONG[3]), n_rows):
            comparison = compared(rows, size[0], N_SIGNS, margin)
            counts["system within"] += comparison.within["1"]
            counts["pair within"] += bool(comparison.pairs[0].within_margin)
        yield from ([name, counts[name] / self._n_corpora, "yes"] for name in ("system within", "pair within"))

    def _detectable(self, size: tuple[int, int], n_rows: int, n_systems: int, *, is_worst: bool) -> Iterator[list[Any]]:
        pairs = list(itertools.combinations(range(n_systems), 2))
        drawn = [
            [row_columns(of_one, size[0]) for of_one in rows]
            for rows in self._corpora(size, [PEOPLE] * n_systems, n_rows)
        ]
        gaps = [[np.nan_to_num(np.stack([each[gap] for gap in GAPS], axis=1)) for each in rows] for rows in drawn]
        detectable = [
            DetectableGap.of(of_all[0] - of_all[1], None, len(pairs), N_RESAMPLES, both=n_rows >= 10) for of_all in gaps
        ]
        gap = float(np.mean([each.gap for each in detectable]))
        yield ["gap", gap, ""]
        if np.isinf(gap):
            yield ["least rows", detectable[0].least_rows, ""]
            return
        covariance = np.cov(np.concatenate([of_all[0] - of_all[1] for of_all in gaps]).T)
        shift = gap * np.array([1.0, covariance[0, 1] / covariance[0, 0] if is_worst else 0.0])
        yield ["found", np.mean([is_found([of_all[0] + shift, *of_all[1:]], pairs) for of_all in gaps]), ""]

    def _planned(self, size: tuple[int, int], share: float) -> Iterator[list[Any]]:
        m, _ = size
        pilot = pilot_rows(self._pool(), size, N_PILOT_ROWS, np.random.default_rng((self._seed, *size)))
        n_rows = int(plan_wrong_captions(pilot, m, share))
        p_values = [
            parity_of(rows, m)["human_parity_p_value"] for (rows,) in self._corpora(size, [KnownSpeaker(share)], n_rows)
        ]
        yield ["rows", n_rows, ""]
        yield ["found", np.mean(np.array(p_values) <= LEVEL), ""]


def something_said(results: Sequence[Mapping[str, Any]], p_values: np.ndarray) -> bool:
    """Whether something is said against a system, at these p-values."""
    words = [words_of(result, float(p)) for result, p in zip(results, p_values, strict=True)]
    return any(word.name not in ("alike", "untested") for of_one in words for word in of_one)


def is_found(gaps: Sequence[np.ndarray], pairs: Sequence[tuple[int, int]]) -> bool:
    """Whether the test finds the first pair, after Holm's rule over all; shares say nothing there."""
    p_values = joint_sign_flip_tests([gaps[i] - gaps[j] for i, j in pairs], N_RESAMPLES, 0)
    return bool(holm_p_values(np.array([joint_p_value(p, 1.0) for p in p_values]))[0] <= LEVEL)


def cells(options: argparse.Namespace) -> Iterator[tuple[str, int, int, int, str]]:
    """Yield what is counted."""
    for size, n_rows in itertools.product(TEN_SIZES[options.corpus], TEN_ROWS):
        yield "ten", *size, n_rows, PEOPLE.name
    for size, n_rows in PAIR_SIZES[options.corpus].items():
        yield from (("pairs", *size, n_rows, pair) for pair in PAIRS)
        yield from (("within", *size, rows, WRONG[3].name) for rows in WITHIN_ROWS)
    for size, systems in DETECTABLE_SIZES[options.corpus].items():
        for n_rows, n_systems in itertools.product(DETECTABLE_ROWS, systems):
            yield "detectable", *size, n_rows, f"{n_systems} systems, worst"
            if size[0] > 1:
                yield "detectable", *size, n_rows, f"{n_systems} systems"
    for size, share in itertools.product(PLAN_SIZES[options.corpus], PLANNED):
        yield "plan", *size, 0, f"{share:g}"


def draw_picture(lines: Sequence[Line], title: str, output: Any) -> None:
    """Draw how often detectable differences, and planned shares, are found."""
    with new_picture(output, NAME, 9.5, 4) as figure:
        left, right = figure.subplots(1, 2, sharey=True)
        found = [line for line in matching(lines, kind="detectable", measure="found") if "worst" in line["setting"]]
        keys = dict.fromkeys((line["n_candidates"], line["n_references"], line["setting"]) for line in found)
        for (m, n, setting), color in zip(keys, COLORS, strict=False):
            mine = matching(found, n_candidates=m, n_references=n, setting=setting)
            label = f"{m} + {n}, {setting.removesuffix(', worst')}"
            left.plot(numbers(mine, "n_rows"), numbers(mine, "value"), "o-", ms=3, color=color, label=label)
        planned = matching(lines, kind="plan", measure="found")
        for (m, n), color in zip(
            dict.fromkeys((line["n_candidates"], line["n_references"]) for line in planned), COLORS, strict=False
        ):
            mine = matching(planned, n_candidates=m, n_references=n)
            right.plot(numbers(mine, "setting"), numbers(mine, "value"), "o-", ms=3, color=color, label=f"{m} + {n}")
        for axes, name in ((left, "rows"), (right, "share of wrong captions planned for")):
            axes.axhspan(0.76, 0.84, color="#dddddd")
            axes.set_ylim(0.5, 1.02)
            label_axes(axes, name, "share found")
            axes.legend(fontsize=7)
        figure.suptitle(f"{title}: what should be found 80 % of the time")


def main(options: argparse.Namespace) -> int:
    """Count what the table does not have yet, then draw it."""
    table = StudyTable(options.output, NAME, KEY, COLUMNS, study_settings(options))
    lines = table.fill(cells(options), Study(options).lines)
    draw_picture(lines, options.corpus or "made points", options.output)
    for line in lines:
        if line["is_false"] == "yes" and float(line["value"]) > LEVEL:
            print("  ".join(line.values()))
    return 0


if __name__ == "__main__":
    sys.exit(main(parsed()))
