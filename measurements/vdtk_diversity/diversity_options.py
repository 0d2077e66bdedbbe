"""Options of this module beyond those that all modules share, checked before any work."""

from collections.abc import Sequence
from typing import Any

from .shared_caption_tokens import check_tokenizer
from .shared_messages import shown_value
from .shared_module import check_share, check_whole_number

# Largest number of tokens for ED@N.
MOST_TOKENS = 1_000_000


def check_word_source(tokenizer: object) -> None:
    """Raise unless `tokenizer` is "ptb", "spacy" or a function.

    Raises:
        ValueError: another name.
        TypeError: neither a name nor a function.
    """
    if isinstance(tokenizer, str) and tokenizer not in ("ptb", "spacy"):
        raise ValueError(
            f"tokenizer: expected 'ptb', 'spacy' or a function, got {shown_value(tokenizer)}. Check the spelling."
        )
    if tokenizer != "spacy":
        check_tokenizer(tokenizer)


def check_head_shares(shares: object) -> None:
    """Raise unless `shares` are numbers above 0, at most 1.

    Raises:
        TypeError: not several numbers.
        ValueError: a number out of range.
    """
    for i, share in enumerate(_several("head_shares", shares, "(0.9,)")):
        check_share(f"head_shares[{i}]", share)


def check_lengths(lengths: object) -> None:
    """Raise unless `lengths` are whole numbers from 1 to `MOST_TOKENS`.

    Raises:
        TypeError: not several whole numbers.
        ValueError: a number out of range.
    """
    for i, length in enumerate(_several("lengths", lengths, "(5, 10)")):
        check_whole_number(f"lengths[{i}]", length, 1, MOST_TOKENS)


def _several(name: str, values: object, example: str) -> Sequence[Any]:
    if not isinstance(values, list | tuple):
        raise TypeError(
            f"{name}: expected a list or tuple of numbers, got {type(values).__name__}. Give for example {example}."
        )
    return values
