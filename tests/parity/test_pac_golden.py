"""PAC-S, RefPAC-S and PAC-S++ against the values of the authors' own programs.

golden/tiny_clip/pac.json and pac_lora.json: https://github.com/aimagelab/pacscore run on small random checkpoints over
seven photographs, 17 rows each, float32 on a CPU.
"""

import json

import evaluate
import pytest

from tests.module_folders import PAC_SCORE, REF_PAC_SCORE

pytestmark = pytest.mark.realdata

# The authors compute in float32, in batches of their own: cosines differ in the seventh digit, times the weight 2.
TOLERANCE = 2e-6

CASES = [("tiny_clip.pth", "pac.json"), ("tiny_clip_lora.pth", "pac_lora.json")]


@pytest.fixture(params=CASES, ids=["pac-s", "pac-s++"])
def golden(request, data_folder):
    checkpoint, values = request.param
    folder = data_folder / "golden" / "tiny_clip"
    rows = json.loads((folder / values).read_text())
    columns = {
        "predictions": [row["caption"] for row in rows],
        "images": [str(data_folder / "images" / row["image"]) for row in rows],
        "references": [row["references"] for row in rows],
    }
    return str(folder / checkpoint), rows, columns


@pytest.mark.parametrize("batch_size", [64, 3])
def test_batched(golden, batch_size):
    checkpoint, rows, columns = golden
    module = evaluate.load(REF_PAC_SCORE, checkpoint=checkpoint, device="cpu", batch_size=batch_size)
    result = module.compute(**columns, details=True)
    assert result["ref_pac_score_per_row"] == pytest.approx([row["ref_pac_s"] for row in rows], abs=TOLERANCE)
    assert result["pac_score_per_row"] == pytest.approx([row["pac_s"] for row in rows], abs=TOLERANCE)
    module = evaluate.load(PAC_SCORE, checkpoint=checkpoint, device="cpu", batch_size=batch_size)
    result = module.compute(predictions=columns["predictions"], images=columns["images"], details=True)
    assert result["pac_score_per_row"] == pytest.approx([row["pac_s"] for row in rows], abs=TOLERANCE)


def test_one_row_at_a_time(golden):
    checkpoint, rows, columns = golden
    module = evaluate.load(REF_PAC_SCORE, checkpoint=checkpoint, device="cpu")
    for i, row in enumerate(rows):
        result = module.compute(**{name: [column[i]] for name, column in columns.items()})
        assert result["pac_score"] == pytest.approx(row["pac_s"], abs=TOLERANCE)
        assert result["ref_pac_score"] == pytest.approx(row["ref_pac_s"], abs=TOLERANCE)


def test_the_checkpoint_matters(data_folder):
    """A user once got plain CLIP's numbers under the name of PAC-S: other weights must give other scores."""
    folder = data_folder / "golden" / "tiny_clip"
    images = [str(path) for path in sorted((data_folder / "images").glob("*.jpg"))[:3]]
    scores = []
    for checkpoint, _ in CASES:
        module = evaluate.load(PAC_SCORE, checkpoint=str(folder / checkpoint), device="cpu")
        result = module.compute(predictions=["a dog", "a street", "a table"], images=images, details=True)
        scores.append(result["pac_score_per_row"])
    assert all(abs(a - b) > 1e-3 for a, b in zip(*scores, strict=True))
