"""How many candidates does each test need? Figure 3 and Tables 1 and B.1 of the distribution paper, exactly.

python -m scripts.studies.sensitivity [--references FILE --predictions NAME=FILE ...] [--output FOLDER]

Chan et al. (2022), https://arxiv.org/abs/2209.07518: p-values of METEOR, CIDEr-D, BERT, their triangle-rank forms, MMD
and the Frechet distance as candidates are added one by one, over all splits of an image's captions. Plain scores are
the mean over the candidates, and their p-values are of both tails, since a system may be too near to people as well;
`_low` is the lower tail alone. "human" is the paper's leave-one-out test: it should not reject.

Written: sensitivity.csv, a line for each system, number of candidates, trial (other captions and images) and measure;
sensitivity_needed.csv, the least number of candidates from which on a test rejects at 5% in the median trial, and in
every trial; and the picture.
"""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from scripts.studies.caption_rows import CaptionMeasures, read_captions
from scripts.studies.split_tests import (
    COMBINATIONS,
    LEVEL,
    TEST_COLUMNS,
    distribution_lines,
    draw_p_values,
    draw_trials,
    trial_cells,
)
from scripts.studies.study_frame import Line, StudyTable, distinct, matching_lines, study_settings, write_lines
from scripts.studies.study_options import DAMAGES, MODULES, Options, add_caption_options, study_parser
from scripts.studies.study_pictures import BLACK, BLUE, GREEN, ORANGE, PURPLE

# What candidates of people are made of, where no systems are given.
SYSTEMS = ("human", "w = 0.2", "w = 0.5", "repeated")

parser = study_parser(__doc__)
add_caption_options(parser, n_rows=50)
parser.add_argument("--systems", nargs="+", choices=DAMAGES, default=SYSTEMS, help="candidates written by people")
parser.add_argument("--modules", nargs="+", choices=MODULES, default=MODULES)
parser.add_argument("--trials", type=int, default=1, metavar="N", help="draws of images and captions, default 1")
parser.add_argument("--draws", type=int, default=9_999, metavar="N", help="of the test over images, default 9999")
parse = parser.parse_args

NAME = "sensitivity"
KEY = ("system", "n_candidates", "trial")

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


def list_needed(lines: Sequence[Line], n_trials: int) -> Iterator[list[Any]]:
    """Yield, for every system, measure and combination, from how many candidates on a test rejects; "-": never."""
    systems, measures = distinct(lines, "system"), distinct(lines, "measure")
    for system, measure, combination in itertools.product(systems, measures, COMBINATIONS):
        trials = [matching_lines(lines, system=system, measure=measure, trial=trial) for trial in range(n_trials)]
        ranked = sorted(
            first_rejecting({int(line["n_candidates"]): float(line[combination]) for line in trial_lines})
            for trial_lines in trials
        )
        shown = ranked[len(ranked) // 2], ranked[0], ranked[-1]
        yield [system, measure, combination, *("-" if n == math.inf else int(n) for n in shown)]


def first_rejecting(p_by_n: Mapping[int, float]) -> float:
    """Return the least number of candidates from which on all p-values are at most 5%; infinity where there is none.

    >>> first_rejecting({1: 0.01, 2: 0.3, 3: 0.04, 4: 0.01})
    3
    """
    rejecting = itertools.takewhile(lambda n: p_by_n[n] <= LEVEL, sorted(p_by_n, reverse=True))
    return min(rejecting, default=math.inf)


def main(options: Options) -> None:
    """Compute what the table does not have yet, then draw it."""
    captions = read_captions(options)
    trials = draw_trials(captions, () if captions.systems and not options.corpus else options.systems, options)
    measures = CaptionMeasures(*(side for drawn in trials for side in drawn.sides()))

    def study(system: str, n: int, trial: int) -> Iterator[list[Any]]:
        predictions = [row[:n] for row in trials[trial].candidates[system]]
        for module in options.modules:
            rows = measures.rows(module, predictions, trials[trial].references)
            yield from distribution_lines(module, rows, options.draws)

    table = StudyTable(options.output, NAME, KEY, TEST_COLUMNS, study_settings(options))
    lines = table.fill(trial_cells(trials, 1, captions.size[0]), study)
    columns = ["system", "measure", "combination", "median_trial", "fewest", "most"]
    write_lines(options.output / f"{NAME}_needed.csv", columns, list_needed(lines, options.trials))
    title = f"{captions.name}: p-values as candidates are added; grey: 5%"
    draw_p_values(lines, options.output, NAME, title, "measure", SHOWN)


if __name__ == "__main__":
    main(parse())
