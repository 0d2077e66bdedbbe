"""MAUVE, MMD, Fréchet distance and TRM-BERT on ten captions against ten, beside each other: the table on the cards.

python -m scripts.studies.compare_mauve FILE [--clips 25] [--splits 99] 2> mauve.log

FILE has one `video<TAB>caption` a line, as MSVD's captions do. All four get the same MiniLM vectors of ten candidates
and ten references a clip, and the same random splits for their p-values (one-sided: MAUVE rejects where it is small).
MAUVE runs with its own number of clusters ("auto": a tenth of the texts, at least 2) and with 5; the log fills with its
warnings of too few points for that. Shown: mean and standard deviation over clips; for MAUVE the mean standard
deviation over five seeds of its clustering; and the share of clips with p <= 0.05, which should be at most 0.05 for the
human captions and near 1 for the others. Needs `pip install mauve-text`.
"""

import functools
import pathlib
import time
from collections.abc import Callable

import numpy as np

from manycaps.kit.frechet import joint_frechet_squared
from manycaps.kit.mmd_squared import joint_mmd_squared
from manycaps.kit.sets_splits import random_splits
from scripts.studies.embedding_metric_sizes import clip_vectors, triangle_ranks
from scripts.studies.study_options import Options, tool_parser

parser = tool_parser(__doc__)
parser.add_argument("file", type=pathlib.Path)
parser.add_argument("--clips", type=int, default=25)
parser.add_argument("--splits", type=int, default=99)
parse = parser.parse_args

# Candidates, and references, of each clip.
N_CAPTIONS = 10

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
    """Return, for each system, the vectors of all clips, shape (n_clips, 20, d), candidates first."""
    candidates, references = human[:, :N_CAPTIONS], human[:, N_CAPTIONS:]
    other = np.roll(candidates, 7, axis=0)
    systems = {
        "ten other human captions": candidates,
        "five of them, twice each": np.concatenate((candidates[:, :5], candidates[:, :5]), axis=1),
        "seven, and three of another clip": np.concatenate((candidates[:, :7], other[:, :3]), axis=1),
        "the first of them, ten times": np.repeat(candidates[:, :1], N_CAPTIONS, axis=1),
        "captions of another clip": other,
    }
    return {name: np.concatenate((system, references), axis=1) for name, system in systems.items()}


def p_values(measure: Callable[..., np.ndarray], vectors: np.ndarray, n_splits: int) -> np.ndarray:
    """Return the permutation p-value of each row, the statistic computed from scratch for each split."""
    (observed_split, *blocks) = random_splits(N_CAPTIONS, N_CAPTIONS, n_splits, seed=0)(n_splits)
    observed = measure(vectors, N_CAPTIONS)
    reached = np.ones(len(vectors))
    for labels in np.concatenate(blocks):
        order = np.argsort(~labels, kind="stable")
        reached += measure(vectors[:, order], N_CAPTIONS) >= observed - 1e-9
    return reached / (n_splits + len(observed_split))


def main(options: Options) -> None:
    """Print the table."""
    systems = system_vectors(clip_vectors(options.file, options.clips, 2 * N_CAPTIONS))
    for name, measure in MEASURES.items():
        for system, vectors in systems.items():
            start = time.perf_counter()
            values = measure(vectors, N_CAPTIONS)
            milliseconds = 1000 * (time.perf_counter() - start) / len(vectors)
            seeds = ""
            if "MAUVE" in name:
                by_seed = np.stack([measure(vectors, N_CAPTIONS, seed=seed) for seed in range(5)])
                seeds = f"over seeds {by_seed.std(axis=0, ddof=1).mean():.3f}"
            rejected = np.mean(p_values(measure, vectors, options.splits) <= LEVEL)
            print(
                f"{name:<22} {system:<34} mean {values.mean():6.3f}  over clips {values.std(ddof=1):.3f} {seeds:<16} "
                f"p <= {LEVEL}: {rejected:.2f}  {milliseconds:8.3f} ms per row",
                flush=True,
            )


if __name__ == "__main__":
    main(parse())
