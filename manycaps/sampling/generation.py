"""What `generate` takes of a model's own settings, and where its texts begin."""

from typing import Any

import torch
import transformers

# What is kept of a model's own settings of `generate`: special tokens, and what its cache needs; not its temperature,
# top-k, penalties, beams and lengths.
KEPT_SETTINGS = (
    *("bos_token_id", "eos_token_id", "pad_token_id", "decoder_start_token_id", "forced_bos_token_id"),
    *("forced_eos_token_id", "suppress_tokens", "begin_suppress_tokens", "bad_words_ids", "cache_implementation"),
)


def drop_own_settings(model: Any) -> list[tuple[Any, Any]]:
    """Drop what a model and its parts ask `generate` for; return the parts with the settings that they had."""
    owners = [(part, own) for part in model.modules() if (own := getattr(part, "generation_config", None)) is not None]
    make: Any = transformers.GenerationConfig
    for part, own in owners:
        kept = {name: value for name in KEPT_SETTINGS if (value := getattr(own, name, None)) is not None}
        part.generation_config = make(**kept)
    return owners


def n_prompt_tokens(model: Any, tokens: torch.Tensor, given: torch.Tensor | None) -> int:
    """Return the number of the tokens of the prompt, `given` to `generate`, that it repeats before the texts."""
    if given is None or model.config.is_encoder_decoder:
        return 0
    given = given.repeat_interleave(len(tokens) // len(given), dim=0)
    # BLIP leaves out the last token of the prompt, and changes the first.
    for length in (given.shape[1], given.shape[1] - 1):
        if tokens.shape[1] >= length and torch.equal(tokens[:, 1:length], given[:, 1:length]):
            return length
    return 0
