"""Modules of one process: one model of each kind, whichever of them use it."""

import pytest

import manycaps
from manycaps.kit import clip_encoder
from tests.clip_checkpoints import save_checkpoint
from tests.modules.sample_inputs import CAPTION_ROWS, IMAGES, VIDEOS

pytest.importorskip("open_clip", reason="open_clip is not installed: pip install 'manycaps[clip]'")


def test_all_clip_modules_share_one_model_and_its_features(tmp_path, monkeypatch):
    options = {"checkpoint": str(save_checkpoint(tmp_path / "small.pth")), "device": "cpu"}
    build, built = clip_encoder.ClipModel, []
    monkeypatch.setattr(clip_encoder, "ClipModel", lambda *a, **k: built.append(build(*a, **k)) or built[-1])
    modules = {name: manycaps.load(name, **options) for name in ("pac_score", "ref_pac_score", "mmd", "trm")}
    modules["emscore_pac"] = manycaps.load("emscore_pac", "references", **options)
    modules["pac_score"].compute(predictions=CAPTION_ROWS["predictions"], images=IMAGES)
    (model,) = built
    seen, encode = [], model.image_features
    monkeypatch.setattr(model, "image_features", lambda pixels: seen.append(len(pixels)) or encode(pixels))
    modules["ref_pac_score"].compute(**CAPTION_ROWS, images=IMAGES)
    for name in ("mmd", "trm"):
        modules[name].compute(prediction_images=IMAGES[:2], reference_images=IMAGES[2:])
        modules[name].compute(**CAPTION_ROWS, encoder="clip")
    assert not seen
    modules["emscore_pac"].compute(**CAPTION_ROWS, videos=VIDEOS)
    assert len(built) == 1
