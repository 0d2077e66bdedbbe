"""A small captioner of the made world: tiny-pac's frozen image encoder, and a decoder that learns what people say.

It is a `VisionEncoderDecoderModel` of transformers, so that everything of `generate` works with it: the encoder is a
CLIP vision model with the weights of tiny-pac, without its last layer, which gathers what the cells know; the decoder
is a GPT-2 of two layers whose words come from the made world.
"""

import math
import pathlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import PIL.Image
import tokenizers
import torch
import transformers
from transformers.modeling_outputs import BaseModelOutput

from manycaps.comparison.quickstart.image_metrics import CHECKPOINT
from manycaps.kit.clip_model import TRANSFORMERS_NAMES, Weights, read_weights
from manycaps.kit.files import check_loaded_tensors
from manycaps.kit.images import as_model_pixels
from scripts.toy.caption_probabilities import caption_probability
from scripts.toy.captions import every_word
from scripts.toy.pictures import draw_picture
from scripts.toy.scenes import Scene, draw_scene
from scripts.toy.speakers import N_SPEAKER_DRAWS, Speaker, draw_captions, speak

# Tokens that are no words.
PADDING, BEGIN, END = "<pad>", "<begin>", "<end>"

# Words of the decoder, and what stands before and after a caption.
WORDS = [PADDING, BEGIN, END, *sorted(every_word())]
NUMBERS = {word: number for number, word in enumerate(WORDS)}

# Most tokens of a caption, both ends included; the longest of people has 32.
MAX_TOKENS = 40

DECODER_WIDTH, DECODER_LAYERS, DECODER_HEADS = 96, 2, 4


class CaptionerRecipe(NamedTuple):
    """How a captioner is trained."""

    n_scenes: int = 8_000
    n_steps: int = 1_500
    batch_size: int = 64
    learning_rate: float = 3e-3


def new_captioner(checkpoint: pathlib.Path, seed: int) -> transformers.VisionEncoderDecoderModel:
    """Build a captioner whose encoder is tiny-pac's, frozen, and whose decoder has learned nothing."""
    encoder = transformers.CLIPVisionConfig(
        hidden_size=64,
        intermediate_size=256,
        num_hidden_layers=2,
        num_attention_heads=1,
        image_size=32,
        patch_size=8,
        hidden_act="gelu",
    )
    special = {"bos_token_id": NUMBERS[BEGIN], "eos_token_id": NUMBERS[END], "pad_token_id": NUMBERS[PADDING]}
    decoder = transformers.GPT2Config(
        vocab_size=len(WORDS),
        n_positions=MAX_TOKENS,
        n_embd=DECODER_WIDTH,
        n_layer=DECODER_LAYERS,
        n_head=DECODER_HEADS,
        add_cross_attention=True,
        is_decoder=True,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        **special,
    )
    torch.manual_seed(seed)
    config = transformers.VisionEncoderDecoderConfig.from_encoder_decoder_configs(encoder, decoder)
    config.decoder_start_token_id, config.pad_token_id = NUMBERS[BEGIN], NUMBERS[PADDING]
    model = transformers.VisionEncoderDecoderModel(config)
    set_encoder(model.encoder, read_weights(checkpoint))
    # What `generate` does by default.
    model.generation_config = transformers.GenerationConfig(
        decoder_start_token_id=NUMBERS[BEGIN], max_length=MAX_TOKENS, **special
    )
    return model.eval()


def load_captioner(
    folder: pathlib.Path | None, seed: int, recipe: CaptionerRecipe, progress: Callable[..., Any]
) -> transformers.VisionEncoderDecoderModel:
    """Load a captioner, or train one on the encoder of tiny-pac where there is no folder."""
    torch.set_num_threads(1)
    if folder:
        load: Any = transformers.VisionEncoderDecoderModel.from_pretrained
        model, info = load(folder, output_loading_info=True)
        check_loaded_tensors(info, str(folder))
        return model.eval()
    model = new_captioner(CHECKPOINT / "open_clip_model.safetensors", seed)
    train_captioner(model, seed, recipe, progress)
    return model


def save_captioner(model: transformers.VisionEncoderDecoderModel, folder: pathlib.Path) -> None:
    """Write a captioner with what turns pictures into pixels and tokens into captions, for `manycaps sample`."""
    words = tokenizers.Tokenizer(tokenizers.models.WordLevel(NUMBERS, unk_token=PADDING))
    words.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    # Puts a space between words, and none before a comma.
    words.decoder = tokenizers.decoders.WordPiece(cleanup=True)
    special = {"pad_token": PADDING, "bos_token": BEGIN, "eos_token": END}
    side, half = model.config.encoder.image_size, [0.5, 0.5, 0.5]
    pixels = {"size": {"shortest_edge": side}, "crop_size": {"height": side, "width": side}}
    model.save_pretrained(folder)
    transformers.PreTrainedTokenizerFast(tokenizer_object=words, **special).save_pretrained(folder)
    transformers.CLIPImageProcessor(**pixels, image_mean=half, image_std=half).save_pretrained(folder)


def set_encoder(encoder: torch.nn.Module, weights: Weights) -> None:
    """Put the weights of a checkpoint's first layers into a CLIP vision model, and freeze it."""
    state = {}
    for name, _ in encoder.named_parameters():
        # Versions of transformers differ in a prefix.
        source = f"vision_model.{name.removeprefix('vision_model.')}"
        for theirs, ours in TRANSFORMERS_NAMES.items():
            source = source.replace(theirs, ours)
        before, kind, after = source.rpartition("_proj.")
        if kind and before[-1] in "qkv":  # one matrix in the checkpoint
            state[name] = weights[f"{before[:-1]}in_proj_{after}"].chunk(3)["qkv".index(before[-1])].float()
        else:
            state[name] = weights[source].float()
    encoder.load_state_dict(state, strict=False)
    encoder.requires_grad_(requires_grad=False)


def as_pixel_values(pictures: Iterable[PIL.Image.Image], side: int) -> torch.Tensor:
    """Return pictures as the encoder takes them: float32, shape (n, 3, side, side), -1 to 1."""
    pixels = np.stack([as_model_pixels(picture, side) for picture in pictures])
    return torch.from_numpy(pixels).permute(0, 3, 1, 2).float() / 127.5 - 1


def as_tokens(captions: Sequence[str]) -> torch.Tensor:
    """Return captions as numbers of words between both ends, padded, shape (n, n_tokens).

    >>> as_text(as_tokens(["a red star, all on white"])[0].tolist())
    'a red star, all on white'
    """
    rows = [[BEGIN, *caption.replace(",", " ,").split(), END] for caption in captions]
    length = max(map(len, rows))
    return torch.tensor([[NUMBERS[word] for word in row + [PADDING] * (length - len(row))] for row in rows])


def as_text(tokens: Sequence[int]) -> str:
    """Return the caption of some tokens, without what is no word."""
    words = [WORDS[token] for token in tokens]
    if END in words:
        words = words[: words.index(END)]
    return " ".join(word for word in words if word not in (PADDING, BEGIN)).replace(" ,", ",")


def next_word_logits(
    model: transformers.VisionEncoderDecoderModel, states: torch.Tensor, tokens: torch.Tensor
) -> torch.Tensor:
    """Return what the model predicts for every next token: logits, shape (n, n_tokens - 1, n_words)."""
    return model(encoder_outputs=BaseModelOutput(last_hidden_state=states), decoder_input_ids=tokens[:, :-1]).logits


def train_captioner(
    model: transformers.VisionEncoderDecoderModel, seed: int, recipe: CaptionerRecipe, progress: Callable[..., Any]
) -> None:
    """Teach a captioner what people say of scenes; every step has captions that were not said before."""
    scenes, states = encode_scenes(model, seed, recipe.n_scenes, progress)
    rng = np.random.default_rng([seed, 1])
    learned = [weight for weight in model.parameters() if weight.requires_grad]
    optimizer = torch.optim.AdamW(learned, lr=recipe.learning_rate, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, recipe.learning_rate, total_steps=recipe.n_steps, pct_start=0.08
    )
    model.decoder.train()
    bar = progress(range(recipe.n_steps), desc="captioner", unit="step")
    for _ in bar:
        chosen = rng.choice(len(scenes), recipe.batch_size, replace=False).tolist()
        tokens = as_tokens([speak(Speaker(), scenes[i], rng.random(N_SPEAKER_DRAWS)) for i in chosen])
        logits = next_word_logits(model, states[chosen], tokens)
        loss = torch.nn.functional.cross_entropy(
            logits.flatten(0, 1), tokens[:, 1:].flatten(), ignore_index=NUMBERS[PADDING]
        )
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(learned, 1.0)
        optimizer.step()
        schedule.step()
        bar.set_postfix(loss=f"{loss.item():.3f}", refresh=False)
    model.eval()


def encode_scenes(
    model: transformers.VisionEncoderDecoderModel, seed: int, n_scenes: int, progress: Callable[..., Any]
) -> tuple[list[Scene], torch.Tensor]:
    """Draw scenes and their pictures, and encode them once: nothing is learned by the encoder."""
    rng = np.random.default_rng([seed, 0])
    scenes = [draw_scene(rng) for _ in range(n_scenes)]
    side = model.config.encoder.image_size
    states = []
    for start in progress(range(0, n_scenes, 500), desc="pictures", unit="500 scenes"):
        pictures = [draw_picture(rng, scene) for scene in scenes[start : start + 500]]
        states.append(encode_pictures(model, as_pixel_values(pictures, side)))
    return scenes, torch.cat(states)


@torch.no_grad()
def encode_pictures(model: transformers.VisionEncoderDecoderModel, pixel_values: torch.Tensor) -> torch.Tensor:
    """Return the states of the encoder, shape (n, n_states, width)."""
    return model.encoder(pixel_values=pixel_values).last_hidden_state


class HeldOut(NamedTuple):
    """Human captions, and what a captioner predicts for each of their words."""

    # Shape (n_captions, n_tokens - 1, n_words).
    logits: torch.Tensor
    # The words that people said, padded, shape (n_captions, n_tokens - 1).
    words: torch.Tensor
    # Mean of -log p of the people themselves: what no speaker can be below.
    nats_of_people: float

    def nats(self, temperature: float) -> float:
        """Return the mean of -log p of a caption, sampled at a temperature; the human captions are given."""
        log_p = torch.log_softmax(self.logits.double() / temperature, dim=2)
        word_log_p = log_p.gather(2, self.words[..., None])[..., 0]
        return -float(word_log_p.masked_fill(self.words == NUMBERS[PADDING], 0.0).sum(dim=1).mean())


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
    people = [caption_probability(Speaker(), scene, caption) for scene, caption in zip(scenes, captions, strict=True)]
    logits = next_word_logits(model, states, tokens)
    return HeldOut(logits, tokens[:, 1:], -math.fsum(map(math.log, people)) / n_scenes)
