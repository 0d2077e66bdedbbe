"""Are wrong captions and repeated ones both seen? Figures B.2 and B.3 of the distribution paper.

python -m scripts.studies.quality_diversity [--references FILE] [--data FOLDER --corpus MSVD] [--output FOLDER]

Chan et al. (2022), appendix B.2, https://arxiv.org/abs/2209.07518: ten candidates are taken out of two pools with k
captions each, further captions of the image and captions of other images, m of them from the first. METEOR and CIDEr-D
should see how many are right (m) and not how many are unlike each other (k); the triangle-rank metrics both. If m is
larger than k, captions are repeated in turn.

Written: quality_diversity.csv, a line for each k, m and measure with a 95% interval over images; and the picture.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from scripts.studies.caption_rows import PLAIN, CaptionMeasures, bootstrap_interval, draw_systems, read_captions
from scripts.studies.study_frame import Line, StudyTable, matching_lines, numbers, study_settings
from scripts.studies.study_options import MODULES, Options, add_caption_options, study_parser
from scripts.studies.study_pictures import new_picture

parser = study_parser(__doc__)
add_caption_options(parser, n_rows=100)
parser.add_argument("--unique", nargs="+", type=int, default=[1, 2, 3, 5, 7, 10], metavar="K")
parser.add_argument("--correct", nargs="+", type=int, default=[0, 2, 4, 5, 6, 8, 10], metavar="M")
parse = parser.parse_args

NAME = "quality_diversity"
KEY = ("unique", "correct")
COLUMNS = ("measure", "n_rows", "value", "ci_low", "ci_high")

PANELS = {
    "trm_meteor": "TRM-METEOR",
    "trm_cider": "TRM-CIDEr",
    "mmd_bert": "MMD",
    "meteor": "METEOR",
    "cider_d": "CIDEr-D",
    "bert": "BERT cosine",
}


def mix(right: Sequence[str], wrong: Sequence[str], unique: int, correct: int, n: int) -> list[str]:
    """Return n candidates: `correct` of the first `unique` right captions in turn, the others of as many wrong ones.

    >>> mix(["a", "b", "c"], ["x", "y", "z"], 2, 3, 4)
    ['a', 'b', 'a', 'x']
    """
    return [right[k % unique] for k in range(correct)] + [wrong[k % unique] for k in range(n - correct)]


def draw_picture(lines: Sequence[Line], title: str, output: Any) -> None:
    """Draw a map of each measure: light is better."""
    unique, correct = (sorted({int(line[column]) for line in lines}) for column in KEY)
    with new_picture(output, NAME, 12, 6.6) as figure:
        for axes, (measure, label) in zip(figure.subplots(2, 3).flat, PANELS.items(), strict=True):
            mine = matching_lines(lines, measure=measure)
            values = np.array([[numbers(mine, "value", unique=k, correct=m)[0] for m in correct] for k in unique])
            larger = measure in PLAIN.values()
            image = axes.imshow(values, origin="lower", aspect="auto", cmap="viridis" if larger else "viridis_r")
            middle = (values.min() + values.max()) / 2
            for (row, column), value in np.ndenumerate(values):
                color = "k" if (value > middle if larger else value < middle) else "w"
                axes.text(column, row, f"{value:.2f}", ha="center", va="center", fontsize=7, color=color)
            axes.set_xticks(range(len(correct)), [str(m) for m in correct])
            axes.set_yticks(range(len(unique)), [str(k) for k in unique])
            axes.grid(visible=False)
            axes.set(xlabel="right candidates of an image \N{RIGHTWARDS ARROW}", ylabel="captions in each pool")
            axes.set_title(f"{label} ({'higher' if larger else 'lower'} is better: light)")
            figure.colorbar(image, ax=axes)
        figure.suptitle(f"{title}: candidates that are right (to the right) and unlike each other (upwards)")


def main(options: Options) -> None:
    """Compute what the table does not have yet, then draw it."""
    captions = read_captions(options)
    n = captions.size[0]
    pools = draw_systems(captions, ("human", "w = 1"), options.rows, (options.seed,))
    right, wrong = pools.candidates["human"], pools.candidates["w = 1"]
    measures = CaptionMeasures(right, wrong, pools.references)

    def study(unique: int, correct: int) -> Iterator[list[Any]]:
        pairs = zip(right, wrong, strict=True)
        predictions = [mix(mine, others, unique, correct, n) for mine, others in pairs]
        for module in MODULES:
            compared = measures.rows(module, predictions, pools.references).compare(range(len(predictions)))
            for measure, values in ((module, compared.statistic), (PLAIN.get(module), compared.plain)):
                if values is not None:
                    yield [measure, len(values), values.mean(), *bootstrap_interval(values)]

    cells = [(k, m) for k in options.unique for m in options.correct if max(k, m) <= n]
    lines = StudyTable(options.output, NAME, KEY, COLUMNS, study_settings(options)).fill(cells, study)
    draw_picture(lines, captions.name, options.output)


if __name__ == "__main__":
    main(parse())
