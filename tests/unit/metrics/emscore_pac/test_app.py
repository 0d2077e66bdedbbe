"""What a clip on the demo page may cost, told before anything is decoded."""

import pathlib
import runpy
import types

import pytest

pytest.importorskip("gradio", reason="gradio is not installed: pip install -r tests/requirements.txt")
from manycaps.shared_video_input import VideoSize
from tests.modules.sample_inputs import small_checkpoint

APP = pathlib.Path(__file__).resolve().parents[4] / "metrics" / "emscore_pac" / "app.py"


@pytest.fixture(scope="module")
def check_clip():
    """Check a clip of a given size."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(APP.parent))
        patch.setenv("MANYCAPS_CHECKPOINT", small_checkpoint())
        check = runpy.run_path(str(APP))["check_clip"]

    def checked(*size):
        check.__globals__["emscore_pac"] = types.SimpleNamespace(examine_video=lambda clip: VideoSize(*size))
        check(b"")

    return checked


def test_a_minute_as_phones_record_it(check_clip):
    check_clip(60.0, 3600, 1920, 1080)
    check_clip(15.0, 900, 4096, 2160)


@pytest.mark.parametrize(
    ("size", "message"),
    [
        ((60.5, 605, 640, 480), "60 seconds on this page, got 60.5."),
        ((0.0, 3601, 64, 48), "3,600 frames on this page, got 3,601."),
        ((1.0, 10, 5000, 2000), "9 megapixels a frame on this page, got 10.0."),
        ((60.0, 3600, 2560, 1440), "8 gigapixels in all frames on this page, got 13.3."),
    ],
)
def test_larger_clips(check_clip, size, message):
    with pytest.raises(ValueError) as error:
        check_clip(*size)
    assert str(error.value).startswith(f"videos[0]: expected at most {message}")
