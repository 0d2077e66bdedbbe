"""CLIP: its weights, and the model as torch modules."""

import contextlib
import math
import pathlib
import threading
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .errors import InputError, as_input_errors, first_names, quote_value
from .vectors_models import as_device, network_arithmetic, network_loading

# --------------------------------------------------------------------------------------------------------------------
# Weights of a CLIP: read without running code, low-rank updates merged, names and shapes checked, written.

# Libraries of the CLIP encoders, and how to get them.
LIBRARIES = ("torch", "open_clip", "safetensors")
HOW_TO_GET_LIBRARIES = "Run `pip install 'manycaps[clip]'`, or `pip install torch open_clip_torch safetensors`."


if TYPE_CHECKING:
    import torch

# What to do with a file that cannot be read without running code.
HOW_TO_GET_TENSORS = (
    "It was not run. Download the file again, or convert it on the machine that made it: "
    "torch.save({'state_dict': model.state_dict()}, path)."
)

# Numerator of the factor alpha / r of a LoRA update: the PAC-S++ files have alpha 1, rank 4.
LORA_ALPHA = 1.0

# Entries of OpenAI's own state dicts that describe the model and are no weights.
DESCRIPTIVE_KEYS = frozenset({"input_resolution", "context_length", "vocab_size"})

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

# What to do with a file that is no CLIP.
USE_AS_PUBLISHED = "Use the file as published, or the state dict of a CLIP vision transformer under OpenAI's names."

Weights = dict[str, "torch.Tensor"]


def weights_error(expected: str, got: object) -> InputError:
    """Return the error about weights that are no CLIP's."""
    return InputError("checkpoint", expected, got, USE_AS_PUBLISHED)


def refused_weights(file: str) -> contextlib.AbstractContextManager[None]:
    """Name the file where torch or open_clip refuse weights that are no CLIP's in a `with` statement."""
    return as_input_errors("checkpoint", "the weights of a CLIP vision transformer", USE_AS_PUBLISHED, file)


def read_weights(path: pathlib.Path) -> Weights:
    """Read a state dict, as stored, without running any code of the file.

    `path` is .safetensors, or a .pth or .pt file with a dict of tensors, bare or under the key `state_dict`. Raises
    ValueError if the file is no such checkpoint, or holds more than tensors.
    """
    import safetensors.torch
    import torch

    try:
        if path.suffix == ".safetensors":
            return safetensors.torch.load_file(path)
        if _is_torchscript(path):
            raise TypeError("a program is not a file of tensors")
        content = torch.load(path, map_location="cpu", weights_only=True)
    except ImportError:  # a library of ours that is missing: says so itself
        raise
    except (
        Exception
    ) as error:  # torch, pickle, zip and safetensors each raise their own; torch's texts advise to run it
        kind = "a TorchScript program" if _is_torchscript(path) else "damaged, or holds more than tensors"
        got = f"{path.name}, which is {kind} ({type(error).__name__})"
        raise InputError("checkpoint", "a file of tensors", got, HOW_TO_GET_TENSORS) from error
    weights = content.get("state_dict", content) if isinstance(content, Mapping) else content
    if not isinstance(weights, Mapping) or not all(isinstance(tensor, torch.Tensor) for tensor in weights.values()):
        got = f"{path.name} with {quote_value(list(weights) if isinstance(weights, Mapping) else weights)}"
        raise InputError("checkpoint", "a dict of tensors, bare or under the key 'state_dict'", got, HOW_TO_GET_TENSORS)
    return dict(weights)


def write_safetensors(weights: Weights, path: pathlib.Path, metadata: Mapping[str, str]) -> None:
    """Write a state dict as safetensors, with a short description."""
    import safetensors.torch

    safetensors.torch.save_file({name: tensor.contiguous() for name, tensor in weights.items()}, path, dict(metadata))


def merge_lora(weights: Weights, file: str = "a state dict") -> Weights:
    """Add low-rank updates to the weights they belong to, where the file has any.

    W + (alpha / r) B A (Hu et al., 2021, equation 3, https://arxiv.org/abs/2106.09685), by the names and shapes of
    PAC-S++ files: `visual.conv1.lora_A`, `...in_proj_weight_lora_A`, `...out_proj.lora_A`. Updates of the layers `mlp`
    are left out: the authors' program takes them for merged before it reads the file, so its published numbers are
    made without them.

    Takes a state dict with or without LoRA entries, and returns it without. Raises ValueError for an update without its
    weight, or without one of its factors, or of another shape.
    """
    with refused_weights(file):
        merged = {name: tensor for name, tensor in weights.items() if "lora_" not in name}
        for stem in {name[: -len("lora_A")] for name in weights if "lora_" in name and ".mlp." not in name}:
            # `attn.in_proj_weight_lora_A` belongs to `attn.in_proj_weight`, `conv1.lora_A` to `conv1.weight`.
            target = stem.removesuffix("_") if stem.endswith("_") else stem + "weight"
            merged[target] = _lora_sum(weights[target], weights[stem + "lora_A"], weights[stem + "lora_B"])
    return merged


def openai_names(weights: Weights) -> Weights:
    """Give weights of transformers' CLIPModel the names and shapes of OpenAI's; others are left as they are.

    Queries, keys and values are one matrix in OpenAI's, and projections are the other way round.
    """
    import torch

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
    import torch

    if STRETCHED_KEY not in weights:
        return weights
    first, second = weights["positional_embedding"], weights[STRETCHED_KEY]
    if first.shape != second.shape or len(first) <= KEPT_POSITIONS:
        got = f"{tuple(first.shape)} and {tuple(second.shape)}"
        raise weights_error(f"two tables of positions of one shape with more than {KEPT_POSITIONS} rows", got)
    joined = torch.cat((first[:KEPT_POSITIONS].float(), second[KEPT_POSITIONS:].float()))
    rest = {name: tensor for name, tensor in weights.items() if name != STRETCHED_KEY}
    return rest | {"positional_embedding": joined}


def check_architecture(weights: Weights) -> None:
    """Raise where shapes say what would give wrong numbers or take all memory; open_clip refuses the others."""
    n_words, n_tokens = len(weights["token_embedding.weight"]), len(weights["positional_embedding"])
    n_pixels = math.isqrt(len(weights["visual.positional_embedding"])) * weights["visual.conv1.weight"].shape[-1]
    if n_words != N_WORDS:
        raise weights_error(f"a vocabulary of {N_WORDS:,} tokens", f"{n_words:,}")
    if not 3 <= n_tokens <= MOST_TOKENS:
        raise weights_error(f"texts of 3 to {MOST_TOKENS:,} tokens", f"{n_tokens:,}")
    if n_pixels > MOST_PIXELS:
        raise weights_error(f"images of at most {MOST_PIXELS:,} pixels a side", f"{n_pixels:,}")
    no_floats = [f"{name} of {tensor.dtype}" for name, tensor in weights.items() if not tensor.is_floating_point()]
    if no_floats:
        raise weights_error("weights that are floats", first_names(no_floats))


def _lora_sum(weight: "torch.Tensor", a: "torch.Tensor", b: "torch.Tensor") -> "torch.Tensor":
    # A convolution's factors have r rows for each row of the kernel: (r k, in k) and (out k, r k).
    rank = len(a) // weight.shape[-1] if weight.ndim == 4 else len(a)
    return weight.float() + LORA_ALPHA / rank * (b.float() @ a.float()).reshape(weight.shape)


def _is_torchscript(path: pathlib.Path) -> bool:
    """Whether a file holds compiled code beside its tensors, as OpenAI's own CLIP files do."""
    try:
        with zipfile.ZipFile(path) as archive:
            return any("/code/" in name for name in archive.namelist())
    except Exception:  # no archive, or a damaged one, at which zipfile raises more than its own
        return False


# --------------------------------------------------------------------------------------------------------------------
# CLIP as a feature extractor, built from a state dict: the only file that runs open_clip, when it is first needed.
#
# The architecture follows from the shapes of the weights, so a small checkpoint takes the same path as a published
# one. Keys are compared by name before any weight is used: a half-loaded model cannot produce a number.

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


# What to do about features that are not usable.
USE_OTHER_WEIGHTS = "Use dtype='float32', or another checkpoint."


class FeatureError(ValueError):
    """Features without a cosine: NaN, infinite, or all 0."""

    def __init__(self, place: int, got: str) -> None:
        super().__init__(f"checkpoint: expected finite features that are not all 0, got {got}. {USE_OTHER_WEIGHTS}")
        self.place, self.got = place, got

    def with_place(self, where: str, checkpoint: str) -> ValueError:
        """Return the error with the input and the checkpoint in its message."""
        got = f"{self.got} from the checkpoint {checkpoint}"
        return InputError(where, "finite features that are not all 0", got, USE_OTHER_WEIGHTS)


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
        file: where the weights come from, for messages.
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
        file: str = "a state dict",
    ) -> None:
        import open_clip
        import torch

        self.device = as_device(device)
        self.dtype = getattr(torch, dtype)
        network = build_network(weights, activation, heads, file)
        with network_loading():
            self.network = network.to(self.device, self.dtype).eval()
        self.mean, self.std = (
            torch.tensor(color_values, dtype=torch.float32, device=self.device).reshape(3, 1, 1) * 255
            for color_values in (mean, std)
        )
        self.tokenizer = open_clip.SimpleTokenizer()
        # Held while the model computes: several threads may share it.
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
        import torch

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
        for i, token_vectors in enumerate(features):
            _check_features(token_vectors, i)
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

        The text encoder is causal, so nothing behind the end token can change it: `length` need only be the longest
        text's, where CLIP's own function always computes all 77 positions.
        """
        import torch

        network, length = self.network, ids.shape[1]
        states = network.token_embedding(ids) + network.positional_embedding[:length]  # (n, length, width)
        states = network.transformer(states, attn_mask=network.attn_mask[:length, :length])
        if ends is not None:
            states = states[torch.arange(len(ids), device=ids.device), ends]  # (n, width)
        return network.ln_final(states) @ network.text_projection

    def _as_batch(self, texts: Sequence[ClipTokens]) -> tuple["torch.Tensor", "torch.Tensor"]:
        """Return token numbers, shape (n, longest), padded with 0, and the index of each end token, shape (n,)."""
        import torch

        ids = np.zeros((len(texts), max(len(text.ids) for text in texts)), np.int64)
        for row, text in zip(ids, texts, strict=True):
            row[: len(text.ids)] = text.ids
        ends = [len(text.ids) - 1 for text in texts]
        return torch.from_numpy(ids).to(self.device), torch.tensor(ends, device=self.device)

    @contextlib.contextmanager
    def _inference(self) -> Iterator[None]:
        import torch

        with self._lock, torch.inference_mode(), network_arithmetic(self.device):
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


def build_network(
    weights: Weights, activation: str, heads: tuple[int, int] | None = None, file: str = "a state dict"
) -> Any:
    """Build open_clip's CLIP with the shapes of `weights`, in OpenAI's naming, and load them, in float32 on the CPU.

    open_clip's own function for such state dicts rounds to 16 bits on the way and ignores keys that do not fit. Raises
    ValueError where keys are missing, unknown or of a wrong shape, or a weight is not finite.
    """
    import torch

    with refused_weights(file):
        weights = join_positions({name: tensor for name, tensor in weights.items() if name not in DESCRIPTIVE_KEYS})
        check_architecture(weights)
        weights = {name: tensor.float() for name, tensor in weights.items()}
        with torch.device("meta"):  # no memory and no time for weights that are replaced at once
            network = _network_of_shape(weights, activation, heads)
        network.load_state_dict(weights, assign=True)  # strict: names and shapes are exactly the network's
        bad = [name for name, tensor in weights.items() if not torch.isfinite(tensor).all()]
        if bad:
            raise weights_error("finite weights", f"NaN or infinity in {first_names(bad)}")
    length = network.context_length
    network.register_buffer("attn_mask", torch.full((length, length), -torch.inf).triu(1), persistent=False)
    return network


def engine_name() -> str:
    """Name the libraries that compute the features, for a signature."""
    import open_clip

    return f"open_clip-{open_clip.__version__}"


def _network_of_shape(weights: Weights, activation: str, heads: tuple[int, int] | None) -> Any:
    """An uninitialised CLIP with the architecture that the weights' shapes tell."""
    import open_clip

    n_layers = [_count_layers(weights, f"{tower}transformer.resblocks.") for tower in ("visual.", "")]
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
