"""Level of the tests of human parity: people's captions against people's, for few rows and odd sets.

python -m scripts.studies.human_parity_level --data FOLDER [--output FOLDER]

FOLDER of --data holds Flickr8k.token.txt.gz and msvd_val_references.txt. A trial has other images, drawn at random
without replacement, and of each the captions that are needed, in random order, the first of them as candidates. Kinds
of rows: "clusters": every image is two rows, or five where distances are compared, of captions that differ, with one
label; "equal": every caption is one of the three first of its image; "zipf": one of eight of its image, the k-th with
weight 1 / k; "mixed": every other row has two references.

Written: human_parity_level.csv, for each cell the share of trials with p <= 0.05: of the wording, and with a distance
of the gaps, of the tails and of all three together; the standard deviation of the wording's z (p with the sign of the
gap) with its 95% interval; the share of 95% intervals of the wording gap that hold 0; the share of trials (without a
distance of every fifth one) in which a phrase is named; and with a distance the share in which something false is said:
all three together find a difference, or a phrase is named that is clear enough beside them. Printed beside it is the
interval that 95% of such shares lie in if they are 5%; exits with 1 if a share is above the one that holds 99.9%.
"""

import functools
import math
import pathlib
import sys
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy.stats

from manycaps.kit.arrays import TokenList
from manycaps.kit.parity_corpus import parity_p_values
from manycaps.kit.parity_gaps import gaps_test, row_gaps
from manycaps.kit.parity_tails import KeptDistances, corpus_tails
from manycaps.kit.parity_words import clear_phrases
from manycaps.kit.words_predictability import number_texts, wording_of
from manycaps.kit.words_tests import WordingTest, telling_phrases, wording_test
from manycaps.kit.words_tokenizers import tokenize_rows
from scripts.studies.caption_rows import read_images
from scripts.studies.parity_pools import embed_texts, text_distances, vector_distances
from scripts.studies.study_frame import Line, StudyTable
from scripts.studies.study_options import DISTANCES, Options, add_output, tool_parser
from scripts.toy.speakers import zipf_probabilities

parser = tool_parser(__doc__)
parser.add_argument("--data", type=pathlib.Path, required=True, metavar="FOLDER")
add_output(parser)
parser.add_argument("--trials", type=int, default=400, metavar="N", help="of a cell with a distance, default 400")
parser.add_argument("--wording-trials", type=int, default=2000, metavar="N", help="of a cell without, default 2000")
parser.add_argument("--distances", nargs="+", default=["meteor", "MiniLM"], choices=DISTANCES, metavar="NAME")
parser.add_argument("--most-rows", type=int, default=1000, metavar="N", help="cells of more rows are left out")
parse = parser.parse_args

KEY = ("corpus", "distance", "kind", "n_candidates", "n_references", "n_rows", "n_trials")
SHARES = ("joint", "gaps", "tails", "wording")
COLUMNS = (*SHARES, "sd_z", "sd_z_low", "sd_z_high", "covered", "named", "said")

# Cells by wording alone, and the part of the trials that cells of many rows have.
WORDING = (
    *(("MSVD", "", "none", *size, 10) for size in ((5, 5), (10, 3), (10, 2), (1, 1))),
    *(("MSVD", "", "none", 20, 3, n) for n in (20, 60)),
    *(("MSVD", "", kind, 10, 5, 60) for kind in ("clusters", "equal")),
    *(("Flickr8k", "", "none", 1, 4, n) for n in (60, 400, 1000)),
    *(("Flickr8k", "", "none", 3, 2, n) for n in (60, 1000)),
)
MANY_ROWS = {400: 0.4, 1000: 0.2}

# Cells by all tests.
ODD = (
    *(("none", 10, 3, n) for n in (10, 20, 60)),
    *(("none", *size, 10) for size in ((20, 3), (5, 5))),
    *((kind, 10, 5, 20) for kind in ("zipf", "equal")),
    *(("mixed", m, 8, 20) for m in (1, 5, 10)),
    ("clusters", 2, 2, 50),
)
# Captions of a clip whose distances are known.
N_PEOPLE = 25

# Rows of an image in a cluster, without a distance and with one.
PER_CLUSTER = (2, 5)

# Of every trial, beside its number and the sizes.
SEED = 77

# Share of binomial counts inside an interval, for all cells and for one.
INTERVAL, OF_ONE = 0.999, 0.95


class Rows(NamedTuple):
    """Rows of people's captions."""

    # The image of each, and its texts by their places there, the candidates first.
    images: list[int]
    places: list[list[int]]
    sizes: list[tuple[int, int]]
    clusters: list[int] | None


def draw_rows(
    n_texts: Sequence[int], kind: str, size: tuple[int, int], n: int, per_cluster: int, rng: np.random.Generator
) -> Rows:
    """Draw n rows of m + k captions of images with these numbers of texts."""
    m, k = size
    per_image = per_cluster if kind == "clusters" else 1
    n_drawn = per_image * (m + k)
    known = [image for image, number in enumerate(n_texts) if number >= n_drawn]
    rows = Rows([], [], [], [] if kind == "clusters" else None)
    for number, image in enumerate(rng.choice(len(known), n // per_image, replace=False).tolist()):
        if kind == "equal":
            chosen = rng.integers(3, size=n_drawn)
        elif kind == "zipf":
            chosen = rng.permutation(n_texts[known[image]])[:8][rng.choice(8, n_drawn, p=zipf_probabilities(8, 1))]
        else:
            chosen = rng.permutation(n_texts[known[image]])[:n_drawn]
        for row in chosen.reshape(per_image, -1).tolist():
            texts = row[: m + 2] if kind == "mixed" and number % 2 else row
            rows.images.append(known[image])
            rows.places.append(texts)
            rows.sizes.append((m, len(texts) - m))
            if rows.clusters is not None:
                rows.clusters.append(number)
    return rows


class Corpus:
    """Captions of images as tokens, and the distances within each image."""

    def __init__(self, images: Sequence[Sequence[str]]):
        self._images = images
        self.tokens: list[list[TokenList]] = [list(row) for row in tokenize_rows(images, "ptb")]
        self.distances = functools.cache(self._distances)

    def _distances(self, name: str) -> np.ndarray:
        people = [list(captions) for captions in self._images]
        return (
            vector_distances(embed_texts(people, name)) if name == "MiniLM" else text_distances(people, N_PEOPLE, name)
        )

    def p_values(self, rows: Rows, distance: str, wording_p: float, seed: int) -> tuple[float, float, float]:
        """Return the p-values of all tests, of the gaps and of the tails; NaN without a distance."""
        if not distance:
            return (math.nan,) * 3
        kept, gaps, order = KeptDistances(len(rows.sizes)), [], []
        for size in dict.fromkeys(rows.sizes):
            chosen = [i for i, each in enumerate(rows.sizes) if each == size]
            images, places = np.array([rows.images[i] for i in chosen]), np.array([rows.places[i] for i in chosen])
            distances = self.distances(distance)[images[:, None, None], places[:, :, None], places[:, None]]
            kept.add(distances, size[0], chosen)
            gaps.append(row_gaps(distances, size[0]))
            order += chosen
        labels = None if rows.clusters is None else [rows.clusters[i] for i in order]
        tails = corpus_tails(kept, None, rows.clusters, seed=seed)
        joint_p, gaps_p, _ = parity_p_values(gaps_test(gaps, labels).p_value, tails, rows.clusters, wording_p)
        return joint_p, gaps_p, tails.p_value


def is_within(line: Line) -> bool:
    """Print a line of the table, and say whether people's captions are not found too often."""
    n_trials, shares = int(line["n_trials"]), {name: float(line[name]) for name in SHARES if line[name] != "nan"}
    least, most = (count / n_trials for count in scipy.stats.binom.interval(OF_ONE, n_trials, 0.05))
    is_too_much = bool(max(shares.values()) > scipy.stats.binom.interval(INTERVAL, n_trials, 0.05)[1] / n_trials)
    size = f"{line['n_candidates']:>2} + {line['n_references']}, {line['n_rows']:>4} rows"
    listed = ", ".join(f"{name} {share:.4f}" for name, share in shares.items())
    z, low, high = (float(line[name]) for name in ("sd_z", "sd_z_low", "sd_z_high"))
    print(
        f"{line['corpus']:<8} {line['distance']:>6} {line['kind']:>8} {size}: {listed} ({least:.4f} to {most:.4f} of "
        f"{n_trials}), sd of z {z:.3f} [{low:.3f}, {high:.3f}], covered {float(line['covered']):.3f}, phrases "
        f"{float(line['named']):.4f}, said {float(line['said']):.4f}{' TOO MUCH' * is_too_much}"
    )
    return not is_too_much


def main(options: Options) -> int:
    """Count what the table does not have yet, then print it."""

    @functools.cache
    def corpus(name: str, n_people: int) -> Corpus:
        images = [row for row in read_images(options.data, name) if len(row) >= n_people]
        rng = np.random.default_rng(SEED)
        return Corpus(
            [[row[i] for i in rng.permutation(len(row))[:n_people]] for row in images] if n_people else images
        )

    def study(
        name: str, distance: str, kind: str, m: int, k: int, n_rows: int, n_trials: int
    ) -> list[tuple[float, ...]]:
        people = corpus(name, N_PEOPLE if distance else 0)
        n_texts, lines = list(map(len, people.tokens)), []
        for trial in range(n_trials):
            rng = np.random.default_rng((m, k, n_rows, trial, SEED))
            rows = draw_rows(n_texts, kind, (m, k), n_rows, PER_CLUSTER[bool(distance)], rng)
            texts = [
                [people.tokens[image][i] for i in places]
                for image, places in zip(rows.images, rows.places, strict=True)
            ]
            coded = number_texts([row[:m] for row in texts], [row[m:] for row in texts], rows.clusters)
            test: WordingTest = wording_test(wording_of(coded, is_tested=True), rows.clusters, 0.95)
            z = np.sign(test.gap) * scipy.stats.norm.isf(max(test.p_value, 1e-300) / 2)
            is_left_out = not distance and trial % 5
            phrases = [] if is_left_out else telling_phrases(coded, rows.clusters)
            is_named = math.nan if is_left_out else bool(phrases)
            p_values = (*people.p_values(rows, distance, test.p_value, trial), test.p_value)
            rejections = [math.nan if math.isnan(p_value) else p_value <= 0.05 for p_value in p_values]
            is_clear = bool(clear_phrases([phrase._asdict() for phrase in phrases]))
            is_said = rejections[0] or is_clear if distance else math.nan
            lines.append((*rejections, z, test.low <= 0 <= test.high, is_named, is_said))
        *rejections, z, covered, named, said = np.array(lines, dtype=float).T
        sd = math.sqrt((z**2).mean())
        low, high = sd * np.sqrt(n_trials / scipy.stats.chi2.ppf([0.975, 0.025], n_trials))
        return [
            (*(share.mean() for share in rejections), sd, low, high, covered.mean(), np.nanmean(named), said.mean())
        ]

    cells = [(*cell, max(1, round(options.wording_trials * MANY_ROWS.get(cell[-1], 1)))) for cell in WORDING]
    cells += [("MSVD", distance, *cell, options.trials) for distance in options.distances for cell in ODD]
    cells = [cell for cell in cells if cell[5] <= options.most_rows]
    lines = StudyTable(options.output, "human_parity_level", KEY, COLUMNS, {}).fill(cells, study)
    return 0 if min(map(is_within, lines)) else 1


if __name__ == "__main__":
    sys.exit(main(parse()))
