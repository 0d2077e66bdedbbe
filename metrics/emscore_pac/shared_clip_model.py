# Vendored from manycaps/shared_clip_model.py. Edit it there, then run `make format`.
"""CLIP as a feature extractor, built from a state dict: the only file that imports torch and open_clip.

The architecture follows from the shapes of the weights, so a small checkpoint takes the same road as a published one.
Keys are compared by name before any weight is used: no number can come from a model that was only half loaded.
"""

import contextlib
import pathlib
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

try:
    import open_clip
    import torch
    from safetensors.torch import load_file, save_file
except ImportError as error:
    raise ImportError(
        f"{error.name}: expected it to be installed for the CLIP encoders. "
        "Run `pip install torch open_clip_torch safetensors`."
    ) from error

# Nonlinearity of the encoders: OpenAI's models have the sigmoid approximation, OpenCLIP's the exact function.
ACTIVATIONS = ("quick_gelu", "gelu")

# Mean and standard deviation of red, green and blue on which OpenAI's models were trained (open_clip, constants.py).
OPENAI_MEAN = (0.48145466, 0.4578275, 0.40821073)
OPENAI_STD = (0.26862954, 0.26130258, 0.27577711)

DTYPES = ("float32", "bfloat16")

# Channels of one attention head in every CLIP vision transformer and its text encoder (open_clip, model.py).
HEAD_WIDTH = 64

# Numerator of the factor alpha / r of a LoRA update: the PAC-S++ files have alpha 1, rank 4.
LORA_ALPHA = 1.0

# Entries of OpenAI's own state dicts that describe the model and are no weights.
DESCRIPTIVE_KEYS = frozenset({"input_resolution", "context_length", "vocab_size"})

# Weights from whose shapes the architecture is read.
SHAPE_KEYS = (
    "visual.conv1.weight",
    "visual.positional_embedding",
    "visual.proj",
    "positional_embedding",
    "text_projection",
    "token_embedding.weight",
    "ln_final.weight",
)

# Texts with at most this many tokens in all are encoded at once per image of the batch size: an image of ViT-B/32 has
# 50 tokens, so a batch of texts costs about as much as a batch of images.
TOKENS_PER_BATCH_ITEM = 50

Weights = dict[str, "torch.Tensor"]


class Tokens(NamedTuple):
    """One text as the text encoder reads it."""

    # Token numbers with the start and end tokens, at most `context_length`.
    ids: tuple[int, ...]
    # Whether tokens between the start and the end were cut off.
    truncated: bool


class ClipModel:
    """Both encoders of a CLIP, on one device.

    Args:
        weights: state dict in OpenAI's naming, LoRA updates already merged.
        activation: one of `ACTIVATIONS`.
        mean: of red, green, blue, 0 to 1.
        std: of red, green, blue.
        device: "auto" (CUDA, else MPS, else CPU) or a torch device.
        dtype: one of `DTYPES`.
        compile: whether to run the encoders through `torch.compile`.
    """

    def __init__(
        self,
        weights: Weights,
        *,
        activation: str = "quick_gelu",
        mean: Sequence[float] = OPENAI_MEAN,
        std: Sequence[float] = OPENAI_STD,
        device: str = "auto",
        dtype: str = "float32",
        compile: bool = False,  # noqa: A002, the name of the torch function that it switches on
    ) -> None:
        self.device = as_device(device)
        self.dtype = getattr(torch, dtype)
        self.network = build_network(weights, activation).to(self.device, self.dtype).eval()
        self.mean = torch.tensor(mean, device=self.device).reshape(3, 1, 1) * 255
        self.std = torch.tensor(std, device=self.device).reshape(3, 1, 1) * 255
        self.tokenizer = open_clip.SimpleTokenizer()
        self._embed_pixels = torch.compile(self.embed_pixels) if compile else self.embed_pixels
        self._embed_tokens = torch.compile(self.embed_tokens) if compile else self.embed_tokens

    @property
    def image_size(self) -> int:
        """Height and width of the pixels that the image encoder takes."""
        return int(self.network.visual.image_size[0])

    @property
    def context_length(self) -> int:
        """Most tokens of a text, start and end included."""
        return int(self.network.context_length)

    @property
    def n_features(self) -> int:
        """Length d of a feature vector."""
        return int(self.network.text_projection.shape[1])

    def image_features(self, pixels: np.ndarray) -> np.ndarray:
        """Encode images.

        Args:
            pixels: uint8 array, shape (n, image_size, image_size, 3).

        Returns:
            float32 array, shape (n, d), not normalised.

        Raises:
            ValueError: the model gives values that are not finite.
        """
        with self._inference():
            features = self._embed_pixels(torch.from_numpy(pixels).to(self.device))
            return _as_features(features)

    def text_features(self, texts: Sequence[Tokens], batch_size: int, progress: Any = iter) -> np.ndarray:
        """Encode texts, those of like length together: short ones do not pay for the longest.

        Args:
            texts: n tokenised texts.
            batch_size: images that would be encoded at once.
            progress: called on the iterable of batches, such as tqdm.

        Returns:
            float32 array, shape (n, d): the end token's features, not normalised.

        Raises:
            ValueError: the model gives values that are not finite.
        """
        features = np.empty((len(texts), self.n_features), np.float32)
        with self._inference():
            for rows in progress(text_batches(texts, batch_size)):
                ids, ends = self._as_batch([texts[i] for i in rows])
                features[rows] = _as_features(self._embed_tokens(ids, ends))
        return features

    def token_features(self, texts: Sequence[Tokens], batch_size: int, progress: Any = iter) -> list[np.ndarray]:
        """Encode every token of each text, the start and the end token included.

        Args:
            texts: n tokenised texts.
            batch_size: images that would be encoded at once.
            progress: called on the iterable of batches, such as tqdm.

        Returns:
            n float32 arrays, shape (n_tokens, d); the last row of each is what `text_features` returns.

        Raises:
            ValueError: the model gives values that are not finite.
        """
        features: list[np.ndarray] = [np.empty(0)] * len(texts)
        with self._inference():
            for rows in progress(text_batches(texts, batch_size)):
                ids, _ = self._as_batch([texts[i] for i in rows])
                for i, embedded in zip(rows, self._embed_tokens(ids), strict=True):
                    features[i] = _as_features(embedded[: len(texts[i].ids)])
        return features

    def tokenize(self, text: str) -> Tokens:
        """Turn a text into token numbers; a long one is cut, with the end token kept."""
        ids = (self.tokenizer.sot_token_id, *self.tokenizer.encode(text), self.tokenizer.eot_token_id)
        if len(ids) <= self.context_length:
            return Tokens(ids, truncated=False)
        return Tokens((*ids[: self.context_length - 1], ids[-1]), truncated=True)

    def embed_pixels(self, pixels: "torch.Tensor") -> "torch.Tensor":
        """Map (n, s, s, 3) uint8 pixels to (n, d) features; differentiable, for training and inference alike."""
        scaled = (pixels.permute(0, 3, 1, 2).float() - self.mean) / self.std  # (n, 3, s, s)
        return self.network.visual(scaled.to(self.dtype))

    def embed_tokens(self, ids: "torch.Tensor", ends: "torch.Tensor | None" = None) -> "torch.Tensor":
        """Map (n, length) token numbers to features: (n, length, d), or (n, d) at the places `ends`; differentiable.

        The text encoder is causal, so nothing behind the end token can change it: `length` need only be that of the
        longest text, where CLIP's own function always computes all 77 positions.
        """
        network, length = self.network, ids.shape[1]
        states = network.token_embedding(ids) + network.positional_embedding[:length]  # (n, length, width)
        states = network.transformer(states, attn_mask=network.attn_mask[:length, :length])
        if ends is not None:
            states = states[torch.arange(len(ids), device=ids.device), ends]  # (n, width)
        return network.ln_final(states) @ network.text_projection

    def _as_batch(self, texts: Sequence[Tokens]) -> tuple["torch.Tensor", "torch.Tensor"]:
        """Return token numbers, shape (n, longest), padded with 0, and the place of each end token, shape (n,)."""
        ids = np.zeros((len(texts), max(len(text.ids) for text in texts)), np.int64)
        for row, text in zip(ids, texts, strict=True):
            row[: len(text.ids)] = text.ids
        ends = [len(text.ids) - 1 for text in texts]
        return torch.from_numpy(ids).to(self.device), torch.tensor(ends, device=self.device)

    @contextlib.contextmanager
    def _inference(self) -> Iterator[None]:
        """Without gradients; in float32 also without the shorter mantissa that cuDNN's convolutions use by default."""
        full_precision = (
            torch.backends.cudnn.flags(enabled=True, allow_tf32=False)
            if self.device.type == "cuda" and self.dtype == torch.float32
            else contextlib.nullcontext()
        )
        with torch.inference_mode(), full_precision:
            yield


def text_batches(texts: Sequence[Tokens], batch_size: int) -> list[list[int]]:
    """Split texts into batches of like length.

    Args:
        texts: n tokenised texts.
        batch_size: images that would be encoded at once; a batch has about as many tokens as they.

    Returns:
        Lists of row numbers, shortest texts first.

    >>> text_batches([Tokens((1, 5, 6, 2), False), Tokens((1, 2), False)], batch_size=1)
    [[1, 0]]
    """
    rows = sorted(range(len(texts)), key=lambda i: len(texts[i].ids))
    batches: list[list[int]] = []
    for i in rows:
        if batches and (len(batches[-1]) + 1) * len(texts[i].ids) <= batch_size * TOKENS_PER_BATCH_ITEM:
            batches[-1].append(i)
        else:
            batches.append([i])
    return batches


def read_weights(path: pathlib.Path) -> Weights:
    """Read a checkpoint without running any of its code.

    Args:
        path: .safetensors, or a .pth or .pt file with a dict of tensors, bare or under the key `state_dict`.

    Returns:
        The state dict, as stored.

    Raises:
        ValueError: the file is no such checkpoint, or holds more than tensors.
    """
    try:
        if path.suffix == ".safetensors":
            return load_file(path)
        if _is_torchscript(path):
            raise TypeError("a program is no file of tensors")
        content = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # torch, pickle, zip and safetensors each raise their own
        raise ValueError(
            f"checkpoint: expected a file of tensors, got {path.name}, which is {_unreadable_kind(path)} "
            f"({type(error).__name__}). It was not run. Download the file again, or convert it on the machine that "
            "made it: torch.save({'state_dict': model.state_dict()}, path)."
        ) from error
    weights = content.get("state_dict", content) if isinstance(content, Mapping) else content
    if not isinstance(weights, Mapping) or not all(isinstance(value, torch.Tensor) for value in weights.values()):
        raise ValueError(
            f"checkpoint: expected a dict of tensors, bare or under the key 'state_dict', got {path.name} with "
            f"{_describe_content(content)}. Save model.state_dict() and give that file."
        )
    return dict(weights)


def write_safetensors(weights: Weights, path: pathlib.Path, metadata: Mapping[str, str]) -> None:
    """Write a state dict as safetensors, with a few words about it."""
    save_file({name: tensor.contiguous() for name, tensor in weights.items()}, path, dict(metadata))


def merge_lora(weights: Weights) -> Weights:
    """Add low-rank updates to the weights they belong to, where the file has any.

    W + (alpha / r) B A (Hu et al., 2021, equation 3, https://arxiv.org/abs/2106.09685), by the names and shapes of
    PAC-S++ files: `visual.conv1.lora_A`, `...in_proj_weight_lora_A`, `...out_proj.lora_A`. Updates of the layers `mlp`
    are left out: the authors' program takes them for merged before it reads the file, so its published numbers are
    made without them.

    Args:
        weights: state dict, with or without LoRA entries.

    Returns:
        State dict without LoRA entries.

    Raises:
        ValueError: an update without its weight, or without its other factor, or of another shape.
    """
    merged = {name: tensor for name, tensor in weights.items() if "lora_" not in name}
    for name in (name for name in weights if "lora_" in name):
        target, factor = _lora_target(name)
        partner = name[: -len(factor)] + ("lora_B" if factor == "lora_A" else "lora_A")
        if target not in weights or partner not in weights:
            missing = target if target not in weights else partner
            raise ValueError(
                f"checkpoint: expected {missing} beside {name}, got no such tensor. Use the file as published."
            )
        if factor == "lora_A" and ".mlp." not in name:
            merged[target] = _lora_sum(weights, target, name, partner)
    return merged


def build_network(weights: Weights, activation: str) -> Any:
    """Build open_clip's CLIP with the shapes of `weights`, and put them into it, in float32.

    open_clip's own function for such state dicts rounds to 16 bits on the way and ignores keys that do not fit.

    Args:
        weights: state dict in OpenAI's naming.
        activation: one of `ACTIVATIONS`.

    Returns:
        `open_clip.CLIP` in float32 on the CPU.

    Raises:
        ValueError: keys are missing, unknown or of a wrong shape; a weight is not finite.
    """
    weights = {name: tensor.float() for name, tensor in weights.items() if name not in DESCRIPTIVE_KEYS}
    missing = [name for name in SHAPE_KEYS if name not in weights]
    if missing:
        raise _weights_error(missing, [], [])
    with torch.device("meta"):  # no memory and no time for weights that are replaced at once
        network = _network_of_shape(weights, activation)
    check_weights(weights, {name: tuple(tensor.shape) for name, tensor in network.state_dict().items()})
    network.load_state_dict(weights, assign=True)
    length = network.context_length
    network.register_buffer("attn_mask", torch.full((length, length), -torch.inf).triu(1), persistent=False)
    return network


def check_weights(weights: Weights, shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Raise unless names and shapes are exactly those expected, and every value is finite.

    Raises:
        ValueError: they are not; the message names up to three of each kind.
    """
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
            f"checkpoint: expected finite weights, got NaN or infinity in {_some(bad)}. Its training diverged or the "
            "file is damaged: use another one."
        )


def as_device(name: str) -> "torch.device":
    """Return a torch device that this machine has.

    Raises:
        ValueError: the name is none, or the device is not there.
    """
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, NotImplementedError, TypeError) as error:
        raise ValueError(
            f"device: expected 'auto' or a device of this machine, got {name!r} ({str(error).splitlines()[0]}). "
            "Use 'cpu' or 'auto'."
        ) from error
    return device


def engine_name() -> str:
    """Name the libraries that compute the features, for a signature."""
    return f"open_clip-{open_clip.__version__}"


def _network_of_shape(weights: Weights, activation: str) -> Any:
    """An uninitialised CLIP with the architecture that the weights' shapes tell."""
    width, _, patch_size, _ = weights["visual.conv1.weight"].shape
    grid = round((len(weights["visual.positional_embedding"]) - 1) ** 0.5)
    text_width = len(weights["ln_final.weight"])
    context_length, vocabulary = len(weights["positional_embedding"]), len(weights["token_embedding.weight"])
    return open_clip.model.CLIP(
        embed_dim=weights["text_projection"].shape[1],
        vision_cfg=open_clip.CLIPVisionCfg(
            layers=_count_layers(weights, "visual.transformer.resblocks."),
            width=width,
            head_width=min(HEAD_WIDTH, width),
            patch_size=patch_size,
            image_size=patch_size * grid,
        ),
        text_cfg=open_clip.CLIPTextCfg(
            context_length=context_length,
            vocab_size=vocabulary,
            width=text_width,
            heads=max(1, text_width // HEAD_WIDTH),
            layers=_count_layers(weights, "transformer.resblocks."),
        ),
        quick_gelu=activation == "quick_gelu",
    )


def _count_layers(weights: Weights, prefix: str) -> int:
    return len({name.removeprefix(prefix).split(".")[0] for name in weights if name.startswith(prefix)})


def _lora_target(name: str) -> tuple[str, str]:
    """Split a LoRA entry's name into the name of its weight and "lora_A" or "lora_B"."""
    stem, factor = name[: -len("lora_A")], name[-len("lora_A") :]
    # `attn.in_proj_weight_lora_A` belongs to `attn.in_proj_weight`, `conv1.lora_A` to `conv1.weight`.
    return (stem.removesuffix("_") if stem.endswith("_") else stem + "weight"), factor


def _lora_sum(weights: Weights, target: str, name_a: str, name_b: str) -> "torch.Tensor":
    """One weight plus its update."""
    weight, a, b = weights[target].float(), weights[name_a].float(), weights[name_b].float()
    # A convolution's factors have r rows for each row of the kernel: (r k, in k) and (out k, r k).
    rank = len(a) // weight.shape[-1] if weight.ndim == 4 else len(a)
    if a.ndim != 2 or b.ndim != 2 or b.shape[1] != len(a) or b.shape[0] * a.shape[1] != weight.numel():
        raise ValueError(
            f"checkpoint: expected {name_b} times {name_a} to have {weight.numel()} values for {target}, got "
            f"{tuple(b.shape)} times {tuple(a.shape)}. Use the file as published."
        )
    return weight + LORA_ALPHA / rank * (b @ a).reshape(weight.shape)


def _as_features(features: "torch.Tensor") -> np.ndarray:
    """Features as a float32 array, checked."""
    array: np.ndarray = features.float().cpu().numpy()
    if not np.isfinite(array).all():
        raise ValueError(
            "checkpoint: expected finite features, got NaN or infinity. Use dtype='float32', or another checkpoint."
        )
    return array


def _weights_error(missing: Sequence[str], unknown: Sequence[str], misshapen: Sequence[str]) -> ValueError:
    """Build the error for a state dict that does not fit."""
    kinds = (("missing", missing), ("unknown", unknown), ("of another shape", misshapen))
    found = "; ".join(f"{len(names)} {kind}: {_some(names)}" for kind, names in kinds if names)
    return ValueError(
        f"checkpoint: expected the weights of a CLIP vision transformer under OpenAI's names, got {found}. Give the "
        "state dict of such a model; `manycaps convert-checkpoint` checks a file."
    )


def _some(names: Iterable[str]) -> str:
    """Up to three names."""
    listed = list(names)
    return ", ".join(listed[:3]) + (", ..." if len(listed) > 3 else "")


def _unreadable_kind(path: pathlib.Path) -> str:
    """Say what kind of file could not be read."""
    if path.suffix == ".safetensors":
        return "no whole safetensors file"
    if not zipfile.is_zipfile(path):
        return "damaged, or no torch file, or one with Python code in it"
    return "a TorchScript program" if _is_torchscript(path) else "a pickle with more than tensors in it"


def _is_torchscript(path: pathlib.Path) -> bool:
    """Whether a file holds compiled code beside its tensors, as OpenAI's own CLIP files do."""
    if not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as archive:
        return any("/code/" in name for name in archive.namelist())


def _describe_content(content: object) -> str:
    """Name what a checkpoint holds instead."""
    if isinstance(content, Mapping):
        return "the keys " + _some(str(key) for key in content)
    return type(content).__name__
