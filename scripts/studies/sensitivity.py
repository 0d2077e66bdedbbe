"""How many candidates does each test need? Figure 3 and Tables 1 and B.1 of the distribution paper, exactly.

python -m scripts.studies.sensitivity [--references FILE --predictions NAME=FILE ...] [--output FOLDER]

Chan et al. (2022), https://arxiv.org/abs/2209.07518: p-values of METEOR, CIDEr-D, BERT, their triangle-rank forms, MMD
and the Frechet distance as candidates are added one by one, the set of n + 1 being that of n and one more. Null: the
candidates and references of an image are of one distribution, so every split of its captions is equally likely; all
splits are looked at, for 10 + 10 captions 184,756 of each image. Plain scores are the mean over the candidates, and
their p-values are of both tails, since a system may be too near to people as well; `_low` is the lower tail alone.
The rows' p-values are combined in two ways: by their harmonic mean (the paper), and by drawing one split of every
image and testing the mean over images (`--draws`). "human" is the paper's leave-one-out test: it should not reject.

Written: sensitivity.csv, a line for each system, number of candidates, trial (other captions and images) and measure;
sensitivity_needed.csv, the least number of candidates from which on a test rejects at 5 % in the median trial, and in
every trial; and the picture. Needs scripts/requirements.txt and metrics/trm_bert/requirements.txt.
"""

import argparse
import functools
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from scripts.command_line import start_tool
from scripts.studies.study_frame import (
    Line,
    StudyTable,
    add_frame_options,
    matching,
    numbers,
    study_settings,
    write_lines,
)
from scripts.studies.study_options import DAMAGES, MODULES, add_caption_options

# What candidates of people are made of, where no systems are given.
SYSTEMS = ("human", "w = 0.2", "w = 0.5", "repeated")


def parsed(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse a command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_frame_options(parser)
    add_caption_options(parser, n_rows=50)
    parser.add_argument("--systems", nargs="+", choices=DAMAGES, default=SYSTEMS, help="candidates written by people")
    parser.add_argument("--modules", nargs="+", choices=MODULES, default=MODULES)
    parser.add_argument("--trials", type=int, default=1, metavar="N", help="draws of images and captions, default 1")
    parser.add_argument("--draws", type=int, default=9_999, metavar="N", help="of the test over images, default 9999")
    return parser.parse_args(arguments)


start_tool(__name__, parsed, "scripts/requirements.txt", "metrics/trm_bert/requirements.txt", needs_wordnet=True)

import numpy as np

from scripts.studies.caption_rows import CaptionMeasures
from scripts.studies.split_tests import TEST_COLUMNS, distribution_lines
from scripts.studies.study_inputs import Captions, DrawnRows, draw_systems, read_captions
from scripts.studies.study_pictures import BLACK, BLUE, GREEN, ORANGE, PURPLE, label_p_axes, new_picture

NAME = "sensitivity"
KEY = ("system", "n_candidates", "trial")

# Options of the test run.
SMALL = ("--rows", "4", "--sizes", "4", "4", "--draws", "199", "--systems", "human", "repeated")

LEVEL = 0.05

# Measures in the picture: title, colour and line.
SHOWN = {
    "meteor": ("METEOR", BLUE, "--"),
    "trm_meteor": ("TRM-METEOR", BLUE, "-"),
    "cider_d": ("CIDEr-D", ORANGE, "--"),
    "trm_cider": ("TRM-CIDEr", ORANGE, "-"),
    "bert": ("BERT cosine", GREEN, "--"),
    "trm_bert": ("TRM-BERT", GREEN, "-"),
    "mmd_bert": ("MMD", PURPLE, "-"),
    "fid_bert": ("Frechet", BLACK, "-"),
}

# Combinations of the rows' p-values: column and title.
COMBINATIONS = {"harmonic_mean_p": "harmonic mean of the images' p", "corpus_p": "one split of every image"}


def study(
    measures: CaptionMeasures, drawn: DrawnRows, modules: Sequence[str], n_draws: int, system: str, n: int
) -> Iterator[list[Any]]:
    """Yield the lines of a system with its first n candidates."""
    predictions: Captions = [row[:n] for row in drawn.candidates[system]]
    size = n, len(drawn.references[0])
    for module in modules:
        yield from distribution_lines(
            module, measures.rows(module, "per_side", predictions, drawn.references), size, n_draws
        )


def needed(lines: Sequence[Line], n_trials: int) -> list[list[Any]]:
    """Return, for every system, measure and combination, from how many candidates on a test rejects; "-": never."""
    systems, measures = (list(dict.fromkeys(line[column] for line in lines)) for column in ("system", "measure"))
    found = []
    for system in systems:
        for measure in measures:
            for combination in COMBINATIONS:
                of_trials = []
                for trial in range(n_trials):
                    p_by_n = {
                        int(line["n_candidates"]): float(line[combination])
                        for line in matching(lines, system=system, measure=measure, trial=trial)
                    }
                    of_trials.append(first_rejecting(p_by_n))
                ranked = sorted(of_trials)
                shown = [ranked[len(ranked) // 2], ranked[0], ranked[-1]]
                found.append([system, measure, combination, *("-" if n == np.inf else int(n) for n in shown)])
    return found


def first_rejecting(p_by_n: dict[int, float]) -> float:
    """Return the least number of candidates from which on all p-values are at most 5 %; infinity where there is none.

    >>> first_rejecting({1: 0.01, 2: 0.3, 3: 0.04, 4: 0.01})
    3
    """
    least = np.inf
    for n in sorted(p_by_n, reverse=True):
        if p_by_n[n] > LEVEL:
            break
        least = n
    return least


def draw_picture(lines: Sequence[Line], title: str, output: Any) -> None:
    """Draw p against the number of candidates: a column for each system, a line of panels for each combination."""
    least = min(float(line[combination]) for line in lines for combination in COMBINATIONS)
    systems = list(dict.fromkeys(line["system"] for line in lines))
    with new_picture(output, NAME, 3.2 * len(systems) + 1.6, 6.2) as figure:
        panels = figure.subplots(2, len(systems), sharex=True, sharey=True, squeeze=False)
        for column, system in enumerate(systems):
            for row, (combination, described) in enumerate(COMBINATIONS.items()):
                axes = panels[row, column]
                for measure, (label, color, style) in SHOWN.items():
                    mine = matching(lines, system=system, measure=measure)
                    if not mine:  # a single candidate has no pair for MMD
                        continue
                    counts = sorted({int(line["n_candidates"]) for line in mine})
                    by_n = [numbers(mine, combination, n_candidates=n) for n in counts]
                    axes.plot(counts, [np.median(p) for p in by_n], style, color=color, marker=".", label=label)
                    if len(by_n[0]) > 1:
                        axes.fill_between(counts, [*map(min, by_n)], [*map(max, by_n)], color=color, alpha=0.12, lw=0)
                most = max(int(line["n_candidates"]) for line in lines)
                label_p_axes(axes, described, row, column, least, most)
                if row == 0:
                    axes.set_title(system)
        figure.suptitle(f"{title}: p-values as candidates are added; grey: 5 %")
        figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside right center")


def main(options: argparse.Namespace) -> int:
    """Compute what the table does not have yet, then draw it."""
    captions = read_captions(options)
    table = StudyTable(options.output, NAME, KEY, TEST_COLUMNS, study_settings(options))
    damages = () if captions.systems and not options.corpus else options.systems
    trials = range(options.trials)
    drawn = [draw_systems(captions, damages, options.rows, (options.seed, trial)) for trial in trials]
    systems = list(drawn[0].candidates)
    cells = [
        (system, n, trial)
        for trial in trials
        for n in range(1, captions.size[0] + 1)
        for system in systems
        if all(len(row) >= n for row in drawn[trial].candidates[system])
    ]

    @functools.cache
    def measures() -> CaptionMeasures:
        texts = [[*rows.references, *(row for lists in rows.candidates.values() for row in lists)] for rows in drawn]
        return CaptionMeasures(caption for lists in texts for row in lists for caption in row)

    lines = table.fill(
        cells, lambda system, n, trial: study(measures(), drawn[trial], options.modules, options.draws, system, n)
    )
    columns = ["system", "measure", "combination", "median_trial", "fewest", "most"]
    write_lines(options.output / f"{NAME}_needed.csv", columns, needed(lines, options.trials))
    draw_picture(lines, captions.name, options.output)
    return 0


if __name__ == "__main__":
    sys.exit(main(parsed()))
