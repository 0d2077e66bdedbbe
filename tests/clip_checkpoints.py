"""Small CLIP checkpoints with random weights, in the authors' format, for tests and benchmarks."""

import hashlib
import math

import numpy as np

from tests.large_packages import open_clip, torch

# Enough of everything, and encoded in a millisecond. The vocabulary is the tokenizer's.
SMALL = {
    "embed_dim": 24,
    "vision_cfg": {"layers": 2, "width": 64, "patch_size": 8, "image_size": 32},
    "text_cfg": {"layers": 2, "width": 64, "heads": 1, "context_length": 77, "vocab_size": 49408},
}

# Images of the made world, 64 x 64 pixels, need no scaling here.
SEEDED = SMALL | {"vision_cfg": SMALL["vision_cfg"] | {"patch_size": 16, "image_size": 64}}


def new_network(shape, quick_gelu=True):
    """open_clip's own CLIP of a shape."""
    towers = open_clip.CLIPVisionCfg(**shape["vision_cfg"]), open_clip.CLIPTextCfg(**shape["text_cfg"])
    return open_clip.CLIP(shape["embed_dim"], *towers, quick_gelu=quick_gelu)


def small_network(seed=0, quick_gelu=True, **changes):
    """open_clip's own CLIP with random weights large enough that inputs matter."""
    shape = SMALL | changes
    torch.manual_seed(seed)
    network = new_network(shape, quick_gelu)
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
    shapes = lora_shapes(weights, rank)
    return weights | {name: 0.1 * torch.randn(*shape, generator=generator) for name, shape in shapes.items()}


def lora_shapes(weights, rank=4):
    """Names and shapes of the entries that a PAC-S++ file has beside a state dict."""
    shapes = {}
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
        shapes |= {stem + "lora_A": (r, columns), stem + "lora_B": (rows, r)}
    return shapes


def seeded_weights(seed, lora=False):
    """Weights of the shape `SEEDED`: the same bits on every machine, so that golden values need no stored file."""
    bits = np.random.PCG64(seed)  # its raw numbers never change; NumPy's and torch's distributions may

    def draw(shape):
        numbers = bits.random_raw(math.prod(shape)) >> np.uint64(40)
        return torch.from_numpy((numbers.astype(np.float32) / np.float32(2**23) - 1).reshape(shape))  # -1 to 1

    network = small_network(**SEEDED)
    weights = {}
    for name, tensor in sorted(network.state_dict().items()):
        if name == "logit_scale":
            weights[name] = torch.tensor(1.0)
        else:
            is_scale = "ln_" in name and name.endswith("weight")
            weights[name] = is_scale + 0.25 * draw(tensor.shape)
    if lora:
        weights |= {name: 0.125 * draw(shape) for name, shape in sorted(lora_shapes(weights).items())}
    return weights


def save_golden_checkpoint(path, golden_weights):
    """Write the weights that a golden file's `meta` describes, if they are still those, and return the path."""
    weights = seeded_weights(golden_weights["seed"], golden_weights["lora"])
    assert weights_sha256(weights) == golden_weights["sha256"], "the golden values are of other weights"
    return save_checkpoint(path, weights)


def weights_sha256(weights):
    """Hash of names and values."""
    digest = hashlib.sha256()
    for name, tensor in sorted(weights.items()):
        digest.update(name.encode() + tensor.numpy().tobytes())
    return digest.hexdigest()
