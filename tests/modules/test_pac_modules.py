"""pac_score and ref_pac_score as a user meets them: loading, adding, results, and features that the user computed."""

import importlib
import os

import numpy as np
import PIL.Image
import pytest

from manycaps.kit.clip_encoder import features_of_rows
from tests.large_packages import evaluate, torch
from tests.modules.sample_inputs import CAPTION_ROWS, SAMPLE_INPUTS, clip_options

CAPTIONS, IMAGES = CAPTION_ROWS["predictions"], SAMPLE_INPUTS["pac_score"]["images"]
READY = {"predictions": "prediction_embeddings", "references": "reference_embeddings"}


@pytest.fixture(params=["pac_score", "ref_pac_score"])
def load(request):
    def load_module(*arguments, **options):
        return evaluate.load(request.param, *arguments, **clip_options() | options)

    return load_module


def columns_of(module, rows=slice(None)):
    return {name: column[rows] for name, column in SAMPLE_INPUTS[module.name].items()}


def test_an_image_that_is_overwritten_is_read_again(load, tmp_path):
    module, scores = load(), []
    path = tmp_path / "image.bmp"
    for array in IMAGES[:2]:
        PIL.Image.fromarray(array).save(path)
        os.utime(path, ns=(0, 0))  # of the same size and time
        scores.append(module.compute(**columns_of(module, slice(0, 1)) | {"images": [str(path)]})[module.name])
    alone = [module.compute(**columns_of(module, slice(0, 1)) | {"images": [array]}) for array in IMAGES[:2]]
    assert scores == pytest.approx([result[module.name] for result in alone], abs=2e-6)
    assert abs(scores[0] - scores[1]) > 1e-4


def test_clip_s_is_the_same_module_with_another_weight():
    pac = evaluate.load("pac_score", "clip-vit-b-32", **clip_options())
    columns = columns_of(pac)
    clip_s = pac.compute(**columns, weight=2.5)["pac_score"]
    assert clip_s == pytest.approx(2.5 / 2 * pac.compute(**columns)["pac_score"], rel=1e-6)


def test_the_signature_says_that_a_file_is_not_known_to_be_pac(load):
    module = load()
    signature = module.compute(**columns_of(module), details=True)["signature"]
    assert signature.startswith(f"{module.name}|version:")
    assert f"|scaling:pillow-{PIL.__version__}|" in signature
    for part in ("variant:custom", "checkpoint:small.pth", "sha256:", "activation:quick_gelu", "dtype:float32"):
        assert f"|{part}" in signature
    assert clip_options()["checkpoint"] not in signature


def test_bars_obey_evaluates_switch(load, capfd, monkeypatch):
    module = load()
    evaluate.utils.logging.enable_progress_bar()  # commands that ran in this process have switched it off
    package = type(module).__module__.rsplit(".", 1)[0]
    monkeypatch.setattr(importlib.import_module(f"{package}.clip_encoder"), "PROGRESS_DELAY", 0)
    module.encoder.forget()
    module.compute(**columns_of(module))
    shown = capfd.readouterr().err
    assert "images" in shown
    assert "captions" in shown
    evaluate.utils.logging.disable_progress_bar()
    try:
        module.compute(**columns_of(module))
    finally:
        evaluate.utils.logging.enable_progress_bar()
    assert capfd.readouterr().err == ""


def test_features_are_kept_in_place_of_images(load):
    module = load()
    assert set(module.features[0]["images"]) == {"key", "features"}
    module.add_batch(**columns_of(module, slice(0, 2)) | {"images": [IMAGES[0]] * 2})
    stored = module.added[0]["images"]
    assert [row["features"] is None for row in stored] == [False, True]
    # Offsets of 64 bits: the features of one call may take more than 2 GB.
    assert module.features[0]["images"]["features"].dtype == "large_binary"
    assert len({row["key"] for row in stored}) == 1
    assert kept_features(module, stored).shape == (2, module.encoder.model.n_features)


def test_the_second_argument_of_evaluate_is_a_short_form_of_variant(load):
    assert load(variant="clip-vit-b-32").encoder.variant == "clip-vit-b-32"
    assert load(config_name="vit-b-32", variant="pac-vit-b-32").encoder.variant == "pac-vit-b-32"
    with pytest.raises(
        ValueError, match="^variant: expected one choice of weights, got 'pac-vit-b-32' and 'clip-vit-b-32'. Give one.$"
    ):
        load(config_name="clip-vit-b-32", variant="pac-vit-b-32")


def kept_features(module, stored):
    return np.concatenate(features_of_rows(stored, module.encoder.model.n_features))


def image_features(module):
    """float32 array, shape (4, 24), as the module stores it."""
    module.add_batch(**columns_of(module))
    features = kept_features(module, module.added.pop()["images"])
    assert features.dtype == np.float32
    return features


def text_features(module):
    """The features of the captions behind the prompt, under the names of the keywords."""
    sides = {name: rows for name, rows in columns_of(module).items() if name != "images"}
    flat = [caption for rows in sides.values() for row in rows for caption in row]
    texts = module.encoder.encode_captions(module.load_options["prompt"], flat, module.load_options)
    every = iter(texts.distinct[texts.rows])
    return {READY[name]: [np.stack([next(every) for _ in row]) for row in rows] for name, rows in sides.items()}


def without_signature(result):
    return {key: value for key, value in result.items() if key != "signature"}


def test_features_give_the_scores_of_their_model_to_the_last_bit(load):
    module = load(details=True)
    columns = columns_of(module)
    expected = module.compute(**columns)
    pictures, texts = image_features(module), text_features(module)
    for images in (pictures, list(pictures), torch.from_numpy(pictures), (vector for vector in pictures.astype(float))):
        assert module.compute(**columns | {"images": images}) == expected
    assert module.compute(**columns | {"images": [IMAGES[0], *pictures[1:]]}) == expected
    for given in (pictures, list(pictures)):
        ready = module.compute(images=given, **texts)
        assert without_signature(ready) == without_signature(expected)
        assert ready["signature"].split("|")[2:] == ["encoder:ready arrays", "weight:2.0"]
    without_model = load(checkpoint="nowhere.pth").compute(images=pictures, **texts)
    assert without_model[module.name] == expected[module.name]


def test_rows_added_before_are_not_mixed_with_ready_features(load):
    module = load()
    texts = text_features(module)
    module.add_batch(**columns_of(module))
    with pytest.raises(ValueError, match="^prediction_embeddings: expected embeddings alone, got captions or rows"):
        module.compute(images=np.ones((4, 24)), **texts)
    assert module.compute()["n_rows"] == 4
