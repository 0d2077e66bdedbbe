"""Training of the small captioner with rewards: plain policy gradients, a few scenes with several captions a step."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import PIL.Image
import torch
import transformers
from transformers.modeling_outputs import BaseModelOutput

from scripts.toy.pictures import draw_picture
from scripts.toy.scenes import Scene, draw_scene
from scripts.toy.small_captioner import NUMBERS, PADDING, as_pixel_values, as_text, encode_pictures, next_word_logits
from scripts.toy.speakers import Speaker, draw_captions

# Scenes of a step and captions of each; and the learning rate of the first half of the steps, which then falls to 0.
N_SCENES, N_CAPTIONS, LEARNING_RATE = 16, 8, 3e-4


class CaptionedScenes(NamedTuple):
    """Scenes with their pictures, what people say of them, and the states of a captioner's encoder."""

    scenes: list[Scene]
    pictures: list[PIL.Image.Image]
    references: list[list[str]]
    # Shape (n_scenes, n_states, width).
    states: torch.Tensor


# From the captions of some scenes and the numbers of these scenes to weights of the captions: (n_scenes, n_captions).
Advantages = Callable[[list[list[str]], Sequence[int]], np.ndarray]


def draw_captioned_scenes(
    model: transformers.VisionEncoderDecoderModel, seed: int, n_scenes: int, n_references: int
) -> CaptionedScenes:
    """Draw scenes, pictures and human captions; scene i depends on the seed and i alone."""
    scenes, pictures, references = [], [], []
    for i in range(n_scenes):
        rng = np.random.default_rng([seed, i])
        scenes.append(draw_scene(rng))
        pictures.append(draw_picture(rng, scenes[-1]))
        references.append(draw_captions(Speaker(), scenes[-1], n_references, rng))
    side = model.config.encoder.image_size
    parts = [pictures[start : start + 500] for start in range(0, n_scenes, 500)]
    states = torch.cat([encode_pictures(model, as_pixel_values(part, side)) for part in parts])
    return CaptionedScenes(scenes, pictures, references, states)


@torch.no_grad()
def sample_tokens(model: transformers.VisionEncoderDecoderModel, states: torch.Tensor, n: int) -> torch.Tensor:
    """Sample n captions of every scene by the model's own probabilities: (n_scenes * n, n_tokens)."""
    outputs = BaseModelOutput(last_hidden_state=states.repeat_interleave(n, dim=0))
    return model.generate(encoder_outputs=outputs, do_sample=True, top_k=0)


def sample_captions(model: transformers.VisionEncoderDecoderModel, states: torch.Tensor, n: int) -> list[list[str]]:
    """Sample n captions of every scene, as texts."""
    return as_rows(sample_tokens(model, states, n), n)


def as_rows(tokens: torch.Tensor, n: int) -> list[list[str]]:
    """Return tokens as captions, n of every scene."""
    texts = [as_text(row) for row in tokens.tolist()]
    return [texts[start : start + n] for start in range(0, len(texts), n)]


def log_probabilities(
    model: transformers.VisionEncoderDecoderModel, states: torch.Tensor, tokens: torch.Tensor
) -> torch.Tensor:
    """Return log p of captions, shape (n,); tokens as from `sample_tokens`, a state for each caption."""
    words = tokens[:, 1:]
    log_p = torch.log_softmax(next_word_logits(model, states, tokens), dim=2)
    return log_p.gather(2, words[..., None])[..., 0].masked_fill(words == NUMBERS[PADDING], 0.0).sum(dim=1)


def less_others(scores: np.ndarray) -> np.ndarray:
    """Subtract from the score of each caption the mean of the other captions' of its scene.

    >>> less_others(np.array([[3.0, 1.0, 2.0]])).tolist()
    [[1.5, -1.5, 0.0]]
    """
    n = scores.shape[1]
    return (scores - scores.mean(axis=1, keepdims=True)) * n / (n - 1)


def train_with_rewards(
    model: transformers.VisionEncoderDecoderModel,
    scenes: CaptionedScenes,
    advantages: Advantages,
    seed: int,
    n_steps: int,
    watch: Callable[[int], Any],
) -> None:
    """Train: the gradient of a step is the mean over captions of the advantage times the gradient of log p."""
    rng = np.random.default_rng([seed, 2])
    torch.manual_seed(seed)
    learned = [weight for weight in model.parameters() if weight.requires_grad]
    optimizer = torch.optim.Adam(learned, lr=LEARNING_RATE)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, 2 * (1 - step / n_steps)))
    for step in range(1, n_steps + 1):
        chosen = rng.choice(len(scenes.scenes), N_SCENES, replace=False).tolist()
        states = scenes.states[chosen]
        tokens = sample_tokens(model, states, N_CAPTIONS)
        weights = torch.from_numpy(advantages(as_rows(tokens, N_CAPTIONS), chosen).reshape(-1)).float()
        loss = -(weights * log_probabilities(model, states.repeat_interleave(N_CAPTIONS, dim=0), tokens)).mean()
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(learned, 1.0)
        optimizer.step()
        schedule.step()
        watch(step)
