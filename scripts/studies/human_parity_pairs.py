"""Are the words about several systems beside people true, and is what they promise found?

python -m scripts.studies.human_parity_pairs [--data FOLDER --corpus MSVD] [--output FOLDER]

The speakers of `parity_speakers.py` on the same rows, by MiniLM, or as made points without a corpus. Four kinds of
cells:

"ten": ten systems of people; "said": something is said against one of them after Holm's rule, "raw": before it.
"pairs": how often each kind of sentence is said of two speakers, and by share of corpora what is false in them:
"fewer faults falsely", "likeness falsely": of a system that truly has more captions unlike people's, or that is farther
from people's 5 % in another share.
"within": people, and people with 3 % of gross faults, by a margin as large as the larger gap of the faulty ones: both
"within" are false.
"detectable": people, one of them shifted by the detectable difference of the fidelity gaps (its mean over corpora), and
the diversity gap by nothing, or along the regression on the fidelity gap, where it helps least ("worst"): how often the
pair with the first one is found. "gap": the difference, infinity where there are too few rows.

Written: human_parity_pairs.csv and the picture.
"""

from scripts.studies.study_options import Options, add_parity_options, start_study, study_parser

parser = study_parser(__doc__)
add_parity_options(parser, ("MiniLM",))
parser.add_argument("--simulations", type=int, default=1_000, metavar="N", help="corpora of a cell, default 1000")
parsed = start_study(__name__, parser, "scripts", "metrics/trm_bert", "metrics/pac_score")

import functools
import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from manycaps.comparison.paired_tests import N_RESAMPLES, holm_p_values
from manycaps.comparison.parity import ComparedParity, ParityRows, compared_parity
from manycaps.comparison.parity_pairs import FAULTS, DetectableGap, ParityPair, joint_sign_flip_tests
from manycaps.kit.sets_parity import GAPS, row_columns
from manycaps.kit.sets_parity_power import joint_p_value
from manycaps.kit.sets_parity_words import words_of
from manycaps.kit.sets_tails import TAIL
from scripts.studies.parity_pools import kept_distances, parity_of, read_pool
from scripts.studies.parity_speakers import KnownSpeaker, VectorPool, corpora, vector_pool
from scripts.studies.split_tests import LEVEL
from scripts.studies.study_frame import Line, StudyTable, distinct, matching, numbers, study_settings
from scripts.studies.study_pictures import BLACK, BLUE, GREEN, ORANGE, PURPLE, SKY, label_axes, new_picture

NAME = "human_parity_pairs"
KEY = ("kind", "n_candidates", "n_references", "n_rows", "setting")
COLUMNS = ("measure", "value", "is_false")

# Sizes of ten systems; sizes and rows of two speakers, of single captions beside two or more references where there are
# five; and sizes of the detectable gaps with the numbers of systems, of which made points alone have captions enough
# for ten.
TEN_SIZES: Mapping[str | None, Sequence[tuple[int, int]]] = {None: ((1, 4), (5, 5)), "MSVD": ((1, 5),), "Flickr8k": ()}
PAIR_SIZES: Mapping[str | None, Mapping[tuple[int, int], int]] = {
    None: {(1, 4): 200, (5, 5): 60},
    "MSVD": {(5, 5): 60},
    "Flickr8k": {(1, 3): 200},
}
DETECTABLE_SIZES: Mapping[str | None, Mapping[tuple[int, int], Sequence[int]]] = {
    None: {(1, 4): (2, 3, 10), (5, 5): (2, 3, 10)},
    "MSVD": {(1, 5): (2, 3, 10), (5, 5): (2, 3)},
    "Flickr8k": {(1, 2): (2, 3)},
}

# Rows of ten systems, of the equivalence tests (so few that gross faults can be missing, and many), and of detectable
# gaps.
TEN_ROWS, WITHIN_ROWS, DETECTABLE_ROWS = (10, 20, 60), (15, 60), (10, 20, 40, 100)

# Pairs of speakers.
PEOPLE, GARBAGE = KnownSpeaker(), KnownSpeaker(1.0)
WRONG = {percent: KnownSpeaker(percent / 100) for percent in (3, 10, 20)}
BLAND = {percent: KnownSpeaker(percent / 100, is_bland=True) for percent in (0, 5, 10, 20, 30)}
PAIRS = {
    f"{one.name} / {other.name}": (one, other)
    for one, others in (
        (PEOPLE, (PEOPLE, WRONG[10])),
        (WRONG[10], (WRONG[20],)),
        (PEOPLE, (BLAND[0], BLAND[20])),
        (WRONG[10], (BLAND[0], BLAND[10])),
        (WRONG[20], (BLAND[5],)),
        (WRONG[10], (BLAND[30],)),
        (BLAND[0], (BLAND[10],)),
        (BLAND[5], (BLAND[20],)),
        (GARBAGE, (PEOPLE, BLAND[0], BLAND[20])),
    )
    for other in others
}
KINDS = ("copies", "alike", "gaps", "shares")

# Random sign patterns of a pair, fewer than by default, and rows of the corpora that say what is true.
N_SIGNS, N_TRUE_ROWS = 999, 20_000

# What true shares of so many rows may be off by: three standard errors.
TRUE_ERROR = 0.005

COLORS = (BLUE, ORANGE, GREEN, PURPLE, SKY, BLACK)


def compared(rows: Sequence[np.ndarray], m: int, margin: float | None = None) -> ComparedParity:
    """Compare speakers, by their rows; their names are their numbers."""
    systems = {str(i): ParityRows(row_columns(of_one, m), kept_distances(of_one, m)) for i, of_one in enumerate(rows)}
    return compared_parity(systems, None, distance="bert", margin=margin, n_resamples=N_SIGNS, seed=0)


class Truth(NamedTuple):
    """What is true of two speakers: their results for many rows."""

    first: Mapping[str, Any]
    second: Mapping[str, Any]

    def excess(self, key: str) -> float:
        """How much farther the first one is from what is best in a share: no faults, or people's 5 %."""
        best = 0.0 if key in FAULTS else TAIL
        return float(abs(self.first[key] - best) - abs(self.second[key] - best))

    def false_claims(self, pair: ParityPair) -> Iterator[str]:
        """Yield what is said of a pair and not true."""
        for share in pair.shares:
            excess = self.excess(share.key) * (1 if share.better == "0" else -1)
            if share.better and excess > TRUE_ERROR:
                yield "fewer faults falsely" if share.key in FAULTS else "likeness falsely"


# The corpora of a cell: the rows of every speaker.
Corpora = Iterable[Sequence[np.ndarray]]


class Study:
    """Draws corpora, and counts; captions are read when a cell first needs them."""

    def __init__(self, options: Options):
        self._n_corpora, self._seed = options.simulations, options.seed
        self._pool = functools.cache(lambda: vector_pool(read_pool(options) if options.corpus else None, options.seed))

    def lines(self, kind: str, m: int, n: int, n_rows: int, setting: str) -> Iterator[list[Any]]:
        """Return the lines of a cell."""
        pool: VectorPool = self._pool()

        def drawn(speakers: Sequence[KnownSpeaker]) -> Corpora:
            return corpora(pool, (m, n), speakers, n_rows, self._n_corpora, (self._seed,))

        def truth(speakers: Sequence[KnownSpeaker]) -> Truth:
            many = corpora(pool, (m, n), speakers, n_rows, N_TRUE_ROWS // n_rows, (self._seed, 1))
            return Truth(*(parity_of(np.concatenate(rows), m) for rows in zip(*many, strict=True)))

        if kind == "ten":
            return self._shares(map(ten_claims, drawn([PEOPLE] * 10), itertools.repeat(m)), {"raw": "", "said": "yes"})
        if kind == "pairs":
            of_pair = truth(PAIRS[setting])
            # Two people are not exactly alike by `truth`, so that all that is said of them is false.
            is_false = dict.fromkeys(KINDS[2:], "yes") if setting == f"{PEOPLE.name} / {PEOPLE.name}" else {}
            names = {name: is_false.get(name, "") for name in KINDS}
            names |= {"fewer faults falsely": "yes", "likeness falsely": "yes"}
            pairs = (compared(rows, m).pairs[0] for rows in drawn(PAIRS[setting]))
            claims = ({pair.kind, *of_pair.false_claims(pair)} for pair in pairs)
            return self._shares(claims, names)
        if kind == "within":
            speakers = (PEOPLE, WRONG[3])
            gaps = truth(speakers).second
            margin = max(gaps[gap] for gap in GAPS if not np.isnan(gaps[gap]))
            claims = (within_claims(compared(rows, m, margin)) for rows in drawn(speakers))
            return self._shares(claims, {"system within": "yes", "pair within": "yes"})
        n_systems = int(setting.split()[0])
        return detectable_lines(drawn([PEOPLE] * n_systems), m, n_rows, is_worst=setting.endswith("worst"))

    def _shares(self, claims: Iterable[set[str]], names: Mapping[str, str]) -> Iterator[list[Any]]:
        """Yield in which share of the corpora something is claimed, and whether that is false."""
        counts = Counter(itertools.chain.from_iterable(claims))
        yield from ([name, counts[name] / self._n_corpora, is_false] for name, is_false in names.items())


def ten_claims(rows: Sequence[np.ndarray], m: int) -> set[str]:
    """What is said against any system, as in `compared_parity`, which would compare 45 pairs besides."""
    results = [parity_of(of_one, m) for of_one in rows]
    p_values = np.array([result["human_parity_p_value"] for result in results])
    raw = {"raw"} if (p_values <= LEVEL).any() else set()
    return raw | ({"said"} if something_said(results, holm_p_values(p_values)) else set())


def something_said(results: Sequence[Mapping[str, Any]], p_values: np.ndarray) -> bool:
    """Whether something is said against a system, at these p-values."""
    words = [words_of(result, float(p)) for result, p in zip(results, p_values, strict=True)]
    return any(word.name not in ("alike", "untested") for of_one in words for word in of_one)


def within_claims(comparison: ComparedParity) -> set[str]:
    """What is said to lie within a margin: the second system, and the pair."""
    said = {"system within": comparison.within["1"], "pair within": comparison.pairs[0].within_margin}
    return {name for name, is_within in said.items() if is_within}


def detectable_lines(drawn: Corpora, m: int, n_rows: int, *, is_worst: bool) -> Iterator[list[Any]]:
    """Yield the detectable difference of systems of people, and how often it is found."""
    columns = [[row_columns(of_one, m) for of_one in rows] for rows in drawn]
    gaps = [[np.nan_to_num(np.stack([each[gap] for gap in GAPS], axis=1)) for each in rows] for rows in columns]
    pairs = list(itertools.combinations(range(len(gaps[0])), 2))
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


def is_found(gaps: Sequence[np.ndarray], pairs: Sequence[tuple[int, int]]) -> bool:
    """Whether the test finds the first pair, after Holm's rule over all; shares say nothing there."""
    p_values = joint_sign_flip_tests([gaps[i] - gaps[j] for i, j in pairs], N_RESAMPLES, 0)
    return bool(holm_p_values(np.array([joint_p_value(p, 1.0) for p in p_values]))[0] <= LEVEL)


def cells(corpus: str | None) -> Iterator[tuple[str, int, int, int, str]]:
    """Yield what is counted."""
    for size, n_rows in itertools.product(TEN_SIZES[corpus], TEN_ROWS):
        yield "ten", *size, n_rows, PEOPLE.name
    for size, n_rows in PAIR_SIZES[corpus].items():
        yield from (("pairs", *size, n_rows, pair) for pair in PAIRS)
        yield from (("within", *size, rows, WRONG[3].name) for rows in WITHIN_ROWS)
    for size, systems in DETECTABLE_SIZES[corpus].items():
        for n_rows, n_systems in itertools.product(DETECTABLE_ROWS, systems):
            yield "detectable", *size, n_rows, f"{n_systems} systems, worst"
            if size[0] > 1:
                yield "detectable", *size, n_rows, f"{n_systems} systems"


def draw_picture(lines: Sequence[Line], title: str, output: Any) -> None:
    """Draw how often detectable differences are found."""
    found = matching(lines, kind="detectable", measure="found")
    worst = [line for line in found if line["setting"].endswith(", worst")]
    by = ("n_candidates", "n_references", "setting")
    with new_picture(output, NAME, 6, 4) as figure:
        axes = figure.subplots()
        for values, color in zip(distinct(worst, *by), COLORS, strict=False):
            mine = matching(worst, **dict(zip(by, values, strict=True)))
            label = f"{values[0]} + {values[1]}, {values[2].removesuffix(', worst')}"
            axes.plot(numbers(mine, "n_rows"), numbers(mine, "value"), "o-", ms=3, color=color, label=label)
        axes.axhspan(0.76, 0.84, color="#dddddd")
        axes.set_ylim(0.5, 1.02)
        label_axes(axes, "rows", "share found")
        axes.legend(fontsize=7)
        figure.suptitle(f"{title}: what should be found 80 % of the time")


def main(options: Options) -> None:
    """Count what the table does not have yet, then draw it."""
    table = StudyTable(options.output, NAME, KEY, COLUMNS, study_settings(options))
    lines = table.fill(cells(options.corpus), Study(options).lines)
    draw_picture(lines, options.corpus or "made points", options.output)
    for line in matching(lines, is_false="yes"):
        if float(line["value"]) > LEVEL:
            print("  ".join(line.values()))


if __name__ == "__main__":
    main(parsed())
