"""Low-rank updates (LoRA) of the attention, as tensors that PAC-S++ files have.

peft has a layer for `nn.MultiheadAttention`, too, but two things speak against it (peft 0.21.2, measured). It adds the
update to the weights before each forward pass and subtracts it afterwards: the frozen weights drift by rounding, so
they would neither stay what they were nor be the same after an interruption. And the update of `out_proj` counts twice
in its forward pass: its features are ours if it is given half of that factor B. So what it trains is not what
`merge_lora` adds up. A parametrization of torch computes W + B A / r each time and leaves W alone. A test compares
both on `in_proj_weight`, where they agree.
"""

from collections.abc import Mapping
from typing import Any

import torch
import torch.nn.utils.parametrize

from manycaps.kit.clip_model import LORA_ALPHA
from manycaps.kit.errors import InputError

# Weights of an attention layer that are updated, and the ends of their factors' names in PAC-S++ files.
FACTOR_STEMS: Mapping[str, str] = {"in_proj_weight": "in_proj_weight_", "out_proj.weight": "out_proj."}


class LowRankUpdate(torch.nn.Module):
    """W + (alpha / r) B A with alpha 1 (Hu et al., 2021, equation 3, https://arxiv.org/abs/2106.09685).

    B is 0 at first, so nothing changes; A is drawn uniformly from +-1/sqrt(columns of W).
    """

    def __init__(self, rows: int, columns: int, rank: int, generator: torch.Generator) -> None:
        super().__init__()
        draws = 2 * torch.rand(rank, columns, generator=generator) - 1
        self.lora_A = torch.nn.Parameter(draws / columns**0.5)
        self.lora_B = torch.nn.Parameter(torch.zeros(rows, rank))

    def forward(self, weight: torch.Tensor) -> torch.Tensor:
        """Return the updated weight."""
        return weight + LORA_ALPHA / len(self.lora_A) * (self.lora_B @ self.lora_A)


def add_low_rank_updates(network: Any, rank: int, seed: int) -> dict[str, torch.nn.Parameter]:
    """Give the attention of both encoders low-rank updates, and return their factors.

    `network` is a CLIP of open_clip; `rank` is at most the width of the narrower encoder, else ValueError is raised;
    `seed` is for the factors A. Factors have their names in PAC-S++ files.
    """
    attentions = {
        name: layer for name, layer in network.named_modules() if isinstance(layer, torch.nn.MultiheadAttention)
    }
    width = min(layer.embed_dim for layer in attentions.values())
    if not 1 <= rank <= width:
        raise InputError("lora_rank", f"1 to {width}, the encoders' width", rank, "The authors use 4.")
    generator = torch.Generator().manual_seed(seed)
    factors: dict[str, torch.nn.Parameter] = {}
    for name, layer in attentions.items():
        for weight_name, stem in FACTOR_STEMS.items():
            owner, attribute = (layer, weight_name) if "." not in weight_name else (layer.out_proj, "weight")
            weight = getattr(owner, attribute)
            rows, columns = weight.shape
            update = LowRankUpdate(rows, columns, rank, generator).to(weight.device)
            torch.nn.utils.parametrize.register_parametrization(owner, attribute, update)
            factors |= {f"{name}.{stem}lora_A": update.lora_A, f"{name}.{stem}lora_B": update.lora_B}
    return factors
