"""From captions to tokens: by a tokenizer that has a name or by the user's own, each distinct caption once."""

import functools
import re
import warnings
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from .base_messages import shown_value
from .base_rows import has_character
from .text_named_tokenizers import NAMES, check_named, is_named, named_tokenizer, versioned_name
from .text_ptb_tokenizer import tokenize

# Captions whose tokens are remembered, those used last, and the most letters of one: 15 MB of usual captions.
N_REMEMBERED_CAPTIONS = 1 << 15
LONGEST_REMEMBERED_CAPTION = 400

# A tokenizer by name, or a function from one caption to its list of tokens.
Tokenizer = str | Callable[[str], Sequence[str]]


# Tokenizers that need no package and have no versions of their own: that of the COCO caption code, and none.
BUILT_IN: dict[str, Callable[[str], Sequence[str]]] = {"ptb": tokenize, "none": lambda caption: caption.split()}

# Names of tokenizers that split at white space and punctuation alone.
SPACED = frozenset({"ptb", "13a", "13a-caption", "intl", "intl-caption"})

_PLAIN = re.compile("[A-Za-z0-9]")

# Letters of scripts that put no spaces between words, and how many a word has in the mean at most.
_UNSPACED = (
    (re.compile("[\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"), 3),
    (re.compile("[\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff]"), 8),
)
_ANY_UNSPACED = re.compile("|".join(script.pattern for script, _ in _UNSPACED))


def check_tokenizer(tokenizer: object, also: Sequence[str] = ()) -> None:
    """Raise unless `tokenizer` is the name of a tokenizer whose packages are installed, or a function."""
    if isinstance(tokenizer, str):
        if tokenizer in BUILT_IN:
            return
        if is_named(tokenizer):
            check_named(tokenizer)
        else:
            names = ", ".join(map(repr, (*NAMES, *also)))
            raise ValueError(
                f"tokenizer: expected one of {names}, or a function, got {shown_value(tokenizer)}. Check the spelling."
            )
    elif not callable(tokenizer):
        raise TypeError(
            "tokenizer: expected a name such as 'ptb', or a function from a caption to its tokens, got "
            f"{type(tokenizer).__name__}. Pass a function such as str.split."
        )


def tokenizer_name(tokenizer: Tokenizer) -> str:
    """Name a tokenizer for a signature, with the version of the library that tokenizes.

    >>> tokenizer_name(str.split), tokenizer_name("ptb")
    ('split', 'ptb')
    """
    if not isinstance(tokenizer, str):
        return getattr(tokenizer, "__name__", type(tokenizer).__name__)
    return versioned_name(tokenizer) if tokenizer not in BUILT_IN and is_named(tokenizer) else tokenizer


def tokenize_rows(rows: Sequence[Sequence[str]], tokenizer: Tokenizer) -> list[list[Sequence[str]]]:
    """Tokenize every caption of every row, in order; equal captions share one list, also over calls.

    `tokenizer` is "ptb" (`text_ptb_tokenizer`), "none" (split at white space), another name (`text_named_tokenizers`),
    or a function from one caption to its list of tokens.

    >>> tokenize_rows([["A dog."], ["A dog.", "Two cats"]], "ptb")
    [[['a', 'dog']], [['a', 'dog'], ['two', 'cats']]]
    """
    distinct = list(dict.fromkeys(caption for row in rows for caption in row))
    tokens: Iterable[Sequence[str]]
    if isinstance(tokenizer, str):
        if tokenizer in SPACED:
            warn_of_unspaced(distinct, tokenizer)
        tokens = map(_named_tokens(tokenizer), distinct)
    else:
        tokens = (_checked_tokens(tokenizer(caption), caption) for caption in distinct)
    tokens_of = dict(zip(distinct, tokens, strict=True))
    return [[tokens_of[caption] for caption in row] for row in rows]


def token_finder(tokenizer: Tokenizer) -> Callable[[str], bool]:
    """Return the function that says whether a tokenizer leaves a token of a caption.

    >>> list(map(token_finder("ptb"), ("a dog", "...", "\U0001f642"))), token_finder("none")("...")
    ([True, False, False], True)
    """
    if not isinstance(tokenizer, str):
        return lambda caption: len(_checked_tokens(tokenizer(caption), caption)) > 0
    if tokenizer not in BUILT_IN:  # "raw" and "spacy" of single modules drop nothing that is seen
        return (lambda caption: len(_named_tokens(tokenizer)(caption)) > 0) if is_named(tokenizer) else has_character
    # Of a letter or a digit of ASCII they always leave one.
    return lambda caption: _PLAIN.search(caption) is not None or len(_named_tokens(tokenizer)(caption)) > 0


@functools.cache
def _named_tokens(tokenizer: str) -> Callable[[str], Sequence[str]]:
    """A tokenizer that remembers: several metrics read the same captions, and systems have the same references."""
    split = BUILT_IN.get(tokenizer) or named_tokenizer(tokenizer)
    remembered = functools.lru_cache(N_REMEMBERED_CAPTIONS)(split)
    return lambda caption: remembered(caption) if len(caption) <= LONGEST_REMEMBERED_CAPTION else split(caption)


def warn_of_unspaced(captions: Iterable[str], tokenizer: str) -> None:
    """Warn where captions are in a script without spaces between words, whose sentences would be single tokens."""
    if any(not caption.isascii() and _is_unspaced(caption) for caption in captions):
        warnings.warn(
            f"tokenizer: expected captions with spaces between words for {tokenizer!r}, got some in a script without. "
            "Give tokenizer='char-caption', 'zh-caption' or 'zh-jieba' (Chinese), 'ja-mecab-caption' (Japanese), 'th' "
            "(Thai), 'spm-caption', 'spacy:zh', or a function: the choice changes every score, so none is made.",
            stacklevel=3,
        )


def _is_unspaced(caption: str) -> bool:
    """Whether most of a caption is in such a script, in longer runs than words."""
    if not _ANY_UNSPACED.search(caption):
        return False
    pieces = caption.split()
    for script, most in _UNSPACED:
        n_letters = [n for piece in pieces if (n := len(script.findall(piece)))]
        if 2 * sum(n_letters) > sum(map(len, pieces)) and sum(n_letters) > most * len(n_letters):
            return True
    return False


def ngram_tokens(rows: Sequence[Sequence[str]], tokenizer: Tokenizer) -> list[list[Sequence[str]]]:
    """Tokenize every caption of every row for n-grams, as `tokenize_rows`; ValueError for a token with a blank.

    N-grams are tokens joined by blanks, and "a b" would be ambiguous.
    """
    tokens = tokenize_rows(rows, tokenizer)
    if isinstance(tokenizer, str):
        return tokens
    for token in {token for row in tokens for text in row for token in text}:
        if " " in token:
            raise ValueError(
                f"tokenizer: expected tokens without spaces, got {shown_value(token)}. Split it, or replace the space "
                "by another character."
            )
    return tokens


def same_tokens(row: Sequence[Sequence[str]]) -> np.ndarray:
    """Mask of the texts of a row that have equal token sequences: boolean, shape (n_texts, n_texts).

    >>> same_tokens([["a", "dog"], ["a"], ["a", "dog"]]).tolist()
    [[True, False, True], [False, True, False], [True, False, True]]
    """
    numbers: dict[tuple[str, ...], int] = {}
    number = np.array([numbers.setdefault(tuple(tokens), len(numbers)) for tokens in row])
    return number[:, None] == number[None, :]


def _checked_tokens(tokens: object, caption: str) -> Sequence[str]:
    if not isinstance(tokens, list | tuple) or not all(isinstance(token, str) for token in tokens):
        raise TypeError(
            f"tokenizer: expected a list of strings for the caption {caption[:40]!r}, got {type(tokens).__name__} "
            f"({shown_value(tokens)}). Return one string per token."
        )
    return tokens
