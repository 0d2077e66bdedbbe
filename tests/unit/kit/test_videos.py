"""Videos to frames: every kind of input, every kind of damage."""

import base64
import io

import av
import numpy as np
import PIL.Image
import pytest

from manycaps.kit import videos
from manycaps.kit.images import as_model_pixels
from manycaps.kit.videos import (
    EncodedVideo,
    FrameList,
    as_video_source,
    frame_places,
    is_cut_off,
    read_pixels,
    video_key,
    video_size,
)
from tests.refusals import assert_refused
from tests.video_clips import LOSSLESS, noise, write_clip, write_sound

WHERE = "videos[3]"


NO_FRAME = "videos[3]: expected at least one frame, got none. Fetch the file again, or leave the row out.$"


NO_PICTURES = "videos[3]: expected a file with moving pictures, got one with"


# The index of an mp4 at its beginning, so that a piece of it can be opened.
FRONT = {"movflags": "faststart"}


def read(video, frames="all", size=48):
    return list(read_pixels(as_video_source(video, WHERE), frames, size, WHERE, 2))


def squares(frames, size=48):
    return [as_model_pixels(PIL.Image.fromarray(frame), size) for frame in frames]


def assert_equal(ours, expected):
    assert len(ours) == len(expected)
    assert all(np.array_equal(a, b) for a, b in zip(ours, expected, strict=True))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("clips")


@pytest.fixture(scope="module")
def mp4(folder):
    return write_clip(folder / "noise.mp4", noise(30), container_options=FRONT)


@pytest.mark.parametrize(
    ("size", "times"), [((49, 65), None), ((47, 33), None), ((1, 5), None), ((48, 64), [0, 10, 400, 410, 3000, 3001])]
)
def test_sizes_and_rates_change_nothing(folder, size, times):
    frames = noise(6, *size)
    assert_equal(read(write_clip(folder / "lossless.mkv", frames, times=times, **LOSSLESS)), squares(frames))


def png(path, frame):
    PIL.Image.fromarray(frame).save(path)
    return path


class Decoder:
    """What `datasets` and torchcodec hand out, as far as it is used."""

    def __init__(self, frames, encoded=None):
        self.frames = frames
        if encoded:
            self._hf_encoded = encoded

    def __len__(self):
        return len(self.frames)

    def __getitem__(self, i):
        return self.frames[i]

    def get_frame_at(self, i):
        raise AssertionError("not used")


def test_a_decoder_of_torchcodec(folder):
    frames = noise(4)
    assert_equal(read(Decoder([frame.transpose(2, 0, 1) for frame in frames])), squares(frames))
    assert_equal(read(Decoder(frames)), squares(frames))
    path = write_clip(folder / "decoder.mkv", frames, **LOSSLESS)
    assert as_video_source(Decoder([], {"path": str(path), "bytes": None}), WHERE) == EncodedVideo(str(path))


@pytest.mark.parametrize("n_frames", [1, 2, 3, 7, 250])
@pytest.mark.parametrize("frames", [1, 2, 5, 10, 300])
def test_places_are_the_authors(n_frames, frames):
    authors = [int(index) for index in np.linspace(0, n_frames - 1, frames)]
    assert frame_places(n_frames, frames).tolist() == authors


@pytest.mark.parametrize("frames", [1, 4, 30, 40])
@pytest.mark.parametrize("n_expected", [None, 0, 7, 99])
def test_some_frames_are_those_out_of_all(mp4, frames, n_expected, monkeypatch):
    """Also where the number of packets says little about the number of frames."""
    everything = read(mp4)
    if n_expected is not None:
        monkeypatch.setattr(videos, "_count_packets", lambda *_: n_expected)
    assert_equal(read(mp4, frames), [everything[i] for i in np.unique(frame_places(30, frames))])


@pytest.mark.parametrize("degrees", [0, 90, 180, 270])
@pytest.mark.parametrize("mirrored", [False, True])
def test_a_display_matrix_is_applied(folder, degrees, mirrored):
    frames = noise(2, 48, 64)
    path = write_clip(folder / "turned.mov", frames, codec="png", pixels="rgb24", display=(degrees, mirrored, False))
    turned = [np.rot90(frame, degrees // 90) for frame in frames]
    expected = [np.ascontiguousarray(frame[:, ::-1] if mirrored else frame) for frame in turned]
    assert_equal(read(path), squares(expected))
    path = write_clip(folder / "askew.mov", frames, codec="png", pixels="rgb24", display=(30,))
    assert_equal(read(path), squares(frames))  # other angles are left


def test_no_frames(folder):
    empty = write_clip(folder / "empty.avi", [], codec="mpeg4")
    for video in (empty, [], np.empty((0, 4, 4, 3), np.uint8), np.empty((0, 4)), Decoder([])):
        for frames in ("all", 3):
            assert_refused(ValueError, NO_FRAME, read, video, frames)
    empty = write_clip(folder / "empty.mp4", [])  # FFmpeg finds no stream in such a file
    assert_refused(ValueError, f"{NO_PICTURES} no streams", read, empty)
    assert_refused(ValueError, f"{NO_PICTURES} audio only", read, write_sound(folder / "sound.m4a"))


@pytest.mark.parametrize(("frames", "share"), [("all", 0.4), (3, 0.9)])
@pytest.mark.parametrize("name", ["front.mp4", "end.mp4", "a.mkv", "a.webm", "a.avi", "a.mov"])
def test_a_file_that_is_cut_off_is_an_error_with_its_frame(folder, name, share, frames):
    codec = {"webm": "libvpx", "avi": "mpeg4"}.get(name.split(".")[1], "libx264")
    path = folder / name
    if not path.exists():
        write_clip(path, noise(30), codec, container_options=FRONT if name == "front.mp4" else None)
    content = path.read_bytes()
    assert len(read(content)) == 30
    cut = content[: int(share * len(content))]
    with av.open(io.BytesIO(content)) as container:
        n_whole = sum(packet.size > 0 and packet.pos + packet.size <= len(cut) for packet in container.demux(video=0))
    with pytest.raises(ValueError) as raised:
        read(cut, frames)
    assert str(raised.value).startswith("videos[3]: expected a complete video, got ")
    n_frames = int(str(raised.value).split(" at frame ")[1].split(",")[0])
    if name in ("end.mp4", "a.mov"):  # the index is gone: not one frame can be read
        assert n_frames == 0
    else:
        assert n_frames == pytest.approx(n_whole, abs=3)  # frames are not stored in the order in which they are shown


def test_a_cut_between_two_frames_is_found_too(mp4):
    """Without this no packet is damaged: FFmpeg says nothing."""
    content = mp4.read_bytes()
    with av.open(io.BytesIO(content)) as container:
        packet = [packet for packet in container.demux(video=0) if packet.size][20]
        cut = content[: packet.pos]
    with av.open(io.BytesIO(cut)) as container:
        assert not any(packet.is_corrupt for packet in container.demux(video=0))
    assert_refused(ValueError, ".*got the end of a truncated file at frame 20, counted from", read, cut)


@pytest.mark.parametrize("seed", range(4))
def test_damage_inside_is_an_error_with_its_frame(mp4, seed):
    content = bytearray(mp4.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 2000] = np.random.default_rng(seed).bytes(2000)
    av.logging.set_level(av.logging.ERROR)  # as an old torchvision does: with the log on, closing may never end
    with pytest.raises(ValueError, match=r"^videos\[3\]: expected a complete video, got .* at frame 1\d, counted"):
        read(bytes(content))
    assert av.logging.get_level() is None


def test_rubbish_behind_a_video_is_no_damage(mp4):
    assert len(read(mp4.read_bytes() + b"Here ends the video, and this is not part of it.")) == 30
    assert len(read(mp4.read_bytes() + bytes(100))) == 30


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", False),
        (b"\0\0\0\x08free\0\0\0\x10mdat12345678", False),
        (b"\0\0\0\x08free\0\0\0\x10mdat1234567", True),
        (b"\0\0\0\x01mdat\0\0\0\0\0\0\0\x14abcd", False),
        (b"\0\0\0\x01mdat\0\0\0\0\0\0\0\x15abcd", True),
        (b"\0\0\0\0mdat: to the end", False),
        (b"\0\0\0\x08wideanything at all", False),
        (b"\x1aE\xdf\xa3\x81?\x18S\x80g\x84123", True),
        (b"\x1aE\xdf\xa3\x81?\x18S\x80g\x841234", False),
        (b"\x1aE\xdf\xa3\x81?\x18S\x80g\x40\x041234", False),
        (b"\x1aE\xdf\xa3\x81?\x18S\x80g\xff a stream", False),
    ],
)
def test_what_headers_say_about_the_length(content, expected):
    assert is_cut_off(io.BytesIO(content)) is expected


def test_a_playlist_opens_nothing_else(folder, mp4):
    lists = {
        "list.m3u8": f"#EXTM3U\n#EXTINF:1,\n{mp4}\n#EXT-X-ENDLIST\n",
        "list.ffconcat": f"ffconcat version 1.0\nfile {mp4}\n",
        "list.sdp": "v=0\no=- 0 0 IN IP4 127.0.0.1\nc=IN IP4 127.0.0.1\nt=0 0\nm=video 9 RTP/AVP 96\n",
    }
    for name, text in lists.items():
        (folder / name).write_text(text)
        message = "videos[3]: expected a video, got a file that cannot be opened as one"
        assert_refused(ValueError, message, read, folder / name)
        assert_refused(ValueError, message, read, data_url(text.encode()))


def data_url(content):
    return f"data:video/mp4;base64,{base64.b64encode(content).decode()}"


def test_a_data_url_is_its_file_and_an_address_is_refused(mp4):
    assert_equal(read(data_url(mp4.read_bytes()), 3), read(mp4, 3))
    messages = {"data:video/mp4,AAAA": "base64, got '", "https://a.b/clip.mp4": "a local path, got the address '"}
    for text, message in messages.items():
        assert_refused(ValueError, f"videos[3]: expected {message}{text}'", read, text)


def test_keys_are_equal_where_frames_are(folder, mp4):
    images = noise(2)
    picture = png(folder / "key.png", images[0])

    def key(video):
        return video_key(as_video_source(video, WHERE), WHERE)

    assert key(mp4) == key(str(mp4)) == key(mp4.read_bytes())
    assert key(images) == key(np.stack(images)) == key([PIL.Image.fromarray(image) for image in images])
    different = [mp4, images, images[::-1], images[:1], [picture], [picture] * 2, np.ones((1, 2)), np.ones((2, 1))]
    assert len({key(video) for video in different}) == len(different)
    assert isinstance(as_video_source(images, WHERE), FrameList)


def test_size_of_a_clip(tmp_path):
    path = write_clip(tmp_path / "clip.mp4", noise(10))
    for content in (str(path), path.read_bytes()):
        assert video_size(EncodedVideo(content), "videos[0]") == (1.0, 10, 64, 48)
