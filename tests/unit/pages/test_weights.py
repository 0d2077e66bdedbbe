"""What the pages say about their weights."""

import pytest
from tqdm.auto import tqdm

from manycaps.kit import clip_checkpoints, clip_variants
from manycaps.kit.clip_encoder import ClipEncoder
from manycaps.kit.clip_options import CLIP_CALL_DEFAULTS, CLIP_LOAD_DEFAULTS
from manycaps.pages.weights import NO_WEIGHTS, WEIGHTS_NAME, usable_weights, weights_note
from tests.clip_checkpoints import save_checkpoint
from tests.tools import ROOT

TINY_PAC = ROOT / "checkpoints" / "tiny-pac"
TOY = "a toy that knows only pictures of coloured shapes; scores of anything else mean nothing."
OTHER = "not the published ones; what the paper calls a good score does not hold for them."


def encoder_of(checkpoint, config_name=None):
    options = CLIP_LOAD_DEFAULTS | CLIP_CALL_DEFAULTS | {"checkpoint": checkpoint, "device": "cpu"}
    return ClipEncoder(options, tqdm, config_name)


def test_a_note_names_the_weights_before_they_are_there(tmp_path, monkeypatch):
    for fetch in ("_published", "_from_hub"):
        monkeypatch.setattr(clip_checkpoints, fetch, lambda *_, **__: pytest.fail("fetched"))
    assert WEIGHTS_NAME == clip_variants.WEIGHTS_NAME
    small = str(save_checkpoint(tmp_path / "small.pth"))
    for checkpoint, note in (
        (None, "`pac-vit-b-32`, the published ones. The first computation fetches them."),
        ("org/clip", f"`org/clip` from the Hub, fetched by the first computation, {OTHER}"),
        (small, f"`small.pth`, {OTHER}"),
        (str(TINY_PAC), f"`tiny-pac`, {TOY}"),
        (str(TINY_PAC / WEIGHTS_NAME), f"`tiny-pac`, {TOY}"),
    ):
        assert weights_note(encoder_of(checkpoint)) == f"Weights: {note}"


@pytest.mark.parametrize("name", ["gone.pth", "/somewhere/gone"])
def test_missing_weights_are_a_message_for_visitors_and_a_cause_for_the_log(name, caplog):
    encoder = encoder_of(name)
    assert weights_note(encoder) == f"**This page cannot compute.** {NO_WEIGHTS}"
    with pytest.raises(ValueError) as error:
        usable_weights(encoder)
    assert str(error.value) == NO_WEIGHTS
    assert name not in NO_WEIGHTS
    assert [f"got '{name}': no such folder or file" in message for message in caplog.messages] == [True, True]
