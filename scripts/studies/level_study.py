"""Level of the corpus test: how often do human captions "differ" from human captions of the same image?

python -m scripts.studies.level_study --data FOLDER [--output FOLDER]

FOLDER of --data holds Flickr8k.token.txt.gz and msvd_val_references.txt (`image#number<TAB>caption`,
`clip<TAB>caption`). A simulated corpus has 20 or 200 rows: images drawn at random with replacement, of each the
captions that are needed, in random order, the first of them as candidates. Rows of 2 + 3 captions are of Flickr8k
(1,000 random images), rows of 3 + 3, 5 + 5 and 10 + 5 captions of the 100 clips of MSVD. Each corpus goes through the
functions that the module itself calls, with p_value="permutation", n_resamples=199 and the number of the corpus as the
seed; the trm modules with statistic="per_side", CIDEr-D with the document frequencies of the corpus's own references.
p is a multiple of 1/200, so p <= 0.01 and p <= 0.05 have these probabilities where values do not tie, and less where
they do.

Written: level_study.csv, for each module, size and number of rows how many corpora were rejected at 1% and 5%.
Printed beside it is the binomial interval that holds 99.9% of such counts. Exits with 1 if a count is outside.
"""

import functools
import itertools
import pathlib
import sys

import numpy as np
import scipy.stats

from manycaps.kit.sets_module import DISTRIBUTION_DEFAULTS, compare_rows
from scripts.studies.caption_rows import CaptionMeasures, draw_rows, read_images
from scripts.studies.study_frame import Line, StudyTable
from scripts.studies.study_options import MODULES, Options, add_output, tool_parser

parser = tool_parser(__doc__)
parser.add_argument("--data", type=pathlib.Path, required=True, metavar="FOLDER")
add_output(parser)
parser.add_argument("--modules", nargs="+", choices=MODULES, default=MODULES, metavar="MODULE")
size_help = "candidates and references on MSVD alone, not the four sizes"
parser.add_argument("--size", nargs=2, type=int, metavar=("N", "M"), help=size_help)
parser.add_argument("--rows", nargs="+", type=int, default=(20, 200), metavar="N", help="rows of a corpus: 20 and 200")
parser.add_argument("--corpora", type=int, default=1000, metavar="N")
parse = parser.parse_args

KEY = ("module", "n_candidates", "n_references", "n_rows", "n_corpora")
COLUMNS = ("rejected_0.01", "rejected_0.05")

SIZES = {(2, 3): "Flickr8k", (3, 3): "MSVD", (5, 5): "MSVD", (10, 5): "MSVD"}
LEVELS = (0.01, 0.05)

OPTIONS = {**DISTRIBUTION_DEFAULTS, "statistic": "per_side", "p_value": "permutation", "n_resamples": 199}

# Share of binomial counts inside the interval.
INTERVAL = 0.999


def is_inside(line: Line) -> bool:
    """Print a line of the table beside the intervals, and say whether its counts are inside."""
    n_corpora, shown, inside = int(line["n_corpora"]), [], True
    for level, column in zip(LEVELS, COLUMNS, strict=True):
        low, high = scipy.stats.binom.interval(INTERVAL, n_corpora, level)
        inside &= bool(low <= int(line[column]) <= high)
        count, low, high = (100 * number / n_corpora for number in (int(line[column]), low, high))
        shown.append(f"at {level:.0%}: {count:4.1f}% ({low:.1f} to {high:.1f})")
    size = f"{line['n_candidates']:>2} + {line['n_references']}, {line['n_rows']:>3} rows"
    print(f"{line['module']:<10} {size}   {'   '.join(shown)}{'' if inside else '   OUTSIDE'}")
    return inside


def main(options: Options) -> int:
    """Count what the table does not have yet, then print it."""
    sizes = {tuple(options.size): "MSVD"} if options.size else SIZES
    images = functools.cache(lambda: {data: read_images(options.data, data) for data in dict.fromkeys(sizes.values())})
    measures = functools.cache(lambda: CaptionMeasures(*images().values()))

    def study(module: str, n: int, m: int, n_rows: int, n_corpora: int) -> list[list[int]]:
        counts, captions = [0] * len(LEVELS), images()[sizes[n, m]]
        for corpus in range(n_corpora):
            rng = np.random.default_rng((MODULES.index(module), n, m, n_rows, corpus))
            chosen = rng.integers(len(captions), size=n_rows)
            rows = measures().rows(module, *draw_rows(captions, chosen, (n, m), "human", rng))
            compared = compare_rows(rows, {**OPTIONS, "seed": corpus}, lambda batches, **_: batches)
            p_value = compared.tests.corpus_p_value
            counts = [count + (p_value <= level) for count, level in zip(counts, LEVELS, strict=True)]
        return [counts]

    designs = itertools.product(sorted(options.rows), options.modules, sizes)
    cells = [(module, *size, n_rows, options.corpora) for n_rows, module, size in designs]
    lines = StudyTable(options.output, "level_study", KEY, COLUMNS, {}).fill(cells, study)
    outside = [line for line in lines if not is_inside(line)]
    return 1 if outside else 0


if __name__ == "__main__":
    sys.exit(main(parse()))
