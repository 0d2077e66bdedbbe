"""ActivityNet-FOIL (Shi et al., 2022): paragraphs of videos, right and with wrong phrases, from the released files.

https://github.com/ShiYaya/emscore, ActivityNet-FOIL_demo.py, whose choice of segments and references is followed.
"""

import math
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

from manycaps.human_correlation.video_files import VIDEOS_NAME, video_path
from manycaps.kit.base_files import read_json
from manycaps.kit.base_messages import shown_path, shown_value

# Files of the release: right and foil paragraphs; sentences and times of both annotators, the first of whom wrote the
# paragraphs, the second the references.
RIGHT, FOIL = "final_right_video_sentences.json", "final_foil_video_sentences.json"
FIRST, SECOND = "anet_entities_test_1.json", "anet_entities_test_2.json"

# A reference belongs to a sentence where the sentence covers more than this share of the reference's seconds.
LEAST_OVERLAP = 0.4

ADVICE = "Take the files as they were released."


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
        where = f"{shown_path(folder)}, video {shown_value(video)}"
        try:
            rows.append(_row(folder, video, right[video], foil[video], first[video], second[video]))
        except (KeyError, TypeError, IndexError, AttributeError, ValueError, ArithmeticError) as error:
            raise ValueError(
                f"{where}: expected a right and a foil paragraph, times and references, got {type(error).__name__} "
                f"({error}). {ADVICE}"
            ) from error
        if len(rows[-1]["better"]) != len(rows[-1]["worse"]):
            raise ValueError(
                f"{where}: expected as many foil sentences as right ones ({len(rows[-1]['better'])}), got "
                f"{len(rows[-1]['worse'])}. {ADVICE}"
            )
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
        raise ValueError(f"a duration of {shown_value(first['duration'])}")
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
        raise TypeError(f"a sentence that is {shown_value(value)}")
    return value


def _mapping(path: pathlib.Path) -> Mapping[str, Any]:
    content = read_json(path, "--data", ADVICE)
    if not isinstance(content, Mapping):
        raise ValueError(f"{shown_path(path)}: expected videos by name, got {shown_value(content)}. {ADVICE}")
    return content


def _results(path: pathlib.Path) -> Mapping[str, Any]:
    content = _mapping(path).get("results")
    if not isinstance(content, Mapping) or not content:
        raise ValueError(f"{shown_path(path)}: expected videos under 'results', got {shown_value(content)}. {ADVICE}")
    return content
