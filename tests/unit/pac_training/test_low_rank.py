import warnings

import pytest

from manycaps.kit.clip_model import build_network
from manycaps.kit.clip_weights import merge_lora
from tests.clip_checkpoints import small_network, small_weights
from tests.large_packages import OnFirstUse, peft, torch

low_rank = OnFirstUse("manycaps.pac_training.low_rank")


def inputs():
    generator = torch.Generator().manual_seed(0)
    return torch.randn(3, 3, 32, 32, generator=generator), torch.randint(1, 49000, (3, 77), generator=generator)


def features(network):
    images, texts = inputs()
    with torch.no_grad():
        return torch.cat([network.encode_image(images), network.encode_text(texts)])


def with_values(factors):
    """Draw the factors B, which are 0 at first."""
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for name, factor in factors.items():
            if name.endswith("lora_B"):
                factor.copy_(0.1 * torch.randn(factor.shape, generator=generator))
    return factors


def test_nothing_changes_at_first():
    network = small_network()
    before = features(network)
    factors = low_rank.add_low_rank_updates(network, 3, seed=0)
    # The attention may take another path of torch, which sums in another order.
    assert torch.allclose(features(network), before, atol=1e-5)
    assert len(factors) == 16  # A and B of two weights in two layers of two encoders
    assert all(factor.shape[0 if name.endswith("A") else 1] == 3 for name, factor in factors.items())


def test_only_the_factors_learn_and_the_weights_stay():
    network = small_network().requires_grad_(False)
    plain = small_weights()
    factors = with_values(low_rank.add_low_rank_updates(network, 2, seed=0))
    images, texts = inputs()
    for _ in range(20):
        (network.encode_image(images).square().mean() + network.encode_text(texts).square().mean()).backward()
    assert all(factor.grad.abs().max() > 0 for factor in factors.values())
    frozen = {
        name.replace("parametrizations.", "").removesuffix(".original"): x for name, x in network.named_parameters()
    }
    assert all(torch.equal(frozen[name], weight) for name, weight in plain.items() if name in frozen)
    assert {x for x in plain if x.endswith(("in_proj_weight", "out_proj.weight"))} < frozen.keys()


def test_merged_factors_give_the_same_features():
    network = small_network()
    factors = with_values(low_rank.add_low_rank_updates(network, 4, seed=0))
    merged = build_network(merge_lora(low_rank.with_factors(small_weights(), factors)), "quick_gelu").eval()
    assert torch.allclose(features(merged), features(network), atol=1e-5)
    assert (features(network) - features(small_network())).abs().max() > 1e-2


def test_features_are_those_of_peft():
    network = small_network()
    factors = with_values(low_rank.add_low_rank_updates(network, 4, seed=0))
    for name, factor in factors.items():
        if name.endswith("out_proj.lora_B"):
            factor.data.zero_()  # peft 0.21 counts these updates twice
    peer = peft.get_peft_model(small_network(), peft.LoraConfig(r=4, lora_alpha=1, target_modules=r".*\.attn"))
    theirs = dict(peer.named_parameters())
    for name, factor in factors.items():
        stem, kind = name.rsplit("lora_", 1)
        layer = stem.removesuffix("in_proj_weight_").removesuffix("out_proj.")
        inner = "base_layer.out_proj." if stem.endswith("out_proj.") else ""
        theirs[f"base_model.model.{layer}{inner}lora_{kind}.default.weight"].data.copy_(factor.data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert torch.allclose(features(peer.base_model.model), features(network), atol=1e-5)


@pytest.mark.parametrize("rank", [0, 65])
def test_rank_out_of_range(rank):
    with pytest.raises(ValueError) as error:
        low_rank.add_low_rank_updates(small_network(), rank, seed=0)
    assert str(error.value) == f"lora_rank: expected 1 to 64, the encoders' width, got {rank}. The authors use 4."
