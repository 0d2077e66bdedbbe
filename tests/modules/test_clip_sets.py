"""mmd and trm of images and captions in the space of a CLIP: CMMD from pixels, and every bad input is named."""

import functools

import numpy as np
import PIL.Image
import pytest

from tests.clip_checkpoints import SMALL, small_weights
from tests.large_packages import evaluate
from tests.modules.sample_inputs import bag_of_words, clip_options, module_of
from tests.oracles.embedding_loops import mmd_squared
from tests.oracles.open_clip_encoders import Encoders

RNG = np.random.default_rng(0)
# As large as the small CLIP sees them: nothing is scaled, so that the loop below is the whole way.
MADE, REAL = (list(RNG.integers(0, 256, (6, 32, 32, 3), dtype=np.uint8)) for _ in range(2))
CAPTIONS = ["a red square", "two dogs", "the sea", "a hill", "a cat", "trees in the wind"]
HUMAN = ["a square", "one dog", "water and a boat", "a mountain", "a pet", "a wood"]
LONG = "a dog runs on the beach. " * 30

EVERYTHING = {"p_value": "exact", "details": True, "n_resamples": 99}


@pytest.fixture
def mmd():
    return module_of("mmd")


@functools.cache
def encoders():
    return Encoders(small_weights(), SMALL)


def image_features(images):
    """Features of images by open_clip itself, of length 1."""
    return unit([encoders().image(PIL.Image.fromarray(image)) for image in images])


def text_features(texts):
    return unit([encoders().text(text) for text in texts])


def unit(features):
    features = np.array(features)
    return features / np.linalg.norm(features, axis=1, keepdims=True)


def cmmd(x, y):
    """CMMD by a loop over pairs: 1,000 times the biased value with a bandwidth of 10."""
    return 1000 * mmd_squared(x, y, 10, "biased")


SIDES = {
    "images_images": (
        {"prediction_images": MADE, "reference_images": REAL},
        lambda: (image_features(MADE), image_features(REAL)),
    ),
    "captions_images": (
        {"predictions": CAPTIONS, "reference_images": REAL},
        lambda: (text_features(CAPTIONS), image_features(REAL)),
    ),
    "images_captions": (
        {"prediction_images": MADE, "references": HUMAN},
        lambda: (image_features(MADE), text_features(HUMAN)),
    ),
}


@pytest.mark.parametrize("name", SIDES)
def test_cmmd_from_pixels_and_words_is_its_formula(mmd, name):
    given, features = SIDES[name]
    result = mmd.compute(**given, preset="cmmd", details=True)
    # The features are float32, and means that are close to 1 are subtracted, then multiplied by 1,000.
    assert result["cmmd"] == pytest.approx(cmmd(*features()), abs=1e-4)
    assert result["cmmd"] > 0.1
    assert result["n_rows"] == 1
    assert result.get("n_truncated") == (None if name == "images_images" else 0)
    assert "|preset:cmmd|" in result["signature"]
    assert "|encoder:clip|variant:custom|checkpoint:small.pth|sha256:" in result["signature"]
    kinds = name.split("_")
    assert f"|predictions:{kinds[0]}|references:{kinds[1]}|" in result["signature"]


@pytest.mark.parametrize("name", ["mmd", "trm"])
def test_images_give_what_their_ready_features_give(name):
    rows = {"prediction_images": [MADE[:3], MADE[3:]], "reference_images": [REAL[:3], REAL[3:]]}
    features = {column: [image_features(row) for row in sets] for column, sets in rows.items()}
    expected = module_of(name).compute(
        prediction_embeddings=features["prediction_images"],
        reference_embeddings=features["reference_images"],
        **EVERYTHING,
    )
    found = module_of(name).compute(**rows, **EVERYTHING)
    assert found.keys() == expected.keys()
    for key in (name, f"{name}_excess", f"{name}_per_row", f"{name}_p_value_per_row"):
        assert found[key] == pytest.approx(expected[key], abs=1e-5), key


@pytest.mark.parametrize("name", ["mmd", "trm"])
def test_captions_in_clip_space_are_rows_as_others_are(name):
    rows = {"predictions": [CAPTIONS[:3], CAPTIONS[3:]], "references": [HUMAN[:3], HUMAN[3:]]}
    vectors = dict(zip(CAPTIONS + HUMAN, text_features(CAPTIONS + HUMAN), strict=True))
    expected = module_of(name).compute(
        **rows, encoder=lambda captions: np.array([vectors[c] for c in captions]), **EVERYTHING
    )
    found = module_of(name).compute(**rows, encoder="clip", **EVERYTHING)
    assert found.pop("n_truncated") == 0
    assert found[name] == pytest.approx(expected[name], abs=1e-5)
    assert found[f"{name}_p_value_per_row"] == expected[f"{name}_p_value_per_row"]
    examined = module_of(name).examine(**rows, encoder="clip", row=1, p_value="exact")
    assert examined.statistic == pytest.approx(found[f"{name}_per_row"][1], abs=1e-12)


def test_long_captions_are_counted_and_read_as_asked(mmd):
    sides = {"predictions": [LONG, "a dog"], "reference_images": REAL}
    with pytest.warns(UserWarning, match="Give long_captions='window'"):
        cut, whole = (mmd.compute(**sides, long_captions=how, details=True) for how in ("truncate", "window"))
    assert (cut["n_truncated"], "n_windowed" in cut) == (1, False)
    assert (whole["n_truncated"], whole["n_windowed"]) == (0, 1)
    assert "|long_captions:window|" in whole["signature"]
    assert cut["mmd"] != whole["mmd"]
    rows = {"predictions": [[LONG, "a dog"]], "references": [[LONG, "a cat"]], "encoder": "clip"}
    assert mmd.compute(**rows)["n_truncated"] == 2
    assert mmd.compute(**rows, long_captions="window")["n_windowed"] == 2


def test_rows_added_before_stay_when_images_are_refused():
    module = evaluate.load("mmd", encoder=bag_of_words, **clip_options())
    module.add_batch(predictions=[CAPTIONS], references=[HUMAN])
    with pytest.raises(ValueError, match=r"^prediction_images: expected images alone, got embeddings or rows added"):
        module.compute(prediction_images=MADE, reference_images=REAL)
    assert module.compute()["n_rows"] == 1
