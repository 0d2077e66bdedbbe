"""Are wrong captions and repeated ones both seen? Figures B.2 and B.3 of the distribution paper.

python -m scripts.studies.quality_diversity [--references FILE] [--data FOLDER --corpus MSVD] [--output FOLDER]

Chan et al. (2022), appendix B.2, https://arxiv.org/abs/2209.07518: ten candidates are taken out of two pools with k
captions each, further captions of the image and captions of other images, m of them from the first. METEOR and CIDEr-D
should see how many are right (m) and not how many are unlike each other (k); the triangle-rank metrics both. If m is
larger than k, captions are repeated in turn.

Written: quality_diversity.csv, a line for each k, m and measure with a 95 % interval over images; and the picture.
Needs scripts/requirements.txt and metrics/trm_bert/requirements.txt.
"""

import argparse
import functools
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from scripts.command_line import start_tool
from scripts.studies.study_frame import Line, StudyTable, add_frame_options, matching, numbers, study_settings
from scripts.studies.study_options import MODULES, add_caption_options


def parsed(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse a command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_frame_options(parser)
    add_caption_options(parser, n_rows=100)
    parser.add_argument("--unique", nargs="+", type=int, default=[1, 2, 3, 5, 7, 10], metavar="K")
    parser.add_argument("--correct", nargs="+", type=int, default=[0, 2, 4, 5, 6, 8, 10], metavar="M")
    return parser.parse_args(arguments)


start_tool(__name__, parsed, "scripts/requirements.txt", "metrics/trm_bert/requirements.txt", needs_wordnet=True)

import numpy as np

from scripts.studies.caption_rows import CaptionMeasures
from scripts.studies.set_scores import CONFIDENCE_LEVEL, LARGER_IS_BETTER, N_RESAMPLES, PLAIN, bootstrap_interval
from scripts.studies.study_inputs import Captions, DrawnRows, draw_systems, read_captions
from scripts.studies.study_pictures import new_picture

NAME = "quality_diversity"
KEY = ("unique", "correct")
COLUMNS = ("measure", "n_rows", "value", "ci_low", "ci_high")

# Options of the test run.
SMALL = ("--rows", "4", "--sizes", "4", "4", "--unique", "1", "4", "--correct", "0", "4")

PANELS = {
    "trm_meteor": "TRM-METEOR",
    "trm_cider": "TRM-CIDEr",
    "mmd_bert": "MMD",
    "meteor": "METEOR",
    "cider_d": "CIDEr-D",
    "bert": "BERT cosine",
}


def mixed(right: Sequence[str], wrong: Sequence[str], unique: int, correct: int, n: int) -> list[str]:
    """Return n candidates: `correct` of the first `unique` right captions in turn, the others of as many wrong ones.

    >>> mixed(["a", "b", "c"], ["x", "y", "z"], 2, 3, 4)
    ['a', 'b', 'a', 'x']
    """
    return [right[k % unique] for k in range(correct)] + [wrong[k % unique] for k in range(n - correct)]


def study(
    measures: CaptionMeasures, pools: DrawnRows, wrong: Captions, unique: int, correct: int
) -> Iterator[list[Any]]:
    """Yield the lines of a cell."""
    n = len(wrong[0])
    pairs = zip(pools.candidates["human"], wrong, strict=True)
    predictions = [mixed(right, others, unique, correct, n) for right, others in pairs]
    for module in MODULES:
        rows = measures.rows(module, "per_side", predictions, pools.references)
        compared = rows.compare(range(len(predictions)))
        found = {module: compared.statistic, PLAIN.get(module, ""): compared.plain}
        for measure, values in found.items():
            if values is not None:
                interval = bootstrap_interval(values, CONFIDENCE_LEVEL, N_RESAMPLES, seed=0)
                yield [measure, len(values), values.mean(), *interval]


def draw_picture(lines: Sequence[Line], title: str, output: Any) -> None:
    """Draw a map of each measure: light is better."""
    unique, correct = (sorted({int(line[column]) for line in lines}) for column in KEY)
    with new_picture(output, NAME, 12, 6.6) as figure:
        for axes, (measure, label) in zip(figure.subplots(2, 3).flat, PANELS.items(), strict=True):
            mine = matching(lines, measure=measure)
            values = np.array([[numbers(mine, "value", unique=k, correct=m)[0] for m in correct] for k in unique])
            larger = measure in LARGER_IS_BETTER
            image = axes.imshow(values, origin="lower", aspect="auto", cmap="viridis" if larger else "viridis_r")
            middle = (values.min() + values.max()) / 2
            for (row, column), value in np.ndenumerate(values):
                is_light = value > middle if larger else value < middle
                axes.text(
                    *(column, row, f"{value:.2f}"), ha="center", va="center", fontsize=7, color="k" if is_light else "w"
                )
            axes.set_xticks(range(len(correct)), [str(m) for m in correct])
            axes.set_yticks(range(len(unique)), [str(k) for k in unique])
            axes.grid(visible=False)
            axes.set(xlabel="right candidates of an image \N{RIGHTWARDS ARROW}", ylabel="captions in each pool")
            axes.set_title(f"{label} ({'higher' if larger else 'lower'} is better: light)")
            figure.colorbar(image, ax=axes)
        figure.suptitle(f"{title}: candidates that are right (to the right) and unlike each other (upwards)")


def main(options: argparse.Namespace) -> int:
    """Compute what the table does not have yet, then draw it."""
    captions = read_captions(options)
    n = captions.size[0]
    table = StudyTable(options.output, NAME, KEY, COLUMNS, study_settings(options))
    pools = draw_systems(captions, ("human", "w = 1"), options.rows, (options.seed,))
    wrong = pools.candidates["w = 1"]

    @functools.cache
    def measures() -> CaptionMeasures:
        sides = (pools.candidates["human"], wrong, pools.references)
        return CaptionMeasures(caption for side in sides for row in side for caption in row)

    cells = [(k, m) for k in options.unique for m in options.correct if max(k, m) <= n]
    lines = table.fill(cells, lambda k, m: study(measures(), pools, wrong, k, m))
    draw_picture(lines, captions.name, options.output)
    return 0


if __name__ == "__main__":
    sys.exit(main(parsed()))
