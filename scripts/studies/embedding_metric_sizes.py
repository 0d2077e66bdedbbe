"""How MMD-BERT, FID-BERT and TRM-BERT depend on the numbers of captions: the tables on their cards.

python -m scripts.studies.embedding_metric_sizes FILE [--clips 50]

FILE has one `video<TAB>caption` a line, as MSVD's captions do. For each of the first clips with at least 40 captions,
n human captions stand against m other human captions of the same clip ("human"), against m captions of another clip
("other clip"), and one of the n repeated n times against the m ("repeated"). Shown: means over clips, and per clip the
exact p-value's share of p <= 0.05 for 10 + 5 captions.
"""

import pathlib

import numpy as np

from manycaps.functional import frechet_p_values, mmd_p_values
from manycaps.kit.frechet import joint_frechet_squared
from manycaps.kit.mmd_rows import joint_mmd_squared
from manycaps.kit.sets_tests import exact_splits, harmonic_mean_p, split_p_values
from manycaps.kit.triangle_rank import null_statistics, rank_statistic, triangle_rank_counts
from manycaps.kit.vectors_rows import cosine_similarities, distances_from_cosines
from scripts.studies.caption_rows import caption_vectors, distinct_captions, read_clips
from scripts.studies.study_options import Options, tool_parser

parser = tool_parser(__doc__)
parser.add_argument("file", type=pathlib.Path)
parser.add_argument("--clips", type=int, default=50)
parse = parser.parse_args

# Captions taken of each clip.
N_CAPTIONS = 40

SIZES = [(2, 2), (5, 5), (10, 5), (10, 10), (20, 10), (20, 20)]


def clip_vectors(path: pathlib.Path, n_clips: int, n_captions: int) -> np.ndarray:
    """Return the MiniLM vectors of captions of the first clips that have so many: (n_clips, n_captions, d)."""
    clips = read_clips(path, n_clips, n_captions)
    vectors = caption_vectors(distinct_captions(clips))
    return np.array([[vectors[caption] for caption in clip] for clip in clips])


def systems(vectors: np.ndarray, n: int, m: int) -> dict[str, np.ndarray]:
    """Return rows of n candidates and m references for each system, shape (n_clips, n + m, d)."""
    candidates, references = vectors[:, :n], vectors[:, -m:]
    return {
        "human": np.concatenate((candidates, references), axis=1),
        "repeated": np.concatenate((np.repeat(candidates[:, :1], n, axis=1), references), axis=1),
        "other clip": np.concatenate((np.roll(candidates, 7, axis=0), references), axis=1),
    }


def triangle_ranks(vectors: np.ndarray, n: int) -> np.ndarray:
    """Return the triangle-rank statistic of each row, n candidates first: (n_rows, n_texts, d) to (n_rows,)."""
    return rank_statistic(triangle_rank_counts(distances_from_cosines(cosine_similarities(vectors)), n))


def main(options: Options) -> None:
    """Print both tables."""
    vectors = clip_vectors(options.file, options.clips, N_CAPTIONS)
    print(f"{len(vectors)} clips\n n + m    system       MMD unbiased   biased  authors   Fréchet  TRM")
    for n, m in SIZES:
        for system, rows in systems(vectors, n, m).items():
            mmd = [
                joint_mmd_squared(rows, n, "median", estimator).mean()
                for estimator in ("unbiased", "biased", "authors")
            ]
            print(
                f"{n:>2} + {m:<2}   {system:<12} {mmd[0]:10.3f} {mmd[1]:10.3f} {mmd[2]:8.3f} "
                f"{joint_frechet_squared(rows, n).mean():9.3f} {triangle_ranks(rows, n).mean():7.3f}"
            )
    splits = exact_splits(10, 5, 10**4)
    print("\n10 + 5: share of clips with p <= 0.05, harmonic mean p")
    for system, rows in systems(vectors, 10, 5).items():
        nulls = null_statistics(distances_from_cosines(cosine_similarities(rows)), splits)
        for name, p_values in (
            ("mmd_bert", mmd_p_values(rows[:, :10], rows[:, 10:])),
            ("fid_bert", frechet_p_values(rows[:, :10], rows[:, 10:])),
            ("trm_bert", split_p_values(triangle_ranks(rows, 10), nulls)),
        ):
            print(f"{system:<12} {name} {np.mean(p_values <= 0.05):.2f} {harmonic_mean_p(p_values):.2g}")


if __name__ == "__main__":
    main(parse())
