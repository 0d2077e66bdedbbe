"""Paths of the videos of a benchmark: files that a module decodes, or arrays of frame features."""

import pathlib
from typing import Any

import numpy as np

from manycaps.kit.base_messages import reason_of, shown_path

# Folder beside a benchmark's files, and the endings under which a video is looked for.
VIDEOS_NAME = "videos"
VIDEO_ENDINGS = (".npy", ".mp4", ".webm", ".mkv", ".avi")


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
    try:
        features = np.load(path, allow_pickle=False)
    except Exception as error:  # numpy raises many kinds
        raise ValueError(
            f"{shown_path(path)}: expected an array of frame features, got {type(error).__name__} "
            f"({reason_of(error)}). Save it with numpy.save."
        ) from error
    if features.ndim != 2 or not features.size or not np.issubdtype(features.dtype, np.floating):
        raise ValueError(
            f"{shown_path(path)}: expected a floating-point array of shape (n_frames, d), got {features.dtype} of "
            f"shape {features.shape}. Save one row for each frame."
        )
    if part is not None:
        start, end = (int(share * len(features)) for share in part)
        start = min(start, len(features) - 1)
        features = features[start : max(end, start + 1)]
    return features.astype(np.float32)
