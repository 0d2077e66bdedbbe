"""What a clip on the demo page may cost, told before anything is decoded."""

import pytest

pytest.importorskip("gradio", reason="gradio is not installed: pip install -r tests/requirements.txt")
pytest.importorskip("av", reason="av is not installed: pip install -r tests/requirements.txt")
from manycaps.kit.media_video_decoder import VideoSize
from manycaps.pages.videos import check_clip


def test_a_minute_as_phones_record_it():
    check_clip(VideoSize(60.0, 3600, 1920, 1080))
    check_clip(VideoSize(15.0, 900, 4096, 2160))


@pytest.mark.parametrize(
    ("size", "message"),
    [
        ((60.5, 605, 640, 480), "60 seconds on this page, got 60.5."),
        ((0.0, 3601, 64, 48), "3,600 frames on this page, got 3,601."),
        ((1.0, 10, 5000, 2000), "9 megapixels a frame on this page, got 10.0."),
        ((60.0, 3600, 2560, 1440), "8 gigapixels in all frames on this page, got 13.3."),
    ],
)
def test_larger_clips(size, message):
    with pytest.raises(ValueError) as error:
        check_clip(VideoSize(*size))
    assert str(error.value).startswith(f"videos[0]: expected at most {message}")
