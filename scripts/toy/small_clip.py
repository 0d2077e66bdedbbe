"""A small CLIP with the vocabulary of the made world: built, trained on and written in the form every CLIP here has."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import open_clip
import torch

from manycaps.kit.clip_checkpoints import Treatment
from manycaps.kit.clip_model import ClipModel, Weights
from manycaps.kit.clip_pac import PAC_PROMPT
from manycaps.pac_training.projections import TEXT_PROJECTION, VISUAL_PROJECTION
from scripts.toy.captions import every_word

# Side of the pixels that the image encoder takes, of a patch, and of the cells of the world in these pixels.
IMAGE_SIZE = 32
PATCH_SIZE = 8

VISION_WIDTH = 64
VISION_LAYERS = 3
TEXT_WIDTH = 64
TEXT_LAYERS = 2

# Length of the features.
EMBED_DIM = 64

# CLIP's own, so that every caption the helper cuts is cut alike: tokens of a text, tokens of its vocabulary.
CONTEXT_LENGTH = 77
VOCABULARY = 49408

# Activation, and mean and standard deviation of each channel, 0 to 1.
TREATMENT = Treatment("gelu", (0.5, 0.5, 0.5), (0.5, 0.5, 0.5))

# Largest factor of the cosines (Radford et al., 2021, section 2.5).
LARGEST_SCALE = 100.0

# Words that may stand before a caption: the metrics', and none.
PROMPTS = (PAC_PROMPT, "")

# The published file with both projections before tuning.
UNTUNED_NAME = "untuned_projections.safetensors"


class Encoded(NamedTuple):
    """What an encoder says of some images or texts."""

    # Before the last projection, shape (n, width).
    hidden: torch.Tensor
    # After it, of length 1, shape (n, EMBED_DIM).
    features: torch.Tensor


class SmallClip:
    """A CLIP that can be trained; its text encoder knows the words of the made world only, to be quick."""

    def __init__(self, seed: int) -> None:
        torch.manual_seed(seed)
        network = open_clip.CLIP(
            EMBED_DIM,
            open_clip.CLIPVisionCfg(
                layers=VISION_LAYERS, width=VISION_WIDTH, patch_size=PATCH_SIZE, image_size=IMAGE_SIZE, head_width=64
            ),
            open_clip.CLIPTextCfg(
                layers=TEXT_LAYERS, width=TEXT_WIDTH, heads=1, vocab_size=VOCABULARY, context_length=CONTEXT_LENGTH
            ),
        )
        self.model = ClipModel(network.state_dict(), **TREATMENT._asdict(), device="cpu")
        self.network = self.model.network.train()
        # Without these two in place the helper's functions return what is before the projections.
        self.visual_projection, self.text_projection = self.network.visual.proj, self.network.text_projection
        self.network.visual.proj = None
        self.network.text_projection = torch.nn.Parameter(torch.eye(TEXT_WIDTH), requires_grad=False)
        self._known = self._known_tokens()
        self._tokens: dict[str, list[int]] = {}
        self.network.token_embedding = torch.nn.Embedding(len(self._known), TEXT_WIDTH)
        torch.nn.init.normal_(self.network.token_embedding.weight, std=0.02)

    @classmethod
    def of_weights(cls, weights: Weights) -> "SmallClip":
        """Build the small CLIP that returned these `weights`, finished as it was then."""
        clip = cls(seed=0)
        own = {name: weight.float() for name, weight in weights.items()}
        own["token_embedding.weight"] = own["token_embedding.weight"][list(clip._known)]
        with torch.no_grad():
            clip.visual_projection.copy_(own.pop(VISUAL_PROJECTION))
            clip.text_projection.copy_(own.pop(TEXT_PROJECTION))
        clip.network.load_state_dict(own | {TEXT_PROJECTION: torch.eye(TEXT_WIDTH)})
        clip.network.eval()
        return clip

    @property
    def scale(self) -> torch.Tensor:
        """Factor of the cosines, 1 / tau."""
        return self.network.logit_scale.exp().clamp(max=LARGEST_SCALE)

    def parameters(self) -> list[torch.nn.Parameter]:
        """Return everything that is trained."""
        own = [self.visual_projection, self.text_projection]
        return own + [weight for weight in self.network.parameters() if weight.requires_grad]

    def tokenize(self, text: str) -> list[int]:
        """Turn a text into numbers of known tokens, the start and the end included."""
        ends = self.model.tokenizer
        return [self._known[ends.sot_token_id], *self.word_tokens(text), self._known[ends.eot_token_id]]

    def word_tokens(self, text: str) -> list[int]:
        """Turn a text into numbers of known tokens: CLIP's tokenizer goes word by word, so each is read once."""
        tokens = []
        for word in text.split():
            if word not in self._tokens:
                self._tokens[word] = [self._known[token] for token in self.model.tokenizer.encode(word)]
            tokens += self._tokens[word]
        return tokens

    def encode_pixels(self, pixels: np.ndarray) -> Encoded:
        """Encode uint8 pixels, shape (n, IMAGE_SIZE, IMAGE_SIZE, 3)."""
        hidden = self.model.embed_pixels(torch.from_numpy(pixels))
        return Encoded(hidden, torch.nn.functional.normalize(hidden @ self.visual_projection, dim=1))

    def encode_tokens(self, texts: Sequence[Sequence[int]]) -> Encoded:
        """Encode texts that `tokenize` returned."""
        ids = np.zeros((len(texts), max(map(len, texts))), np.int64)
        for row, text in zip(ids, texts, strict=True):
            row[: len(text)] = text
        ends = torch.tensor([len(text) - 1 for text in texts])
        hidden = self.model.embed_tokens(torch.from_numpy(ids), ends)
        return Encoded(hidden, torch.nn.functional.normalize(hidden @ self.text_projection, dim=1))

    def finish(self) -> None:
        """End the training: round what is published in 16 bits, so that nothing is measured on other weights."""
        self.network.eval()
        with torch.no_grad():
            for weight in self.network.parameters():
                weight.copy_(weight.half())
            self.network.logit_scale.clamp_(max=math.log(LARGEST_SCALE))

    def projections(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the last projections of images and of texts, float32, shape (width, EMBED_DIM)."""
        return self.visual_projection.detach().numpy(), self.text_projection.detach().numpy()

    def weights(self) -> Weights:
        """Return the state dict that the CLIP helper loads, after `finish`: in 16 bits, but for the projections.

        Words of other worlds have zeros.
        """
        weights = {name: weight.half() for name, weight in self.network.state_dict().items()}
        embedding = torch.zeros(VOCABULARY, TEXT_WIDTH, dtype=torch.float16)
        embedding[list(self._known)] = weights["token_embedding.weight"]
        projections = {VISUAL_PROJECTION: self.visual_projection, TEXT_PROJECTION: self.text_projection}
        return weights | {"token_embedding.weight": embedding} | {n: p.detach() for n, p in projections.items()}

    def _known_tokens(self) -> dict[int, int]:
        """Place in the small vocabulary of every token that a caption of this world can have."""
        tokenizer = self.model.tokenizer
        tokens = set(tokenizer.encode(" ".join([*every_word(), *PROMPTS])))
        known = [tokenizer.sot_token_id, tokenizer.eot_token_id, *sorted(tokens)]
        return {token: place for place, token in enumerate(known)}
