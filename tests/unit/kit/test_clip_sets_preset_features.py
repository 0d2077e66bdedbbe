"""What is said where a preset would be computed of features that are not its own."""

import pathlib

import pytest

from manycaps.kit.clip_sets import PRESETS, check_features
from manycaps.kit.text_sentence_encoder import DEFAULT_ENCODER
from tests.each_case import each_case


@pytest.mark.parametrize("encoder", [DEFAULT_ENCODER, "clip"], ids=["default", "clip"])
@pytest.mark.parametrize("what", ["captions", "images"])
def test_cmmd_may_be_of_captions_and_of_images(encoder, what):
    check_features("cmmd", encoder, what)
    check_features(None, len, what)


@each_case("encoder", [len, "a/b", pathlib.Path("clip"), "", "CLIP"], ids=str)
def test_cmmd_by_another_encoder_is_refused(encoder):
    with pytest.raises(ValueError, match=r"^encoder: expected 'clip' for preset='cmmd' of captions, got .+\. "):
        check_features("cmmd", encoder, "captions")


@pytest.mark.parametrize("what", ["captions", "images"])
def test_kid_names_its_features_and_weights(what):
    message = rf"^preset='kid': expected ready features \(the 2,048 numbers of Inception's last pooling\), got {what}"
    with pytest.raises(OSError, match=message) as raised:
        check_features("kid", DEFAULT_ENCODER, what)
    assert PRESETS["kid"].weights in str(raised.value)
