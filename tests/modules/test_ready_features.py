"""pac_score and ref_pac_score from features that the user computed: the scores of the model, to the last bit."""

import numpy as np
import pytest

from tests.clip_checkpoints import save_checkpoint
from tests.each_case import each_case
from tests.large_packages import evaluate, torch
from tests.module_folders import PAC_SCORE, REF_PAC_SCORE

RNG = np.random.default_rng(0)
IMAGES = list(RNG.integers(0, 256, (3, 40, 50, 3), dtype=np.uint8))
CAPTIONS = {
    "predictions": [["a red square", "two dogs"], ["a dog"], ["a cat", "a bird", "a cat"]],
    "references": [["a square"], ["one dog", "a puppy"], ["a pet"]],
}
READY = {"predictions": "prediction_embeddings", "references": "reference_embeddings"}


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return str(save_checkpoint(tmp_path_factory.mktemp("checkpoint") / "small.pth"))


@pytest.fixture(params=[PAC_SCORE, REF_PAC_SCORE], ids=["pac_score", "ref_pac_score"])
def module(request, path):
    return evaluate.load(request.param, checkpoint=path, device="cpu", details=True)


def captions_of(module):
    return {name: rows for name, rows in CAPTIONS.items() if name in module.own_columns()}


def image_features(module):
    """float32 array, shape (3, 24), as the module stores it."""
    module.add_batch(images=IMAGES, **captions_of(module))
    features = module.image_features(module.added.pop()["images"])
    assert features.dtype == np.float32
    return features


def text_features(module):
    """The features of the captions behind the prompt, under the names of the keywords."""
    sides = {name: [caption for row in rows for caption in row] for name, rows in captions_of(module).items()}
    texts = module.encode_captions([caption for side in sides.values() for caption in side], module.load_options)
    every, ready = iter(texts.distinct[texts.rows]), {}
    for name, rows in captions_of(module).items():
        ready[READY[name]] = [np.stack([next(every) for _ in row]) for row in rows]
    return ready


def without_signature(result):
    return {key: value for key, value in result.items() if key != "signature"}


def test_features_give_the_scores_of_their_model(module):
    expected = module.compute(images=IMAGES, **captions_of(module))
    pictures, texts = image_features(module), text_features(module)
    for images in (pictures, list(pictures), torch.from_numpy(pictures), (vector for vector in pictures.astype(float))):
        beside_captions = module.compute(images=images, **captions_of(module))
        assert beside_captions == expected
    mixed = module.compute(images=[IMAGES[0], pictures[1], pictures[2]], **captions_of(module))
    assert mixed == expected
    for given in (pictures, list(pictures)):
        ready = module.compute(images=given, **texts)
        assert without_signature(ready) == without_signature(expected)
        assert ready["signature"].split("|")[2:] == ["encoder:ready arrays", "weight:2.0"]


def test_ready_features_need_no_model(module):
    pictures, texts = image_features(module), text_features(module)
    other = evaluate.load(PAC_SCORE if module.name == "pac_score" else REF_PAC_SCORE, checkpoint="nowhere.pth")
    assert other.compute(images=pictures, **texts)[module.name] == module.compute(images=pictures, **texts)[module.name]


ONE, TWO = np.ones((1, 24)), np.ones((2, 24))
GOOD = {"images": np.ones((2, 24)), "prediction_embeddings": [ONE, TWO], "reference_embeddings": [ONE, ONE]}
BAD = {
    "captions_too": ({"predictions": ["a", "b"]}, ValueError, "prediction_embeddings: expected embeddings instead of"),
    "references_too": ({"references": [["a"], ["b"]]}, ValueError, "prediction_embeddings: expected embeddings instea"),
    "one_side": ({"reference_embeddings": None}, TypeError, "reference_embeddings: expected a list of arrays of shape"),
    "no_images": ({"images": None}, TypeError, "images: expected a list of images, got one NoneType."),
    "pictures": ({"images": IMAGES[:2]}, TypeError, "images[0]: expected features of an image, floats of shape (d,), "),
    "paths": ({"images": ["a.png", "b.png"]}, TypeError, "images[0]: expected features of an image, floats of shape ("),
    "fewer_images": ({"images": ONE}, ValueError, "images: expected one image for each of the 2 rows of prediction"),
    "fewer_references": ({"reference_embeddings": [ONE]}, ValueError, "reference_embeddings: expected one array for "),
    "narrow_images": ({"images": np.ones((2, 23))}, ValueError, "images[0]: expected 24 features per image, as "),
    "narrow_texts": ({"prediction_embeddings": [ONE, TWO[:, :5]]}, ValueError, "prediction_embeddings[1]: expected 24"),
    "zeros": ({"images": np.zeros((2, 24))}, ValueError, "images[0]: expected finite features that are not all 0 as f"),
    "nan": ({"images": np.full((2, 24), np.nan)}, ValueError, "images[0]: expected finite features that are not all "),
    "text_zeros": ({"prediction_embeddings": [ONE, 0 * TWO]}, ValueError, "prediction_embeddings[1][0]: expected fini"),
    "whole": ({"images": np.ones((2, 24), int)}, TypeError, "images: expected a list of images, got one array of sh"),
}


@each_case("name", BAD)
def test_what_does_not_go_together_is_named(path, name):
    changes, error, message = BAD[name]
    module = evaluate.load(REF_PAC_SCORE, checkpoint=path, device="cpu")
    with pytest.raises(error) as raised:
        module.compute(**GOOD | changes)
    assert str(raised.value).startswith(message), str(raised.value)


def test_features_of_another_model_are_refused(module):
    with pytest.raises(ValueError) as raised:
        module.compute(images=[IMAGES[0], np.ones(48), IMAGES[1]], **captions_of(module))
    assert str(raised.value) == (
        "images[1]: expected 24 features per image, as this checkpoint has, got 48. Encode the image with the same "
        "checkpoint."
    )


def test_rows_added_before_are_not_mixed_with_ready_features(module):
    module.add_batch(images=IMAGES, **captions_of(module))
    with pytest.raises(ValueError, match="^prediction_embeddings: expected embeddings instead of captions, got both"):
        module.compute(images=np.ones((3, 24)), **text_features(module))
    assert module.compute()["n_rows"] == 3
