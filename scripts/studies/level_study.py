"""Level of the corpus test: how often do human captions "differ" from human captions of the same image?

python -m scripts.studies.level_study --data FOLDER [--output level.csv]

FOLDER holds Flickr8k.token.txt.gz and msvd_val_references.txt (`image#number<TAB>caption`, `clip<TAB>caption`). A
simulated corpus has 20 or 200 rows: images drawn at random with replacement, of each the captions that are needed, in
random order, the first of them as candidates. Rows of 2 + 3 captions are of Flickr8k (1,000 random images), those of
3 + 3, 5 + 5 and 10 + 5 captions of the 100 clips of MSVD. Each corpus goes through the functions that the module itself
calls, with p_value="permutation", n_resamples=199 and the number of the corpus as the seed; the trm modules with
statistic="per_side", CIDEr-D with the document frequencies of the corpus's own references. p is a multiple of 1/200, so
p <= 0.01 and p <= 0.05 have these probabilities where values do not tie, and less where they do.

The file gets one line for each module, size and number of rows: how many corpora were rejected at 1 % and 5 %. Printed
beside it is the binomial interval that holds 99.9 % of such counts. Lines that the file has already are not computed
again. Exits with 1 if a count is outside its interval. Needs scripts/requirements.txt and
metrics/trm_bert/requirements.txt.
"""

import argparse
import csv
import itertools
import pathlib
import sys
from collections.abc import Mapping, Sequence

from scripts.command_line import start_tool
from scripts.studies.study_options import MODULES

# Rows of a corpus.
N_ROWS = (20, 200)


def parsed(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse a command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=pathlib.Path, required=True, metavar="FOLDER")
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("level.csv"), metavar="FILE")
    parser.add_argument("--modules", nargs="+", choices=MODULES, default=MODULES, metavar="MODULE")
    parser.add_argument(
        "--size",
        nargs=2,
        type=int,
        metavar=("N", "M"),
        help="candidates and references on MSVD alone, not the four sizes",
    )
    parser.add_argument("--rows", nargs="+", type=int, default=N_ROWS, metavar="N", help="rows of a corpus: 20 and 200")
    parser.add_argument("--corpora", type=int, default=1000, metavar="N")
    return parser.parse_args(arguments)


start_tool(__name__, parsed, "scripts/requirements.txt", "metrics/trm_bert/requirements.txt")

import numpy as np
import scipy.stats
from tqdm import tqdm

from manycaps.kit.sets_module import DISTRIBUTION_DEFAULTS
from scripts.studies.caption_rows import CaptionMeasures, draw_rows, read_images
from scripts.studies.study_frame import write_lines

SIZES = {(2, 3): "Flickr8k", (3, 3): "MSVD", (5, 5): "MSVD", (10, 5): "MSVD"}
LEVELS = (0.01, 0.05)

OPTIONS = {**DISTRIBUTION_DEFAULTS, "statistic": "per_side", "p_value": "permutation", "n_resamples": 199}

# Share of binomial counts inside the interval.
INTERVAL = 0.999

COLUMNS = ["module", "n_candidates", "n_references", "n_rows", "n_corpora", "rejected_0.01", "rejected_0.05"]

Cell = tuple[str, tuple[int, int], int]


def key_of(module: str, size: tuple[int, int], n_rows: int, n_corpora: int) -> list[str]:
    """Return the first columns of a line: what it says its counts of."""
    return [module, *map(str, (*size, n_rows, n_corpora))]


def count_rejections(measures: CaptionMeasures, images: list[list[str]], cell: Cell, n_corpora: int) -> list[int]:
    """Return how many simulated corpora are rejected at each of `LEVELS`."""
    module, size, n_rows = cell
    counts = [0] * len(LEVELS)
    for corpus in tqdm(range(n_corpora), desc=f"{module} {size[0]} + {size[1]}, {n_rows} rows", unit="corpus"):
        rng = np.random.default_rng((MODULES.index(module), *size, n_rows, corpus))
        chosen = rng.integers(len(images), size=n_rows)
        tests = measures.test(module, *draw_rows(images, chosen, size, "human", rng), {**OPTIONS, "seed": corpus})
        counts = [count + (tests.corpus_p_value <= level) for count, level in zip(counts, LEVELS, strict=True)]
    return counts


def within_intervals(line: list[str]) -> bool:
    """Print a line of the file beside the intervals, and say whether its counts are inside."""
    n_corpora, rejected = int(line[4]), [int(cell) for cell in line[5:]]
    intervals = [scipy.stats.binom.interval(INTERVAL, n_corpora, level) for level in LEVELS]
    inside = [low <= count <= high for count, (low, high) in zip(rejected, intervals, strict=True)]
    percent = 100 / n_corpora
    shown = "   ".join(
        f"at {level:.0%}: {percent * count:4.1f} % ({percent * low:.1f} to {percent * high:.1f})"
        for level, count, (low, high) in zip(LEVELS, rejected, intervals, strict=True)
    )
    print(f"{line[0]:<10} {line[1]:>2} + {line[2]}, {line[3]:>3} rows   {shown}{'' if all(inside) else '   OUTSIDE'}")
    return all(inside)


def main(
    folder: pathlib.Path,
    output: pathlib.Path,
    modules: Sequence[str],
    n_corpora: int,
    row_counts: Sequence[int],
    sizes: Mapping[tuple[int, int], str] = SIZES,
) -> int:
    """Compute what the file does not have yet, then print the file; `sizes` are of rows of which data set."""
    cells: list[Cell] = list(itertools.product(modules, sizes, row_counts))
    lines = list(csv.reader(output.read_text(encoding="utf-8").splitlines()))[1:] if output.exists() else []
    done = [line[:5] for line in lines]
    cells = [cell for cell in cells if key_of(*cell, n_corpora) not in done]
    if cells:
        images = {data: read_images(folder, data) for data in dict.fromkeys(sizes.values())}
        measures = CaptionMeasures(caption for data in images.values() for image in data for caption in image)
        for cell in sorted(cells, key=lambda cell: cell[2]):
            counts = count_rejections(measures, images[sizes[cell[1]]], cell, n_corpora)
            lines.append([*key_of(*cell, n_corpora), *map(str, counts)])
            write_lines(output, COLUMNS, lines)
    outside = [line for line in lines if not within_intervals(line)]
    return 1 if outside else 0


if __name__ == "__main__":
    options = parsed()
    asked = {(options.size[0], options.size[1]): "MSVD"} if options.size else SIZES
    sys.exit(main(options.data, options.output, options.modules, options.corpora, options.rows, asked))
