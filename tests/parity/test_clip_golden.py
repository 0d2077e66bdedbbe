"""PAC-S, RefPAC-S, PAC-S++ and EMScore against golden values on small checkpoints, and PyAV's frames against OpenCV's.

golden/tiny_clip/ of this project: open_clip in float64 and plain loops, on 38 rows of pictures of the made world, and
on eight rows of four videos of up to six of these pictures; the weights come from a seed. Of the data folder:
https://github.com/aimagelab/pacscore and https://github.com/ShiYaya/emscore run on small random checkpoints, float32 on
a CPU, over seven photographs (17 rows) and over four videos of up to seven photographs (six rows).
"""

import importlib.util
import json

import numpy as np
import PIL.Image
import pytest

import manycaps
from tests.clip_checkpoints import save_golden_checkpoint, seeded_weights
from tests.golden_folders import OWN_GOLDEN
from tests.oracles.open_clip_encoders import Encoders, pac_scores

# Scores are computed in float32, in batches: cosines differ in the seventh digit, times the weight 2.
TOLERANCE = 2e-6

# Of EMScore; the greatest difference seen is 4e-7.
VIDEO_TOLERANCE = 1e-5

CASES = [("tiny_clip.pth", "pac.json"), ("tiny_clip_lora.pth", "pac_lora.json")]


def golden_rows(golden_folder, new_folder, checkpoint, values):
    """What a golden file holds, the path of the checkpoint behind it, and the folder of its pictures."""
    content = json.loads((golden_folder / "tiny_clip" / values).read_text())
    if golden_folder != OWN_GOLDEN:
        return content, str(golden_folder / "tiny_clip" / checkpoint), golden_folder.parent / "images"
    path = save_golden_checkpoint(new_folder / checkpoint, content["meta"]["weights"])
    return content, str(path), OWN_GOLDEN / "pictures"


@pytest.fixture(scope="module", params=CASES, ids=["pac-s", "pac-s++"])
def golden(request, golden_folder, tmp_path_factory):
    rows, checkpoint, images = golden_rows(golden_folder, tmp_path_factory.mktemp("golden"), *request.param)
    rows = rows["rows"] if golden_folder == OWN_GOLDEN else rows
    columns = {
        "predictions": [row["caption"] for row in rows],
        "images": [str(images / row["image"]) for row in rows],
        "references": [row["references"] for row in rows],
    }
    return checkpoint, rows, columns


@pytest.mark.parametrize("batch_size", [64, 3])
def test_batched(golden, batch_size):
    checkpoint, rows, columns = golden
    module = manycaps.load("ref_pac_score", checkpoint=checkpoint, device="cpu", batch_size=batch_size)
    result = module.compute(**columns, details=True)
    assert result["ref_pac_score_per_row"] == pytest.approx([row["ref_pac_s"] for row in rows], abs=TOLERANCE)
    assert result["pac_score_per_row"] == pytest.approx([row["pac_s"] for row in rows], abs=TOLERANCE)
    module = manycaps.load("pac_score", checkpoint=checkpoint, device="cpu", batch_size=batch_size)
    result = module.compute(predictions=columns["predictions"], images=columns["images"], details=True)
    assert result["pac_score_per_row"] == pytest.approx([row["pac_s"] for row in rows], abs=TOLERANCE)


def test_scaled_pictures_are_those_of_open_clip(tmp_path):
    """Bicubic scaling differs between versions of Pillow, so these values are computed here, with the one at hand."""
    meta = json.loads((OWN_GOLDEN / "tiny_clip" / "pac.json").read_text())["meta"]["weights"]
    checkpoint = save_golden_checkpoint(tmp_path / "tiny_clip.pth", meta)
    encoders = Encoders(seeded_weights(meta["seed"]))
    scenes = [np.asarray(PIL.Image.open(OWN_GOLDEN / "pictures" / f"scene_{i}.png")) for i in range(6)]
    mosaic = np.concatenate([np.concatenate(scenes[:3], axis=1), np.concatenate(scenes[3:], axis=1)])  # 128 x 192
    pictures = [PIL.Image.fromarray(mosaic[:height, :width]) for height, width in ((128, 192), (127, 71), (37, 50))]
    rows = {"predictions": ["a red disc", "two crosses", ""], "references": [["a ring"], ["a cross", "a star"], ["a"]]}
    result = manycaps.load("ref_pac_score", checkpoint=str(checkpoint), device="cpu").compute(
        **rows, images=pictures, details=True
    )
    expected = [pac_scores(encoders, *row) for row in zip(pictures, *rows.values(), strict=True)]
    assert result["pac_score_per_row"] == pytest.approx([pac_s for pac_s, _ in expected], abs=TOLERANCE)
    assert result["ref_pac_score_per_row"] == pytest.approx([ref_pac_s for _, ref_pac_s in expected], abs=TOLERANCE)


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
def videos(golden_folder, tmp_path_factory):
    """The golden file of videos, the columns of its rows, and a function that loads a configuration of the module."""
    content, checkpoint, images = golden_rows(
        golden_folder, tmp_path_factory.mktemp("golden"), "tiny_clip.pth", "emscore.json"
    )
    frames = {name: [str(images / image) for image in pictures] for name, pictures in content["frames"].items()}
    columns = {
        "predictions": [row["caption"] for row in content["rows"]],
        "videos": [frames[row["video"]] for row in content["rows"]],
        "references": [row["references"] for row in content["rows"]],
    }
    return (
        content,
        columns,
        lambda config: manycaps.load("emscore_pac", config, checkpoint=checkpoint, device="cpu", details=True),
    )


@pytest.fixture(scope="module")
def padded_rows(golden_folder):
    """Rows whose batched golden values the authors' padding changes."""
    return set() if golden_folder == OWN_GOLDEN else PADDED_ROWS


def test_one_row_at_a_time(videos):
    golden, columns, load = videos
    module, n_compared = load("references"), 0
    for i, expected in enumerate(golden["cases"]["references_no_idf_one_row_at_a_time"]):
        if expected is None:  # the authors' program fails on a batch with one pair
            continue
        result = module.compute(**{name: [column[i]] for name, column in columns.items()})
        for side, fields in expected.items():
            for field, values in fields.items():
                assert [result[SIDES[side] + FIELDS[field]]] == pytest.approx(values, abs=VIDEO_TOLERANCE), (
                    i,
                    side,
                    field,
                )
                n_compared += 1
    assert n_compared >= 4 * 3 * 7


def test_one_row_at_a_time_without_references(videos):
    golden, columns, load = videos
    module = load(None)
    rows = golden["cases"]["video_only_no_idf_one_row_at_a_time"]
    result = module.compute(predictions=columns["predictions"], videos=columns["videos"])
    for field, name in FIELDS.items():
        expected = [row["EMScore(X,V)"][field][0] for row in rows]
        assert result[f"{name}_per_row"] == pytest.approx(expected, abs=VIDEO_TOLERANCE), field


@pytest.mark.parametrize(
    ("case", "idf"), [("references_no_idf_batched", False), ("references_idf_of_references_batched", True)]
)
def test_batched_wherever_padding_does_not_interfere(videos, padded_rows, case, idf):
    golden, columns, load = videos
    alone = golden["cases"]["video_only_no_idf_one_row_at_a_time"]
    result = load("references").compute(**columns, idf=idf)
    for side, fields in golden["cases"][case].items():
        for field, expected in fields.items():
            ours = result[f"{SIDES[side]}{FIELDS[field]}_per_row"]
            for i in range(len(golden["rows"])):
                if side in PADDED_SIDES and field in PADDED_FIELDS and i in padded_rows:
                    assert ours[i] < expected[i] - 1e-4, "padding makes the authors' value too high"
                    if not idf and side == "EMScore(X,V)":
                        assert [ours[i]] == pytest.approx(alone[i][side][field], abs=VIDEO_TOLERANCE), "not so alone"
                else:
                    assert ours[i] == pytest.approx(expected[i], abs=VIDEO_TOLERANCE), (side, field, i)


@pytest.mark.skipif(importlib.util.find_spec("cv2") is None, reason="OpenCV is not installed")
def test_pyavs_frames_are_opencvs(clip):
    import cv2

    from manycaps.kit.videos import EncodedVideo, read_pixels

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
