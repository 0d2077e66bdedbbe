"""Can MAUVE be used on few captions? Table B.2 of the distribution paper, and what happens as captions are added.

python -m scripts.studies.mauve_small_samples [--references FILE] [--data FOLDER --corpus MSVD] [--output FOLDER]

MAUVE (Pillutla et al. 2021, section 2, https://arxiv.org/abs/2102.01454) puts the vectors of both sets into clusters
and compares the two histograms P and Q: the area under the curve of (exp(-c KL(Q|R)), exp(-c KL(P|R))) over all
mixtures R = x P + (1 - x) Q, with c = 5; 1 for equal histograms. Clusters are those of k-means, as many as a tenth of
the vectors of a side and at least 2, by scikit-learn from three starts, on the unit vectors of MiniLM; the package of
its authors reduces them by a principal component analysis first and uses faiss.

Written: mauve_small_samples.csv, for n candidates against n references of each image 1 - MAUVE, MMD and TRM-BERT: their
means, and the share of images with a permutation p of at most 5 %; and the picture. p-values look at all splits of an
image's captions into two sets of n where there are at most --splits of them, and at so many random ones elsewhere.
"""

from scripts.studies.study_options import DAMAGES, Options, add_caption_options, start_study, study_parser

parser = study_parser(__doc__)
add_caption_options(parser, n_rows=12)
parser.add_argument("--counts", nargs="+", type=int, default=[4, 5, 8], metavar="N", help="captions on each side")
parser.add_argument("--splits", type=int, default=126, metavar="N", help="of an image at most, default %(default)s")
parser.add_argument("--systems", nargs="+", choices=DAMAGES, default=("human", "w = 0.5", "repeated"))
parsed = start_study(__name__, parser, "scripts", "metrics/trm_bert", "scikit-learn")

import functools
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import scipy.integrate
import scipy.special
import sklearn.cluster

from manycaps.kit.sets_splits import TIE_TOLERANCE, exact_splits, random_splits
from manycaps.kit.vectors_mmd import mmd_squared
from scripts.studies.caption_rows import caption_vectors, distinct_captions, draw_systems, read_captions
from scripts.studies.embedding_metric_sizes import triangle_ranks
from scripts.studies.study_frame import Line, StudyTable, matching, numbers, study_settings
from scripts.studies.study_pictures import BLUE, ORANGE, PURPLE, label_axes, new_picture

NAME = "mauve_small_samples"
KEY = ("system", "n_captions")
COLUMNS = ("measure", "n_rows", "value", "deviation", "rejected_5_percent", "smallest_p")

# The scaling constant c, and the mixtures of the curve; both as in the authors' package.
SCALING, N_MIXTURES = 5.0, 25

LEVEL = 0.05


def divergence_area(first: np.ndarray, second: np.ndarray) -> float:
    """MAUVE of two histograms: probabilities of shape (n_clusters,) each; 0 (no cluster in common) to 1 (equal).

    >>> divergence_area(np.array([0.5, 0.5]), np.array([0.5, 0.5]))
    1.0
    """
    points = [(0.0, 1.0), (1.0, 0.0)]
    for share in np.linspace(1e-6, 1 - 1e-6, N_MIXTURES):
        mixture = share * first + (1 - share) * second
        # Kullback-Leibler divergences in nats; 0 log 0 is 0.
        divergences = (scipy.special.rel_entr(side, mixture).sum() for side in (second, first))
        points.append(tuple(math.exp(-SCALING * divergence) for divergence in divergences))
    x, y = np.array(sorted(points, key=lambda point: (point[0], -point[1]))).T
    return round(float(scipy.integrate.trapezoid(y, x)), 12)


def one_minus_mauve(vectors: np.ndarray, n: int) -> np.ndarray:
    """Return 1 - MAUVE of each row: (n_rows,); the clusters of a row do not depend on which of its texts are whose."""
    return np.array([_one_minus_mauve_of(row, n) for row in vectors])


def _one_minus_mauve_of(row: np.ndarray, n: int) -> float:
    n_clusters = max(2, round(min(n, len(row) - n) / 10))
    # Repeated captions may be fewer than the clusters: then each has its own.
    _, places = np.unique(row.round(6), axis=0, return_inverse=True)
    labels = places.reshape(-1)
    if labels.max() >= n_clusters:
        labels = sklearn.cluster.KMeans(n_clusters, n_init=3, random_state=0).fit_predict(row)
    histograms = [np.bincount(side, minlength=labels.max() + 1) / len(side) for side in (labels[:n], labels[n:])]
    return 1 - divergence_area(*histograms)


# Each takes vectors, shape (n_rows, n_texts, d), and the number of candidates; large values say that the sets differ.
MEASURES: Mapping[str, tuple[Callable[[np.ndarray, int], np.ndarray], str]] = {
    "1 - MAUVE": (one_minus_mauve, ORANGE),
    "MMD": (mmd_squared, PURPLE),
    "TRM-BERT": (triangle_ranks, BLUE),
}


def lines_of(vectors: np.ndarray, n_splits: int) -> Iterator[list[Any]]:
    """Yield the lines of rows of as many candidates as references; every split's statistic is made from scratch."""
    n = vectors.shape[1] // 2
    # No measure distinguishes the two sides: half of the splits are enough.
    is_exact = math.comb(2 * n, n) // 2 <= n_splits
    splits = exact_splits(n, n, 2 * n_splits, mirrored=False) if is_exact else random_splits(n, n, n_splits, seed=0)
    orders = [np.argsort(~split, kind="stable") for split in itertools.chain.from_iterable(splits(n_splits))]
    for measure, (function, _) in MEASURES.items():
        nulls = np.stack([function(vectors[:, order], n) for order in orders], axis=1)
        # The first split is the observed one.
        values = nulls[:, 0]
        p_values = (nulls >= values[:, None] - TIE_TOLERANCE).mean(axis=1)
        yield [measure, len(values), values.mean(), values.std(ddof=1), (p_values <= LEVEL).mean(), p_values.min()]


def draw_picture(lines: Sequence[Line], options: Options, title: str) -> None:
    """Draw the share of rejected images by the number of captions, a panel for each system."""
    with new_picture(options.output, NAME, 11, 3.6) as figure:
        for axes, system in zip(figure.subplots(1, len(options.systems), sharey=True), options.systems, strict=True):
            for measure, (_, color) in MEASURES.items():
                mine = matching(lines, system=system, measure=measure)
                axes.plot(options.counts, numbers(mine, "rejected_5_percent"), "o-", color=color, label=measure)
            axes.axhline(LEVEL, color="#888888", lw=0.8)
            axes.set_ylim(-0.03, 1.03)
            axes.set_title(system)
            better = "5 % is right" if system == "human" else "higher is better"
            label_axes(axes, "captions on each side", "images rejected at 5 %, share", better=better)
        figure.suptitle(f"{title}: permutation tests of single images; grey: 5 %")
        figure.legend(*axes.get_legend_handles_labels(), loc="outside right center")


def main(options: Options) -> None:
    """Compute what the table does not have yet, then draw it."""
    options.sizes = options.sizes or [max(options.counts)] * 2
    captions = read_captions(options)
    drawn = draw_systems(captions, options.systems, options.rows, (options.seed,))
    vectors = functools.cache(lambda: caption_vectors(distinct_captions(*drawn.sides())))

    def study(system: str, n: int) -> Iterator[list[Any]]:
        rows = zip(drawn.candidates[system], drawn.references, strict=True)
        texts = [[*mine[:n], *theirs[:n]] for mine, theirs in rows]
        return lines_of(np.array([[vectors()[text] for text in row] for row in texts]), options.splits)

    cells = list(itertools.product(options.systems, options.counts))
    lines = StudyTable(options.output, NAME, KEY, COLUMNS, study_settings(options)).fill(cells, study)
    draw_picture(lines, options, captions.name)


if __name__ == "__main__":
    main(parsed())
