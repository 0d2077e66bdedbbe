"""MAUVE, MMD, Fréchet distance and TRM-BERT on few captions, beside each other: the table on the cards.

python -m scripts.studies.compare_mauve FILE [--clips 25] [--captions 10] [--splits 99] 2> mauve.log

FILE has one `video<TAB>caption` a line, as MSVD's captions do. All four get the same MiniLM vectors of ten candidates
and ten references a clip (`--captions 5`: five and five, as in appendix B.5 of Chan et al. 2022,
https://arxiv.org/abs/2209.07518), and the same random splits for their p-values (one-sided: MAUVE rejects where it is
small).
MAUVE runs with its own number of clusters ("auto": a tenth of the texts, at least 2) and with 5; the log fills with its
warnings of too few points for that. Shown: mean and standard deviation over clips; for MAUVE the mean standard
deviation over five seeds of its clustering; and the share of clips with p <= 0.05, which should be at most 0.05 for the
human captions and near 1 for the others, with the mean of log10 p (people: about -0.43). Needs `pip install
mauve-text`.
"""

import functools
import math
import pathlib
import time
from collections.abc import Callable

import numpy as np

from manycaps.kit.frechet import joint_frechet_squared
from manycaps.kit.mmd_rows import joint_mmd_squared
from manycaps.kit.sets_tests import random_splits
from scripts.studies.embedding_metric_sizes import clip_vectors, triangle_ranks
from scripts.studies.study_options import Options, tool_parser

parser = tool_parser(__doc__)
parser.add_argument("file", type=pathlib.Path)
parser.add_argument("--clips", type=int, default=25)
parser.add_argument("--captions", type=int, default=10, help="candidates, and references, of a clip; at least 4")
parser.add_argument("--splits", type=int, default=99)
parse = parser.parse_args

LEVEL = 0.05


def one_minus_mauve(vectors: np.ndarray, n: int, n_buckets: int | str, seed: int = 25) -> np.ndarray:
    """Return 1 - MAUVE of each row, so that large means different; 25 is the package's own seed."""
    from mauve import compute_mauve

    settings = {"num_buckets": n_buckets, "seed": seed}
    scores = [compute_mauve(p_features=row[:n], q_features=row[n:], **settings) for row in vectors]
    return 1 - np.array([score.mauve for score in scores])


# Each takes vectors (n_rows, n_texts, d), candidates first, and their number; large values say that the sets differ.
MEASURES: dict[str, Callable[..., np.ndarray]] = {
    "1 - MAUVE, auto": functools.partial(one_minus_mauve, n_buckets="auto"),
    "1 - MAUVE, 5 clusters": functools.partial(one_minus_mauve, n_buckets=5),
    "MMD": joint_mmd_squared,
    "Fréchet": joint_frechet_squared,
    "TRM-BERT": triangle_ranks,
}


def system_vectors(human: np.ndarray) -> dict[str, np.ndarray]:
    """Return, for each system, the vectors of all clips, shape (n_clips, 2 n, d), candidates first, from people's."""
    n = human.shape[1] // 2
    candidates, references = human[:, :n], human[:, n:]
    half, right = math.ceil(n / 2), math.ceil(2 * n / 3)
    other = np.roll(candidates, 7, axis=0)
    systems = {
        "other human captions": candidates,
        "half of them, twice each": np.concatenate((candidates[:, :half], candidates[:, : n - half]), axis=1),
        "two thirds, the rest of another clip": np.concatenate((candidates[:, :right], other[:, right:]), axis=1),
        "the first of them alone": np.repeat(candidates[:, :1], n, axis=1),
        "captions of another clip": other,
    }
    return {name: np.concatenate((system, references), axis=1) for name, system in systems.items()}


def p_values(measure: Callable[..., np.ndarray], vectors: np.ndarray, n_splits: int) -> np.ndarray:
    """Return the permutation p-value of each row, the statistic computed from scratch for each split."""
    n = vectors.shape[1] // 2
    (observed_split, *blocks) = random_splits(n, n, n_splits, seed=0)(n_splits)
    observed = measure(vectors, n)
    reached = np.ones(len(vectors))
    for labels in np.concatenate(blocks):
        order = np.argsort(~labels, kind="stable")
        reached += measure(vectors[:, order], n) >= observed - 1e-9
    return reached / (n_splits + len(observed_split))


def main(options: Options) -> None:
    """Print the table."""
    systems = system_vectors(clip_vectors(options.file, options.clips, 2 * options.captions))
    for name, measure in MEASURES.items():
        for system, vectors in systems.items():
            start = time.perf_counter()
            values = measure(vectors, options.captions)
            milliseconds = 1000 * (time.perf_counter() - start) / len(vectors)
            seeds = ""
            if "MAUVE" in name:
                by_seed = np.stack([measure(vectors, options.captions, seed=seed) for seed in range(5)])
                seeds = f"over seeds {by_seed.std(axis=0, ddof=1).mean():.3f}"
            p = p_values(measure, vectors, options.splits)
            print(
                f"{name:<22} {system:<34} mean {values.mean():6.3f}  over clips {values.std(ddof=1):.3f} {seeds:<16} "
                f"p <= {LEVEL}: {np.mean(p <= LEVEL):.2f}  log10 p {np.log10(p).mean():5.2f}  "
                f"{milliseconds:8.3f} ms per row",
                flush=True,
            )


if __name__ == "__main__":
    main(parse())
