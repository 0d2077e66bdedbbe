"""What `generate` takes of a model's own settings, where its texts begin and end, and the texts of its tokens."""

from collections.abc import Sequence
from typing import Any

import torch
import transformers

from manycaps.sampling.answers import is_thought_mark

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


def decoded_texts(tokenizer: Any, tokens: torch.Tensor | Sequence[Sequence[int]]) -> list[str]:
    """Return the texts of tokens, without special ones and thoughts between such.

    WordPiece leaves blanks around punctuation ("a dog ' s toy"): they go as transformers did until version 4, whatever
    the files of the tokenizer say, since version 5 writes that it does not.
    """
    marks, rows = _thought_marks(tokenizer), tokens
    if marks:  # else their text would be left, without the marks
        rows = [_answer_tokens(row, marks) for row in torch.as_tensor(tokens).tolist()]
    backend = getattr(tokenizer, "backend_tokenizer", None)
    given = {"clean_up_tokenization_spaces": True} if "WordPiece" in repr(getattr(backend, "decoder", None)) else {}
    texts: list[str] = tokenizer.batch_decode(rows, skip_special_tokens=True, **given)
    return texts


def _thought_marks(tokenizer: Any) -> dict[int, bool]:
    """Special tokens that open or close thoughts: their numbers, and whether they close."""
    added = getattr(tokenizer, "added_tokens_decoder", {}).items()
    special = {number: str(token) for number, token in added if getattr(token, "special", False)}
    return {number: "/" in token or "end_of" in token for number, token in special.items() if is_thought_mark(token)}


def _answer_tokens(row: list[int], marks: dict[int, bool]) -> list[int]:
    """Tokens behind the last mark that closes thoughts, and before one that opens others."""
    closed = [place for place, token in enumerate(row) if marks.get(token) is True]
    row = row[closed[-1] + 1 :] if closed else row
    opened = next((place for place, token in enumerate(row) if marks.get(token) is False), len(row))
    return row[:opened]


def are_cut(model: Any, tokens: torch.Tensor) -> list[bool]:
    """Return whether each text of `generate` has no token that ends it; `tokens` are without those of a prompt."""
    ends = model.generation_config.eos_token_id
    known = torch.tensor([] if ends is None else ends, device=tokens.device, dtype=tokens.dtype).reshape(-1)
    # The first token of a decoder beside an encoder may be the one that ends texts.
    written = tokens[:, 1:] if model.config.is_encoder_decoder else tokens
    return (~torch.isin(written, known).any(dim=1)).tolist()
