"""Benchmarks of videos from their released files: VATEX-EVAL and ActivityNet-FOIL (Shi et al., 2022).

https://github.com/ShiYaya/emscore. VATEX-EVAL has captions of videos and three human judgements of each, as pickled
arrays, which are not read here: a pickle can run code. ActivityNet-FOIL has paragraphs of videos, right and with wrong
phrases; the choice of segments and references of ActivityNet-FOIL_demo.py is followed.
"""

import math
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from manycaps.kit.errors import InputError, as_input_errors, quote_path, quote_value
from manycaps.kit.files import read_json

# Folder beside a benchmark's files, and the endings under which a video is looked for.
VIDEOS_NAME = "videos"
VIDEO_ENDINGS = (".npy", ".mp4", ".webm", ".mkv", ".avi")

# Arrays of the release of VATEX-EVAL, by name.
ARRAYS = ("candidates_list", "gts_list", "human_scores", "video_ids")

# Judges of each of its captions.
N_JUDGES = 3

HOW_TO_CONVERT = (
    'Convert the release where you trust it with `python -c "import pickle, numpy, sys; [numpy.save(p[:-4], '
    "numpy.array(pickle.load(open(p, 'rb')).tolist())) for p in sys.argv[1:]]\" *.pkl`."
)

# Files of the release of ActivityNet-FOIL: right and foil paragraphs; sentences and times of both annotators, the first
# of whom wrote the paragraphs, the second the references.
RIGHT, FOIL = "final_right_video_sentences.json", "final_foil_video_sentences.json"
FIRST, SECOND = "anet_entities_test_1.json", "anet_entities_test_2.json"

# A reference belongs to a sentence where the sentence covers more than this share of the reference's seconds.
LEAST_OVERLAP = 0.4

ADVICE = "Take the files as they were released."


def video_path(folder: pathlib.Path, name: str) -> str:
    """Return the path of a video, whether it exists or not: a metric of captions alone never opens it."""
    paths = [folder / VIDEOS_NAME / (name + ending) for ending in VIDEO_ENDINGS]
    return str(next((path for path in paths if path.is_file()), paths[1]))


def video_value(path: str, part: tuple[float, float] | None = None) -> Any:
    """Return the input of a module for a video: its path, or of an .npy file the frame features.

    Features are a float32 array of shape (n_frames, d); `part`, beginning and end as shares of the video, chooses at
    least one frame of them.
    """
    if not path.endswith(".npy"):
        return path
    with as_input_errors(quote_path(path), "an array of frame features", "Save it with numpy.save."):
        features = np.load(path, allow_pickle=False)
    if features.ndim != 2 or not features.size or not np.issubdtype(features.dtype, np.floating):
        got = f"{features.dtype} of shape {features.shape}"
        expected = "a floating-point array of shape (n_frames, d)"
        raise InputError(quote_path(path), expected, got, "Save one row for each frame.")
    if part is not None:
        start, end = (int(share * len(features)) for share in part)
        start = min(start, len(features) - 1)
        features = features[start : max(end, start + 1)]
    return features.astype(np.float32)


def vatex_eval_rows(folder: pathlib.Path) -> list[dict[str, Any]]:
    """Return the judged captions of a folder that holds the four arrays of `ARRAYS` as .npy files.

    Each has `video` (path), `cand`, `refs` (all references of the video) and `human_score` (three numbers).
    """
    candidates, references, scores, videos = (_array(folder, name) for name in ARRAYS)
    n_rows = len(candidates)
    shapes = [array.shape for array in (candidates, references, videos)]
    if candidates.ndim != 1 or references.ndim != 2 or videos.shape != (n_rows,) or len(references) != n_rows:
        got = f"the shapes {', '.join(map(str, shapes))}"
        expected = "n captions, n lists of references and n names of videos"
        raise InputError(quote_path(folder), expected, got, ADVICE)
    is_real = scores.dtype.kind in "fiu"
    if scores.size != N_JUDGES * n_rows or not is_real or not np.isfinite(scores).all():
        where, got = quote_path(folder / "human_scores.npy"), f"{scores.size} of {scores.dtype}"
        expected = f"{N_JUDGES} finite numbers for each of the {n_rows} captions"
        raise InputError(where, expected, got, ADVICE)
    # The judgements of the first judge, then of the second, and so on.
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
    """Return whether a folder holds the release, in either form."""
    return any((folder / f"{ARRAYS[0]}{ending}").is_file() for ending in (".npy", ".pkl"))


def _array(folder: pathlib.Path, name: str) -> np.ndarray:
    """Read one array of text or numbers."""
    path = folder / f"{name}.npy"
    if not path.is_file():
        got = f"{name}.pkl, which can run code" if (folder / f"{name}.pkl").is_file() else "no such file"
        raise InputError(quote_path(path), "an array without objects", got, HOW_TO_CONVERT)
    with as_input_errors(quote_path(path), "an array without objects", HOW_TO_CONVERT):
        array: np.ndarray = np.load(path, allow_pickle=False)
        array.tolist()  # invalid characters show when they become text
    return array


def activitynet_foil_rows(folder: pathlib.Path) -> list[dict[str, Any]]:
    """Return the pairs of paragraphs of a folder that holds the four files.

    Its folder `videos` holds, where a metric wants them, `<video>.npy`, frame features of the whole video, or
    `<video>_seg_<i>.mp4`, the segment of sentence i. Each row has `id`, and of its sentences `better`, `worse`, `refs`
    (one list for each), `videos` (paths) and `parts` (beginning and end as shares of the video).
    """
    right, foil = (_results(folder / name) for name in (RIGHT, FOIL))
    first, second = (_mapping(folder / name) for name in (FIRST, SECOND))
    rows = []
    for video in right:
        where = f"{quote_path(folder)}, video {quote_value(video)}"
        with as_input_errors(where, "a right and a foil paragraph, times and references", ADVICE):
            rows.append(_row(folder, video, right[video], foil[video], first[video], second[video]))
        if len(rows[-1]["better"]) != len(rows[-1]["worse"]):
            expected = f"as many foil sentences as right ones ({len(rows[-1]['better'])})"
            raise InputError(where, expected, len(rows[-1]["worse"]), ADVICE)
    return rows


def close_references(time: Sequence[float], reference_times: Sequence[Sequence[float]]) -> list[int]:
    """Return the numbers of the references that belong to a sentence; all where none does.

    The seconds a to b, counted in whole seconds with both ends, must hold more than `LEAST_OVERLAP` of a reference's.

    >>> close_references((0, 10), [(0, 4), (8, 30), (11, 12)]), close_references((0, 1), [(5, 6)])
    ([0], [0])
    """
    first, last = int(time[0]), int(time[1])
    close = []
    for i, (start, end) in enumerate(reference_times):
        n_seconds = int(end) + 1 - int(start)
        n_shared = min(last, int(end)) + 1 - max(first, int(start))
        if n_seconds > 0 and n_shared / n_seconds > LEAST_OVERLAP:
            close.append(i)
    return close or list(range(len(reference_times)))


def _row(
    folder: pathlib.Path,
    video: str,
    right: Sequence[Mapping[str, Any]],
    foil: Sequence[Mapping[str, Any]],
    first: Mapping[str, Any],
    second: Mapping[str, Any],
) -> dict[str, Any]:
    """The two paragraphs of a video, sentence by sentence."""
    times, texts = first["timestamps"], second["sentences"]
    if not 0 < first["duration"] < math.inf:
        raise ValueError(f"a duration of {quote_value(first['duration'])}")
    whole = pathlib.Path(folder / VIDEOS_NAME / f"{video}.npy")
    sentences = range(len(right))
    return {
        "id": video,
        "better": [_text(right[i]["sentence"]) for i in sentences],
        "worse": [_text(sentence["sentence"]) for sentence in foil],
        "refs": [[_text(texts[k]) for k in close_references(times[i], second["timestamps"])] for i in sentences],
        "videos": [str(whole) if whole.is_file() else video_path(folder, f"{video}_seg_{i}") for i in sentences],
        "parts": [(times[i][0] / first["duration"], times[i][1] / first["duration"]) for i in sentences],
    }


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"a sentence that is {quote_value(value)}")
    return value


def _mapping(path: pathlib.Path) -> Mapping[str, Any]:
    content = read_json(path, "--data", ADVICE)
    if not isinstance(content, Mapping):
        raise InputError(quote_path(path), "videos by name", quote_value(content), ADVICE)
    return content


def _results(path: pathlib.Path) -> Mapping[str, Any]:
    content = _mapping(path).get("results")
    if not isinstance(content, Mapping) or not content:
        raise InputError(quote_path(path), "videos under 'results'", quote_value(content), ADVICE)
    return content
