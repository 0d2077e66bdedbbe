"""Do the shares of human parity say what is true of speakers whose faults are known, and are its words ever false?

python -m scripts.studies.human_parity_truth [--data FOLDER --corpus MSVD] [--output FOLDER]

Without a corpus on the made world, whose people describe scenes of coloured shapes. Two kinds of cells:

"truth": a speaker says, of each caption, with one probability a caption of another image ("wrong"), and then, of each
but the first, with another probability what the first one was ("repeated"), in all combinations of both from 0 to 1:
means over all rows that are drawn, with 95 % intervals over images.
"words": 1,000 corpora of a size; how often each word of `sets_parity_words.py` is said, and whether it is false: of
people all are, of candidates with a fault those that name another one. `DESERVED` says which are true. "bound": "at
most X % stand out" is said, and X lies below the share of all corpora; "wrong above": "at least X % are not what people
write" is said, and X lies above the share of wrong captions, where that is known. "bland, 30 % wrong" and its like are
ordinary, or repeated, captions with wrong ones among them, which make up for each other in the means.

Written: human_parity_truth.csv, human_parity_truth_moves.csv (how far each share rises with its own fault, at the least
from step to step, and how far it moves with the other, at most), and the picture. Needs
scripts/requirements.txt, metrics/trm_bert/requirements.txt and metrics/pac_score/requirements.txt.
"""

import argparse
import collections
import functools
import itertools
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from scripts.command_line import start_tool
from scripts.studies.parity_options import add_parity_options
from scripts.studies.study_frame import (
    Line,
    StudyTable,
    add_frame_options,
    matching,
    numbers,
    study_settings,
    write_lines,
)


def parsed(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse a command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_frame_options(parser)
    add_parity_options(parser, ("meteor", "MiniLM"))
    parser.add_argument("--simulations", type=int, default=1_000, metavar="N", help="corpora of a cell, default 1000")
    parser.add_argument("--scenes", type=int, default=100, metavar="N", help="of the made world, default 100")
    return parser.parse_args(arguments)


start_tool(
    __name__,
    parsed,
    "scripts/requirements.txt",
    "metrics/trm_bert/requirements.txt",
    "metrics/pac_score/requirements.txt",
)

import numpy as np

from manycaps.kit.sets_intervals import interval_of_rows
from manycaps.kit.sets_parity import parity_result, row_columns
from manycaps.kit.sets_parity_words import words_of
from manycaps.made_world.scenes import draw_scene
from manycaps.made_world.speakers import Speaker, draw_captions
from scripts.studies.parity_pools import DAMAGES, Damage, ParityCorpus, make_pool, read_pool
from scripts.studies.study_pictures import BLACK, BLUE, GREEN, ORANGE, PURPLE, SKY, label_axes, new_picture

NAME = "human_parity_truth"
KEY = ("kind", "n_candidates", "n_references", "n_rows", "distance", "setting")
COLUMNS = ("measure", "value", "low", "high", "is_false")

# Options of the test run.
SMALL = ("--simulations", "5", "--scenes", "12", "--drawn", "120", "--distances", "meteor")

CONFIDENCE_LEVEL = 0.95

# Human captions of a made scene.
N_MADE = 12

# Shares of wrong and of repeated captions.
SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
WRONG = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0)
COLORS = (BLUE, SKY, GREEN, ORANGE, PURPLE, BLACK, "#999999", "#e69f00")

# The share that follows each fault, and the value of people.
FOLLOWS = {"unlike_people_share": "wrong", "repeat_share": "repeated"}

# Rows of corpora by the numbers of candidates and references.
SIZES: Mapping[str | None, Sequence[tuple[int, int, int]]] = {
    None: ((5, 5, 60),),
    "MSVD": ((5, 5, 60), (5, 5, 10), (10, 10, 20)),
    "Flickr8k": ((2, 3, 200), (1, 4, 200)),
}

# Candidates that are compensated, beside those of `DAMAGES`.
COMPENSATED = {
    "bland": Damage("bland"),
    "bland, 30 % wrong": Damage("bland", share=0.3),
    "bland, 40 % wrong": Damage("bland", share=0.4),
    "half repeated, 30 % wrong": Damage("half repeated", share=0.3),
    "half repeated, 40 % wrong": Damage("half repeated", share=0.4),
}

# Words that are true of candidates. Captions cut after five words begin alike, and so are near each other; the most
# ordinary captions are near each other, and are what the references say.
DESERVED: Mapping[str, frozenset[str]] = {
    "human": frozenset(),
    **dict.fromkeys(("10 % other", "20 % other", "one word", "30 % object"), frozenset({"unlike", "apart"})),
    "five words": frozenset({"unlike", "apart", "repeats"}),
    "half repeated": frozenset({"repeats"}),
    **dict.fromkeys(("blandest", "bland"), frozenset({"bland", "repeats", "copies"})),
    "copies": frozenset({"copies"}),
    **dict.fromkeys(
        ("bland, 30 % wrong", "bland, 40 % wrong"), frozenset({"bland", "repeats", "copies", "unlike", "apart"})
    ),
    **dict.fromkeys(
        ("half repeated, 30 % wrong", "half repeated, 40 % wrong"), frozenset({"repeats", "unlike", "apart"})
    ),
}

# Words that name a fault, and all.
FAULTS = ("unlike", "copies", "bland", "repeats", "apart")
WORDS = ("alike", "told", "undecided", *FAULTS)


def made_pool(options: argparse.Namespace) -> ParityCorpus:
    """Return what people of the made world say of scenes."""
    images = []
    for i in range(options.scenes):
        rng = np.random.default_rng((options.seed, i))
        images.append(draw_captions(Speaker(), draw_scene(rng), N_MADE, rng))
    return ParityCorpus(make_pool(images, N_MADE, options.seed), options.drawn, options.seed)


def truth_lines(corpus: ParityCorpus, distance: str, size: tuple[int, int], damage: Damage) -> Iterator[list[Any]]:
    """Yield the shares of all rows."""
    distances = corpus.rows(distance, size, damage).distances
    columns = row_columns(distances, size[0])
    images = np.arange(len(distances)) // (len(distances) // len(corpus.pool.texts))
    for name in (*FOLLOWS, "central_share", "spread_share", "fidelity_gap", "diversity_gap"):
        ends = interval_of_rows(columns[name], CONFIDENCE_LEVEL, images.tolist())
        yield [name, columns[name].mean(), *ends, ""]


def word_lines(
    corpus: ParityCorpus, distance: str, size: tuple[int, int], n_rows: int, setting: str, n_corpora: int
) -> Iterator[list[Any]]:
    """Yield how often each word is said, and how often its numbers are not right."""
    damage = (DAMAGES | COMPENSATED)[setting]
    columns = row_columns(corpus.corpora(distance, size, damage, n_corpora, n_rows).distances, size[0])
    n_each = len(columns["fidelity_gap"]) // n_corpora
    counts: collections.Counter[str] = collections.Counter()
    stands_out = columns["unlike_people_share"].mean()
    for k in range(n_corpora):
        rows = slice(k * n_each, (k + 1) * n_each)
        options = {"p_value": "chi-squared", "confidence_level": CONFIDENCE_LEVEL, "clusters": None}
        result = parity_result({name: values[rows] for name, values in columns.items()}, options)
        names = {word.name for word in words_of(result)}
        counts.update(names)
        counts["bound"] += "alike" in names and max(0.0, result["unlike_people_share_ci_high"]) < stands_out
        counts["wrong above"] += "unlike" in names and result["unlike_people_share_ci_low"] > damage.share
    for word in WORDS:
        is_false = ("no" if word in DESERVED[setting] else "yes") if word in FAULTS else ""
        yield [word, counts[word] / n_corpora, np.nan, np.nan, is_false]
    yield ["bound", counts["bound"] / n_corpora, np.nan, np.nan, "yes"]
    if damage.kind == "other" and damage.share:
        yield ["wrong above", counts["wrong above"] / n_corpora, np.nan, np.nan, "yes"]


def setting_of(wrong: float, repeated: float) -> str:
    """Name a combination.

    >>> setting_of(0.5, 1.0)
    '0.5 wrong, 1 repeated'
    """
    return f"{wrong:g} wrong, {repeated:g} repeated"


def cells(options: argparse.Namespace) -> Iterator[tuple[str, int, int, int, str, str]]:
    """Yield what is measured."""
    m, n, n_rows = SIZES[options.corpus][0]
    for distance in options.distances:
        for wrong, repeated in itertools.product(WRONG, SHARES):
            yield "truth", m, n, 0, distance, setting_of(wrong, repeated)
    for m, n, n_rows in SIZES[options.corpus]:
        candidates = DAMAGES | COMPENSATED
        # A single candidate is not repeated, and the two that are left of five captions are no choice of ordinary ones.
        names = [name for name in candidates if candidates[name].base == "people" or m > 1 + 2 * (name in COMPENSATED)]
        yield from (("words", m, n, n_rows, distance, name) for distance in options.distances for name in names)


def moves(lines: Sequence[Line]) -> Iterator[list[Any]]:
    """Yield for each share how it follows its own fault, and how far it moves with the other."""
    truth = matching(lines, kind="truth")
    for distance in dict.fromkeys(line["distance"] for line in truth):
        for name, fault in FOLLOWS.items():
            grid = grid_of(truth, distance, name)
            own = grid if fault == "wrong" else grid.T  # (own shares, the other's)
            yield [distance, name, fault, np.diff(own, axis=0).min(), np.ptp(own, axis=1).max()]


def grid_of(lines: Sequence[Line], distance: str, name: str) -> np.ndarray:
    """Return a share by the shares of wrong and of repeated captions: (n_wrong, n_repeated)."""
    mine = {line["setting"]: float(line["value"]) for line in matching(lines, distance=distance, measure=name)}
    return np.array([[mine[setting_of(wrong, repeated)] for repeated in SHARES] for wrong in WRONG])


def draw_picture(lines: Sequence[Line], title: str, output: Any) -> None:
    """Draw each share against its own fault, a line for each share of the other."""
    truth = matching(lines, kind="truth")
    distances = list(dict.fromkeys(line["distance"] for line in truth))
    with new_picture(output, NAME, 9.5, 3.7 * len(distances)) as figure:
        panels = figure.subplots(len(distances), 2, squeeze=False)
        for (row, column), axes in np.ndenumerate(panels):
            name, fault = list(FOLLOWS.items())[column]
            grid = grid_of(truth, distances[row], name)
            own, others = (WRONG, SHARES) if fault == "wrong" else (SHARES, WRONG)
            for color, other, values in zip(COLORS, others, grid.T if fault == "wrong" else grid, strict=False):
                axes.plot(own, values, "o-", ms=3, color=color, label=f"{other:g}")
            if fault == "wrong":
                axes.plot((0, 1), (0, 1), color="#888888", lw=0.8)
            axes.set_title(f"{distances[row]}, by the share of {'repeated' if fault == 'wrong' else 'wrong'} captions")
            label_axes(axes, f"true share of {fault} captions", name)
            axes.legend(fontsize=8, ncols=2)
        figure.suptitle(f"{title}: what is measured of speakers with two known faults")


def main(options: argparse.Namespace) -> int:
    """Measure what the table does not have yet, then draw it."""
    table = StudyTable(options.output, NAME, KEY, COLUMNS, study_settings(options))
    corpus = functools.cache(lambda: read_pool(options) if options.corpus else made_pool(options))
    spoken = {setting_of(wrong, said): Damage(share=wrong, repeats=said) for wrong in WRONG for said in SHARES}

    def study(kind: str, m: int, n: int, n_rows: int, distance: str, setting: str) -> Iterator[list[Any]]:
        if kind == "truth":
            return truth_lines(corpus(), distance, (m, n), spoken[setting])
        return word_lines(corpus(), distance, (m, n), n_rows, setting, options.simulations)

    lines = table.fill(cells(options), study)
    columns = ["distance", "measure", "follows", "least_step", "moves_at_most"]
    write_lines(options.output / f"{NAME}_moves.csv", columns, list(moves(lines)))
    draw_picture(lines, options.corpus or "made world", options.output)
    for line in lines:
        if line["is_false"] == "yes" and numbers([line], "value")[0] > 1 - CONFIDENCE_LEVEL:
            print("  ".join(line.values()))
    return 0


if __name__ == "__main__":
    sys.exit(main(parsed()))
