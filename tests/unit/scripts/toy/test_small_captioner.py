"""The small captioner: its encoder is that of tiny-pac, its words are those of people, and `generate` works with it."""

import math

import numpy as np
import pytest
import torch

from manycaps.kit.clip_model import ClipModel
from manycaps.kit.clip_weights import read_weights
from manycaps.kit.media_images import as_model_pixels
from manycaps.made_world.pictures import draw_picture
from manycaps.made_world.scenes import draw_scene
from manycaps.made_world.speakers import Speaker, draw_captions
from manycaps.made_world.toy_scores import CHECKPOINT
from scripts.toy.small_captioner import (
    NUMBERS,
    PADDING,
    WORDS,
    CaptionerRecipe,
    HeldOut,
    as_pixel_values,
    as_text,
    as_tokens,
    draw_held_out,
    encode_pictures,
    new_captioner,
    train_captioner,
)

pytestmark = pytest.mark.slow

WEIGHTS = CHECKPOINT / "open_clip_model.safetensors"
QUICK = CaptionerRecipe(n_scenes=80, n_steps=40, batch_size=32, learning_rate=1e-2)


def no_bar(steps, **_):
    class Steps(list):
        def set_postfix(self, **_):
            pass

    return Steps(steps)


@pytest.fixture(scope="module")
def pictures():
    rng = np.random.default_rng(0)
    return [draw_picture(rng, draw_scene(rng)) for _ in range(3)]


@pytest.fixture(scope="module")
def trained():
    model = new_captioner(WEIGHTS, 0)
    before = draw_held_out(model, 9, 20)
    train_captioner(model, 0, QUICK, no_bar)
    return model, before


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


def test_captions_of_people_survive_the_tokens():
    rng = np.random.default_rng(0)
    captions = [caption for _ in range(200) for caption in draw_captions(Speaker(2.0), draw_scene(rng), 1, rng)]
    tokens = as_tokens(captions)
    assert [as_text(row) for row in tokens.tolist()] == captions
    assert tokens.shape[1] <= 40


def test_training_lowers_the_loss_of_held_out_captions(trained):
    model, before = trained
    after = draw_held_out(model, 9, 20)
    assert after.nats_of_people == before.nats_of_people
    assert before.nats(1.0) > 1.5 * after.nats(1.0) > after.nats_of_people > 0
    # An untrained decoder is not sure of anything.
    words = (before.said != NUMBERS[PADDING]).sum(dim=1).double().mean()
    assert before.nats(1.0) / words == pytest.approx(math.log(len(WORDS)), rel=0.05)


def test_nats_by_hand():
    logits = torch.log(torch.tensor([[[0.5, 0.25, 0.25], [0.25, 0.5, 0.25]]]))
    # The second word is padding.
    held_out = HeldOut(logits, torch.tensor([[1, 0]]), 0.0)
    assert held_out.nats(1.0) == pytest.approx(math.log(4))
    assert held_out.nats(0.5) == pytest.approx(math.log(6))  # 1/16 of 1/4 + 1/16 + 1/16


@pytest.mark.parametrize(
    "options",
    [{"do_sample": True, "top_k": 0, "temperature": 0.7}, {"do_sample": True, "top_p": 0.8}, {"num_beams": 3}],
    ids=["temperature", "top-p", "beams"],
)
def test_generate_says_words_of_the_world(trained, pictures, options):
    def said():
        torch.manual_seed(3)
        values = as_pixel_values(pictures, 32)
        return trained[0].generate(pixel_values=values, num_return_sequences=3, **options).tolist()

    captions = [as_text(row) for row in said()]
    assert len(captions) == 9
    assert all({*caption.replace(",", " ,").split()} <= {*WORDS} for caption in captions)
    assert [as_text(row) for row in said()] == captions
