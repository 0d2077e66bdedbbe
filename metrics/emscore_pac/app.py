"""Demo page of EMScore with PAC encoders: `python app.py`, or a Space made of this folder."""

import os
import pathlib
import tempfile

import av
import evaluate
import gradio as gr
import numpy as np
from shared_demo_form import (
    CaptionLimits,
    Form,
    build_page,
    caption_lines,
    check_at_most,
    check_uploaded,
    result_table,
    serve,
    uploaded_file,
)
from shared_demo_plots import caption_bars, example_picture
from shared_demo_weights import score_meaning, usable_weights, weights_note

# What one call may cost on a public page: one clip, captions, characters of a caption.
LIMITS = CaptionLimits(rows=1, captions_per_row=20, characters_per_caption=300)
# The clip's file, its length, its frames in a second, the pixels of a frame, and the frames that are looked at.
MAX_MEGABYTES, MAX_SECONDS, MAX_RATE, MAX_MEGAPIXELS, MAX_FRAMES = 50, 60, 60, 9, 40
# Pixels of all its frames, which are decoded to find those: 7.5 billion in a minute of 1920 x 1080, 60 frames a second.
MAX_GIGAPIXELS = 8

# Weights other than the published ones: a file, a folder or a Hub repository.
CHECKPOINT = os.environ.get("MANYCAPS_CHECKPOINT") or None

# What the table shows, and what it means.
MEANINGS = {
    "emscore_pac": "EMScore, mean over the captions: half coarse, half fine; higher is better",
    "coarse": "cosine of the whole caption and the whole clip",
    "fine_f": "F score of words and frames",
    "fine_precision": "how well the words fit their best frames",
    "fine_recall": "how well the frames fit their best words",
    "n_truncated": "captions of more tokens than the model reads, of which only the first were read",
}

emscore_pac = evaluate.load(str(pathlib.Path(__file__).resolve().parent / "emscore_pac.py"), checkpoint=CHECKPOINT)


def check_clip(clip):
    """Raise if a clip is too long, or its frames are too large or too many; nothing is decoded."""
    size = emscore_pac.examine_video(clip)
    check_at_most(round(size.seconds, 1), MAX_SECONDS, "videos[0]", "seconds")
    check_at_most(size.n_frames, MAX_SECONDS * MAX_RATE, "videos[0]", "frames")
    check_at_most(round(size.width * size.height / 1e6, 1), MAX_MEGAPIXELS, "videos[0]", "megapixels a frame")
    check_at_most(
        round(size.n_frames * size.width * size.height / 1e9, 1),
        MAX_GIGAPIXELS,
        "videos[0]",
        "gigapixels in all frames",
    )


def measure(video, candidates, n_frames):
    """Score the captions of one clip."""
    clip = check_uploaded(video, "videos[0]", MAX_MEGABYTES).read_bytes()
    check_clip(clip)
    rows = {"predictions": caption_lines(candidates, "predictions", LIMITS)}
    weights = usable_weights(emscore_pac.encoder)
    result = emscore_pac.compute(**rows, videos=[clip], frames=int(n_frames), details=True)
    names = {"EMScore": "emscore_pac", "coarse: whole caption, whole clip": "coarse", "fine: words, frames": "fine_f"}
    scores = {label: result[f"{name}_per_candidate"][0] for label, name in names.items()}
    meanings = MEANINGS | {"emscore_pac": score_meaning(MEANINGS["emscore_pac"], weights)}
    return result_table(result, meanings), caption_bars(scores, rows["predictions"][0])


def example():
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


page = build_page(
    Form(
        title="EMScore with PAC encoders",
        introduction=(
            "How well do captions fit a video clip? Coarse, the cosine of the whole caption with the mean of the "
            "frames; fine, an F score of every word with its best frame and every frame with its best word."
            "\n\n" + weights_note(emscore_pac.encoder)
        ),
        inputs=[
            uploaded_file(gr.Video(label="Clip", sources=["upload"], height=320, render=False)),
            gr.Textbox(label="Captions", info="one caption a line", lines=10, max_lines=10, render=False),
        ],
        options=[
            gr.Slider(1, MAX_FRAMES, value=10, step=1, label="Frames, evenly spread over the clip", render=False),
        ],
        drawings=["Captions"],
        examples={"A clip and captions": example},
        measure=measure,
    )
)

if __name__ == "__main__":
    serve(page, MAX_MEGABYTES)
