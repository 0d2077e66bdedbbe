"""From captions to tokens: the PTB tokenizer or the user's own, each distinct caption once."""

import functools
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from .base_messages import shown_value
from .text_ptb_tokenizer import tokenize

# Captions whose tokens are remembered, those used last, and the most letters of one: 15 MB of usual captions.
N_REMEMBERED_CAPTIONS = 1 << 15
LONGEST_REMEMBERED_CAPTION = 400

# A tokenizer by name, or a function from one caption to its list of tokens.
Tokenizer = str | Callable[[str], Sequence[str]]


def check_tokenizer(tokenizer: object) -> None:
    """Raise unless `tokenizer` is "ptb" or a function.

    Raises:
        ValueError: another name.
        TypeError: neither a name nor a function.
    """
    if isinstance(tokenizer, str):
        if tokenizer != "ptb":
            raise ValueError(
                f"tokenizer: expected 'ptb' or a function, got {shown_value(tokenizer)}. Check the spelling."
            )
    elif not callable(tokenizer):
        raise TypeError(
            f"tokenizer: expected 'ptb' or a function from a caption to its tokens, got {type(tokenizer).__name__}. "
            "Pass a function such as str.split."
        )


def tokenizer_name(tokenizer: Tokenizer) -> str:
    """Name a tokenizer for a signature.

    >>> tokenizer_name(str.split)
    'split'
    """
    return tokenizer if isinstance(tokenizer, str) else getattr(tokenizer, "__name__", type(tokenizer).__name__)


def tokenize_rows(rows: Sequence[Sequence[str]], tokenizer: Tokenizer) -> list[list[Sequence[str]]]:
    """Tokenize every caption of every row.

    Args:
        rows: n_rows lists of captions.
        tokenizer: "ptb" (`text_ptb_tokenizer`), or a function from one caption to its list of tokens.

    Returns:
        n_rows lists of token lists, in the same order; equal captions share one list, also over calls.

    Raises:
        TypeError: the function returned something else than a list of strings; the message names the caption.

    >>> tokenize_rows([["A dog."], ["A dog.", "Two cats"]], "ptb")
    [[['a', 'dog']], [['a', 'dog'], ['two', 'cats']]]
    """
    distinct = list(dict.fromkeys(caption for row in rows for caption in row))
    tokens: Iterable[Sequence[str]]
    if isinstance(tokenizer, str):
        tokens = map(_ptb_tokens, distinct)
    else:
        tokens = (_checked_tokens(tokenizer(caption), caption) for caption in distinct)
    tokens_of = dict(zip(distinct, tokens, strict=True))
    return [[tokens_of[caption] for caption in row] for row in rows]


def _ptb_tokens(caption: str) -> Sequence[str]:
    """Tokens of a caption; several metrics read the same ones, and several systems have the same references."""
    return _remembered_tokens(caption) if len(caption) <= LONGEST_REMEMBERED_CAPTION else tokenize(caption)


_remembered_tokens = functools.lru_cache(N_REMEMBERED_CAPTIONS)(tokenize)


def ngram_tokens(rows: Sequence[Sequence[str]], tokenizer: Tokenizer) -> list[list[Sequence[str]]]:
    """Tokenize every caption of every row for n-grams, as `tokenize_rows`; no token may hold a blank.

    Raises:
        TypeError: the function returned something else than a list of strings; the message names the caption.
        ValueError: a token holds a blank.
    """
    tokens = tokenize_rows(rows, tokenizer)
    if not isinstance(tokenizer, str):
        check_tokens(tokens)
    return tokens


def same_tokens(row: Sequence[Sequence[str]]) -> np.ndarray:
    """Mask of the texts of a row that have equal token sequences.

    Args:
        row: n_texts token lists.

    Returns:
        Boolean array, shape (n_texts, n_texts).

    >>> same_tokens([["a", "dog"], ["a"], ["a", "dog"]]).tolist()
    [[True, False, True], [False, True, False], [True, False, True]]
    """
    numbers: dict[tuple[str, ...], int] = {}
    number = np.array([numbers.setdefault(tuple(tokens), len(numbers)) for tokens in row])
    return number[:, None] == number[None, :]


def check_tokens(rows: Sequence[Sequence[Sequence[str]]]) -> None:
    """Raise if a token holds a blank: n-grams are tokens joined by blanks, and "a b" would be ambiguous.

    Args:
        rows: n_rows rows of token lists.

    Raises:
        ValueError: a token holds a blank, or is one.
    """
    for token in {token for row in rows for tokens in row for token in tokens}:
        if " " in token:
            raise ValueError(
                f"tokenizer: expected tokens without blanks, got {shown_value(token)}. Split it, or replace the blank "
                "by another character."
            )


def _checked_tokens(tokens: object, caption: str) -> Sequence[str]:
    """Return the tokens, or say which caption the user's function failed on."""
    if not isinstance(tokens, list | tuple) or not all(isinstance(token, str) for token in tokens):
        raise TypeError(
            f"tokenizer: expected a list of strings for the caption {caption[:40]!r}, got {type(tokens).__name__} "
            f"({shown_value(tokens)}). Return one string per token."
        )
    return tokens
