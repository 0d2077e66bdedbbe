"""Videos: columns of videos and their frames, and the decoder."""

import contextlib
import hashlib
import io
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import PIL.Image

from .errors import InputError, InputImportError, InputTypeError, as_input_errors, quote_path, quote_value, reason_of
from .files import inline_bytes, is_folder, open_regular_file
from .images import (
    CHECK_PATH,
    FETCH_AGAIN,
    as_image_source,
    as_model_pixels,
    as_numpy,
    as_rgb_image,
    check_no_address,
    decode_values,
    is_array,
    unwrap_value,
)
from .vectors_sentences import as_features

# --------------------------------------------------------------------------------------------------------------------
# Any kind of video: what a value is, checked before anything is decoded, its hash, and which frames are chosen.

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
    video = unwrap_value(getattr(video, "_hf_encoded", video))
    inline = inline_bytes(video, where) if isinstance(video, str) else None
    if inline is not None:
        return EncodedVideo(inline)
    if isinstance(video, str | os.PathLike):
        return EncodedVideo(_as_path(os.fsdecode(video), where))
    if isinstance(video, bytes | bytearray | memoryview):
        return EncodedVideo(bytes(video))
    if hasattr(video, "get_frame_at") and hasattr(video, "__len__"):
        return _as_frames(video, where)
    if is_array(video):
        return _as_array_source(as_numpy(video, where), where)
    if isinstance(video, Iterable) and not isinstance(video, Mapping | PIL.Image.Image):
        return _as_frames(list(video), where)
    expected = "a video (path, bytes, list of images or array of features)"
    raise InputTypeError(where, expected, type(video).__name__, "Give the path of the file, or a list of its frames.")


def iterate_videos(videos: Iterable[object], column: str) -> Iterator[object]:
    """Yield a column, and say what is missing if `datasets` cannot decode its videos."""
    row = 0
    try:
        for video in decode_values(videos, column, "a video"):
            yield video
            row += 1
    except ImportError as error:
        if "torchcodec" not in str(error):
            raise
        fix = "Run `pip install torchcodec`, or cast the column to datasets.Video(decode=False), which does without."
        raise InputImportError(f"{column}[{row}]", "torchcodec for a decoded column of videos", "none", fix) from error


def video_key(source: VideoSource, where: str) -> bytes:
    """Hash the content of a video: equal keys, equal frames.

    Files are hashed by their bytes, wherever they lie.
    """
    digest = hashlib.blake2b(type(source).__name__.encode(), digest_size=16)
    if isinstance(source, EncodedVideo):
        with open_video_file(source, where) as file:
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
        raise InputTypeError("frames", "'all' or a whole number", type(frames).__name__, "Give an int.")
    if frames != "all" and (isinstance(frames, str) or not 1 <= frames <= MOST_FRAMES):
        expected = f"'all' or a whole number from 1 to {MOST_FRAMES:,}"
        raise InputError("frames", expected, quote_value(frames), "Give one of them.")


def _as_path(name: str, where: str) -> str:
    """Return the path of an existing file; a web address is refused, as it is for images."""
    check_no_address(name, where)
    if is_folder(name):
        raise InputError(where, "a video file", f"the folder {quote_path(name)}", "Give a list of its images.")
    return name


def _as_frames(images: Any, where: str) -> FrameList:
    if len(images) == 0:
        raise InputError(where, "at least one frame", "none", FETCH_AGAIN)
    return FrameList(images)


def frame_at(source: FrameList, j: int, where: str) -> object:
    """Return one frame, which may fail to decode."""
    with as_input_errors(f"{where}[{j}]", "a frame that can be decoded", FETCH_AGAIN):
        return source.images[j]


def _as_array_source(array: np.ndarray, where: str) -> VideoSource:
    if array.ndim == 4:
        return _as_frames(list(array), where)
    if array.ndim != 2 or not np.issubdtype(array.dtype, np.floating):
        expected = "frames of shape (n_frames, height, width, 3), or features of them as floats of shape (n_frames, d)"
        raise InputError(where, expected, f"{array.dtype} of shape {array.shape}", "Give one of these.")
    if len(array) == 0:
        raise InputError(where, "at least one frame", "none", FETCH_AGAIN)
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
def open_video_file(source: EncodedVideo, where: str) -> Iterator[Any]:
    """Open a video as a binary file."""
    if isinstance(source.content, bytes):
        yield io.BytesIO(source.content)
        return
    try:
        with open_regular_file(source.content, LARGEST_VIDEO_FILE) as file:
            yield file
    except OSError as error:
        got = f"{quote_path(source.content)} ({reason_of(error)})"
        raise InputError(where, "a video file", got, CHECK_PATH) from error


# --------------------------------------------------------------------------------------------------------------------
# Videos to frames by PyAV: decoded as they come, upright, whole or an error, and never from a network.


def load_pyav() -> Any:
    """Return the package av, imported when a video is read; ImportError with the pip line if it is not installed."""
    try:
        import av
        import av.logging
        import av.video.reformatter
    except ImportError as error:
        raise InputImportError(error.name, "this package for videos", "none", "Run `pip install av`.") from error
    return av


# FFmpeg's demuxers for files that hold a video. Left out are all that read other files or addresses named in the data,
# such as playlists (hls, dash, concat) and descriptions of streams (sdp).
CONTAINER_FORMATS = "asf avi flv gif matroska,webm mov,mp4,m4a,3gp,3g2,mj2 mpeg mpegts nut ogg".split()

# Factor of FFmpeg's display matrix, whose numbers are fixed-point (libavutil, display.h).
DISPLAY_ONE = 1 << 16

# What AVI files begin with; what Matroska and WebM files begin with, and the box behind it that holds everything else.
RIFF, EBML_HEADER, EBML_SEGMENT = b"RIFF", b"\x1aE\xdf\xa3", b"\x18S\x80g"

# Boxes at the top of mp4 and its relatives (ISO 14496-12). Others end them: rubbish behind a video does no harm.
ISO_BOXES = frozenset({b"ftyp", b"free", b"mdat", b"moof", b"moov", b"sidx", b"skip", b"styp", b"uuid", b"wide"})


class VideoSize(NamedTuple):
    """Properties of a video file by its headers, before decoding."""

    # 0 if the file does not say.
    seconds: float
    # Packets, which are nearly always frames.
    n_frames: int
    width: int
    height: int


def decoder_name() -> str:
    """Return the decoder's name and version, for a signature."""
    return f"av-{load_pyav().__version__}"


def read_pixels(
    source: EncodedVideo | FrameList, frames: int | str, size: int, where: str, n_threads: int
) -> Iterator[np.ndarray]:
    """Decode the chosen frames one after the other, as CLIP's image encoder takes them: uint8, shape (size, size, 3).

    Nothing is kept but the frame at hand; a number of frames keeps that many small squares, since how many frames a
    file has is certain only at its end. A chosen frame comes once, also where `frame_places` has it twice. `frames` is
    "all", or how many; `n_threads` are the decoder's.
    """
    if isinstance(source, FrameList):
        for j in np.unique(frame_places(len(source.images), frames)).tolist():
            frame_name = f"{where}[{j}]"
            yield as_model_pixels(
                as_rgb_image(as_image_source(frame_at(source, j, where), frame_name), frame_name), size
            )
        return
    as_pixels = _FrameReader(size)
    if frames == "all":
        for frame in _decode_frames(source, where, n_threads):
            yield as_pixels(frame)
        return
    n_expected, n_frames = _count_packets(source, where), None
    while n_expected != n_frames:  # a packet need not be a frame: then once more, with the number of frames
        wanted = set(frame_places(n_frames or n_expected, frames).tolist())
        n_expected, chosen, n_frames = n_frames or n_expected, [], 0
        for frame in _decode_frames(source, where, n_threads):
            if n_frames in wanted:
                chosen.append(as_pixels(frame))
            n_frames += 1
    yield from chosen


def is_cut_off(file: Any) -> bool:
    """Return whether a file is shorter than its headers say: mp4 and its relatives, Matroska, WebM and AVI.

    FFmpeg takes the end of a file for the end of the video, wherever it comes. Formats for broadcast have no total
    length, and are never said to be cut off.

    >>> import io
    >>> whole = b"RIFF" + (8).to_bytes(4, "little") + b"AVI data"
    >>> is_cut_off(io.BytesIO(whole)), is_cut_off(io.BytesIO(whole[:-1]))
    (False, True)
    """
    size, end = file.seek(0, os.SEEK_END), 0
    file.seek(0)
    head = file.read(64)
    if head.startswith(RIFF):
        end = 8 + int.from_bytes(head[4:8], "little")
    elif head.startswith(EBML_HEADER):
        end = _segment_end(head)
    while end < size and head[4:8] in ISO_BOXES:
        length = int.from_bytes(head[:4], "big")
        length = int.from_bytes(head[8:16], "big") if length == 1 else length
        if not length:  # to the end of the file
            break
        end += length
        file.seek(min(end, size))
        head = file.read(16)
    return end > size


def _segment_end(head: bytes) -> int:
    """Where the segment of a Matroska file ends; 0 where its writer did not know."""
    start = head.find(EBML_SEGMENT) + 4
    width = 9 - int.from_bytes(head[start : start + 1], "big").bit_length()
    ones = (1 << 7 * width) - 1
    size = int.from_bytes(head[start : start + width], "big") & ones
    return 0 if size == ones else start + width + size


def video_size(source: VideoSource, where: str) -> VideoSize:
    """Return the length and the size of a video, without decoding it."""
    if not isinstance(source, EncodedVideo):
        kind = f"features of {len(source)}" if isinstance(source, np.ndarray) else f"a list of {len(source.images)}"
        raise InputTypeError(
            where, "a video file (its path or bytes)", f"{kind} frames", "Count the frames themselves."
        )
    n_frames = _count_packets(source, where)
    with _open_container(source, where) as (container, stream):
        seconds = container.duration / load_pyav().time_base if container.duration else 0.0
        return VideoSize(float(seconds), n_frames, stream.width, stream.height)


@contextlib.contextmanager
def _open_container(source: EncodedVideo, where: str) -> Iterator[tuple[Any, Any]]:
    """Open a container and find its video stream; FFmpeg sees a file object only, and no name or address."""
    av = load_pyav()
    options = {"format_whitelist": ",".join(CONTAINER_FORMATS), "protocol_whitelist": "none"}
    # Some packages turn PyAV's log on, as torchvision 0.19 does. Then the decoder's threads wait for Python to write to
    # it, and Python waits for the threads to close the decoder: a damaged video would take forever.
    if av.logging.get_level() is not None:
        av.logging.set_level(None)
    with open_video_file(source, where) as file:
        try:
            container = av.open(file, options=options)
        except Exception as error:  # FFmpeg's own, and what PyAV raises at a container without a name or a stream
            if is_cut_off(file):
                raise _damage_error(where, 0, "the end of a truncated file") from error
            got = f"a file that cannot be opened as one ({reason_of(error)})"
            raise InputError(where, "a video", got, "Fetch the file again, or convert it to mp4.") from error
        with container:
            yield container, _video_stream(container, where)


def _video_stream(container: Any, where: str) -> Any:
    """The stream of a container that holds its moving pictures, and can be decoded."""
    try:
        stream = container.streams.best("video")
        kinds = ", ".join(sorted({str(other.type) for other in container.streams})) or "no streams"
        is_picture = stream is not None and bool(stream.disposition & load_pyav().stream.Disposition.attached_pic)
        can_be_decoded = stream is not None and stream.codec_context is not None
    except Exception as error:
        raise _damage_error(where, 0, f"{type(error).__name__} ({reason_of(error)})") from error
    if stream is None or is_picture:
        raise InputError(where, "a file with moving pictures", f"one with {kinds} only", "Leave the row out.")
    if not can_be_decoded:
        raise InputError(where, "a codec that FFmpeg knows", "another one", "Convert it to mp4 with H.264.")
    return stream


def _decode_frames(source: EncodedVideo, where: str, n_threads: int) -> Iterator[Any]:
    """Decode all frames in the order in which they are shown; raise at the first that is damaged or missing."""
    n_frames = 0
    with _open_container(source, where) as (container, stream):
        frames = _stream_frames(container, stream, n_threads)
        while True:
            try:
                frame = next(frames, None)
            except Exception as error:  # FFmpeg's own, what PyAV raises at frames without a format, and those below
                raise _damage_error(where, n_frames, reason_of(error)) from error
            if frame is None:
                break
            yield frame
            n_frames += 1
    with open_video_file(source, where) as file:
        if is_cut_off(file):
            raise _damage_error(where, n_frames, "the end of a truncated file")
    if n_frames == 0:
        raise InputError(where, "at least one frame", "none", FETCH_AGAIN)


def _stream_frames(container: Any, stream: Any, n_threads: int) -> Iterator[Any]:
    """Decode the frames of a stream, and raise EOFError at the first that is not whole."""
    # Without this FFmpeg silently conceals what it cannot read.
    stream.codec_context.options = {"err_detect": "explode"}
    stream.codec_context.thread_count = n_threads
    stream.codec_context.thread_type = "AUTO"
    for packet in container.demux(stream):
        if packet.is_corrupt:
            yield from stream.codec_context.decode(None)  # those that are on their way
            raise EOFError("an incomplete packet")
        for frame in packet.decode():
            if frame.is_corrupt:
                raise EOFError("a damaged picture")
            yield frame


def _count_packets(source: EncodedVideo, where: str) -> int:
    """Count the packets of a video without decoding them: nearly always the number of frames."""
    with _open_container(source, where) as (container, stream):
        try:
            return sum(1 for packet in container.demux(stream) if packet.size and not packet.is_discard)
        except Exception:  # whatever it is, decoding will say at which frame
            return 0


class _FrameReader:
    """Decoded frames of one video as 8-bit RGB, upright, scaled and cut as a picture would be."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.reformatter = load_pyav().video.reformatter.VideoReformatter()
        self.matrix: np.ndarray | None = None

    def __call__(self, frame: Any) -> np.ndarray:
        # The matrix belongs to the track. Of the first frame only: a frame whose side data have been looked at is part
        # of a cycle of references, and stays in memory until Python looks for such.
        if self.matrix is None:
            self.matrix = _display_matrix(frame)
        pixels: np.ndarray = self.reformatter.reformat(frame, format="rgb24").to_ndarray()
        return as_model_pixels(PIL.Image.fromarray(np.ascontiguousarray(_upright(pixels, self.matrix))), self.size)


def _display_matrix(frame: Any) -> np.ndarray:
    """Place (p, q) of a frame is shown at (a p + c q, b p + d q): a, b over c, d, which are 1, 0 over 0, 1 mostly."""
    matrix = frame.side_data.get("DISPLAYMATRIX")
    if matrix is None:
        return np.eye(2)
    return np.frombuffer(bytes(matrix), np.int32).reshape(3, 3)[:2, :2] / DISPLAY_ONE


def _upright(pixels: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """Turn and mirror a frame as its display matrix says, by multiples of 90 degrees; other angles are left."""
    (a, b), (c, d) = matrix.tolist()
    if abs(a) < abs(b):
        pixels, a, d = pixels.swapaxes(0, 1), c, b
    if abs(round(a)) != 1 or abs(round(d)) != 1:
        return pixels
    return pixels[:: round(d), :: round(a)]


def _damage_error(where: str, n_frames: int, got: str) -> ValueError:
    """Build the error for a video that does not decode to its end."""
    got = f"{got} at frame {n_frames}, counted from 0"
    return InputError(where, "a complete video", got, "Fetch the file again, or trim it before that frame.")
