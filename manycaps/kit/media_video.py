"""Any kind of video: what a value is, checked before anything is decoded, its hash, and which frames are chosen."""

import contextlib
import hashlib
import io
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import PIL.Image

from .base_files import inline_bytes, is_folder, open_regular_file
from .base_messages import reason_of, shown_path, shown_value
from .clip_cosines import as_features
from .media_images import (
    as_image_source,
    as_numpy,
    as_rgb_image,
    check_no_address,
    decoded_values,
    is_array,
    stored_value,
)

# Largest video file: an hour of film at 9 Mbit/s.
LARGEST_VIDEO_FILE = 1 << 32

# Most frames that are chosen from a video: beyond an hour of film, and "all" takes as many as there are.
MOST_FRAMES = 100_000

# Bytes read at once where a file is hashed.
CHUNK_SIZE = 1 << 20


class EncodedVideo(NamedTuple):
    """A video file, on disk or in memory."""

    content: str | bytes


class FrameList(NamedTuple):
    """Frames that are images: whatever `as_image_source` takes."""

    images: Sequence[object]


VideoSource = EncodedVideo | FrameList | np.ndarray


def as_video_source(video: object, where: str) -> VideoSource:
    """Return a video as `EncodedVideo`, `FrameList` or a float32 array of features; nothing is decoded yet.

    `video` is a path, encoded bytes, also in a data URL, a list of images, an array or tensor of frames, each as
    `as_pixels` takes it, a float array of shape (n_frames, d) with ready frame features, a dict with "bytes" and "path"
    as undecoded `datasets.Video` columns have, or a decoder of torchcodec as decoded ones have; `where` is column and
    row. Raises TypeError for any other kind; ValueError for a path that cannot be read, a web address, no frames,
    features that are not finite or are 0.

    >>> as_video_source({"bytes": b"RIFF", "path": None}, "videos[0]")
    EncodedVideo(content=b'RIFF')
    """
    # Of a decoded `datasets.Video` the file that it was made from.
    video = stored_value(getattr(video, "_hf_encoded", video))
    inline = inline_bytes(video, where) if isinstance(video, str) else None
    if inline is not None:
        return EncodedVideo(inline)
    if isinstance(video, str | os.PathLike):
        return EncodedVideo(_checked_path(os.fsdecode(video), where))
    if isinstance(video, bytes | bytearray | memoryview):
        return EncodedVideo(bytes(video))
    if hasattr(video, "get_frame_at") and hasattr(video, "__len__"):
        return _checked_frames(video, where)
    if is_array(video):
        return _checked_array(as_numpy(video, where), where)
    if isinstance(video, Iterable) and not isinstance(video, Mapping | PIL.Image.Image):
        return _checked_frames(list(video), where)
    raise TypeError(
        f"{where}: expected a video (path, bytes, list of images or array of features), got {type(video).__name__}. "
        "Give the path of the file, or a list of its frames."
    )


def iterate_videos(videos: Iterable[object], column: str) -> Iterator[object]:
    """Yield a column, and say what is missing if `datasets` cannot decode its videos."""
    row = 0
    try:
        for video in decoded_values(videos, column, "a video"):
            yield video
            row += 1
    except ImportError as error:
        if "torchcodec" not in str(error):
            raise
        raise ImportError(
            f"{column}[{row}]: expected torchcodec to be installed for a decoded column of datasets.Video(), got none. "
            "Run `pip install torchcodec`, or cast the column to datasets.Video(decode=False), which does without."
        ) from error


def video_key(source: VideoSource, where: str) -> bytes:
    """Hash the content of a video: equal keys, equal frames.

    Files are hashed by their bytes, wherever they lie.
    """
    digest = hashlib.blake2b(type(source).__name__.encode(), digest_size=16)
    if isinstance(source, EncodedVideo):
        with opened_file(source, where) as file:
            while chunk := file.read(CHUNK_SIZE):
                digest.update(chunk)
    elif isinstance(source, FrameList):
        for j in range(len(source.images)):
            digest.update(_image_key(frame_at(source, j, where), f"{where}[{j}]"))
    else:
        digest.update(repr(source.shape).encode() + source.tobytes())
    return digest.digest()


def frame_places(n_frames: int, frames: int | str) -> np.ndarray:
    """Choose frames by the authors' rule: int(i) for i in linspace(0, n_frames - 1, frames).

    So the first and the last frame are always among them, and a video with fewer frames has some of them twice
    (VATEX-EVAL-demo.py of https://github.com/ShiYaya/emscore, which has 10 frames a video).

    >>> frame_places(250, 4).tolist(), frame_places(2, 3).tolist(), frame_places(2, "all").tolist()
    ([0, 83, 166, 249], [0, 0, 1], [0, 1])
    """
    if frames == "all":
        return np.arange(n_frames)
    return np.linspace(0, n_frames - 1, int(frames)).astype(int)


def check_frames(frames: object) -> None:
    """Raise unless `frames` is "all" or a whole number from 1 to `MOST_FRAMES`."""
    if isinstance(frames, bool) or not isinstance(frames, int | str):
        raise TypeError(f"frames: expected 'all' or a whole number, got {type(frames).__name__}. Give an int.")
    if frames != "all" and (isinstance(frames, str) or not 1 <= frames <= MOST_FRAMES):
        raise ValueError(
            f"frames: expected 'all' or a whole number from 1 to {MOST_FRAMES:,}, got {shown_value(frames)}. Give one "
            "of them."
        )


def _checked_path(name: str, where: str) -> str:
    """Return the path of an existing file; a web address is refused, as it is for images."""
    check_no_address(name, where)
    if is_folder(name):
        raise ValueError(
            f"{where}: expected a video file, got the folder {shown_path(name)}. Give a list of its images."
        )
    return name


def _checked_frames(images: Any, where: str) -> FrameList:
    if len(images) == 0:
        raise ValueError(f"{where}: expected at least one frame, got none. Leave the row out of all columns.")
    return FrameList(images)


def frame_at(source: FrameList, j: int, where: str) -> object:
    """One frame, which may fail to decode."""
    try:
        return source.images[j]
    except Exception as error:
        raise ValueError(
            f"{where}[{j}]: expected a frame that can be decoded, got {type(error).__name__} ({reason_of(error)}). "
            "Fetch the video again, or leave the row out."
        ) from error


def _checked_array(array: np.ndarray, where: str) -> VideoSource:
    if isinstance(array, np.ma.MaskedArray):
        raise TypeError(
            f"{where}: expected an array without a mask, got {type(array).__name__}. Fill it, or leave frames out."
        )
    if array.ndim == 4:
        return _checked_frames(list(array), where)
    if array.ndim != 2 or not np.issubdtype(array.dtype, np.floating):
        raise ValueError(
            f"{where}: expected frames of shape (n_frames, height, width, 3) or (n_frames, 3, height, width), or their "
            f"features as floats of shape (n_frames, d), got {array.dtype} of shape {array.shape}. Give one of these."
        )
    if len(array) == 0:
        raise ValueError(f"{where}: expected at least one frame, got none. Leave the row out of all columns.")
    return as_features(array, f"{where}[{{}}]".format, "frame")


def _image_key(image: object, where: str) -> bytes:
    """Hash one frame of a list without decoding it, if it is no PIL image."""
    source = as_image_source(image, where)
    if isinstance(source, PIL.Image.Image):
        source = np.asarray(as_rgb_image(source, where))
    if isinstance(source, np.ndarray):
        source = repr(source.shape).encode() + source.tobytes()
    return hashlib.blake2b(source).digest()


@contextlib.contextmanager
def opened_file(source: EncodedVideo, where: str) -> Iterator[Any]:
    """Open a video as a binary file."""
    if isinstance(source.content, bytes):
        yield io.BytesIO(source.content)
        return
    try:
        with open_regular_file(source.content, LARGEST_VIDEO_FILE) as file:
            yield file
    except OSError as error:
        raise ValueError(
            f"{where}: expected a video file, got {shown_path(source.content)} ({reason_of(error)}). Check the path; "
            "relative paths start at the working directory."
        ) from error
