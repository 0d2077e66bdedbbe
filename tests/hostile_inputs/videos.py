"""Videos that are damaged, of unknown codecs, or no videos at all; each is row 2 of 4."""

import functools
import io
import pathlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tests.hostile_inputs.images import FILES, ODD_VALUES, PICTURE, UnreadableImage, closed_image, in_file
from tests.hostile_inputs.rule import Case, cases

# Features of a frame of the small checkpoint.
N_FEATURES = 24

# Containers, and what names the codec in them.
CODEC_NAMES = {"mp4": b"avc1", "mkv": b"V_MPEG4/ISO/AVC", "avi": b"H264"}

# Where files are truncated, as shares of their length.
SHARES = (0.02, 0.3, 0.6, 0.95)

FEATURES = np.random.default_rng(2).normal(size=(3, N_FEATURES))


@functools.cache
def clip(ending: str, n: int = 6) -> bytes:
    """Return a short video."""
    from tests.video_clips import noise, write_clip

    path = pathlib.Path(f"/tmp/hostile-clip-{n}.{ending}")
    try:
        return write_clip(path, noise(n)).read_bytes()
    finally:
        path.unlink(missing_ok=True)


@functools.cache
def sound() -> bytes:
    """Return a file with sound alone."""
    from tests.video_clips import write_sound

    path = pathlib.Path("/tmp/hostile-sound.mp4")
    try:
        return write_sound(path).read_bytes()
    finally:
        path.unlink(missing_ok=True)


def with_video(make: Callable[[pathlib.Path], Any], **options: Any) -> Callable[..., dict[str, Any]]:
    """Return columns whose third video is the hostile one."""

    def given(folder: pathlib.Path, columns: dict[str, Any]) -> dict[str, Any]:
        videos = list(columns["videos"])
        videos[2] = make(folder)
        return {**columns, "videos": videos, **options}

    return given


def unknown_codec(ending: str) -> bytes:
    """Return a video whose codec has a name that nobody knows."""
    name = CODEC_NAMES[ending]
    assert name in clip(ending)
    return clip(ending).replace(name, b"ZZZZZZZZZZZZZZZZZZZ"[: len(name)])


def with_zeros(ending: str, share: float) -> bytes:
    """Return a video with zeros in the middle of its pictures."""
    content = bytearray(clip(ending))
    start = int(len(content) * share)
    content[start : start + 400] = bytes(400)
    return bytes(content)


MADE_FILES: dict[str, Callable[[], bytes]] = {
    **{f"{e}_unknown_codec": functools.partial(unknown_codec, e) for e in CODEC_NAMES},
    **{
        f"{e}_ends_at_{share}": lambda e=e, share=share: clip(e)[: int(len(clip(e)) * share)]
        for e in CODEC_NAMES
        for share in SHARES
    },
    "sound": sound,
}

# Damage that a decoder may read as another picture: finite numbers, or a clear refusal.
DAMAGED_FILES: dict[str, Callable[[], bytes]] = {
    f"{e}_zeros_at_{share}": functools.partial(with_zeros, e, share) for e in CODEC_NAMES for share in (0.3, 0.5, 0.8)
}

FEATURE_ARRAYS: dict[str, Any] = {
    "beyond_float32": FEATURES * 1e300,
    "one_beyond_float32": np.where(np.arange(N_FEATURES) == 5, 1e39, FEATURES),
    "below_float32": FEATURES * 1e-60,
    "subnormal": FEATURES * 1e-310,
    "nan": np.where(np.arange(N_FEATURES) == 5, np.nan, FEATURES),
    "infinite": np.where(np.arange(N_FEATURES) == 5, np.inf, FEATURES),
    "zeros": FEATURES * 0,
    "one_row_of_zeros": FEATURES * np.array([[1], [0], [1]]),
    "whole_numbers": np.ones((3, N_FEATURES), int),
    "complex": FEATURES.astype(complex),
    "words": FEATURES.astype(str),
    "objects": FEATURES.astype(object),
    "bool": FEATURES > 0,
    "no_dimension": np.array(1.0),
    "one_dimension": FEATURES[0],
    "three_dimensions": FEATURES[None],
    "too_narrow": FEATURES[:, :5],
    "too_wide": np.tile(FEATURES, 3),
    "no_frame": FEATURES[:0],
    "no_feature": FEATURES[:, :0],
    "masked": np.ma.masked_array(FEATURES, FEATURES > 0),
    "frames_of_floats": 255 * np.ones((2, 8, 8, 3)),
    "channels_at_both_ends": np.zeros((2, 3, 8, 3), np.uint8),
    "frames_without_pixels": np.zeros((2, 0, 8, 3), np.uint8),
    "no_frames": np.zeros((0, 8, 8, 3), np.uint8),
    "longdouble_beyond": FEATURES.astype(np.longdouble) * np.longdouble(1e300),
}

# Features whose cosines are defined: the answer is a number, not NaN.
STRANGE_FEATURES: dict[str, Any] = {
    "subnormal_float32": (FEATURES * 1e-42).astype(np.float32),
    "squares_below_float32": (FEATURES * 1e-30).astype(np.float32),
    "squares_beyond_float32": (FEATURES * 1e30).astype(np.float32),
}

FRAME_LISTS: dict[str, Callable[[pathlib.Path], Any]] = {
    "empty": lambda _: [],
    "of_none": lambda _: [None],
    "of_numbers": lambda _: [1, 2],
    "second_bad": lambda _: [PICTURE, b"no image"],
    "second_closed": lambda folder: [PICTURE, closed_image(folder)],
    "second_raises": lambda _: [PICTURE, UnreadableImage(KeyError("no"))],
    "second_missing": lambda folder: [PICTURE, str(folder / "missing.png")],
    "of_lists": lambda _: [[PICTURE]],
    "of_letters": lambda _: list("video"),
    "of_floats": lambda _: [PICTURE / 1.0],
    "of_features": lambda _: [FEATURES],
    "dict_of_frames": lambda _: {"frames": [PICTURE]},
    "object": lambda _: object(),
    "open_file": lambda _: io.BytesIO(b"no video"),
}

NO_IMAGES = tuple(
    """
    none number true empty_dict dict_of_nothing dict_with_bytes_of_text empty_path dict_with_bytes_of_number
    dict_with_path_of_number dict_with_other_keys empty_bytes missing_file folder path_of_5000_letters path_with_nul
    path_with_surrogate web_address file_address link_to_itself dev_null path_of_bytes_in_dict path_of_5000_parts
""".split()
)

NO_VIDEOS = tuple(
    """
    text html zeros one_byte pdf zip png_header_only mp4 webp_of_riff_only jpeg_of_marks_only
""".split()
)

WHOLE_COLUMNS: dict[str, Any] = {
    "one_path": "dog.mp4",
    "bytes": b"RIFF",
    "number": 4,
    "features": FEATURES,
    "dict": {"a": 1},
    "empty": [],
    "too_few": [[PICTURE]] * 3,
    "too_many": [[PICTURE]] * 5,
    "nothing": None,
}


def video_cases(name: str, table: Mapping[str, Any], make: Callable[[Any], Case]) -> dict[str, Case]:
    """Return a case of emscore_pac for each entry of a table."""
    return cases(["emscore_pac"], name, table, lambda _, value: make(value))


def refused(make: Callable[[pathlib.Path], Any], **options: Any) -> Case:
    """Return a case whose third video is refused; with options, no rows are added before."""
    return Case("emscore_pac", with_video(make, **options), "videos[2]", adds=not options)


CASES = {
    **video_cases("bytes_{}", MADE_FILES, lambda make: refused(lambda _: make())),
    **video_cases("path_{}", MADE_FILES, lambda make: refused(lambda folder: in_file(make())(folder), frames=2)),
    **video_cases("damaged_{}", DAMAGED_FILES, lambda make: Case("emscore_pac", with_video(lambda _: make()))),
    **video_cases("features_{}", FEATURE_ARRAYS, lambda values: refused(lambda _: values)),
    **video_cases("features_{}", STRANGE_FEATURES, lambda values: Case("emscore_pac", with_video(lambda _: values))),
    **video_cases("frames_{}", FRAME_LISTS, refused),
    **video_cases("value_{}", {name: ODD_VALUES[name] for name in NO_IMAGES}, refused),
    **video_cases("file_{}", {name: FILES[name] for name in NO_VIDEOS}, lambda content: refused(in_file(content))),
    "emscore_pac/file_empty": refused(in_file(b"")),
    "emscore_pac/file_empty_two_frames": refused(in_file(b""), frames=2),
    **video_cases(
        "column_{}",
        WHOLE_COLUMNS,
        lambda value: Case("emscore_pac", lambda _, columns: {**columns, "videos": value}, "videos"),
    ),
}
