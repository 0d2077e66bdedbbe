"""Videos of unknown codecs, odd features and frames, or no videos at all; each is row 2 of 4."""

import functools
import io
import pathlib
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.hostile_inputs.images import FILES, ODD_VALUES, PICTURE, UnreadableImage, closed_image, in_file
from tests.hostile_inputs.rule import Case, cases, third

# Features of a frame of the small checkpoint.
N_FEATURES = 24

# Containers, and what names the codec in them.
CODEC_NAMES = {"mp4": b"avc1", "mkv": b"V_MPEG4/ISO/AVC", "avi": b"H264"}

FEATURES = np.random.default_rng(2).normal(size=(3, N_FEATURES))


@functools.cache
def clip(ending: str) -> bytes:
    """Return a short video, or with the ending "sound" a file with sound alone."""
    from tests.video_clips import noise, write_clip, write_sound

    with tempfile.TemporaryDirectory() as folder:
        if ending == "sound":
            return write_sound(pathlib.Path(folder, "sound.mp4")).read_bytes()
        return write_clip(pathlib.Path(folder, f"clip.{ending}"), noise(6)).read_bytes()


def unknown_codec(ending: str) -> bytes:
    """Return a video whose codec has a name that nobody knows."""
    name = CODEC_NAMES[ending]
    assert name in clip(ending)
    return clip(ending).replace(name, b"ZZZZZZZZZZZZZZZZZZZ"[: len(name)])


def refusal(module: str, make: Callable[[pathlib.Path], Any]) -> Case:
    """Return a case whose third video is refused."""
    return Case(module, third("videos", make), "videos[2]")


MADE_FILES: dict[str, Callable[[pathlib.Path], Any]] = {
    **{f"{ending}_unknown_codec": lambda _, ending=ending: unknown_codec(ending) for ending in CODEC_NAMES},
    "sound": lambda _: clip("sound"),
    "empty": in_file(b""),
    **{name: in_file(FILES[name]) for name in ("html", "zeros", "mp4", "webp_of_riff_only")},
}

FEATURE_ARRAYS: dict[str, Any] = {
    "one_beyond_float32": np.where(np.arange(N_FEATURES) == 5, 1e39, FEATURES),
    "below_float32": FEATURES * 1e-60,
    "one_row_of_zeros": FEATURES * np.array([[1], [0], [1]]),
    "complex": FEATURES.astype(complex),
    "objects": FEATURES.astype(object),
    "no_dimension": np.array(1.0),
    "too_wide": np.tile(FEATURES, 3),
    "no_feature": FEATURES[:, :0],
    "masked": np.ma.masked_array(FEATURES, FEATURES > 0),
    "frames_of_floats": 255 * np.ones((2, 8, 8, 3)),
    "channels_at_both_ends": np.zeros((2, 3, 8, 3), np.uint8),
}

# Features whose cosines are defined: the answer is a number, not NaN.
STRANGE_FEATURES: dict[str, Any] = {
    "squares_below_float32": (FEATURES * 1e-30).astype(np.float32),
    "squares_beyond_float32": (FEATURES * 1e30).astype(np.float32),
}

FRAME_LISTS: dict[str, Callable[[pathlib.Path], Any]] = {
    "second_closed": lambda folder: [PICTURE, closed_image(folder)],
    "second_raises": lambda _: [PICTURE, UnreadableImage(KeyError("no"))],
    "second_missing": lambda folder: [PICTURE, str(folder / "missing.png")],
    "of_lists": lambda _: [[PICTURE]],
    "of_features": lambda _: [FEATURES],
    "open_file": lambda _: io.BytesIO(b"no video"),
}

# Values that are no images are no videos either, but for lists and arrays, which are frames or features.
NO_VIDEOS = {name: make for name, make in ODD_VALUES.items() if name.startswith(("dict", "empty", "path", "file_a"))}

OF_VIDEOS = ["emscore_pac"]

CASES = {
    **cases(OF_VIDEOS, "file_{}", MADE_FILES, refusal),
    **cases(OF_VIDEOS, "features_{}", FEATURE_ARRAYS, lambda m, values: refusal(m, lambda _: values)),
    **cases(OF_VIDEOS, "features_{}", STRANGE_FEATURES, lambda m, values: Case(m, third("videos", lambda _: values))),
    **cases(OF_VIDEOS, "frames_{}", FRAME_LISTS, refusal),
    **cases(OF_VIDEOS, "value_{}", NO_VIDEOS, refusal),
}
