"""Options of this module beyond those that all modules share, checked before any work."""

from collections.abc import Sequence
from typing import Any

from .shared_caption_tokens import check_tokenizer
from .shared_messages import shown_value

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
        if isinstance(share, bool) or not isinstance(share, int | float):
            raise TypeError(
                f"head_shares[{i}]: expected a number, got {type(share).__name__}. Give floats such as (0.9, 0.95)."
            )
        if not 0 < share <= 1:
            raise ValueError(
                f"head_shares[{i}]: expected a share above 0 and at most 1, got {shown_value(share)}. Write 90 % as "
                "0.9."
            )


def check_lengths(lengths: object) -> None:
    """Raise unless `lengths` are whole numbers from 1 to `MOST_TOKENS`.

    Raises:
        TypeError: not several whole numbers.
        ValueError: a number out of range.
    """
    for i, length in enumerate(_several("lengths", lengths, "(5, 10)")):
        if isinstance(length, bool) or not isinstance(length, int):
            raise TypeError(f"lengths[{i}]: expected a whole number, got {type(length).__name__}. Give an int.")
        if not 1 <= length <= MOST_TOKENS:
            raise ValueError(
                f"lengths[{i}]: expected at least 1, at most {MOST_TOKENS:,}, got {shown_value(length)}. Give numbers "
                "of tokens."
            )


def _several(name: str, values: object, example: str) -> Sequence[Any]:
    if not isinstance(values, list | tuple):
        raise TypeError(
            f"{name}: expected a list or tuple of numbers, got {type(values).__name__}. Give for example {example}."
        )
    return values
