"""Weights of a CLIP: read without running code, low-rank updates merged, names and shapes checked, written."""

import importlib
import math
import pathlib
import zipfile
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .base_messages import first_names

# Libraries of the CLIP encoders, and how to get them.
LIBRARIES = ("torch", "open_clip", "safetensors")
HOW_TO_GET_LIBRARIES = "Run `pip install 'manycaps[clip]'`, or `pip install torch open_clip_torch safetensors`."


class LazyLibrary:
    """A library that is imported when something of it is first asked for.

    So a module that can do without a CLIP neither needs these libraries nor waits seconds for them.

    >>> LazyLibrary("math").floor(2.5)
    2
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        """Return the library's attribute of that name; `ImportError` with the pip line if it is not installed."""
        try:
            library = importlib.import_module(self._name)
        except ImportError as error:
            raise ImportError(
                f"{error.name}: expected it to be installed for the CLIP encoders. {HOW_TO_GET_LIBRARIES}"
            ) from error
        return getattr(library, attribute)


if TYPE_CHECKING:
    import safetensors.torch as safetensors_torch
    import torch
else:
    safetensors_torch, torch = LazyLibrary("safetensors.torch"), LazyLibrary("torch")

# Numerator of the factor alpha / r of a LoRA update: the PAC-S++ files have alpha 1, rank 4.
LORA_ALPHA = 1.0

# Entries of OpenAI's own state dicts that describe the model and are no weights.
DESCRIPTIVE_KEYS = frozenset({"input_resolution", "context_length", "vocab_size"})

# Weights from whose shapes the architecture is read.
SHAPE_KEYS = {
    "visual.conv1.weight": 4,
    "visual.positional_embedding": 2,
    "visual.proj": 2,
    "positional_embedding": 2,
    "text_projection": 2,
    "token_embedding.weight": 2,
    "ln_final.weight": 1,
}

# Channels of one attention head in every CLIP vision transformer and its text encoder (open_clip, model.py).
HEAD_WIDTH = 64

# Tokens of CLIP's vocabulary, start and end included (open_clip, tokenizer.py).
N_WORDS = 49_408

# Largest side of the images, and most tokens of the texts, that a network is built for.
MOST_PIXELS, MOST_TOKENS = 4_096, 4_096

# Positions of the text that LongCLIP keeps from CLIP; those behind them are in a table of their own (Zhang et al.,
# 2024, https://arxiv.org/abs/2403.15378; `mask1` and `mask2` of the authors' program, model/model_longclip.py).
KEPT_POSITIONS = 20

# LongCLIP's second table.
STRETCHED_KEY = "positional_embedding_res"

# Weight by which the names of transformers' CLIPModel are known, and beginnings and middles of its names with OpenAI's.
TRANSFORMERS_KEY = "text_model.embeddings.token_embedding.weight"
TRANSFORMERS_NAMES = {
    TRANSFORMERS_KEY: "token_embedding.weight",
    "text_model.embeddings.position_embedding.weight": "positional_embedding",
    "text_model.final_layer_norm.": "ln_final.",
    "text_model.encoder.layers.": "transformer.resblocks.",
    "vision_model.embeddings.class_embedding": "visual.class_embedding",
    "vision_model.embeddings.patch_embedding.": "visual.conv1.",
    "vision_model.embeddings.position_embedding.weight": "visual.positional_embedding",
    "vision_model.pre_layrnorm.": "visual.ln_pre.",
    "vision_model.post_layernorm.": "visual.ln_post.",
    "vision_model.encoder.layers.": "visual.transformer.resblocks.",
    "visual_projection.weight": "visual.proj",
    "text_projection.weight": "text_projection",
    ".self_attn.": ".attn.",
    ".layer_norm1.": ".ln_1.",
    ".layer_norm2.": ".ln_2.",
    ".mlp.fc1.": ".mlp.c_fc.",
    ".mlp.fc2.": ".mlp.c_proj.",
}

Weights = dict[str, "torch.Tensor"]


def read_weights(path: pathlib.Path) -> Weights:
    """Read a state dict, as stored, without running any code of the file.

    `path` is .safetensors, or a .pth or .pt file with a dict of tensors, bare or under the key `state_dict`. Raises
    ValueError if the file is no such checkpoint, or holds more than tensors.
    """
    try:
        if path.suffix == ".safetensors":
            return safetensors_torch.load_file(path)
        if _is_torchscript(path):
            raise TypeError("a program is not a file of tensors")
        content = torch.load(path, map_location="cpu", weights_only=True)
    except ImportError:  # a library of ours that is missing: says so itself
        raise
    except Exception as error:  # torch, pickle, zip and safetensors each raise their own
        raise ValueError(
            f"checkpoint: expected a file of tensors, got {path.name}, which is {_unreadable_kind(path)} "
            f"({type(error).__name__}). It was not run. Download the file again, or convert it on the machine that "
            "made it: torch.save({'state_dict': model.state_dict()}, path)."
        ) from error
    weights = content.get("state_dict", content) if isinstance(content, Mapping) else content
    if not isinstance(weights, Mapping) or not all(_is_weight(*item) for item in weights.items()):
        raise ValueError(
            f"checkpoint: expected a dict of tensors, bare or under the key 'state_dict', got {path.name} with "
            f"{_describe_content(content)}. Save model.state_dict() and give that file."
        )
    return dict(weights)


def _is_weight(name: object, value: object) -> bool:
    """Whether an entry of a state dict is a name and a plain tensor of numbers in memory."""
    return (
        isinstance(name, str)
        and isinstance(value, torch.Tensor)
        and value.layout == torch.strided
        and value.device.type == "cpu"
        and not (value.is_quantized or value.is_complex())
    )


def write_safetensors(weights: Weights, path: pathlib.Path, metadata: Mapping[str, str]) -> None:
    """Write a state dict as safetensors, with a short description."""
    safetensors_torch.save_file({name: tensor.contiguous() for name, tensor in weights.items()}, path, dict(metadata))


def merge_lora(weights: Weights) -> Weights:
    """Add low-rank updates to the weights they belong to, where the file has any.

    W + (alpha / r) B A (Hu et al., 2021, equation 3, https://arxiv.org/abs/2106.09685), by the names and shapes of
    PAC-S++ files: `visual.conv1.lora_A`, `...in_proj_weight_lora_A`, `...out_proj.lora_A`. Updates of the layers `mlp`
    are left out: the authors' program takes them for merged before it reads the file, so its published numbers are
    made without them.

    Takes a state dict with or without LoRA entries, and returns it without. Raises ValueError for an update without its
    weight, or without its other factor, or of another shape.
    """
    merged = {name: tensor for name, tensor in weights.items() if "lora_" not in name}
    for name in (name for name in weights if "lora_" in name):
        # `attn.in_proj_weight_lora_A` belongs to `attn.in_proj_weight`, `conv1.lora_A` to `conv1.weight`.
        stem, factor = name[: -len("lora_A")], name[-len("lora_A") :]
        target = stem.removesuffix("_") if stem.endswith("_") else stem + "weight"
        partner = stem + ("lora_B" if factor == "lora_A" else "lora_A")
        if target not in weights or partner not in weights:
            missing = target if target not in weights else partner
            raise ValueError(
                f"checkpoint: expected {missing} beside {name}, got no such tensor. Use the file as published."
            )
        if factor == "lora_A" and ".mlp." not in name:
            merged[target] = _lora_sum(weights, target, name, partner)
    return merged


def openai_names(weights: Weights) -> Weights:
    """Give weights of transformers' CLIPModel the names and shapes of OpenAI's; others are left as they are.

    Queries, keys and values are one matrix in OpenAI's, and projections are the other way round.
    """
    if TRANSFORMERS_KEY not in weights:
        return weights
    renamed = {}
    for name, tensor in weights.items():
        if name.endswith(".position_ids"):  # 0, 1, 2, ... in older files
            continue
        for part, other in TRANSFORMERS_NAMES.items():
            name = name.replace(part, other)
        renamed[name] = tensor.T if name in ("visual.proj", "text_projection") else tensor
    for name in [name for name in renamed if ".attn.q_proj." in name]:
        parts = [name.replace("q_proj", f"{letter}_proj") for letter in "qkv"]
        if all(part in renamed for part in parts):
            joined = name.replace("q_proj.", "in_proj_")
            renamed[joined] = torch.cat([renamed.pop(part) for part in parts])
    return renamed


def join_positions(weights: Weights) -> Weights:
    """Make one table of positions of LongCLIP's two: its model adds the first 20 rows of one, the rest of the other.

    Other weights are returned unchanged. Raises ValueError for tables of two shapes, or a second one too short.
    """
    if STRETCHED_KEY not in weights:
        return weights
    first, second = weights.get("positional_embedding"), weights[STRETCHED_KEY]
    is_pair = first is not None and first.ndim == 2 and first.shape == second.shape and second.is_floating_point()
    if first is None or not is_pair or len(first) <= KEPT_POSITIONS:
        got = "none" if first is None else f"{tuple(first.shape)}"
        raise ValueError(
            f"checkpoint: expected positional_embedding and {STRETCHED_KEY} of one shape with more than "
            f"{KEPT_POSITIONS} rows, got {got} and {tuple(second.shape)} of {second.dtype}. Use the file as published."
        )
    joined = torch.cat((first[:KEPT_POSITIONS].float(), second[KEPT_POSITIONS:].float()))
    rest = {name: tensor for name, tensor in weights.items() if name != STRETCHED_KEY}
    return rest | {"positional_embedding": joined}


def check_shape_keys(weights: Weights) -> None:
    """Raise unless the weights whose shapes give the architecture exist, each with its number of dimensions."""
    missing = [name for name in SHAPE_KEYS if name not in weights]
    no_floats = [f"{name} of {tensor.dtype}" for name, tensor in weights.items() if not tensor.is_floating_point()]
    misshapen = [
        f"{name} {tuple(weights[name].shape)} instead of {n_dimensions} dimensions, none of them 0"
        for name, n_dimensions in SHAPE_KEYS.items()
        if name in weights and (weights[name].ndim != n_dimensions or not weights[name].numel())
    ]
    if missing or no_floats or misshapen:
        raise _weights_error(missing, no_floats, misshapen)


def check_architecture(weights: Weights, n_layers: Sequence[int], heads: tuple[int, int] | None) -> None:
    """Raise unless shapes are those of a CLIP: violations would fail deep in a library, or not at all.

    Layers and heads are those of the image and of the text encoder.
    """
    sizes = {name: len(weights[name]) for name in SHAPE_KEYS}
    n_places, text_width = sizes["visual.positional_embedding"], sizes["ln_final.weight"]
    n_tokens, n_words = sizes["positional_embedding"], sizes["token_embedding.weight"]
    conv_shape = tuple(weights["visual.conv1.weight"].shape)
    width, channels, height, length = conv_shape
    grid = math.isqrt(max(n_places - 1, 0))
    head_width = min(HEAD_WIDTH, width) if heads is None else heads[0]  # or how many: either has to divide the width
    n_heads = max(1, text_width // HEAD_WIDTH) if heads is None else heads[1]
    demands = {
        "square kernels of 3 colours": (channels == 3 and height == length, f"{conv_shape}"),
        "a square grid of patches and a class token": (grid > 0 and grid**2 == n_places - 1, f"{n_places} positions"),
        f"images of at most {MOST_PIXELS} pixels a side": (grid * height <= MOST_PIXELS, f"{grid * height}"),
        "at least one layer in each encoder": (min(n_layers) > 0, f"{n_layers[0]} and {n_layers[1]}"),
        "an image encoder of whole heads": (width % head_width == 0, f"a width of {width}"),
        "a text encoder of whole heads": (text_width % n_heads == 0, f"a width of {text_width}"),
        f"texts of 3 to {MOST_TOKENS} tokens": (3 <= n_tokens <= MOST_TOKENS, f"{n_tokens}"),
        f"a vocabulary of {N_WORDS:,} tokens": (n_words == N_WORDS, f"{n_words:,}"),
    }
    for demand, (is_met, got) in demands.items():
        if not is_met:
            raise ValueError(
                f"checkpoint: expected {demand}, got {got}. Give the state dict of a CLIP vision transformer."
            )


def check_weights(weights: Weights, shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Raise unless names and shapes are exactly those expected, and every value is finite."""
    missing = [name for name in shapes if name not in weights]
    unknown = [name for name in weights if name not in shapes]
    misshapen = [
        f"{name} {tuple(weights[name].shape)} instead of {shape}"
        for name, shape in shapes.items()
        if name in weights and tuple(weights[name].shape) != shape
    ]
    if missing or unknown or misshapen:
        raise _weights_error(missing, unknown, misshapen)
    bad = [name for name, tensor in weights.items() if not torch.isfinite(tensor).all()]
    if bad:
        raise ValueError(
            f"checkpoint: expected finite weights, got NaN or infinity in {first_names(bad)}. Its training diverged or "
            "the file is damaged: use another one."
        )


def _lora_sum(weights: Weights, target: str, name_a: str, name_b: str) -> "torch.Tensor":
    weight, a, b = weights[target].float(), weights[name_a].float(), weights[name_b].float()
    if not (weight.ndim in (2, 4) and a.ndim == b.ndim == 2 and weight.numel() and a.numel() and b.numel()):
        raise ValueError(
            f"checkpoint: expected matrices {name_b} and {name_a} and a weight {target}, got the shapes "
            f"{tuple(b.shape)}, {tuple(a.shape)} and {tuple(weight.shape)}. Use the file as published."
        )
    # A convolution's factors have r rows for each row of the kernel: (r k, in k) and (out k, r k).
    rank = len(a) // weight.shape[-1] if weight.ndim == 4 else len(a)
    if not rank or b.shape[1] != len(a) or b.shape[0] * a.shape[1] != weight.numel():
        raise ValueError(
            f"checkpoint: expected {name_b} times {name_a} to have {weight.numel()} values for {target}, got "
            f"{tuple(b.shape)} times {tuple(a.shape)}. Use the file as published."
        )
    return weight + LORA_ALPHA / rank * (b @ a).reshape(weight.shape)


def _weights_error(missing: Sequence[str], unknown: Sequence[str], misshapen: Sequence[str]) -> ValueError:
    kinds = (("missing", missing), ("unknown", unknown), ("of another shape", misshapen))
    got = "; ".join(f"{len(names)} {kind}: {first_names(names)}" for kind, names in kinds if names)
    return ValueError(
        f"checkpoint: expected the weights of a CLIP vision transformer under OpenAI's names, got {got}. Give the "
        "state dict of such a model; `manycaps convert-checkpoint` checks a file."
    )


def _unreadable_kind(path: pathlib.Path) -> str:
    if path.suffix == ".safetensors":
        return "an incomplete safetensors file"
    try:
        is_archive = zipfile.is_zipfile(path)
    except zipfile.BadZipFile:  # one that says to have other parts
        is_archive = False
    if not is_archive:
        return "damaged, not a torch file, or one with Python code in it"
    return "a TorchScript program" if _is_torchscript(path) else "a pickle with more than tensors in it"


def _is_torchscript(path: pathlib.Path) -> bool:
    """Whether a file holds compiled code beside its tensors, as OpenAI's own CLIP files do."""
    try:
        with zipfile.ZipFile(path) as archive:
            return any("/code/" in name for name in archive.namelist())
    except Exception:  # no archive, or a damaged one, at which zipfile raises more than its own
        return False


def _describe_content(content: object) -> str:
    if isinstance(content, Mapping):
        return "the keys " + first_names(str(key) for key in content)
    return type(content).__name__
