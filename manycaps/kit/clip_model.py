"""CLIP as a feature extractor, built from a state dict: the only file that runs open_clip, when it is first needed.

The architecture follows from the shapes of the weights, so a small checkpoint takes the same path as a published one.
Keys are compared by name before any weight is used: a half-loaded model cannot produce a number.
"""

import contextlib
import threading
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .base_messages import reason_of, shown_value
from .clip_weights import (
    DESCRIPTIVE_KEYS,
    HEAD_WIDTH,
    LazyLibrary,
    Weights,
    check_architecture,
    check_shape_keys,
    check_weights,
    join_positions,
)

if TYPE_CHECKING:
    import open_clip
    import torch
else:
    open_clip, torch = LazyLibrary("open_clip"), LazyLibrary("torch")

# Nonlinearity of the encoders: OpenAI's models have the sigmoid approximation, OpenCLIP's the exact function.
ACTIVATIONS = ("quick_gelu", "gelu")

# Mean and standard deviation of red, green and blue on which OpenAI's models were trained (open_clip, constants.py).
OPENAI_MEAN = (0.48145466, 0.4578275, 0.40821073)
OPENAI_STD = (0.26862954, 0.26130258, 0.27577711)

DTYPES = ("float32", "bfloat16")

# Texts with at most this many tokens in all are encoded at once per image of the batch size: an image of ViT-B/32 has
# 50 tokens, so a batch of texts costs about as much as a batch of images.
TOKENS_PER_BATCH_ITEM = 50


# Longest token in characters: none has more than 32 bytes (open_clip, bpe_simple_vocab_16e6.txt.gz).
TOKEN_CHARACTERS = 32

# Tokens that a published CLIP reads, start and end included.
PUBLISHED_LENGTH = 77

# Characters of a text that are tokenized where a model reads 75 tokens between start and end, as published CLIPs
# do: more than these can hold.
MOST_CHARACTERS = 2_500


class ClipTokens(NamedTuple):
    """One text as the text encoder reads it."""

    # Token numbers with the start and end tokens, at most `context_length`.
    ids: tuple[int, ...]
    # Whether tokens between the start and the end were dropped.
    truncated: bool


class FeatureError(ValueError):
    """Features without a cosine: NaN, infinite, or all 0."""

    def __init__(self, place: int, got: str) -> None:
        super().__init__(
            f"checkpoint: expected finite features that are not all 0, got {got}. Use dtype='float32', or another "
            "checkpoint."
        )
        self.place, self.got = place, got

    def named(self, where: str, checkpoint: str) -> ValueError:
        """Return the error with the input and the checkpoint in its message."""
        return ValueError(
            f"{where}: expected finite features that are not all 0, got {self.got} from the checkpoint {checkpoint}. "
            "Use dtype='float32', or another checkpoint."
        )


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
        heads: attention heads of the image and the text encoder; None for one of `HEAD_WIDTH` numbers each.
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
        heads: tuple[int, int] | None = None,
    ) -> None:
        self.device = as_device(device)
        self.dtype = getattr(torch, dtype)
        self.network = build_network(weights, activation, heads).to(self.device, self.dtype).eval()
        self.mean = torch.tensor(mean, device=self.device).reshape(3, 1, 1) * 255
        self.std = torch.tensor(std, device=self.device).reshape(3, 1, 1) * 255
        self.tokenizer = open_clip.SimpleTokenizer()
        # Held while the model computes: several threads may share it, and the precision of cuDNN is one switch of all.
        self._lock = threading.Lock()
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
        """Map (n, image_size, image_size, 3) uint8 pixels to (n, d) float32 features, not normalised.

        Raises FeatureError for values that are not finite, or all 0.
        """
        with self._inference():
            features = _as_array(self._embed_pixels(torch.from_numpy(pixels).to(self.device)))
        _check_features(features)
        return features

    def text_features(self, texts: Sequence[ClipTokens], batch_size: int, progress: Any = iter) -> np.ndarray:
        """Encode texts in batches of similar length, so that short ones are not padded to the longest.

        float32 array, shape (n, d): the end token's features, not normalised.
        """
        features = np.empty((len(texts), self.n_features), np.float32)
        with self._inference():
            for rows in progress(text_batches(texts, batch_size)):
                ids, ends = self._as_batch([texts[i] for i in rows])
                features[rows] = _as_array(self._embed_tokens(ids, ends))
        _check_features(features)
        return features

    def token_features(self, texts: Sequence[ClipTokens], batch_size: int, progress: Any = iter) -> list[np.ndarray]:
        """Encode every token of each text, the start and the end token included.

        n float32 arrays, shape (n_tokens, d); the last row of each is what `text_features` returns.
        """
        features: list[np.ndarray] = [np.empty(0)] * len(texts)
        with self._inference():
            for rows in progress(text_batches(texts, batch_size)):
                ids, _ = self._as_batch([texts[i] for i in rows])
                for i, embedded in zip(rows, self._embed_tokens(ids), strict=True):
                    features[i] = _as_array(embedded[: len(texts[i].ids)])
        for i, of_tokens in enumerate(features):
            _check_features(of_tokens, i)
        return features

    def tokenize(self, text: str) -> ClipTokens:
        """Turn a text into token numbers; a long one is truncated, with the end token kept."""
        n_characters = MOST_CHARACTERS + TOKEN_CHARACTERS * max(0, self.context_length - PUBLISHED_LENGTH)
        inner, is_cut = first_tokens(self.tokenizer, text, n_characters)
        ids = (self.tokenizer.sot_token_id, *inner, self.tokenizer.eot_token_id)
        if len(ids) <= self.context_length:
            return ClipTokens(ids, truncated=is_cut)
        return ClipTokens((*ids[: self.context_length - 1], ids[-1]), truncated=True)

    def embed_pixels(self, pixels: "torch.Tensor") -> "torch.Tensor":
        """Map (n, s, s, 3) uint8 pixels to (n, d) features; differentiable, for training and inference alike."""
        scaled = (pixels.permute(0, 3, 1, 2).float() - self.mean) / self.std  # (n, 3, s, s)
        return self.network.visual(scaled.to(self.dtype))

    def embed_tokens(self, ids: "torch.Tensor", ends: "torch.Tensor | None" = None) -> "torch.Tensor":
        """Map (n, length) token numbers to features: (n, length, d), or (n, d) at the indices `ends`; differentiable.

        The text encoder is causal, so nothing behind the end token can change it: `length` need only be that of the
        longest text, where CLIP's own function always computes all 77 positions.
        """
        network, length = self.network, ids.shape[1]
        states = network.token_embedding(ids) + network.positional_embedding[:length]  # (n, length, width)
        states = network.transformer(states, attn_mask=network.attn_mask[:length, :length])
        if ends is not None:
            states = states[torch.arange(len(ids), device=ids.device), ends]  # (n, width)
        return network.ln_final(states) @ network.text_projection

    def _as_batch(self, texts: Sequence[ClipTokens]) -> tuple["torch.Tensor", "torch.Tensor"]:
        """Return token numbers, shape (n, longest), padded with 0, and the index of each end token, shape (n,)."""
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
        with self._lock, torch.inference_mode(), full_precision:
            yield


def first_tokens(tokenizer: Any, text: str, n_characters: int = MOST_CHARACTERS) -> tuple[list[int], bool]:
    """Turn a text into token numbers; of a very long one only the beginning.

    The time of CLIP's tokenizer grows with the square of the length of a word, and of how often a character is escaped:
    so what cannot be read is left out before. Only a single word, or escapes, as long as that can have other tokens
    than at the beginning of the whole text.
    """
    if len(text) > n_characters:
        text = " ".join(text.split())  # the tokenizer sees no other blanks
    return tokenizer.encode(text[:n_characters]), len(text) > n_characters


def text_batches(texts: Sequence[ClipTokens], batch_size: int) -> list[list[int]]:
    """Split texts into batches of similar length.

    >>> text_batches([ClipTokens((1, 5, 6, 2), False), ClipTokens((1, 2), False)], batch_size=1)
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


def build_network(weights: Weights, activation: str, heads: tuple[int, int] | None = None) -> Any:
    """Build open_clip's CLIP with the shapes of `weights`, in OpenAI's naming, and load them, in float32 on the CPU.

    open_clip's own function for such state dicts rounds to 16 bits on the way and ignores keys that do not fit. Raises
    ValueError where keys are missing, unknown or of a wrong shape, or a weight is not finite.
    """
    weights = join_positions({name: tensor for name, tensor in weights.items() if name not in DESCRIPTIVE_KEYS})
    check_shape_keys(weights)
    weights = {name: tensor.float() for name, tensor in weights.items()}
    with torch.device("meta"):  # no memory and no time for weights that are replaced at once
        network = _network_of_shape(weights, activation, heads)
    check_weights(weights, {name: tuple(tensor.shape) for name, tensor in network.state_dict().items()})
    network.load_state_dict(weights, assign=True)
    length = network.context_length
    network.register_buffer("attn_mask", torch.full((length, length), -torch.inf).triu(1), persistent=False)
    return network


def as_device(name: str) -> "torch.device":
    """Return a torch device that this machine has."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    try:
        device = torch.device(name)
        torch.empty(1, device=device).cpu()  # numbers of the device "meta" cannot be had
    except (RuntimeError, AssertionError, NotImplementedError, TypeError, ImportError) as error:  # torch.hpu
        raise ValueError(
            f"device: expected 'auto' or a device of this machine, got {shown_value(name)} ({reason_of(error)}). "
            "Use 'cpu' or 'auto'."
        ) from error
    return device


def engine_name() -> str:
    """Name the libraries that compute the features, for a signature."""
    return f"open_clip-{open_clip.__version__}"


def _network_of_shape(weights: Weights, activation: str, heads: tuple[int, int] | None) -> Any:
    """An uninitialised CLIP with the architecture that the weights' shapes tell."""
    n_layers = [_count_layers(weights, f"{tower}transformer.resblocks.") for tower in ("visual.", "")]
    check_architecture(weights, n_layers, heads)
    width, _, patch_size, _ = weights["visual.conv1.weight"].shape
    grid = round((len(weights["visual.positional_embedding"]) - 1) ** 0.5)
    text_width = len(weights["ln_final.weight"])
    return open_clip.model.CLIP(
        embed_dim=weights["text_projection"].shape[1],
        vision_cfg=open_clip.CLIPVisionCfg(
            layers=n_layers[0],
            width=width,
            head_width=width // heads[0] if heads else min(HEAD_WIDTH, width),
            patch_size=patch_size,
            image_size=patch_size * grid,
        ),
        text_cfg=open_clip.CLIPTextCfg(
            context_length=len(weights["positional_embedding"]),
            vocab_size=len(weights["token_embedding.weight"]),
            width=text_width,
            heads=heads[1] if heads else max(1, text_width // HEAD_WIDTH),
            layers=n_layers[1],
        ),
        quick_gelu=activation == "quick_gelu",
    )


def _count_layers(weights: Weights, prefix: str) -> int:
    return len({name.removeprefix(prefix).split(".")[0] for name in weights if name.startswith(prefix)})


def _as_array(features: "torch.Tensor") -> np.ndarray:
    array: np.ndarray = features.float().cpu().numpy()
    return array


def _check_features(features: np.ndarray, place: int | None = None) -> None:
    """Raise at the first vector without a cosine, by its row, or by the place of the text that has them all."""
    is_finite = np.isfinite(features).all(axis=-1)
    usable = is_finite & features.any(axis=-1)
    if not usable.all():
        first = int(np.argmin(usable))
        raise FeatureError(first if place is None else place, "zeros" if is_finite[first] else "NaN or infinity")
