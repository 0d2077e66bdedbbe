"""PAC-S, RefPAC-S and PAC-S++ against golden values on small checkpoints.

golden/tiny_clip/pac.json and pac_lora.json of this project: open_clip in float64 on pictures of the made world, 38 rows
each; the weights come from a seed. Of the data folder: https://github.com/aimagelab/pacscore run on small random
checkpoints over seven photographs, 17 rows each, float32 on a CPU.
"""

import json

import numpy as np
import PIL.Image
import pytest

from tests.clip_checkpoints import save_golden_checkpoint, seeded_weights
from tests.each_case import each_case
from tests.golden_folders import OWN_GOLDEN
from tests.large_packages import evaluate
from tests.module_folders import PAC_SCORE, REF_PAC_SCORE
from tests.oracles.open_clip_encoders import Encoders, pac_scores

# Scores are computed in float32, in batches: cosines differ in the seventh digit, times the weight 2.
TOLERANCE = 2e-6

CASES = [("tiny_clip.pth", "pac.json"), ("tiny_clip_lora.pth", "pac_lora.json")]


@pytest.fixture(scope="module", params=CASES, ids=["pac-s", "pac-s++"])
def golden(request, golden_folder, tmp_path_factory):
    checkpoint, values = request.param
    folder = golden_folder / "tiny_clip"
    rows = json.loads((folder / values).read_text())
    if golden_folder == OWN_GOLDEN:
        path = save_golden_checkpoint(tmp_path_factory.mktemp("golden") / checkpoint, rows["meta"]["weights"])
        images, rows = OWN_GOLDEN / "pictures", rows["rows"]
    else:
        path, images = folder / checkpoint, golden_folder.parent / "images"
    columns = {
        "predictions": [row["caption"] for row in rows],
        "images": [str(images / row["image"]) for row in rows],
        "references": [row["references"] for row in rows],
    }
    return str(path), rows, columns


@each_case("batch_size", [64, 3])
def test_batched(golden, batch_size):
    checkpoint, rows, columns = golden
    module = evaluate.load(REF_PAC_SCORE, checkpoint=checkpoint, device="cpu", batch_size=batch_size)
    result = module.compute(**columns, details=True)
    assert result["ref_pac_score_per_row"] == pytest.approx([row["ref_pac_s"] for row in rows], abs=TOLERANCE)
    assert result["pac_score_per_row"] == pytest.approx([row["pac_s"] for row in rows], abs=TOLERANCE)
    module = evaluate.load(PAC_SCORE, checkpoint=checkpoint, device="cpu", batch_size=batch_size)
    result = module.compute(predictions=columns["predictions"], images=columns["images"], details=True)
    assert result["pac_score_per_row"] == pytest.approx([row["pac_s"] for row in rows], abs=TOLERANCE)


def test_the_checkpoint_matters():
    """A user once got plain CLIP's numbers under the name of PAC-S: other weights must give other scores."""
    plain, lora = (json.loads((OWN_GOLDEN / "tiny_clip" / values).read_text())["rows"] for _, values in CASES)
    differences = [abs(a["pac_s"] - b["pac_s"]) for a, b in zip(plain, lora, strict=True) if a["pac_s"]]
    assert min(differences) > 1e-4
    assert np.mean(differences) > 1e-2


def test_scaled_pictures_are_those_of_open_clip(tmp_path):
    """Bicubic scaling differs between versions of Pillow, so these values are computed here, with the one at hand."""
    meta = json.loads((OWN_GOLDEN / "tiny_clip" / "pac.json").read_text())["meta"]["weights"]
    checkpoint = save_golden_checkpoint(tmp_path / "tiny_clip.pth", meta)
    encoders = Encoders(seeded_weights(meta["seed"]))
    scenes = [np.asarray(PIL.Image.open(OWN_GOLDEN / "pictures" / f"scene_{i}.png")) for i in range(6)]
    mosaic = np.concatenate([np.concatenate(scenes[:3], axis=1), np.concatenate(scenes[3:], axis=1)])  # 128 x 192
    pictures = [PIL.Image.fromarray(mosaic[:height, :width]) for height, width in ((128, 192), (127, 71), (37, 50))]
    rows = {"predictions": ["a red disc", "two crosses", ""], "references": [["a ring"], ["a cross", "a star"], ["a"]]}
    result = evaluate.load(REF_PAC_SCORE, checkpoint=str(checkpoint), device="cpu").compute(
        **rows, images=pictures, details=True
    )
    expected = [pac_scores(encoders, *row) for row in zip(pictures, *rows.values(), strict=True)]
    assert result["pac_score_per_row"] == pytest.approx([pac_s for pac_s, _ in expected], abs=TOLERANCE)
    assert result["ref_pac_score_per_row"] == pytest.approx([ref_pac_s for _, ref_pac_s in expected], abs=TOLERANCE)
