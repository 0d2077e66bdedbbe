"""VATEX-EVAL (Shi et al., 2022): captions of videos and three human judgements of each, from the released arrays.

The release (https://github.com/ShiYaya/emscore) holds pickled arrays, which are not read here: a pickle can run code.
"""

import pathlib
from typing import Any

import numpy as np

from manycaps.human_correlation.video_files import video_path
from manycaps.kit.base_messages import reason_of, shown_path

# Arrays of the release, by name.
ARRAYS = ("candidates_list", "gts_list", "human_scores", "video_ids")

# Judges of each caption.
N_JUDGES = 3

HOW_TO_CONVERT = (
    'Convert the release where you trust it with `python -c "import pickle, numpy, sys; [numpy.save(p[:-4], '
    "numpy.array(pickle.load(open(p, 'rb')).tolist())) for p in sys.argv[1:]]\" *.pkl`."
)


def vatex_eval_rows(folder: pathlib.Path) -> list[dict[str, Any]]:
    """Return the judged captions of a folder that holds the four arrays of `ARRAYS` as .npy files.

    Each has `video` (path), `cand`, `refs` (all references of the video) and `human_score` (three numbers).
    """
    candidates, references, scores, videos = (_array(folder, name) for name in ARRAYS)
    n_rows = len(candidates)
    shapes = [array.shape for array in (candidates, references, videos)]
    if candidates.ndim != 1 or references.ndim != 2 or videos.shape != (n_rows,) or len(references) != n_rows:
        raise ValueError(
            f"{shown_path(folder)}: expected n captions, n lists of references and n names of videos, got the shapes "
            f"{', '.join(map(str, shapes))}. Take the files as they were released."
        )
    is_real = scores.dtype.kind in "fiu"
    if scores.size != N_JUDGES * n_rows or not is_real or not np.isfinite(scores).all():
        raise ValueError(
            f"{shown_path(folder / 'human_scores.npy')}: expected {N_JUDGES} finite numbers for each of the {n_rows} "
            f"captions, got {scores.size} of {scores.dtype}. Take the files as they were released."
        )
    # The judgements of the first judge, then those of the second, and so on.
    by_caption = scores.reshape(N_JUDGES, n_rows).T.astype(np.float64)
    return [
        {
            "video": video_path(folder, str(video)),
            "cand": str(caption),
            "refs": [str(text) for text in texts],
            "human_score": values.tolist(),
        }
        for caption, texts, video, values in zip(candidates, references, videos, by_caption, strict=True)
    ]


def is_vatex_eval(folder: pathlib.Path) -> bool:
    """Whether a folder holds the release, in either form."""
    return any((folder / f"{ARRAYS[0]}{ending}").is_file() for ending in (".npy", ".pkl"))


def _array(folder: pathlib.Path, name: str) -> np.ndarray:
    """Read one array of text or numbers."""
    path = folder / f"{name}.npy"
    if not path.is_file():
        got = f"{name}.pkl, which can run code" if (folder / f"{name}.pkl").is_file() else "no such file"
        raise ValueError(f"{shown_path(path)}: expected an array without objects, got {got}. {HOW_TO_CONVERT}")
    try:
        array: np.ndarray = np.load(path, allow_pickle=False)
        array.tolist()  # invalid characters show when they become text
    except Exception as error:  # numpy raises many kinds
        raise ValueError(
            f"{shown_path(path)}: expected an array without objects, got {type(error).__name__} ({reason_of(error)}). "
            f"{HOW_TO_CONVERT}"
        ) from error
    return array
