"""The small captioner: its encoder is that of tiny-pac, its words are those of people, and its likelihood is right."""

import math

import numpy as np
import pytest
import torch

from manycaps.kit.clip_model import ClipModel, read_weights
from manycaps.kit.images import as_model_pixels
from manycaps.quickstart.image_metrics import CHECKPOINT
from scripts.toy.pictures import draw_picture
from scripts.toy.scenes import draw_scene
from scripts.toy.small_captioner import HeldOut, as_pixel_values, encode_pictures, new_captioner

pytestmark = pytest.mark.slow

WEIGHTS = CHECKPOINT / "open_clip_model.safetensors"


@pytest.fixture(scope="module")
def pictures():
    rng = np.random.default_rng(0)
    return [draw_picture(rng, draw_scene(rng)) for _ in range(3)]


def test_states_are_those_of_the_checkpoint_before_its_last_layer(pictures):
    treatment = {"activation": "gelu", "mean": (0.5,) * 3, "std": (0.5,) * 3}
    clip = ClipModel(read_weights(WEIGHTS), **treatment, device="cpu")
    states = []
    blocks = clip.network.visual.transformer.resblocks
    blocks[-2].register_forward_hook(lambda _module, _input, output: states.append(output))
    with torch.no_grad():
        clip.embed_pixels(torch.from_numpy(np.stack([as_model_pixels(picture, 32) for picture in pictures])))
    ours = encode_pictures(new_captioner(WEIGHTS, 0), as_pixel_values(pictures, 32))
    # 32-bit sums in another order.
    assert ours.numpy() == pytest.approx(states[0].numpy(), abs=2e-4)


def test_only_the_decoder_learns_and_all_is_small():
    model = new_captioner(WEIGHTS, 0)
    assert not any(weight.requires_grad for weight in model.encoder.parameters())
    assert 4 * sum(weight.numel() for weight in model.parameters()) < 10_000_000
    same = new_captioner(WEIGHTS, 0).state_dict()
    assert all(torch.equal(weight, same[name]) for name, weight in model.state_dict().items())


def test_nats_by_hand():
    logits = torch.log(torch.tensor([[[0.5, 0.25, 0.25], [0.25, 0.5, 0.25]]]))
    # The second word is padding.
    held_out = HeldOut(logits, torch.tensor([[1, 0]]), 0.0)
    assert held_out.nats(1.0) == pytest.approx(math.log(4))
    assert held_out.nats(0.5) == pytest.approx(math.log(6))  # 1/16 of 1/4 + 1/16 + 1/16
