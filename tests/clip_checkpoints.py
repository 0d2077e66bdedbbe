"""Small CLIP checkpoints with random weights, in the authors' format, for tests and benchmarks."""

import open_clip
import torch

# Enough of everything, and encoded in a millisecond. The vocabulary is the tokenizer's.
SMALL = {
    "embed_dim": 24,
    "vision_cfg": {"layers": 2, "width": 64, "patch_size": 8, "image_size": 32},
    "text_cfg": {"layers": 2, "width": 64, "heads": 1, "context_length": 77, "vocab_size": 49408},
}


def small_network(seed=0, quick_gelu=True, **changes):
    """open_clip's own CLIP with random weights large enough that inputs matter."""
    shape = SMALL | changes
    torch.manual_seed(seed)
    network = open_clip.CLIP(
        shape["embed_dim"],
        open_clip.CLIPVisionCfg(**shape["vision_cfg"]),
        open_clip.CLIPTextCfg(**shape["text_cfg"]),
        quick_gelu=quick_gelu,
    )
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(0.05 * torch.randn_like(parameter))
    return network.eval()


def small_weights(seed=0, **changes):
    """The state dict of `small_network`."""
    return {name: tensor.clone() for name, tensor in small_network(seed, **changes).state_dict().items()}


def save_checkpoint(path, weights=None, seed=0):
    """Write weights as the authors do, and return the path."""
    torch.save({"state_dict": small_weights(seed) if weights is None else weights}, path)
    return path


def with_lora(weights, seed=0, rank=4):
    """Add the entries of a PAC-S++ file to a state dict."""
    generator = torch.Generator().manual_seed(seed)
    lora = {}
    for name, weight in weights.items():
        if name.endswith("in_proj_weight"):
            stem, rows, columns, r = name + "_", *weight.shape, rank
        elif name.endswith(("out_proj.weight", "c_fc.weight", "c_proj.weight")):
            stem, rows, columns, r = name.removesuffix("weight"), *weight.shape, rank
        elif name == "visual.conv1.weight":
            kernel = weight.shape[-1]
            stem, rows, columns, r = "visual.conv1.", weight.shape[0] * kernel, 3 * kernel, rank * kernel
        else:
            continue
        lora[stem + "lora_A"] = 0.1 * torch.randn(r, columns, generator=generator)
        lora[stem + "lora_B"] = 0.1 * torch.randn(rows, r, generator=generator)
    return weights | lora
