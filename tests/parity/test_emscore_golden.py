"""EMScore against golden values, and PyAV's frames against OpenCV's, with which the authors' program decodes.

golden/tiny_clip/emscore.json of this project: open_clip in float64 and plain loops over four videos of up to six
pictures of the made world, eight rows. Of the data folder: https://github.com/aimagelab/pacscore and
https://github.com/ShiYaya/emscore run on a small random checkpoint over four videos of up to seven photographs, six
rows, float32 on a CPU.
"""

import importlib.util
import json

import numpy as np
import pytest

from tests.clip_checkpoints import save_golden_checkpoint
from tests.golden_folders import OWN_GOLDEN
from tests.large_packages import evaluate
from tests.module_folders import EMSCORE_PAC

# float32, in batches; the greatest difference seen is 4e-7.
TOLERANCE = 1e-5

FIELDS = {
    "figr_P": "fine_precision",
    "figr_R": "fine_recall",
    "figr_F": "fine_f",
    "cogr": "coarse",
    "full_P": "full_precision",
    "full_R": "full_recall",
    "full_F": "emscore_pac",
}
SIDES = {"EMScore(X,V)": "", "EMScore(X,X*)": "reference_", "EMScore(X,V,X*)": "combined_"}

# Where the authors' padding takes part in the data folder's values: a batch is filled up with frames of zeros, whose
# cosine 0 beats the negative cosines of the words of these rows, all but the two of the longest video.
PADDED_FIELDS = {"figr_P", "figr_F", "full_P", "full_F"}
PADDED_SIDES = {"EMScore(X,V)", "EMScore(X,V,X*)"}
PADDED_ROWS = {1, 2, 3, 5}


@pytest.fixture(scope="module")
def golden(golden_folder):
    return json.loads((golden_folder / "tiny_clip" / "emscore.json").read_text())


@pytest.fixture(scope="module")
def columns(golden, golden_folder):
    images = golden_folder / "pictures" if golden_folder == OWN_GOLDEN else golden_folder.parent / "images"
    frames = {name: [str(images / image) for image in of_video] for name, of_video in golden["frames"].items()}
    return {
        "predictions": [row["caption"] for row in golden["rows"]],
        "videos": [frames[row["video"]] for row in golden["rows"]],
        "references": [row["references"] for row in golden["rows"]],
    }


@pytest.fixture(scope="module")
def load(golden, golden_folder, tmp_path_factory):
    checkpoint = golden_folder / "tiny_clip" / "tiny_clip.pth"
    if golden_folder == OWN_GOLDEN:
        checkpoint = save_golden_checkpoint(
            tmp_path_factory.mktemp("golden") / "tiny_clip.pth", golden["meta"]["weights"]
        )
    return lambda config: evaluate.load(EMSCORE_PAC, config, checkpoint=str(checkpoint), device="cpu", details=True)


@pytest.fixture(scope="module")
def padded_rows(golden_folder):
    """Rows whose batched golden values the authors' padding changes."""
    return set() if golden_folder == OWN_GOLDEN else PADDED_ROWS


def test_one_row_at_a_time(golden, columns, load):
    module, n_compared = load("references"), 0
    for i, expected in enumerate(golden["cases"]["references_no_idf_one_row_at_a_time"]):
        if expected is None:  # the authors' program fails on a batch with one pair
            continue
        result = module.compute(**{name: [column[i]] for name, column in columns.items()})
        for side, fields in expected.items():
            for field, values in fields.items():
                assert [result[SIDES[side] + FIELDS[field]]] == pytest.approx(values, abs=TOLERANCE), (i, side, field)
                n_compared += 1
    assert n_compared >= 4 * 3 * 7


def test_one_row_at_a_time_without_references(golden, columns, load):
    module = load(None)
    rows = golden["cases"]["video_only_no_idf_one_row_at_a_time"]
    result = module.compute(predictions=columns["predictions"], videos=columns["videos"])
    for field, name in FIELDS.items():
        expected = [row["EMScore(X,V)"][field][0] for row in rows]
        assert result[f"{name}_per_row"] == pytest.approx(expected, abs=TOLERANCE), field


@pytest.mark.parametrize(
    ("case", "idf"), [("references_no_idf_batched", False), ("references_idf_of_references_batched", True)]
)
def test_batched_wherever_padding_does_not_interfere(golden, columns, load, padded_rows, case, idf):
    alone = golden["cases"]["video_only_no_idf_one_row_at_a_time"]
    result = load("references").compute(**columns, idf=idf)
    for side, fields in golden["cases"][case].items():
        for field, expected in fields.items():
            ours = result[f"{SIDES[side]}{FIELDS[field]}_per_row"]
            for i in range(len(golden["rows"])):
                if side in PADDED_SIDES and field in PADDED_FIELDS and i in padded_rows:
                    assert ours[i] < expected[i] - 1e-4, "padding makes the authors' value too high"
                    if not idf and side == "EMScore(X,V)":
                        assert [ours[i]] == pytest.approx(alone[i][side][field], abs=TOLERANCE), "not so alone"
                else:
                    assert ours[i] == pytest.approx(expected[i], abs=TOLERANCE), (side, field, i)


@pytest.mark.skipif(importlib.util.find_spec("cv2") is None, reason="OpenCV is not installed")
def test_pyavs_frames_are_opencvs(clip):
    import cv2

    from manycaps.kit.media_video import EncodedVideo
    from manycaps.kit.media_video_decoder import read_pixels

    capture, theirs = cv2.VideoCapture(str(clip)), []
    while (read := capture.read())[0]:
        height, width, _ = read[1].shape
        theirs.append(read[1][:, (width - height) // 2 : (width + height) // 2, ::-1])  # the middle square in RGB
    ours = list(read_pixels(EncodedVideo(str(clip)), "all", height, "videos[0]", 2))
    assert len(ours) == len(theirs) >= 50
    # The same FFmpeg code decodes both; another version of it may round the colours otherwise.
    differences = [np.abs(a.astype(int) - b) for a, b in zip(ours, theirs, strict=True)]
    assert max(difference.max() for difference in differences) <= 2
    assert np.mean([difference.mean() for difference in differences]) < 0.1
