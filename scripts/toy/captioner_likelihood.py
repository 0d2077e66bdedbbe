"""How likely a captioner finds what people say of scenes that it was not trained on, at every temperature."""

import math
from typing import NamedTuple

import numpy as np
import torch
import transformers

from manycaps.made_world.caption_probabilities import caption_probability
from manycaps.made_world.pictures import draw_picture
from manycaps.made_world.scenes import draw_scene
from manycaps.made_world.speakers import Speaker, draw_captions
from scripts.toy.small_captioner import NUMBERS, PADDING, as_pixel_values, as_tokens, encode_pictures, next_word_logits


class HeldOut(NamedTuple):
    """Human captions, and what a captioner predicts for each of their words."""

    # Shape (n_captions, n_tokens - 1, n_words).
    logits: torch.Tensor
    # The words that people said, padded, shape (n_captions, n_tokens - 1).
    said: torch.Tensor
    # Mean of -log p of the people themselves: what no speaker can be below.
    nats_of_people: float

    def nats(self, temperature: float) -> float:
        """Return the mean of -log p of a caption, sampled at a temperature; the human captions are given."""
        log_p = torch.log_softmax(self.logits.double() / temperature, dim=2)
        of_words = log_p.gather(2, self.said[..., None])[..., 0]
        return -float(of_words.masked_fill(self.said == NUMBERS[PADDING], 0.0).sum(dim=1).mean())


@torch.no_grad()
def draw_held_out(model: transformers.VisionEncoderDecoderModel, seed: int, n_scenes: int) -> HeldOut:
    """Draw scenes with a caption of people each, and let a captioner predict their words."""
    scenes, pictures, captions = [], [], []
    for i in range(n_scenes):
        rng = np.random.default_rng([seed, i])
        scenes.append(draw_scene(rng))
        captions += draw_captions(Speaker(), scenes[-1], 1, rng)
        pictures.append(draw_picture(rng, scenes[-1]))
    tokens = as_tokens(captions)
    states = encode_pictures(model, as_pixel_values(pictures, model.config.encoder.image_size))
    people = [caption_probability(Speaker(), scene, said) for scene, said in zip(scenes, captions, strict=True)]
    logits = next_word_logits(model, states, tokens)
    return HeldOut(logits, tokens[:, 1:], -math.fsum(map(math.log, people)) / n_scenes)
