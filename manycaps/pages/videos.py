"""The page of EMScore: captions of an uploaded video clip."""

import functools
import pathlib
import tempfile
from typing import Any

import av
import gradio as gr
import numpy as np

from .examples import example_picture
from .form import Form, Page
from .limits import CaptionLimits, check_at_most
from .plots import caption_bars
from .results import Drawing, result_table
from .text_boxes import caption_box, caption_lines
from .uploads import check_uploaded, uploaded_file
from .weights import WEIGHTS, score_meaning, usable_weights, weights_note

# Limits of one call of a public page: one clip, captions, characters of a caption.
LIMITS = CaptionLimits(rows=1, captions_per_row=20, characters_per_caption=300)
# The clip's file, its length, its frames in a second, the pixels of a frame, and the frames that are looked at.
MAX_MEGABYTES, MAX_SECONDS, MAX_RATE, MAX_MEGAPIXELS, MAX_FRAMES = 50, 60, 60, 9, 40
# Pixels of all its frames, which are decoded to find those: 7.5 billion in a minute of 1920 x 1080, 60 frames a second.
MAX_GIGAPIXELS = 8

# Keys of the table and their meanings.
MEANINGS = {
    "emscore_pac": "EMScore, mean over the captions: half coarse, half fine; higher is better",
    "coarse": "cosine of the whole caption and the whole clip",
    "fine_f": "F score of words and frames",
    "fine_precision": "how well the words fit their best frames",
    "fine_recall": "how well the frames fit their best words",
    "n_truncated": "captions with more tokens than the model reads; only their first tokens were read",
}

# For each label of the drawing the key of its values per candidate.
BARS = {
    "EMScore": "emscore_pac_per_candidate",
    "coarse: whole caption, whole clip": "coarse_per_candidate",
    "fine: words, frames": "fine_f_per_candidate",
}


def form(module: Any) -> Form:
    """Return the inputs and outputs of the page."""
    return Form(
        title="EMScore with PAC encoders",
        introduction=(
            "How well do captions fit a video clip? Coarse, the cosine of the whole caption with the mean of the "
            "frames; fine, an F score of every word with its best frame and every frame with its best word."
            "\n\n" + weights_note(module.encoder)
        ),
        inputs=[
            uploaded_file(gr.Video(label="Clip", sources=["upload"], height=320, render=False)),
            caption_box("Captions"),
        ],
        options=[gr.Slider(1, MAX_FRAMES, value=10, step=1, label="Frames, evenly spread over the clip", render=False)],
        drawings=["Captions"],
        examples={"A clip and captions": example},
        measure=functools.partial(measure, module),
    )


def measure(module: Any, video: str | None, candidates: str, n_frames: float) -> tuple[str, Drawing]:
    """Score the captions of one clip."""
    clip = check_uploaded(video, "videos[0]", MAX_MEGABYTES).read_bytes()
    check_clip(module.examine_video(clip))
    rows = {"predictions": caption_lines(candidates, "predictions", LIMITS)}
    weights = usable_weights(module.encoder)
    result = module.compute(**rows, videos=[clip], frames=int(n_frames), details=True)
    scores = {label: result[key][0] for label, key in BARS.items()}
    meanings = MEANINGS | {"emscore_pac": score_meaning(MEANINGS["emscore_pac"], weights)}
    return result_table(result, meanings), caption_bars(scores, rows["predictions"][0])


def check_clip(size: Any) -> None:
    """Raise if a clip is too long, or its frames are too large or too many; nothing is decoded.

    Args:
        size: from the module's `examine_video`.

    Raises:
        ValueError: it is above a limit of this page.
    """
    check_at_most(round(size.seconds, 1), MAX_SECONDS, "videos[0]", "seconds")
    check_at_most(size.n_frames, MAX_SECONDS * MAX_RATE, "videos[0]", "frames")
    check_at_most(round(size.width * size.height / 1e6, 1), MAX_MEGAPIXELS, "videos[0]", "megapixels a frame")
    check_at_most(
        round(size.n_frames * size.width * size.height / 1e9, 1),
        MAX_GIGAPIXELS,
        "videos[0]",
        "gigapixels in all frames",
    )


def example() -> tuple[str, str, int]:
    """Make a clip of two seconds in which a picture moves to the left."""
    path = pathlib.Path(tempfile.mkdtemp()) / "shapes.mp4"
    picture = np.asarray(example_picture())
    with av.open(str(path), "w") as clip:
        stream = clip.add_stream("h264", rate=10)
        stream.width, stream.height, stream.pix_fmt = picture.shape[1], picture.shape[0], "yuv420p"
        for shift in range(0, 160, 8):
            frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(np.roll(picture, -shift, axis=1)), format="rgb24")
            clip.mux(stream.encode(frame))
        clip.mux(stream.encode(None))
    return str(path), "shapes move to the left\na red square and a blue circle\na dog runs on the beach", 10


EMSCORE_PAC = Page(form, "emscore_pac", WEIGHTS, MAX_MEGABYTES)
