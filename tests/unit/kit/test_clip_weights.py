"""Weights as files: read without running code, low-rank updates merged, and every message about them."""

import pathlib

import pytest

from manycaps.kit.clip_weights import merge_lora, read_weights
from tests.clip_checkpoints import save_checkpoint, small_weights, with_lora
from tests.large_packages import torch


def test_lora_updates_are_added_but_for_those_of_the_mlp():
    plain = small_weights()
    full = with_lora(plain)
    merged = merge_lora(full)
    assert merged.keys() == plain.keys()
    name = "transformer.resblocks.1.attn.in_proj_weight"
    update = full[name + "_lora_B"] @ full[name + "_lora_A"] / 4  # alpha 1 / rank 4
    assert torch.allclose(merged[name], plain[name] + update)
    kernel = (full["visual.conv1.lora_B"] @ full["visual.conv1.lora_A"] / 4).reshape(plain["visual.conv1.weight"].shape)
    assert torch.allclose(merged["visual.conv1.weight"], plain["visual.conv1.weight"] + kernel)
    changed = {name for name in plain if not torch.equal(merged[name], plain[name])}
    assert changed == {
        name for name in plain if name.endswith(("attn.in_proj_weight", "attn.out_proj.weight", "conv1.weight"))
    }


def test_weights_without_lora_stay_what_they_are():
    plain = small_weights()
    assert all(merge_lora(plain)[name] is tensor for name, tensor in plain.items())


@pytest.mark.parametrize("gone", ["visual.conv1.lora_B", "transformer.resblocks.0.attn.out_proj.weight"])
def test_a_lora_entry_alone_is_refused(gone):
    weights = with_lora(small_weights())
    del weights[gone]
    with pytest.raises(ValueError, match=rf"checkpoint: expected {gone} beside "):
        merge_lora(weights)


def test_a_lora_update_of_a_wrong_shape_is_refused():
    weights = with_lora(small_weights()) | {"visual.conv1.lora_B": torch.ones(3, 3)}
    with pytest.raises(
        ValueError, match=r"expected visual.conv1.lora_B times visual.conv1.lora_A to have 12288 values"
    ):
        merge_lora(weights)


class RunsAtUnpickling:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return pathlib.Path.touch, (self.path,)


def test_a_pickle_with_code_is_refused_and_not_run(tmp_path):
    proof, path = tmp_path / "it-ran", tmp_path / "evil.pth"
    torch.save({"state_dict": RunsAtUnpickling(proof)}, path)
    with pytest.raises(
        ValueError, match=r"got evil.pth, which is a pickle with more than tensors in it .* It was not run"
    ):
        read_weights(path)
    assert not proof.exists()
    torch.load(path, weights_only=False)  # the file is really a trap
    assert proof.exists()


@pytest.mark.filterwarnings("ignore:.torch.jit:FutureWarning")
def test_a_torchscript_archive_is_named_as_such(tmp_path):
    path = tmp_path / "scripted.pt"
    torch.jit.save(torch.jit.script(torch.nn.Linear(1, 1)), str(path))
    with pytest.raises(ValueError, match="which is a TorchScript program"):
        read_weights(path)


def test_a_damaged_file_is_named_as_such(tmp_path):
    path = save_checkpoint(tmp_path / "half.pth")
    path.write_bytes(path.read_bytes()[:5000])
    with pytest.raises(ValueError, match="which is damaged, not a torch file, or one with Python code in it"):
        read_weights(path)
    (tmp_path / "half.safetensors").write_bytes(b"\x08")
    with pytest.raises(ValueError, match="which is an incomplete safetensors file"):
        read_weights(tmp_path / "half.safetensors")


@pytest.mark.parametrize(
    ("content", "got"),
    [([1, 2], "with list"), ({"epoch": 3, "optimizer": {}}, "with the keys epoch, optimizer"), ({"a": "b"}, "keys a")],
)
def test_a_file_without_a_state_dict_is_refused(tmp_path, content, got):
    torch.save(content, tmp_path / "other.pth")
    with pytest.raises(ValueError, match=r"checkpoint: expected a dict of tensors, bare or under the key") as error:
        read_weights(tmp_path / "other.pth")
    assert got in str(error.value)


def test_a_bare_state_dict_is_read_like_a_wrapped_one(tmp_path):
    torch.save(small_weights(), tmp_path / "bare.pt")
    assert read_weights(tmp_path / "bare.pt").keys() == read_weights(save_checkpoint(tmp_path / "wrapped.pth")).keys()
