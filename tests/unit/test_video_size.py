"""What a video file says about itself before it is decoded: the limits of a page rest on it."""

import av
import numpy as np
import pytest

from metrics.emscore_pac.shared_video_input import EncodedVideo, video_size


def test_size_of_a_clip(tmp_path):
    path = tmp_path / "clip.mp4"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("h264", rate=4)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        for _ in range(10):
            frame = av.VideoFrame.from_ndarray(np.zeros((48, 64, 3), dtype=np.uint8), format="rgb24")
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    for content in (str(path), path.read_bytes()):
        assert video_size(EncodedVideo(content), "videos[0]") == (2.5, 10, 64, 48)


def test_no_clip():
    with pytest.raises(ValueError, match=r"^videos\[0\]: expected a video, got a file that cannot be opened as one"):
        video_size(EncodedVideo(b"#EXTM3U\nhttp://127.0.0.1:9/a.ts\n"), "videos[0]")
