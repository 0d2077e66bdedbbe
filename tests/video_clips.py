"""Small videos for tests, made with PyAV."""

from fractions import Fraction

import av
import numpy as np
import PIL.Image
import pytest

# Codec and pixel format that give back exactly the pixels put in.
LOSSLESS = {"codec": "ffv1", "pixels": "bgr0"}


def noise(n, height=48, width=64, seed=0):
    """Frames that all differ."""
    return list(np.random.default_rng(seed).integers(0, 256, (n, height, width, 3), dtype=np.uint8))


def moving_picture(path, n=60, height=128, width=224):
    """Frames that show a picture many times side by side, moving to the left and up."""
    picture = np.asarray(PIL.Image.open(path))
    tiles = np.tile(picture, (height // picture.shape[0] + 1, width // picture.shape[1] + 1, 1))
    return [np.roll(tiles, (-i, -2 * i), (0, 1))[:height, :width].copy() for i in range(n)]


def write_clip(
    path, frames, codec="libx264", pixels="yuv420p", times=None, options=None, display=None, container_options=None
):
    """Write frames to a file whose ending decides the container; `display` is degrees and mirroring."""
    with av.open(str(path), "w", options=container_options or {}) as output:
        stream = output.add_stream(codec, rate=10, options=options or {})
        height, width = frames[0].shape[:2] if frames else (48, 64)
        stream.width, stream.height, stream.pix_fmt = width, height, pixels
        stream.codec_context.time_base = Fraction(1, 1000)
        if display:
            if not hasattr(stream, "set_display_rotation"):
                pytest.skip("this release of av writes no rotation: pip install -U av")
            stream.set_display_rotation(*display)
        output.start_encoding()  # a header also where there are no frames
        for i, array in enumerate(frames):
            frame = av.VideoFrame.from_ndarray(array, format="rgb24").reformat(format=pixels)
            frame.pts, frame.time_base = times[i] if times else 100 * i, Fraction(1, 1000)
            output.mux(stream.encode(frame))
        output.mux(stream.encode())
    return path


def write_sound(path):
    """Write a file with a second of silence and no picture."""
    with av.open(str(path), "w") as output:
        stream = output.add_stream("aac", rate=16000)
        for _ in range(16):
            frame = av.AudioFrame.from_ndarray(np.zeros((1, 1024), np.float32), format="fltp", layout="mono")
            frame.rate = 16000
            output.mux(stream.encode(frame))
        output.mux(stream.encode())
    return path


def repeat_clip(path, source, times):
    """Write a clip whose frames stand alone (mjpeg, ffv1) several times over, without encoding it again."""
    with av.open(str(path), "w") as output:
        with av.open(str(source)) as content:
            stream = output.add_stream_from_template(content.streams.video[0])
            length = content.streams.video[0].duration
        for i in range(times):
            with av.open(str(source)) as content:
                for packet in content.demux(video=0):
                    if packet.size:
                        packet.pts, packet.dts, packet.stream = packet.pts + i * length, packet.dts + i * length, stream
                        output.mux(packet)
    return path
