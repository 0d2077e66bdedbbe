"""Columns of videos to frame features: each distinct one decoded and encoded once, decoded while the model works."""

import io
import math
import os
import queue
from collections.abc import Iterable, Mapping, Sized
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import PIL.Image

from .clip_encoder import ClipEncoder
from .clip_model import FeatureError
from .errors import InputError, InputTypeError
from .rows import check_no_table
from .videos import EncodedVideo, FrameList, as_video_source, frame_places, iterate_videos, read_pixels, video_key

# Batches of frames that may wait decoded: 2 x 64 x 224 x 224 x 3 bytes = 19 MB with the default batch size.
BATCHES_AHEAD = 2

# Seconds between two checks of a waiting thread whether the column was abandoned.
PATIENCE = 0.1

# Message of a thread that stopped decoding a video because an earlier row failed.
UNWANTED = "unwanted"


def encode_videos(
    encoder: ClipEncoder,
    videos: Iterable[object],
    column: str,
    frames: int | str,
    batch_size: int,
    n_workers: int | None,
) -> list[np.ndarray]:
    """Encode a column of videos as they come; at most a few batches of frames are in memory.

    Returns of each row float32 features, shape (n_frames, d); rows of one video share them.

    `videos` is any iterable of what `as_video_source` takes, and `column` its name for messages; `frames` is "all" or
    how many of each; `batch_size` frames are encoded at once, whichever videos they are from, and `n_workers` videos
    decoded.
    """
    n_workers = n_workers or min(8, os.cpu_count() or 1)
    work = _VideoWork(encoder.model, encoder.checkpoint.source, batch_size)
    keys: list[str] = []
    # By the video's key.
    features: dict[str, np.ndarray] = {}
    total = len(videos) if isinstance(videos, Sized) else None
    bar = encoder.bar(column, "video", total=total)
    with bar, ThreadPoolExecutor(n_workers) as pool:
        try:
            for row, video in enumerate(iterate_videos(videos, column)):
                where = f"{column}[{row}]"
                try:
                    source = as_video_source(video, where)
                    key = f"{video_key(source, where).hex()}-{frames}"
                    if isinstance(source, np.ndarray):
                        features[key] = _ready(encoder.model.n_features, source, frames, where)
                except (TypeError, ValueError) as error:
                    work.fail(row, error)
                    break
                keys.append(key)
                if key not in features and (remembered := encoder.remembered.get(("video", key))) is not None:
                    features[key] = remembered
                waits = key not in features and key not in work.begun
                if waits and not isinstance(source, np.ndarray):
                    work.begin(pool, key, _Job(row, source, frames, where), n_workers)
                bar.update(1)
            work.finish()
        finally:
            work.end = -1  # stops all threads, also those that wait to hand over a frame
    for key, parts in work.done.items():
        rows = np.concatenate(parts)
        features[key] = chosen = rows[frame_places(len(rows), frames)]
        encoder.remembered.put(("video", key), chosen, chosen.nbytes)
    if work.error is not None:
        raise work.error
    return [features[key] for key in keys]


class _Job(NamedTuple):
    row: int
    source: EncodedVideo | FrameList
    frames: int | str
    where: str


class _VideoWork:
    """Decoding threads and the model, with a short queue between them."""

    def __init__(self, model: Any, checkpoint: str, batch_size: int) -> None:
        self.model, self.checkpoint = model, checkpoint
        self.batch_size = batch_size
        self.queue: queue.Queue[tuple[str, Any]] = queue.Queue(BATCHES_AHEAD * batch_size)
        # Features of each video, batch by batch, and of complete videos as a whole.
        self.begun: dict[str, list[np.ndarray]] = {}
        # Column and row of each video, for the messages.
        self.places: dict[str, str] = {}
        self.done: dict[str, list[np.ndarray]] = {}
        self.waiting: list[tuple[str, np.ndarray]] = []
        self.complete: list[str] = []
        self.n_running = 0
        self.error: Exception | None = None
        # Rows from here on are no longer needed.
        self.end: float = math.inf

    def begin(self, pool: ThreadPoolExecutor, key: str, job: _Job, n_workers: int) -> None:
        """Start decoding a video, once there is a thread for it."""
        while self.n_running >= n_workers:
            self._take()
        self.begun[key], self.places[key] = [], job.where
        self.n_running += 1
        pool.submit(self._decode, key, job, max(1, (os.cpu_count() or 1) // n_workers))

    def finish(self) -> None:
        """Wait for all videos, and encode what is left."""
        while self.n_running:
            self._take()
        self._encode()

    def fail(self, row: int, error: Exception) -> None:
        """Note an error, unless an earlier row has one."""
        if row < self.end:
            self.end, self.error = row, error

    def _take(self) -> None:
        """Take one message of a thread: a frame, an error, or the end of its video."""
        key, message = self.queue.get()
        if isinstance(message, np.ndarray):
            self.waiting.append((key, message))
            if len(self.waiting) == self.batch_size:
                self._encode()
            return
        self.n_running -= 1
        if message is None:
            self.complete.append(key)
        elif isinstance(message, tuple):
            self.fail(*message)

    def _encode(self) -> None:
        if self.waiting:
            try:
                features = self.model.image_features(np.stack([pixels for _, pixels in self.waiting]))
            except FeatureError as error:
                raise error.with_place(self.places[self.waiting[error.place][0]], self.checkpoint) from error
            for (key, _), row in zip(self.waiting, features, strict=True):
                self.begun[key].append(row[None])
            self.waiting.clear()
        self.done.update((key, self.begun[key]) for key in self.complete)

    def _decode(self, key: str, job: _Job, n_threads: int) -> None:
        """Decode a video in a thread of its own and hand its frames over."""
        last: Any = None
        try:
            for pixels in read_pixels(job.source, job.frames, self.model.image_size, job.where, n_threads):
                if not self._hand_over(job.row, key, pixels):
                    last = UNWANTED
                    break
        except Exception as error:  # whatever it is, the row fails and not the thread
            last = (job.row, error)
        self._hand_over(job.row, key, last, always=True)

    def _hand_over(self, row: int, key: str, message: Any, always: bool = False) -> bool:
        """Put a message into the queue, unless its row is no longer needed."""
        while self.end >= 0 and (always or row < self.end):
            try:
                self.queue.put((key, message), timeout=PATIENCE)
            except queue.Full:
                continue
            return True
        return False


def check_video_column(videos: object) -> None:
    """Raise unless `videos` is a column of videos, not one video."""
    check_no_table(videos, "videos", "a list of videos")
    kinds = (str, bytes, bytearray, os.PathLike, Mapping, set, frozenset, PIL.Image.Image, io.IOBase)
    if isinstance(videos, kinds) or getattr(videos, "ndim", None) in (0, 2) or not isinstance(videos, Iterable):
        raise InputTypeError(
            "videos", "a list of videos", f"one {type(videos).__name__}", "Give one video per row, in a list."
        )


def _ready(d: int, features: np.ndarray, frames: int | str, where: str) -> np.ndarray:
    """Return the chosen frames of features that the user computed."""
    if features.shape[1] != d:
        raise InputError(
            where, f"{d} features per frame", features.shape[1], "Encode the frames with the same checkpoint."
        )
    return features[frame_places(len(features), frames)]
