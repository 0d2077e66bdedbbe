"""The CLIP engine against open_clip's own functions; weights as files: read without running code, LoRA merged."""

import os
import pathlib
import shutil
import sys

import numpy as np
import pytest

from manycaps.kit.clip_model import ClipModel, ClipTokens, build_network, merge_lora, read_weights, text_batches
from tests.clip_checkpoints import small_network, small_weights, with_lora
from tests.large_packages import open_clip, torch
from tests.refusals import assert_refused

CAPTIONS = ["a red square", "two dogs that run beside a long wall in the evening", "", "a dog", "A Dog!"]


PIXELS = np.random.default_rng(0).integers(0, 256, (5, 32, 32, 3), dtype=np.uint8)


@pytest.fixture(scope="module")
def model():
    return ClipModel(small_weights(), device="cpu")


def features_of_open_clip(network, captions, pixels):
    with torch.inference_mode():
        scaled = torch.from_numpy(pixels).permute(0, 3, 1, 2) / 255
        mean, std = (
            torch.tensor(v).reshape(3, 1, 1) for v in (open_clip.OPENAI_DATASET_MEAN, open_clip.OPENAI_DATASET_STD)
        )
        images = network.encode_image((scaled - mean) / std)
        return images.numpy(), network.encode_text(open_clip.tokenize(captions)).numpy()


@pytest.mark.parametrize("quick_gelu", [True, False])
def test_features_are_those_of_open_clip(quick_gelu):
    activation = "quick_gelu" if quick_gelu else "gelu"
    model = ClipModel(small_weights(1), activation=activation, device="cpu")
    images, texts = features_of_open_clip(small_network(1, quick_gelu), CAPTIONS, PIXELS)
    # float32 sums in another order: a few units in the last place of values around 1.
    assert model.image_features(PIXELS) == pytest.approx(images, abs=5e-6)
    assert model.text_features([model.tokenize(c) for c in CAPTIONS], 2) == pytest.approx(texts, abs=5e-6)


def test_the_shape_of_the_weights_decides():
    changes = {"embed_dim": 40, "vision_cfg": {"layers": 1, "width": 128, "patch_size": 16, "image_size": 64}}
    model = ClipModel(small_weights(**changes), device="cpu")
    assert (model.image_size, model.context_length, model.n_features) == (64, 77, 40)
    assert model.network.visual.transformer.resblocks[0].attn.num_heads == 2


def test_half_precision_files_are_computed_in_float32_and_bfloat16_is_close_but_not_equal(model):
    halved = ClipModel({name: tensor.half() for name, tensor in small_weights().items()}, device="cpu")
    assert {tensor.dtype for tensor in halved.network.state_dict().values()} == {torch.float32}
    # 8 bits of mantissa through 2 layers: a hundredth of the size of the features.
    rough = ClipModel(small_weights(), dtype="bfloat16", device="cpu").image_features(PIXELS)
    exact = model.image_features(PIXELS)
    assert rough.dtype == np.float32
    assert 0 < np.abs(rough - exact).max() < 0.05 * np.abs(exact).max()


@pytest.mark.skipif(not (shutil.which(os.environ.get("CXX", "g++"))), reason="torch.compile needs a C++ compiler")
@pytest.mark.slow
def test_compiled_features_are_the_same(model):
    compiled = ClipModel(small_weights(), compile=True, device="cpu")
    texts = [model.tokenize(caption) for caption in CAPTIONS[:2]]
    assert compiled.text_features(texts, 8) == pytest.approx(model.text_features(texts, 8), abs=1e-5)


def test_tokens_are_those_of_open_clip_and_a_long_text_keeps_its_end_token(model):
    for caption in CAPTIONS:
        ids = model.tokenize(caption).ids
        assert open_clip.tokenize(caption)[0].tolist() == list(ids) + [0] * (77 - len(ids))
    exact, long = model.tokenize("dog " * 75), model.tokenize("dog " * 76)
    assert (len(exact.ids), exact.truncated) == (77, False)
    assert (len(long.ids), long.truncated) == (77, True)
    assert long.ids == exact.ids
    assert list(long.ids) == open_clip.tokenize("dog " * 76)[0].tolist()


def test_text_batches_hold_every_text_once_and_are_not_too_large():
    lengths = np.random.default_rng(0).integers(2, 78, 500)
    batches = text_batches([ClipTokens((0,) * n, False) for n in lengths], batch_size=4)
    assert sorted(i for batch in batches for i in batch) == list(range(500))
    assert all(len(batch) * lengths[batch].max() <= 200 for batch in batches)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (lambda: small_weights() | {"ln_final.bias": torch.ones(3)}, ".*size mismatch for ln_final.bias"),
        (lambda: small_weights() | {"extra": torch.ones(3)}, ".*Unexpected key(s) in state_dict"),
        (lambda: {f"module.{key}": tensor for key, tensor in small_weights().items()}, ".*KeyError: .*weight"),
        (lambda: small_weights() | {"visual.proj": torch.full((64, 24), torch.nan)}, "finite weights, got NaN"),
        (lambda: small_weights() | {"visual.proj": torch.ones(64, 24).int()}, "weights that are floats, got visual.pr"),
    ],
)
def test_weights_that_do_not_fit_are_named(weights, message):
    assert_refused(ValueError, f"checkpoint: expected {message}", build_network, weights(), "quick_gelu")


def test_descriptive_entries_of_openai_are_no_weights():
    described = small_weights() | {"input_resolution": torch.tensor(32), "vocab_size": torch.tensor(49408)}
    assert build_network(described, "quick_gelu").context_length == 77


@pytest.mark.parametrize("package", ["torch", "safetensors.torch"])
def test_a_file_is_not_taken_for_damaged_where_a_package_is_missing(package, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    weights = tmp_path / ("weights.pth" if package == "torch" else "weights.safetensors")
    weights.write_bytes(b"PK")
    assert_refused(ImportError, f"import of {package} halted", read_weights, weights)


def test_lora_updates_are_added_but_for_those_of_the_mlp():
    plain = small_weights()
    assert all(merge_lora(plain)[name] is tensor for name, tensor in plain.items())
    full = with_lora(plain)
    merged = merge_lora(full)
    assert merged.keys() == plain.keys()
    name = "transformer.resblocks.1.attn.in_proj_weight"
    update = full[name + "_lora_B"] @ full[name + "_lora_A"] / 4  # alpha 1 / rank 4
    assert torch.allclose(merged[name], plain[name] + update)
    kernel = (full["visual.conv1.lora_B"] @ full["visual.conv1.lora_A"] / 4).reshape(plain["visual.conv1.weight"].shape)
    assert torch.allclose(merged["visual.conv1.weight"], plain["visual.conv1.weight"] + kernel)
    changed = {name for name in plain if not torch.equal(merged[name], plain[name])}
    ends = ("attn.in_proj_weight", "attn.out_proj.weight", "conv1.weight")
    assert changed == {name for name in plain if name.endswith(ends)}


@pytest.mark.parametrize("gone", ["visual.conv1.lora_B", "transformer.resblocks.0.attn.out_proj.weight"])
def test_a_lora_entry_alone_is_refused(gone):
    weights = with_lora(small_weights())
    del weights[gone]
    message = f"checkpoint: expected the weights of a CLIP vision transformer, got a.pth (KeyError: '{gone}')"
    assert_refused(ValueError, message, merge_lora, weights, "a.pth")


class RunsAtUnpickling:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return pathlib.Path.touch, (self.path,)


def test_a_pickle_with_code_is_refused_and_not_run(tmp_path):
    proof, path = tmp_path / "it-ran", tmp_path / "evil.pth"
    torch.save({"state_dict": RunsAtUnpickling(proof)}, path)
    message = ".*got evil.pth, which is damaged, or holds more than tensors .* It was not run"
    assert_refused(ValueError, message, read_weights, path)
    assert not proof.exists()
    torch.load(path, weights_only=False)  # the file is really a trap
    assert proof.exists()


@pytest.mark.filterwarnings("ignore:.torch.jit:FutureWarning")
def test_a_program_is_named_as_such(tmp_path):
    path = tmp_path / "scripted.pt"
    torch.jit.save(torch.jit.script(torch.nn.Linear(1, 1)), str(path))
    assert_refused(ValueError, ".*which is a TorchScript program", read_weights, path)
