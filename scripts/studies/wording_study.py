"""Level and power of the test of wording, and how often a phrase of people's captions is named.

python -m scripts.studies.wording_study --data FOLDER [--output FOLDER]

FOLDER of --data holds Flickr8k.token.txt.gz and msvd_val_references.txt. A trial has other images, drawn at random
without replacement, and of each the captions that are needed, in random order, the first of them as candidates. Some
of the candidates are damaged, each with the same chance by itself: one word doubled, the last two words missing, or all
words in random order. "clusters": every image is two rows, of captions that differ, with one label; "equal": every
caption is one of the three first of its image, so that many are equal.

Written: wording_study.csv, for each cell the share of trials with p <= 0.05, the mean and the standard deviation of z
(p with the sign of the gap), the share of 95% intervals that hold 0, and the share of trials in which a phrase is
named. Printed beside it is the interval that 99.9% of such shares lie in if they are 5%; exits with 1 if the share of
a cell of people is above it.
"""

import functools
import pathlib
import sys
from collections.abc import Sequence

import numpy as np
import scipy.stats

from manycaps.kit.base import TokenList
from manycaps.kit.caption_wording import number_texts, telling_phrases, wording_of, wording_test
from manycaps.kit.tokenization import tokenize_rows
from scripts.studies.caption_rows import read_images
from scripts.studies.study_frame import Line, StudyTable
from scripts.studies.study_options import Options, add_output, tool_parser

parser = tool_parser(__doc__)
parser.add_argument("--data", type=pathlib.Path, required=True, metavar="FOLDER")
add_output(parser)
parser.add_argument("--trials", type=int, default=400, metavar="N", help="of people's captions; a quarter of damaged")
parser.add_argument("--most-rows", type=int, default=1000, metavar="N", help="cells of more rows are left out")
parse = parser.parse_args

KEY = ("corpus", "n_candidates", "n_references", "n_rows", "damage", "percent", "n_trials")
COLUMNS = ("share", "mean_z", "sd_z", "covered", "named")

# Cells of people's captions, and the rows of damaged ones, one candidate and four references.
PEOPLE = (
    *(("MSVD", *size, n, "none") for size in ((10, 3), (20, 3), (5, 5), (1, 1)) for n in (10, 20, 60)),
    *(("Flickr8k", *size, n, "none") for size in ((1, 4), (2, 3), (1, 1)) for n in (10, 20, 60, 400, 1000)),
    *(("MSVD", 10, 5, n, kind) for kind in ("clusters", "equal") for n in (20, 60)),
)
DAMAGED_ROWS, DAMAGES, PERCENTS = (60, 200, 1000), ("doubled", "cut", "shuffled"), (10, 20, 50)

TextsOfImage = Sequence[TokenList]

# Share of binomial counts inside the printed interval.
INTERVAL = 0.999


def damage_caption(text: TokenList, damage: str, rng: np.random.Generator) -> list[str]:
    """Damage a caption."""
    words = list(text)
    if damage == "doubled" and words:
        place = int(rng.integers(len(words)))
        return [*words[: place + 1], *words[place:]]
    if damage == "shuffled":
        return [words[i] for i in rng.permutation(len(words))]
    return words[:-2] if damage == "cut" else words


def draw_rows(
    images: Sequence[TextsOfImage], m: int, k: int, n: int, damage: str, share: float, rng: np.random.Generator
) -> tuple[list[list[TokenList]], list[list[TokenList]], list[int] | None]:
    """Candidates, references and clusters of n rows of m + k captions."""
    per_image = 2 if damage == "clusters" else 1
    candidates, references = list[list[TokenList]](), list[list[TokenList]]()
    images = [texts for texts in images if len(texts) >= per_image * (m + k)]
    for image in rng.choice(len(images), n // per_image, replace=False).tolist():
        texts = images[image]
        n_drawn = per_image * (m + k)
        chosen = rng.integers(3, size=n_drawn) if damage == "equal" else rng.permutation(len(texts))[:n_drawn]
        for row in chosen.reshape(per_image, -1).tolist():
            candidates.append([damage_caption(texts[i], damage if rng.random() < share else "", rng) for i in row[:m]])
            references.append([texts[i] for i in row[m:]])
    return candidates, references, np.repeat(np.arange(n // 2), 2).tolist() if damage == "clusters" else None


def is_within(line: Line) -> bool:
    """Print a line of the table, and say whether people's captions are not found too often."""
    n_trials, share = int(line["n_trials"]), float(line["share"])
    low, high = (count / n_trials for count in scipy.stats.binom.interval(INTERVAL, n_trials, 0.05))
    is_too_much = bool(not int(line["percent"]) and share > high)
    size = f"{line['n_candidates']:>2} + {line['n_references']}, {line['n_rows']:>4} rows"
    print(
        f"{line['corpus']:<8} {size} {line['damage']:>8} {line['percent']:>2}%: found {share:.3f} ({low:.3f} to "
        f"{high:.3f}), sd of z {float(line['sd_z']):.2f}, phrases {float(line['named']):.3f}{' TOO MUCH' * is_too_much}"
    )
    return not is_too_much


def main(options: Options) -> int:
    """Count what the table does not have yet, then print it."""

    @functools.cache
    def images(corpus: str) -> list[list[TokenList]]:
        return [list(row) for row in tokenize_rows(read_images(options.data, corpus), "ptb")]

    def study(
        corpus: str, m: int, k: int, n_rows: int, damage: str, percent: int, n_trials: int
    ) -> list[tuple[float, ...]]:
        lines = []
        for trial in range(n_trials):
            rng = np.random.default_rng((m, k, n_rows, percent, trial))
            *sides, clusters = draw_rows(images(corpus), m, k, n_rows, damage, percent / 100, rng)
            texts = number_texts(*sides, clusters)
            test = wording_test(wording_of(texts, is_tested=True), clusters, 0.95)
            z = np.sign(test.gap) * scipy.stats.norm.isf(max(test.p_value, 1e-300) / 2)
            is_named = bool(telling_phrases(texts, clusters)) if not percent else False
            lines.append((test.p_value <= 0.05, z, test.low <= 0 <= test.high, is_named))
        found, z, covered, named = np.array(lines, dtype=float).T
        return [(found.mean(), z.mean(), z.std(), covered.mean(), named.mean())]

    cells = [(*cell, 0, options.trials) for cell in PEOPLE if cell[3] <= options.most_rows]
    cells += [
        ("Flickr8k", 1, 4, n, damage, percent, max(options.trials // 4, 1))
        for n in DAMAGED_ROWS
        for damage in DAMAGES
        for percent in PERCENTS
        if n <= options.most_rows
    ]
    lines = StudyTable(options.output, "wording_study", KEY, COLUMNS, {}).fill(cells, study)
    return 0 if min(map(is_within, lines)) else 1


if __name__ == "__main__":
    sys.exit(main(parse()))
