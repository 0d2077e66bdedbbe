# Vendored from manycaps/shared_video_input.py. Edit it there, then run `make format`.
"""Any kind of video to frames: decoded by PyAV as they come, upright, whole or an error, and never from a network."""

import contextlib
import hashlib
import io
import os
import pathlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import PIL.Image

from .shared_image_input import as_image_source, as_model_pixels, as_rgb_image, decoded_values, stored_value
from .shared_input_files import is_folder, open_regular_file
from .shared_messages import reason_of, shown_path, shown_value

try:
    import av
    import av.video.reformatter
except ImportError as error:
    raise ImportError(f"{error.name}: expected it to be installed for videos. Run `pip install av`.") from error

# FFmpeg's demuxers for files that hold a video. Left out are all that read other files or addresses named in the data,
# such as playlists (hls, dash, concat) and descriptions of streams (sdp).
CONTAINER_FORMATS = "asf avi flv gif matroska,webm mov,mp4,m4a,3gp,3g2,mj2 mpeg mpegts nut ogg".split()

# Largest video file: an hour of film at 9 Mbit/s.
LARGEST_VIDEO_FILE = 1 << 32

# Most frames that are chosen from a video: beyond an hour of film, and "all" takes as many as there are.
MOST_FRAMES = 100_000

# Bytes read at once where a file is hashed.
CHUNK_SIZE = 1 << 20

# Factor of FFmpeg's display matrix, whose numbers are fixed-point (libavutil, display.h).
DISPLAY_ONE = 1 << 16


# What a Matroska or WebM file begins with, and the box behind it that holds everything else.
EBML_HEADER, EBML_SEGMENT = b"\x1aE\xdf\xa3", b"\x18S\x80g"

# Boxes at the top of mp4 and its relatives (ISO 14496-12). Others end the walk: rubbish behind a video does no harm.
ISO_BOXES = frozenset({b"ftyp", b"free", b"mdat", b"moof", b"moov", b"sidx", b"skip", b"styp", b"uuid", b"wide"})


class EncodedVideo(NamedTuple):
    """A video file, on disk or in memory."""

    content: str | bytes


class FrameList(NamedTuple):
    """Frames that are images: whatever `as_image_source` takes."""

    images: Sequence[object]


VideoSource = EncodedVideo | FrameList | np.ndarray


class VideoSize(NamedTuple):
    """What a video file says about itself, before anything is decoded."""

    # 0 where the file does not say it.
    seconds: float
    # Packets, which are nearly always frames.
    n_frames: int
    width: int
    height: int


def as_video_source(video: object, where: str) -> VideoSource:
    """Say what kind of video a value is; nothing is decoded yet.

    Args:
        video: a path, encoded bytes, a list of images, a uint8 array of shape (n_frames, height, width, 3), a float
            array of shape (n_frames, d) with ready frame features, a dict with "bytes" and "path" as undecoded
            `datasets.Video` columns have, or a decoder of torchcodec as decoded ones have.
        where: column and row, for the messages.

    Returns:
        `EncodedVideo`, `FrameList`, or a float32 array of features.

    Raises:
        TypeError: any other kind.
        ValueError: a path that cannot be read, a web address, no frames, features that are not finite or are 0.

    >>> as_video_source({"bytes": b"RIFF", "path": None}, "videos[0]")
    EncodedVideo(content=b'RIFF')
    """
    # Of a decoded `datasets.Video` the file that it was made from.
    video = stored_value(getattr(video, "_hf_encoded", video))
    if isinstance(video, str | os.PathLike):
        return EncodedVideo(_checked_path(os.fsdecode(video), where))
    if isinstance(video, bytes | bytearray | memoryview):
        return EncodedVideo(bytes(video))
    if hasattr(video, "get_frame_at") and hasattr(video, "__len__"):
        return _checked_frames(_DecoderFrames(video), where)
    if hasattr(video, "__array__") and not isinstance(video, PIL.Image.Image):
        return _checked_array(_as_array(video, where), where)
    if isinstance(video, Iterable) and not isinstance(video, Mapping | PIL.Image.Image):
        return _checked_frames(list(video), where)
    raise TypeError(
        f"{where}: expected a video (path, bytes, list of images or array of features), got {type(video).__name__}. "
        "Give the path of the file, or a list of its frames."
    )


def iterate_videos(videos: Iterable[object], column: str) -> Iterator[object]:
    """Pass a column on, and say what is missing where `datasets` cannot decode its videos.

    Args:
        videos: a column; a `datasets.Video()` column decodes each video when it is asked for.
        column: its name, for the message.

    Yields:
        Its videos.

    Raises:
        ImportError: `datasets` decodes with torchcodec, which is not installed.
        ValueError: a video cannot be decoded.
    """
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
    """Hash what a video is made of: equal keys, equal frames.

    Files are hashed by their bytes, wherever they lie.

    Args:
        source: what `as_video_source` returned.
        where: column and row, for the messages.

    Returns:
        16 bytes.

    Raises:
        TypeError, ValueError: a frame is no image; a file cannot be read.
    """
    digest = hashlib.blake2b(type(source).__name__.encode(), digest_size=16)
    if isinstance(source, EncodedVideo):
        with _opened_file(source, where) as file:
            while chunk := file.read(CHUNK_SIZE):
                digest.update(chunk)
    elif isinstance(source, FrameList):
        for j in range(len(source.images)):
            digest.update(_image_key(_frame(source, j, where), f"{where}[{j}]"))
    else:
        digest.update(repr(source.shape).encode() + source.tobytes())
    return digest.digest()


def frame_places(n_frames: int, frames: int | str) -> np.ndarray:
    """Choose frames by the authors' rule: int(i) for i in linspace(0, n_frames - 1, frames).

    So the first and the last frame are always among them, and a video with fewer frames has some of them twice
    (VATEX-EVAL-demo.py of https://github.com/ShiYaya/emscore, which has 10 frames a video).

    Args:
        n_frames: frames of the video, at least 1.
        frames: "all", or how many.

    Returns:
        Integers, rising, from 0 to n_frames - 1.

    >>> frame_places(250, 4).tolist(), frame_places(2, 3).tolist(), frame_places(2, "all").tolist()
    ([0, 83, 166, 249], [0, 0, 1], [0, 1])
    """
    if frames == "all":
        return np.arange(n_frames)
    return np.linspace(0, n_frames - 1, int(frames)).astype(int)


def check_frames(frames: object) -> None:
    """Raise unless `frames` is "all" or a whole number from 1 to `MOST_FRAMES`.

    Raises:
        TypeError: it is neither a string nor an int.
        ValueError: another string, less than 1, or too many.
    """
    if isinstance(frames, bool) or not isinstance(frames, int | str):
        raise TypeError(f"frames: expected 'all' or a whole number, got {type(frames).__name__}. Give an int.")
    if frames != "all" and (isinstance(frames, str) or not 1 <= frames <= MOST_FRAMES):
        raise ValueError(
            f"frames: expected 'all' or a whole number from 1 to {MOST_FRAMES:,}, got {shown_value(frames)}. Give one "
            "of them."
        )


def decoder_name() -> str:
    """Return the decoder's name and version, for a signature."""
    return f"av-{av.__version__}"


def read_pixels(
    source: EncodedVideo | FrameList, frames: int | str, size: int, where: str, n_threads: int
) -> Iterator[np.ndarray]:
    """Decode the chosen frames one after the other, as CLIP's image encoder takes them.

    Nothing is kept but the frame at hand; a number of frames keeps that many small squares, since how many frames a
    file has is certain only at its end. A chosen frame comes once, also where `frame_places` has it twice.

    Args:
        source: what `as_video_source` returned.
        frames: "all", or how many.
        size: side of the squares.
        where: column and row, for the messages.
        n_threads: threads of the decoder.

    Yields:
        uint8 arrays, shape (size, size, 3).

    Raises:
        TypeError, ValueError: no video, no frame, or a frame that cannot be decoded, whose number is named; frames
            before it have come by then.
    """
    if isinstance(source, FrameList):
        for j in np.unique(frame_places(len(source.images), frames)).tolist():
            place = f"{where}[{j}]"
            yield as_model_pixels(as_rgb_image(as_image_source(_frame(source, j, where), place), place), size)
        return
    as_pixels = _FrameReader(size)
    if frames == "all":
        for frame in _decoded(source, where, n_threads):
            yield as_pixels(frame)
        return
    n_expected, n_frames = _count_packets(source, where), None
    while n_expected != n_frames:  # a packet need not be a frame: then once more, with the number of frames
        wanted = set(frame_places(n_frames or n_expected, frames).tolist())
        n_expected, chosen, n_frames = n_frames or n_expected, [], 0
        for frame in _decoded(source, where, n_threads):
            if n_frames in wanted:
                chosen.append(as_pixels(frame))
            n_frames += 1
    yield from chosen


def is_cut_off(file: Any) -> bool:
    """Say whether a file ends before its own headers say so: mp4 and its relatives, Matroska, WebM and AVI.

    FFmpeg takes the end of a file for the end of the video, wherever it comes. Formats for broadcast have no total
    length, and are never said to be cut off.

    Args:
        file: binary file, seekable.

    Returns:
        True where a box of the file reaches beyond its end.

    >>> whole = b"RIFF" + (8).to_bytes(4, "little") + b"AVI data"
    >>> is_cut_off(io.BytesIO(whole)), is_cut_off(io.BytesIO(whole[:-1]))
    (False, True)
    """
    end = file.seek(0, os.SEEK_END)
    start, length = 0, 1
    while length and start < end:
        file.seek(start)
        length = _box_length(file.read(64))
        start += length
    return start > end


def _box_length(head: bytes) -> int:
    """Length in bytes of the box of a file that begins with `head`; 0 where it goes to the end or is unknown."""
    if head[:4] == b"RIFF":
        return 8 + int.from_bytes(head[4:8], "little")
    if head[:4] == EBML_HEADER:  # one small box, then the segment that holds all
        width, size = _ebml_size(head[4:])
        segment = 4 + width + size
        width, size = _ebml_size(head[segment + 4 :])
        return segment + 4 + width + size if head[segment : segment + 4] == EBML_SEGMENT and size else 0
    if head[4:8] in ISO_BOXES:
        length = int.from_bytes(head[:4], "big")
        return int.from_bytes(head[8:16], "big") if length == 1 else length
    return 0


def _ebml_size(data: bytes) -> tuple[int, int]:
    """Bytes that a size takes, and the size; 0 where the writer did not know it."""
    width = 9 - data[0].bit_length() if data and data[0] else 1
    ones = (1 << 7 * width) - 1
    size = int.from_bytes(data[:width], "big") & ones
    return width, 0 if size == ones else size


def video_size(source: VideoSource, where: str) -> VideoSize:
    """Say how long and how large a video is, without decoding it.

    Args:
        source: what `as_video_source` returned for a path or bytes.
        where: column and row, for the messages.

    Returns:
        The size of the video.

    Raises:
        TypeError: frames or features, which have no file.
        ValueError: no video.
    """
    if not isinstance(source, EncodedVideo):
        kind = f"features of {len(source)}" if isinstance(source, np.ndarray) else f"a list of {len(source.images)}"
        raise TypeError(
            f"{where}: expected a video file (its path or bytes), got {kind} frames. Take their number and "
            "their shape from the frames themselves."
        )
    n_frames = _count_packets(source, where)
    with _opened(source, where) as (container, stream):
        seconds = container.duration / av.time_base if container.duration else 0.0
        return VideoSize(float(seconds), n_frames, stream.width, stream.height)


class _DecoderFrames(Sequence[np.ndarray]):
    """The frames of a torchcodec decoder as images."""

    def __init__(self, decoder: Any) -> None:
        self.decoder = decoder

    def __len__(self) -> int:
        return len(self.decoder)

    def __getitem__(self, i: Any) -> Any:
        frame = np.asarray(self.decoder[i])
        return frame if frame.shape[-1] == 3 else frame.transpose(1, 2, 0)  # its default is (3, height, width)


def _checked_path(name: str, where: str) -> str:
    """Return the path of a file that is there; a web address is refused, as it is for images."""
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]*:/", name) and not pathlib.PureWindowsPath(name).drive:
        raise ValueError(f"{where}: expected a local path, got the address {shown_path(name)}. Download it first.")
    if is_folder(name):
        raise ValueError(
            f"{where}: expected a video file, got the folder {shown_path(name)}. Give a list of its images."
        )
    return name


def _checked_frames(images: Sequence[object], where: str) -> FrameList:
    if len(images) == 0:
        raise ValueError(f"{where}: expected at least one frame, got none. Leave the row out of all columns.")
    return FrameList(images)


def _as_array(video: object, where: str) -> np.ndarray:
    """What says that it can be an array, as one; the mask of a masked array stays."""
    try:
        return np.asanyarray(video)
    except Exception as error:  # tensors with gradients or on a device, and what else has such a method
        raise TypeError(
            f"{where}: expected a video, got {type(video).__name__}, which is no array ({reason_of(error)}). Convert "
            "it to a NumPy array."
        ) from error


def _frame(source: FrameList, j: int, where: str) -> object:
    """One frame, which a decoder may not be able to give."""
    try:
        return source.images[j]
    except Exception as error:
        raise ValueError(
            f"{where}[{j}]: expected a frame that can be decoded, got {type(error).__name__} ({reason_of(error)}). "
            "Fetch the video again, or leave the row out."
        ) from error


def _checked_array(array: np.ndarray, where: str) -> VideoSource:
    """Return frames or features."""
    if isinstance(array, np.ma.MaskedArray):
        raise TypeError(
            f"{where}: expected an array without a mask, got {type(array).__name__}. Fill it, or leave frames out."
        )
    if array.dtype == np.uint8 and array.ndim == 4:
        return _checked_frames(list(array), where)
    if array.ndim != 2 or not np.issubdtype(array.dtype, np.floating):
        raise ValueError(
            f"{where}: expected a uint8 array of shape (n_frames, height, width, 3) or a float array of shape "
            f"(n_frames, d), got {array.dtype} of shape {array.shape}. Give frames or their features."
        )
    if len(array) == 0:
        raise ValueError(f"{where}: expected at least one frame, got none. Leave the row out of all columns.")
    with np.errstate(over="ignore", under="ignore"):  # numbers that float32 does not hold are looked for below
        features = np.ascontiguousarray(array, dtype=np.float32)
    usable = np.isfinite(features).all(axis=1) & features.any(axis=1)
    if not usable.all():
        j = int(np.argmin(usable))
        raise ValueError(
            f"{where}[{j}]: expected finite features that are not all 0 as float32, got {array[j, :3].tolist()}, ... "
            f"({int((~usable).sum())} such frames in this row). Encode the frame again, or leave it out."
        )
    return features


def _image_key(image: object, where: str) -> bytes:
    """Hash one frame of a list without decoding it, if it is no PIL image."""
    source = as_image_source(image, where)
    if isinstance(source, PIL.Image.Image):
        source = np.asarray(as_rgb_image(source, where))
    if isinstance(source, np.ndarray):
        source = repr(source.shape).encode() + source.tobytes()
    return hashlib.blake2b(source).digest()


@contextlib.contextmanager
def _opened_file(source: EncodedVideo, where: str) -> Iterator[Any]:
    """Open a video as a binary file."""
    if isinstance(source.content, bytes):
        yield io.BytesIO(source.content)
        return
    try:
        with open_regular_file(source.content, LARGEST_VIDEO_FILE) as file:
            yield file
    except OSError as error:
        raise _no_file(source.content, error, where) from error


def _no_file(name: str, error: Exception, where: str) -> ValueError:
    """Build the error for a file that cannot be opened or read."""
    return ValueError(
        f"{where}: expected a video file, got {shown_path(name)} ({reason_of(error)}). Check the path; relative paths "
        "start at the working directory."
    )


@contextlib.contextmanager
def _opened(source: EncodedVideo, where: str) -> Iterator[tuple[Any, Any]]:
    """Open a container and find its video stream; FFmpeg sees a file object only, and no name or address."""
    options = {"format_whitelist": ",".join(CONTAINER_FORMATS), "protocol_whitelist": "none"}
    with _opened_file(source, where) as file:
        try:
            container = av.open(file, options=options)
        except Exception as error:  # FFmpeg's own, and what PyAV raises at a container without a name or a stream
            if is_cut_off(file):
                raise _damaged(where, 0, "the end of a file that is meant to be longer") from error
            raise ValueError(
                f"{where}: expected a video, got a file that cannot be opened as one ({reason_of(error)}). Fetch the "
                "file again, or convert it to mp4."
            ) from error
        with container:
            yield container, _video_stream(container, where)


def _video_stream(container: Any, where: str) -> Any:
    """The stream of a container that holds its moving pictures, and can be decoded."""
    try:
        stream = container.streams.best("video")
        kinds = ", ".join(sorted({str(other.type) for other in container.streams})) or "no streams"
        is_picture = stream is not None and bool(stream.disposition & av.stream.Disposition.attached_pic)
        can_be_decoded = stream is not None and stream.codec_context is not None
    except Exception as error:
        raise _damaged(where, 0, f"{type(error).__name__} ({reason_of(error)})") from error
    if stream is None or is_picture:
        raise ValueError(
            f"{where}: expected a file with moving pictures, got one with {kinds} only. Leave the row out of all "
            "columns."
        )
    if not can_be_decoded:
        raise ValueError(
            f"{where}: expected a video of a codec that FFmpeg knows, got one of another. Convert it to mp4 with H.264."
        )
    return stream


def _decoded(source: EncodedVideo, where: str, n_threads: int) -> Iterator[Any]:
    """Decode all frames in the order in which they are shown; raise at the first that is damaged or missing."""
    n_frames = 0
    with _opened(source, where) as (container, stream):
        frames = _stream_frames(container, stream, n_threads)
        while True:
            try:
                frame = next(frames, None)
            except Exception as error:  # FFmpeg's own, what PyAV raises at frames without a format, and those below
                raise _damaged(where, n_frames, reason_of(error)) from error
            if frame is None:
                break
            yield frame
            n_frames += 1
    with _opened_file(source, where) as file:
        if is_cut_off(file):
            raise _damaged(where, n_frames, "the end of a file that is meant to be longer")
    if n_frames == 0:
        raise ValueError(f"{where}: expected at least one frame, got none. Leave the row out of all columns.")


def _stream_frames(container: Any, stream: Any, n_threads: int) -> Iterator[Any]:
    """Decode the frames of a stream, and raise EOFError at the first that is not whole."""
    # Without this FFmpeg paints over what it cannot read, and says nothing.
    stream.codec_context.options = {"err_detect": "explode"}
    stream.codec_context.thread_count = n_threads
    stream.codec_context.thread_type = "AUTO"
    for packet in container.demux(stream):
        if packet.is_corrupt:
            yield from stream.codec_context.decode(None)  # those that are on their way
            raise EOFError("a packet that is not whole")
        for frame in packet.decode():
            if frame.is_corrupt:
                raise EOFError("a damaged picture")
            yield frame


def _count_packets(source: EncodedVideo, where: str) -> int:
    """Count the packets of a video without decoding them: nearly always the number of frames."""
    with _opened(source, where) as (container, stream):
        try:
            return sum(1 for packet in container.demux(stream) if packet.size and not packet.is_discard)
        except Exception:  # whatever it is, decoding will say at which frame
            return 0


class _FrameReader:
    """Decoded frames of one video as 8-bit RGB, upright, scaled and cut as a picture would be."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.reformatter = av.video.reformatter.VideoReformatter()
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


def _damaged(where: str, n_frames: int, got: str) -> ValueError:
    """Build the error for a video that does not decode to its end."""
    return ValueError(
        f"{where}: expected a video that is whole, got {got} at frame {n_frames}, counted from 0. Fetch the file "
        "again, or cut it before that frame."
    )
